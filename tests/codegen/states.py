"""Random states of a robot."""

from __future__ import annotations

from typing import Any

import numpy as np

import fallingcat as fc


def states(robot: fc.Robot, count: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """q, and two vectors of velocities or accelerations or torques."""
    rng = np.random.default_rng(seed)
    q = np.array([robot.random_configuration(rng) for _ in range(count)])
    return q, rng.normal(size=(count, robot.nv)), rng.normal(size=(count, robot.nv))
