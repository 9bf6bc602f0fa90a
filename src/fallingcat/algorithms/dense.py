"""Small symmetric positive-definite systems over any scalar."""

from __future__ import annotations

from collections.abc import Sequence

from fallingcat.scalar import Scalar

Matrix = Sequence[Sequence[Scalar]]


def factor(A: Matrix) -> tuple[list[list[Scalar]], list[Scalar]]:
    """A = L D L^T without square roots: (L, 1/D), L with a unit diagonal that is not stored."""
    n = len(A)
    L: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    Dinv: list[Scalar] = []
    LD: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for j in range(n):
        d = A[j][j]
        for k in range(j):
            d = d - LD[j][k] * L[j][k]
        Dinv.append(1.0 / d)
        for i in range(j + 1, n):
            x = A[i][j]
            for k in range(j):
                x = x - LD[i][k] * L[j][k]
            LD[i][j] = x
            L[i][j] = x * Dinv[j]
    return L, Dinv


def forward_substitute(L: Matrix, b: Sequence[Scalar]) -> list[Scalar]:
    """Solve L x = b."""
    x = list(b)
    for i in range(len(b)):
        for k in range(i):
            x[i] = x[i] - L[i][k] * x[k]
    return x


def substitute(L: Matrix, Dinv: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """Solve L D L^T x = b."""
    n = len(b)
    x = forward_substitute(L, b)
    x = [a * d for a, d in zip(x, Dinv, strict=True)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k][i] * x[k]
    return x


def solve_symmetric(A: Matrix, b: Sequence[Scalar]) -> list[Scalar]:
    """x with A x = b."""
    return substitute(*factor(A), b)


def inverse_symmetric(A: Matrix) -> list[list[Scalar]]:
    """The inverse, symmetric by construction."""
    n = len(A)
    if n == 1:
        return [[1.0 / A[0][0]]]
    L, Dinv = factor(A)
    columns = [substitute(L, Dinv, [1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    return [[columns[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]


def transpose(A: Matrix) -> list[list[Scalar]]:
    return [list(column) for column in zip(*A, strict=True)]


def mirrored(A: Matrix) -> list[list[Scalar]]:
    """The matrix whose lower half repeats the upper one: symmetric to the last bit."""
    return [[A[min(i, j)][max(i, j)] for j in range(len(A))] for i in range(len(A))]


def multiply(A: Matrix, B: Matrix) -> list[list[Scalar]]:
    """A B, entry by entry: for blocks as small as a joint."""
    columns = transpose(B)
    return [[_dot(row, column) for column in columns] for row in A]


def subtract(A: Matrix, B: Matrix) -> list[list[Scalar]]:
    return [[x - y for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total
