"""WebAssembly: functions of a robot in one module, with the JavaScript that calls them, for Node and for pages."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from fallingcat.codegen.backend import Array
from fallingcat.codegen.ir import ir_source
from fallingcat.codegen.objects import WASM, compile_for, module_text
from fallingcat.codegen.wasm import module
from fallingcat.deploy.c_files import TOLERANCES, Part, numbers_of
from fallingcat.deploy.chosen import Chosen, choose
from fallingcat.deploy.files import digest
from fallingcat.deploy.project import Project, project
from fallingcat.deploy.vectors import vectors
from fallingcat.errors import InputError
from fallingcat.robot.robot import Robot


@dataclass(frozen=True)
class WasmModule:
    """A WebAssembly module, and the layout that its JavaScript wrapper needs."""

    code: bytes
    layout: dict[str, Any]
    parts: tuple[Part, ...]

    def script(self, variable: str = "loadRobot") -> str:
        """A script for a page, with the module inside: `const robot = await loadRobot();`."""
        encoded = base64.b64encode(self.code).decode()
        bytes_ = f'Uint8Array.from(atob("{encoded}"), (c) => c.charCodeAt(0))'
        layout = json.dumps(self.layout).replace("<", "\\u003c")  # a name may contain </script>
        return f"const {variable} = (() => {{\n{wrapper()}\nreturn () => instantiate({layout}, {bytes_});\n}})();\n"


PROPERTIES = ("name", "nq", "nv", "jointNames", "base", "floating", "frameNames", "neutral")
"""Properties of a robot in JavaScript."""
TAKEN = frozenset({*PROPERTIES, "then"})
"""Names that no function may have; an object with a `then` would be taken for a promise."""


def wasm_module(robot: Robot, functions: Any, precision: str = "double") -> WasmModule:
    """Functions of a robot, named as for `fc.export`, compiled to one module."""
    return in_module(project(robot, precision), choose(robot, functions))


def in_module(made_of: Project, chosen: Sequence[Chosen]) -> WasmModule:
    """The chosen functions of a project, compiled to one module."""
    for c in chosen:
        if c.name in TAKEN:
            hint = f'give it another name: {{"my_{c.name}": function}}'
            raise InputError(f"a robot in JavaScript has something else named {c.name!r}", hint=hint)
    robot, precision, taken = made_of.robot, made_of.precision, made_of.taken(c.name for c in chosen)
    parts = tuple(Part(c, ir_source(c.kernel.program, made_of.symbol(c.name), precision, taken)) for c in chosen)
    text = module_text([p.written for p in parts], precision, WASM.fused)
    code, end = module(compile_for(WASM, text), [p.written.name for p in parts])
    values = (
        robot.name, robot.nq, robot.nv, list(robot.joint_names), robot.base, robot.floating, list(robot.frame_names),
        robot.neutral().tolist(),
    )  # fmt: skip
    layout = {
        "precision": precision,
        "data": end,
        "robot": dict(zip(PROPERTIES, values, strict=True)),
        "functions": [_function(part) for part in parts],
    }
    return WasmModule(code, layout, parts)


def _function(part: Part) -> dict[str, Any]:
    written, inputs = part.written, len(part.chosen.kernel.task.inputs)
    return {
        "name": part.chosen.name,
        "symbol": written.name,
        "workspace": written.workspace,
        "inputs": [_array(a) for a in written.arrays[:inputs]],
        "outputs": [_array(a) for a in written.arrays[inputs:-1]],
    }


def _array(array: Array) -> dict[str, Any]:
    return {"name": array.name, "size": array.size, "shape": list(array.shape)}


def wrapper() -> str:
    """The JavaScript between a caller and the module."""
    return resources.files("fallingcat").joinpath("deploy", "robot.js").read_text(encoding="utf-8")


def wasm_files(made_of: Project, made: WasmModule) -> dict[str, str | bytes]:
    """Name and content of every file."""
    return {
        f"{made_of.stem}.wasm": made.code,
        f"{made_of.stem}.mjs": _module(made_of, made),
        "check.mjs": _check(made_of, made.parts),
    }


def _module(made_of: Project, made: WasmModule) -> str:
    name = made_of.stem
    numbers = "\n".join(f"//   {p.chosen.name}: {' '.join(numbers_of(p))}" for p in made.parts)
    return f"""// {made_of.title("WebAssembly")}
//
//   import {{ load }} from "./{name}.mjs";
//   const robot = await load();
//
{numbers}
//
// {name}.wasm: {len(made.code):,} bytes, digest {digest(made.code)}.

{wrapper()}
export const layout = {json.dumps(made.layout, indent=1)};

// The robot: from the module beside this file, or from its bytes.
export async function load(bytes) {{
  if (bytes === undefined) {{
    const place = new URL("./{name}.wasm", import.meta.url);
    if (place.protocol === "file:" && typeof process !== "undefined") {{
      const {{ readFile }} = await import("node:fs/promises");
      bytes = await readFile(place);
    }} else {{
      const response = await fetch(place);
      if (!response.ok) throw new Error(`${{place}}: ${{response.status}} ${{response.statusText}}`);
      bytes = await response.arrayBuffer();
    }}
  }}
  return instantiate(layout, bytes);
}}
"""


def _check(made_of: Project, parts: Sequence[Part]) -> str:
    cases = [_case(made_of, part.chosen) for part in parts]
    return f"""// {made_of.title("a check of what was built")}
import {{ load }} from "./{made_of.stem}.mjs";

const tolerance = {TOLERANCES[made_of.precision]};
const cases = {json.dumps(cases)};

// How far each result is from that of Python, relative to the largest entry.
export function check(robot) {{
  const lines = [];
  let good = true;
  for (const {{ name, inputs, results }} of cases) {{
    let worst = 0;
    const each = (values) => (Object.keys(robot[name].outputs).length > 1 ? Object.values(values) : [values]);
    const found = inputs.map((given) => each(robot[name](...given)));
    results[0].forEach((_, j) => {{
      const sizes = results.flatMap((state) => state[j].map(Math.abs));
      const largest = sizes.reduce((a, b) => (b > a ? b : a), 0);
      found.forEach((state, k) => {{
        state[j].forEach((x, i) => {{
          const expected = results[k][j][i];
          const d = Object.is(x, expected) ? 0 : Math.abs(x - expected);
          worst = Math.max(worst, Number.isNaN(d) ? Infinity : d && d / largest);
        }});
      }});
    }});
    good = good && worst <= tolerance;
    lines.push(`${{name}}: differs by ${{worst.toExponential(1)}}`);
  }}
  return {{ good, lines }};
}}

if (typeof process !== "undefined" && process.argv && process.argv[1] && import.meta.url.endsWith("check.mjs")) {{
  const {{ good, lines }} = check(await load());
  console.log(lines.join("\\n"));
  console.log(good ? "good" : "not what it should be");
  process.exitCode = good ? 0 : 1;
}}
"""


def _case(made_of: Project, chosen: Chosen) -> dict[str, Any]:
    inputs, results = vectors(made_of.robot, chosen, made_of.precision)
    return {"name": chosen.name, "inputs": _rows(inputs), "results": _rows(results)}


def _rows(arrays: Sequence[np.ndarray[Any, Any]]) -> list[list[list[float]]]:
    """For each state, its row of every array, as lists of numbers."""
    return [[a[k].tolist() for a in arrays] for k in range(len(arrays[0]))]
