"""Matrices over pairs of joints: an entry is the dot product of something of one joint with something of the other.

An algorithm says which; whether the products are written out or become a table is the tracer's choice (`tensors.MatrixOfDots`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion
from fallingcat.tensors import MatrixOfDots

Vectors = Sequence[Motion | Force] | Sequence[tuple[Motion | Force, ...]]
"""One per axis of a joint; or several, one below the other."""


class Pairs:
    """An nv x nv matrix, block by block, each of which is set once; a joint that follows another adds to it.

    Of a symmetric one, block (i, j) stands for (j, i) too.
    """

    def __init__(self, model: Model, symmetric: bool = False) -> None:
        self.model = model
        self._dots = MatrixOfDots(model.nv, model.nv, symmetric)
        self._joints = [(tuple(model.dofs(i)), body.multiplier) for i, body in enumerate(model.bodies)]
        self._entries: dict[int, tuple[Any, list[Scalar]]] = {}
        """Of every vector, by identity: one that is given again has the same list."""

    def __setitem__(self, joints: tuple[int, int], factors: tuple[Vectors, Vectors]) -> None:
        """Block (i, j) from the vectors of joint i, for its rows, and those of joint j: their dot products."""
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
        """In the lower triangle; of the block of a joint with itself, that half."""
        if k > m:
            self._dots.put(k, m, a, b, factor)
        elif k == m:  # two joints of one velocity: (i, j) and (j, i) meet
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
        """As rows, or as one traced block; zero where nothing was said."""
        rows: list[list[Scalar]] = self._dots.matrix()
        return rows
