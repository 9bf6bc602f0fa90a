"""Derivatives of forward dynamics (paper 002, eq. 17 and 24, with errata 2.2).

    dFD/dq = -M^-1 dID/dq,   dFD/dnu = -M^-1 dID/dnu,   dFD/dtau = M^-1,

the derivatives of inverse dynamics being taken at the accelerations of the forward dynamics. The articulated bodies are
shared by the accelerations and the inverse mass matrix.
"""

from __future__ import annotations

from typing import NamedTuple

from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.factored_inertia import factored_inertia
from fallingcat.algorithms.held_wrenches import HeldWrenches
from fallingcat.algorithms.inverse_product import Columns, minus_inverse_times
from fallingcat.algorithms.posed import NO_FORCES, Posed, Vector, Wrenches, common
from fallingcat.algorithms.representations import view_of
from fallingcat.algorithms.rnea_derivatives import derivatives_in
from fallingcat.model.model import Model
from fallingcat.scalar import keep
from fallingcat.spatial.vec3 import cross


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of dnu = FD(q, nu, tau)."""

    ddnu_dq: Block
    """(..., nv, nv), left-trivialized."""
    ddnu_dnu: Block
    """(..., nv, nv)"""
    Minv: Block
    """(..., nv, nv): the inverse mass matrix."""


def forward_dynamics_derivatives(
    model: Model, q: Vector, nu_a: Vector, tau_a: Vector, f_ext: Wrenches = NO_FORCES, representation: str = "body"
) -> ForwardDynamicsDerivatives:
    """All first derivatives of forward dynamics.

    With another base twist, nu = X nu_a, tau_a = X^T tau (`representations`), and q is displaced with nu_a and tau_a held.
    """
    view = view_of(model, q, representation)
    nu, tau = view.X @ nu_a, view.X_inverse.T @ tau_a
    FD, dnu = derivatives_and_accelerations(model, q, nu, tau, f_ext)
    if not view.moves:
        return FD
    Minv, X_inverse = Matrix(FD.Minv, model.nv), view.X_inverse
    ddnu_dnu = Matrix(FD.ddnu_dnu, model.nv) + view.drift_dv(nu)
    ddnu_dq = Matrix(FD.ddnu_dq, model.nv) + ddnu_dnu @ view.turn(nu) - view.turn(view.plus_drift(dnu, nu))
    ddnu_dq = ddnu_dq - Minv @ view.turn_force(tau)
    Minv_a = (X_inverse @ Minv @ X_inverse.T).mirrored()
    return ForwardDynamicsDerivatives((X_inverse @ ddnu_dq).rows, (X_inverse @ ddnu_dnu @ view.X).rows, Minv_a.rows)


def derivatives_and_accelerations(
    model: Model, q: Vector, nu: Vector, tau: Vector, f_ext: Wrenches = NO_FORCES
) -> tuple[ForwardDynamicsDerivatives, Vector]:
    """The derivatives of forward dynamics, and dnu, (nv,), at which they are taken."""
    r = common(model, q)
    inertia = factored_inertia(r)
    inverse, dnu = inertia.inverse(), inertia.free(nu, tau, f_ext).dnu
    ID = derivatives_in(r, nu, dnu, f_ext)
    known_dq, known_dnu = invariant_columns(r, nu)
    if isinstance(f_ext, HeldWrenches):  # held in world axes: moving the whole robot changes more than the direction of gravity
        known_dq = {}
    FD_dq, FD_dnu = minus_inverse_times(model, inverse, (ID.dtau_dq, ID.dtau_dnu), (known_dq, known_dnu))
    keep(FD_dq, FD_dnu, inverse.Minv, [dnu])
    return ForwardDynamicsDerivatives(FD_dq, FD_dnu, inverse.Minv), dnu


def invariant_columns(r: Posed, nu: Vector) -> tuple[Columns, Columns]:
    """Columns of dFD/dq and dFD/dnu that are known without computing anything.

    Moving the whole robot changes nothing but the direction of gravity as the base sees it:
        dFD/dq_base = [[0, (R^T g)^], [0, 0]],  no joint acceleration changes   (errata to paper 000, shortcuts).
    A uniform velocity changes nothing at all; in body coordinates the base acceleration loses w x v.
    """
    if not r.model.floating:
        return {}, {}
    rest = [0.0] * (r.model.nv - 3)
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    w = (nu[3], nu[4], nu[5])
    dq: Columns = {k: [0.0] * r.model.nv for k in range(3)}
    dnu: Columns = {}
    for k, e in enumerate(axes):
        dq[3 + k] = [*cross(e, r.gravity.lin), *rest]  # (R^T g)^ e with gravity = -R^T g
        dnu[k] = [*cross(e, w), *rest]
    return dq, dnu
