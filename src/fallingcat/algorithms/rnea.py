"""Inverse dynamics: recursive Newton-Euler (Featherstone 2008, Table 5.1; paper 002, Alg. 1; paper 000, Table 4).

The floating base is joint 0 with S = 1, so its six torques are the base wrench: with an arbitrary base
acceleration this is the extended inverse dynamics of paper 000.
"""

from __future__ import annotations

from fallingcat.algorithms.dense import solve_symmetric
from fallingcat.algorithms.joint_dynamics import joint_torques
from fallingcat.algorithms.posed import NO_FORCES, PerBody, Posed, Vector, Wrenches, body, composite_inertias, inwards, motions
from fallingcat.algorithms.vectors import negative
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion


def inverse_dynamics(model: Model, q: Vector, nu: Vector, dnu: Vector, f_ext: Wrenches = NO_FORCES) -> list[Scalar]:
    """tau with  M(q) dnu + h(q, nu) = tau + sum J^T f_ext  (paper 002, eq. 9)."""
    r = body(model, q)
    v, a = motions(r, nu, dnu, r.gravity)
    f = forces(r, v, a, f_ext)
    tau = {i: r.S[i].power(f[i]) for i in inwards(r, f)}
    return joint_torques(model, model.gather(tau), nu, dnu)


def forces(r: Posed, v: PerBody[Motion], a: PerBody[Motion], f_ext: Wrenches = NO_FORCES) -> PerBody[Force]:
    """f[i]: the wrench that makes body i alone move with v and a; summed over a subtree, the wrench that its joint transmits."""
    return {i: force(r, i, v, a, f_ext) for i in r.I} | {WORLD: Force.zero(r.root)}


def force(r: Posed, i: int, v: PerBody[Motion], a: PerBody[Motion], f_ext: Wrenches = NO_FORCES) -> Force:
    """Newton and Euler for one body: I a + v x* I v, less the external wrench on it."""
    return r.I[i] @ a[i] + v[i].cross(r.I[i] @ v[i]) - r.wrench(i, f_ext[i])


def bias(model: Model, q: Vector, nu: Vector, f_ext: Wrenches = NO_FORCES) -> list[Scalar]:
    """h(q, nu): Coriolis, centrifugal and gravity terms; the torque at zero acceleration."""
    return inverse_dynamics(model, q, nu, [0.0] * model.nv, f_ext)


def gravity_torque(model: Model, q: Vector) -> list[Scalar]:
    """g(q): the torque that holds the robot still."""
    return inverse_dynamics(model, q, [0.0] * model.nv, [0.0] * model.nv)


def base_acceleration(model: Model, q: Vector, nu: Vector, ddr: Vector) -> list[Scalar]:
    """The base acceleration with which joint accelerations ddr need no base wrench.

    a_0 = -(Mc_0)^-1 bc_0 (paper 000, remark after Table 4): the locked inertia against the wrench at zero base acceleration.
    """
    wrench = inverse_dynamics(model, q, nu, [0.0] * 6 + list(ddr))[:6]
    r = body(model, q)
    Ic = composite_inertias(r)[0]
    locked = [r.S[0].power(Ic @ s) for s in r.S[0].columns]
    return solve_symmetric(locked, negative(wrench))
