"""The Coriolis factor of a rigid body or of a frozen collection of bodies.

    2 B(v, I) m = v x* (I m) + m x* (I v) - I (v x m)      (paper 001, eq. 12)

In (linear; angular) order B = [[0, -p^], [0, N]] with p the linear momentum and N = w^ J - h^ v^, where
J = I - tr(I)/2 (minus the second moments of mass) and h the first moment: twelve numbers that add up over bodies.
The zero block and the form of N follow from the Jacobi identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fallingcat.scalar import Scalar
from fallingcat.spatial.inertia import Inertia
from fallingcat.spatial.transform import Transform
from fallingcat.spatial.vec3 import (
    ZERO,
    ZERO_MATRIX,
    Mat,
    Vec,
    add,
    cross,
    dot,
    matadd,
    matsub,
    matTvec,
    matvec,
    scale,
    skew,
    sub,
    sym_matvec,
)
from fallingcat.spatial.vectors import Force, Frame, Motion

OwnFactor = Callable[[Sequence[Scalar], Sequence[Sequence[Scalar]]], Sequence[Sequence[Scalar]]]
"""A function B(v, I) from a twist (6,) and an inertia (6, 6) of a body to a matrix (6, 6), all in the same frame."""


@dataclass(frozen=True, slots=True)
class CoriolisFactor:
    """B(v, I) by its momentum p and block N, twelve numbers; it takes a motion m to the force B m."""

    p: Vec
    N: Mat
    frame: Frame

    @staticmethod
    def zero(frame: Frame) -> CoriolisFactor:
        return CoriolisFactor(ZERO, ZERO_MATRIX, frame)

    @staticmethod
    def of(v: Motion, inertia: Inertia) -> CoriolisFactor:
        """The factor of a body with this inertia and twist v."""
        xx, xy, xz, yy, yz, zz = inertia.I
        half = 0.5 * (xx + yy + zz)
        J: Mat = ((xx - half, xy, xz), (xy, yy - half, yz), (xz, yz, zz - half))
        w = v.ang
        columns = [cross(w, (J[0][k], J[1][k], J[2][k])) for k in range(3)]  # w^ J
        h, lin = inertia.h, v.lin
        hv = dot(h, lin)  # h^ v^ = v h^T - (h . v) 1
        rows = [[columns[j][i] - lin[i] * h[j] + (hv if i == j else 0.0) for j in range(3)] for i in range(3)]
        N: Mat = (tuple(rows[0]), tuple(rows[1]), tuple(rows[2]))
        return CoriolisFactor((inertia @ v).lin, N, inertia.frame)

    def __add__(self, other: CoriolisFactor) -> CoriolisFactor:
        return CoriolisFactor(add(self.p, other.p), matadd(self.N, other.N), self.frame)

    def __matmul__(self, m: Motion) -> Force:
        """B m."""
        return Force(cross(m.ang, self.p), matvec(self.N, m.ang), self.frame)

    def transposed(self, m: Motion) -> Force:
        """B^T m, a pure moment (its force is zero)."""
        return Force(ZERO, add(cross(self.p, m.lin), matTvec(self.N, m.ang)), self.frame)

    def swapped_transposed(self, f: Force, x: Motion) -> Force:
        """B(x, I)^T v, for the factor B(v, I) and f = I v: a pure moment (paper 001, eq. 50)."""
        return Force(ZERO, sub(cross(x.lin, self.p), add(cross(f.ang, x.ang), matvec(self.N, x.ang))), self.frame)

    def __sub__(self, other: CoriolisFactor) -> CoriolisFactor:
        return CoriolisFactor(sub(self.p, other.p), matsub(self.N, other.N), self.frame)

    def inertia_rate(self) -> Inertia:
        """B + B^T: the rate of the inertia along v (paper 001, eq. 14), which has the form of an inertia without mass."""
        N = self.N
        sums = (2.0 * N[0][0], N[0][1] + N[1][0], N[0][2] + N[2][0], 2.0 * N[1][1], N[1][2] + N[2][1], 2.0 * N[2][2])
        return Inertia(0.0, self.p, sums, self.frame)

    def matrix(self) -> list[list[object]]:
        """The 6 x 6 matrix, linear rows first."""
        p = self.p
        top = [[0.0, 0.0, 0.0, *row] for row in ((0.0, p[2], -p[1]), (-p[2], 0.0, p[0]), (p[1], -p[0], 0.0))]
        return top + [[0.0, 0.0, 0.0, *self.N[i]] for i in range(3)]


@dataclass(frozen=True, slots=True)
class SkewFactor:
    """C(x, I) = B(x, I) + I (x x), the skew factor of paper 003 (eq. 5): the inertia times the covariant derivative.

    In (linear; angular) order [[m w^, (h . w) 1 - h w^T], [-, k^]] with k = tr(I)/2 w - I w: of x only the angular part w counts.
    """

    mass: Scalar
    h: Vec
    w: Vec
    hw: Scalar
    k: Vec
    frame: Frame

    @staticmethod
    def of(x: Motion, inertia: Inertia) -> SkewFactor:
        xx, _, _, yy, _, zz = inertia.I
        k = sub(scale(0.5 * (xx + yy + zz), x.ang), sym_matvec(inertia.I, x.ang))
        return SkewFactor(inertia.mass, inertia.h, x.ang, dot(inertia.h, x.ang), k, inertia.frame)

    def __matmul__(self, m: Motion) -> Force:
        """C m."""
        w, h, hw = self.w, self.h, self.hw
        lin = sub(add(scale(self.mass, cross(w, m.lin)), scale(hw, m.ang)), scale(dot(w, m.ang), h))
        ang = add(sub(cross(self.k, m.ang), scale(hw, m.lin)), scale(dot(h, m.lin), w))
        return Force(lin, ang, self.frame)

    def matrix(self) -> list[list[Scalar]]:
        """The 6 x 6 matrix, linear rows first, exactly skew-symmetric."""
        corner = [[(self.hw if r == s else 0.0) - self.h[r] * self.w[s] for s in range(3)] for r in range(3)]
        top = [[*row, *corner[r]] for r, row in enumerate(skew(scale(self.mass, self.w)))]
        return top + [[*(-corner[s][r] for s in range(3)), *row] for r, row in enumerate(skew(self.k))]


@dataclass(frozen=True, slots=True)
class ColumnFactor:
    """A factor without structure, as six columns; factors of several bodies add up."""

    columns: tuple[Force, ...]
    frame: Frame

    @staticmethod
    def zero(frame: Frame) -> ColumnFactor:
        return ColumnFactor((Force.zero(frame),) * 6, frame)

    @staticmethod
    def given(B: OwnFactor, v: Motion, inertia: Inertia, X: Transform) -> ColumnFactor:
        """X^T B(X v, I) X in the frame of v, for a user-defined factor B of a body, evaluated in the body's frame."""
        own = [Force.of(column, X.a) for column in zip(*B((X @ v).entries(), inertia.matrix()), strict=True)]
        factor = ColumnFactor(tuple(own), X.a)
        return ColumnFactor(tuple(X.T @ (factor @ (X @ unit)) for unit in _units(X.b)), X.b)

    def __add__(self, other: ColumnFactor) -> ColumnFactor:
        return ColumnFactor(tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)), self.frame)

    def __matmul__(self, m: Motion) -> Force:
        """B m."""
        total = Force.zero(self.frame)
        for column, x in zip(self.columns, m.entries(), strict=True):
            total = total + column * x
        return total

    def transposed(self, m: Motion) -> Force:
        """B^T m."""
        return Force.of([m @ column for column in self.columns], self.frame)


class NewtonFactor(ColumnFactor):
    """The plain factor B(v, I) = (v x*) I (paper 001, eq. 11)."""

    __slots__ = ()

    @staticmethod
    def of(v: Motion, inertia: Inertia) -> NewtonFactor:
        """The factor of a body with this inertia and twist v."""
        return NewtonFactor(tuple(v.cross(inertia @ unit) for unit in _units(inertia.frame)), inertia.frame)


def _units(frame: Frame) -> list[Motion]:
    return [Motion.of([1.0 if m == k else 0.0 for m in range(6)], frame) for k in range(6)]
