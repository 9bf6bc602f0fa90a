"""The size below which a pivot of the mass matrix counts as zero: its joint then has no inertia to move.

The articulated bodies factor the mass matrix, M = L^T D L (see `minverse`). A pivot of D is the inertia that an axis meets when
all joints beyond it give way. No configuration of the robot gives it more than the inertia of everything beyond, stretched out:

    pivot <= (|s_lin| sqrt(m) + |s_ang| sqrt(J))^2,    J = sum of m r^2 about the origin of the joint's frame,

so that a pivot which is negligible against this bound has no correct digits. The bound is a constant of the robot: comparing with
it costs one operation for each axis.
"""

from __future__ import annotations

import math

from fallingcat.algorithms.configuration import neutral
from fallingcat.model.model import WORLD, Model

LOST = 1e-10
"""A pivot below this fraction of its bound counts as zero. Real robots have fractions of 1e-4 and more; the iCub, whose links are
point masses, has 1e-11 where they stand in line."""
TRAVEL = 1.0
"""The assumed travel of a prismatic joint without limits, in metres."""


def least_pivots(model: Model) -> dict[int, list[float]]:
    """For every joint, the size that the pivot of each of its axes must exceed."""
    least: dict[int, list[float]] = {}
    mass = {i: max(0.0, body.inertia.mass.real) for i, body in enumerate(model.bodies)} | {WORLD: 0.0}
    spread = {i: _second_moment(model, i) for i in range(len(model.bodies))} | {WORLD: 0.0}  # J
    for i, p in model.tip_to_base():
        body = model.bodies[i]
        axes = body.joint.columns(model.coordinates(i, neutral(model)))
        m, r = math.sqrt(mass[i]), math.sqrt(spread[i])
        least[i] = [LOST * (math.hypot(*lin) * m + math.hypot(*ang) * r) ** 2 for lin, ang in axes]
        distance = math.hypot(*(x.real for x in body.pose.position)) + _travel(model, i)
        mass[p] += mass[i]
        spread[p] += (r + distance * m) ** 2
    return least


def least_pivots_by_dof(model: Model) -> list[float]:
    """`least_pivots` in the order of nu, (nv,), for the factors of M itself; a joint that follows another adds to its bound."""
    total = [0.0] * model.nv
    for i, least in least_pivots(model).items():
        body = model.bodies[i]
        for k, x in zip(model.dofs(i), least, strict=True):
            total[k] = (math.sqrt(total[k]) + abs(body.multiplier) * math.sqrt(x)) ** 2
    return total


def _second_moment(model: Model, i: int) -> float:
    """The sum of m r^2 about the body's origin: half the trace of the rotational inertia."""
    I = model.bodies[i].inertia.matrix()
    return max(0.0, 0.5 * float((I[3][3] + I[4][4] + I[5][5]).real))


def _travel(model: Model, i: int) -> float:
    """The travel of a prismatic joint, in metres; 0 for a joint that turns."""
    body = model.bodies[i]
    slides = any(any(lin) for lin, _ in body.joint.columns(model.coordinates(i, neutral(model))))
    ends = [abs(x) for x in (body.limits.lower, body.limits.upper) if math.isfinite(x)]
    return max(ends, default=TRAVEL) if slides else 0.0
