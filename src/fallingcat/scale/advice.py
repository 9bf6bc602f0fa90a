"""How many states make a chunk: enough that a task costs little beside its work, few enough for the memory of a worker."""

from __future__ import annotations

import time
from dataclasses import dataclass

from fallingcat.scale.job import Work

TASK = 5e-3
"""Seconds that a task costs beyond its work: Dask's scheduling, opening files, a ledger. Measured: docs/scale.md."""
DISK = 5e8
"""Bytes a second to and from files, as a rule."""
SHARE = 0.02
"""The share of the time that may be spent on managing tasks."""
MOST = 1 << 26
"""Bytes of states and results in a chunk at most: a worker holds about three times as much."""
LEAST = 1024
TRIED, REPEATS = 512, 5
"""States that are timed, and how often: the quickest counts, as others may keep the machine busy."""


@dataclass(frozen=True)
class Advice:
    """A size, and what it means."""

    chunk: int
    bytes: int
    seconds: float
    """For one chunk, on one core of this machine: arithmetic, and what its files take as a rule."""

    @property
    def overhead(self) -> float:
        """The part of the time that goes to tasks."""
        return TASK / (TASK + self.seconds)

    def __str__(self) -> str:
        return (
            f"{self.chunk:,} states a chunk: {self.bytes / 1e6:.1f} MB, about {1e3 * self.seconds:.0f} ms each, "
            f"{100 * self.overhead:.1f} % of the time for tasks"
        )


def advise(work: Work, count: int, rows: int = 0, chunk: int | None = None) -> Advice:
    """A chunk size for a job over `count` states of which `rows` are stored together; or what a given one means."""
    try:
        states = work.read(0, min(TRIED, count))
    except (OSError, ValueError):
        states = work.blank(min(TRIED, count))  # the job will say what is wrong with this chunk, and do the others
    tried = len(next(iter(states.values())))
    results, _ = work.compute(states)  # compiles
    drawn = results is states  # nothing is read: the time is that of drawing
    size = sum(a.nbytes for a in (*(() if drawn else states.values()), *results.values())) / tried
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work.compute(work.read(0, tried) if drawn else states)
        times.append(time.perf_counter() - start)
    seconds = min(times) / tried + size / DISK
    if chunk is None:
        chunk = max(1, min(_chunk(seconds, size, rows), count))
    return Advice(chunk, int(size * chunk), seconds * chunk)


def _chunk(seconds: float, size: float, rows: int) -> int:
    """By time, within memory. Rows that are stored together are read together: whole groups of them, or whole parts of one."""
    most = max(LEAST, int(MOST / size))
    chunk = min(max(LEAST, rows, int(TASK / SHARE / seconds)), most)
    if rows == 0:
        return 1 << (chunk.bit_length() - 1)
    return chunk // rows * rows if chunk >= rows else -(-rows // -(-rows // chunk))
