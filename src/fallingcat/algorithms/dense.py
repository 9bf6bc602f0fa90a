"""Dense matrices over any scalar, and symmetric positive-definite systems."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, overload

from fallingcat import scalar
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion

Rows: TypeAlias = "Sequence[Sequence[Scalar]] | Matrix"
Block = list[list[Scalar]]


class Matrix:
    """A matrix over any scalar, as rows; a row can be taken out with A[i], a block with A[a:b, c:d]."""

    __slots__ = ("rows", "width")
    __array_ufunc__ = None  # so that products of a NumPy number with a matrix call Matrix.__rmul__

    def __init__(self, rows: Iterable[Sequence[Scalar]], width: int | None = None) -> None:
        self.rows: list[list[Scalar]] = [list(row) for row in rows]
        self.width = width if width is not None else len(self.rows[0])
        """Number of columns; needed where there may be no rows."""

    @staticmethod
    def zero(rows: int, columns: int) -> Matrix:
        return Matrix([[0.0] * columns for _ in range(rows)], columns)

    @staticmethod
    def identity(n: int) -> Matrix:
        return Matrix([[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)], n)

    @staticmethod
    def blocks(grid: Sequence[Sequence[Matrix]]) -> Matrix:
        """A matrix from a grid of blocks, row by row."""
        rows = [[x for part in parts for x in part] for line in grid for parts in zip(*line, strict=True)]
        width = sum(block.width for block in grid[0])
        if any(sum(block.width for block in line) != width for line in grid):
            raise ValueError(f"rows of blocks differ in width: {[[block.width for block in line] for line in grid]}")
        return Matrix(rows, width)

    @staticmethod
    def columns(vectors: Sequence[Motion] | Sequence[Force]) -> Matrix:
        """A 6 x k matrix whose columns are twists or wrenches."""
        return Matrix([v.entries() for v in vectors], 6).T

    def __iter__(self) -> Iterator[list[Scalar]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> list[Scalar]: ...
    @overload
    def __getitem__(self, at: slice | tuple[slice, slice]) -> Matrix: ...
    def __getitem__(self, at: int | slice | tuple[slice, slice]) -> list[Scalar] | Matrix:
        if isinstance(at, int):
            return self.rows[at]
        rows, columns = at if isinstance(at, tuple) else (at, slice(None))
        return Matrix([row[columns] for row in self.rows[rows]], len(range(self.width)[columns]))

    @property
    def T(self) -> Matrix:
        return Matrix([[row[j] for row in self.rows] for j in range(self.width)], len(self))

    def __add__(self, other: Matrix) -> Matrix:
        return self._each(other, lambda x, y: x + y)

    def __sub__(self, other: Matrix) -> Matrix:
        return self._each(other, lambda x, y: x - y)

    def __neg__(self) -> Matrix:
        return Matrix([[-x for x in row] for row in self.rows], self.width)

    def __mul__(self, s: Scalar) -> Matrix:
        return Matrix([[s * x for x in row] for row in self.rows], self.width)

    __rmul__ = __mul__

    @overload
    def __matmul__(self, other: Matrix) -> Matrix: ...
    @overload
    def __matmul__(self, other: Sequence[Scalar]) -> list[Scalar]: ...
    def __matmul__(self, other: Matrix | Sequence[Scalar]) -> Matrix | list[Scalar]:
        """A B, or A x."""
        if not isinstance(other, Matrix):
            return [row[0] for row in self @ Matrix([[x] for x in other], 1)]
        return self._times(other)

    def minus_times(self, other: Matrix) -> Matrix:
        """-A B, without the operations of a separate negation."""
        return self._times(other, negate=True)

    def times_symmetric(self, other: Matrix) -> Matrix:
        """A B, which must be symmetric: only half of it is computed."""
        return self._times(other, symmetric=True)

    def gram(self) -> Matrix:
        """A A^T, entry by entry, so that constant zeros cost nothing."""
        return Matrix([[scalar.dot(a, b) for b in self.rows] for a in self.rows], len(self))

    def _times(self, other: Matrix, negate: bool = False, symmetric: bool = False) -> Matrix:
        if not (len(self) and self.width and other.width):
            return Matrix.zero(len(self), other.width)
        return Matrix(scalar.matmul(self.rows, other.rows, negate, symmetric), other.width)

    def _each(self, other: Matrix, f: Callable[[Scalar, Scalar], Scalar]) -> Matrix:
        pairs = zip(self.rows, other.rows, strict=True)
        return Matrix([[f(x, y) for x, y in zip(a, b, strict=True)] for a, b in pairs], self.width)

    def scale_rows(self, d: Sequence[Scalar]) -> Matrix:
        """diag(d) A."""
        return Matrix([[s * x for x in row] for s, row in zip(d, self.rows, strict=True)], self.width)

    def scale_columns(self, d: Sequence[Scalar]) -> Matrix:
        """A diag(d)."""
        return Matrix([[x * s for x, s in zip(row, d, strict=True)] for row in self.rows], self.width)

    def scale_symmetric(self, d: Sequence[Scalar]) -> Matrix:
        """diag(d) A diag(d), as symmetric as A to the last bit."""
        return Matrix(
            [[x * (a * b) for x, b in zip(row, d, strict=True)] for a, row in zip(d, self.rows, strict=True)], self.width
        )

    def plus_diagonal(self, d: Sequence[Scalar]) -> Matrix:
        """A + diag(d)."""
        return Matrix([[x + d[i] if i == j else x for j, x in enumerate(row)] for i, row in enumerate(self.rows)], self.width)

    @property
    def diagonal(self) -> list[Scalar]:
        return [row[i] for i, row in enumerate(self.rows)]

    @staticmethod
    def from_columns(columns: Iterable[Sequence[Scalar]], height: int) -> Matrix:
        """A matrix from any number of columns, even none, with `height` entries each."""
        return Matrix(columns, height).T

    def take(self, columns: Iterable[int]) -> Matrix:
        """The columns with these numbers, in the order given."""
        chosen = list(columns)
        return Matrix([[row[j] for j in chosen] for row in self.rows], len(chosen))

    def each_column(self, f: Callable[[Sequence[Scalar]], Sequence[Scalar]]) -> Matrix:
        """The matrix with f applied to every column; f must keep the length."""
        return Matrix.from_columns([f(column) for column in self.T], len(self))

    def mirrored(self) -> Matrix:
        """The matrix with its lower half replaced by the upper one: symmetric to the last bit."""
        return Matrix([[self.rows[min(i, j)][max(i, j)] for j in range(len(self))] for i in range(len(self))], self.width)

    def inverse_symmetric(self, least: Sequence[float] | None = None) -> Matrix:
        """The inverse of a symmetric positive-definite matrix; `least` as in `factor`."""
        return Matrix(inverse_symmetric(self.rows, least), self.width)

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """x with A x = b, for a symmetric positive-definite A."""
        return solve_symmetric(self.rows, b)


def factor(A: Rows, least: Sequence[float] | None = None) -> tuple[list[list[Scalar]], list[Scalar]]:
    """A = L D L^T without square roots: (L, 1/D), L with a unit diagonal that is not stored.

    least: what each pivot must exceed; otherwise it is NaN, and so is everything that depends on it.
    """
    if least is None:
        return factor_by(A, lambda j, d: 1.0 / d)
    return factor_by(A, lambda j, d: 1.0 / scalar.where_less(least[j], d, d, math.nan))


def factor_by(A: Rows, inverse_of_pivot: Callable[[int, Scalar], Scalar]) -> tuple[list[list[Scalar]], list[Scalar]]:
    """`factor` with a function of the number and the value of each pivot that gives its inverse."""
    n = len(A)
    L: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    Dinv: list[Scalar] = []
    LD: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for j in range(n):
        d = A[j][j]
        for k in range(j):
            d = d - LD[j][k] * L[j][k]
        Dinv.append(inverse_of_pivot(j, d))
        for i in range(j + 1, n):
            x = A[i][j]
            for k in range(j):
                x = x - LD[i][k] * L[j][k]
            LD[i][j], L[i][j] = x, x * Dinv[j]
    return L, Dinv


def forward_substitute(L: Rows, b: Sequence[Scalar]) -> list[Scalar]:
    """Solve L x = b."""
    x = list(b)
    for i in range(len(b)):
        for k in range(i):
            x[i] = x[i] - L[i][k] * x[k]
    return x


def backward_substitute(L: Rows, b: Sequence[Scalar]) -> list[Scalar]:
    """Solve L^T x = b."""
    x = list(b)
    for i in reversed(range(len(b))):
        for k in range(i + 1, len(b)):
            x[i] = x[i] - L[k][i] * x[k]
    return x


def substitute(L: Rows, Dinv: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """Solve L D L^T x = b."""
    return backward_substitute(L, [a * d for a, d in zip(forward_substitute(L, b), Dinv, strict=True)])


def solve_symmetric(A: Rows, b: Sequence[Scalar], least: Sequence[float] | None = None) -> list[Scalar]:
    """x with A x = b; `least` as in `factor`."""
    return substitute(*factor(A, least), b)


def inverse_symmetric(A: Rows, least: Sequence[float] | None = None) -> list[list[Scalar]]:
    """The inverse, symmetric by construction; `least` as in `factor`."""
    n = len(A)
    L, Dinv = factor(A, least)
    if n == 1:
        return [Dinv]
    columns = [substitute(L, Dinv, [1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    return Matrix(columns, n).mirrored().rows
