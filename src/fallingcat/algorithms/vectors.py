"""Sums, differences and products of vectors of any length over any scalar."""

from __future__ import annotations

from collections.abc import Sequence

from fallingcat.scalar import Scalar

Vector = Sequence[Scalar]


def plus(x: Vector, y: Vector) -> list[Scalar]:
    """x + y."""
    return [a + b for a, b in zip(x, y, strict=True)]


def minus(x: Vector, y: Vector) -> list[Scalar]:
    """x - y."""
    return [a - b for a, b in zip(x, y, strict=True)]


def negative(x: Vector) -> list[Scalar]:
    """-x."""
    return [-a for a in x]


def scaled(s: Scalar, x: Vector) -> list[Scalar]:
    """s x."""
    return [s * a for a in x]


def entrywise(x: Vector, y: Vector) -> list[Scalar]:
    """diag(x) y."""
    return [a * b for a, b in zip(x, y, strict=True)]


def unit(n: int, k: int) -> list[Scalar]:
    """The k-th of n unit vectors."""
    return [1.0 if i == k else 0.0 for i in range(n)]
