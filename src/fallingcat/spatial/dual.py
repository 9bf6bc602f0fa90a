"""Dual numbers a + b e with e^2 = 0, over any scalar, for exact derivatives of small functions.

Used where a joint's axes depend on its own coordinates; the recursions themselves are differentiated by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fallingcat import scalar
from fallingcat.scalar import Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Dual:
    """A value and its derivative along one direction."""

    value: Scalar
    rate: Scalar

    def __add__(self, other: Any) -> Dual:
        o = lift(other)
        return Dual(self.value + o.value, self.rate + o.rate)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dual:
        o = lift(other)
        return Dual(self.value - o.value, self.rate - o.rate)

    def __rsub__(self, other: Any) -> Dual:
        return lift(other) - self

    def __mul__(self, other: Any) -> Dual:
        o = lift(other)
        return Dual(self.value * o.value, self.value * o.rate + self.rate * o.value)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        o = lift(other)
        quotient = self.value / o.value
        return Dual(quotient, (self.rate - quotient * o.rate) / o.value)

    def __rtruediv__(self, other: Any) -> Dual:
        return lift(other) / self

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate)


def lift(x: Any) -> Dual:
    return x if isinstance(x, Dual) else Dual(x, 0.0)


def rates(values: Sequence[Any]) -> list[Scalar]:
    """The derivatives of a list of duals and plain scalars."""
    return [lift(x).rate for x in values]


def along(function: Callable[[list[Any]], Any], x: Sequence[Scalar], direction: Sequence[Scalar]) -> Any:
    """The value of a function at x, with its derivative along a direction, as dual numbers."""
    return function([Dual(a, b) for a, b in zip(x, direction, strict=True)])


def _sqrt(x: Dual) -> Dual:
    root = scalar.sqrt(x.value)
    return Dual(root, x.rate / (2.0 * root))


def _atan2(y: Any, x: Any) -> Dual:
    a, b = lift(y), lift(x)
    square = a.value * a.value + b.value * b.value
    return Dual(scalar.atan2(a.value, b.value), (b.value * a.rate - a.value * b.rate) / square)


def _where_less(x: Any, y: Any, a: Any, b: Any) -> Dual:
    u, v, c, d = lift(x).value, lift(y).value, lift(a), lift(b)
    return Dual(scalar.where_less(u, v, c.value, d.value), scalar.where_less(u, v, c.rate, d.rate))


scalar.register(
    Dual,
    scalar.Functions(
        lambda x: Dual(scalar.sin(x.value), scalar.cos(x.value) * x.rate),
        lambda x: Dual(scalar.cos(x.value), -(scalar.sin(x.value) * x.rate)),
        _sqrt,
        _atan2,
        _where_less,
        outermost=True,
    ),
)
