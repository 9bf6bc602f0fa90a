"""The error between two poses and its gradient, and checks of arguments, for observers and pose tracking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.errors import InputError

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]


def error(robot: Robot, q0: Array, q1: Array, weight: Array | float = 1.0) -> tuple[Array, Array]:
    """e = log(H0^-1 H1) of the bases of two configurations, and g = Jr(e)^-T W e, each (..., 6).

    If H0^-1 H1 moves with the body-fixed twist x, then de/dt = Jr(e)^-1 x, hence d<e, W e>/dt / 2 = <g, x>. weight: the diagonal
    of W, or a number.
    """
    e = robot.difference(q0, q1)[..., :6]
    dx = np.concatenate([e, np.zeros((*e.shape[:-1], robot.n))], axis=-1)
    Jr: Array = np.asarray(robot.integrate_derivatives(dx).dq_ddx)[..., :6, :6]
    g: Array = np.asarray(np.linalg.solve(np.swapaxes(Jr, -1, -2), (weight * e)[..., None])[..., 0], dtype=np.float64)
    return e, g


def numbers(who: str, name: str, value: ArrayLike, expected: str, last: tuple[int, ...] = (), positive: bool = False) -> Array:
    """The value as an array of finite floats whose last axes are `last`; refused otherwise."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{who}: {name} does not fit", expected=expected, got=type(value).__name__) from None
    if found.shape[found.ndim - len(last) :] != last or found.ndim < len(last):
        raise InputError(f"{who}: {name} does not fit", expected=expected, got=f"an array of the shape {found.shape}")
    if not np.isfinite(found).all() or (positive and not (found > 0.0).all()):
        raise InputError(f"{who}: {name} does not fit", expected=f"{expected}, finite numbers", got=str(found))
    return found
