"""The plan: the gait of least effort that turns the cat over.

    minimise    1/2 integral of dds^T L dds  +  a barrier at the joints' limits     over the coefficients c of the gait
    such that   the gait leaves a half turn about the long axis

L is the shape inertia of the tucked cat, so that little effort means small torques. The curvature of the connection chooses the
start, a circle around an area that is estimated to give the half turn, and the exact gradient of the rotation (see `holonomy`);
differences of the gradient give second derivatives for Newton's method. It is deterministic: every run gives the same gait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.cat.gait import Gait, circle, directions
from fallingcat.apps.cat.holonomy import area_integral, curvature, holonomy_gradient, log
from fallingcat.errors import FallingCatError
from fallingcat.motion.reconstruction import configurations, connection
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

HALF_TURN = np.diag([1.0, -1.0, -1.0])
INTERVALS = 120
MOST_STEPS = 40
LONGEST_STEP = 0.3
"""The longest step of a coefficient, rad."""
CLOSE_ENOUGH = 1e-7
"""The search ends when a step is shorter, rad."""
LEAST_INERTIA = 1e-3
"""Inertia that is added to the shape inertia, kg m^2, as otherwise whirling the light tail would cost almost nothing."""
BARRIER, POWER, MARGIN = 30.0, 8, 0.95
"""Weight and power of the barrier, and the fraction of the joints' range at which it equals its weight."""


BACKWARD = 0.9
"""Upper bound of the waist's bend for the barrier, rad: cats do not like to bend backward."""


@dataclass(frozen=True)
class Plan:
    """A gait, and how it was found."""

    gait: Gait
    first: Gait
    """The circle that the search started from."""
    costs: tuple[float, ...]
    misses: tuple[float, ...]
    """How far the rotation is from the half turn after each step, rad."""
    estimate: Array
    """The rotation vector of the gait by the area integral of the curvature, (3,)."""


def plan(robot: Robot, progress: Callable[[str], None] = lambda what: None) -> Plan:
    """Find the gait."""
    problem = Problem.of(robot)
    first = circle(robot, area_law_radius(robot))
    c = first.coefficients
    costs, misses = [], []
    for k in range(MOST_STEPS):
        progress(f"planning, step {k + 1}")
        cost, miss, step = problem.step(c)
        costs.append(cost)
        misses.append(float(np.linalg.norm(miss)))
        size = float(np.abs(step).max())
        c = c + step * min(1.0, LONGEST_STEP / size)
        if size < CLOSE_ENOUGH:
            gait = replace(first, coefficients=c)
            return Plan(gait, first, tuple(costs), tuple(misses), area_integral(robot, gait.at, "rear"))
    raise FallingCatError(f"no gait found in {MOST_STEPS} steps: off by {np.degrees(misses[-1]):.3g} degrees")


def area_law_radius(robot: Robot) -> float:
    """The radius of a circle of the waist that would turn the tucked cat by pi, were the curvature the same all over it."""
    s = circle(robot, 0.0).at(np.array([0.5])).s
    bend, side = robot.joint_names.index("waist_bend"), robot.joint_names.index("waist_side")
    return float(1.0 / np.sqrt(np.abs(curvature(robot, s)[0, 0, bend, side])))


def comfort(robot: Robot) -> tuple[Array, Array]:
    """The range in which the barrier keeps the joints: their limits, and less for the waist."""
    lower, upper = robot.position_limits.T
    upper[robot.joint_names.index("waist_bend")] = BACKWARD
    return lower, upper


@dataclass(frozen=True)
class Problem:
    """What is minimised and what has to hold, as functions of the coefficients."""

    robot: Robot
    gait: Gait
    """Any gait of the robot: only its form is used."""
    x: Array
    directions: Array
    """(points, n, m): derivatives of the shapes by the coefficients."""
    K: Array
    g: Array
    """The effort is c^T K c / 2 + g^T c + constant."""

    @classmethod
    def of(cls, robot: Robot) -> Problem:
        """The optimisation problem for a cat."""
        x = np.linspace(0.0, 1.0, INTERVALS + 1)
        still = circle(robot, 0.0)
        moved = directions(robot.joint_names, x)
        tucked = still.at(np.array([0.5])).s
        M, A = robot.mass_matrix(configurations(robot, tucked))[0], connection(robot, tucked)[0]
        L = M[6:, 6:] - A.T @ M[:6, 6:] + LEAST_INERTIA * np.eye(robot.n)
        K = np.einsum("kia,ij,kjb->ab", moved.dds, L, moved.dds) / INTERVALS
        g = np.einsum("kia,ij,kj->a", moved.dds, L, still.at(x).dds) / INTERVALS
        return cls(robot, still, x, moved.s, K, g)

    def step(self, c: Array) -> tuple[float, Array, Array]:
        """Cost and miss at c, and Newton's step: onto the constraint, and along it to where the cost is stationary."""
        cost, slope, H = self.cost(c)
        miss, J = self.miss(c)
        multipliers = -np.linalg.lstsq(J.T, slope, rcond=None)[0]
        h = 1e-5  # rough second derivatives suffice: they affect the path of the search, not its result
        pulls = np.array([(self.miss(c + h * e)[1] - J).T @ multipliers / h for e in np.eye(len(c))])
        H = H + (pulls + pulls.T) / 2.0
        onto = -np.linalg.pinv(J) @ miss
        free = np.linalg.svd(J)[2][len(J) :].T
        curvatures, axes = np.linalg.eigh(free.T @ H @ free)
        down = -(free @ axes).T @ (slope + H @ onto)
        # Absolute values of the curvatures, so that the step is a descent also where the cost is not convex.
        return cost, miss, onto + free @ axes @ (down / np.maximum(np.abs(curvatures), 1e-3 * curvatures.max()))

    def cost(self, c: Array) -> tuple[float, Array, Array]:
        """Effort and barrier, their gradient and their Hessian."""
        lower, upper = comfort(self.robot)
        middle, half = (upper + lower) / 2.0, MARGIN * (upper - lower) / 2.0
        u = (replace(self.gait, coefficients=c).at(self.x).s - middle) / half
        D = self.directions / half[:, None]
        weight = BARRIER / INTERVALS
        cost = c @ self.K @ c / 2.0 + self.g @ c + weight * np.sum(u**POWER) / POWER
        slope = self.K @ c + self.g + weight * np.einsum("ki,kia->a", u ** (POWER - 1), D)
        return float(cost), slope, self.K + weight * np.einsum("kia,ki,kib->ab", D, (POWER - 1) * u ** (POWER - 2), D)

    def miss(self, c: Array) -> tuple[Array, Array]:
        """How far the rotation is from the half turn in roll and pitch, (2,), and its derivative. Symmetry keeps the heading."""
        path = replace(self.gait, coefficients=c).at
        R, J = holonomy_gradient(self.robot, path, self.directions, self.x)
        return log(R @ HALF_TURN.T)[:2], J[:2]
