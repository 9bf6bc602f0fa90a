"""Another base for the same equations of motion (paper 004, Lemma 3, Theorems 2 and 3, with errata 4.1-4.11).

A base is a point and an orientation: a frame; the origin of one frame with the orientation of another, (26)-(29); the
centre of mass with the orientation of a frame, (36)-(38); or the centroid, the centre of mass with the average angular
velocity, (39)-(44), which no orientation belongs to. With J the Jacobian of its twist, new velocities are
    nu' = T nu,   T = [[J_b, J_s], [0, 1]]                                                        (18), (19)
and with A = T^-1, A_rate = -A T_rate A the equations become those of paper 001, eq. 32-34,
    M' = A^T M A,   C' = A^T (C A + M A_rate),   g' = A^T g                                       (24)
where only the first six rows of A differ from the identity. C stays one with M_rate - 2 C skew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from fallingcat import scalar
from fallingcat.algorithms.centroidal import (
    centroidal_inertia,
    centroidal_inertia_rate,
    centroidal_momentum_matrix,
    centroidal_momentum_matrix_rate,
)
from fallingcat.algorithms.coriolis import coriolis_terms
from fallingcat.algorithms.dense import inverse_symmetric, multiply, subtract, transpose
from fallingcat.algorithms.kinematics import (
    Vector,
    center_of_mass,
    frame_pose,
    jacobian,
    jacobian_rate,
)
from fallingcat.algorithms.rnea import gravity_torque
from fallingcat.errors import InputError
from fallingcat.model.joints import Representation
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial.vec3 import skew, vec
from fallingcat.text import shown

Block = list[list[Scalar]]
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

    J: Block
    J_rate: Block


def check_base(model: Model, base: Base, representation: Representation) -> None:
    """Refuse what is no base."""
    if not model.floating:
        raise InputError("a change of base needs a floating base", got="a fixed base", hint="load with floating=True")
    if isinstance(base, str) and base == CENTROIDAL:
        if representation != "mixed":
            raise InputError(
                f"the centroid has no orientation, hence no {representation} twist", expected="representation='mixed'",
                got=repr(representation), hint='for an orientation use ("center_of_mass", "a frame")',
            )  # fmt: skip
    elif isinstance(base, tuple):
        if len(base) != 2 or not all(isinstance(name, str) for name in base):
            raise InputError("base is not a pair", expected='("origin frame", "orientation frame")', got=shown(base))
        if base[0] == CENTROIDAL:
            raise InputError(
                "the centroid has no orientation of its own",
                got=repr(base),
                hint=f'for its origin use ("{CENTER_OF_MASS}", frame)',
            )
        if base[0] != CENTER_OF_MASS:
            model.frame(base[0])
        model.frame(base[1])
    elif base is not None:
        model.frame(base)


def base_change(model: Model, q: Vector, nu: Vector, base: Base, representation: Representation) -> BaseChangeMatrices:
    """T and its rate, for velocities in the representation."""
    check_base(model, base, representation)
    twist = _twist(model.in_representation(representation), q, nu, base, representation)
    below = [[1.0 if j == 6 + i else 0.0 for j in range(model.nv)] for i in range(model.n)]
    return BaseChangeMatrices(twist.J + below, twist.J_rate + [[0.0] * model.nv for _ in below])


def equations_of_motion(model: Model, q: Vector, nu: Vector, base: Base, representation: Representation) -> EquationsOfMotion:
    """M, C and g for the velocities of a base; nu is that of the robot's own base."""
    own = model.in_representation(representation)
    C, M, _ = coriolis_terms(own, q, nu)
    g = gravity_torque(own, q)
    if base is None:
        return EquationsOfMotion(M, C, g)
    check_base(model, base, representation)
    twist = _twist(own, q, nu, base, representation)
    A, A_rate = _inverse(twist)
    M_new = _congruent(M, A)
    C_new = _pull(_add(_times(C, A), scalar.matmul([row[:6] for row in M], A_rate)), A)
    g_new = [row[0] for row in _pull([[x] for x in g], A)]
    if base == CENTROIDAL:
        M_new, g_new = _decoupled(model, q, M_new)
    return EquationsOfMotion(M_new, C_new, g_new)


def _decoupled(model: Model, q: Vector, M: Block) -> tuple[Block, list[Scalar]]:
    """What is known beforehand at the centroid: no coupling with the joints, constant gravity (43), (44)."""
    I, n = centroidal_inertia(model, q), model.n
    M = [row + [0.0] * n for row in I] + [[0.0] * 6 + row[6:] for row in M[6:]]
    return M, [-model.mass * x for x in model.gravity] + [0.0] * (3 + n)


# ---------------------------------------------------------------------------------------------------------------------
# The twist of a base


def _twist(model: Model, q: Vector, nu: Vector, base: Base, representation: Representation) -> Twist:
    """The Jacobian of a base and its rate, for the velocities of the model as it is."""
    if base == CENTROIDAL:
        return _centroidal(model, q, nu)
    if not isinstance(base, tuple):
        place = model.frame(base or model.base)
        return Twist(jacobian(model, q, place, representation), jacobian_rate(model, q, nu, place, representation))
    origin, orientation = base
    place = model.frame(orientation)
    turning = Twist(jacobian(model, q, place, "mixed"), jacobian_rate(model, q, nu, place, "mixed"))
    moving = _origin(model, q, nu, origin)
    mixed = Twist(moving.J[:3] + turning.J[3:], moving.J_rate[:3] + turning.J_rate[3:])
    if representation == "mixed":
        return mixed
    if representation == "body":
        return _in_own_orientation(mixed, nu, frame_pose(model, q, orientation))
    o = center_of_mass(model, q) if origin == CENTER_OF_MASS else [row[3] for row in frame_pose(model, q, origin)[:3]]
    return _about_world_origin(mixed, nu, o)


