"""Matrices over pairs of joints as tables of dot products, for robots with too many pairs to write each of them out.

In common coordinates an entry that joins joint i to a joint j which carries it is a dot product: a few numbers of i with
a few numbers of j. Listed by `scalar.dots`, these stay one loop in the compiled code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fallingcat.algorithms.dense import transpose
from fallingcat.algorithms.posed import is_shallow
from fallingcat.model.model import Model
from fallingcat.scalar import Dots, Scalar, dots, tensor


def has_many_pairs(model: Model, many: int) -> bool:
    """Is it a deep tree with more than `many` degrees of freedom, none of which follows another?"""
    return model.nv > many and not model.mimics and not is_shallow(model)


class PairTable:
    """Collects the entries of an nv x nv matrix."""

    def __init__(self, nv: int, terms: int) -> None:
        self.nv, self.terms = nv, terms
        self._left: list[Scalar] = []
        self._right: list[list[Scalar]] = [[1.0, *[0.0] * (terms - 1)]]  # for entries that are known already
        self._jobs: list[Dots] = []

    def columns(self, columns: Sequence[Sequence[Scalar]]) -> int:
        """Right factors, one per degree of freedom; says where they start. Short ones are filled up with zeros."""
        start = len(self._right)
        self._right += [[*column, *[0.0] * (self.terms - len(column))] for column in columns]
        return start

    def row(self, k: int, left: Sequence[Scalar], columns: int, dofs: Sequence[int]) -> None:
        """The entries (k, m), for m in `dofs`: `left` times the columns that start at `columns`."""
        for first, count in _runs(dofs):
            self._jobs.append(Dots(len(self._left), columns + first, count, k * self.nv + first, 1, len(left)))
        self._left += left

    def entries(self, rows: Sequence[Mapping[int, Scalar]], lower: bool = False) -> None:
        """Entries that are known, by row and column; or only those up to the diagonal."""
        for k, row in enumerate(rows):
            for m, x in row.items():
                if m <= k or not lower:
                    self._jobs.append(Dots(len(self._left), 0, 1, k * self.nv + m, 1, 1))
                    self._left.append(x)

    def matrix(self, symmetric: bool = False) -> Any:
        """The matrix; a symmetric one repeats every entry (k, m) at (m, k)."""
        side = self.nv if symmetric else 0
        return tensor(dots(self._left, transpose(self._right), self._jobs, self.nv * self.nv, side=side), (self.nv, self.nv))


def own_blocks(model: Model, blocks: Mapping[tuple[int, int], Sequence[Sequence[Scalar]]]) -> list[dict[int, Scalar]]:
    """Per row of the matrix, the entries of the blocks that join each joint to itself."""
    rows: list[dict[int, Scalar]] = [{} for _ in range(model.nv)]
    for i, _ in model.base_to_tip():
        for k, row in zip(model.dofs(i), blocks[i, i], strict=True):
            rows[k] = dict(zip(model.dofs(i), row, strict=True))
    return rows


def carrying_dofs(model: Model, i: int) -> list[int]:
    """The entries of nu that belong to joints which carry joint i."""
    return [k for j in model.path(i) if j != i for k in model.dofs(j)]


def carried_dofs(model: Model) -> list[list[int]]:
    """Per body, the entries of nu that belong to joints it carries."""
    carried: list[list[int]] = [[] for _ in model.bodies]
    for i, _ in model.base_to_tip():
        for j in model.path(i):
            if j != i:
                carried[j] += model.dofs(i)
    return carried


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """(first, count) of the stretches of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for k in sorted(numbers):
        if runs and k == sum(runs[-1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((k, 1))
    return runs
