"""Derivatives of forward dynamics (paper 002, eq. 17 and 24, with errata 2.2).

    dFD/dq = -M^-1 dID/dq,   dFD/dnu = -M^-1 dID/dnu,   dFD/dtau = M^-1,

the derivatives of inverse dynamics being taken at the accelerations of the forward dynamics. The articulated bodies are
shared by the accelerations and the inverse mass matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fallingcat import scalar
from fallingcat.algorithms.common_frame import CommonFrame, common_frame, is_shallow, velocities, velocity_products
from fallingcat.algorithms.inverse_product import Columns, Factors, minus_inverse_times
from fallingcat.algorithms.joint_dynamics import passive_torques
from fallingcat.algorithms.kinematics import PerBody, Vector
from fallingcat.algorithms.minverse import (
    Articulated,
    articulated_bodies,
    inverse_factor,
    inverse_mass_matrix,
    inverse_mass_matrix_in,
)
from fallingcat.algorithms.rnea import NO_FORCES, bias
from fallingcat.algorithms.rnea_derivatives import derivatives_in
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion
from fallingcat.spatial.vec3 import cross

Block = list[list[Scalar]]


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of dnu = FD(q, nu, tau)."""

    dq: Block
    """(..., nv, nv), left-trivialized."""
    dnu: Block
    """(..., nv, nv)"""
    dtau: Block
    """(..., nv, nv): the inverse mass matrix."""


def forward_dynamics_derivatives(
    model: Model, q: Vector, nu: Vector, tau: Vector, f_ext: Mapping[int, Force] = NO_FORCES
) -> ForwardDynamicsDerivatives:
    """All first derivatives of forward dynamics."""
    return derivatives_and_accelerations(model, q, nu, tau, f_ext)[0]


def derivatives_and_accelerations(
    model: Model, q: Vector, nu: Vector, tau: Vector, f_ext: Mapping[int, Force] = NO_FORCES
) -> tuple[ForwardDynamicsDerivatives, list[Scalar]]:
    """The derivatives, and dnu itself, which they need."""
    c = common_frame(model, q)
    factors: Factors | None = None
    if model.mimics:
        Minv = inverse_mass_matrix(model, q)
        free = [t - h for t, h in zip(tau, bias(model, q, nu, f_ext), strict=True)]
        dnu = _apply(Minv, free)
    else:
        bodies = articulated_bodies(c)
        W = inverse_factor(c, bodies) if is_shallow(model) else {}
        factors = Factors(W, bodies.Dinv) if W else None
        Minv = inverse_mass_matrix_in(c, bodies, W)
        dnu = accelerations_in(c, bodies, nu, tau, f_ext)
    ID = derivatives_in(c, nu, dnu, f_ext)
    FD_dq, FD_dnu = minus_inverse_times(model, Minv, factors, (ID.dq, ID.dnu), invariant_columns(c, nu))
    return ForwardDynamicsDerivatives(FD_dq, FD_dnu, Minv), dnu


def accelerations_in(
    c: CommonFrame, bodies: Articulated, nu: Vector, tau: Vector, f_ext: Mapping[int, Force] = NO_FORCES
) -> list[Scalar]:
    """Forward dynamics with the articulated bodies known (Featherstone 2008, Table 7.1, in common coordinates)."""
    model = c.model
    v = velocities(c, nu)
    products = velocity_products(c, nu, v)
    passive = passive_torques(model, nu)
    tau = [t - x for t, x in zip(tau, passive, strict=True)]
    pA: PerBody[Force] = {}
    for i, _ in model.base_to_tip():
        pA[i] = v[i].cross(c.I[i] @ v[i])
        if i in f_ext:
            pA[i] = pA[i] - c.X[i].T @ f_ext[i]
    u: PerBody[list[Scalar]] = {}
    for i, p in model.tip_to_base():
        u[i] = [t - x for t, x in zip(model.speeds(i, tau), c.S[i].power(pA[i]), strict=True)]
        if p != WORLD:
            gain = _apply(bodies.Dinv[i], u[i])
            pA[p] = pA[p] + pA[i] + bodies.Ia[i] @ products[i]
            for column, x in zip(bodies.U[i], gain, strict=True):
                pA[p] = pA[p] + column * x
    a: PerBody[Motion] = {WORLD: c.gravity}
    dnu: PerBody[list[Scalar]] = {}
    for i, p in model.base_to_tip():
        a[i] = a[p] + products[i]
        rest = [x - a[i] @ column for x, column in zip(u[i], bodies.U[i], strict=True)]
        dnu[i] = _apply(bodies.Dinv[i], rest)
        a[i] = a[i] + c.S[i] @ dnu[i]
    return model.gather(dnu)


def _apply(A: Block, x: Vector) -> list[Scalar]:
    return [scalar.dot(row, x) for row in A]


def invariant_columns(c: CommonFrame, nu: Vector) -> tuple[Columns, Columns]:
    """Columns of dFD/dq and dFD/dnu that are known without computing anything.

    Moving the whole robot changes nothing but the direction of gravity as the base sees it:
        dFD/dq_base = [[0, (R^T g)^], [0, 0]],  no joint acceleration changes   (errata to paper 000, shortcuts).
    A uniform velocity changes nothing at all; in body coordinates the base acceleration loses w x v.
    """
    if not c.model.floating or c.model.bodies[0].joint.ring([0.0] * 6 + [1.0], [0.0] * 6) is not None:
        return {}, {}
    rest = [0.0] * (c.model.nv - 3)
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    w = (nu[3], nu[4], nu[5])
    dq: Columns = {k: [0.0] * c.model.nv for k in range(3)}
    dnu: Columns = {}
    for k, e in enumerate(axes):
        dq[3 + k] = [*cross(e, c.gravity.lin), *rest]  # (R^T g)^ e with gravity = -R^T g
        dnu[k] = [*cross(e, w), *rest]
    return dq, dnu
