"""WebAssembly: functions of a robot in one module, with the JavaScript that calls them, for Node and for pages."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from fallingcat.codegen.backend import Array, identifier
from fallingcat.codegen.ir import ir_source
from fallingcat.codegen.objects import compile_for, module_text, processor
from fallingcat.codegen.wasm import module
from fallingcat.deploy.c_files import TOLERANCES, Part, title, vectors
from fallingcat.deploy.chosen import Chosen, choose
from fallingcat.robot.robot import Robot


@dataclass(frozen=True)
class WasmModule:
    """A module, and what its wrapper must know."""

    code: bytes
    layout: dict[str, Any]
    parts: tuple[Part, ...]

    def script(self, variable: str = "loadRobot") -> str:
        """A script for a page, with the module inside: `const robot = await loadRobot();`."""
        encoded = base64.b64encode(self.code).decode()
        bytes_ = f'Uint8Array.from(atob("{encoded}"), (c) => c.charCodeAt(0))'
        return (
            f"const {variable} = (() => {{\n{wrapper()}\nreturn () => instantiate({json.dumps(self.layout)}, {bytes_});\n}})();\n"
        )


def wasm_module(robot: Robot, functions: Any, precision: str = "double") -> WasmModule:
    """Functions, named as for `fc.export`, compiled to one module."""
    chosen = (
        functions if functions and isinstance(functions, list) and isinstance(functions[0], Chosen) else choose(robot, functions)
    )
    prefix = identifier(robot.name)
    parts = tuple(Part(c, ir_source(c.kernel.program, f"{prefix}_{c.name}", precision)) for c in chosen)
    target = processor("wasm32")
    text = module_text([p.written for p in parts], precision, target.fused)
    code, end = module(compile_for(target, text), [p.written.name for p in parts])
    layout = {
        "precision": precision,
        "data": end,
        "robot": {
            "name": robot.name, "nq": robot.nq, "nv": robot.nv, "jointNames": list(robot.joint_names), "base": robot.base,
            "floating": robot.floating, "frameNames": list(robot.frame_names), "neutral": robot.neutral().tolist(),
        },
        "functions": [_function(part) for part in parts],
    }  # fmt: skip
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


def wasm_files(robot: Robot, made: WasmModule, precision: str) -> dict[str, str | bytes]:
    """Name and content of every file."""
    name = identifier(robot.name)
    return {
        f"{name}.wasm": made.code,
        f"{name}.mjs": _module(robot, name, made),
        "check.mjs": _check(robot, name, made.parts, precision),
    }


def _module(robot: Robot, name: str, made: WasmModule) -> str:
    return f"""// {title(robot, "WebAssembly")}
//
//   import {{ load }} from "./{name}.mjs";
//   const robot = await load();

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
      bytes = await (await fetch(place)).arrayBuffer();
    }}
  }}
  return instantiate(layout, bytes);
}}
"""


def _check(robot: Robot, name: str, parts: Sequence[Part], precision: str) -> str:
    cases = [_case(robot, part.chosen, precision) for part in parts]
    return f"""// {title(robot, "a check of what was built")}
import {{ load }} from "./{name}.mjs";

const tolerance = {TOLERANCES[precision]};
const cases = {json.dumps(cases)};

// How far each result is from that of Python, relative to the largest entry.
export function check(robot) {{
  const lines = [];
  let good = true;
  for (const {{ name, inputs, results }} of cases) {{
    let worst = 0;
    inputs.forEach((given, k) => {{
      const found = robot[name](...given);
      const several = Object.keys(robot[name].outputs).length > 1 ? Object.values(found) : [found];
      several.forEach((values, j) => {{
        const largest = Math.max(...results[k][j].map(Math.abs));
        values.forEach((x, i) => {{
          const d = Math.abs(x - results[k][j][i]);
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


def _case(robot: Robot, chosen: Chosen, precision: str) -> dict[str, Any]:
    inputs, results = vectors(robot, chosen, precision)
    return {"name": chosen.name, "inputs": _rows(inputs), "results": _rows(results)}


def _rows(arrays: Sequence[np.ndarray[Any, Any]]) -> list[list[list[float]]]:
    """Per state, one list per array."""
    return [[a[k].tolist() for a in arrays] for k in range(len(arrays[0]))]
