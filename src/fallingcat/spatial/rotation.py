"""Rotation matrices with structure.

A joint's rotation is a rotation about one coordinate axis after a constant one. Kept as that
product it costs a third of the operations of a full matrix, which matters because these products
are most of the operations of the dynamics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from fallingcat.scalar import Scalar
from fallingcat.spatial.vec3 import IDENTITY, Mat, Sym, Vec, matmul, matTvec, matvec, sym_full, transpose, upper


class Rotation(ABC):
    """A rotation matrix R_ab, from b-coordinates to a-coordinates."""

    __slots__ = ()

    @abstractmethod
    def apply(self, v: Vec) -> Vec:
        """R v."""

    @abstractmethod
    def inverse_apply(self, v: Vec) -> Vec:
        """R^T v."""

    @abstractmethod
    def inverse_conjugate(self, I: Sym) -> Sym:
        """R^T I R for a symmetric I."""

    @abstractmethod
    def inverse_conjugate_general(self, H: Mat) -> Mat:
        """R^T H R."""

    @abstractmethod
    def matrix(self) -> Mat: ...

    def inverse(self) -> Rotation:
        return MatrixRotation(transpose(self.matrix()))

    def __matmul__(self, other: Rotation) -> Rotation:
        # Column by column, to use the structure of the left factor.
        B = transpose(other.matrix())
        return MatrixRotation(transpose((self.apply(B[0]), self.apply(B[1]), self.apply(B[2]))))


@dataclass(frozen=True, slots=True)
class MatrixRotation(Rotation):
    """A rotation stored as a full matrix."""

    R: Mat

    def apply(self, v: Vec) -> Vec:
        return matvec(self.R, v)

    def inverse_apply(self, v: Vec) -> Vec:
        return matTvec(self.R, v)

    def inverse_conjugate(self, I: Sym) -> Sym:
        return conjugate_by_transpose(self.R, I)

    def inverse_conjugate_general(self, H: Mat) -> Mat:
        return matmul(transpose(self.R), matmul(H, self.R))

    def matrix(self) -> Mat:
        return self.R


@dataclass(frozen=True, slots=True)
class AxisRotation(Rotation):
    """E = J^T P^T: the constant rotation P^T, then minus the joint angle about coordinate axis k."""

    axis: int
    """k: 0, 1 or 2."""
    cos: Scalar
    sin: Scalar
    P: Mat
    """Orientation of the joint's frame in the parent, a constant."""

    def _turn(self, v: Vec, s: Scalar) -> Vec:
        i, j = (self.axis + 1) % 3, (self.axis + 2) % 3
        out = [v[0], v[1], v[2]]
        out[i] = self.cos * v[i] - s * v[j]
        out[j] = s * v[i] + self.cos * v[j]
        return (out[0], out[1], out[2])

    def apply(self, v: Vec) -> Vec:
        return self._turn(matTvec(self.P, v), -self.sin)

    def inverse_apply(self, v: Vec) -> Vec:
        return matvec(self.P, self._turn(v, self.sin))

    def inverse_conjugate(self, I: Sym) -> Sym:
        turned = self.inverse_conjugate_block(sym_full(I))
        return conjugate_by_transpose(transpose(self.P), upper(turned))

    def inverse_conjugate_general(self, H: Mat) -> Mat:
        return matmul(self.P, matmul(self.inverse_conjugate_block(H), transpose(self.P)))

    def inverse_conjugate_block(self, H: Mat) -> Mat:
        """J H J^T. With c^2 + s^2 = 1 the turned 2 x 2 block needs one product u per entry."""
        i, j, k = (self.axis + 1) % 3, (self.axis + 2) % 3, self.axis
        c, s = self.cos, self.sin
        out = [list(row) for row in H]
        u = s * (H[i][i] - H[j][j]) + c * (H[i][j] + H[j][i])
        out[i][i] = H[i][i] - s * u
        out[j][j] = H[j][j] + s * u
        out[i][j] = c * u - H[j][i]
        out[j][i] = c * u - H[i][j]
        out[i][k] = c * H[i][k] - s * H[j][k]
        out[j][k] = s * H[i][k] + c * H[j][k]
        out[k][i] = c * H[k][i] - s * H[k][j]
        out[k][j] = s * H[k][i] + c * H[k][j]
        return ((out[0][0], out[0][1], out[0][2]), (out[1][0], out[1][1], out[1][2]), (out[2][0], out[2][1], out[2][2]))

    def matrix(self) -> Mat:
        columns = [self.apply(e) for e in IDENTITY]
        return transpose((columns[0], columns[1], columns[2]))


def conjugate_by_transpose(R: Mat, I: Sym) -> Sym:
    """R^T I R, computing the upper triangle only."""
    IR = matmul(sym_full(I), R)
    columns, IR_columns = transpose(R), transpose(IR)
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    xx, xy, xz, yy, yz, zz = (_dot(columns[i], IR_columns[j]) for i, j in pairs)
    return (xx, xy, xz, yy, yz, zz)


def _dot(a: Vec, b: Vec) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def axis_rotation(axis: int, cos: Scalar, sin: Scalar, P: Mat) -> Rotation:
    """E = J^T P^T in the cheaper of the two forms: a full P is multiplied out, a sparse one is kept."""
    factored = AxisRotation(axis, cos, sin, P)
    full = all(isinstance(x, float) and x not in (0.0, 1.0, -1.0) for row in P for x in row)
    return MatrixRotation(factored.matrix()) if full else factored
