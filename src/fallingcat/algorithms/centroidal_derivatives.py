"""Derivatives of the centroidal momentum and of its rate.

In common coordinates. Seen from the centre of mass c a wrench (f; m) is (f; m - c x f). Moving along an axis S displaces what
it carries, so that with H the momentum and F the force of these bodies, m the mass of the robot and dc = (Ic S)_lin / m
    dh = S x* H + Ic Pd,   dF = S x* F + Ic Pdd + 2 Bc Pd                  about the origin, and
    d(m - c x f) = dm - c x df - dc x f                                    about the centre of mass.
The momentum is the same in all representations of the base twist; what is held when q is displaced is not (`representations`).
"""

from __future__ import annotations

from typing import NamedTuple

from fallingcat.algorithms.centroidal import centroid
from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.posed import COMMON, Vector, common, motions, subtree_sums, velocities
from fallingcat.algorithms.representations import view_of
from fallingcat.algorithms.rnea import forces
from fallingcat.algorithms.rnea_derivatives import axis_columns, factors
from fallingcat.model.model import WORLD, Model
from fallingcat.spatial import Force, Motion
from fallingcat.spatial.coriolis import CoriolisFactor


class CentroidalMomentumDerivatives(NamedTuple):
    """Derivatives of h = A_G nu."""

    dh_dq: Block
    """(..., 6, nv), left-trivialized."""
    dh_dnu: Block
    """(..., 6, nv): the centroidal momentum matrix."""


class CentroidalMomentumRateDerivatives(NamedTuple):
    """Derivatives of dh/dt = A_G dnu + (d A_G/dt) nu."""

    dh_rate_dq: Block
    """(..., 6, nv), left-trivialized."""
    dh_rate_dnu: Block
    """(..., 6, nv)"""
    dh_rate_ddnu: Block
    """(..., 6, nv): the centroidal momentum matrix."""


def centroidal_momentum_derivatives(
    model: Model, q: Vector, nu_a: Vector, representation: str = "body"
) -> CentroidalMomentumDerivatives:
    """d h / d(q, nu_a), with nu = X nu_a; nu_a is held when q is displaced."""
    g, view = centroid(common(model, q)), view_of(model, q, representation)
    nu = view.X @ nu_a
    r, v = g.robot, velocities(g.robot, nu)
    H = subtree_sums(r, {i: I @ v[i] for i, I in r.I.items()}, Force.zero(COMMON))
    unused = dict.fromkeys(v, Motion.zero(COMMON))  # the momentum does not depend on accelerations
    axes = {i: axis_columns(r, i, v, unused, nu, [0.0] * model.nv) for i in r.S}
    h = g.about(WORLD, H[WORLD])

    def dq(i: int, k: int) -> Force:
        x = axes[i][k]
        return g.about(i, x.S.cross(H[i]) + g.Ic[i] @ x.Pd) + g.moved(h, g.momentum(i, k))

    found = (Matrix(g.columns(column), model.nv) for column in (dq, g.momentum))
    return CentroidalMomentumDerivatives(*(D.rows for D in view.by_velocity(nu, *found)))


def centroidal_momentum_rate_derivatives(
    model: Model, q: Vector, nu_a: Vector, dnu_a: Vector, representation: str = "body"
) -> CentroidalMomentumRateDerivatives:
    """d (dh/dt) / d(q, nu_a, dnu_a), with nu = X nu_a; nu_a and dnu_a are held when q is displaced."""
    g, view = centroid(common(model, q)), view_of(model, q, representation)
    nu, y = view.X @ nu_a, view.X @ dnu_a
    dnu = view.minus_drift(y, nu)
    r = g.robot
    v, a = motions(r, nu, dnu, Motion.zero(COMMON))
    F, Bc = subtree_sums(r, forces(r, v, a), Force.zero(COMMON)), subtree_sums(r, factors(r, v), CoriolisFactor.zero(COMMON))
    axes = {i: axis_columns(r, i, v, a, nu, dnu) for i in r.S}
    h_rate = g.about(WORLD, F[WORLD])

    def dq(i: int, k: int) -> Force:
        x = axes[i][k]
        force = x.S.cross(F[i]) + g.Ic[i] @ x.Pdd + 2.0 * (Bc[i] @ x.Pd)
        return g.about(i, force) + g.moved(h_rate, g.momentum(i, k))

    def by_nu(i: int, k: int) -> Force:
        x = axes[i][k]
        return g.about(i, g.Ic[i] @ x.PdSd + 2.0 * (Bc[i] @ x.S))

    found = (Matrix(g.columns(column), model.nv) for column in (dq, by_nu, g.momentum))
    return CentroidalMomentumRateDerivatives(*(D.rows for D in view.by_acceleration(nu, y, *found)))
