"""Joint types: one class each, over any scalar.

A joint says, from its coordinates, how the body's frame sits in the joint's frame, which motions it
allows, and how its coordinates move. To add a joint type, write one class here and one line in
`CANONICAL` of `assemble.py`; nothing else knows joint types.

Velocities are body-fixed: for joints on a Lie group (planar, spherical, free) the velocity is the
left-trivialized one and differs from the rate of the coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from fallingcat import scalar
from fallingcat.scalar import Scalar
from fallingcat.spatial import MatrixRotation, Rotation, axis_rotation, se3, so3
from fallingcat.spatial.vec3 import IDENTITY, ZERO, Mat, Vec, add, cross, matmul, matTvec, matvec, neg, scale, sub, transpose

Column = tuple[Vec, Vec]
"""One column of the motion subspace: linear and angular part, in body coordinates."""

Coordinates = Sequence[Scalar]
Representation = Literal["body", "mixed", "inertial"]


def unit(axis: int, sign: float = 1.0) -> Vec:
    """The coordinate axis, or its opposite."""
    return (sign if axis == 0 else 0.0, sign if axis == 1 else 0.0, sign if axis == 2 else 0.0)


class JointModel(ABC):
    """A joint between the joint's frame, fixed in the parent, and the body's frame."""

    nq: ClassVar[int]
    nv: ClassVar[int]
    quaternion_at: ClassVar[int | None] = None
    """Index of the joint's first quaternion coordinate; None if it has no quaternion."""

    @property
    def axes_move(self) -> bool:
        """Does S change in the body's frame? By default, if the class overrides `ring`."""
        return type(self).ring is not JointModel.ring

    @abstractmethod
    def rotation(self, q: Coordinates, P: Mat) -> Rotation:
        """E = R_body,parent, for a joint whose frame has the orientation P in the parent."""

    @abstractmethod
    def offset(self, q: Coordinates) -> Vec:
        """The body's origin in the joint's frame."""

    @abstractmethod
    def columns(self, q: Coordinates) -> list[Column]:
        """The motion subspace S."""

    def ring(self, q: Coordinates, nu: Coordinates) -> list[Column]:
        """The rate of S in body coordinates at joint velocity nu, column by column; zero when S is constant."""
        return [(ZERO, ZERO)] * self.nv

    def neutral(self) -> list[float]:
        return [0.0] * self.nq

    def integrate(self, q: Coordinates, dx: Coordinates) -> list[Scalar]:
        """The coordinates after moving with body-fixed velocity dx for one second."""
        return [a + b for a, b in zip(q, dx, strict=True)]

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        """The body-fixed velocity that moves q0 to q1 in one second."""
        return [b - a for a, b in zip(q0, q1, strict=True)]

    def rate(self, q: Coordinates, nu: Coordinates) -> list[Scalar]:
        """The rates of the coordinates at body-fixed velocity nu: the derivative of `integrate` by dx at zero."""
        return list(nu)

    def motions(self) -> list[int] | None:
        """The entries of a twist that a velocity on a Lie group consists of; None for joints whose coordinates are added."""
        return None


@dataclass(frozen=True)
class Revolute(JointModel):
    """A rotation about a coordinate axis, or about its opposite (sign = -1)."""

    axis: int
    sign: float = 1.0
    nq = 1
    nv = 1

    def rotation(self, q: Coordinates, P: Mat) -> Rotation:
        return axis_rotation(self.axis, scalar.cos(q[0]), self.sign * scalar.sin(q[0]), P)

    def offset(self, q: Coordinates) -> Vec:
        return ZERO

    def columns(self, q: Coordinates) -> list[Column]:
        return [(ZERO, unit(self.axis, self.sign))]


@dataclass(frozen=True)
class Prismatic(JointModel):
    """A translation along a coordinate axis."""

    axis: int
    sign: float = 1.0
    nq = 1
    nv = 1

    def rotation(self, q: Coordinates, P: Mat) -> Rotation:
        return MatrixRotation(transpose(P))

    def offset(self, q: Coordinates) -> Vec:
        return scale(q[0], unit(self.axis, self.sign))

    def columns(self, q: Coordinates) -> list[Column]:
        return [(unit(self.axis, self.sign), ZERO)]


