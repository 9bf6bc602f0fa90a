"""Derivatives of the centroidal momentum and of its rate.

In common coordinates. Seen from the centre of mass c a wrench (f; m) is (f; m - c x f). Moving along an axis S displaces what
it carries, so that with H the momentum and F the force of these bodies, m the mass of the robot and dc = (Ic S)_lin / m
    dh = S x* H + Ic Pd,   dF = S x* F + Ic Pdd + 2 Bc Pd                  about the origin, and
    d(m - c x f) = dm - c x df - dc x f                                    about the centre of mass.
The momentum is the same in all representations of the base twist; what is held when q is displaced is not (`representations`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from fallingcat.algorithms.dense import Matrix
from fallingcat.algorithms.posed import (
    COMMON,
    PerBody,
    Posed,
    Vector,
    accelerations,
    common,
    composite_inertias,
    subtree_sums,
    velocities,
    velocity_products,
)
from fallingcat.algorithms.representations import view_of
from fallingcat.algorithms.rnea import forces
from fallingcat.algorithms.rnea_derivatives import axis_columns, factors
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Inertia, Motion
from fallingcat.spatial.coriolis import CoriolisFactor
from fallingcat.spatial.vec3 import ZERO, Vec, cross, scale, sub

Block = list[list[Scalar]]


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


@dataclass(frozen=True)
class Centroid:
    """The robot in common coordinates, and how its centre of mass sees them."""

    robot: Posed
    Ic: PerBody[Inertia]
    """Of every body and all that it carries; under WORLD of the whole robot."""
    c: Vec
    """The centre of mass."""

    def about(self, f: Force) -> Force:
        """A wrench about the centre of mass, still in common orientation."""
        return Force(f.lin, sub(f.ang, cross(self.c, f.lin)), COMMON)

    def seen(self, f: Force) -> list[Scalar]:
        """A wrench that is about the centre of mass, in the orientation of the world."""
        E = self.robot.X_own[WORLD].E
        return [*E.apply(f.lin), *E.apply(f.ang)]

    def shift(self, S_momentum: Force, f: Force) -> Force:
        """-dc x f: what moves with the centre of mass when an axis with momentum Ic S moves."""
        dc = scale(1.0 / self.robot.model.mass, S_momentum.lin)
        return Force(ZERO, cross(f.lin, dc), COMMON)

    def columns(self, column: Callable[[int, int], Force]) -> Block:
        """The 6 x nv matrix from a wrench, about the centre of mass, per body and axis."""
        parts = {i: [self.seen(column(i, k)) for k in range(len(S))] for i, S in self.robot.S.items()}
        return self.robot.model.gather_columns(parts, 6)


def centroid(model: Model, q: Vector) -> Centroid:
    """Composite inertias, from the tips inwards, and the centre of mass."""
    r = common(model, q)
    Ic = composite_inertias(r)
    c = scale(1.0 / model.mass, Ic[WORLD].h) if model.mass > 0.0 else ZERO
    return Centroid(r, Ic, c)


def centroidal_momentum_derivatives(
    model: Model, q: Vector, nu_a: Vector, representation: str = "body"
) -> CentroidalMomentumDerivatives:
    """d h / d(q, nu_a), with nu = X nu_a; nu_a is held when q is displaced."""
    g, view = centroid(model, q), view_of(model, q, representation)
    nu = view.X @ nu_a
    r, v = g.robot, velocities(g.robot, nu)
    H = subtree_sums(r, {i: I @ v[i] for i, I in r.I.items()}, Force.zero(COMMON))
    unused = dict.fromkeys(v, Motion.zero(COMMON))  # accelerations have no part in this
    axes = {i: axis_columns(r, i, v, unused, nu, [0.0] * model.nv) for i in r.S}

    def dq(i: int, k: int) -> Force:
        x = axes[i][k]
        momentum = g.Ic[i] @ x.S
        return g.about(x.S.cross(H[i]) + g.Ic[i] @ x.Pd) + g.shift(momentum, H[WORLD])

    found = CentroidalMomentumDerivatives(g.columns(dq), g.columns(lambda i, k: g.about(g.Ic[i] @ r.S[i].columns[k])))
    if not view.moves:
        return found
    return CentroidalMomentumDerivatives(*(D.rows for D in view.by_velocity(nu, *(Matrix(D, model.nv) for D in found))))


def centroidal_momentum_rate_derivatives(
    model: Model, q: Vector, nu_a: Vector, dnu_a: Vector, representation: str = "body"
) -> CentroidalMomentumRateDerivatives:
    """d (dh/dt) / d(q, nu_a, dnu_a), with nu = X nu_a; nu_a and dnu_a are held when q is displaced."""
    g, view = centroid(model, q), view_of(model, q, representation)
    nu, y = view.X @ nu_a, view.X @ dnu_a
    dnu = view.minus_drift(y, nu)
    r, v = g.robot, velocities(g.robot, nu)
    a = accelerations(r, velocity_products(r, nu, v), dnu, Motion.zero(COMMON))
    F, Bc = subtree_sums(r, forces(r, v, a), Force.zero(COMMON)), subtree_sums(r, factors(r, v), CoriolisFactor.zero(COMMON))
    axes = {i: axis_columns(r, i, v, a, nu, dnu) for i in r.S}

    def dq(i: int, k: int) -> Force:
        x = axes[i][k]
        force = x.S.cross(F[i]) + g.Ic[i] @ x.Pdd + 2.0 * (Bc[i] @ x.Pd)
        return g.about(force) + g.shift(g.Ic[i] @ x.S, F[WORLD])

    def by_nu(i: int, k: int) -> Force:
        x = axes[i][k]
        return g.about(g.Ic[i] @ x.PdSd + 2.0 * (Bc[i] @ x.S))

    found = CentroidalMomentumRateDerivatives(
        g.columns(dq), g.columns(by_nu), g.columns(lambda i, k: g.about(g.Ic[i] @ r.S[i].columns[k]))
    )
    if not view.moves:
        return found
    held = view.by_acceleration(nu, y, *(Matrix(D, model.nv) for D in found))
    return CentroidalMomentumRateDerivatives(*(D.rows for D in held))
