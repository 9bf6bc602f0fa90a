"""Poses and axes for building a model from a description, on tuples of floats.

Arrays are not used, because their matrix product calls BLAS, whose rounding depends on the processor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fallingcat.model.description import Pose
from fallingcat.spatial.vec3 import (
    IDENTITY,
    ZERO,
    Mat,
    Vec,
    add,
    cross,
    mat,
    matadd,
    matmul,
    matscale,
    matvec,
    neg,
    skew,
    transpose,
)

HALF_TURN: Mat = ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0))
"""The rotation by pi about x."""


@dataclass(frozen=True)
class Placed:
    """The pose of a frame in another one: rotation R and position p."""

    R: Mat = IDENTITY
    p: Vec = ZERO

    @staticmethod
    def of(pose: Pose) -> Placed:
        return Placed(pose.rotation, pose.position)

    def __matmul__(self, other: Placed) -> Placed:
        return Placed(matmul(self.R, other.R), add(matvec(self.R, other.p), self.p))

    def inverse(self) -> Placed:
        back = transpose(self.R)
        return Placed(back, neg(matvec(back, self.p)))

    def pose(self) -> Pose:
        x, y, z = (float(x) + 0.0 for x in self.p)
        return Pose(mat([[_snap(float(x)) for x in row] for row in self.R]), (x, y, z))


HERE = Placed()


def _snap(x: float) -> float:
    """Set an entry of a rotation that is 0, 1 or -1 up to rounding to exactly that, so that it folds in programs."""
    if abs(x) < 1e-15:
        return 0.0
    return math.copysign(1.0, x) if abs(abs(x) - 1.0) < 1e-15 else x


def unit(axis: Sequence[float]) -> Vec:
    """The unit vector along an axis of any length."""
    _, exponent = math.frexp(max(abs(x) for x in axis))
    x, y, z = (math.ldexp(float(x), -exponent) for x in axis)  # exact, and the squares neither vanish nor overflow
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


def aligned(axis: Sequence[float]) -> tuple[int, float, Mat]:
    """(k, sign, A): in the joint's frame rotated by A, the axis is sign times coordinate axis k."""
    a = unit(axis)
    k = max(range(3), key=lambda i: abs(a[i]))
    if max(abs(a[i]) for i in range(3) if i != k) < 1e-15:
        return k, math.copysign(1.0, a[k]), IDENTITY
    # The shortest rotation that takes z to the axis.
    if a[2] < -0.5:  # nearly opposite: go through x, where the formula is well conditioned
        _, _, A = aligned(matvec(HALF_TURN, a))
        return 2, 1.0, matmul(HALF_TURN, A)
    V = skew(cross((0.0, 0.0, 1.0), a))
    return 2, 1.0, matadd(IDENTITY, matadd(V, matscale(1.0 / (1.0 + a[2]), matmul(V, V))))
