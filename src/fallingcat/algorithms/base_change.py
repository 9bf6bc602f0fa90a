"""Another base for the same equations of motion (paper 004, Lemma 3, Theorems 2 and 3, with errata 4.1-4.11).

A base is a point and an orientation: a frame; the origin of one frame with the orientation of another, (26)-(29); the
centre of mass with the orientation of a frame, (36)-(38); or the centroid, the centre of mass with the average angular
velocity, (39)-(44), which no orientation belongs to. With J the Jacobian of its twist, new velocities are
    nu' = T nu,   T = [[J_b, J_s], [0, 1]]                                                        (18), (19)
and with A = T^-1, A_rate = -A T_rate A the equations become those of paper 001, eq. 32-34,
    M' = A^T M A,   C' = A^T (C A + M A_rate),   g' = A^T g                                       (24)
where only the first six rows of A and A_rate are not those of 1 and 0. C stays one with M_rate - 2 C skew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from fallingcat.algorithms.centroidal import (
    centroidal_inertia,
    centroidal_inertia_rate,
    centroidal_momentum_matrix,
    centroidal_momentum_matrix_rate,
)
from fallingcat.algorithms.coriolis import coriolis_terms
from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.kinematics import (
    Vector,
    center_of_mass,
    frame_pose,
    jacobian,
    jacobian_rate,
)
from fallingcat.algorithms.rnea import gravity_torque
from fallingcat.model.joints import Representation
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial.vec3 import skew, vec

Base = str | tuple[str, str] | None
"""A frame; (frame or CENTER_OF_MASS, frame) for origin and orientation; CENTROIDAL; None for the robot's own base."""

CENTROIDAL = "centroidal"
CENTER_OF_MASS = "center_of_mass"


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


@dataclass(frozen=True)
class Twist:
    """The twist of a base as 6 x nv Jacobian and rate."""

    J: Matrix
    J_rate: Matrix

    @property
    def upper(self) -> Twist:
        """The linear half."""
        return Twist(self.J[:3], self.J_rate[:3])

    @property
    def lower(self) -> Twist:
        """The angular half."""
        return Twist(self.J[3:], self.J_rate[3:])


def base_change(
    model: Model, q: Vector, nu: Vector, base: Base, representation: Representation,
    target_representation: Representation | None = None,
) -> BaseChangeMatrices:  # fmt: skip
    """T and its rate, for nu in one representation and nu' in another, or in the same."""
    own = model.in_representation(representation)
    T, T_rate = _base_change(own, q, nu, base, target_representation or representation)
    return BaseChangeMatrices(T.rows, T_rate.rows)


def representation_change(
    model: Model, q: Vector, nu: Vector, source: Representation = "body", target: Representation = "mixed"
) -> BaseChangeMatrices:
    """T and its rate, from the base twist in one representation to the same in another: (2), and (18) for the base itself."""
    if not model.floating or source == target:
        return BaseChangeMatrices(Matrix.identity(model.nv).rows, Matrix.zero(model.nv, model.nv).rows)
    return base_change(model, q, nu, None, source, target)


def _base_change(model: Model, q: Vector, nu: Vector, base: Base, representation: Representation) -> tuple[Matrix, Matrix]:
    """T = [J; 0 1] and its rate, for the velocities of the model as it is (18)."""
    twist = _twist(model, q, nu, base, representation)
    joints = Matrix.identity(model.nv)[6:]
    return Matrix.blocks([[twist.J], [joints]]), Matrix.blocks([[twist.J_rate], [0.0 * joints]])


def equations_of_motion(model: Model, q: Vector, nu: Vector, base: Base, representation: Representation) -> EquationsOfMotion:
    """M, C and g for the velocities of a base; nu is that of the robot's own base."""
    own = model.in_representation(representation)
    C, M, _ = map(Matrix, coriolis_terms(own, q, nu))
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
    """What is known beforehand at the centroid: no coupling with the joints, constant gravity (43), (44)."""
    I, coupling = Matrix(centroidal_inertia(model, q)), Matrix.zero(6, model.n)
    M = Matrix.blocks([[I, coupling], [coupling.T, M[6:, 6:]]])
    return M, [-model.mass * x for x in model.gravity] + [0.0] * (3 + model.n)


