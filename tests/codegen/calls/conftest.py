"""States of the robot that the tests call, one and many."""

from __future__ import annotations

import numpy as np
import pytest

import fallingcat as fc
from trees import Array


@pytest.fixture
def state(ball: fc.Robot, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    return ball.random_configuration(rng), rng.normal(size=ball.nv), rng.normal(size=ball.nv)


@pytest.fixture
def batch(ball: fc.Robot, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    q = np.array([ball.random_configuration(rng) for _ in range(6)])
    return q, rng.normal(size=(6, ball.nv)), rng.normal(size=(6, ball.nv))
