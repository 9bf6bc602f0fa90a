"""Change of coordinates between frames.

`X_ab` takes b-coordinates to a-coordinates, so in `X_ab @ v_b` the inner letters touch. It is kept as
the rotation E = R_ab and the position r of a's origin in b (Featherstone's `plx`): for a joint,
r then is a constant and folds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, overload

from fallingcat.errors import FrameError
from fallingcat.scalar import Scalar
from fallingcat.spatial.inertia import ArticulatedInertia, Inertia
from fallingcat.spatial.rotation import MatrixRotation, Rotation
from fallingcat.spatial.vec3 import IDENTITY, ZERO, Mat, Vec, add, cross, neg, outer, scale, sub, sym_add, sym_sub, upper
from fallingcat.spatial.vectors import Force, Frame, Motion


@dataclass(frozen=True, slots=True)
class Transform:
    """The transform X_ab of motion vectors and transforms from frame b to frame a."""

    E: Rotation
    """R_ab."""
    r: Vec
    """Origin of a, in b-coordinates."""
    a: Frame
    b: Frame

    @overload
    def __matmul__(self, other: Motion) -> Motion: ...
    @overload
    def __matmul__(self, other: Transform) -> Transform: ...
    def __matmul__(self, other: Motion | Transform) -> Motion | Transform:
        if isinstance(other, Transform):
            _check_frames(self.b, other.a)
            return Transform(self.E @ other.E, add(other.r, other.E.inverse_apply(self.r)), self.a, other.b)
        _check_frames(self.b, other.frame)
        E = self.E
        return Motion(E.apply(sub(other.lin, cross(self.r, other.ang))), E.apply(other.ang), self.a)

    @property
    def T(self) -> TransformTransposed:
        """The transpose, which takes wrenches and inertias from a to b."""
        return TransformTransposed(self)

    def inverse(self) -> Transform:
        return Transform(self.E.inverse(), neg(self.E.apply(self.r)), self.b, self.a)

    def inverse_times(self, m: Motion) -> Motion:
        """X_ba m, without forming the inverse."""
        _check_frames(self.a, m.frame)
        ang = self.E.inverse_apply(m.ang)
        return Motion(add(self.E.inverse_apply(m.lin), cross(self.r, ang)), ang, self.b)

    def point(self, x: Vec) -> Vec:
        """Coordinates in b of the point that has coordinates x in a."""
        return add(self.r, self.E.inverse_apply(x))

    def matrix(self) -> list[list[Scalar]]:
        """The 6 x 6 matrix, linear rows first."""
        E = self.E.matrix()
        corner = [[-x for x in row] for row in _times_skew(E, self.r)]
        return [[*E[i], *corner[i]] for i in range(3)] + [[0.0, 0.0, 0.0, *E[i]] for i in range(3)]

    def pose_of_a_in_b(self) -> list[list[Scalar]]:
        """The homogeneous 4 x 4 matrix H_ba."""
        E = self.E.matrix()
        return [[E[0][i], E[1][i], E[2][i], self.r[i]] for i in range(3)] + [[0.0, 0.0, 0.0, 1.0]]


class Identity(Transform):
    """The identity from frame b to frame a: only the frame's name changes, without any operations."""

    __slots__ = ()

    @staticmethod
    def between(a: Frame, b: Frame) -> Identity:
        return Identity(MatrixRotation(IDENTITY), ZERO, a, b)

    def __matmul__(self, other: Any) -> Any:
        """The motion or transform `other` with its frame renamed."""
        if isinstance(other, Transform):
            _check_frames(self.b, other.a)
            return Transform(other.E, other.r, self.a, other.b)
        return _renamed(other, self.b, self.a)

    def __rmatmul__(self, other: Transform) -> Transform:
        """The transform `other`, which is applied after this one, with its frame renamed."""
        _check_frames(other.b, self.a)
        return Transform(other.E, other.r, other.a, self.b)

    def inverse_times(self, m: Motion) -> Motion:
        _check_frames(self.a, m.frame)
        return Motion(m.lin, m.ang, self.b)

    @property
    def T(self) -> Any:
        return Identity(self.E, self.r, self.b, self.a)


