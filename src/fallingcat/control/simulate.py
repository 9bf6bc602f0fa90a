"""Simulation to a tolerance: the method of Dormand and Prince, 5(4), on the group of configurations (Munthe-Kaas 1999).

Within a step q = integrate(q0, x), and the local coordinates x move by nu = Jr(x) x', so that (x, nu) is a vector like any other:

    x' = Jr(x)^-1 nu        nu' = FD(q, nu, tau(q, nu, t))

The last stage is the rate at the end of the step, and the first stage of the next one. All robots take the same steps, whose
length the worst error determines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.control import drive as drives
from fallingcat.control.rollout import Samples, start
from fallingcat.control.steps import Motion, State
from fallingcat.errors import FallingCatError, InputError
from fallingcat.text import shown

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot
    from fallingcat.robot.runner import Wrenches

Array = NDArray[np.float64]

NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
STAGES: tuple[tuple[float, ...], ...] = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
"""The coefficients of stages 2 to 7; the last row is the step of fifth order."""
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
"""The coefficients of the step of fifth order minus those of fourth order."""

TIGHTEST, LOOSEST = 1e-13, 1e-2
"""The range of tolerances: below it rounding dominates, above it the error estimate is no longer reliable."""
LARGEST_TURN = 1.0
"""Largest rotation of a joint or the base in a step, in radians: local coordinates are singular at a full turn."""
MOST_STEPS = 10**6
"""The largest number of steps of one simulation."""


class Point(NamedTuple):
    """A state at a time, and its acceleration."""

    t: float
    q: Array
    nu: Array
    a: Array


def simulate(
    robot: Robot, q: ArrayLike, nu: ArrayLike, times: Array, controller: Any, rtol: float, wrenches: Wrenches | None,
    own_times: bool,
) -> tuple[Array, Samples]:  # fmt: skip
    """The times, and the states at them: those given, or the ends of all steps; see `Robot.simulate`."""
    flow = _Flow(robot, start(robot, "simulate", q, nu, 1.0, wrenches), controller, float(times[0]), _tolerance(rtol))
    points = [flow.begin()]
    h = flow.first_step(points[0])
    steps = 0
    for end in times[1:].tolist():
        here = points[-1]
        while here.t < end:
            here, h = flow.step(here, h, end)
            steps += 1
            if steps > MOST_STEPS:
                raise _cannot_go_on(here.t, f"{MOST_STEPS} steps were not enough")
            if own_times and here.t < end:
                points.append(here)
        points.append(here)
    found = Samples(*(np.stack([getattr(p, name) for p in points], axis=-2) for name in ("q", "nu", "a")))
    return np.array([p.t for p in points]), found


def _tolerance(rtol: Any) -> float:
    try:
        value = float(rtol)
    except (TypeError, ValueError):
        value = math.nan
    if not TIGHTEST <= value <= LOOSEST:
        raise InputError("simulate: rtol does not fit", expected=f"{TIGHTEST:g} to {LOOSEST:g}", got=shown(rtol))
    return value


def _cannot_go_on(t: float, why: str) -> FallingCatError:
    hint = "a controller that jumps, stiff gains, or a singular state; robot.rollout takes steps of a fixed length"
    return FallingCatError(f"simulate: cannot go on at {t:.9g} s: {why}; hint: {hint}")


class _Flow:
    """The rate of the state under the controller, and steps that keep the tolerance."""

    def __init__(self, robot: Robot, motion: Motion, controller: Any, t: float, rtol: float) -> None:
        self._robot, self._rtol, self._drive = robot, rtol, None
        if controller is not None:
            tau, inputs, self._drive = drives.feedback(robot, "simulate", controller, motion.q, motion.nu, t)
            motion = replace(motion, tau=tau, inputs=inputs)
        self._motion, self._t = motion, t
        groups = [(b.nu_at, b.joint.motions()) for b in robot.model.bodies if not b.mimics and b.joint.motions() is not None]
        self._on_groups = np.array([at + k for at, entries in groups for k in range(len(entries or ()))], dtype=np.intp)
        """Entries of nu of a floating base and of joints whose coordinates do not simply add."""
        self._turns = np.array([at + k for at, entries in groups for k, e in enumerate(entries or ()) if e >= 3], dtype=np.intp)

    def begin(self) -> Point:
        q, nu = self._motion.q, self._motion.nu
        return Point(self._t, q, nu, self._acceleration(q, nu, self._t))

    def first_step(self, x: Point) -> float:
        """A first step length, from the velocities and accelerations, whose error is about the tolerance."""
        fastest = max(float(np.abs(part).max(initial=0.0)) for part in (x.nu, x.a))
        return float(self._rtol**0.2 / max(fastest, 1.0))

    def step(self, x: Point, h: float, end: float) -> tuple[Point, float]:
        """The state after one step that meets the tolerance and does not pass the time `end`, and the length to try next."""
        while True:
            tried = min(h, self._longest(x))
            last = x.t + 1.001 * tried >= end
            tried = end - x.t if last else tried
            if x.t + tried == x.t:
                raise _cannot_go_on(x.t, "steps become shorter than the time can resolve")
            there, error = self._attempt(x, tried, end if last else x.t + tried)
            factor = min(5.0, max(0.2, 0.9 * error**-0.2)) if error > 0.0 else 0.2 if math.isnan(error) else 5.0
            if error <= 1.0:
                return there, max(h, tried * factor) if last else tried * factor
            h = tried * min(factor, 0.9)

    def _longest(self, x: Point) -> float:
        turn = float(np.abs(x.nu[..., self._turns]).max(initial=0.0))
        return LARGEST_TURN / turn if turn > 0.0 else math.inf

    def _attempt(self, x: Point, h: float, t: float) -> tuple[Point, float]:
        """One step of fifth order, and its difference from that of fourth order in units of the tolerance."""
        rates = [np.stack([x.nu, x.a])]
        for node, row in zip(NODES, STAGES, strict=True):
            dx, dnu = h * _sum(row, rates)
            q, nu = self._robot.integrate(x.q, np.ascontiguousarray(dx)), x.nu + dnu
            rates.append(np.stack([self._local(dx, nu), self._acceleration(q, nu, x.t + node * h)]))
        error = np.abs(h * _sum(ERROR, rates))
        scale = np.stack([np.ones_like(nu), 1.0 + np.maximum(np.abs(x.nu), np.abs(nu))])
        return Point(t, q, nu, rates[-1][1]), float((error / scale).max(initial=0.0)) / self._rtol

    def _local(self, x: Array, nu: Array) -> Array:
        """x' = Jr(x)^-1 nu."""
        at = self._on_groups
        if not at.size:
            return nu
        J: Array = np.asarray(self._robot.integrate_derivatives(np.ascontiguousarray(x)).dq_ddx)[..., at[:, None], at]
        rate = nu.copy()
        rate[..., at] = np.linalg.solve(J, nu[..., at, None])[..., 0]
        return rate

    def _acceleration(self, q: Array, nu: Array, t: float) -> Array:
        if self._drive is not None:
            self._drive.at(0, _read_only(q), _read_only(nu), t)
        return np.asarray(self._motion.dynamics("forward_dynamics", State(q, nu, np.zeros((0, 0)))))


def _sum(weights: Sequence[float], rates: Sequence[Array]) -> Array:
    total = weights[0] * rates[0]
    for weight, rate in zip(weights[1:], rates[1:], strict=True):
        if weight:
            total += weight * rate
    return total


def _read_only(x: Array) -> Array:
    """A read-only view of x, for a controller."""
    view = x.view()
    view.flags.writeable = False
    return view
