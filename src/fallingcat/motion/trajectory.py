"""Trajectories: a robot's states at times, and the spline between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.arrays.arguments import real_array
from fallingcat.errors import InputError
from fallingcat.motion import files, spline
from fallingcat.text import shown

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A motion of a robot: times t, configurations q, velocities nu and accelerations dnu at these times.

    Leading axes of q, nu and dnu are several motions at the same times. Between the times the motion is a spline with two
    continuous derivatives that meets q, nu and dnu: `resample` gives any other times.

        traj = fc.Trajectory.from_samples(robot, t, q)      # velocities from positions
        tau = robot.inverse_dynamics(traj.q, traj.nu, traj.dnu)
    """

    robot: Robot
    t: Array
    """(times,): seconds, increasing."""
    q: Array
    """(..., times, nq)"""
    nu: Array
    """(..., times, nv): body-fixed, as everywhere."""
    dnu: Array
    """(..., times, nv)"""

    def __post_init__(self) -> None:
        t = check_times(self.t)
        q = _samples("q", self.q, len(t), self.robot.nq)
        nu, dnu = (_samples(name, getattr(self, name), len(t), self.robot.nv) for name in ("nu", "dnu"))
        if not q.shape[:-1] == nu.shape[:-1] == dnu.shape[:-1]:
            got = f"q {q.shape}, nu {nu.shape}, dnu {dnu.shape}"
            raise InputError("a trajectory's q, nu and dnu do not fit together", expected="the same leading axes", got=got)
        self.robot.difference(q[..., :1, :], q)  # refuses quaternions that are not of unit length
        for name, value in (("t", t), ("q", q), ("nu", nu), ("dnu", dnu)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @classmethod
    def from_samples(cls, robot: Robot, t: ArrayLike, q: ArrayLike, nu: ArrayLike | None = None) -> Trajectory:
        """The trajectory through configurations q (..., times, nq) at times t.

        t: seconds, increasing; they need not be evenly spaced.
        nu: velocities (..., times, nv) where they are known; otherwise they are derivatives of a polynomial through the five
        nearest samples, in the body-fixed sense, as the accelerations are.

        Rotations between two samples are taken to be less than half a turn.
        """
        times = check_times(t)
        Q = _samples("q", q, len(times), robot.nq)
        robot.difference(Q[..., :1, :], Q)  # refuses quaternions that are not of unit length
        if nu is None:
            return cls(robot, times, *spline.from_positions(robot, times, Q))
        V = _samples("nu", nu, len(times), robot.nv)
        return cls(robot, times, Q, V, spline.derivatives(times, V)[0])

    # -----------------------------------------------------------------------------------------------------------------
    # Parts, and other times

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        several = f"{self.q.shape[:-2]} motions, " if self.q.ndim > 2 else ""
        return f"<Trajectory of {self.robot.name!r}: {several}{len(self)} times from {self.t[0]:.6g} to {self.t[-1]:.6g} s>"

    def __getitem__(self, index: slice) -> Trajectory:
        """traj[a:b]: the samples a to b - 1, as in any sequence."""
        if not isinstance(index, slice):
            hint = "traj.q[..., k, :] is one sample"
            raise InputError(
                "a trajectory is sliced by its times", expected="a slice, as in traj[10:20]", got=repr(index), hint=hint
            )
        if not len(self.t[index]) or (index.step or 1) < 0:
            raise InputError("the slice has no increasing times", got=f"[{index.start}:{index.stop}:{index.step}]")
        return Trajectory(self.robot, self.t[index], *(x[..., index, :] for x in (self.q, self.nu, self.dnu)))

    def between(self, start: float, end: float) -> Trajectory:
        """The part from one time to another: the samples in between, and the spline at both ends."""
        if not start < end:
            raise InputError("between: the start is not before the end", got=f"{start!r} and {end!r}")
        inside = self.t[(self.t > start) & (self.t < end)]
        return self.resample(np.concatenate([[start], inside, [end]]))

    def resample(self, times: ArrayLike) -> Trajectory:
        """The same motion at other times, which increase and lie between the first and the last."""
        wanted = check_times(times)
        first, last = self.t[0], self.t[-1]
        slack = 1e-9 * max(last - first, 0.0)
        if wanted[0] < first - slack or wanted[-1] > last + slack:
            got = f"{wanted[0]:.9g} to {wanted[-1]:.9g} s"
            raise InputError("times outside of the trajectory", expected=f"{first:.9g} to {last:.9g} s", got=got)
        states = spline.States(self.q, self.nu, self.dnu)
        return Trajectory(self.robot, wanted, *spline.interpolate(self.robot, self.t, states, np.clip(wanted, first, last)))

    # -----------------------------------------------------------------------------------------------------------------
    # The displacement of the base

    @property
    def holonomy(self) -> Array:
        """Where the motion leaves the base as seen from where it began, H_start^-1 H_end, (..., 4, 4).

        For a closed path of shapes without momentum this depends on the path alone, not on its timing (paper 003).
        """
        H = self.robot.split(self.q[..., [0, -1], :])[0]
        return np.asarray(np.linalg.solve(H[..., 0, :, :], H[..., 1, :, :]))

    # -----------------------------------------------------------------------------------------------------------------
    # Files

    def save(self, path: str | Path) -> Path:
        """Write to a .npz, .csv or .parquet file, by its ending. Names of the robot and its joints go with it, no digit is lost.

        Parquet needs pyarrow: pip install 'fallingcat[parquet]'.
        """
        return files.save(self, _path("save", path))

    @classmethod
    def load(cls, robot: Robot, path: str | Path) -> Trajectory:
        """Read what `save` has written for this robot; a file of another robot, base or order of joints is refused."""
        if not hasattr(robot, "joint_names"):
            hint = "fc.Trajectory.load(robot, path)"
            raise InputError("Trajectory.load: not a robot", expected="a robot, then a path", got=shown(robot), hint=hint)
        return cls(robot, *files.load(robot, _path("load", path)))


def _path(method: str, path: Any) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise InputError(f"Trajectory.{method}: not a path", expected="the name of a file", got=shown(path)) from None


def check_times(value: ArrayLike) -> Array:
    """Times as an array, refused unless they increase."""
    t = np.array(real_array("a trajectory's t", value))
    if t.ndim != 1 or not len(t):
        raise InputError("a trajectory's times have the wrong shape", expected="(times,), at least one", got=str(t.shape))
    if not np.all(np.isfinite(t)) or not np.all(np.diff(t) > 0.0):
        raise InputError("a trajectory's times do not increase", expected="seconds, each later than the one before")
    return t


def _samples(name: str, value: ArrayLike, count: int, size: int) -> Array:
    x = np.array(real_array(f"a trajectory's {name}", value))
    if x.shape[-2:] != (count, size):
        raise InputError(f"a trajectory's {name} has the wrong shape", expected=f"(..., {count}, {size})", got=str(x.shape))
    if not np.all(np.isfinite(x)):
        at = int(np.argwhere(~np.isfinite(x))[0][-2])
        raise InputError(
            f"a trajectory's {name} is not finite at sample {at}", expected="finite numbers", hint="leave such samples out"
        )
    return x
