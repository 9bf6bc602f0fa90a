"""Rotations: exponential, logarithm, Jacobians and quaternions, over any scalar.

Safe at zero (power series) and near half a turn (through the quaternion). The coefficients are
    c_k(x) = sum_i (-x)^i / (2 i + k)!      with x = |w|^2,
so that c_1 = sin(t)/t, c_2 = (1 - cos t)/t^2, c_3 = (t - sin t)/t^3 and so on for t = |w|.
"""

from __future__ import annotations

import math

from fallingcat import scalar
from fallingcat.scalar import Scalar
from fallingcat.spatial.vec3 import (
    IDENTITY,
    Mat,
    Vec,
    dot,
    matadd,
    matmul,
    matscale,
    matsub,
    scale,
    skew,
)

Quaternion = tuple[Scalar, Scalar, Scalar, Scalar]
"""x, y, z, w."""
QUATERNION_TOLERANCE = 1e-2
"""Largest deviation from one of the length of a user's quaternion, which then is normalised."""

_SERIES_BELOW = 1.0
_SERIES_TERMS = 11


def coefficients(x: Scalar, upto: int) -> list[Scalar]:
    """[c_0, ..., c_upto] at x = |w|^2, without cancellation or division by zero."""
    series = [_series(x, k) for k in range(upto + 1)]
    safe = scalar.where_less(x, _SERIES_BELOW, 1.0, x)
    t = scalar.sqrt(safe)
    closed = [scalar.cos(t), scalar.sin(t) / t]
    for k in range(2, upto + 1):
        closed.append((1.0 / math.factorial(k - 2) - closed[k - 2]) / safe)
    return [scalar.where_less(x, _SERIES_BELOW, a, b) for a, b in zip(series, closed, strict=False)]


def _series(x: Scalar, k: int) -> Scalar:
    total: Scalar = 1.0 / math.factorial(2 * _SERIES_TERMS + k)
    for i in reversed(range(_SERIES_TERMS)):
        total = 1.0 / math.factorial(2 * i + k) - x * total
    return total


def exp(w: Vec) -> Mat:
    """The rotation by |w| about w."""
    c = coefficients(dot(w, w), 2)
    W = skew(w)
    return matadd(IDENTITY, matadd(matscale(c[1], W), matscale(c[2], matmul(W, W))))


def exp_quaternion(w: Vec) -> Quaternion:
    """The rotation by |w| about w, as a unit quaternion."""
    half = scale(0.5, w)
    c = coefficients(dot(half, half), 1)
    x, y, z = scale(c[1], half)
    return (x, y, z, c[0])


def log(R: Mat) -> Vec:
    """The rotation vector of R, of length at most pi."""
    return log_quaternion(quaternion(R))


def log_quaternion(q: Quaternion) -> Vec:
    """The rotation vector of a unit quaternion, of length at most pi."""
    x, y, z, w = q
    sign = scalar.where_less(w, 0.0, -1.0, 1.0)
    v, w = (sign * x, sign * y, sign * z), sign * w
    n2 = dot(v, v)
    # Below: 2 atan(n / w) / n by its power series, which needs no square root at zero.
    u = n2 / scalar.where_less(n2, 1e-4, w * w, 1.0)
    series = 2.0 / scalar.where_less(n2, 1e-4, w, 1.0) * (1.0 - u * (1.0 / 3.0 - u * (0.2 - u * (1.0 / 7.0))))
    n = scalar.sqrt(scalar.where_less(n2, 1e-4, 1.0, n2))
    factor = scalar.where_less(n2, 1e-4, series, 2.0 * scalar.atan2(n, w) / n)
    return scale(factor, v)


def left_jacobian(w: Vec) -> Mat:
    """J with  exp(w + dw) = exp(J dw) exp(w)  to first order."""
    c = coefficients(dot(w, w), 3)
    W = skew(w)
    return matadd(IDENTITY, matadd(matscale(c[2], W), matscale(c[3], matmul(W, W))))


def left_jacobian_inverse(w: Vec) -> Mat:
    """The inverse of the left Jacobian, for |w| < 2 pi."""
    c = coefficients(dot(w, w), 4)
    W = skew(w)
    # (1 - c1 / (2 c2)) / x  =  (c3 - 2 c4) / (2 c2)  + ... written without cancellation:
    # 2 c2 - c1 = x (c3 - 2 c4), because  2/(2i+2)! - 1/(2i+1)! = -2i/(2i+2)!.
    d = (c[3] - 2.0 * c[4]) / (2.0 * c[2])
    return matadd(matsub(IDENTITY, matscale(0.5, W)), matscale(d, matmul(W, W)))


def from_quaternion(q: Quaternion) -> Mat:
    """The rotation of a quaternion of any non-zero length; NaN throughout if it is not finite."""
    x, y, z, w = q
    squared = x * x + y * y + z * z + w * w
    s = scalar.where_less(squared, math.inf, 2.0 / squared, math.nan)
    sx, sy, sz = s * x, s * y, s * z
    xx, yy, zz = sx * x, sy * y, sz * z
    xy, xz, yz = sx * y, sx * z, sy * z
    wx, wy, wz = sx * w, sy * w, sz * w
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def quaternion(R: Mat) -> Quaternion:
    """The unit quaternion of a rotation, from the largest of its four components."""
    (a, b, c), (d, e, f), (g, h, i) = R
    # Four times the squares of x, y, z, w; dividing by the largest loses no digits.
    squares = (1.0 + a - e - i, 1.0 - a + e - i, 1.0 - a - e + i, 1.0 + a + e + i)
    candidates = (
        (squares[0], b + d, c + g, h - f),
        (b + d, squares[1], f + h, c - g),
        (c + g, f + h, squares[2], d - b),
        (h - f, c - g, d - b, squares[3]),
    )
    best, chosen = squares[0], candidates[0]
    for square, candidate in zip(squares[1:], candidates[1:], strict=True):
        chosen = tuple(scalar.where_less(best, square, new, old) for new, old in zip(candidate, chosen, strict=True))
        best = scalar.where_less(best, square, square, best)
    s = 0.5 / scalar.sqrt(best)
    return (s * chosen[0], s * chosen[1], s * chosen[2], s * chosen[3])


def quaternion_product(a: Quaternion, b: Quaternion) -> Quaternion:
    """The quaternion of the rotation b followed by a."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def quaternion_normalized(q: Quaternion) -> Quaternion:
    """The quaternion divided by its length; all entries NaN if it is not finite."""
    squared = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    s = scalar.where_less(squared, math.inf, 1.0 / scalar.sqrt(squared), math.nan)
    return (s * q[0], s * q[1], s * q[2], s * q[3])
