"""Dynamics within the joints: viscous damping, smoothed Coulomb friction, reflected rotor inertia.

Unless the robot was loaded with joint_dynamics=True these parameters are zero, and the terms drop out of traced programs.
"""

from __future__ import annotations

from collections.abc import Sequence

from fallingcat import scalar
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar

FRICTION_SPEED = 1e-2
"""Coulomb friction is friction * x / sqrt(x^2 + FRICTION_SPEED^2): smooth, and 0.7 of it at this speed (rad/s, m/s)."""


def passive_torques(model: Model, nu: Sequence[Scalar]) -> list[Scalar]:
    """The torques of damping and friction, (nv,), that have to be overcome at the velocity nu."""
    parts: dict[int, list[Scalar]] = {}
    for i, _ in model.base_to_tip():
        body = model.bodies[i]
        parts[i] = [body.damping * x for x in model.speeds(i, nu)]
        if body.friction != 0.0:
            speeds = model.speeds(i, nu)
            smooth = [x / scalar.sqrt(x * x + FRICTION_SPEED * FRICTION_SPEED) for x in speeds]
            parts[i] = [p + body.friction * x for p, x in zip(parts[i], smooth, strict=True)]
    return model.gather(parts)


def joint_torques(model: Model, tau: list[Scalar], nu: Sequence[Scalar], dnu: Sequence[Scalar]) -> list[Scalar]:
    """tau plus the torques needed within the joints: passive torques, and rotor inertia times acceleration, (nv,)."""
    passive = passive_torques(model, nu)
    rotors = model.gather({i: [body.armature * x for x in model.speeds(i, dnu)] for i, body in enumerate(model.bodies)})
    return [t + p + r for t, p, r in zip(tau, passive, rotors, strict=True)]


def rotor_inertias(model: Model) -> list[Scalar]:
    """The reflected inertias of the rotors, which add to the diagonal of M, (nv,)."""
    total: list[Scalar] = [0.0] * model.nv
    for i, body in enumerate(model.bodies):
        for k in model.dofs(i):
            total[k] = total[k] + body.armature * body.multiplier * body.multiplier
    return total


def passive_derivatives(model: Model, nu: Sequence[Scalar]) -> list[Scalar]:
    """The derivative of each passive torque k with respect to nu_k, (nv,); all others are zero."""
    total: list[Scalar] = [0.0] * model.nv
    for i, body in enumerate(model.bodies):
        square = body.multiplier * body.multiplier
        for k, x in zip(model.dofs(i), model.speeds(i, nu), strict=True):
            total[k] = total[k] + square * body.damping
            if body.friction != 0.0:
                s = x * x + FRICTION_SPEED * FRICTION_SPEED
                slope = FRICTION_SPEED * FRICTION_SPEED / (s * scalar.sqrt(s))
                total[k] = total[k] + square * body.friction * slope
    return total


def passive_second_derivatives(model: Model, nu: Sequence[Scalar]) -> list[Scalar]:
    """The second derivative of each passive torque k with respect to nu_k, (nv,); all others are zero."""
    total: list[Scalar] = [0.0] * model.nv
    for i, body in enumerate(model.bodies):
        for k, x in zip(model.dofs(i), model.speeds(i, nu), strict=True):
            if body.friction != 0.0:
                s = x * x + FRICTION_SPEED * FRICTION_SPEED
                bend = -3.0 * FRICTION_SPEED * FRICTION_SPEED * x / (s * s * scalar.sqrt(s))
                total[k] = total[k] + body.friction * body.multiplier * body.multiplier * body.multiplier * bend
    return total
