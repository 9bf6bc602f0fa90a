"""The reduced Euler-Lagrange equations of a floating robot (paper 003, with errata 3.1-3.17).

In the coordinates of the base. S_j are the axes of the joints, Ic_j the inertia that joint j carries, Ic_0 = Lambda_b the
whole robot's; v the twist of the base, r the velocity of the shape. C(x, I) is the paper's skew factor (5). Sums over bodies
become composites, so that each quantity costs one pass and a few products:
    f_j = Ic_j S_j,   A_j = Lambda_b^-1 f_j,   mu = v + A r,   p = Lambda_b mu                       (17), (11)
    P = sum of the rates of the inertias under r alone                                              (18a)
    S_j = c_j - 1/2 mu x* f_j,   c_j = C(mu, Ic_j) S_j                                                (18b)
    Gamma_ij = C_ij - A_i . (F1_j - Bc_0 A_j) - F3_i . A_j                                            (18c)
    B_2 = K + Z - Z^T,  K_ij = S_i . c_j,  Z = (c - 1/2 C_b A)^T A                                  (27)
where C, F1, F3 and Bc are those of paper 001 at zero momentum, v = -A r; Theorem 1, corrected (3.1), reads
    Lambda (mu; r)' + D_shape (mu; r) = D_locked (mu; r) + (F; tau - A^T F).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from fallingcat.algorithms.aba import forward_dynamics
from fallingcat.algorithms.coriolis import AxisForces, axis_forces, coriolis_terms_in
from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.kinematics import frame_jacobian, joint_kinematics
from fallingcat.algorithms.posed import COMMON, PerBody, Posed, Vector, common, composite_inertias, subtree_sums, velocities
from fallingcat.algorithms.rnea_derivatives import factors
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Inertia, Motion, Subspace, Transform
from fallingcat.spatial.coriolis import CoriolisFactor, SkewFactor
from fallingcat.spatial.inertia import InverseInertia


class ReducedDynamics(NamedTuple):
    """The terms of the reduced Euler-Lagrange equations, in the coordinates of the base."""

    Lambda_b: Block
    """(..., 6, 6): locked inertia."""
    Lambda_q: Block
    """(..., n, n): shape inertia."""
    A_l: Block
    """(..., 6, n): local mechanical connection."""
    P: Block
    """(..., 6, 6): rate of the locked inertia; depends on the shape velocity only."""
    S: Block
    """(..., 6, n): inertia derivative matrix at mu, S^T mu = 1/2 d<mu, mu>/dq."""
    Gamma_q: Block
    """(..., n, n): Coriolis matrix of the shape; depends on the shape velocity only."""
    B_2: Block
    """(..., n, n): skew, the curvature contracted with the momentum: 2 B_2 r = B(r)^T p."""
    C_b: Block
    """(..., 6, 6): skew, C_b mu = -ad_mu^T p."""
    D_shape: Block
    """(..., nv, nv): blkdiag(P / 2, Gamma_q)."""
    D_locked: Block
    """(..., nv, nv): skew; depends on the locked velocity only."""
    mu: list[Scalar]
    """(..., 6): locked velocity."""


class VelocitySplit(NamedTuple):
    """nu = vertical + horizontal, orthogonal in the kinetic energy."""

    vertical: list[Scalar]
    """(..., nv): (mu, 0), the robot locked."""
    horizontal: list[Scalar]
    """(..., nv): (-A r, r), no momentum."""


class ReducedAccelerations(NamedTuple):
    """The rates of the locked and of the shape velocity."""

    mu_rate: list[Scalar]
    """(..., 6)"""
    ddr: list[Scalar]
    """(..., n)"""


@dataclass(frozen=True)
class Shape:
    """A floating robot in the coordinates of its base."""

    frame: Posed
    Ic: PerBody[Inertia]
    inverse: InverseInertia
    """The inverse of the locked inertia."""
    f: list[Force]
    """Ic S of every joint velocity: the momentum that a unit of it causes, in the coordinates of the base."""
    A: list[Motion]
    """The connection, column by column."""

    @property
    def model(self) -> Model:
        return self.frame.model

    def connection(self, r: Vector) -> Motion:
        """A r, the locked velocity that the shape velocity r alone would cause."""
        return Subspace(tuple(self.A), COMMON) @ r

    def locked_velocity(self, nu: Vector) -> Motion:
        """mu = v + A r (11)."""
        return Motion.of(nu[:6], COMMON) + self.connection(nu[6:])

    def horizontal(self, r: Vector) -> list[Scalar]:
        """(-A r, r), the velocity with this shape velocity that has no momentum."""
        return [*(-self.connection(r)).entries(), *r]


def shape(model: Model, q: Vector) -> Shape:
    """The composite inertias of a floating robot, summed from the tips inwards, and its mechanical connection (17b)."""
    c = common(model, q)
    Ic = composite_inertias(c)
    f = gather_joints(model, {i: [Ic[i] @ s for s in c.S[i].columns] for i, _ in model.base_to_tip()})
    inverse = Ic[0].inverse()
    return Shape(c, Ic, inverse, f, [inverse @ x for x in f])


def gather_joints(model: Model, parts: PerBody[list[Force]]) -> list[Force]:
    """One wrench per joint velocity, from a wrench per joint and axis; a joint that follows another adds to its leader's."""
    columns = model.gather_columns({i: [f.entries() for f in part] for i, part in parts.items()}, 6)
    return [Force.of([row[6 + j] for row in columns], COMMON) for j in range(model.n)]


