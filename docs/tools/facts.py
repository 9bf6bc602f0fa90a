"""What the reference adds to the docstrings of a robot's functions: docs/tools/functions.toml, shapes and costs, as Markdown."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PREAMBLE = """import numpy as np
import fallingcat as fc

robot = fc.load("humanoid")
q, nu = robot.random_configuration(0), robot.random_velocity(1)
dnu = tau = 0.1 * np.ones(robot.nv)
"""
"""What every example starts with."""


@cache
def functions() -> dict[str, dict[str, str]]:
    return tomllib.loads((HERE / "functions.toml").read_text(encoding="utf-8"))


@cache
def costs() -> dict[str, Any]:
    path = HERE / "costs.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"functions": {}}


def shapes(name: str) -> str:
    """Inputs and outputs of a function in the table; leading axes are batches."""
    from fallingcat.functions import FUNCTIONS

    found = FUNCTIONS.get(name)
    if found is None:
        return ""
    inputs = ", ".join(f"`{key} (..., {size})`" for key, size in found.inputs)
    outputs = ", ".join(f"`{key} ({', '.join(['...', *map(str, size)])})`" for key, size in found.outputs)
    return f"{inputs} → {outputs}"


def cost(name: str) -> str:
    """Operations and times on the bundled humanoid."""
    row = costs()["functions"].get(name)
    if row is None:
        return ""
    return f"{row['operations']:,} operations; {row['one']:.3g} µs a call, {row['batch']:.2g} µs a state in batches"


def markdown(name: str) -> str:
    """To be put after the docstring of a function; nothing for what has no facts."""
    facts = functions().get(name)
    if facts is None:
        return ""
    rows = {
        "Shapes": shapes(name),
        "Frames": facts["frames"],
        "Units": facts["units"],
        "Paper": facts["paper"] if facts["paper"].startswith("beyond") else _papers(facts["paper"]),
        "Cost, humanoid": cost(name),
    }
    lines = ["", "", "$$", facts["formula"], "$$", ""]
    lines += [f"- **{key}:** {value}" for key, value in rows.items() if value]
    code = "\n".join(f"    {line}".rstrip() for line in (PREAMBLE + "\n" + facts["example"]).splitlines())
    return "\n".join([*lines, "", '??? example "Example"', "", "    ```python", code, "    ```", ""])


def _papers(words: str) -> str:
    """`002, (9); 000, (39)` -> paper 002, (9); paper 000, (39): the page makes links of them."""
    return "; ".join(f"paper {part.strip()}" for part in words.split(";"))
