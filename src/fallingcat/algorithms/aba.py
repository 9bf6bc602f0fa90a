"""Forward dynamics: the articulated-body algorithm (Featherstone 2008, Table 7.1) for joints of any number of axes.

Joints that mimic others couple distant branches, which articulated bodies cannot express; for them the
equations of motion are solved with the mass matrix.
"""

from __future__ import annotations

from collections.abc import Iterable

from fallingcat.algorithms.articulated import Articulated, articulate, combination
from fallingcat.algorithms.crba import mass_matrix_in
from fallingcat.algorithms.dense import solve_symmetric
from fallingcat.algorithms.joint_dynamics import passive_torques
from fallingcat.algorithms.pivots import least_pivots_by_dof
from fallingcat.algorithms.posed import NO_FORCES, PerBody, Posed, Vector, Wrenches, body, inwards, velocities, velocity_products
from fallingcat.algorithms.rnea import bias
from fallingcat.algorithms.vectors import minus
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion


def forward_dynamics(model: Model, q: Vector, nu: Vector, tau: Vector, f_ext: Wrenches = NO_FORCES) -> list[Scalar]:
    """dnu with  M(q) dnu + h(q, nu) = tau + sum J^T f_ext."""
    return (by_mass_matrix if model.mimics else by_articulated_bodies)(body(model, q), nu, tau, f_ext)


def by_mass_matrix(r: Posed, nu: Vector, tau: Vector, f_ext: Wrenches = NO_FORCES) -> list[Scalar]:
    """Forward dynamics by solving with the mass matrix M: dnu, (nv,)."""
    free = minus(tau, bias(r.model, r.q, nu, f_ext))
    return solve_symmetric(mass_matrix_in(r), free, least_pivots_by_dof(r.model))


def by_articulated_bodies(r: Posed, nu: Vector, tau: Vector, f_ext: Wrenches = NO_FORCES) -> list[Scalar]:
    """Forward dynamics by articulated bodies, which are computed in the same pass inwards: dnu, (nv,)."""
    b = Articulated.of(r)
    return accelerations(b, articulate(b), nu, tau, f_ext)[0]


def accelerations(
    b: Articulated, bodies: Iterable[int], nu: Vector, tau: Vector, f_ext: Wrenches = NO_FORCES
) -> tuple[list[Scalar], PerBody[Motion]]:
    """dnu, (nv,), and the spatial accelerations of the bodies, which include that of gravity.

    `bodies` goes from the tips inwards; the articulated inertia of a body must be known when its turn comes.
    """
    r = b.robot
    v = velocities(r, nu)
    c = velocity_products(r, nu, v)
    tau = minus(tau, passive_torques(r.model, nu))
    pA = {i: v[i].cross(I @ v[i]) - r.wrench(i, f_ext[i]) for i, I in r.I.items()} | {WORLD: Force.zero(r.root)}
    u: PerBody[list[Scalar]] = {}
    for i in inwards(r, pA, bodies=bodies):
        u[i] = minus(r.speeds(i, tau), r.S[i].power(pA[i]))
        pA[i] = pA[i] + b.Ia[i] @ c[i] + combination(b.UDinv[i], u[i])
    a: PerBody[Motion] = {WORLD: r.gravity}
    dnu: PerBody[list[Scalar]] = {}
    for i, p in r.model.base_to_tip():
        a[i] = r.X[i] @ a[p] + c[i]
        dnu[i] = b.Dinv[i] @ [uk - a[i] @ column for uk, column in zip(u[i], b.U[i], strict=True)]
        a[i] = a[i] + r.S[i] @ dnu[i]
    return r.model.gather(dnu), a
