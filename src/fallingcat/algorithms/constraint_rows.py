"""Rows of constraints: components of motion that are held at zero, as functions of the motion of a robot's bodies.

Written once, over any scalar, in common coordinates. With feedback (Baumgarte 1972) a row asks for
    J dnu + drift + kd J nu + kp violation - reference = 0                                                    (1)
A block of three rows is kept in the axes of the common coordinates, where it costs least, and turned at the end to the axes of
the frame that the constraint is given in: its local axes. Kinds of rows are in `constraint_frames` and `constraint_kinds`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.posed import PerBody, Posed, Vector, motions
from fallingcat.algorithms.rnea_derivatives import AxisColumns
from fallingcat.algorithms.vectors import minus, plus, scaled
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion

Columns = PerBody[list[AxisColumns]]
"""Derivatives of the motion of bodies along every axis of a joint."""
Blocks = dict[tuple[int, int], Block]
"""(i, j): a block for joints i and j."""


@dataclass(frozen=True)
class Moving:
    """A robot with the motion of its bodies, in common coordinates."""

    r: Posed
    nu: Vector
    dnu: Vector
    v: PerBody[Motion]
    a: PerBody[Motion]
    """Spatial accelerations, including -g on all bodies and on the world; it cancels in relative accelerations."""

    @staticmethod
    def at_rest(r: Posed) -> Moving:
        still = dict.fromkeys(range(WORLD, len(r.model.bodies)), Motion.zero(r.root))
        return Moving(r, [0.0] * r.model.nv, [0.0] * r.model.nv, still, still)

    @staticmethod
    def along(r: Posed, nu: Vector, dnu: Vector) -> Moving:
        """The motion with given velocities and accelerations."""
        return Moving(r, nu, dnu, *motions(r, nu, dnu, r.gravity))


class Gains(NamedTuple):
    """The gains of Baumgarte's feedback (1)."""

    kp: float = 0.0
    kd: float = 0.0


NO_GAINS = Gains()


class Target(NamedTuple):
    """The anchor and the reference of a constraint in (1)."""

    gains: Gains = NO_GAINS
    anchor: Vector = ()
    """The numbers that say where the constraint holds, (anchor_size,)."""
    reference: Vector | None = None
    """(size,): the desired acceleration of the rows, in local axes."""


class Unit(NamedTuple):
    """A unit force along a row: the wrenches on bodies, in common coordinates, and the joint torques that it causes."""

    wrenches: PerBody[Force]
    torques: PerBody[list[Scalar]]


class RowDerivatives(NamedTuple):
    """Derivatives of the residual (1), with a column for each axis of a joint, and of the torques J^T f at fixed forces f."""

    dq: PerBody[Block]
    dnu: PerBody[Block]
    torques: Blocks
    """(i, j): d(J^T f) of joint i by the motion of joint j, in addition to that of wrenches which move with their bodies."""


class Rows(ABC):
    """Rows of one constraint."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of rows."""

    @property
    def anchor_size(self) -> int:
        """Length of the anchor: the numbers, given at run time, that say where the constraint holds."""
        return 0

    def anchor_at(self, model: Model, q: Vector) -> list[Scalar]:
        """The anchor for which the constraint holds at a configuration, (anchor_size,)."""
        return []

    @abstractmethod
    def units(self, m: Moving) -> list[Unit]:
        """The unit force along each row of J."""

    @abstractmethod
    def velocity(self, m: Moving) -> list[Scalar]:
        """J nu, (size,)."""

    @abstractmethod
    def acceleration(self, m: Moving) -> list[Scalar]:
        """J dnu + drift, (size,)."""

    @abstractmethod
    def violation(self, m: Moving, anchor: Vector) -> list[Scalar]:
        """The violation, (size,), in local axes; zero where the constraint holds."""

    @abstractmethod
    def derivatives(self, m: Moving, columns: Columns, f: Vector, target: Target) -> RowDerivatives:
        """The derivatives of the residual (1), in axes that move with the constraint."""

    def velocity_dq(self, m: Moving, columns: Columns) -> PerBody[Block]:
        """d(J nu)/dq in axes that move with the constraint: the coefficient of kd in the derivative of (1)."""
        zero = [0.0] * self.size
        with_kd, without = (self.derivatives(m, columns, zero, Target(Gains(0.0, kd))).dq for kd in (1.0, 0.0))
        return {j: (Matrix(with_kd[j]) - Matrix(without[j])).rows for j in with_kd}

    def to_local(self, m: Moving, x: Vector) -> list[Scalar]:
        """From the axes that the rows are in to local axes."""
        return list(x)

    def from_local(self, m: Moving, x: Vector) -> list[Scalar]:
        return list(x)

    def turning_of_axes(self, m: Moving, f: Vector) -> PerBody[Block]:
        """The derivative of the local components of forces f that are fixed in axes which move with the constraint, per joint."""
        return {}

    def wrench(self, m: Moving, f: Vector) -> PerBody[Force]:
        """The wrenches of forces f on bodies, in common coordinates."""
        total: PerBody[Force] = {}
        for unit, x in zip(self.units(m), f, strict=True):
            for i, w in unit.wrenches.items():
                total[i] = total[i] + w * x if i in total else w * x
        return total

    def residual(self, m: Moving, target: Target) -> list[Scalar]:
        """The left-hand side of (1), (size,)."""
        (kp, kd), anchor, reference = target
        total = self.acceleration(m)
        if kd:
            total = plus(total, scaled(kd, self.velocity(m)))
        if kp:
            total = plus(total, scaled(kp, self.from_local(m, self.violation(m, anchor))))
        return total if reference is None else minus(total, self.from_local(m, reference))
