"""sin, cos and atan2 of floats against mpmath with thousands of bits: correctly rounded."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from fallingcat import elementary

rng = np.random.default_rng(5)
ANGLES = [
    *rng.uniform(-4.0, 4.0, 150), *(rng.choice([-1, 1], 150) * np.exp(rng.uniform(-40.0, 700.0, 150))),
    *(k * math.pi / 2 for k in range(-20, 21)), 5319372648326541 * 2.0**-255, 6381956970095103 * 2.0**797, 5e-324, 2.0**-27, 1e22,
]  # fmt: skip
EDGES = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-310, 1.7e308, -1.7e308)


def test_sine_and_cosine() -> None:
    with mpmath.workprec(2400):
        for x in map(float, ANGLES):
            c, s = mpmath.cos_sin(mpmath.mpf(x))
            assert (elementary.sin(x), elementary.cos(x)) == (float(s), float(c)), x


def test_arctangent() -> None:
    sizes = np.concatenate(
        [rng.uniform(-2.0, 2.0, (150, 2)), rng.choice([-1, 1], (150, 2)) * np.exp(rng.uniform(-700, 700, (150, 2)))]
    )
    with mpmath.workprec(2600):
        for y, x in sizes.tolist():
            assert elementary.atan2(y, x) == float(mpmath.atan2(mpmath.mpf(y), mpmath.mpf(x))), (y, x)


def test_edges_are_those_of_c() -> None:
    for y, x in itertools.product(EDGES, repeat=2):
        got, expected = elementary.atan2(y, x), math.atan2(y, x)
        assert got == pytest.approx(expected, rel=3e-16, abs=0.0, nan_ok=True), (y, x)
        assert math.isnan(got) or math.copysign(1.0, got) == math.copysign(1.0, expected), (y, x)


def test_what_is_not_finite_has_no_sine() -> None:
    for x in (math.inf, -math.inf, math.nan):
        assert math.isnan(elementary.sin(x))
        assert math.isnan(elementary.cos(x))
    assert math.copysign(1.0, elementary.sin(-0.0)) == -1.0
    assert elementary.cos(-0.0) == 1.0


def test_numbers_of_numpy() -> None:
    assert type(elementary.sin(np.float64(0.5))) is float
    assert elementary.sin(np.float64(0.5)) == elementary.sin(0.5)
    assert elementary.sin(1) == elementary.sin(1.0)
