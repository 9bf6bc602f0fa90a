"""Forward dynamics: the articulated-body algorithm (Featherstone 2008, Table 7.1) for joints of any number of axes.

Joints that mimic others couple distant branches, which articulated bodies cannot express; for them the
equations of motion are solved with the mass matrix.
"""

from __future__ import annotations

from collections.abc import Mapping

from fallingcat import scalar
from fallingcat.algorithms.crba import mass_matrix
from fallingcat.algorithms.dense import inverse_symmetric, solve_symmetric
from fallingcat.algorithms.joint_dynamics import passive_torques
from fallingcat.algorithms.kinematics import (
    PerBody,
    Vector,
    gravity_acceleration,
    joint_kinematics,
    velocities,
    velocity_products,
)
from fallingcat.algorithms.rnea import NO_FORCES, bias
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import ArticulatedInertia, Force, Motion


def forward_dynamics(model: Model, q: Vector, nu: Vector, tau: Vector, f_ext: Mapping[int, Force] = NO_FORCES) -> list[Scalar]:
    """dnu with  M(q) dnu + h(q, nu) = tau + sum J^T f_ext."""
    if model.mimics:
        return _by_mass_matrix(model, q, nu, tau, f_ext)
    X, S = joint_kinematics(model, q)
    v, vJ = velocities(model, X, S, nu)
    c = velocity_products(model, q, nu, v, vJ)
    tau = [t - passive for t, passive in zip(tau, passive_torques(model, nu), strict=True)]

    IA: PerBody[ArticulatedInertia] = {WORLD: ArticulatedInertia.zero(WORLD)}
    pA: PerBody[Force] = {WORLD: Force.zero(WORLD)}
    for i, _ in model.base_to_tip():
        I = model.bodies[i].inertia
        IA[i] = I.articulated()
        pA[i] = v[i].cross(I @ v[i])
        if i in f_ext:
            pA[i] = pA[i] - f_ext[i]

    U: PerBody[list[Force]] = {}
    UDinv: PerBody[list[Force]] = {}
    Dinv: PerBody[list[list[Scalar]]] = {}
    u: PerBody[list[Scalar]] = {}
    for i, p in model.tip_to_base():
        U[i] = [IA[i] @ s for s in S[i].columns]
        D = [[s @ column for column in U[i]] for s in S[i].columns]
        for k, row in enumerate(D):
            row[k] = row[k] + model.bodies[i].armature
        Dinv[i] = inverse_symmetric(D)
        u[i] = [t - bias_k for t, bias_k in zip(model.speeds(i, tau), S[i].power(pA[i]), strict=True)]
        if p != WORLD:
            UDinv[i] = [_combination(U[i], column) for column in Dinv[i]]
            Ia = IA[i].minus_product(U[i], UDinv[i])
            pa = pA[i] + Ia @ c[i] + _combination(UDinv[i], u[i])
            IA[p] = IA[p] + X[i].T @ Ia
            pA[p] = pA[p] + X[i].T @ pa

    a: PerBody[Motion] = {WORLD: gravity_acceleration(model)}
    dnu: PerBody[list[Scalar]] = {}
    for i, p in model.base_to_tip():
        a[i] = X[i] @ a[p] + c[i]
        rest = [uk - a[i] @ column for uk, column in zip(u[i], U[i], strict=True)]
        dnu[i] = [scalar.dot(row, rest) for row in Dinv[i]]
        a[i] = a[i] + S[i] @ dnu[i]
    return model.gather(dnu)


def _combination(columns: list[Force], x: Vector) -> Force:
    total = Force.zero(columns[0].frame)
    for column, xk in zip(columns, x, strict=True):
        total = total + column * xk
    return total


def _by_mass_matrix(model: Model, q: Vector, nu: Vector, tau: Vector, f_ext: Mapping[int, Force]) -> list[Scalar]:
    h = bias(model, q, nu, f_ext)
    return solve_symmetric(mass_matrix(model, q), [t - x for t, x in zip(tau, h, strict=True)])
