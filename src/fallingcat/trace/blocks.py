"""Operations on blocks: dense products that stay loops instead of being written out.

A block is a matrix whose entries lie side by side. `Pack` makes one from values, `Product` multiplies two, `Entry` takes
one number out. A product sums over the inner index in its given order, one fused multiply-add after the other, so that
every back end rounds alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fallingcat.trace.ops import fused


@dataclass(frozen=True)
class Pack:
    """A block from its entries, row by row."""

    rows: int
    columns: int
    is_block = True
    flops = 0

    @property
    def name(self) -> str:
        return f"pack {self.rows}x{self.columns}"

    @property
    def takes_blocks(self) -> tuple[bool, ...]:
        return (False,) * self.size

    @property
    def size(self) -> int:
        return self.rows * self.columns

    def fits(self) -> bool:
        """Can it read what it says of blocks of these sizes?"""
        return self.size > 0

    def evaluate(self, *entries: float) -> list[float]:
        return list(entries)


@dataclass(frozen=True)
class Product:
    """A[rows, inner] B[:, columns], or minus that, for a range of rows of A and a range of columns of B."""

    rows: int
    columns: int
    inner: tuple[int, ...]
    """The columns of A that are used; as many as B has rows."""
    left_width: int
    """Columns of A."""
    right_width: int
    """Columns of B."""
    first_row: int = 0
    first_column: int = 0
    negate: bool = False
    is_block = True
    takes_blocks = (True, True)

    @property
    def name(self) -> str:
        sign = "-" if self.negate else ""
        where = f" from ({self.first_row}, {self.first_column})" if self.first_row or self.first_column else ""
        return f"{sign}product {self.rows}x{len(self.inner)}x{self.columns}{where} over columns {list(self.inner)}"

    @property
    def size(self) -> int:
        return self.rows * self.columns

    def fits(self, left: int, right: int) -> bool:
        rows, columns = self.first_row + self.rows, self.first_column + self.columns
        inside = columns <= self.right_width and all(0 <= k < self.left_width for k in self.inner)
        return inside and rows * self.left_width <= left and len(self.inner) * self.right_width == right

    @property
    def flops(self) -> int:
        return 2 * self.rows * len(self.inner) * self.columns

    def evaluate(self, A: Sequence[float], B: Sequence[float]) -> list[float]:
        result = []
        for i in range(self.first_row, self.first_row + self.rows):
            for j in range(self.first_column, self.first_column + self.columns):
                total = 0.0
                for k, inner in enumerate(self.inner):
                    a, b = A[i * self.left_width + inner], B[k * self.right_width + j]
                    a = -a if self.negate else a
                    total = a * b if k == 0 else fused(a, b, total)
                result.append(total)
        return result


@dataclass(frozen=True)
class Entry:
    """One number of a block."""

    index: int
    is_block = False
    flops = 0
    size = 1
    takes_blocks = (True,)

    def fits(self, block: int) -> bool:
        return 0 <= self.index < block

    @property
    def name(self) -> str:
        return f"entry {self.index} of"

    def evaluate(self, block: Sequence[float]) -> float:
        return block[self.index]


MIN_INNER = 3
MIN_ENTRIES = 32
"""Products smaller than this are written out: a loop would cost more than it saves."""


def _written_out(graph: Any, pairs: list[tuple[int, int]], negate: bool) -> int:
    total = graph.apply("mul", *pairs[0])
    for a, b in pairs[1:]:
        total = graph.apply("add", total, graph.apply("mul", a, b))
    return int(graph.apply("neg", total) if negate else total)


BAND = 8
"""Rows of a band of a symmetric product."""

Ids = Sequence[Sequence[int]]
BlockOp = Pack | Product | Entry


def product(graph: Any, A: Ids, B: Ids, negate: bool, symmetric: bool) -> list[list[int]]:
    """The node ids of A B (or minus that).

    Columns of B with the same zeros share one product over the rows where they are not zero. Of a product that is
    known to be symmetric only the upper triangle is computed, in bands of rows.
    """
    constants = graph.constants
    rows, width, columns = len(A), len(A[0]), len(B[0])
    result = [[graph.constant(0.0)] * columns for _ in range(rows)]
    groups: dict[tuple[int, ...], list[int]] = {}
    for j in range(columns):
        inner = tuple(k for k in range(width) if symmetric or constants[B[k][j]] != 0.0)
        if inner:
            groups.setdefault(inner, []).append(j)
    for inner, members in groups.items():
        entries = rows * (rows + 1) // 2 if symmetric else rows * len(members)
        if len(inner) < MIN_INNER or entries < MIN_ENTRIES:
            for i in range(rows):
                for j in members:
                    result[i][j] = _written_out(graph, [(A[i][k], B[k][j]) for k in inner], negate)
            continue
        left = graph.raw(Pack(rows, width), *(a for row in A for a in row))
        right = graph.raw(Pack(len(inner), len(members)), *(B[k][j] for k in inner for j in members))
        for first, count in _bands(rows) if symmetric else [(0, rows)]:
            start = first if symmetric else 0
            op = Product(count, len(members) - start, inner, width, len(members), first, start, negate)
            block = graph.raw(op, left, right)
            for i in range(count):
                for position, j in enumerate(members[start:]):
                    result[first + i][j] = graph.raw(Entry(i * op.columns + position), block)
    if symmetric:
        for i in range(rows):
            for j in range(i):
                result[i][j] = result[j][i]
    return result


def _bands(rows: int) -> list[tuple[int, int]]:
    """(first, count) of bands of rows."""
    return [(first, min(BAND, rows - first)) for first in range(0, rows, BAND)]
