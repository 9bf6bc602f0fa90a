"""Matrices over pairs of joints, whose entries are dot products of a vector of one joint with a vector of the other.

An algorithm names the vectors; the tracer decides whether products are written out or become a table (`tensors.MatrixOfDots`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion
from fallingcat.tensors import MatrixOfDots

Vectors = Sequence[Motion | Force] | Sequence[tuple[Motion | Force, ...]]
"""One vector per axis of a joint; or several per axis, stacked."""


class Pairs:
    """An nv x nv matrix that is set block by block, once each; blocks of joints that follow others (mimics) add up.

    If it is symmetric, setting block (i, j) sets (j, i) too.
    """

    def __init__(self, model: Model, symmetric: bool = False) -> None:
        self.model = model
        self._dots = MatrixOfDots(model.nv, model.nv, symmetric)
        self._joints = [(tuple(model.dofs(i)), body.multiplier) for i, body in enumerate(model.bodies)]
        self._entries: dict[int, tuple[Any, list[Scalar]]] = {}
        """The entries of every vector, by its identity, so that a vector that is used again has the same list."""

    def __setitem__(self, joints: tuple[int, int], factors: tuple[Vectors, Vectors]) -> None:
        """Set block (i, j) to the dot products of the vectors of joint i (rows) with those of joint j (columns)."""
        (i, j), (left, right) = joints, factors
        (rows, multiplier_i), (columns, multiplier_j) = self._joints[i], self._joints[j]
        put = self._put_symmetric if self._dots.symmetric else self._put
        vectors = [self._vector(x) for x in right]
        for k, x in zip(rows, left, strict=True):
            a = self._vector(x)
            for m, b in zip(columns, vectors, strict=True):
                put(k, m, a, b, multiplier_i * multiplier_j, i == j)

    def _put(self, k: int, m: int, a: list[Scalar], b: list[Scalar], factor: float, own: bool) -> None:
        self._dots.put(k, m, a, b, factor)

    def _put_symmetric(self, k: int, m: int, a: list[Scalar], b: list[Scalar], factor: float, own: bool) -> None:
        """Add to the lower triangle; of a diagonal block (`own`) only that half is added."""
        if k > m:
            self._dots.put(k, m, a, b, factor)
        elif k == m:  # a joint and one that follows it share a velocity: (i, j) and (j, i) are the same entry
            self._dots.put(k, m, a, b, factor if own else 2.0 * factor)
        elif not own:
            self._dots.put(m, k, b, a, factor)

    def _vector(self, vector: Motion | Force | tuple[Motion | Force, ...]) -> list[Scalar]:
        known = self._entries.get(id(vector))
        if known is None:
            parts = vector if isinstance(vector, tuple) else (vector,)
            known = self._entries[id(vector)] = vector, [x for part in parts for x in part.entries()]
        return known[1]

    def add_to_diagonal(self, i: int, block: Sequence[Sequence[Scalar]]) -> None:
        """Add numbers to the diagonal block of a joint."""
        square = self.model.bodies[i].multiplier * self.model.bodies[i].multiplier
        for k, row in zip(self.model.dofs(i), block, strict=True):
            for m, x in zip(self.model.dofs(i), row, strict=True):
                self._add(k, m, x, square)

    def add_diagonal(self, diagonal: Sequence[Scalar]) -> None:
        for k, x in enumerate(diagonal):
            self._add(k, k, x)

    def _add(self, k: int, m: int, x: Scalar, factor: float = 1.0) -> None:
        if not (isinstance(x, float) and x == 0.0):
            self._dots.put(k, m, (x,), (1.0,), factor)

    def matrix(self) -> list[list[Scalar]]:
        """The matrix as rows, or as one traced block; entries that were not set are zero."""
        rows: list[list[Scalar]] = self._dots.matrix()
        return rows
