"""sin, cos and atan2 of floats, rounded correctly: the same bits whatever C library and processor.

The constants of a model pass through these, once; `math.sin` belongs to the C library, which may change its last digit
with the processor. Integers stand for fixed-point numbers, x 2^bits, with more bits than the hardest double needs.
"""

from __future__ import annotations

import math
from functools import lru_cache

BITS = 224
"""Bits after the binary point. A sine may start with 62 zeros (next to a multiple of pi/2), and about twice 53 bits, and a
dozen more, decide its rounding; the rest is spare."""
TINY = 2.0**-27
"""Below it sin x and atan x round to x, and cos x to one."""
HALVINGS = 6
"""Halvings of the angle whose tangent is known, until the power series of its arctangent is short."""


def sin(x: float) -> float:
    """The sine of x, correctly rounded; NaN at infinity."""
    if not abs(x) >= TINY:
        return float(x)
    return _sin_cos(float(x))[0]


def cos(x: float) -> float:
    """The cosine of x, correctly rounded; NaN at infinity."""
    if not abs(x) >= TINY:
        return 1.0 if x == x else math.nan
    return _sin_cos(float(x))[1]


def atan2(y: float, x: float) -> float:
    """The angle of the point (x, y), with the signs of zeros as in C."""
    if y != y or x != x:
        return math.nan
    up, right = abs(float(y)), abs(float(x))
    if math.isinf(up) or math.isinf(right):
        up, right = float(math.isinf(up)), float(math.isinf(right))
    return math.copysign(_angle(up, right, math.copysign(1.0, x) < 0.0), y)


@lru_cache(maxsize=4096)
def _sin_cos(x: float) -> tuple[float, float]:
    if math.isinf(x):
        return math.nan, math.nan
    n, d = x.as_integer_ratio()
    bits = BITS + max(0, n.bit_length() - d.bit_length())  # x mod pi/2 loses the bits before the point
    half_pi = pi(bits) >> 1
    X = (n << bits) // d
    k = (2 * X + half_pi) // (2 * half_pi)
    r = (X - k * half_pi) >> (bits - BITS)
    one = 1 << BITS
    square = -(r * r) >> BITS
    s, c = _series(r, square, 1), _series(one, square, 0)
    s, c = ((s, c), (c, -s), (-s, -c), (-c, s))[k % 4]
    return s / one, c / one  # Python rounds a quotient of integers correctly


def _series(first: int, factor: int, k: int) -> int:
    """first (1 + factor / ((k+1)(k+2)) + factor^2 / ((k+1)...(k+4)) + ...)."""
    total = term = first
    while term not in (0, -1):
        term = ((term * factor) >> BITS) // ((k + 1) * (k + 2))
        total += term
        k += 2
    return total


@lru_cache(maxsize=1024)
def _angle(up: float, right: float, left: bool) -> float:
    """The angle in [0, pi] of the point (right, up), or of its mirror image if `left`; right and up are not negative."""
    (a, b), (c, d) = up.as_integer_ratio(), right.as_integer_ratio()
    rise, run = a * d, c * b
    if rise == 0:
        return math.pi if left else 0.0
    small, large = min(rise, run), max(rise, run)
    bits = BITS + max(0, large.bit_length() - small.bit_length())
    angle = _arctangent((small << bits) // large, bits)
    half_pi = pi(bits) >> 1
    if rise > run:
        angle = half_pi - angle
    if left:
        angle = 2 * half_pi - angle
    return angle / (1 << bits)


def _arctangent(t: int, bits: int) -> int:
    one = 1 << bits
    for _ in range(HALVINGS):  # tan(a / 2) = t / (1 + sqrt(1 + t^2))
        t = (t << bits) // (one + math.isqrt((one << bits) + t * t))
    power, total, k = t, 0, 1
    square = (t * t) >> bits
    while power:
        total += power // k if k % 4 == 1 else -(power // k)
        power, k = (power * square) >> bits, k + 2
    return total << HALVINGS


@lru_cache(maxsize=64)
def pi(bits: int) -> int:
    """floor(pi 2^bits), up to an error of one: Machin's 16 arctan(1/5) - 4 arctan(1/239)."""
    spare = 32
    one = 1 << (bits + spare)
    return (16 * _arctangent_of_inverse(5, one) - 4 * _arctangent_of_inverse(239, one)) >> spare


def _arctangent_of_inverse(n: int, one: int) -> int:
    power, total, k = one // n, 0, 1
    while power:
        total += power // k if k % 4 == 1 else -(power // k)
        power, k = power // (n * n), k + 2
    return total
