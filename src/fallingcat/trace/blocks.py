"""Operations on blocks: dense products that stay loops instead of being written out.

A block is a matrix whose entries lie side by side. `Pack` makes one from values, `Product` multiplies two, `Entry` takes
one number out. A product sums over the inner index in its given order, one fused multiply-add after the other, so that
every back end rounds alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


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
        """Is the operation valid for blocks of these sizes? A pack takes numbers, and need only have some."""
        return self.size > 0

    def evaluate(self, *entries: Any) -> list[Any]:
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

    def evaluate(self, block: Sequence[Any]) -> Any:
        return block[self.index]


MIN_INNER = 3
MIN_ENTRIES = 32
"""Products smaller than this are written out: a loop would cost more than it saves."""


WASTE = 1.25
"""Largest ratio of the products that a loop computes, those with zeros included, to the products that are needed."""
PLAIN = (0.0, 1.0, -1.0)
"""Factors that cost no multiplication."""
BAND = 8
"""Rows per band of a symmetric product."""

Ids = Sequence[Sequence[int]]
BlockOp = Pack | Product | Entry


def product(graph: Any, A: Ids, B: Ids, negate: bool, symmetric: bool) -> list[list[int]]:
    """The node ids of A B (or minus that).

    Zeros cost nothing and ones cost an addition, in either factor: rows of A with 0, 1 and -1 at the same places, and such
    columns of B, share one product over the other places. Of a product that is known to be symmetric only the upper triangle
    is computed, in bands of rows.
    """
    if symmetric:
        return _symmetric(graph, A, B, negate)
    result = [[graph.constant(0.0)] * len(B[0]) for _ in A]
    left = _Left(graph, A, B)
    for places, members in _alike(graph, list(zip(*(B[k] for k in left.width), strict=True))).items():
        live = tuple(left.width[k] for k in places)
        for inner, rows in _row_groups(graph, A, live, len(members)).items():
            for i, j, entry in left.times(rows, inner, members, negate):
                result[i][j] = entry
            for i in rows:
                for j in members:
                    rest = [(A[i][k], B[k][j]) for k in range(len(B)) if k not in inner]
                    result[i][j] = _plus(graph, result[i][j], rest, negate)
    return result


def _alike(graph: Any, vectors: Ids) -> dict[tuple[int, ...], list[int]]:
    """The numbers of the vectors, grouped by the places where they hold other entries than 0, 1 and -1."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, vector in enumerate(vectors):
        live = tuple(k for k, x in enumerate(vector) if graph.constants[x] not in PLAIN)
        groups.setdefault(live, []).append(number)
    return groups


def _row_groups(graph: Any, A: Ids, live: tuple[int, ...], columns: int) -> dict[tuple[int, ...], list[int]]:
    """The rows of A that are multiplied together, by the inner indices of their product; () for rows that are written out.

    Groups that are too small for a loop of their own are joined in one loop that includes their zeros, if these are few.
    """
    small: list[tuple[tuple[int, ...], list[int]]] = []
    groups: dict[tuple[int, ...], list[int]] = {}
    for places, rows in _alike(graph, [[row[k] for k in live] for row in A]).items():
        inner = tuple(live[k] for k in places)
        if len(inner) >= MIN_INNER and len(rows) * columns < MIN_ENTRIES:
            small.append((inner, rows))
        else:
            key = inner if len(inner) >= MIN_INNER else ()
            groups[key] = sorted([*groups.get(key, []), *rows])
    joined = sorted(i for _, rows in small for i in rows)
    union = tuple(sorted({k for inner, _ in small for k in inner}))
    if joined:
        needed = sum(len(inner) * len(rows) for inner, rows in small)
        few_zeros = len(union) * len(joined) <= WASTE * needed
        key = union if few_zeros and len(joined) * columns >= MIN_ENTRIES else ()
        groups[key] = sorted([*groups.get(key, []), *joined])
    return groups


Found = tuple[int, int, int]
"""(row, column, node) of an entry of a product."""


class _Left:
    """The left factor: rows and columns with other entries than 0, 1 and -1, packed once for products of neighbouring rows."""

    def __init__(self, graph: Any, A: Ids, B: Ids) -> None:
        self.graph, self.A, self.B = graph, A, B
        self.rows = sorted(i for live, rows in _alike(graph, A).items() if live for i in rows)
        self.width = sorted({k for live in _alike(graph, A) for k in live}) or [0]

    def times(self, rows: list[int], inner: tuple[int, ...], columns: list[int], negate: bool) -> list[Found]:
        """The entries of one product of blocks: rows of A times columns of B, over the inner indices."""
        if not inner:
            return []
        first = self.rows.index(rows[0])
        packed = self.rows
        if self.rows[first : first + len(rows)] != rows:
            first, packed = 0, rows
        left = self.graph.raw(Pack(len(packed), len(self.width)), *(self.A[i][k] for i in packed for k in self.width))
        right = self.graph.raw(Pack(len(inner), len(columns)), *(self.B[k][j] for k in inner for j in columns))
        used = tuple(self.width.index(k) for k in inner)
        op = Product(len(rows), len(columns), used, len(self.width), len(columns), first, negate=negate)
        block = self.graph.raw(op, left, right)
        places = [(i, j) for i in rows for j in columns]
        return [(i, j, self.graph.raw(Entry(at), block)) for at, (i, j) in enumerate(places)]


def _plus(graph: Any, total: int, pairs: list[tuple[int, int]], negate: bool) -> int:
    """The node of a number plus (or minus) products of pairs, written out."""
    constants = graph.constants
    for a, b in pairs:
        if constants[a] != 0.0 and constants[b] != 0.0:
            total = graph.apply("sub" if negate else "add", total, graph.apply("mul", a, b))
    return total


def _symmetric(graph: Any, A: Ids, B: Ids, negate: bool) -> list[list[int]]:
    """The node ids of a symmetric product: the upper triangle is computed and mirrored."""
    n, inner = len(A), tuple(range(len(B)))
    upper: dict[tuple[int, int], int] = {}
    if len(inner) < MIN_INNER or n * (n + 1) // 2 < MIN_ENTRIES:
        zero = graph.constant(0.0)
        for i in range(n):
            for j in range(i, n):
                upper[i, j] = _plus(graph, zero, [(A[i][k], B[k][j]) for k in inner], negate)
    else:
        left = graph.raw(Pack(n, len(inner)), *(a for row in A for a in row))
        right = graph.raw(Pack(len(inner), n), *(b for row in B for b in row))
        for first, count in _bands(n):
            op = Product(count, n - first, inner, len(inner), n, first, first, negate)
            block = graph.raw(op, left, right)
            for i in range(count):
                for j in range(i, op.columns):
                    upper[first + i, first + j] = graph.raw(Entry(i * op.columns + j), block)
    return [[upper[min(i, j), max(i, j)] for j in range(n)] for i in range(n)]


def _bands(rows: int) -> list[tuple[int, int]]:
    """(first row, rows) of every band."""
    return [(first, min(BAND, rows - first)) for first in range(0, rows, BAND)]