@dataclass(frozen=True)
class Helical(JointModel):
    """A screw: a rotation about an axis with a translation along it of `pitch` metres per radian."""

    axis: int
    sign: float = 1.0
    pitch: float = 0.0
    nq = 1
    nv = 1

    def rotation(self, q: Coordinates, P: Mat) -> Rotation:
        return axis_rotation(self.axis, scalar.cos(q[0]), self.sign * scalar.sin(q[0]), P)

    def offset(self, q: Coordinates) -> Vec:
        return scale(self.pitch * q[0], unit(self.axis, self.sign))

    def columns(self, q: Coordinates) -> list[Column]:
        e = unit(self.axis, self.sign)
        return [(scale(self.pitch, e), e)]


@dataclass(frozen=True)
class Cylindrical(JointModel):
    """A translation along an axis and a rotation about it; coordinates in this order."""

    axis: int
    sign: float = 1.0
    nq = 2
    nv = 2

    def rotation(self, q: Coordinates, P: Mat) -> Rotation:
        return axis_rotation(self.axis, scalar.cos(q[1]), self.sign * scalar.sin(q[1]), P)

    def offset(self, q: Coordinates) -> Vec:
        return scale(q[0], unit(self.axis, self.sign))

    def columns(self, q: Coordinates) -> list[Column]:
        e = unit(self.axis, self.sign)
        return [(e, ZERO), (ZERO, e)]


@dataclass(frozen=True)
class Planar(JointModel):
    """Motion in the x-y plane: coordinates x, y, angle; velocity body-fixed (SE(2), left-trivialized)."""

    nq = 3
    nv = 3

    def rotation(self, q: Coordinates, P: Mat) -> Rotation:
        return axis_rotation(2, scalar.cos(q[2]), scalar.sin(q[2]), P)

    def offset(self, q: Coordinates) -> Vec:
        return (q[0], q[1], 0.0)

    def columns(self, q: Coordinates) -> list[Column]:
        return [(unit(0), ZERO), (unit(1), ZERO), (ZERO, unit(2))]

    def motions(self) -> list[int] | None:
        return [0, 1, 5]

    def rate(self, q: Coordinates, nu: Coordinates) -> list[Scalar]:
        c, s = scalar.cos(q[2]), scalar.sin(q[2])
        return [c * nu[0] - s * nu[1], s * nu[0] + c * nu[1], nu[2]]

    def integrate(self, q: Coordinates, dx: Coordinates) -> list[Scalar]:
        _, p = se3.exp(((dx[0], dx[1], 0.0), (0.0, 0.0, dx[2])))
        c, s = scalar.cos(q[2]), scalar.sin(q[2])
        return [q[0] + c * p[0] - s * p[1], q[1] + s * p[0] + c * p[1], q[2] + dx[2]]

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        turn = q1[2] - q0[2]
        c, s = scalar.cos(q0[2]), scalar.sin(q0[2])
        dx, dy = q1[0] - q0[0], q1[1] - q0[1]
        # The angle may be any real number, so wrap it to [-pi, pi], where the Jacobian is regular.
        angle = scalar.atan2(scalar.sin(turn), scalar.cos(turn))
        v = matvec(so3.left_jacobian_inverse((0.0, 0.0, angle)), (c * dx + s * dy, c * dy - s * dx, 0.0))
        return [v[0], v[1], angle]


@dataclass(frozen=True)
class Universal(JointModel):
    """A rotation by q1 about a first axis, then by q2 about a second axis that rotates with the first."""

    first: Vec
    second: Vec
    nq = 2
    nv = 2

    def _turn(self, axis: Vec, angle: Scalar) -> Mat:
        """The rotation matrix about a unit axis (Rodrigues)."""
        c, s = scalar.cos(angle), scalar.sin(angle)
        K: Mat = ((0.0, -axis[2], axis[1]), (axis[2], 0.0, -axis[0]), (-axis[1], axis[0], 0.0))
        KK = matmul(K, K)
        rows = [[IDENTITY[i][j] + s * K[i][j] + (1.0 - c) * KK[i][j] for j in range(3)] for i in range(3)]
        return (tuple(rows[0]), tuple(rows[1]), tuple(rows[2]))

    def rotation(self, q: Coordinates, P: Mat) -> Rotation:
        J = matmul(self._turn(self.first, q[0]), self._turn(self.second, q[1]))
        return MatrixRotation(transpose(matmul(P, J)))

    def offset(self, q: Coordinates) -> Vec:
        return ZERO

    def _first_in_body(self, q: Coordinates) -> Vec:
        return matTvec(self._turn(self.second, q[1]), self.first)

    def columns(self, q: Coordinates) -> list[Column]:
        return [(ZERO, self._first_in_body(q)), (ZERO, self.second)]

    def ring(self, q: Coordinates, nu: Coordinates) -> list[Column]:
        # The first axis is fixed in the joint, so it rotates backwards in the body as the second angle grows.
        return [(ZERO, scale(nu[1], cross(self._first_in_body(q), self.second))), (ZERO, ZERO)]


