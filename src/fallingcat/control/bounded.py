"""Quadratic functions between limits: projected Newton (Bertsekas 1982; Tassa, Mansard and Todorov 2014, Sec. III-A)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEP_LENGTHS = 0.5 ** np.arange(20.0)
LEAST_GAIN = 0.1
"""The share of the decrease predicted by the slope that a step length has to reach to be accepted."""
NEWTON_STEPS = 100
"""Maximum number of Newton steps; usually one for each entry that reaches or leaves a limit, and one more, are enough."""


def bounded_newton(H: Array, g: Array, lower: Array, upper: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The k that minimises g^T k + k^T H k / 2 within its limits, and which of its entries are free (not held at a limit).

    H is symmetric positive definite. Entries at a limit that the gradient would push beyond it are held; all others take a Newton
    step and are clipped to the limits. Without limits the first step is the solution, which the second iteration confirms.
    """
    k = np.clip(np.zeros_like(g), lower, upper)
    for _ in range(NEWTON_STEPS):
        slope = g + H @ k
        held = ((k <= lower) & (slope > 0.0)) | ((k >= upper) & (slope < 0.0))
        free = ~held
        if not (np.abs(slope) > 1e-12 * (np.abs(g) + np.abs(H) @ np.abs(k)))[free].any():
            break
        step = np.zeros_like(k)
        step[free] = -np.linalg.solve(H[np.ix_(free, free)], slope[free])
        there = np.clip(k + STEP_LENGTHS[:, None] * step, lower, upper)
        promised = (there - k) @ slope
        enough = promised + half_squared(there - k, H) < LEAST_GAIN * promised
        if not enough.any():
            break
        k = there[np.argmax(enough)]
    return k, free


def half_squared(x: Array, W: Array) -> Any:
    """x^T W x / 2, over leading axes."""
    return np.sum((x @ W) * x, axis=-1) / 2.0
