"""Operation counts of every function, kept in `counts.json` beside this file: they may fall, never rise.

python -m tests.trace.counts            what differs from the file
python -m tests.trace.counts --write    write the counts of this state to it
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.robots import ROBOTS, robot_file

import fallingcat as fc
from fallingcat.functions import FUNCTIONS, task
from fallingcat.model.model import Model
from fallingcat.trace import trace

FILE = Path(__file__).with_name("counts.json")
SMALL = ("spacearm",)
"""Bundled robots that every run counts; the others take longer."""
LARGE = ("tree9", "cat", "humanoid", "quadruped", *ROBOTS)
REPRESENTATIONS = ("body", "mixed", "inertial")

Options = dict[str, Any]
Counts = dict[str, int]


def load(name: str) -> Model:
    """A bundled robot, or one of the bench."""
    return fc.load(robot_file(name), floating=ROBOTS[name].floating).model if name in ROBOTS else fc.load(name).model


def cases(model: Model) -> Iterator[tuple[str, Options]]:
    """Every function with every set of options that makes another program."""
    tip = model.link_names[-1]
    for name, function in FUNCTIONS.items():
        if function.floating_only and not model.floating:
            continue
        choices: list[Options] = [{}]
        if "frame" in function.options:
            choices = [{"frame": tip}]
        if "base" in function.options:
            bases = (tip, (tip, model.base), ("center_of_mass", tip), "centroidal")
            choices = [{"base": base} for base in bases]
        if "factorization" in function.options:
            choices = [{"factorization": f} for f in ("christoffel", "body")]
        if "source" in function.options:
            choices = [{"source": a, "target": b} for a in REPRESENTATIONS for b in REPRESENTATIONS]
        if function.any_representation or "representation" in function.options:
            kinds = REPRESENTATIONS if model.floating or "representation" in function.options else ("body",)
            choices = [c | {"representation": r} for c in choices for r in kinds if c.get("base") != "centroidal" or r == "mixed"]
        if "group" in function.options:
            choices += [choices[0] | {"group": "tangent"}]
        if function.wrenches:
            choices += [choices[0] | {"wrenches": axes} for axes in ("body", "mixed")]
        for options in choices:
            yield name, options


def label(name: str, options: Options) -> str:
    """How a case is called in the file; frames are always the last link, and need no name."""
    words = {key: value for key, value in options.items() if key != "frame"}
    if "base" in words:
        words["base"] = _kind_of_base(words["base"])
    text = ", ".join(f"{key}={value}" for key, value in words.items())
    return f"{name}({text})" if text else name


def _kind_of_base(base: Any) -> str:
    if isinstance(base, tuple):
        return "center of mass, link" if base[0] == "center_of_mass" else "link, link"
    return "centroid" if base == "centroidal" else "link"


def counts(name: str) -> Counts:
    """The floating-point operations of every function of a robot."""
    model = load(name)
    return {label(f, options): trace(task(model, f, **options)).operations for f, options in cases(model)}


def known() -> dict[str, Counts]:
    """What the file says."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def differences(name: str, found: Counts) -> list[str]:
    """In words, for people."""
    before = known().get(name, {})
    lines = [f"{name} {key}: {before[key]} -> {n}" for key, n in found.items() if key in before and before[key] != n]
    lines += [f"{name} {key}: new, {n}" for key, n in found.items() if key not in before]
    return lines + [f"{name} {key}: gone" for key in before if key not in found]


def main(words: list[str]) -> None:
    robots = [word for word in words if not word.startswith("-")] or [*SMALL, *LARGE]
    found = {name: counts(name) for name in robots}
    if "--write" in words:
        table = (known() if FILE.exists() else {}) | found
        FILE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    print("\n".join(line for name in robots for line in differences(name, found[name])) or "no difference")


if __name__ == "__main__":
    main(sys.argv[1:])
