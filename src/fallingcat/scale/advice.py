"""The size of a chunk: large enough that the overhead of a task is small, small enough for the memory of a worker."""

from __future__ import annotations

import time
from dataclasses import dataclass

from fallingcat.scale.job import Work

TASK = 5e-3
"""Overhead of a task in seconds: Dask's scheduling, opening files, the ledger. Measured: docs/scale.md."""
DISK = 5e8
"""Typical rate of reading and writing files, in bytes per second."""
SHARE = 0.02
"""The largest share of the time that may be overhead of tasks."""
MOST = 1 << 26
"""Largest size of the states and results in a chunk, in bytes: a worker holds about three times as much."""
LEAST = 1024
TRIED, REPEATS = 512, 5
"""Number of states that are timed, and of repetitions; the shortest time is used, as the machine may be busy."""


@dataclass(frozen=True)
class Advice:
    """The size of a chunk, and its consequences for memory and time."""

    chunk: int
    bytes: int
    seconds: float
    """Seconds for one chunk on one core of this machine: computation, and a typical time for its files."""

    @property
    def overhead(self) -> float:
        """The share of the time that is overhead of tasks."""
        return TASK / (TASK + self.seconds)

    def __str__(self) -> str:
        return (
            f"{self.chunk:,} states a chunk: {self.bytes / 1e6:.1f} MB, about {1e3 * self.seconds:.0f} ms each, "
            f"{100 * self.overhead:.1f} % of the time for tasks"
        )


def advise(work: Work, count: int, rows: int = 0, chunk: int | None = None) -> Advice:
    """The advice for a job over `count` states, of which `rows` are stored together; with `chunk`, that for this size."""
    try:
        states = work.read(0, min(TRIED, count))
    except (OSError, ValueError):
        states = work.blank(min(TRIED, count))  # the job reports what is wrong with this chunk, and computes the others
    tried = len(next(iter(states.values())))
    results, _ = work.compute(states)  # compiles
    drawn = results is states  # random states: nothing is read, and the time is that of drawing them
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
    """A chunk size by time, limited by memory: whole groups of rows that are stored together, or whole fractions of a group."""
    most = max(LEAST, int(MOST / size))
    chunk = min(max(LEAST, rows, int(TASK / SHARE / seconds)), most)
    if rows == 0:
        return 1 << (chunk.bit_length() - 1)
    return chunk // rows * rows if chunk >= rows else -(-rows // -(-rows // chunk))
