"""Listed dot products: an operation on blocks whose loop runs over a table.

A tensor that is filled along the paths of a tree has many short dot products as entries. Written out, their code would grow
with the cube of the robot's size; as a table of jobs (`scalar.Dots`) they are data, and the code is one loop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fallingcat.scalar import Dots
from fallingcat.trace.blocks import Pack


@dataclass(frozen=True)
class DotTable:
    """out[place + c step] = A[left:left + inner] . B[:, right + c] for every job, zero elsewhere; a job may have fewer terms.

    `size` is the length of out, `inner` the number of rows of B.
    """

    size: int
    inner: int
    right_width: int
    """Columns of B."""
    jobs: tuple[Dots, ...]
    """The jobs, ordered by the slab that they write to, then by decreasing number of terms."""
    slab: int
    """Length of the stretches of out, each of which a job stays within."""
    add: bool = False
    """Do jobs that write to the same place add up?"""
    side: int = 0
    """The side of a symmetric matrix: jobs go along rows, and what they write at (i, j) is also written at (j, i). 0 if none."""
    output: int | None = None
    """The number of the output that this block is as a whole, or None."""
    is_block = True
    takes_blocks = (True, True)

    @property
    def name(self) -> str:
        whole = "" if self.output is None else f" (output {self.output})"
        how = f"{'adding, ' if self.add else ''}{'mirrored, ' if self.side else ''}table {self._digest}"
        return f"{len(self.jobs)} rows of dot products of {self.inner} into {self.size}{whole}, {how},"

    @property
    def _digest(self) -> str:
        """A digest of the jobs, for the printed name: programs that differ must have different texts."""
        return hashlib.sha256(repr((self.jobs, self.right_width, self.slab)).encode()).hexdigest()[:16]

    def fits(self, left: int, right: int) -> bool:
        """Does every job read within factors of these sizes, and write within the result?"""
        return self.inner * self.right_width == right and all(
            0 <= job.left <= left - self.terms(job)
            and 0 <= job.right <= self.right_width - job.columns
            and job.place + min(0, (job.columns - 1) * job.step) >= 0
            and job.place + max(0, (job.columns - 1) * job.step) < self.size
            for job in self.jobs
        )

    @property
    def flops(self) -> int:
        return sum(2 * self.terms(job) * job.columns for job in self.jobs)

    def terms(self, job: Dots) -> int:
        """Number of products in each sum of a job."""
        return job.terms or self.inner

    def column_of(self, place: int) -> int | None:
        """The column of B in the dot product at a place; None if no job writes there."""
        columns = (job.right + c for job in self.jobs for c in range(job.columns) if job.place + c * job.step == place)
        return next(columns, None)

    def with_entry(self, place: int) -> DotTable:
        """The table with one job more: A[0] times the first number of a new column of B."""
        jobs = [*self.jobs, Dots(0, self.right_width, 1, place, 1, 1)]
        return replace(self, jobs=in_order(jobs, self.slab, self.inner), right_width=self.right_width + 1)

    @property
    def has_gaps(self) -> bool:
        """Are there places that no job writes?"""
        written = sum(job.columns for job in self.jobs)
        if self.side:  # every column writes two places, except those on the diagonal, which are the multiples of side + 1
            turn = self.side + 1
            written += sum(job.columns - (job.place + job.columns - 1) // turn + (job.place - 1) // turn for job in self.jobs)
        return self.add or written < self.size


def dot_table(
    graph: Any, A: int, B: Sequence[Sequence[int]], jobs: Sequence[Dots], size: int, slab: int, add: bool, side: int = 0
) -> int:
    """The node of listed dot products; A is the node of a block, B holds node ids.

    Jobs are cut at columns of B that are zero, so that no job only writes zeros.
    """
    width = len(B[0])
    zero = [all(graph.constants[row[k]] == 0.0 for row in B) for k in range(width)]
    kept = [part for job in jobs for part in _without_zeros(job, zero)]
    slab = slab or size
    right = graph.raw(Pack(len(B), width), *(x for row in B for x in row))
    return int(graph.raw(DotTable(size, len(B), width, in_order(kept, slab, len(B)), slab, add, side), A, right))


def in_order(jobs: Sequence[Dots], slab: int, inner: int) -> tuple[Dots, ...]:
    """The jobs ordered by slab, and in each slab with the longest sums first."""
    return tuple(sorted(jobs, key=lambda job: (job.place // slab, -(job.terms or inner))))


def _without_zeros(job: Dots, zero: list[bool]) -> list[Dots]:
    """The parts of a job between the columns that are zero."""
    if not any(zero[job.right : job.right + job.columns]):
        return [job]
    parts: list[Dots] = []
    start = None
    for c in range(job.columns + 1):
        live = c < job.columns and not zero[job.right + c]
        if live and start is None:
            start = c
        elif not live and start is not None:
            place = job.place + start * job.step
            parts.append(job._replace(right=job.right + start, columns=c - start, place=place))
            start = None
    return parts