def locked_inertia(model: Model, q: Vector) -> Block:
    """Lambda_b: the inertia of the robot with its joints locked, in the base (17a)."""
    return shape(model, q).Ic[0].matrix()


def mechanical_connection(model: Model, q: Vector) -> Block:
    """A_l = Lambda_b^-1 M_bq (17b)."""
    return Matrix.columns(shape(model, q).A).rows


def shape_inertia(model: Model, q: Vector) -> Block:
    """Lambda_q = M_q - M_bq^T A_l (17c)."""
    g = shape(model, q)
    return _shape_inertia(g, coriolis_terms_in(g.frame, [0.0] * model.nv).M).rows


def _shape_inertia(g: Shape, M: Block) -> Matrix:
    return Matrix(M)[6:, 6:] - Matrix.columns(g.f).T.times_symmetric(Matrix.columns(g.A))


def locked_velocity(model: Model, q: Vector, nu: Vector) -> list[Scalar]:
    """mu = v + A_l r (11): the twist the base would have if the joints locked."""
    return shape(model, q).locked_velocity(nu).entries()


def momentum_map(model: Model, q: Vector, nu: Vector) -> list[Scalar]:
    """The momentum about the origin of the world, in its orientation: conserved without external forces (Def. 2)."""
    g = shape(model, q)
    p = g.Ic[0] @ g.locked_velocity(nu)
    return (base_transform(model, q).T @ Force(p.lin, p.ang, 0)).entries()


def base_transform(model: Model, q: Vector) -> Transform:
    """X_0w, from world to base coordinates."""
    return joint_kinematics(model, q)[0][0]


def split_velocity(model: Model, q: Vector, nu: Vector) -> VelocitySplit:
    """The vertical and the horizontal part of a velocity (Sec. III-A)."""
    g = shape(model, q)
    return VelocitySplit([*g.locked_velocity(nu).entries(), *[0.0] * model.n], g.horizontal(nu[6:]))


def reduced_dynamics(model: Model, q: Vector, nu: Vector) -> ReducedDynamics:
    """All terms of the corrected Theorem 1."""
    g = shape(model, q)
    r = nu[6:]
    mu = g.locked_velocity(nu)
    C, M, _ = coriolis_terms_in(g.frame, g.horizontal(r))
    forces = axis_forces(g.frame, g.horizontal(r))
    p = g.Ic[0] @ mu
    P = Matrix((forces.Bc[0] + CoriolisFactor.of(g.connection(r), g.Ic[0])).inertia_rate().matrix())  # base at rest
    c = skew_forces(g, mu)
    S = inertia_derivative(g, c, mu)
    Gamma = shape_coriolis(g, C, forces)
    C_b = Matrix(SkewFactor.of(mu, g.Ic[0]).matrix())
    B_2 = curvature_force(g, c, mu)
    coupling = Matrix.columns([a.cross(p) for a in g.A]) - S  # -adt(p) A - S
    nothing = Matrix.zero(6, model.n)
    return ReducedDynamics(
        Lambda_b=g.Ic[0].matrix(),
        Lambda_q=_shape_inertia(g, M).rows,
        A_l=Matrix.columns(g.A).rows,
        P=P.rows,
        S=S.rows,
        Gamma_q=Gamma.rows,
        B_2=B_2.rows,
        C_b=C_b.rows,
        D_shape=Matrix.blocks([[0.5 * P, nothing], [nothing.T, Gamma]]).rows,
        D_locked=Matrix.blocks([[-C_b, coupling], [-coupling.T, -2.0 * B_2]]).rows,
        mu=mu.entries(),
    )


