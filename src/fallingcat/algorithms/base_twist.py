"""The twist of a base: its Jacobian and the rate of the Jacobian (paper 004, Sec. IV and V).

A base is a frame; the origin of one frame with the orientation of another, (26)-(29); the centre of mass with the orientation of
a frame, (36)-(38); or the centroid, the centre of mass with the average angular velocity, (39)-(44).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fallingcat.algorithms.centroidal import (
    centroidal_inertia,
    centroidal_inertia_rate,
    centroidal_momentum_matrix,
    centroidal_momentum_matrix_rate,
)
from fallingcat.algorithms.dense import Matrix
from fallingcat.algorithms.kinematics import Vector, center_of_mass, frame_pose, jacobian, jacobian_rate
from fallingcat.model.joints import Representation
from fallingcat.model.model import Model
from fallingcat.spatial.vec3 import skew, vec

Base = str | tuple[str, str] | None
"""A frame; (frame or CENTER_OF_MASS, frame) for origin and orientation; CENTROIDAL; None for the robot's own base."""

CENTROIDAL = "centroidal"
CENTER_OF_MASS = "center_of_mass"


@dataclass(frozen=True)
class Twist:
    """The twist of a base, as its 6 x nv Jacobian and the rate of that Jacobian."""

    J: Matrix
    J_rate: Matrix

    @property
    def upper(self) -> Twist:
        """The linear rows, 3 x nv."""
        return Twist(self.J[:3], self.J_rate[:3])

    @property
    def lower(self) -> Twist:
        """The angular rows, 3 x nv."""
        return Twist(self.J[3:], self.J_rate[3:])


def twist(model: Model, q: Vector, nu: Vector, base: Base, representation: Representation) -> Twist:
    """The 6 x nv Jacobian of a base and its rate, for nu in the representation of the model."""
    if base == CENTROIDAL:
        return _centroidal(model, q, nu)
    if not isinstance(base, tuple):
        return _frame(model, q, nu, base or model.base, representation)
    origin, orientation = base
    moving = _center_of_mass(model, q, nu) if origin == CENTER_OF_MASS else _frame(model, q, nu, origin, "mixed")
    mixed = _stacked(moving.upper, _frame(model, q, nu, orientation, "mixed").lower)
    return _FROM_MIXED[representation](model, q, nu, mixed, base)


def _frame(model: Model, q: Vector, nu: Vector, name: str, representation: Representation) -> Twist:
    place = model.frame(name)
    J, J_rate = jacobian(model, q, place, representation), jacobian_rate(model, q, nu, place, representation)
    return Twist(Matrix(J), Matrix(J_rate))


def _center_of_mass(model: Model, q: Vector, nu: Vector) -> Twist:
    """A_G / m and its rate: the velocity of the centre of mass, and below it the angular momentum per unit of mass."""
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
    """The twist in the axes of its own frame, R^T (v; w), with the rate R^T ((v; w)' - w x (v; w))."""
    Rt = Matrix(frame_pose(model, q, base[1]))[:3, :3].T
    W = Matrix(skew(vec(mixed.lower.J @ nu)))
    turned = [Twist(Rt @ half.J, Rt @ (half.J_rate - W @ half.J)) for half in (mixed.upper, mixed.lower)]
    return _stacked(*turned)


def _about_world_origin(model: Model, q: Vector, nu: Vector, mixed: Twist, base: tuple[str, str]) -> Twist:
    """The twist of the point at the world's origin, (v + o x w; w), with the origin o of the frame."""
    pose = frame_pose(model, q, base[1 if base[0] == CENTER_OF_MASS else 0])
    o = center_of_mass(model, q) if base[0] == CENTER_OF_MASS else [row[3] for row in pose[:3]]
    v, w = mixed.upper, mixed.lower
    O, V = Matrix(skew(vec(o))), Matrix(skew(vec(v.J @ nu)))
    return _stacked(Twist(v.J + O @ w.J, v.J_rate + (O @ w.J_rate + V @ w.J)), w)


_FROM_MIXED: dict[str, Callable[[Model, Vector, Vector, Twist, tuple[str, str]], Twist]] = {
    "mixed": lambda model, q, nu, mixed, base: mixed,
    "body": _in_own_orientation,
    "inertial": _about_world_origin,
}
"""Functions from the mixed twist of a pair of frames to another representation of the same twist."""
