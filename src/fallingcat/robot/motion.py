"""The methods of a robot for motions: rollouts, and the base that follows from the shape (paper 003, Sec. V-3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.arrays.arguments import real_array
from fallingcat.arrays.non_numpy import deferrable, library
from fallingcat.arrays.singular_states import HINT
from fallingcat.control.drive import Controller
from fallingcat.control.rollout import Controls, Samples, rollout, step_length
from fallingcat.control.simulate import simulate
from fallingcat.errors import InputError, SingularError
from fallingcat.functions import what_is_singular
from fallingcat.motion import Trajectory, reconstruction, spline
from fallingcat.motion.trajectory import check_times
from fallingcat.robot.runner import Part, Wrenches
from fallingcat.text import shown

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]
Shapes = ArrayLike | Callable[[Array], Any]
"""Samples (times, nq - 7), or a function of times that gives shapes, their velocities and accelerations."""


CLOSE = 1e-6
"""Largest difference of shapes that count as the same."""


class Motions(Part):
    """The part of `Robot` that is about motions."""

    def rollout(
        self, q: ArrayLike, nu: ArrayLike, controls: Controls, dt: float, method: str = "euler", every: int = 1, *,
        steps: int | None = None, wrenches: Wrenches | None = None,
    ) -> Trajectory:  # fmt: skip
        """Many steps in time: a trajectory of the first state and of those after every, 2 every, ... steps of length dt.

        q, nu: the first state; leading axes are robots, which move side by side.
        controls: (..., T, nv) for T steps, base wrench first, or (..., T, m) inputs u, each held during its step as in `step`;
        or a feedback (q, nu, t) -> tau, a Python function over the leading axes of q and nu or one of `fc.compile` with
        arguments among q, nu and t (one entry), which is asked at the start of each of `steps` steps. It may not write to q
        and nu, and copies what it keeps: with every > 1 their memory is used again.
        method: as in `step`: the states are those of a loop over `step` to the last bit.
        wrenches: as in `step`, held during all steps.

        dnu are the accelerations in the states under the torques from there on; at the end, the last controls are held.

        Arguments of Dask stay lazy and those of xarray labelled: then .t .q .nu .dnu are arrays of theirs (`Rolled`).
        """
        robot = cast("Robot", self)
        h = step_length(dt)
        made = self._rollout(q, nu, controls, h, method, every, steps, wrenches)
        t: Array = h * (every * np.arange(made.q.shape[-2], dtype=np.float64))
        if type(made.q) is not np.ndarray:
            return Rolled.labelled(t, made)  # type: ignore[return-value]
        _refuse_non_finite(robot, made, t)
        return Trajectory(robot, t, *made)

    def simulate(
        self, q: ArrayLike, nu: ArrayLike, t: ArrayLike, controller: Controller | None = None, rtol: float = 1e-9, *,
        wrenches: Wrenches | None = None,
    ) -> Trajectory:  # fmt: skip
        """The motion from a state on, to a tolerance: steps of the length that it takes (Dormand and Prince 5(4), on the group).

        q, nu: the state at the first time; leading axes are robots, which share their steps.
        t: times (times,), increasing, at which states are returned; or one number, the end of a motion that starts at 0, with
        the states at the ends of all steps.
        controller: (q, nu, t) -> tau, at every stage of every step, as the feedback of `rollout`; without it no torques act.
        rtol: error of a step: m or rad in coordinates, relative to 1 + |nu| in velocities. Errors of steps add up.
        """
        robot = cast("Robot", self)
        times = real_array("simulate: t", t)
        end = times.ndim == 0
        times = check_times([0.0, float(times)] if end else times)
        found, states = simulate(robot, q, nu, times, controller, rtol, wrenches, own_times=end)
        return Trajectory(robot, found, *states)

    @deferrable
    def _rollout(
        self, q: ArrayLike, nu: ArrayLike, controls: Controls, dt: float, method: str, every: int, steps: int | None,
        wrenches: Wrenches | None = None,
    ) -> Samples:  # fmt: skip
        return rollout(cast("Robot", self), q, nu, controls, dt, method, every, steps, wrenches)

    def reconstruct(
        self, q0: ArrayLike, shapes: Shapes, times: ArrayLike, momentum: ArrayLike = 0, tolerance: float = 1e-10
    ) -> Trajectory:
        """The motion of a free robot whose shape moves as given: its base follows from the connection (paper 003, Sec. V-3).

        q0: the first configuration: where the base starts.
        shapes: joint coordinates (times, nq - 7), between which a spline is laid, or a function of times (k,) that gives
        shapes (k, nq - 7), their velocities and their accelerations (k, n).
        times: (times,), increasing.
        momentum: about the origin of the world and in its axes, (6,), as `momentum_map` gives it; 0 for none. It stays
        constant: gravity does not act, or all is seen from a frame that falls freely.
        tolerance: how well the pose of the base is known, m or rad.

        `.holonomy` of the result is where the path leaves the base.
        """
        robot = cast("Robot", self)
        t, path = _path(robot, shapes, times)
        p, off = _momentum(momentum), _tolerance(tolerance)
        q = reconstruction.converged(robot, path, t, _start(robot, q0, path, t), p, off)
        motion = path(t)
        H = robot.split(q)[0]
        mu = None if p is None else np.linalg.solve(robot.locked_inertia(q), reconstruction.to_base(H, p)[..., None])[..., 0]
        nu = np.concatenate([robot.base_velocity(q, motion.ds, mu), motion.ds], axis=1)
        a = robot.base_acceleration(q, nu, motion.dds)
        a[:, :3] -= np.einsum("kji,j->ki", H[:, :3, :3], robot.gravity)  # seen from the falling frame
        return Trajectory(robot, t, q, nu, np.concatenate([a, motion.dds], axis=1))

    def area_estimate(self, shapes: Shapes, times: ArrayLike) -> Array:
        """An estimate of where a closed path of shapes leaves the base without momentum, as a twist (6,) in the base's frame.

        It is -integral of the curvature over the cone from the first shape to the path. The logarithm of the holonomy,
        `difference(q[0], q[-1])[:6]` of the reconstruction, differs from it in the third order of the size of the loop.
        """
        robot = cast("Robot", self)
        t, path = _path(robot, shapes, times)
        off = float(np.abs(robot.difference(_first(robot, path, t), _first(robot, path, t[-1:]))).max())
        if off > CLOSE:
            raise InputError("the path of shapes is not closed", expected="the first shape at the end", got=f"off by {off:.3g}")
        return reconstruction.area_integral(robot, path, t)


class Rolled(NamedTuple):
    """A rollout of arrays that are not NumPy's: what a `Trajectory` holds, as arrays of Dask or xarray."""

    t: Any
    """(times,)"""
    q: Any
    """(..., times, nq)"""
    nu: Any
    """(..., times, nv)"""
    dnu: Any
    """(..., times, nv)"""

    @classmethod
    def labelled(cls, t: Array, made: Any) -> Rolled:
        """The result, with times as coordinates if the arrays are of xarray."""
        if library(made.q) != "xarray":
            return cls(t, *made)
        parts: list[Any] = [x.assign_coords(time=("time", t, {"units": "s"})) for x in made]
        return cls(parts[0].coords["time"].rename("t"), *parts)


