"""Motions as plain data: the poses of the moving bodies, frame by frame, in a compact form."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.apps.view.scene import Looks, body_poses, bounds
from fallingcat.apps.view.shape import numbers, position_and_quaternion
from fallingcat.errors import InputError
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

STILL = 1e-7
"""A body whose position (metres) and quaternion change less than this stands still."""


def animation(robot: Robot, qs: ArrayLike, times: ArrayLike, looks: Looks | None = None) -> dict[str, Any]:
    """The motion through the configurations qs (frames, nq) at times (frames,).

    "bodies" are the indices of those that move; "poses" and "times" are little-endian float32 in base64, poses as
    (frames, moving bodies, 7): position and quaternion x y z w, of which the sign does not jump.
    """
    Q, t = np.asarray(qs, dtype=float), np.asarray(times, dtype=float)
    if Q.ndim != 2 or Q.shape[1] != robot.nq or t.shape != Q.shape[:1] or not len(t):
        expected = f"qs (frames, {robot.nq}) and times (frames,)"
        raise InputError("the motion does not fit the robot", expected=expected, got=f"qs {Q.shape} and times {t.shape}")
    if not np.all(np.diff(t) > 0.0) or not np.all(np.isfinite(t)):
        raise InputError("times do not increase", expected="seconds, each later than the one before")
    poses = body_poses(robot, Q)
    x = position_and_quaternion(poses)
    moving = [k for k in range(x.shape[1]) if np.ptp(x[:, k, :3], axis=0).max() > STILL or _turns(x[:, k, 3:])]
    x[..., 3:] = _continuous(x[..., 3:])
    low, high = bounds((looks or Looks.of(robot)).shapes, poses)
    return {
        "frames": len(t),
        "bodies": moving,
        "times": _packed(t - t[0]),
        "start": float(t[0]),
        "poses": _packed(x[:, moving]),
        "bounds": [numbers(low), numbers(high)],
    }


def _turns(quaternions: Array) -> bool:
    """Does the orientation change? A quaternion and its negative are the same orientation."""
    return bool(np.min(np.abs(quaternions @ quaternions[0])) < 1.0 - STILL**1.5)


def _continuous(quaternions: Array) -> Array:
    """Quaternions (frames, bodies, 4) with signs such that consecutive ones are close."""
    dots = np.sum(quaternions[1:] * quaternions[:-1], axis=-1)
    signs = np.concatenate([np.ones_like(dots[:1]), np.where(dots < 0.0, -1.0, 1.0)]) if len(dots) else 1.0
    return np.asarray(quaternions * np.cumprod(signs, axis=0)[..., None] if len(dots) else quaternions)


def _packed(x: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(x, dtype="<f4").tobytes()).decode("ascii")
