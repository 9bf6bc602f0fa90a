"""Moving about in the space of configurations, joint by joint."""

from __future__ import annotations

from fallingcat.algorithms.kinematics import Vector
from fallingcat.model.model import Body, Model
from fallingcat.scalar import Scalar


def _own(model: Model) -> list[Body]:
    """Bodies whose joints have coordinates of their own, in the order of the coordinates."""
    return sorted((body for body in model.bodies if not body.mimics), key=lambda body: body.q_at)


def neutral(model: Model) -> list[float]:
    """All joints at zero, base at the origin."""
    return [x for body in _own(model) for x in body.joint.neutral()]


def integrate(model: Model, q: Vector, dx: Vector) -> list[Scalar]:
    """q moved by the body-fixed displacement dx, exactly: exp on every joint's group."""
    moved: list[Scalar] = []
    for body in _own(model):
        qi = q[body.q_at : body.q_at + body.joint.nq]
        moved += body.joint.integrate(qi, dx[body.nu_at : body.nu_at + body.joint.nv])
    return moved


def difference(model: Model, q0: Vector, q1: Vector) -> list[Scalar]:
    """The displacement dx with integrate(q0, dx) = q1, the shortest one."""
    dx: list[Scalar] = []
    for body in _own(model):
        at = slice(body.q_at, body.q_at + body.joint.nq)
        dx += body.joint.difference(q0[at], q1[at])
    return dx