@dataclass(frozen=True)
class Spherical(JointModel):
    """Any rotation: a unit quaternion (x y z w); velocity is the body-fixed angular velocity."""

    nq = 4
    nv = 3
    quaternion_at = 0

    def rotation(self, q: Coordinates, P: Mat) -> Rotation:
        R = so3.from_quaternion((q[0], q[1], q[2], q[3]))
        return MatrixRotation(transpose(matmul(P, R)))

    def offset(self, q: Coordinates) -> Vec:
        return ZERO

    def columns(self, q: Coordinates) -> list[Column]:
        return [(ZERO, unit(k)) for k in range(3)]

    def motions(self) -> list[int] | None:
        return [3, 4, 5]

    def rate(self, q: Coordinates, nu: Coordinates) -> list[Scalar]:
        return _quaternion_rate(q, (nu[0], nu[1], nu[2]))

    def neutral(self) -> list[float]:
        return [0.0, 0.0, 0.0, 1.0]

    def integrate(self, q: Coordinates, dx: Coordinates) -> list[Scalar]:
        return _turn_quaternion(q, (dx[0], dx[1], dx[2]))

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        return list(so3.log_quaternion(_relative_quaternion(q0, q1)))


@dataclass(frozen=True)
class FreeFlyer(JointModel):
    """Any motion: position, unit quaternion (x y z w), and a twist in one of three representations.

    body: body-fixed, S = 1. inertial: in the joint's frame, S = X_body,joint. mixed: the velocity of the
    origin and the angular velocity, both with the joint's orientation (paper 004, Sec. II).
    """

    velocity: Representation = "body"
    nq = 7
    nv = 6
    quaternion_at = 3

    def _orientation(self, q: Coordinates) -> Mat:
        return so3.from_quaternion((q[3], q[4], q[5], q[6]))

    def rotation(self, q: Coordinates, P: Mat) -> Rotation:
        return MatrixRotation(transpose(matmul(P, self._orientation(q))))

    def offset(self, q: Coordinates) -> Vec:
        return (q[0], q[1], q[2])

    def columns(self, q: Coordinates) -> list[Column]:
        if self.velocity == "body":
            return [(unit(k), ZERO) for k in range(3)] + [(ZERO, unit(k)) for k in range(3)]
        axes = self._orientation(q)  # row k is the joint's axis k in body coordinates
        linear: list[Column] = [(axes[k], ZERO) for k in range(3)]
        if self.velocity == "mixed":
            return linear + [(ZERO, axes[k]) for k in range(3)]
        R = self._orientation(q)
        return linear + [(matTvec(R, neg(cross(self.offset(q), unit(k)))), axes[k]) for k in range(3)]

    @property
    def axes_move(self) -> bool:
        return self.velocity != "body"

    def ring(self, q: Coordinates, nu: Coordinates) -> list[Column]:
        """-v x S with v the twist of the body against the frame in which nu is expressed."""
        if self.velocity == "body":
            return super().ring(q, nu)
        columns = self.columns(q)
        v, w = _combine(columns, nu)
        if self.velocity == "mixed":
            v = ZERO
        return [(neg(add(cross(w, lin), cross(v, ang))), neg(cross(w, ang))) for lin, ang in columns]

    def motions(self) -> list[int] | None:
        return [0, 1, 2, 3, 4, 5]

    def rate(self, q: Coordinates, nu: Coordinates) -> list[Scalar]:
        linear = matvec(self._orientation(q), (nu[0], nu[1], nu[2]))
        return [*linear, *_quaternion_rate(q[3:7], (nu[3], nu[4], nu[5]))]

    def neutral(self) -> list[float]:
        return [0.0] * 6 + [1.0]

    def integrate(self, q: Coordinates, dx: Coordinates) -> list[Scalar]:
        w = (dx[3], dx[4], dx[5])
        _, p = se3.exp(((dx[0], dx[1], dx[2]), w))
        return [*add((q[0], q[1], q[2]), matvec(self._orientation(q), p)), *_turn_quaternion(q[3:7], w)]

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        w = so3.log_quaternion(_relative_quaternion(q0[3:7], q1[3:7]))
        p = matTvec(self._orientation(q0), sub((q1[0], q1[1], q1[2]), (q0[0], q0[1], q0[2])))
        return [*matvec(so3.left_jacobian_inverse(w), p), *w]


