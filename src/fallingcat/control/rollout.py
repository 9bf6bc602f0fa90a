"""Rollouts of a robot, or of a batch of robots: the loop in time, with all memory allocated before the first step."""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.arrays.arguments import real_array
from fallingcat.arrays.non_numpy import library, refuse_non_numpy
from fallingcat.choices import check_choice
from fallingcat.control import drive as drives
from fallingcat.control.march import METHODS, March
from fallingcat.control.steps import Motion, Step, prepared, task_of
from fallingcat.errors import InputError
from fallingcat.text import shown

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot
    from fallingcat.robot.runner import Wrenches

Array = NDArray[np.float64]
Controls = ArrayLike | drives.Controller


class Samples(NamedTuple):
    """States along a motion, and the accelerations at these states."""

    q: Array
    """(..., times, nq)"""
    nu: Array
    """(..., times, nv)"""
    dnu: Array
    """(..., times, nv): under the torques that are applied from that time on."""


def rollout(
    robot: Robot, q: ArrayLike, nu: ArrayLike, controls: Controls, dt: float, method: str = "euler", every: int = 1,
    steps: int | None = None, wrenches: Wrenches | None = None,
) -> Samples:  # fmt: skip
    """The states after every, 2 every, ... steps, the first state before them; see `Robot.rollout`."""
    check_choice("method", method, METHODS)
    _, kept = step_counts(controls, every, steps)
    h = step_length(dt)
    motion, drive = _driven(robot, q, nu, controls, h, wrenches)
    return _march(motion, drive, method, h, kept, every)


def _march(motion: Motion, drive: drives.Drive, method: str, h: float, kept: int, every: int) -> Samples:
    """Run the loop. States that are kept are written to their final place, those in between alternately to two buffers."""
    march = March(motion, method)
    stay = _States(kept + 1, motion, march)
    between = _States(2 if every > 1 else 0, motion, march)
    A = np.empty((kept + 1, *motion.nu.shape))
    rates = A.reshape(kept + 1, *march.rows, A.shape[-1])
    stay.q[0], stay.nu[0] = motion.q, motion.nu
    here, step = stay.at(0), 0
    for k in range(kept):
        for i in range(every):
            there = stay.at(k + 1) if i == every - 1 else between.at(i % 2)
            drive.at(step, here.q, here.nu, step * h)
            march.step(here.q_row, here.nu_row, there.q_row, there.nu_row)
            if i == 0:
                rates[k] = march.acceleration
            here, step = there, step + 1
    drive.at(step, here.q, here.nu, step * h)
    march.start(here.q_row, here.nu_row)
    rates[kept] = march.acceleration
    return Samples(*(np.moveaxis(x, 0, -2) for x in (stay.q, stay.nu, A)))


class _State(NamedTuple):
    """One state of all robots: as rows to write to, and as the read-only views that a feedback gets."""

    q_row: Array
    nu_row: Array
    q: Array
    nu: Array


class _States:
    """Memory for `count` states of all robots."""

    def __init__(self, count: int, motion: Motion, march: March) -> None:
        self.q, self.nu = np.empty((count, *motion.q.shape)), np.empty((count, *motion.nu.shape))
        self._rows = [x.reshape(count, *march.rows, x.shape[-1]) for x in (self.q, self.nu)]
        self._read_only = self.q.view(), self.nu.view()
        for x in self._read_only:
            x.flags.writeable = False

    def at(self, k: int) -> _State:
        (q_row, nu_row), (q, nu) = self._rows, self._read_only
        return _State(q_row[k], nu_row[k], q[k], nu[k])


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


def step_counts(controls: Any, every: Any, steps: Any) -> tuple[int, int]:
    """The number of steps, and the number of states after the first that are kept."""
    number = _positive_integer("every", every)
    if library(controls) and not isinstance(getattr(controls, "shape", None), tuple):
        raise InputError("rollout: controls are not an array", expected="an array of Dask or xarray", got=type(controls).__name__)
    if callable(controls):
        if steps is None:
            hint = "robot.rollout(q, nu, feedback, dt, steps=1000)"
            raise InputError("rollout: a feedback does not say how many steps there are", expected="steps=", hint=hint)
        count = _positive_integer("steps", steps)
    else:
        shape = controls.shape if library(controls) else real_array("rollout: controls", controls).shape
        if len(shape) < 2:
            expected = "(..., steps, nv), or a feedback (q, nu, t) -> tau"
            raise InputError("rollout: controls have the wrong shape", expected=expected, got=str(shape))
        count = shape[-2] if steps is None else _positive_integer("steps", steps)
        if count > shape[-2]:
            raise InputError("rollout: there are fewer controls than steps", expected=f"{count} steps", got=str(shape[-2]))
    if count < number:
        raise InputError("rollout: no state would be kept", expected=f"{number} steps or more", got=f"{count} of them")
    return count, count // number


def _positive_integer(name: str, value: Any) -> int:
    try:
        number = 0 if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise InputError(f"rollout: {name} is not a number of steps", expected="a whole number, 1 or more", got=shown(value))
    return number


def step_length(dt: Any, where: str = "rollout") -> float:
    """dt as one positive number: all robots have the same time step."""
    if type(dt) is not float:
        refuse_non_numpy(where, "dt", dt)
    try:
        h = float(dt)
    except (TypeError, ValueError):
        h = math.nan
    if not (math.isfinite(h) and h > 0.0):
        raise InputError(f"{where}: dt is not a time", expected="one positive number, in seconds", got=shown(dt))
    return h


def _driven(robot: Robot, q: Any, nu: Any, controls: Any, h: float, wrenches: Any) -> tuple[Motion, drives.Drive]:
    """The motion at its start, broadcast to all robots, and the drive of its torques."""
    if callable(controls):
        motion = start(robot, "rollout", q, nu, h, wrenches)
        tau, inputs, drive = drives.feedback(robot, "rollout", controls, motion.q, motion.nu, 0.0)
    else:
        torques = real_array("rollout: controls", controls)
        motion = start(robot, "rollout", q, nu, h, wrenches, torques.shape[:-2])
        tau, inputs, drive = drives.open_loop(robot, "rollout", torques, motion.nu.shape[:-1])
    return replace(motion, tau=tau, inputs=inputs), drive


def start(robot: Robot, where: str, q: Any, nu: Any, h: float, wrenches: Any, leading: tuple[int, ...] = ()) -> Motion:
    """A motion with checked arguments and all robots in its leading axes; its torques are still zero."""
    forces = None if wrenches is None else robot._on_bodies(where, wrenches)
    task, values, _ = task_of(robot, where, (q, nu, np.zeros((*leading, robot.nv))), forces, Step)
    _, motion = prepared(robot, task, values, forces, {}, h, None, derivatives=False)
    robots = np.broadcast_shapes(np.shape(q)[:-1], np.shape(nu)[:-1], leading)
    if motion.nu.shape[:-1] != robots:  # else an axis of times would be taken for one of robots
        raise InputError(
            f"{where}: wrenches have more axes than there are robots", expected=f"(6,), or {(*robots, 6)}, held all the time",
            got=f"wrenches for {motion.nu.shape[:-1]} robots", hint="for wrenches that change, call step in a loop",
        )  # fmt: skip
    robot.integrate(motion.q, np.zeros(robot.nv))  # refuses quaternions that are not of unit length
    return motion
