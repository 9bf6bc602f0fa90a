"""The joints of a robot as products of simple motions, so that a page can move them without compiled code.

    H_body = H_parent  H_joint  M(s_1, x_1) M(s_2, x_2) ...        M(s, x): a way x s_linear, a turn x s_angular, along one axis

A joint with one degree of freedom is one such motion. A ball is three turns (yaw, pitch, roll), a free body three ways before
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.view.dofs import Dof, dofs
from fallingcat.apps.view.shape import homogeneous, numbers, position_and_quaternion
from fallingcat.model.joints import Cylindrical, FreeFlyer, Helical, JointModel, Planar, Prismatic, Reversed, Spherical, Universal
from fallingcat.model.model import WORLD, Model
from fallingcat.robot.robot import Robot
from fallingcat.spatial import so3

Array = NDArray[np.float64]

ZERO = (0.0, 0.0, 0.0)
AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Step(NamedTuple):
    """A motion along and about one axis."""

    linear: tuple[float, ...]
    angular: tuple[float, ...]
    value: float
    """Where it stands in the state shown."""
    name: str = ""
    unit: str = "rad"


@dataclass(frozen=True)
class Slider:
    """A number that a page can change."""

    name: str
    body: int
    value: float
    low: float
    high: float
    limited: bool
    unit: str
    base: bool = False
    """Does it move the floating base?"""

    def plain(self) -> dict[str, Any]:
        """In plain types."""
        low, high, value = numbers((self.low, self.high, self.value))
        return {
            "name": self.name, "body": self.body, "value": value, "low": low, "high": high, "limited": self.limited,
            "unit": self.unit, "base": self.base,
        }  # fmt: skip


class Chain(NamedTuple):
    """What a page needs to move a robot."""

    sliders: list[Slider]
    bodies: list[dict[str, Any]]
    """parent, place of the joint, and steps: (linear, angular, slider, factor, offset)"""


def chain(robot: Robot, q: Array) -> Chain:
    """The robot at q as sliders, and bodies that they move."""
    model = robot.model
    known: dict[int, Dof] = {dof.at: dof for dof in dofs(model)}
    sliders: list[Slider] = []
    at: dict[int, list[int]] = {}
    """Sliders of a joint, by its place in q; joints that follow have the same."""
    for i, body in sorted(enumerate(model.bodies), key=lambda entry: entry[1].q_at):
        if body.mimics:
            continue
        at[body.q_at] = []
        steps = forward_steps(body.joint, [float(x) for x in q[body.q_at : body.q_at + body.joint.nq]])
        for k, step in enumerate(steps):
            at[body.q_at].append(len(sliders))
            sliders.append(_slider(model, i, step, known.get(body.nu_at + k)))
    return Chain(sliders, [_plain(model, i, q, at[body.q_at]) for i, body in enumerate(model.bodies)])


def _slider(model: Model, i: int, step: Step, dof: Dof | None) -> Slider:
    base = model.floating and i == 0
    name = model.bodies[i].joint_name
    if base or dof is None or step.name in ("yaw", "pitch", "roll"):
        reach = 1.0 if step.unit == "m" else np.pi
        low, high = min(-reach, step.value - reach), max(reach, step.value + reach)
        return Slider(step.name if base else f"{name}.{step.name}", i, step.value, low, high, False, step.unit, base)
    low, high = min(dof.low, step.value), max(dof.high, step.value)
    return Slider(dof.name, i, step.value, low, high, dof.limited, dof.unit)


def _plain(model: Model, i: int, q: Array, at: list[int]) -> dict[str, Any]:
    body = model.bodies[i]
    own = [float(x) for x in q[body.q_at : body.q_at + body.joint.nq]]
    steps, backward = forward_steps(body.joint, own), isinstance(body.joint, Reversed)
    sign = -1.0 if backward else 1.0
    found = [
        [[sign * x for x in s.linear], [sign * x for x in s.angular], k, body.multiplier, body.offset]
        for s, k in zip(steps, at, strict=True)
    ]
    place = numbers(position_and_quaternion(homogeneous(body.pose)))
    return {"parent": body.parent, "place": place, "steps": found[::-1] if backward else found}


def forward_steps(joint: JointModel, q: list[float]) -> list[Step]:
    """The motions that a joint is made of, in order, with their values at its coordinates q."""
    if isinstance(joint, Reversed):
        return forward_steps(joint.forward, q)
    if isinstance(joint, FreeFlyer):
        ways = [Step(axis, ZERO, x, name, "m") for axis, x, name in zip(AXES, q, "xyz")]
        return ways + _turns(q[3:7])
    if isinstance(joint, Spherical):
        return _turns(q)
    if isinstance(joint, Planar):
        ways = [Step(axis, ZERO, x, name, "m") for axis, x, name in zip(AXES, q, "xy")]
        return [*ways, Step(ZERO, AXES[2], q[2], "turn")]
    if isinstance(joint, Universal):
        first, second = (tuple(float(x) for x in axis) for axis in (joint.first, joint.second))
        return [Step(ZERO, first, q[0], "first"), Step(ZERO, second, q[1], "second")]
    axis = tuple(joint.sign * x for x in AXES[joint.axis])  # type: ignore[attr-defined]
    if isinstance(joint, Cylindrical):
        return [Step(axis, ZERO, q[0], "slide", "m"), Step(ZERO, axis, q[1], "turn")]
    if isinstance(joint, Prismatic):
        return [Step(axis, ZERO, q[0], "", "m")]
    if isinstance(joint, Helical):
        return [Step(tuple(joint.pitch * x for x in axis), axis, q[0])]
    return [Step(ZERO, axis, q[0])]


def _turns(quaternion: list[float]) -> list[Step]:
    """A rotation as yaw about z, then pitch about the new y, then roll about the new x."""
    x, y, z, w = quaternion
    R = np.array(so3.from_quaternion((x, y, z, w)), dtype=float)
    pitch = float(np.arcsin(np.clip(-R[2, 0], -1.0, 1.0)))
    yaw, roll = float(np.arctan2(R[1, 0], R[0, 0])), float(np.arctan2(R[2, 1], R[2, 2]))
    if abs(R[2, 0]) > 1.0 - 1e-9:  # straight up or down: yaw and roll are one
        yaw, roll = float(np.arctan2(-R[0, 1], R[1, 1])), 0.0
    turns = ((AXES[2], yaw, "yaw"), (AXES[1], pitch, "pitch"), (AXES[0], roll, "roll"))
    return [Step(ZERO, axis, angle, name) for axis, angle, name in turns]


def poses(found: Chain, x: Array) -> Array:
    """The bodies' poses for values x of the sliders, (bodies, 4, 4): what the page computes, for its tests."""
    H: dict[int, Array] = {WORLD: np.eye(4)}
    for i, body in enumerate(found.bodies):
        here = H[body["parent"]] @ _pose(body["place"])
        for linear, angular, k, factor, offset in body["steps"]:
            value = factor * x[k] + offset
            M = np.eye(4)
            M[:3, 3], M[:3, :3] = value * np.array(linear), np.array(so3.exp(tuple(value * a for a in angular)), dtype=float)
            here = here @ M
        H[i] = here
    return np.array([H[i] for i in range(len(found.bodies))]).reshape(-1, 4, 4)


def _pose(x: list[float]) -> Array:
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = np.array(so3.from_quaternion((x[3], x[4], x[5], x[6])), dtype=float), x[:3]
    return H