def _renamed(x: Any, old: Frame, new: Frame) -> Any:
    """The same numbers with another frame name."""
    _check_frames(old, x.frame)
    return x if old == new else replace(x, frame=new)


@dataclass(frozen=True, slots=True)
class TransformTransposed:
    """The transpose X_ab^T, which takes wrenches and inertias from a to b."""

    X: Transform

    @overload
    def __matmul__(self, other: Force) -> Force: ...
    @overload
    def __matmul__(self, other: Inertia) -> Inertia: ...
    @overload
    def __matmul__(self, other: ArticulatedInertia) -> ArticulatedInertia: ...
    def __matmul__(self, other: Force | Inertia | ArticulatedInertia) -> Force | Inertia | ArticulatedInertia:
        """X^T f for a wrench; X^T I X for an inertia."""
        X = self.X
        _check_frames(X.a, other.frame)
        if isinstance(other, Force):
            lin = X.E.inverse_apply(other.lin)
            return Force(lin, add(X.E.inverse_apply(other.ang), cross(X.r, lin)), X.b)
        if isinstance(other, Inertia):
            return _move_rigid(X, other)
        return _move_articulated(X, other)


def _check_frames(inner: Frame, outer_: Frame) -> None:
    if inner != outer_:
        raise FrameError(f"frames differ: a transform from {inner!r} and a quantity in {outer_!r}")


def _times_skew(E: Mat, r: Vec) -> list[Vec]:
    """The rows of E r^ : row times r^ is row x r."""
    return [cross(row, r) for row in E]


def _move_rigid(X: Transform, inertia: Inertia) -> Inertia:
    """X^T I X: rotate about a's origin, then move the reference point by r."""
    m, r = inertia.mass, X.r
    h = X.E.inverse_apply(inertia.h)
    k = add(h, scale(m, r))
    # Parallel axes:  I_b = I - r^ h^ - k^ r^  with  x^ y^ = y x^T - (x . y) 1.
    dot_rh = r[0] * h[0] + r[1] * h[1] + r[2] * h[2]
    dot_kr = k[0] * r[0] + k[1] * r[1] + k[2] * r[2]
    s = dot_rh + dot_kr
    hr, rk = upper(outer(h, r)), upper(outer(r, k))
    moved = sym_sub(sym_sub(X.E.inverse_conjugate(inertia.I), hr), rk)
    I = (moved[0] + s, moved[1], moved[2], moved[3] + s, moved[4], moved[5] + s)
    return Inertia(m, k, I, X.b)


def _move_articulated(X: Transform, inertia: ArticulatedInertia) -> ArticulatedInertia:
    """X^T I X for blocks [[A, H], [H^T, I]] in (linear; angular) order."""
    E, r = X.E, X.r
    A = E.inverse_conjugate(inertia.A)
    H = E.inverse_conjugate_general(inertia.H)
    I = E.inverse_conjugate(inertia.I)
    # With L = r^ A (so that H_b = H - A r^ = H + L^T):  I_b = I + r^ H - H^T r^ - r^ A r^.
    xx, xy, xz, yy, yz, zz = A
    rA = (cross(r, (xx, xy, xz)), cross(r, (xy, yy, yz)), cross(r, (xz, yz, zz)))  # rows of (r^ A)^T
    Hb: Mat = (add(H[0], rA[0]), add(H[1], rA[1]), add(H[2], rA[2]))
    columns = [cross(r, (H[0][j], H[1][j], H[2][j])) for j in range(3)]  # r^ H, by columns
    columns_b = [cross(r, (Hb[0][j], Hb[1][j], Hb[2][j])) for j in range(3)]  # r^ H_b, by columns
    # -H^T r^ = (r^ H)^T and r^ H - r^ A r^ = r^ H_b, so  I_b = I + r^ H_b + (r^ H)^T.
    correction = tuple(columns_b[j][i] + columns[i][j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
    return ArticulatedInertia(A, Hb, sym_add(I, correction), X.b)
