"""The library's own atan2 against sixty digits, in units of the last place, and against the table of the C standard."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from fallingcat import scalar
from fallingcat.codegen import Kernel
from fallingcat.task import Input, Output, Task

Array = NDArray[np.float64]
TASK = Task("atan2", (Input("yx", 2),), (Output("angle", (1,)),), lambda p: [scalar.atan2(p[0], p[1])])
EDGES = (0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.2e-308, 1.7e308, -1.7e308, math.inf, -math.inf)

rng = np.random.default_rng(7)


def points(angles: Array, radius: Array) -> Array:
    return np.stack([radius * np.sin(angles), radius * np.cos(angles)], axis=-1)


def near_the_borders() -> Array:
    """Where one formula takes over from another: multiples of pi/8, and the doubles beside the diagonals."""
    around = np.arange(-8, 9)[:, None] * np.pi / 8 + np.array([0.0, 1e-15, -1e-15, 1e-9, -1e-9, 1e-3])
    x = rng.uniform(0.5, 2.0, 200)
    beside = np.stack([np.nextafter(x, 9.0), -x], axis=-1)
    return np.concatenate([points(around.ravel(), np.full(around.size, 1.3)), beside, beside[:, ::-1]])


POINTS = {
    "everywhere": points(rng.uniform(-4.0, 4.0, 4000), rng.uniform(0.1, 10.0, 4000)),
    "at the borders": near_the_borders(),
    "of every size": rng.choice([-1.0, 1.0], (2000, 2)) * np.exp(rng.uniform(-700.0, 700.0, (2000, 2))),
    "of every size together": points(rng.uniform(-4.0, 4.0, 1000), np.exp(rng.uniform(-740.0, 700.0, 1000))),
    "next to the axes": points(rng.integers(-2, 3, 1000) * np.pi / 2 + 10.0 ** rng.uniform(-18, -1, 1000), np.ones(1000)),
    "denormal": rng.integers(-40, 41, (500, 2)) * 5e-324,
    "the largest": rng.choice([-1.0, 1.0], (500, 2)) * rng.uniform(8e307, 1.79e308, (500, 2)),
    "small whole numbers": np.array(list(itertools.product(range(-12, 13), repeat=2)), dtype=float),
}


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return Kernel(TASK)


@pytest.mark.parametrize("name", POINTS)
def test_less_than_one_unit_in_the_last_place(kernel: Kernel, name: str) -> None:
    worst = 0.0
    with mpmath.workprec(200):
        for (y, x), (got,) in zip(POINTS[name].tolist(), kernel(POINTS[name]).tolist(), strict=True):
            exact = mpmath.atan2(mpmath.mpf(y), mpmath.mpf(x))
            worst = max(worst, float(abs(mpmath.mpf(got) - exact) / math.ulp(float(exact))))
    assert worst < 1.0


def test_edges_are_those_of_c(kernel: Kernel) -> None:
    for y, x in itertools.product(EDGES, repeat=2):
        got, expected = kernel(np.array([y, x]))[0], math.atan2(y, x)
        assert math.copysign(1.0, got) == math.copysign(1.0, expected), (y, x)
        assert got == pytest.approx(expected, rel=3e-16, abs=0.0), (y, x)


@pytest.mark.parametrize("other", [0.0, -0.0, 1.0, math.inf, -math.inf, math.nan])
def test_nan_in_nan_out(kernel: Kernel, other: float) -> None:
    assert np.isnan(kernel(np.array([[math.nan, other], [other, math.nan]]))).all()
    assert np.isnan(kernel(np.array([math.nan, other]))).all()


def test_every_lane_of_every_width_has_the_same_bits(with_lanes: Callable[[int], None]) -> None:
    every = np.concatenate([*POINTS.values(), list(itertools.product(EDGES, repeat=2))])[::7]
    every = np.random.default_rng(2).permutation(every)
    results = set()
    for width in (2, 4, 8):
        with_lanes(width)
        kernel = Kernel(TASK)
        batch = kernel(every)
        results |= {batch.tobytes(), kernel(every[::-1])[::-1].tobytes()}
        results.add(np.array([kernel.entry(point) for point in every]).tobytes())
    assert len(results) == 1
