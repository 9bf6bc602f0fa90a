"""Operation counts of every function of robots and of constraints, kept in `counts.json` beside this file: they never rise.

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
from fallingcat.choices import REPRESENTATIONS
from fallingcat.functions import BEHIND, FUNCTIONS, task
from fallingcat.model.model import Model
from fallingcat.robot import constraint_tasks
from fallingcat.robot.constraint_sets import unactuated
from fallingcat.robot.inputs import actuation_of
from fallingcat.trace import trace

FILE = Path(__file__).with_name("counts.json")
SMALL = ("spacearm",)
"""Bundled robots that every run counts; the others take longer."""
LARGE = ("tree9", "cat", "humanoid", "quadruped", *ROBOTS)
EVERY_OPTION = ("tree9", "panda")
"""Robots whose functions are counted with all of their options; of the others, as `first_cases` says."""

Options = dict[str, Any]
Counts = dict[str, int]


def robot(name: str) -> fc.Robot:
    """A bundled robot, or one of the bench."""
    return fc.load(robot_file(name), floating=ROBOTS[name].floating) if name in ROBOTS else fc.load(name)


def load(name: str) -> Model:
    return robot(name).model


def cases(model: Model) -> Iterator[tuple[str, Options]]:
    """Every function with every set of options that makes another program."""
    tip = model.link_names[-1]
    for name, function in (FUNCTIONS | BEHIND).items():
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
        if function.actuated:
            driven: Options = {"actuation": actuation_of(model, [model.joint_names[0], fc.wrench_input(tip)])}
            choices = [*choices, choices[0] | driven | {"inputs": "u"}] if "tau" in dict(function.inputs) else [driven]
        for options in choices:
            yield name, options


def first_cases(model: Model) -> Iterator[tuple[str, Options]]:
    """Every function with the first set of options, with wrenches, and with inputs."""
    found: set[str] = set()
    for name, options in cases(model):
        if name not in found or options.get("wrenches") == "body" or "inputs" in options:
            found.add(name)
            yield name, options


def label(name: str, options: Options) -> str:
    """How a case is called in the file; frames are always the last link, and need no name."""
    words = {key: value for key, value in options.items() if key != "frame"}
    if "actuation" in words:
        words["actuation"] = "joint and wrench"
    if "base" in words:
        words["base"] = _kind_of_base(words["base"])
    text = ", ".join(f"{key}={value}" for key, value in words.items())
    return f"{name}({text})" if text else name


def _kind_of_base(base: Any) -> str:
    if isinstance(base, tuple):
        return "center of mass, link" if base[0] == "center_of_mass" else "link, link"
    return "centroid" if base == "centroidal" else "link"


# ---------------------------------------------------------------------------------------------------------------------
# Constraints


def height_of_the_hand(r: Any, q: Any) -> Any:
    """A row of one's own."""
    return [r.frame_pose(q, frame="panda_link8")[2, 3] - 0.2]


GAINS = {"kp": 100.0, "kd": 20.0}
FEET = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
SMALL_SETS: dict[str, tuple[list[fc.Constraint], Options]] = {
    "spacearm, point": ([fc.point("hand")], {}),
    "spacearm, loop": (
        [
            fc.hinge("link2", "hand", (0, 1, 1), "home"), fc.distance("link1", "hand"), fc.joint("joint3"),
            fc.coupling("joint2", "joint1", (0.1, 0.5, -0.2, 0.3)),
        ],
        GAINS | {"damping": 0.01},
    ),
}  # fmt: skip
"""Constraints and options of a robot, which is named before the comma; every run counts these."""
LARGE_SETS: dict[str, tuple[list[fc.Constraint], Options]] = {
    "quadruped, four points": ([fc.point(foot) for foot in FEET], {}),
    "quadruped, redundant": ([fc.surface(foot) for foot in FEET], GAINS),
    "hyq, four points": ([fc.point(f"{leg}_foot") for leg in ("lf", "rf", "lh", "rh")], GAINS),
    "humanoid, two surfaces": ([fc.surface("left_sole"), fc.surface("right_sole")], {}),
    "talos_reduced, two surfaces": ([fc.surface("left_sole_link"), fc.surface("right_sole_link")], GAINS),
    "tree9, weld": ([fc.weld("helical_z_body", "revolute_z_body", "home")], {}),
    "tree9, loops": (
        [
            fc.slider("revolute_z_body", "helical_z_body", (1, 0, 1), "home"), fc.rolling("prismatic_x_body", 0.3),
            fc.distance("prismatic_z_body", "world", 1.5),
        ],
        GAINS,
    ),
    "cat, points": (
        [fc.point("head", directions=[[0, 0, 1], [1, 1, 0]]), fc.point_to_point("front_left_lower_leg", "rear_left_lower_leg")],
        GAINS,
    ),
    "panda, surface": ([fc.surface("panda_link8")], GAINS),
    "panda, rows": ([fc.rows(height_of_the_hand)], GAINS),
}  # fmt: skip
SETS = SMALL_SETS | LARGE_SETS


def constraint_cases(constraints: fc.Constraints) -> Iterator[tuple[str, Options]]:
    """Every function of constraints: with the optional inputs that it cannot do without, and with all."""
    for name in constraint_tasks.FUNCTIONS:
        fixed = (("unactuated", unactuated(constraints.robot)),) if name == "inverse_dynamics" else None
        least = constraint_tasks.completed(name, (), constraints.rows)
        most = constraint_tasks.optional(name)
        yield name, {"more": least, "fixed": fixed}
        if most != least:
            yield name, {"more": most, "wrenches": "body" if "wrenches" in most else "", "fixed": fixed}
        if "wrenches" in most:
            yield name, {"more": (*least, "wrenches"), "wrenches": "mixed", "fixed": fixed}


def constraint_counts(name: str) -> Counts:
    """The floating-point operations of every function of a set of constraints."""
    given, options = SETS[name]
    c = robot(name.partition(",")[0]).constraints(*given, **options)

    def traced(function: str, case: Options) -> int:
        return trace(constraint_tasks.task(c.robot.model, c.rows, function, **case)).operations

    return {_label_of_inputs(f, case): traced(f, case) for f, case in constraint_cases(c)}


def _label_of_inputs(name: str, case: Options) -> str:
    words = [f"wrenches={case['wrenches']}" if word == "wrenches" else word for word in case["more"]]
    return f"{name}({', '.join(words)})" if words else name


# ---------------------------------------------------------------------------------------------------------------------
# The file


def counts(name: str) -> Counts:
    """The floating-point operations of every function of a robot, or of a set of constraints."""
    if name in SETS:
        return constraint_counts(name)
    model = load(name)
    chosen = list(cases(model)) if name in EVERY_OPTION else list(first_cases(model))
    return {label(f, options): trace(task(model, f, **options)).operations for f, options in chosen}


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
    robots = [word for word in words if not word.startswith("-")] or [*SMALL, *LARGE, *SETS]
    found = {name: counts(name) for name in robots}
    if "--write" in words:
        table = (known() if FILE.exists() else {}) | found
        FILE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    print("\n".join(line for name in robots for line in differences(name, found[name])) or "no difference")


if __name__ == "__main__":
    main(sys.argv[1:])
