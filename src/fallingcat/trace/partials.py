"""The table of partial derivatives of every operation, for both reverse and forward mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fallingcat import scalar
from fallingcat.scalar import Scalar

Partials = tuple[Scalar | None, ...]
Rule = Callable[..., Partials]
"""(y, value, *arguments) -> y times the derivative of the value by each argument; None for a derivative that is zero."""

ZERO_ROOT = 1e-170
"""Roots below this count as zero; the square root of any positive double is larger."""
ZERO_SQUARE = 1e-290
"""Squared distances below this count as zero."""


def _div(y: Scalar, value: Scalar, a: Scalar, b: Scalar) -> Partials:
    t = y / b
    return t, -(t * value)


def _sqrt(y: Scalar, root: Scalar, x: Scalar) -> Partials:
    """y / (2 root), and zero at zero, the middle one of the slopes of |x|."""
    return (scalar.where_less(root, ZERO_ROOT, 0.0, 0.5 * y) / scalar.where_less(root, ZERO_ROOT, 1.0, root),)


def _atan2(y: Scalar, value: Scalar, b: Scalar, a: Scalar) -> Partials:
    """The partials of atan2(b, a), whose differential is (a db - b da) / (a a + b b); zero at the origin."""
    squared = a * a + b * b
    t = y / scalar.where_less(squared, ZERO_SQUARE, 1.0, squared)
    return t * a, -(t * b)


def _select(y: Scalar, value: Scalar, x: Scalar, z: Scalar, a: Scalar, b: Scalar) -> Partials:
    """The partials by the two choices. If a choice is the constant NaN, the derivative is NaN where it is chosen, not zero."""
    return None, None, scalar.where_less(x, z, y, math.nan if is_nan(b) else 0.0), scalar.where_less(x, z, 0.0, y)


PARTIALS: dict[str, Rule] = {
    "add": lambda y, v, a, b: (y, y),
    "sub": lambda y, v, a, b: (y, -y),
    "mul": lambda y, v, a, b: (y * b, y * a),
    "div": _div,
    "neg": lambda y, v, a: (-y,),
    "fma": lambda y, v, a, b, c: (y * b, y * a, y),
    "fms": lambda y, v, a, b, c: (y * b, y * a, -y),
    "fnma": lambda y, v, a, b, c: (-(y * b), -(y * a), y),
    "sqrt": _sqrt,
    "sin": lambda y, v, a: (y * scalar.cos(a),),
    "cos": lambda y, v, a: (-(y * scalar.sin(a)),),
    "atan2": _atan2,
    "select": _select,
    "taint": lambda y, v, a: (None,),
}


def is_nan(x: Any) -> bool:
    """Is x the constant NaN, which replaces values below a bound?"""
    return type(x) is float and x != x


def is_zero(x: Any) -> bool:
    """Is a derivative known to be zero?"""
    return x is None or (type(x) is float and x == 0.0)
