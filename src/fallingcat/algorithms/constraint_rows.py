"""Rows of constraints: what may not move, as functions of how the bodies of a robot move.

Written once, over any scalar, in common coordinates. What stands against a row is kd times its velocity and kp times its
violation. A block of three rows is kept in the axes of the common coordinates, where it costs least, and turned to the
axes that a user sees at the end. Kinds of rows are in `constraint_frames` and `constraint_kinds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from fallingcat.algorithms.dense import subtract
from fallingcat.algorithms.posed import PerBody, Posed, Vector
from fallingcat.algorithms.rnea_derivatives import AxisColumns
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion

Block = list[list[Scalar]]


@dataclass(frozen=True)
class Moving:
    """How the bodies move, in common coordinates."""

    r: Posed
    nu: Vector
    dnu: Vector
    v: PerBody[Motion]
    a: PerBody[Motion]
    """With the acceleration that stands for gravity on all bodies and the world: relative ones are free of it."""

    @staticmethod
    def at_rest(r: Posed) -> Moving:
        still = dict.fromkeys(range(WORLD, len(r.model.bodies)), Motion.zero(r.root))
        return Moving(r, [0.0] * r.model.nv, [0.0] * r.model.nv, still, still)


class Gains(NamedTuple):
    """Baumgarte's: the row's acceleration is -kd (its velocity) - kp (its violation)."""

    kp: float = 0.0
    kd: float = 0.0


NO_GAINS = Gains()


class Unit(NamedTuple):
    """What a unit force along a row does: wrenches on bodies, in common coordinates, and torques in joints."""

    wrenches: PerBody[Force]
    torques: PerBody[list[Scalar]]


class RowDerivatives(NamedTuple):
    """Of the residual of rows, per joint one column for each of its axes; and of the torques J^T f at fixed forces."""

    dq: PerBody[Block]
    dnu: PerBody[Block]
    torques: dict[tuple[int, int], Block]
    """(i, j): what moving joint j changes in the torques of joint i, beyond wrenches that move with their bodies."""


class Rows:
    """Constraint rows. `anchor`: numbers that say where they hold, given at run time."""

    @property
    def size(self) -> int:
        """Number of rows."""
        raise NotImplementedError

    @property
    def anchor_size(self) -> int:
        """How many numbers say where it holds."""
        return 0

    def anchor_at(self, model: Model, q: Vector) -> list[Scalar]:
        """These numbers for a configuration at which it holds."""
        return []

    def units(self, m: Moving) -> list[Unit]:
        """The rows of J, transposed."""
        raise NotImplementedError

    def velocity(self, m: Moving) -> list[Scalar]:
        """J nu."""
        raise NotImplementedError

    def acceleration(self, m: Moving) -> list[Scalar]:
        """J dnu + drift."""
        raise NotImplementedError

    def violation(self, m: Moving, anchor: Vector) -> list[Scalar]:
        """Zero where the constraint holds, in the axes that a user sees."""
        raise NotImplementedError

    def derivatives(
        self,
        m: Moving,
        columns: PerBody[list[AxisColumns]],
        f: Vector,
        gains: Gains,
        anchor: Vector,
        reference: Vector | None,
    ) -> RowDerivatives:
        """Of acceleration + kd velocity + kp violation - reference, in axes that move with the constraint."""
        raise NotImplementedError

    def velocity_dq(self, m: Moving, columns: PerBody[list[AxisColumns]]) -> PerBody[Block]:
        """Of J nu in axes that move with the constraint: what the derivative of the residual gains for each unit of kd."""
        still = [0.0] * self.size
        with_kd, without = (self.derivatives(m, columns, still, Gains(0.0, kd), (), None).dq for kd in (1.0, 0.0))
        return {j: subtract(with_kd[j], without[j]) for j in with_kd}

    def turned(self, m: Moving, x: Vector) -> list[Scalar]:
        """From the axes that the rows are in to those that a user sees."""
        return list(x)

    def turned_back(self, m: Moving, x: Vector) -> list[Scalar]:
        return list(x)

    def turning(self, m: Moving, f: Vector) -> PerBody[Block]:
        """What the motion of each joint adds to the change of forces f, seen by a user: their axes turn."""
        return {}

    def wrench(self, m: Moving, f: Vector) -> PerBody[Force]:
        """The wrenches of forces f on bodies, in common coordinates."""
        total: PerBody[Force] = {}
        for unit, x in zip(self.units(m), f, strict=True):
            for i, w in unit.wrenches.items():
                total[i] = total[i] + w * x if i in total else w * x
        return total

    def residual(self, m: Moving, gains: Gains, anchor: Vector, reference: Vector | None) -> list[Scalar]:
        """What must vanish: acceleration + kd velocity + kp violation - reference."""
        total = self.acceleration(m)
        if gains.kd:
            total = [x + gains.kd * y for x, y in zip(total, self.velocity(m), strict=True)]
        if gains.kp:
            total = [x + gains.kp * y for x, y in zip(total, self.turned_back(m, self.violation(m, anchor)), strict=True)]
        if reference is not None:
            total = [x - y for x, y in zip(total, self.turned_back(m, reference), strict=True)]
        return total