def _refuse_non_finite(robot: Robot, made: Samples, t: Array) -> None:
    """Raise where a motion is not finite, and say when, and at which joint if the mass matrix is singular there."""
    non_finite = ~np.isfinite(made.nu).all(axis=-1) | ~np.isfinite(made.q).all(axis=-1) | ~np.isfinite(made.dnu).all(axis=-1)
    if not non_finite.any():
        return
    *which, first = min(map(tuple, np.argwhere(non_finite).tolist()), key=lambda at: at[-1])
    robots = non_finite.any(axis=-1)
    whose = f", of {int(robots.sum())} robots of {robots.size}, first of [{', '.join(map(str, which))}]" if which else ""
    q = made.q[(*which, first)]
    singular = what_is_singular(robot.model, q.tolist()) if np.isfinite(q).all() else ""
    if singular:
        raise SingularError(f"rollout: the mass matrix is singular from {t[first]:.6g} s on{whose}", got=singular, hint=HINT)
    raise InputError(
        f"rollout: the motion is not finite from {t[first]:.6g} s on{whose}", expected="a motion that stays finite",
        hint="a smaller dt, method='rk4', smaller gains, or controls without NaN",
    )  # fmt: skip


def _path(robot: Robot, shapes: Shapes, times: ArrayLike) -> tuple[Array, reconstruction.Path]:
    """The checked times, and a function from times to shapes with velocities and accelerations."""
    if not robot.floating:
        raise InputError("a fixed base does not move, whatever the shape does", hint="load the robot with floating=True")
    t = check_times(times)
    if len(t) < 2:
        raise InputError("a motion takes two times or more", got=str(len(t)))
    if callable(shapes):
        return t, _checked(robot, shapes)
    s = real_array("shapes", shapes)
    if s.shape != (len(t), robot.nq - 7):
        raise InputError("shapes do not fit", expected=f"({len(t)}, {robot.nq - 7}): a shape for each time", got=str(s.shape))
    samples = Trajectory.from_samples(robot, t, reconstruction.configurations(robot, s))

    def path(x: Array) -> reconstruction.Motion:
        q, nu, dnu = spline.interpolate(robot, samples.t, spline.States(samples.q, samples.nu, samples.dnu), x)
        return reconstruction.Motion(q[:, 7:], nu[:, 6:], dnu[:, 6:])

    return t, path


