"""Task-space dynamics of a frame on a robot that floats freely (paper 003, Sec. V-1, outlook; Khatib 1987 for fixed bases).

By (15) the twist of a frame is V = X_fb mu + y, y = Jt r, with the generalized Jacobian Jt: mu moves the robot as a rigid body,
y is due to the joints. The row of the shape in Theorem 1 and Lambda_q^-1 = (M^-1)_ss give, with G = Jt Lambda_q^-1 Jt^T,
    Lambda_x = G^-1,   Jbar = Lambda_q^-1 Jt^T Lambda_x                                                   (1)
    Lambda_x y' + h_x = Jbar^T (tau - tau_decoupling),   h_x = (Jbar^T Gamma'_q - Lambda_x Jt') r             (2)
    Gamma_x = (Jbar^T Gamma'_q - Lambda_x Jt') Jbar,   d(Lambda_x)/dt = Gamma_x + Gamma_x^T               (3)
where tau_decoupling cancels the influence of the locked velocity on the shape, and h_x = Gamma_x y unless joints also move in the
null space of Jt. The smallest change of torques tau_0, in the metric of Lambda_q^-1, that makes the frame accelerate with a is
    tau = tau_0 + Jt^T Lambda_x (a - a_0)                                                                   (4)
where a_0 is its acceleration under tau_0. The rows of Jt are made orthogonal in Lambda_q^-1, Jt = L Y (modified Gram-Schmidt),
which gives G = L D L^T without G, whose condition is the square of that of the rows. A direction that depends on those before it,
linear ones first, is left out: its rows and columns of Lambda_x are zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from fallingcat import scalar
from fallingcat.algorithms.aba import forward_dynamics
from fallingcat.algorithms.constrained import DEPENDENT
from fallingcat.algorithms.coriolis import axis_forces, coriolis_terms_in
from fallingcat.algorithms.dense import Block, Matrix, backward_substitute, substitute
from fallingcat.algorithms.kinematics import frame_acceleration, frame_jacobian, frame_jacobian_rate
from fallingcat.algorithms.minverse import inverse_mass_matrix
from fallingcat.algorithms.posed import COMMON, Vector
from fallingcat.algorithms.reduced import Shape, generalized_jacobian, shape, shape_coriolis
from fallingcat.algorithms.vectors import entrywise, minus, plus, scaled, unit
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force


class TaskSpaceDynamics(NamedTuple):
    """The dynamics of the part y of a frame's twist that the joints cause: Lambda_x y' + h_x = Jbar^T (tau - tau_decoupling)."""

    J: Block
    """(..., 6, n): generalized Jacobian, y = J r."""
    J_rate: Block
    """(..., 6, n): its rate."""
    Lambda_x: Block
    """(..., 6, 6): task-space inertia."""
    Gamma_x: Block
    """(..., 6, 6): Coriolis matrix; the rate of Lambda_x is Gamma_x + Gamma_x^T."""
    h_x: list[Scalar]
    """(..., 6): velocity products; Gamma_x y if the joint motion has no part in the null space of J."""
    Jbar: Block
    """(..., n, 6): the right inverse of J, J Jbar = 1, with the least kinetic energy of the shape."""


def task_space_dynamics(model: Model, q: Vector, nu: Vector, frame: str) -> TaskSpaceDynamics:
    """All terms of (1)-(3)."""
    g, r = shape(model, q), list(nu[6:])
    J, J_rate, Gamma_q = _jacobian_rate(g, q, r, frame)
    rows = orthogonal_rows(J, Matrix(inverse_mass_matrix(model, q))[6:, 6:])
    Lambda_x = Matrix(rows.inverse(), 6)
    Jbar_T = Matrix([rows.lower_solved(column) for column in rows.Z.T], 6).T  # (1)
    products = Jbar_T @ Gamma_q - Lambda_x @ J_rate
    return TaskSpaceDynamics(
        J.rows, J_rate.rows, Lambda_x.rows, (products @ Jbar_T.T).rows, products @ r, Jbar_T.T.rows
    )  # (2), (3)  # fmt: skip


def _jacobian_rate(g: Shape, q: Vector, r: Vector, frame: str) -> tuple[Matrix, Matrix, Matrix]:
    """Jt = J_s - J_b A (6, n), its rate, and Gamma'_q; none of them depends on the motion of the base.

    Lambda_b A = M_bq gives Lambda_b A' = M_bq' - P A.
    """
    model, A = g.model, Matrix.columns(g.A)
    horizontal = g.horizontal(r)
    C, _, M_rate = coriolis_terms_in(g.frame, horizontal)
    rate = Matrix(M_rate)[:6, 6:] - Matrix(M_rate)[:6, :6] @ A
    A_rate = Matrix.columns([g.inverse @ Force.of(column, COMMON) for column in rate.T])
    J = Matrix(frame_jacobian(model, q, frame, "body"))
    J_rate = Matrix(frame_jacobian_rate(model, q, horizontal, frame, "body"))
    return (
        J[:, 6:] - J[:, :6] @ A,
        J_rate[:, 6:] - J_rate[:, :6] @ A - J[:, :6] @ A_rate,
        shape_coriolis(g, C, axis_forces(g.frame, horizontal)),
    )


def task_space_torque(model: Model, q: Vector, nu: Vector, a: Vector, tau0: Vector, frame: str) -> list[Scalar]:
    """The joint torques nearest to tau0 with which a frame accelerates with a, body-fixed (4)."""
    dnu = forward_dynamics(model, q, nu, [0.0] * 6 + list(tau0))
    a_0 = frame_acceleration(model, q, nu, dnu, frame, "body")
    J = Matrix(generalized_jacobian(model, q, frame))
    rows = orthogonal_rows(J, Matrix(inverse_mass_matrix(model, q))[6:, 6:])
    return plus(tau0, J.T @ substitute(rows.L, rows.Dinv, minus(a, a_0)))


@dataclass(frozen=True)
class OrthogonalRows:
    """Jt = L Y with Y Lambda_q^-1 Y^T = D; the inverse pivot of a dependent row is zero, which leaves the row out."""

    L: Block
    Dinv: list[Scalar]
    Z: Matrix
    """Y Lambda_q^-1."""

    def inverse(self) -> Block:
        """G^-1."""
        return Matrix([substitute(self.L, self.Dinv, unit(6, j)) for j in range(6)]).mirrored().rows

    def lower_solved(self, z: Vector) -> list[Scalar]:
        """L^-T D^-1 z: G^-1 Jt Lambda_q^-1 from the columns of Z."""
        return backward_substitute(self.L, entrywise(z, self.Dinv))


def orthogonal_rows(J: Matrix, inverse: Matrix) -> OrthogonalRows:
    """Modified Gram-Schmidt: the component along each row is removed from all later rows at once."""
    Y, Z = [list(row) for row in J], [list(row) for row in J @ inverse]
    whole = [scalar.dot(y, z) for y, z in zip(Y, Z, strict=True)]
    L: Block = [[0.0] * 6 for _ in range(6)]
    Dinv: list[Scalar] = []
    for j in range(6):
        d, least = scalar.dot(Y[j], Z[j]), DEPENDENT * whole[j]
        Dinv.append(1.0 / scalar.where_less(least, d, d, math.inf))
        for i in range(j + 1, 6):
            L[i][j] = scalar.dot(Y[i], Z[j]) * Dinv[j]
            Y[i] = minus(Y[i], scaled(L[i][j], Y[j]))
            Z[i] = minus(Z[i], scaled(L[i][j], Z[j]))
    return OrthogonalRows(L, Dinv, Matrix(Z, J.width))
