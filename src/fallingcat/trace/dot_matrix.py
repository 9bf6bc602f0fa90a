"""Matrices of dot products: small ones are written out, large ones become one table of jobs (`dots`).

Written out, an entry is straight-line code in which zeros and ones have folded away; but code that does not fit the caches runs
at half the speed and takes long to compile. A table is data, and its code is one loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fallingcat.scalar import Dots
from fallingcat.trace.blocks import Pack
from fallingcat.trace.dots import dot_table

MANY = 4096
"""Products from which on a matrix becomes a table."""

Ids = tuple[int, ...]


class PlacedDot(NamedTuple):
    """One entry of a matrix: the dot product of two vectors of nodes."""

    row: int
    column: int
    left: Ids
    right: Ids


def worth_a_table(products: int) -> bool:
    """Are there too many products to write them out? Products by 0, 1 and -1, which cost nothing, are not counted."""
    return products > MANY


def table_of_dots(graph: Any, entries: Sequence[PlacedDot], rows: int, columns: int, symmetric: bool) -> int:
    """The node of a table that holds the matrix; of a symmetric one, `entries` are in its lower triangle.

    Equal vectors are stored once; right vectors are ordered by column, those of equal length side by side, so that
    neighbouring entries of a row become one job.
    """
    entries = _without_common_zeros(graph, entries)
    inner = max(len(entry.left) for entry in entries)
    right = {vector: k for k, vector in enumerate(dict.fromkeys(e.right for e in sorted(entries, key=_by_length)))}
    left: dict[Ids, int] = {}
    numbers: list[int] = []
    for vector in dict.fromkeys(entry.left for entry in entries):
        left[vector] = len(numbers)
        numbers += vector
    zero = graph.constant(0.0)
    B = [[vector[k] if k < len(vector) else zero for vector in right] for k in range(inner)]
    A = graph.raw(Pack(1, len(numbers)), *numbers)
    placed = sorted((e.row, left[e.left], len(e.left), right[e.right], e.column) for e in entries)
    jobs = list(_runs(placed, columns))
    return dot_table(graph, A, B, jobs, rows * columns, 0, False, columns if symmetric else 0)


def _by_length(entry: PlacedDot) -> tuple[int, int]:
    return len(entry.right), entry.column


def _without_common_zeros(graph: Any, entries: Sequence[PlacedDot]) -> Sequence[PlacedDot]:
    """The entries without the positions at which all left, or all right, vectors of a length are zero."""
    constants = graph.constants
    kept: dict[int, list[int]] = {}
    for length in {len(entry.left) for entry in entries}:
        of = [entry for entry in entries if len(entry.left) == length]
        kept[length] = [
            k
            for k in range(length)
            if any(constants[e.left[k]] != 0.0 for e in of) and any(constants[e.right[k]] != 0.0 for e in of)
        ] or [0]
    if all(len(at) == length for length, at in kept.items()):
        return entries
    shorter = [(e, kept[len(e.left)]) for e in entries]
    return [PlacedDot(e.row, e.column, tuple(e.left[k] for k in at), tuple(e.right[k] for k in at)) for e, at in shorter]


def _runs(placed: Sequence[tuple[int, int, int, int, int]], columns: int) -> Iterator[Dots]:
    """The jobs: runs of neighbouring entries in a row, with one left vector and neighbouring right vectors."""
    run: Dots | None = None
    for row, left, terms, right, column in placed:
        place = row * columns + column
        if run is not None and run.left == left and (right, place) == (run.right + run.columns, run.place + run.columns):
            run = run._replace(columns=run.columns + 1)
            continue
        if run is not None:
            yield run
        run = Dots(left, right, 1, place, 1, terms)
    if run is not None:
        yield run
