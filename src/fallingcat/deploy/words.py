"""The comments of a header on a robot and the arguments of its functions: order, units, frames, shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fallingcat.codegen.backend import Array
from fallingcat.deploy.chosen import Chosen
from fallingcat.deploy.facts import FACTS
from fallingcat.model.joints import Prismatic
from fallingcat.model.model import Body
from fallingcat.robot.robot import Robot
from fallingcat.text import printable

TWISTS = {
    "body": "in the coordinates of the base",
    "mixed": "of the base's origin, in world coordinates",
    "inertial": "in world coordinates, about the world's origin",
}

INPUTS = {
    "q": "configuration", "q0": "configuration", "q1": "configuration",
    "nu": "velocity", "dnu": "acceleration, in the order of nu",
    "tau": "forces in the order of nu: wrench on a floating base (N, N m), then joint torques (N m) or forces (N)",
    "u": "inputs of the robot", "dx": "displacement, in the order of nu", "w": "velocity, in the order of nu",
    "ddr": "accelerations of the joints", "r": "velocities of the joints", "s": "positions of the joints",
    "dt": "time step (s)", "mu": "locked velocity", "a": "acceleration of the frame, in its coordinates",
    "tau0": "joint torques or forces",
}  # fmt: skip
POSITIONS = ("q", "q_out", "result")
"""Outputs that are not taken to be in the order of velocities, whatever their length."""


def configuration(robot: Robot) -> Iterator[str]:
    """Lines on the entries of q and nu."""
    yield "Configuration q:"
    yield from _aligned([row for body in _moving(robot) for row in _positions(robot, body)])
    yield ""
    yield "Velocity nu, and everything in its order (accelerations, forces, rows and columns of matrices):"
    yield from _aligned([row for body in _moving(robot) for row in _velocities(robot, body)])


def surroundings(robot: Robot) -> Iterator[str]:
    """Lines on the base and on gravity."""
    if not robot.floating:
        yield f"The base {_name(robot.base)} is fixed to the world."
    gravity = ", ".join(f"{x:.9g}" for x in robot.gravity)
    yield f"Gravity is ({gravity}) m/s^2 in world coordinates."


def _moving(robot: Robot) -> list[Body]:
    bodies = [body for body in robot.model.bodies if not body.mimics and body.joint.nv]
    return sorted(bodies, key=lambda body: body.q_at)


def _aligned(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max((len(a) for a, _ in rows), default=0)
    return (f"  {a:<{width}}  {b}" for a, b in rows)


def _entries(name: str, first: int, count: int, words: str) -> tuple[str, str]:
    return (f"{name}[{first}]" if count == 1 else f"{name}[{first}..{first + count - 1}]"), words


def _is_base(robot: Robot, body: Body) -> bool:
    return robot.floating and body is robot.model.bodies[0]


def _name(text: str) -> str:
    """A name that is safe in a comment of C."""
    return f"'{plain(printable(text))}'"


def _positions(robot: Robot, body: Body) -> list[tuple[str, str]]:
    at = body.q_at
    if _is_base(robot, body):
        base = f"base {_name(robot.base)}"
        return [
            _entries("q", at, 3, f"{base}: position in the world (m)"),
            _entries("q", at + 3, 4, f"{base}: orientation, a unit quaternion x y z w"),
        ]
    return [_entries("q", at, body.joint.nq, f"joint {_name(body.joint_name)} ({_unit(body, '')})")]


def _velocities(robot: Robot, body: Body) -> list[tuple[str, str]]:
    at = body.nu_at
    if _is_base(robot, body):
        base, axes = f"base {_name(robot.base)}", f"{TWISTS['body']}, unless said otherwise"
        return [
            _entries("nu", at, 3, f"{base}: linear velocity (m/s), {axes}"),
            _entries("nu", at + 3, 3, f"{base}: angular velocity (rad/s), in the same"),
        ]
    return [_entries("nu", at, body.joint.nv, f"joint {_name(body.joint_name)} ({_unit(body, '/s')})")]


def _unit(body: Body, per: str) -> str:
    joint = getattr(body.joint, "forward", body.joint)  # a reversed joint, as other bases have it
    if body.joint.nv > 1:
        kind = type(joint).__name__.lower()
        return f"{kind}{', unit quaternion x y z w' if body.joint.quaternion_at is not None and not per else ''}"
    return f"m{per}" if isinstance(joint, Prismatic) else f"rad{per}"


def function(robot: Robot, chosen: Chosen, arrays: Sequence[Array]) -> Iterator[str]:
    """Lines on one function and its arguments."""
    yield re.sub(r" ?\(\.\.\., ([^)]*)\)", r" (\1)", plain(chosen.summary)) if chosen.summary else chosen.name
    named = {key: str(getattr(value, "__name__", value)) for key, value in chosen.options.items() if value is not None}
    if named:
        yield "With " + ", ".join(f"{key} {_name(value)}" for key, value in named.items()) + "."
    if chosen.function in FACTS:
        units, frames = FACTS[chosen.function]
        yield f"Units of the results: {units}. {_explained(frames)}"
    if robot.floating and chosen.function:
        yield f"Base twists in nu, and base parts in its order: {TWISTS[_representation(chosen)]}."
    yield ""
    inputs = [i.name for i in chosen.kernel.task.inputs]
    rows = []
    for k, array in enumerate(arrays[:-1]):
        words = _input(robot, chosen, inputs[k]) if k < len(inputs) else _output(robot, array)
        rows.append((f"{array.name}[{array.size}]", words))
    yield from _aligned(rows)


def _explained(frames: str) -> str:
    """The text on frames, followed by that of the function it refers to."""
    other = re.match(r"As (?:for )?(\w+)\b", frames)
    return f"{frames} {_explained(FACTS[other[1]][1])}" if other and other[1] in FACTS else frames


def _representation(chosen: Chosen) -> str:
    return str(chosen.options.get("representation", chosen.options.get("source", "body")))


def _input(robot: Robot, chosen: Chosen, name: str) -> str:
    if name == "wrenches":
        bodies = ", ".join(_name(body.name) for body in robot.model.bodies)
        axes = TWISTS.get(str(chosen.options.get("wrenches")), "").replace("the base", "each body")
        return f"in: wrenches on the bodies {bodies}; force (N) and moment (N m) {axes}"
    return f"in: {INPUTS.get(name, 'argument')}"


def _output(robot: Robot, array: Array) -> str:
    if len(array.shape) < 2:
        return "out: in the order of nu" if array.shape == (robot.nv,) and array.name not in POSITIONS else "out"
    return f"out: {' x '.join(map(str, array.shape))}, row by row"


def plain(text: str) -> str:
    """The text as a comment in C can hold it: ASCII, without comment marks and trigraphs."""
    text = text.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").replace("`", "")
    return "".join(c if c.isascii() else "_" for c in text)
