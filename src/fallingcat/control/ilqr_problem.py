"""The problem that `fc.ilqr` solves: a robot, its first state, the cost, and the limits of the controls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.arrays.arguments import real_array
from fallingcat.choices import check_choice
from fallingcat.control.bounded import half_squared
from fallingcat.control.march import METHODS
from fallingcat.control.riccati import matrix, weight
from fallingcat.control.rollout import start, step_length
from fallingcat.control.steps import generalized
from fallingcat.errors import InputError
from fallingcat.text import shown

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """An optimal control problem with T steps and m controls."""

    robot: Robot
    """Its inputs are the controls."""
    q: Array
    nu: Array
    controls: Array
    """(T, m): the initial guess."""
    dt: float
    method: str
    goal_q: Array
    """(T + 1, nq)"""
    goal_nu: Array
    """(T + 1, nv)"""
    Q: Array
    """(T + 1, 2nv, 2nv): the weights of the state at every time; the last is that of the final state."""
    R: Array
    reference: Array
    """(T, m): the controls that cost nothing; the limits have the same shape."""
    lower: Array
    upper: Array

    def costs(self, q: Array, nu: Array, u: Array) -> Array:
        """The costs (motions,) of several motions with states (T + 1, motions, ...) and controls (T, motions, m)."""
        z = self.robot.state_minus(self.goal_q[:, None], self.goal_nu[:, None], q, nu)
        of_states = half_squared(z, self.Q)
        of_controls = half_squared(u - self.reference[:, None], self.R)
        return np.asarray(of_states.sum(axis=0) + of_controls.sum(axis=0))


def problem_of(
    robot: Robot, q: Any, nu: Any, controls: Any, dt: Any, target: Any, Q: Any, R: Any, Q_final: Any, method: Any, limits: Any,
    reference: Any,
) -> Problem:  # fmt: skip
    """The problem that the arguments of `fc.ilqr` describe, after checking them."""
    check_choice("method", method, METHODS)
    h, u = step_length(dt, "ilqr"), real_array("ilqr: controls", controls)
    if u.ndim != 2 or not u.size or u.shape[1] not in (robot.m, robot.nv):
        expected = f"(steps, {robot.m}), or (steps, {robot.nv}): generalized forces"
        raise InputError("ilqr: controls have the wrong shape", expected=expected, got=str(u.shape))
    _, kind = generalized(robot, "ilqr", u)
    if kind.get("inputs") == "tau" or u.shape[1] != robot.m:  # generalized forces become inputs, so that B has their columns
        robot = robot.with_actuation(np.eye(robot.nv))
    (T, m), nq, nv = u.shape, robot.nq, robot.nv
    u = np.array(_shaped("controls", u, (T, m)))
    q, nu = np.array(_shaped("q", q, (nq,))), np.array(_shaped("nu", nu, (nv,)))
    start(robot, "ilqr", q, nu, h, None)  # refuses quaternions that are not of unit length
    weights = np.tile(_weight("Q", Q, 2 * nv), (T + 1, 1, 1))
    if Q_final is not None:
        weights[-1] = _weight("Q_final", Q_final, 2 * nv)
    rest = np.zeros(m) if reference is None else _shaped("reference", reference, (m,), (T, m))
    return Problem(
        robot, q, nu, u, h, method, *_target(robot, target, T, h), weights, _weight("R", R, m, positive=True),
        np.broadcast_to(rest, (T, m)), *_limits(limits, u),
    )  # fmt: skip


def _shaped(name: str, value: Any, *shapes: tuple[int, ...], infinite: bool = False) -> Array:
    x = real_array(f"ilqr: {name}", value)
    if x.shape not in shapes:
        expected = " or ".join(str(shape) if shape else "a number" for shape in shapes)
        raise InputError(f"ilqr: {name} has the wrong shape", expected=expected, got=str(x.shape))
    if np.isnan(x).any() or (np.isinf(x).any() and not infinite):
        raise InputError(f"ilqr: {name} is not finite", expected="finite numbers")
    return x


def _weight(name: str, value: Any, size: int, positive: bool = False) -> Array:
    x = matrix("ilqr", name, value)
    if x.shape != (size, size):
        raise InputError(f"ilqr: {name} has the wrong shape", expected=str((size, size)), got=str(x.shape))
    return weight("ilqr", name, x, positive)


def _limits(limits: Any, u: Array) -> tuple[Array, Array]:
    """The lower and upper limits, (T, m) each; refused unless the controls u lie between them."""
    try:
        pair = (-np.inf, np.inf) if limits is None else limits
        low, high = pair
    except (TypeError, ValueError):
        raise InputError("ilqr: limits do not fit", expected="(lower, upper) of the controls", got=shown(limits)) from None
    lower, upper = (
        np.broadcast_to(_shaped(f"the {name} limit", x, (), u.shape[1:], u.shape, infinite=True), u.shape)
        for name, x in (("lower", low), ("upper", high))
    )
    for bad, what in (
        (lower > upper, "lower limits exceed upper ones"),
        ((u < lower) | (u > upper), "controls are outside of the limits"),
    ):
        if bad.any():
            k, i = (int(x) for x in np.argwhere(bad)[0])
            got = f"controls[{k}, {i}] = {u[k, i]:.6g} with limits {lower[k, i]:.6g} and {upper[k, i]:.6g}"
            raise InputError(f"ilqr: {what}", expected="lower <= controls <= upper", got=got)
    return lower, upper


def _target(robot: Robot, target: Any, T: int, dt: float) -> tuple[Array, Array]:
    """The target as arrays: q (T + 1, nq) and nu (T + 1, nv)."""
    times = getattr(target, "t", None)
    try:
        q, nu = target if times is None else (target.q, target.nu)
    except (TypeError, ValueError, AttributeError):
        expected = f"a state (q, nu), {T + 1} of them, or an fc.Trajectory"
        raise InputError("ilqr: target does not fit", expected=expected, got=shown(target)) from None
    q = _shaped("the target's q", q, (robot.nq,), (T + 1, robot.nq))
    nu = _shaped("the target's nu", nu, (robot.nv,), (T + 1, robot.nv))
    if times is not None and np.abs(np.diff(times) - dt).max() > 1e-6 * dt:
        hint = "trajectory.resample(dt * np.arange(T + 1))"
        raise InputError(
            "ilqr: the times of the target are not those of the steps", expected=f"times {dt:.6g} s apart", hint=hint
        )
    q = robot.integrate(q, np.zeros(robot.nv))  # refuses quaternions that are not of unit length
    return np.broadcast_to(q, (T + 1, robot.nq)), np.broadcast_to(nu, (T + 1, robot.nv))
