"""Another base for the same equations of motion (paper 004, Lemma 3, Theorems 2 and 3, with errata 4.1-4.11).

A base is a point and an orientation: a frame; the origin of one frame with the orientation of another, (26)-(29); the
centre of mass with the orientation of a frame, (36)-(38); or the centroid, the centre of mass with the average angular
velocity, (39)-(44), which is not the twist of any frame. With J the Jacobian of its twist, new velocities are
    nu' = T nu,   T = [[J_b, J_s], [0, 1]]                                                        (18), (19)
and with A = T^-1, A_rate = -A T_rate A the equations become those of paper 001, eq. 32-34,
    M' = A^T M A,   C' = A^T (C A + M A_rate),   g' = A^T g                                       (24)
where A and A_rate differ from 1 and 0 in their first six rows only. M_rate' - 2 C' stays skew.
"""

from __future__ import annotations

from typing import NamedTuple

from fallingcat.algorithms.base_twist import CENTROIDAL, Base, twist
from fallingcat.algorithms.centroidal import centroidal_inertia
from fallingcat.algorithms.coriolis import coriolis_terms
from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.kinematics import Vector
from fallingcat.algorithms.rnea import gravity_torque
from fallingcat.model.joints import Representation
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar


class BaseChangeMatrices(NamedTuple):
    """nu' = T nu."""

    T: Block
    """(..., nv, nv)"""
    T_rate: Block
    """(..., nv, nv): its rate along nu."""


class EquationsOfMotion(NamedTuple):
    """M dnu + C nu + g = tau."""

    M: Block
    """(..., nv, nv)"""
    C: Block
    """(..., nv, nv), with M_rate - 2 C skew."""
    g: list[Scalar]
    """(..., nv)"""


def base_change(
    model: Model, q: Vector, nu: Vector, base: Base, representation: Representation,
    target_representation: Representation | None = None,
) -> BaseChangeMatrices:  # fmt: skip
    """T and its rate, (nv, nv) each, for nu in `representation` and nu' in `target_representation` (the same if None)."""
    own = model.in_representation(representation)
    T, T_rate = _base_change(own, q, nu, base, target_representation or representation)
    return BaseChangeMatrices(T.rows, T_rate.rows)


def representation_change(
    model: Model, q: Vector, nu: Vector, source: Representation = "body", target: Representation = "mixed"
) -> BaseChangeMatrices:
    """T and its rate that take the base twist from one representation to another: (2), and (18) for the base itself."""
    if not model.floating or source == target:
        return BaseChangeMatrices(Matrix.identity(model.nv).rows, Matrix.zero(model.nv, model.nv).rows)
    return base_change(model, q, nu, None, source, target)


def _base_change(model: Model, q: Vector, nu: Vector, base: Base, representation: Representation) -> tuple[Matrix, Matrix]:
    """T = [J; 0 1] and its rate, (nv, nv) each, for nu in the representation of the model (18)."""
    moving = twist(model, q, nu, base, representation)
    joints = Matrix.identity(model.nv)[6:]
    return Matrix.blocks([[moving.J], [joints]]), Matrix.blocks([[moving.J_rate], [0.0 * joints]])


def equations_of_motion(model: Model, q: Vector, nu: Vector, base: Base, representation: Representation) -> EquationsOfMotion:
    """M, C and g in the velocities nu' of a base; the argument nu is the velocity with the robot's own base."""
    own = model.in_representation(representation)
    C, M = (Matrix(A, model.nv) for A in coriolis_terms(own, q, nu)[:2])
    g = gravity_torque(own, q)
    if base is None:
        return EquationsOfMotion(M.rows, C.rows, g)
    T, T_rate = _base_change(own, q, nu, base, representation)
    A = _inverse(T)
    A_rate = A.minus_times(T_rate @ A)
    M_new = (A.T @ (M @ A)).mirrored()  # (24)
    C_new = A.T @ (C @ A + M @ A_rate)
    g_new = A.T @ g
    if base == CENTROIDAL:
        M_new, g_new = _decoupled(model, q, M_new)
    return EquationsOfMotion(M_new.rows, C_new.rows, g_new)


def _inverse(T: Matrix) -> Matrix:
    """T^-1 = [X, -X J_s; 0 1], X = J_b^-1, where J_b moves the whole robot rigidly, [[E, G], [0, E]]."""
    Et, G = T[:3, :3].T, T[:3, 3:6]
    X = Matrix.blocks([[Et, -(Et @ G @ Et)], [Matrix.zero(3, 3), Et]])
    return Matrix.blocks([[X, X.minus_times(T[:6, 6:])], [T[6:, :6], T[6:, 6:]]])


def _decoupled(model: Model, q: Vector, M: Matrix) -> tuple[Matrix, list[Scalar]]:
    """M and g at the centroid with the entries known in closed form: no coupling with the joints, constant gravity (43), (44)."""
    I, coupling = Matrix(centroidal_inertia(model, q)), Matrix.zero(6, model.n)
    M = Matrix.blocks([[I, coupling], [coupling.T, M[6:, 6:]]])
    return M, [-model.mass * x for x in model.gravity] + [0.0] * (3 + model.n)
