"""Double precision against 50 digits of the same algorithms: how many digits rounding costs.

The robots' constants and the states are doubles in both, so that only the arithmetic differs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import fallingcat as fc
from fallingcat.algorithms import aba, crba, rnea
from trees import random_tree, relative_error, state

ROBOTS = ("cat", "tree9", "spacearm")
DIGITS = 50


def widened(x: Any) -> Any:
    """A model, or anything in it, with every float made a 50-digit number, so that constants too are folded exactly."""
    if isinstance(x, float):
        return mpmath.mpf(x)
    if isinstance(x, tuple):
        return tuple(widened(y) for y in x)
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return dataclasses.replace(x, **{f.name: widened(getattr(x, f.name)) for f in dataclasses.fields(x)})
    return x


def wide(v: np.ndarray) -> list[mpmath.mpf]:
    return [mpmath.mpf(float(x)) for x in v]


def exact(algorithm: Callable[..., Any], robot: fc.Robot, *vectors: np.ndarray) -> np.ndarray:
    """The algorithm on 50-digit numbers, rounded once at the end."""
    with mpmath.workdps(DIGITS):
        result = algorithm(widened(robot.model), *map(wide, vectors))
        return np.vectorize(float, otypes=[float])(np.array(result, dtype=object))


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_dynamics(name: str, floating: bool, rng: np.random.Generator) -> None:
    robot = fc.load(name, floating=floating)
    q, nu, dnu = state(robot, rng)
    assert relative_error(robot.inverse_dynamics(q, nu, dnu), exact(rnea.inverse_dynamics, robot, q, nu, dnu)) < 1e-14


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("name", ROBOTS)
def test_mass_matrix(name: str, floating: bool, rng: np.random.Generator) -> None:
    robot = fc.load(name, floating=floating)
    q, _, _ = state(robot, rng)
    assert relative_error(robot.mass_matrix(q), exact(crba.mass_matrix, robot, q)) < 1e-14


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("name", ROBOTS)
def test_forward_dynamics(name: str, floating: bool, rng: np.random.Generator) -> None:
    """By articulated bodies, whose error is far below the condition number of M times the rounding."""
    robot = fc.load(name, floating=floating)
    q, nu, tau = state(robot, rng)
    assert relative_error(robot.forward_dynamics(q, nu, tau), exact(aba.forward_dynamics, robot, q, nu, tau)) < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_fifty_digits_really_are_fifty(seed: int, rng: np.random.Generator) -> None:
    """FD(ID(dnu)) = dnu to 40 digits on trees of all joint types: no constant of the algorithms is a rounded double.

    All placements are right angles: any other rotation matrix of doubles is a rotation only to 16 digits.
    """
    robot = fc.load(random_tree(seed, joints=9, square=True))
    q, nu, dnu = state(robot, rng)
    with mpmath.workdps(DIGITS):
        model = widened(robot.model)
        tau = rnea.inverse_dynamics(model, wide(q), wide(nu), wide(dnu))
        back = aba.forward_dynamics(model, wide(q), wide(nu), tau)
        assert max(abs(a - b) for a, b in zip(back, wide(dnu), strict=True)) < mpmath.mpf(10) ** -40
