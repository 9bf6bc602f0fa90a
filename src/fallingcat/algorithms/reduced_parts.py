"""Single terms of the reduced equations (paper 003): P, S, the curvature terms, the blocks of (20), decoupling torques.

In the coordinates of the base, with the names of `reduced`. Let v_i be the twists of the bodies at the velocity (-A r, r), which
has no momentum, B(v_i, I_i) their Coriolis factors (paper 001, eq. 12) and Bc_j the sums of what joint j carries. As
C(x, I) + ad_x^T I = -B(x, I)^T, (26) is minus the sum over bodies of B^T Jt: a pure moment for each joint,
    b_j = Bc_j^T S_j - Bc_0^T A_j,      B_1(r) = -b^T,      B_l(r) = 2 Lambda_b^-1 b                  (26), (30), (38), (40)
and its power on mu, B_2(mu) r = -B_1(r) mu, is what the wrenches Bc_j mu do on the axes.
"""

from __future__ import annotations

from typing import NamedTuple

from fallingcat.algorithms.coriolis import axis_forces, coriolis_terms_in
from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.posed import COMMON, PerBody, Vector, subtree_sums, velocities
from fallingcat.algorithms.reduced import (
    Shape,
    base_transform,
    curvature_force,
    gather_joints,
    inertia_derivative,
    inertia_rate,
    shape,
    skew_forces,
)
from fallingcat.algorithms.rnea_derivatives import factors
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion


class CurvatureMaps(NamedTuple):
    """The curvature of the connection with one of its arguments given, as matrices."""

    B_l: Block
    """(..., 6, n): from a shape velocity y to the curvature Omega(r, y)."""
    B_1: Block
    """(..., n, 6): -1/2 B_l^T Lambda_b; B_1^T r = 0."""
    B_2: Block
    """(..., n, n): skew; B_2(mu) r = -B_1(r) mu = 1/2 B_l(r)^T p."""


class TransformedCoriolis(NamedTuple):
    """The blocks of the Coriolis matrix in the velocities (mu, r)."""

    Gamma_b: Block
    """(..., 6, 6): C_b of the Coriolis matrix."""
    Gamma_bq: Block
    """(..., 6, n)"""
    Gamma_qb: Block
    """(..., n, 6): minus the transpose of Gamma_bq."""
    Gamma_q: Block
    """(..., n, n): B_2(mu) + Gamma'_q(r), of which `reduced_dynamics` gives the second as Gamma_q."""


class DecouplingTorques(NamedTuple):
    """Joint torques that cancel the influence of the locked velocity on the shape."""

    reduced: list[Scalar]
    """(..., n): tau of Sec. V-1, against the products of mu with itself, by (16)."""
    transformed: list[Scalar]
    """(..., n): taubar = -Gamma_bq^T mu = tau + B_2 r of Sec. V-1, by (20)."""
    complete: list[Scalar]
    """(..., n): tau + 2 B_2 r, against all terms of the locked velocity: the shape then moves as it would without momentum."""


def inertia_velocity_matrix(model: Model, q: Vector, r: Vector) -> Block:
    """P(r): the rate of the locked inertia along a shape velocity (18a), Def. 4."""
    return inertia_rate(shape(model, q), r).matrix()


def inertia_derivative_matrix(model: Model, q: Vector, mu: Vector) -> Block:
    """S(mu), with S^T mu = 1/2 d<mu, mu>/dq (18b), Def. 5."""
    g, x = shape(model, q), Motion.of(mu, COMMON)
    return inertia_derivative(g, skew_forces(g, x), x).rows


def spatial_connection(model: Model, q: Vector) -> Block:
    """Ad_1 [1, A_l] (10): from nu to the locked velocity as a twist of the world (Def. 3)."""
    X_w0 = base_transform(model, q).inverse()
    units = [Motion.of([1.0 if k == m else 0.0 for k in range(6)], COMMON) for m in range(6)]
    return Matrix.columns([X_w0 @ Motion(a.lin, a.ang, 0) for a in [*units, *shape(model, q).A]]).rows


def curvature_maps(model: Model, q: Vector, r: Vector, mu: Vector) -> CurvatureMaps:
    """B_l(r) (14), (38), B_1(r) (26) and B_2(mu) (27)."""
    g, x = shape(model, q), Motion.of(mu, COMMON)
    b = _curvature_moments(g, r)
    B_2 = curvature_force(g, skew_forces(g, x), x)
    B_l = Matrix.columns([g.inverse @ (m * 2.0) for m in b])
    return CurvatureMaps(B_l.rows, (-Matrix.columns(b).T).rows, B_2.rows)


def _curvature_moments(g: Shape, r: Vector) -> list[Force]:
    """b_j = Bc_j^T S_j - Bc_0^T A_j."""
    forces = axis_forces(g.frame, g.horizontal(r))
    return [f - forces.Bc[0].transposed(a) for f, a in zip(gather_joints(g.model, forces.F3), g.A, strict=True)]


def transformed_coriolis(model: Model, q: Vector, nu: Vector) -> TransformedCoriolis:
    """Gamma = T^T (C T + M T'), nu = T (mu, r), T = [1, -A; 0, 1] (20), (21), (23); M_bq = Lambda_b A takes T' out."""
    g = shape(model, q)
    C, A = Matrix(coriolis_terms_in(g.frame, nu).C), Matrix.columns(g.A)
    Gamma_b = C[:6, :6]
    Gamma_qb = C[6:, :6] - A.T @ Gamma_b
    Gamma_q = C[6:, 6:] - A.T @ C[:6, 6:] - Gamma_qb @ A
    return TransformedCoriolis(Gamma_b.rows, (-Gamma_qb.T).rows, Gamma_qb.rows, Gamma_q.rows)


def decoupling_torques(model: Model, q: Vector, nu: Vector) -> DecouplingTorques:
    """tau = (-S(mu)^T + A^T ad~(p)) mu (16), and B_2(mu) r once and twice more (20); Sec. V-1 with erratum 3.16.

    S(mu)^T mu = -S_j . (mu x* Ic_j mu) and ad~(p) mu = -mu x* p: tau_j is the torque that keeps joint j locked while the robot
    moves with mu, less the part that the acceleration of the base takes over.
    """
    g = shape(model, q)
    mu = g.locked_velocity(nu)
    locked = {i: mu.cross(I @ mu) for i, I in g.frame.I.items()}
    B = factors(g.frame, velocities(g.frame, g.horizontal(nu[6:])))
    tau, B_2r = _on_axes(g, locked), _on_axes(g, {i: B[i] @ mu for i in B})
    once = [x + y for x, y in zip(tau, B_2r, strict=True)]
    return DecouplingTorques(tau, once, [x + y for x, y in zip(once, B_2r, strict=True)])


def _on_axes(g: Shape, wrenches: PerBody[Force]) -> list[Scalar]:
    """S_j . f_j - A_j . f_0, with f_j the wrenches on all that joint j carries: sum of Jt^T over bodies."""
    f = subtree_sums(g.frame, wrenches, Force.zero(COMMON))
    axes = g.model.gather({i: g.frame.S[i].power(f[i]) for i, _ in g.model.base_to_tip()})[6:]
    return [x - a @ f[0] for x, a in zip(axes, g.A, strict=True)]