def inertia_rate(g: Shape, r: Vector) -> Inertia:
    """P(r): the rate of the locked inertia while the base stands still (18a, 22)."""
    B = factors(g.frame, velocities(g.frame, [0.0] * 6 + list(r)))
    return subtree_sums(g.frame, B, CoriolisFactor.zero(COMMON))[WORLD].inertia_rate()


def shape_coriolis(g: Shape, C: Block, forces: AxisForces) -> Matrix:
    """Gamma_q = [-A; 1]^T (C [-A; 1] + M [-A'; 0]) at zero momentum (18c).

    As M_bq = Lambda_b A, the terms with the rate of A cancel, and so do those with the rates of the base's axes.
    """
    F1, F3 = gather_joints(g.model, forces.F1), Matrix.columns(gather_joints(g.model, forces.F3))
    A, Y = Matrix.columns(g.A), Matrix.columns([f - forces.Bc[0] @ a for f, a in zip(F1, g.A, strict=True)])
    return Matrix(C)[6:, 6:] - Matrix.blocks([[A.T, F3.T]]) @ Matrix.blocks([[Y], [A]])


def skew_forces(g: Shape, mu: Motion) -> PerBody[list[Force]]:
    """c_j = C(mu, Ic_j) S_j of every axis."""
    return {i: [SkewFactor.of(mu, g.Ic[i]) @ s for s in axes.columns] for i, axes in g.frame.S.items()}


def inertia_derivative(g: Shape, c: PerBody[list[Force]], mu: Motion) -> Matrix:
    """S(mu), from c_j (18b)."""
    half = mu * 0.5
    return Matrix.columns([x - half.cross(f) for x, f in zip(gather_joints(g.model, c), g.f, strict=True)])


def curvature_force(g: Shape, c: PerBody[list[Force]], mu: Motion) -> Matrix:
    """B_2 = sum Jt^T C(mu) Jt, Jt = J - A (27), from c_j."""
    model, S = g.model, g.frame.S
    C_half = SkewFactor.of(mu * 0.5, g.Ic[0])
    left = [x - C_half @ a for x, a in zip(gather_joints(model, c), g.A, strict=True)]
    K: dict[tuple[int, int], list[list[Scalar]]] = {}
    for j, _ in model.base_to_tip():
        for i in model.path(j):
            block = [[s @ x for x in c[j]] for s in S[i].columns]
            K[j, i], K[i, j] = (-Matrix(block).T).rows, block
    Z = Matrix.columns(left).T @ Matrix.columns(g.A)
    return _skew(Matrix(model.gather_blocks(K))[6:, 6:] + (Z - Z.T))


def _skew(A: Matrix) -> Matrix:
    """A with its lower half replaced by minus the upper one: skew to the last bit."""
    n = range(len(A))
    return Matrix([[A[i][j] if i < j else -A[j][i] if j < i else 0.0 for j in n] for i in n], len(A))


def reduced_forward_dynamics(model: Model, q: Vector, nu: Vector, tau: Vector) -> ReducedAccelerations:
    """The rates of mu and r under generalized forces (base wrench first) and gravity.

    mu_rate follows from the momentum p = Lambda_b mu, with p' = ad_v^T p + F (12); r' is that of the full forward dynamics, whose
    joint rows are the second line of Theorem 1.
    """
    g = shape(model, q)
    dnu = forward_dynamics(model, q, nu, tau)
    v, mu = Motion.of(nu[:6], COMMON), g.locked_velocity(nu)
    p = g.Ic[0] @ mu
    weight = g.Ic[0] @ (-g.frame.gravity)
    force = Force.of(tau[:6], COMMON) + weight - v.cross(p) - inertia_rate(g, nu[6:]) @ mu
    return ReducedAccelerations((g.inverse @ force).entries(), list(dnu[6:]))


def base_velocity(model: Model, q: Vector, r: Vector, mu: Vector) -> list[Scalar]:
    """v = mu - A_l r, with dH/dt = H hat(v): the reconstruction of the base (Sec. V-3)."""
    g = shape(model, q)
    return (Motion.of(mu, COMMON) - g.connection(r)).entries()


def generalized_jacobian(model: Model, q: Vector, frame: str) -> Block:
    """J_s - J_b A_l: from the shape velocity to the body-fixed twist of a frame while there is no momentum (15)."""
    A, J = Matrix.columns(shape(model, q).A), Matrix(frame_jacobian(model, q, frame, "body"))
    return (J[:, 6:] - J[:, :6] @ A).rows
