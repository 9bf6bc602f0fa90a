"""Matrices and tensors of dot products, by index: an algorithm says which pairs and which triples it needs.

    left[pair] = vectors[x] matrices[t]                         for every pair (x, t)                   `left_vectors`
    tensor[place] = sum of left[pair][part:] . right[k]         for every triple that names the place   `placed_dots`
Runs of neighbours are found here, so that in compiled code both stages are one loop over a table (`scalar.dots`), however large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fallingcat import scalar
from fallingcat.scalar import Dots, Scalar

Place = tuple[int, int, int]

PLAIN = (0.0, 1.0, -1.0)
"""Factors that cost no multiplication."""


class Term(NamedTuple):
    """One dot product, times a factor, of the entry (row, column) of a matrix."""

    row: int
    column: int
    left: Sequence[Scalar]
    right: Sequence[Scalar]
    factor: float = 1.0


class MatrixOfDots:
    """A matrix whose entries are sums of dot products, which are put in one after the other; zero elsewhere.

    Traced, each product is written out where it is put in, next to the operations of its factors; if there are too many, they
    become a table instead, which is one loop in the compiled code. Of a symmetric matrix only the lower triangle is put in.
    """

    def __init__(self, rows: int, columns: int, symmetric: bool = False) -> None:
        self.rows, self.columns, self.symmetric = rows, columns, symmetric
        self._terms: list[Term] = []
        self._written: dict[tuple[int, int], Scalar] = {}
        self._products = 0
        self._kind = scalar.PLAIN
        """The kind of the scalars, once one is found that can become a table."""
        self._listed = False

    def put(self, row: int, column: int, left: Sequence[Scalar], right: Sequence[Scalar], factor: float = 1.0) -> None:
        """Add a dot product, times a factor, to an entry."""
        self._terms.append(Term(row, column, left, right, factor))
        if not self._listed:
            product = dot_of_vectors(left, right)
            self._written[row, column] = self._written.get((row, column), 0.0) + factor * product
            if type(product) is not float:
                self._count(left, right)

    def _count(self, left: Sequence[Scalar], right: Sequence[Scalar]) -> None:
        kind = scalar.functions(*left, *right)
        if kind.worth_a_table is not None:
            self._kind = kind
            self._products += sum(not (_is_plain(a) or _is_plain(b)) for a, b in zip(left, right, strict=True))
            self._listed = kind.worth_a_table(self._products)

    def matrix(self) -> Any:
        """The matrix as rows, or as one traced block."""
        if self._listed and self._kind.table is not None:
            return self._kind.table(self._terms, self.rows, self.columns, self.symmetric)
        get, rows, columns = self._written.get, range(self.rows), range(self.columns)
        if self.symmetric:
            return [[get((max(i, j), min(i, j)), 0.0) for j in columns] for i in rows]
        return [[get((i, j), 0.0) for j in columns] for i in rows]


def _is_plain(x: Scalar) -> bool:
    return isinstance(x, float) and x in PLAIN


def dot_of_vectors(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """The dot product of stacked twists and wrenches, with separate sums of linear and angular parts, which are shared."""
    if len(a) % 6:
        return scalar.dot(a, b)
    total: Scalar = 0.0
    for k in range(0, len(a), 6):
        total = total + (scalar.dot(a[k : k + 3], b[k : k + 3]) + scalar.dot(a[k + 3 : k + 6], b[k + 3 : k + 6]))
    return total


class Triple(NamedTuple):
    """One term of one entry."""

    pair: int
    """The number of the pair."""
    part: int
    """Where the vector of the dot product starts in the left vector of this pair."""
    right: int
    place: Place


def tensor_of_dots(
    vectors: Sequence[Sequence[Scalar]], matrices: Sequence[scalar.Matrix], pairs: Sequence[tuple[int, int]],
    right: Sequence[Sequence[Scalar]], triples: Sequence[Triple], size: int, extra: Sequence[tuple[Place, Scalar]] = (),
) -> Any:  # fmt: skip
    """A tensor size x size x size; `extra` are further terms. Matrices have one shape, and all are named by pairs."""
    extra = [(place, x) for place, x in extra if not (isinstance(x, float) and x == 0.0)]
    if not vectors:
        return [[[0.0] * size for _ in range(size)] for _ in range(size)]
    inner, width, length = len(vectors[0]), len(matrices[0][0]), len(right[0])
    if extra:  # a pair that is the unit vector, times columns (x, 0, 0, ...)
        vectors = [*vectors, _unit(inner)]
        matrices = [*matrices, [_unit(width), *[[0.0] * width] * (inner - 1)]]
        triples = [*triples, *(Triple(len(pairs), 0, len(right) + n, place) for n, (place, _) in enumerate(extra))]
        pairs = [*pairs, (len(vectors) - 1, len(matrices) - 1)]
        right = [*right, *([x, *[0.0] * (length - 1)] for _, x in extra)]
    return placed_dots(left_vectors(vectors, matrices, pairs), width, right, triples, size)


def left_vectors(
    vectors: Sequence[Sequence[Scalar]], matrices: Sequence[scalar.Matrix], pairs: Sequence[tuple[int, int]]
) -> Sequence[Scalar]:
    """The vector times the matrix of every pair, one after the other in a flat list."""
    inner, width = len(vectors[0]), len(matrices[0][0])
    jobs = [Dots(inner * x, width * t, width, width * row, 1) for row, (x, t) in enumerate(pairs)]
    table = [[x for matrix in matrices for x in matrix[r]] for r in range(inner)]
    return scalar.dots([x for vector in vectors for x in vector], table, jobs, width * len(pairs))


def placed_dots(
    left: Sequence[Scalar], width: int, right: Sequence[Sequence[Scalar]], triples: Sequence[Triple], size: int,
    extra: Sequence[tuple[Place, Scalar]] = (),
) -> Any:  # fmt: skip
    """The tensor, from left vectors of a width that lie one after the other; `extra`, beside a plain list, are further terms."""
    if not right:
        return [[[0.0] * size for _ in range(size)] for _ in range(size)]
    if extra:  # once more a unit vector, times columns (x, 0, 0, ...)
        triples = [*triples, *(Triple(len(left) // width, 0, len(right) + n, place) for n, (place, _) in enumerate(extra))]
        left = [*left, *_unit(width)]
        right = [*right, *([x, *[0.0] * (len(right[0]) - 1)] for _, x in extra)]
    places = [(i * size + j) * size + k for _, _, _, (i, j, k) in triples]
    meet = len(set(places)) < len(places)
    runs = list(_runs(triples, places, width, size))
    flat = scalar.dots(left, list(zip(*right, strict=True)), runs, size**3, size * size, meet)
    return scalar.tensor(flat, (size, size, size))


def _runs(triples: Sequence[Triple], places: Sequence[int], width: int, size: int) -> Iterator[Dots]:
    """Neighbouring triples of one left vector with neighbours on the right, along the last index or the one before."""
    run: Dots | None = None
    for (pair, part, right, _), place in zip(triples, places, strict=True):
        left = width * pair + part
        if run is not None and (left, right) == (run.left, run.right + run.columns):
            step = place - run.place if run.columns == 1 else run.step
            if step in (1, size) and place == run.place + run.columns * step:
                run = run._replace(columns=run.columns + 1, step=step)
                continue
        if run is not None:
            yield run
        run = Dots(left, right, 1, place, 1)
    if run is not None:
        yield run


def _unit(size: int) -> list[Scalar]:
    return [1.0] + [0.0] * (size - 1)