# ---------------------------------------------------------------------------------------------------------------------
# The twist of a base


def _twist(model: Model, q: Vector, nu: Vector, base: Base, representation: Representation) -> Twist:
    """The Jacobian of a base and its rate, for the velocities of the model as it is."""
    if base == CENTROIDAL:
        return _centroidal(model, q, nu)
    if not isinstance(base, tuple):
        return _frame(model, q, nu, base or model.base, representation)
    origin, orientation = base
    moving = _center_of_mass(model, q, nu) if origin == CENTER_OF_MASS else _frame(model, q, nu, origin, "mixed")
    mixed = _stacked(moving.upper, _frame(model, q, nu, orientation, "mixed").lower)
    return _SEEN[representation](model, q, nu, mixed, base)


def _frame(model: Model, q: Vector, nu: Vector, name: str, representation: Representation) -> Twist:
    place = model.frame(name)
    J, J_rate = jacobian(model, q, place, representation), jacobian_rate(model, q, nu, place, representation)
    return Twist(Matrix(J), Matrix(J_rate))


def _center_of_mass(model: Model, q: Vector, nu: Vector) -> Twist:
    """In the first three rows the velocity of the centre of mass, below the angular momentum, for each kilogram."""
    A, A_rate = centroidal_momentum_matrix(model, q), centroidal_momentum_matrix_rate(model, q, nu)
    return Twist((1.0 / model.mass) * Matrix(A), (1.0 / model.mass) * Matrix(A_rate))


def _centroidal(model: Model, q: Vector, nu: Vector) -> Twist:
    """The average velocity I_G^-1 A_G nu (33)-(35); d(I^-1 h) = I^-1 (dh - dI I^-1 h)."""
    A, A_rate = Matrix(centroidal_momentum_matrix(model, q)), Matrix(centroidal_momentum_matrix_rate(model, q, nu))
    I_inverse = Matrix(centroidal_inertia(model, q))[3:, 3:].inverse_symmetric()
    I_rate = Matrix(centroidal_inertia_rate(model, q, nu))
    turning = I_inverse @ A[3:]
    turning_rate = I_inverse @ (A_rate[3:] - I_rate @ turning)
    return _stacked(_center_of_mass(model, q, nu).upper, Twist(turning, turning_rate))


def _stacked(linear: Twist, angular: Twist) -> Twist:
    return Twist(Matrix.blocks([[linear.J], [angular.J]]), Matrix.blocks([[linear.J_rate], [angular.J_rate]]))


def _in_own_orientation(model: Model, q: Vector, nu: Vector, mixed: Twist, base: tuple[str, str]) -> Twist:
    """R^T (v; w), with rate R^T ((v; w)' - w x (v; w))."""
    Rt = Matrix(frame_pose(model, q, base[1]))[:3, :3].T
    W = Matrix(skew(vec(mixed.lower.J @ nu)))
    turned = [Twist(Rt @ half.J, Rt @ (half.J_rate - W @ half.J)) for half in (mixed.upper, mixed.lower)]
    return _stacked(*turned)


def _about_world_origin(model: Model, q: Vector, nu: Vector, mixed: Twist, base: tuple[str, str]) -> Twist:
    """(v + o x w; w)."""
    pose = frame_pose(model, q, base[1 if base[0] == CENTER_OF_MASS else 0])
    o = center_of_mass(model, q) if base[0] == CENTER_OF_MASS else [row[3] for row in pose[:3]]
    v, w = mixed.upper, mixed.lower
    O, V = Matrix(skew(vec(o))), Matrix(skew(vec(v.J @ nu)))
    return _stacked(Twist(v.J + O @ w.J, v.J_rate + (O @ w.J_rate + V @ w.J)), w)


_SEEN: dict[str, Callable[[Model, Vector, Vector, Twist, tuple[str, str]], Twist]] = {
    "mixed": lambda model, q, nu, mixed, base: mixed,
    "body": _in_own_orientation,
    "inertial": _about_world_origin,
}
"""From the mixed twist of a pair of frames to another representation of it."""
