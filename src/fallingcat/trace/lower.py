"""Lowers products of blocks and tables of dot products to the loop language.

The left factor is "A", the right factor "B", and the result "C", unless a product has other destinations. Sums run in the order
of the inner index, one fused multiply-add after the other. One tile of sums is computed at a time, in locals, so that a compiler
can keep it in registers and vectorize over neighbouring columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fallingcat.trace.blocks import Product
from fallingcat.trace.dots import DotTable
from fallingcat.trace.loops import (
    Apply,
    For,
    Index,
    Let,
    Load,
    Local,
    Lookup,
    Loops,
    Number,
    Real,
    Set,
    Statement,
    Store,
    loop,
    variable,
    whole,
)  # fmt: skip

TILE_ROWS, TILE_COLUMNS = 2, 8
"""Rows and columns of a tile of sums that are computed together, in a product."""
TILE_DOTS = 4
"""Columns of a tile of sums that are computed together, in a job of a table."""


Factor = Callable[[int, Index], Real]
"""A factor of a product, as a function: (row or column within a tile, inner index) -> entry."""


@dataclass(frozen=True)
class Part:
    """A run of columns of a product that are side by side in a destination array."""

    array: str
    first: int
    columns: int
    rows: tuple[int, ...]
    """Index in the array of the first column of the run, for every row."""


def product_loops(op: Product, parts: Sequence[Part] = ()) -> Loops:
    """C = A[rows, inner] B[:, columns]; `parts` are the destinations if the result does not go to C."""
    parts = parts or [Part("C", 0, op.columns, tuple(i * op.columns for i in range(op.rows)))]
    tables: dict[str, tuple[tuple[int, ...], ...]] = {}
    body: list[Statement] = []
    if not _steps(op.inner):
        tables["inner"] = tuple((k,) for k in op.inner)
    for number, part in enumerate(parts):
        if not _steps(part.rows):
            tables[f"rows{number}"] = tuple((place,) for place in part.rows)
        body += _part(op, part, f"rows{number}")
    return Loops(tuple(body), tables)


def _part(op: Product, part: Part, table: str) -> list[Statement]:
    """The loops over the tiles of a part, row of tiles by row of tiles."""
    body: list[Statement] = []
    for i, high in _tiles("i", op.rows, TILE_ROWS):
        row: list[Statement] = []
        for j, wide in _tiles("j", part.columns, TILE_COLUMNS):
            row += _over(j, _tile(op, part, table, i, j, high, wide))
        body += _over(i, row)
    return body


@dataclass(frozen=True)
class _Tiles:
    """`count` consecutive tiles of one size along one dimension."""

    name: str
    count: int
    size: int
    first: int

    @property
    def index(self) -> Index:
        return self.first + (variable(self.name) * self.size if self.count > 1 else whole(0))


def _tiles(name: str, length: int, size: int) -> list[tuple[_Tiles, int]]:
    """The tiles along a dimension and their size: those of full size, then one for the remainder, if any."""
    full, rest = divmod(length, size)
    found = [(_Tiles(name, full, size, 0), size)] if full else []
    return [*found, (_Tiles(name, 1, rest, full * size), rest)] if rest else found


def _over(tiles: _Tiles, body: Sequence[Statement]) -> list[Statement]:
    """A loop over the tiles; each tile has locals of its own."""
    return loop(tiles.name, tiles.count, body)


def _tile(op: Product, part: Part, table: str, i: _Tiles, j: _Tiles, high: int, wide: int) -> list[Statement]:
    """Compute and store one tile: the sums of `high` rows and `wide` columns."""
    sums = [(r, c, f"s{r}_{c}") for r in range(high) for c in range(wide)]
    column = op.first_column + part.first + j.index

    def left(r: int, inner: Index) -> Real:
        a = Load("A", (op.first_row + r + i.index) * op.left_width + inner)
        return Apply("neg", (a,)) if op.negate else a

    def right(c: int, k: Index) -> Real:
        return Load("B", k * op.right_width + column + c)

    body: list[Statement] = [Let(name, Apply("mul", (left(r, whole(op.inner[0])), right(c, whole(0))))) for r, c, name in sums]
    body += _each_term(op, left, right, sums, high)
    for r in range(high):
        place: Index = whole(part.rows[0])
        if len(part.rows) > 1 and _steps(part.rows):
            place = part.rows[0] + (i.index + r) * (part.rows[1] - part.rows[0])
        elif not _steps(part.rows):
            body.append(Lookup(f"row{r}", table, i.index + r, 0))
            place = variable(f"row{r}")
        body += [Store(part.array, place + j.index + c, Local(name)) for row, c, name in sums if row == r]
    return body


def _each_term(op: Product, left: Factor, right: Factor, sums: list[tuple[int, int, str]], high: int) -> list[Statement]:
    """Add all terms but the first to the sums."""
    k = variable("k")
    body: list[Statement] = []
    inner = k * _step(op.inner) + op.inner[0]
    if not _steps(op.inner):
        body.append(Lookup("column", "inner", k, 0))
        inner = variable("column")
    body += [Let(f"a{r}", left(r, inner)) for r in range(high)]
    body += [Set(name, Apply("fma", (Local(f"a{r}"), right(c, k), Local(name)))) for r, c, name in sums]
    return loop("k", len(op.inner), body, start=1)


def _steps(values: Sequence[int]) -> bool:
    """Are they an arithmetic progression?"""
    step = _step(values)
    return all(b - a == step for a, b in itertools.pairwise(values))


def _step(values: Sequence[int]) -> int:
    return values[1] - values[0] if len(values) > 1 else 1


# ---------------------------------------------------------------------------------------------------------------------
# Tables


def table_loops(op: DotTable) -> Loops:
    """C[place + c step] = A[left:left + terms] . B[:, right + c] for every job, zero elsewhere."""
    body: list[Statement] = []
    if op.has_gaps:
        body += loop("at", op.size, [Store("C", variable("at"), Number(0.0))])
    side = op.side or 1
    jobs = tuple(
        (job.left, job.right, job.columns, job.place, job.step, op.terms(job), job.place % side * side + job.place // side)
        for job in op.jobs
    )
    names = ("left", "right", "columns", "place", "step", "terms", "mirror")
    known: dict[str, Index] = {}
    lookups: list[Statement] = []
    for column, name in enumerate(names):
        values = {job[column] for job in jobs}
        if name == "mirror" and not op.side:
            continue
        if len(values) == 1:
            known[name] = whole(values.pop())
        else:
            known[name] = variable(name)
            lookups.append(Lookup(name, "jobs", variable("job"), column))
    columns = {job[2] for job in jobs}
    body += loop("job", len(jobs), [*lookups, *_columns(op, known, columns.pop() if len(columns) == 1 else None)])
    return Loops(tuple(body), {"jobs": jobs})


def _columns(op: DotTable, job: Mapping[str, Index], columns: int | None) -> list[Statement]:
    """The columns of a job: in tiles if their number is known here, else one by one."""
    if columns is None:
        c = variable("c")
        return [For("c", whole(0), job["columns"], tuple(_dots(op, job, c, 1)))]
    body: list[Statement] = []
    for tiles, wide in _tiles("c", columns, TILE_DOTS):
        body += _over(tiles, _dots(op, job, tiles.index, wide))
    return body


def _dots(op: DotTable, job: Mapping[str, Index], first: Index, wide: int) -> list[Statement]:
    """Compute and store `wide` neighbouring sums of a job."""
    m = variable("m")
    sums = [(c, f"s{c}") for c in range(wide)]

    def term(m: Index, c: int) -> tuple[Real, Real]:
        return Load("A", job["left"] + m), Load("B", m * op.right_width + job["right"] + first + c)

    body: list[Statement] = [Let(name, Apply("mul", term(whole(0), c))) for c, name in sums]
    rest = [Set(name, Apply("fma", (*term(m, c), Local(name)))) for c, name in sums]
    body.append(For("m", whole(1), job["terms"], tuple(rest)))
    for c, name in sums:
        at = job["place"] + (first + c) * job["step"]
        value: Real = Apply("add", (Load("C", at), Local(name))) if op.add else Local(name)
        body.append(Store("C", at, value))
        if op.side:
            body.append(Store("C", job["mirror"] + (first + c) * op.side, Load("C", at)))
    return body
