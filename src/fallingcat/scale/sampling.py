"""Random states of a robot, which depend on the seed alone: not on their number, the size of chunks or the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fallingcat.robot.robot import Robot, coordinate_range

Array = NDArray[np.float64]

BLOCK = 1024
"""Number of states in a block, which is drawn from a random stream of its own: (seed, number of the block)."""

NAMES = ("q", "nu", "dnu", "tau")

NO_LIMIT = 1e3
"""A limit of this size or more counts as unlimited."""


@dataclass(frozen=True)
class Sampler:
    """Draws states.

    q: joints within their limits, free ones within a turn, the base within a metre and in any orientation. nu: joints within
    their velocity limits, evenly; normal where there is none, and for the base. dnu: normal. tau: joints within their effort
    limits, normal where there is none; no wrench on the base.
    """

    robot: Robot
    seed: int

    def states(self, names: Sequence[str], start: int, stop: int) -> dict[str, Array]:
        """The states with the numbers start to stop - 1, which need not be at the borders of blocks."""
        first, last = start // BLOCK, -(-stop // BLOCK)
        blocks = [self._block(k) for k in range(first, last)]
        cut = slice(start - first * BLOCK, stop - first * BLOCK)
        whole = {
            name: np.concatenate([block[name] for block in blocks]) if blocks else self._block(0)[name][:0] for name in names
        }
        return {name: np.ascontiguousarray(values[cut]) for name, values in whole.items()}

    def _block(self, k: int) -> dict[str, Array]:
        robot, rng = self.robot, np.random.default_rng([self.seed, k])
        base = robot.nv - robot.n
        nu, dnu, tau = (rng.normal(size=(BLOCK, robot.nv)) for _ in range(3))
        even = rng.uniform(-1.0, 1.0, size=(2, BLOCK, robot.n))
        _within(nu[:, base:], even[0], robot.velocity_limits)
        _within(tau[:, base:], even[1], robot.effort_limits)
        tau[:, :base] = 0.0
        return {"q": self._configurations(rng), "nu": nu, "dnu": dnu, "tau": tau}

    def _configurations(self, rng: np.random.Generator) -> Array:
        """A block of random configurations, (BLOCK, nq), distributed as those of `Robot.random_configuration`."""
        q = np.empty((BLOCK, self.robot.nq))
        for body in self.robot.model.bodies:
            if body.mimics:
                continue
            lower, upper = coordinate_range(body.limits) if body.joint.nq == 1 else (-1.0, 1.0)
            q[:, body.q_at : body.q_at + body.joint.nq] = rng.uniform(lower, upper, size=(BLOCK, body.joint.nq))
            at = body.joint.quaternion_at
            if at is not None:
                x = rng.normal(size=(BLOCK, 4))
                q[:, body.q_at + at : body.q_at + at + 4] = x / np.sqrt((x * x).sum(axis=1, keepdims=True))
        return q


def _within(values: Array, even: Array, limits: Array) -> None:
    """Where there are limits, replace normal numbers in `values` by uniform ones within them."""
    for k, limit in enumerate(limits.tolist()):
        if 0.0 < limit < NO_LIMIT:
            values[:, k] = limit * even[:, k]