def _origin(model: Model, q: Vector, nu: Vector, origin: str) -> Twist:
    """In the first three rows the velocity of a point."""
    if origin != CENTER_OF_MASS:
        place = model.frame(origin)
        return Twist(jacobian(model, q, place, "mixed"), jacobian_rate(model, q, nu, place, "mixed"))
    per_mass = 1.0 / model.mass
    A, A_rate = centroidal_momentum_matrix(model, q), centroidal_momentum_matrix_rate(model, q, nu)
    return Twist(_scaled(per_mass, A[:3]), _scaled(per_mass, A_rate[:3]))


def _centroidal(model: Model, q: Vector, nu: Vector) -> Twist:
    """The average velocity I_G^-1 A_G nu (33)-(35); d(I^-1 h) = I^-1 (dh - dI I^-1 h)."""
    A, A_rate = centroidal_momentum_matrix(model, q), centroidal_momentum_matrix_rate(model, q, nu)
    I = inverse_symmetric([row[3:] for row in centroidal_inertia(model, q)[3:]])
    per_mass = 1.0 / model.mass
    turning = scalar.matmul(I, A[3:])
    I_rate = centroidal_inertia_rate(model, q, nu)
    turning_rate = scalar.matmul(I, subtract(A_rate[3:], scalar.matmul(I_rate, turning)))
    return Twist(_scaled(per_mass, A[:3]) + turning, _scaled(per_mass, A_rate[:3]) + turning_rate)


def _in_own_orientation(mixed: Twist, nu: Vector, pose: Block) -> Twist:
    """R^T (v; w), with rate R^T ((v; w)' - w x (v; w))."""
    Rt = transpose([row[:3] for row in pose[:3]])
    w = vec(_apply(mixed.J[3:], nu))
    W = [list(row) for row in skew(w)]
    halves = (slice(0, 3), slice(3, 6))
    J = [row for half in halves for row in scalar.matmul(Rt, mixed.J[half])]
    rates = [subtract(mixed.J_rate[half], scalar.matmul(W, mixed.J[half])) for half in halves]
    return Twist(J, [row for rate in rates for row in scalar.matmul(Rt, rate)])


def _about_world_origin(mixed: Twist, nu: Vector, o: Vector) -> Twist:
    """(v + o x w; w)."""
    O, V = ([list(row) for row in skew(vec(x))] for x in (o, _apply(mixed.J[:3], nu)))
    turning, turning_rate = mixed.J[3:], mixed.J_rate[3:]
    J = _add(mixed.J[:3], scalar.matmul(O, turning))
    rate = _add(mixed.J_rate[:3], _add(scalar.matmul(O, turning_rate), scalar.matmul(V, turning)))
    return Twist(J + turning, rate + turning_rate)


# ---------------------------------------------------------------------------------------------------------------------
# The first six rows of A = T^-1, and products with it


def _inverse(twist: Twist) -> tuple[Block, Block]:
    """A = [X, -X J_s], X = J_b^-1, and its rate -X (T_rate A); J_b moves the whole robot rigidly, [[E, G], [0, E]]."""
    E = [row[:3] for row in twist.J[:3]]
    Et = transpose(E)
    G = multiply(multiply(Et, [row[3:6] for row in twist.J[:3]]), Et)
    X = [[*a, *(-x for x in b)] for a, b in zip(Et, G, strict=True)] + [[0.0, 0.0, 0.0, *a] for a in Et]
    joints = scalar.matmul(X, [row[6:] for row in twist.J], negate=True)
    A = [[*a, *b] for a, b in zip(X, joints, strict=True)]
    moved = scalar.matmul([row[:6] for row in twist.J_rate], A)
    moved = [[*a[:6], *(x + y for x, y in zip(a[6:], b[6:], strict=True))] for a, b in zip(moved, twist.J_rate, strict=True)]
    return A, scalar.matmul(X, moved, negate=True)


def _times(M: Block, A: Block) -> Block:
    """M [A; 0 1]."""
    left = scalar.matmul([row[:6] for row in M], A)
    return [[*a[:6], *(x + y for x, y in zip(a[6:], b[6:], strict=True))] for a, b in zip(left, M, strict=True)]


def _pull(Y: Block, A: Block) -> Block:
    """[A; 0 1]^T Y."""
    top = scalar.matmul(transpose(A), Y[:6])
    return top[:6] + _add(top[6:], Y[6:])


def _congruent(M: Block, A: Block) -> Block:
    """[A; 0 1]^T M [A; 0 1], symmetric."""
    new = _pull(_times(M, A), A)
    return [[new[min(i, j)][max(i, j)] for j in range(len(M))] for i in range(len(M))]


def _apply(J: Block, nu: Vector) -> list[Scalar]:
    return [row[0] for row in multiply(J, [[x] for x in nu])]


def _add(A: Block, B: Block) -> Block:
    return [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]


def _scaled(s: Scalar, A: Block) -> Block:
    return [[s * x for x in row] for row in A]
