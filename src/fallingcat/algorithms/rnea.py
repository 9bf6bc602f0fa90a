"""Inverse dynamics: recursive Newton-Euler (Featherstone 2008, Table 5.1; paper 002, Alg. 1; paper 000, Table 4).

The floating base is joint 0 with S = 1, so its six torques are the base wrench: with an arbitrary base
acceleration this is the extended inverse dynamics of paper 000.
"""

from __future__ import annotations

from collections.abc import Mapping

from fallingcat.algorithms.crba import composite_inertias
from fallingcat.algorithms.dense import solve_symmetric
from fallingcat.algorithms.joint_dynamics import joint_torques
from fallingcat.algorithms.kinematics import (
    PerBody,
    Vector,
    accelerations,
    gravity_acceleration,
    joint_kinematics,
    velocities,
    velocity_products,
)
from fallingcat.errors import InputError
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force

NO_FORCES: Mapping[int, Force] = {}


def inverse_dynamics(model: Model, q: Vector, nu: Vector, dnu: Vector, f_ext: Mapping[int, Force] = NO_FORCES) -> list[Scalar]:
    """tau with  M(q) dnu + h(q, nu) = tau + sum J^T f_ext  (paper 002, eq. 9)."""
    X, S = joint_kinematics(model, q)
    v, vJ = velocities(model, X, S, nu)
    c = velocity_products(model, q, nu, v, vJ)
    a = accelerations(model, X, S, c, dnu, gravity_acceleration(model))

    f: PerBody[Force] = {WORLD: Force.zero(WORLD)}
    tau: PerBody[list[Scalar]] = {}
    for i, _ in model.base_to_tip():
        I = model.bodies[i].inertia
        f[i] = I @ a[i] + v[i].cross(I @ v[i])
        if i in f_ext:
            f[i] = f[i] - f_ext[i]
    for i, p in model.tip_to_base():
        tau[i] = S[i].power(f[i])
        f[p] = f[p] + X[i].T @ f[i]
    return joint_torques(model, model.gather(tau), nu, dnu)


def bias(model: Model, q: Vector, nu: Vector, f_ext: Mapping[int, Force] = NO_FORCES) -> list[Scalar]:
    """h(q, nu): Coriolis, centrifugal and gravity terms; the torque at zero acceleration."""
    return inverse_dynamics(model, q, nu, [0.0] * model.nv, f_ext)


def gravity_torque(model: Model, q: Vector) -> list[Scalar]:
    """g(q): the torque that holds the robot still."""
    return inverse_dynamics(model, q, [0.0] * model.nv, [0.0] * model.nv)


def base_acceleration(model: Model, q: Vector, nu: Vector, ddr: Vector) -> list[Scalar]:
    """The base acceleration with which joint accelerations ddr need no base wrench.

    a_0 = -(Mc_0)^-1 bc_0 (paper 000, eq. 53): the locked inertia against the wrench at zero base acceleration.
    """
    if not model.floating:
        raise InputError("base_acceleration needs a floating base", got="a fixed base", hint="load with floating=True")
    wrench = inverse_dynamics(model, q, nu, [0.0] * 6 + list(ddr))[:6]
    X, S = joint_kinematics(model, q)
    Ic = composite_inertias(model, X)[0]
    momenta = [Ic @ s for s in S[0].columns]
    locked = [[s @ h for h in momenta] for s in S[0].columns]
    return solve_symmetric(locked, [-x for x in wrench])
