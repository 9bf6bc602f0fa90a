"""The operations a program is made of, as a table.

`add sub mul div neg sqrt` are IEEE operations; `fma fms fnma` round once; `sin cos atan2` are this
library's own; `select` is a < b ? c : d; `taint` is 0 * x, which is 0 unless x is not finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fallingcat import elementary


@dataclass(frozen=True)
class Op:
    """An operation: its number of arguments, its cost, its evaluation on floats, and its text."""

    arity: int
    evaluate: Callable[..., float]
    flops: int
    """Floating-point operations that it counts for; 0 for those whose cost is negligible."""
    text: str
    """The format in which it is printed."""


def fused(a: float, b: float, c: float) -> float:
    """a b + c rounded once, in exact rational arithmetic."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c  # the product is finite, even where a double could not hold it
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # the sign of zero follows IEEE
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _div(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    if a == 0.0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


OPS: dict[str, Op] = {
    "add": Op(2, lambda a, b: a + b, 1, "{} + {}"),
    "sub": Op(2, lambda a, b: a - b, 1, "{} - {}"),
    "mul": Op(2, lambda a, b: a * b, 1, "{} * {}"),
    "div": Op(2, _div, 1, "{} / {}"),
    "neg": Op(1, lambda a: -a, 0, "-{}"),
    "fma": Op(3, fused, 2, "{} * {} + {}"),
    "fms": Op(3, lambda a, b, c: fused(a, b, -c), 2, "{} * {} - {}"),
    "fnma": Op(3, lambda a, b, c: fused(-a, b, c), 2, "{2} - {0} * {1}"),
    "sqrt": Op(1, lambda a: math.sqrt(a) if a >= 0.0 else math.nan, 1, "sqrt {}"),
    "sin": Op(1, elementary.sin, 1, "sin {}"),
    "cos": Op(1, elementary.cos, 1, "cos {}"),
    "atan2": Op(2, elementary.atan2, 1, "atan2 {}, {}"),
    "select": Op(4, lambda a, b, c, d: c if a < b else d, 1, "{2} if {0} < {1} else {3}"),
    "taint": Op(1, lambda a: a * 0.0, 0, "taint {}"),
}