def _checked(robot: Robot, shapes: Callable[[Array], Any]) -> reconstruction.Path:
    """A user's function of times, with checks of its results."""
    sizes = robot.nq - 7, robot.n, robot.n

    def path(x: Array) -> reconstruction.Motion:
        found = shapes(x)
        if not isinstance(found, Iterable):
            expected = "shapes, velocities and accelerations"
            raise InputError("the function of shapes does not fit", expected=expected, got=shown(found))
        parts = tuple(real_array("the result of the function of shapes", part) for part in found)
        if [part.shape for part in parts] != [(len(x), size) for size in sizes]:
            expected = ", ".join(f"({len(x)}, {size})" for size in sizes) + ": shapes, velocities, accelerations"
            raise InputError("the function of shapes does not fit", expected=expected, got=str([part.shape for part in parts]))
        return reconstruction.Motion(*parts)

    return path


def _start(robot: Robot, q0: ArrayLike, path: reconstruction.Path, t: Array) -> Array:
    """The first configuration, checked to have the shape at the start of the path."""
    q = robot.configuration(*robot.split(q0))  # also checks it
    off = float(np.abs(robot.difference(reconstruction.configurations(robot, q[..., 7:]), _first(robot, path, t))).max())
    if q.ndim != 1 or off > CLOSE:
        got = f"they differ by {off:.3g}"
        raise InputError("the joints of q0 are not the first shape of the path", expected="joints as in the first shape", got=got)
    return q


def _first(robot: Robot, path: reconstruction.Path, t: Array) -> Array:
    return np.asarray(reconstruction.configurations(robot, path(t[:1]).s)[0])


def _momentum(momentum: ArrayLike) -> Array | None:
    """The momentum as an array (6,); None where there is none."""
    p = real_array("momentum", momentum)
    if p.shape not in ((), (6,)) or (p.ndim == 0 and p != 0.0) or not np.all(np.isfinite(p)):
        expected = "0, or (6,): linear and angular, about the origin of the world"
        raise InputError("the momentum does not fit", expected=expected, got=repr(momentum))
    return p if p.any() else None


def _tolerance(tolerance: Any) -> float:
    try:
        found = float(tolerance)
    except (TypeError, ValueError):
        found = math.nan
    if not (math.isfinite(found) and found > 0.0):
        raise InputError("reconstruct: the tolerance does not fit", expected="a positive number", got=shown(tolerance))
    return found
