"""Test vectors: inputs of a function, and its results as computed in Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fallingcat.codegen import Kernel
from fallingcat.deploy.chosen import Chosen
from fallingcat.errors import SingularError
from fallingcat.robot.robot import Robot
from fallingcat.task import Input

Array = NDArray[np.float64]

KINDS = ("random", "random", "at rest", "signs")
"""Kinds of test states. At neutral, with velocities of zero or one, terms cancel exactly, which tests the signs of zeros."""
STATES = len(KINDS)


def vectors(robot: Robot, chosen: Chosen, precision: str, seed: int = 1) -> tuple[list[Array], list[Array]]:
    """Inputs and results, one row per state."""
    rng = np.random.default_rng(seed)
    states = [_state(robot, chosen.kernel, kind, precision, rng) for kind in KINDS]
    inputs, results = zip(*states, strict=True)
    return [np.array(x) for x in zip(*inputs, strict=True)], [np.array(x) for x in zip(*results, strict=True)]


def _state(robot: Robot, kernel: Kernel, kind: str, precision: str, rng: np.random.Generator) -> tuple[list[Array], list[Array]]:
    """Inputs and results in a state of this kind; in a random state if the function has no value there."""
    values = [_input(robot, spec, kind, rng) for spec in kernel.task.inputs]
    if precision == "float":
        values = [x.astype(np.float32).astype(np.float64) for x in values]
    try:
        found = kernel(*values)
        results = [np.ravel(r) for r in (found if kernel.task.results is not None else (found,))]
        if kind == "random" or all(np.isfinite(r).all() for r in results):
            return values, results
    except SingularError:
        if kind == "random":
            raise
    return _state(robot, kernel, "random", precision, rng)


def _input(robot: Robot, spec: Input, kind: str, rng: np.random.Generator) -> Array:
    if spec.name == "dt":
        return np.array([1.0 / 1024.0])
    if (spec.quaternions or spec.name in ("q", "q0", "q1")) and spec.size == robot.nq:
        return robot.random_configuration(rng) if kind == "random" else robot.neutral()
    if kind == "signs":
        return rng.integers(-1, 2, spec.size).astype(np.float64)
    return rng.normal(size=spec.size) if kind == "random" else np.zeros(spec.size)