@dataclass(frozen=True)
class Reversed(JointModel):
    """A reversed joint: body and parent have exchanged their roles.

    With X the forward joint's transform to its parent:  S' = -X S  and  ring' = -X (v_J x S + ring).
    """

    forward: JointModel

    @property
    def nq(self) -> int:  # type: ignore[override]
        return self.forward.nq

    @property
    def nv(self) -> int:  # type: ignore[override]
        return self.forward.nv

    @property
    def quaternion_at(self) -> int | None:  # type: ignore[override]
        return self.forward.quaternion_at

    def _pose(self, q: Coordinates) -> tuple[Mat, Vec]:
        """The forward body's orientation and origin in the forward joint's frame."""
        return transpose(self.forward.rotation(q, IDENTITY).matrix()), self.forward.offset(q)

    def rotation(self, q: Coordinates, P: Mat) -> Rotation:
        R, _ = self._pose(q)
        return MatrixRotation(matmul(R, transpose(P)))

    def offset(self, q: Coordinates) -> Vec:
        R, p = self._pose(q)
        return neg(matTvec(R, p))

    def _flip(self, q: Coordinates, columns: list[Column]) -> list[Column]:
        R, p = self._pose(q)
        flipped = []
        for lin, ang in columns:
            w = matvec(R, ang)
            flipped.append((neg(add(matvec(R, lin), cross(p, w))), neg(w)))
        return flipped

    def columns(self, q: Coordinates) -> list[Column]:
        return self._flip(q, self.forward.columns(q))

    def ring(self, q: Coordinates, nu: Coordinates) -> list[Column]:
        columns = self.forward.columns(q)
        v, w = _combine(columns, nu)
        carried = [(add(cross(w, lin), cross(v, ang)), cross(w, ang)) for lin, ang in columns]
        ring = self.forward.ring(q, nu)
        return self._flip(q, [(add(a, c), add(b, d)) for (a, b), (c, d) in zip(carried, ring, strict=True)])

    def motions(self) -> list[int] | None:
        return self.forward.motions()

    def rate(self, q: Coordinates, nu: Coordinates) -> list[Scalar]:
        return self.forward.rate(q, nu)

    def neutral(self) -> list[float]:
        return self.forward.neutral()

    def integrate(self, q: Coordinates, dx: Coordinates) -> list[Scalar]:
        return self.forward.integrate(q, dx)

    def difference(self, q0: Coordinates, q1: Coordinates) -> list[Scalar]:
        return self.forward.difference(q0, q1)


def reverse(joint: JointModel) -> JointModel:
    """The reversed joint: of the same type where there is one, which has more constants, else `Reversed`."""
    if isinstance(joint, Revolute):
        return Revolute(joint.axis, -joint.sign)
    if isinstance(joint, Prismatic):
        return Prismatic(joint.axis, -joint.sign)
    if isinstance(joint, Helical):
        return Helical(joint.axis, -joint.sign, joint.pitch)
    if isinstance(joint, Cylindrical):
        return Cylindrical(joint.axis, -joint.sign)
    return joint.forward if isinstance(joint, Reversed) else Reversed(joint)


def _combine(columns: list[Column], nu: Coordinates) -> Column:
    """S nu."""
    v, w = ZERO, ZERO
    for (lin, ang), x in zip(columns, nu, strict=True):
        v, w = add(v, scale(x, lin)), add(w, scale(x, ang))
    return v, w


def _turn_quaternion(q: Coordinates, w: Vec) -> list[Scalar]:
    turned = so3.quaternion_product((q[0], q[1], q[2], q[3]), so3.exp_quaternion(w))
    return list(so3.quaternion_normalized(turned))


def _quaternion_rate(q: Coordinates, w: Vec) -> list[Scalar]:
    """q (w / 2), for a body-fixed angular velocity w."""
    return list(so3.quaternion_product((q[0], q[1], q[2], q[3]), (*scale(0.5, w), 0.0)))


def _relative_quaternion(q0: Coordinates, q1: Coordinates) -> so3.Quaternion:
    back = (-q0[0], -q0[1], -q0[2], q0[3])
    return so3.quaternion_normalized(so3.quaternion_product(back, (q1[0], q1[1], q1[2], q1[3])))
