"""Derivatives of the centroidal momentum and of its rate.

In common coordinates. Seen from the centre of mass c a wrench (f; m) is (f; m - c x f). Moving along an axis S displaces what
it carries, so that with H the momentum and F the force of these bodies, m the mass of the robot and dc = (Ic S)_lin / m
    dh = S x* H + Ic Pd,   dF = S x* F + Ic Pdd + 2 Bc Pd                  about the origin, and
    d(m - c x f) = dm - c x df - dc x f                                    about the centre of mass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from fallingcat.algorithms.common_frame import COMMON, CommonFrame, accelerations, common_frame, velocities, velocity_products
from fallingcat.algorithms.kinematics import PerBody, Vector, joint_kinematics
from fallingcat.algorithms.rnea_derivatives import axis_columns
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Inertia, Motion
from fallingcat.spatial.coriolis import CoriolisFactor
from fallingcat.spatial.rotation import MatrixRotation, Rotation
from fallingcat.spatial.vec3 import IDENTITY, ZERO, Vec, cross, scale, sub

Block = list[list[Scalar]]


class CentroidalMomentumDerivatives(NamedTuple):
    """Derivatives of h = A_G nu."""

    dq: Block
    """(..., 6, nv), left-trivialized."""
    dnu: Block
    """(..., 6, nv): the centroidal momentum matrix."""


class CentroidalMomentumRateDerivatives(NamedTuple):
    """Derivatives of dh/dt = A_G dnu + (d A_G/dt) nu."""

    dq: Block
    """(..., 6, nv), left-trivialized."""
    dnu: Block
    """(..., 6, nv)"""
    ddnu: Block
    """(..., 6, nv): the centroidal momentum matrix."""


@dataclass(frozen=True)
class Centroid:
    """The robot in common coordinates, and how its centre of mass sees them."""

    frame: CommonFrame
    Ic: PerBody[Inertia]
    """Of every body and all that it carries; under WORLD of the whole robot."""
    c: Vec
    """The centre of mass."""
    R_cw: Rotation
    """From world to common orientation."""

    def about(self, f: Force) -> Force:
        """A wrench about the centre of mass, still in common orientation."""
        return Force(f.lin, sub(f.ang, cross(self.c, f.lin)), COMMON)

    def seen(self, f: Force) -> list[Scalar]:
        """A wrench that is about the centre of mass, in the orientation of the world."""
        return [*self.R_cw.inverse_apply(f.lin), *self.R_cw.inverse_apply(f.ang)]

    def shift(self, S_momentum: Force, f: Force) -> Force:
        """-dc x f: what moves with the centre of mass when an axis with momentum Ic S moves."""
        dc = scale(1.0 / self.frame.model.mass, S_momentum.lin)
        return Force(ZERO, cross(f.lin, dc), COMMON)

    def columns(self, column: Callable[[int, int], Force]) -> Block:
        """The 6 x nv matrix from a wrench, about the centre of mass, per body and axis."""
        model = self.frame.model
        parts = {i: [self.seen(column(i, k)) for k in range(len(self.frame.S[i]))] for i, _ in model.base_to_tip()}
        return model.gather_columns(parts, 6)


def centroid(model: Model, q: Vector) -> Centroid:
    """Composite inertias, from the tips inwards, and the centre of mass."""
    frame = common_frame(model, q)
    Ic = dict(frame.I) | {WORLD: Inertia.zero(COMMON)}
    for i, p in model.tip_to_base():
        Ic[p] = Ic[p] + Ic[i]
    R_cw = joint_kinematics(model, q)[0][0].E if model.floating else MatrixRotation(IDENTITY)
    c = scale(1.0 / model.mass, Ic[WORLD].h) if model.mass > 0.0 else ZERO
    return Centroid(frame, Ic, c, R_cw)


def centroidal_momentum_derivatives(model: Model, q: Vector, nu: Vector) -> CentroidalMomentumDerivatives:
    """d h / d(q, nu)."""
    g = centroid(model, q)
    v = velocities(g.frame, nu)
    H = _momentum(g, v)
    still = [0.0] * model.nv
    axes = {i: axis_columns(g.frame, i, p, v, _at_rest(model), nu, still) for i, p in model.base_to_tip()}

    def dq(i: int, k: int) -> Force:
        x = axes[i][k]
        momentum = g.Ic[i] @ x.S
        return g.about(x.S.cross(H[i]) + g.Ic[i] @ x.Pd) + g.shift(momentum, H[WORLD])

    return CentroidalMomentumDerivatives(g.columns(dq), g.columns(lambda i, k: g.about(g.Ic[i] @ g.frame.S[i].columns[k])))


def centroidal_momentum_rate_derivatives(model: Model, q: Vector, nu: Vector, dnu: Vector) -> CentroidalMomentumRateDerivatives:
    """d (dh/dt) / d(q, nu, dnu)."""
    g = centroid(model, q)
    v = velocities(g.frame, nu)
    a = accelerations(g.frame, velocity_products(g.frame, nu, v), dnu, Motion.zero(COMMON))
    F, Bc = _forces(g, v, a), _coriolis_factors(g, v)
    axes = {i: axis_columns(g.frame, i, p, v, a, nu, dnu) for i, p in model.base_to_tip()}

    def dq(i: int, k: int) -> Force:
        x = axes[i][k]
        force = x.S.cross(F[i]) + g.Ic[i] @ x.Pdd + 2.0 * (Bc[i] @ x.Pd)
        return g.about(force) + g.shift(g.Ic[i] @ x.S, F[WORLD])

    def by_nu(i: int, k: int) -> Force:
        x = axes[i][k]
        return g.about(g.Ic[i] @ x.PdSd + 2.0 * (Bc[i] @ x.S))

    return CentroidalMomentumRateDerivatives(
        g.columns(dq), g.columns(by_nu), g.columns(lambda i, k: g.about(g.Ic[i] @ g.frame.S[i].columns[k]))
    )


def _momentum(g: Centroid, v: PerBody[Motion]) -> PerBody[Force]:
    """The momentum of every body and all that it carries; under WORLD of the whole robot."""
    model = g.frame.model
    H = {i: g.frame.I[i] @ v[i] for i, _ in model.base_to_tip()} | {WORLD: Force.zero(COMMON)}
    for i, p in model.tip_to_base():
        H[p] = H[p] + H[i]
    return H


def _forces(g: Centroid, v: PerBody[Motion], a: PerBody[Motion]) -> PerBody[Force]:
    """The rate of that momentum."""
    model = g.frame.model
    F = {i: g.frame.I[i] @ a[i] + v[i].cross(g.frame.I[i] @ v[i]) for i, _ in model.base_to_tip()} | {WORLD: Force.zero(COMMON)}
    for i, p in model.tip_to_base():
        F[p] = F[p] + F[i]
    return F


def _coriolis_factors(g: Centroid, v: PerBody[Motion]) -> PerBody[CoriolisFactor]:
    model = g.frame.model
    Bc = {i: CoriolisFactor.of(v[i], g.frame.I[i]) for i, _ in model.base_to_tip()}
    for i, p in model.tip_to_base():
        if p != WORLD:
            Bc[p] = Bc[p] + Bc[i]
    return Bc


def _at_rest(model: Model) -> PerBody[Motion]:
    return {i: Motion.zero(COMMON) for i in range(WORLD, len(model.bodies))}
