"""A job: states from somewhere, functions of them, and where results go. A worker does it one chunk at a time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fallingcat.arrays.arguments import QUATERNION_TOLERANCE
from fallingcat.arrays.shared_objects import SharedObject
from fallingcat.errors import SingularWarning
from fallingcat.functions import quaternions
from fallingcat.robot.robot import Robot
from fallingcat.scale.calls import Call, widths
from fallingcat.scale.sampling import Sampler
from fallingcat.scale.sources import Source
from fallingcat.scale.targets import Target

Array = NDArray[np.float64]


class Work(Protocol):
    """Computes the arrays of a chunk."""

    def read(self, start: int, stop: int) -> dict[str, Array]:
        """The states of a chunk: vectors by name, (stop - start, size)."""
        ...

    def compute(self, states: dict[str, Array]) -> tuple[dict[str, Array], int]:
        """Results, and how many states were refused."""
        ...

    def blank(self, count: int) -> dict[str, Array]:
        """Arrays of the same shapes as the states of a chunk, for timing when the states cannot be read."""
        ...


@dataclass(frozen=True)
class Sample:
    """Random states, which are the results themselves."""

    sampler: Sampler
    names: tuple[str, ...]

    def read(self, start: int, stop: int) -> dict[str, Array]:
        return self.sampler.states(self.names, start, stop)

    def compute(self, states: dict[str, Array]) -> tuple[dict[str, Array], int]:
        return states, 0

    def blank(self, count: int) -> dict[str, Array]:
        return self.read(0, count)


@dataclass(frozen=True)
class Map:
    """Functions of a robot at states."""

    robot: Robot
    calls: tuple[Call, ...]
    outputs: tuple[tuple[str, ...], ...]
    """The names of the arrays of every call."""
    source: Source | Sample
    names: tuple[str, ...]

    def read(self, start: int, stop: int) -> dict[str, Array]:
        if isinstance(self.source, Sample):
            return self.source.read(start, stop)
        return self.source.read(self.names, start, stop)

    def compute(self, states: dict[str, Array]) -> tuple[dict[str, Array], int]:
        refused = self._refuse(states)
        results: dict[str, Array] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularWarning)  # such states are counted with all that hold NaN
            for call, names in zip(self.calls, self.outputs, strict=True):
                results |= dict(zip(names, call(self.robot, states), strict=True))
        return results, refused

    def blank(self, count: int) -> dict[str, Array]:
        return {
            name: np.full((count, size) if size else (count,), np.nan) for name, size in widths(self.robot, self.names).items()
        }

    def _refuse(self, states: dict[str, Array]) -> int:
        """Set states with a quaternion far from unit length to NaN, and leave all others; the number of such states."""
        places = quaternions(self.robot.model)
        bad = np.zeros(len(next(iter(states.values()))), dtype=bool)
        for name in ("q", "q0", "q1"):
            for at in places if name in states else ():
                x = states[name][:, at : at + 4]
                with np.errstate(over="ignore", invalid="ignore"):
                    length = np.sqrt((x * x).sum(axis=1))
                bad |= (np.abs(length - 1.0) > QUATERNION_TOLERANCE) & np.isfinite(x).all(axis=1)
        if bad.any():
            for name, values in states.items():
                states[name] = values.copy()
                states[name][bad] = np.nan
        return int(bad.sum())


@dataclass(frozen=True)
class Job:
    """All that a worker needs."""

    work: Work
    target: Target

    @property
    def chunks(self) -> int:
        return -(-self.target.count // self.target.chunk)

    def rows(self, number: int) -> tuple[int, int]:
        return number * self.target.chunk, min((number + 1) * self.target.chunk, self.target.count)

    def do(self, number: int) -> dict[str, Any]:
        """Read, compute and write a chunk; its entry for the ledger."""
        times = [time.perf_counter()]
        states = self.work.read(*self.rows(number))
        times.append(time.perf_counter())
        results, refused = self.work.compute(states)
        times.append(time.perf_counter())
        with_nan = _states_with_nan(results)
        self.target.write(number, results)
        times.append(time.perf_counter())
        seconds = [round(b - a, 6) for a, b in pairwise(times)]
        return {"chunk": number, "nan": with_nan, "refused": refused, "seconds": seconds}


def _states_with_nan(results: Mapping[str, Array]) -> int:
    """In how many states any result is NaN."""
    with_nan: Any = False
    for values in results.values():
        with np.errstate(invalid="ignore", over="ignore"):
            sums = values.reshape(len(values), -1).sum(axis=1) if values.ndim > 1 else values
        with_nan = with_nan | np.isnan(sums)
    return int(np.sum(with_nan))


def do_chunk(shared: SharedObject, number: int) -> dict[str, Any]:
    """The task of a worker."""
    job: Job = shared.value
    return job.do(number)
