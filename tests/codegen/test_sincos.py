"""The library's own sin and cos against 60 digits, in units of the last place."""

from __future__ import annotations

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
TASK = Task(
    "sincos", (Input("x", 1),), (Output("y", (4,)),),
    # of an input, where the angles of a state share a vector, and of a computed value, where they do not
    lambda x: [scalar.sin(x[0]), scalar.cos(x[0]), scalar.sin(2.0 * x[0]), scalar.cos(2.0 * x[0])],
)  # fmt: skip


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return Kernel(TASK)


def in_ulps(x: Array, sines: Array, cosines: Array) -> float:
    """The largest error."""
    worst = 0.0
    with mpmath.workprec(1300):  # enough for 1e300 reduced by pi
        for angle, s, c in zip(x.tolist(), sines.tolist(), cosines.tolist(), strict=True):
            cosine, sine = mpmath.cos_sin(mpmath.mpf(angle))
            for exact, got in ((sine, s), (cosine, c)):
                worst = max(worst, float(abs(mpmath.mpf(got) - exact) / math.ulp(float(exact))))
    return worst


def multiples_of_half_pi(count: int) -> Array:
    """The doubles next to the first multiples of pi/2: the hardest arguments for a reduction."""
    with mpmath.workprec(200):
        return np.array([float(k * mpmath.pi / 2) for k in range(1, count)])


HARDEST = np.array([92133.48775182787, 46066.74387591393, 3 * 46066.74387591393 / 2, 1.5707963267948966])
rng = np.random.default_rng(4)
NEAR = {
    "below one hundred thousand": rng.uniform(-1e5, 1e5, 3000),
    "around zero": rng.uniform(-4.0, 4.0, 3000),
    "of every size": np.exp(rng.uniform(-740.0, math.log(1e5), 3000)),
    "next to the hardest": np.concatenate([np.nextafter(HARDEST, 0.0), HARDEST, np.nextafter(HARDEST, 1e6)]),
    "next to many multiples of pi/2": multiples_of_half_pi(63662)[::20],
    "next to few multiples of pi/2": np.concatenate(
        [np.nextafter(multiples_of_half_pi(300), 0.0), -np.nextafter(multiples_of_half_pi(300), 9e9)]
    ),
    "halfway between": (multiples_of_half_pi(300) + np.pi / 4),
    "denormal": np.array([5e-324, 1e-310, -3e-320, 2.2e-308]),
    "at the border": np.array([1e5, -1e5, np.nextafter(1e5, 0.0), np.nextafter(1e5, 1e6)]),
}
FAR = {
    "up to a million": rng.uniform(1e5, 1e6, 1000),
    "of every size beyond": np.exp(rng.uniform(math.log(1e6), math.log(1e300), 500)) * rng.choice([-1, 1], 500),
    "the classics": np.array([1e22, 2.0**120, 2.0**997, 1e300, 8.9e307]),
}


@pytest.mark.parametrize("name", NEAR | FAR)
def test_two_units_in_the_last_place(kernel: Kernel, name: str) -> None:
    x = (NEAR | FAR)[name]
    y = kernel(x[:, None])
    assert in_ulps(x, y[:, 0], y[:, 1]) < 2.0
    if np.abs(x).max() < 1e308:
        assert in_ulps(2.0 * x, y[:, 2], y[:, 3]) < 2.0


@pytest.mark.sweep
def test_two_units_next_to_every_multiple_of_half_pi(kernel: Kernel) -> None:
    x = multiples_of_half_pi(63662)
    y = kernel(x[:, None])
    assert in_ulps(x, y[:, 0], y[:, 1]) < 2.0


def test_simple_angles(kernel: Kernel) -> None:
    np.testing.assert_array_equal(kernel(np.zeros(1)), [0.0, 1.0, 0.0, 1.0])
    assert kernel(np.array([5e-324]))[0] == 5e-324


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_has_no_sine(kernel: Kernel, bad: float) -> None:
    assert np.isnan(kernel(np.array([bad]))).all()
    batch = kernel(np.array([[0.5], [bad], [1.5], [1e9], [2.5]]))
    assert np.isnan(batch[1]).all()
    assert np.isfinite(batch[[0, 2, 3, 4]]).all()


@pytest.mark.parametrize("width", [2, 4, 8])
def test_every_lane_of_every_width_has_the_same_bits(width: int, with_lanes: Callable[[int], None]) -> None:
    x = np.concatenate([np.concatenate(list((NEAR | FAR).values()))[::37], [np.nan, np.inf]])
    x = np.random.default_rng(1).permutation(x)  # near and far side by side in a vector
    with_lanes(width)
    kernel = Kernel(TASK)
    batch = kernel(x[:, None])
    single = np.array([kernel.entry(np.array([angle])) for angle in x])
    assert batch.tobytes() == single.tobytes()
    assert kernel(x[::-1, None])[::-1].tobytes() == batch.tobytes()


def test_widths_agree_with_each_other(with_lanes: Callable[[int], None]) -> None:
    x = np.concatenate(list((NEAR | FAR).values()))[::11, None]
    results = set()
    for width in (2, 4, 8):
        with_lanes(width)
        results.add(Kernel(TASK)(x).tobytes())
    assert len(results) == 1
