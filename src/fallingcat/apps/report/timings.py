"""Times and operation counts of the main functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.bench import microseconds
from fallingcat.apps.report.quick import MAIN
from fallingcat.apps.report.states import random_configuration
from fallingcat.codegen import threads
from fallingcat.errors import InputError
from fallingcat.functions import FUNCTIONS
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]
Which = Literal["none", "main", "all"]

BATCH = 256
BUDGET = {"main": 0.02, "all": 0.1}
"""Seconds for each number."""


@dataclass(frozen=True)
class Timing:
    """One function of the robot."""

    function: str
    operations: int
    """Floating-point operations for one state; a fused multiply-add counts as two."""
    one: float
    """Microseconds for one call."""
    batch: float
    """Microseconds for one state of a batch, on one thread."""


def functions(robot: Robot, which: Which) -> list[str]:
    """The names of the functions that are timed."""
    if which == "none" or not robot.nv:
        return []
    names = MAIN if which == "main" else FUNCTIONS
    return [name for name in names if robot.floating or not FUNCTIONS[name].floating_only]


def time_functions(robot: Robot, which: Which, step: Callable[[str], None]) -> tuple[Timing, ...]:
    """Minima over repetitions, on one thread; functions that this robot does not have, as of a floating base, are left out."""
    names = functions(robot, which)
    rng = np.random.default_rng(0)
    q = np.array([random_configuration(robot, rng) for _ in range(BATCH)]) if names else np.zeros(0)
    used = threads.threads()
    threads.set_threads(1)
    try:
        found = []
        for name in names:
            step(f"time of {name}")
            found.append(_time(robot, name, q, rng, BUDGET[which]))
        return tuple(timing for timing in found if timing is not None)
    finally:
        threads.set_threads(used)


def _time(robot: Robot, name: str, q: Array, rng: np.random.Generator, budget: float) -> Timing | None:
    try:
        kernel = robot.kernel(name, **_options(robot, name))
        values = [q if spec.name.startswith("q") else rng.normal(size=(BATCH, spec.size)) for spec in kernel.task.inputs]
        single = [np.ascontiguousarray(v[0]) for v in values]
        one = microseconds(lambda: kernel.entry(*single), budget)
    except InputError:
        return None
    outs = tuple(np.empty((BATCH, *o.shape)) for o in kernel.task.outputs)
    out: Any = outs if len(outs) > 1 else outs[0]
    return Timing(name, kernel.operations, one, microseconds(lambda: kernel(*values, out=out), budget) / BATCH)


def _options(robot: Robot, name: str) -> dict[str, Any]:
    """Values for the options that a function requires."""
    options = FUNCTIONS[name].options
    known = {"frame": robot.link_names[-1], "base": "centroidal", "representation": "mixed" if "base" in options else "body"}
    return {option: known[option] for option in options if option in known}
