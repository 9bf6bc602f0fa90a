"""Twists and wrenches with their frames. Only this module depends on the order of 6-vectors.

The order is (linear; angular), for wrenches (force; moment). Every quantity carries the frame in
which it is expressed, and mixing frames raises. The check happens while an algorithm runs on
symbols and costs nothing in compiled code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, overload

from fallingcat.errors import FrameError
from fallingcat.scalar import Scalar
from fallingcat.spatial.vec3 import ZERO, Vec, add, cross, dot, neg, scale, sub

Frame = int | str
"""A body's index, WORLD, or the name of a frame."""


def _same(a: SpatialVector, b: SpatialVector) -> None:
    if a.frame != b.frame:
        raise FrameError(f"frames differ: {a.frame!r} and {b.frame!r}; transform one of the quantities first")


@dataclass(frozen=True, slots=True)
class SpatialVector:
    """Base of twists and wrenches: six numbers with a frame. Only vectors of the same kind and frame can be added."""

    lin: Vec
    ang: Vec
    frame: Frame

    @classmethod
    def zero(cls, frame: Frame) -> Self:
        return cls(ZERO, ZERO, frame)

    @classmethod
    def of(cls, x: Sequence[Scalar], frame: Frame) -> Self:
        """The vector with these six entries (linear; angular)."""
        return cls((x[0], x[1], x[2]), (x[3], x[4], x[5]), frame)

    def entries(self) -> list[Scalar]:
        return [*self.lin, *self.ang]

    def __add__(self, other: Self) -> Self:
        _same(self, other)
        return type(self)(add(self.lin, other.lin), add(self.ang, other.ang), self.frame)

    def __sub__(self, other: Self) -> Self:
        _same(self, other)
        return type(self)(sub(self.lin, other.lin), sub(self.ang, other.ang), self.frame)

    def __neg__(self) -> Self:
        return type(self)(neg(self.lin), neg(self.ang), self.frame)

    def __mul__(self, s: Scalar) -> Self:
        return type(self)(scale(s, self.lin), scale(s, self.ang), self.frame)

    __rmul__ = __mul__


@dataclass(frozen=True, slots=True)
class Motion(SpatialVector):
    """A twist, or anything that transforms like one (accelerations, joint axes)."""

    @overload
    def cross(self, other: Motion) -> Motion: ...
    @overload
    def cross(self, other: Force) -> Force: ...
    def cross(self, other: Motion | Force) -> Motion | Force:
        """v x m for a motion, v x* f for a wrench."""
        _same(self, other)
        if isinstance(other, Motion):
            lin = add(cross(self.ang, other.lin), cross(self.lin, other.ang))
            return Motion(lin, cross(self.ang, other.ang), self.frame)
        ang = add(cross(self.ang, other.ang), cross(self.lin, other.lin))
        return Force(cross(self.ang, other.lin), ang, self.frame)

    def __matmul__(self, force: Force) -> Scalar:
        """The power of a wrench along this motion."""
        _same(self, force)
        return dot(self.lin, force.lin) + dot(self.ang, force.ang)


@dataclass(frozen=True, slots=True)
class Force(SpatialVector):
    """A wrench, or a momentum."""


@dataclass(frozen=True, slots=True)
class Subspace:
    """The columns of a 6 x k matrix of motions, such as the axes of a joint."""

    columns: tuple[Motion, ...]
    frame: Frame

    def __matmul__(self, x: Sequence[Scalar]) -> Motion:
        """S x."""
        total = Motion.zero(self.frame)
        for column, xk in zip(self.columns, x, strict=True):
            total = total + column * xk
        return total

    def power(self, force: Force) -> list[Scalar]:
        """S^T f."""
        return [column @ force for column in self.columns]

    def __len__(self) -> int:
        return len(self.columns)

    def turned_by(self, v: Motion) -> Subspace:
        """v x S."""
        return Subspace(tuple(v.cross(column) for column in self.columns), self.frame)

    def turned_by_itself(self, x: Sequence[Scalar]) -> Subspace:
        """(S x) x S, which is zero if there is only one column."""
        return self.turned_by(self @ x if len(self) > 1 else Motion.zero(self.frame))

    def carried_along(self, v: Motion, x: Sequence[Scalar]) -> Subspace:
        """(v + S x) x S."""
        return self.turned_by(v + self @ x if len(self) > 1 else v)
