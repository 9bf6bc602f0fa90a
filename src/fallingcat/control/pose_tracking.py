"""The acceleration with which a frame tracks a moving pose: feedback on SE(3) for task-space control."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.choices import check_floating
from fallingcat.control.pose_errors import error, numbers
from fallingcat.errors import InputError

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]
WHO = "track_pose"


def track_pose(
    robot: Robot,
    q: ArrayLike,
    nu: ArrayLike,
    frame: str,
    pose: ArrayLike,
    rate: ArrayLike,
    twist: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
) -> Array:
    """The acceleration a (..., 6) of a frame that leads it to a pose H_d (..., 4, 4) in the world: for `robot.task_space_torque`.

    twist, acceleration (..., 6): V_d, body-fixed in the pose that is followed, and the rate of its numbers; zero if not given.
    rate: k in 1/s, a number or one for each of the six directions. With E = H_d^-1 H, e = log(E), g = Jr(e)^-T k^2 e and
    V_e = V - Ad(E^-1) V_d,

        a = Ad(E^-1) a_d - [V_e, Ad(E^-1) V_d] - 2 k V_e - g

    makes (|V_e|^2 + |k e|^2) / 2 fall with 2 <V_e, k V_e>: critically damped near the pose, and from all poses but those half a
    turn away.
    All twists are body-fixed in the frame. Leading axes are batches.

    >>> a = fc.track_pose(robot, q, nu, "hand", H_d, rate=3.0)
    >>> tau = robot.task_space_torque(q, nu, a, np.zeros(robot.n), "hand")
    """
    check_floating(WHO, robot.floating)
    k = numbers(WHO, "rate", rate, "a number above zero, in 1/s, or six of them", positive=True)
    if k.shape not in ((), (6,)):
        raise InputError(f"{WHO}: rate does not fit", expected="a number or six of them", got=f"an array of the shape {k.shape}")
    V_d = np.zeros(6) if twist is None else numbers(WHO, "twist", twist, "(..., 6)", (6,))
    a_d = np.zeros(6) if acceleration is None else numbers(WHO, "acceleration", acceleration, "(..., 6)", (6,))
    H_d = numbers(WHO, "pose", pose, "(..., 4, 4)", (4, 4))
    H, V = robot.frame_pose(q, frame), robot.frame_velocity(q, nu, frame)
    _, s = robot.split(robot.neutral())
    there, here = robot.configuration(H_d, s), robot.configuration(H, s)  # as poses of the base, so that `error` applies
    _, g = error(robot, there, here, k**2)
    X = _adjoint(np.asarray(np.linalg.solve(H, H_d), dtype=np.float64))  # Ad(E^-1)
    V_d, a_d = (X @ V_d[..., None])[..., 0], (X @ a_d[..., None])[..., 0]
    V_e = V - V_d
    return np.asarray(a_d - _bracket(V_e, V_d) - 2.0 * k * V_e - g)


def _adjoint(H: Array) -> Array:
    """Ad(H), for (linear; angular)."""
    R, o = H[..., :3, :3], H[..., :3, 3]
    X = np.zeros((*H.shape[:-2], 6, 6))
    X[..., :3, :3] = X[..., 3:, 3:] = R
    X[..., :3, 3:] = np.cross(o[..., None, :], R, axisb=-2, axisc=-2)
    return X


def _bracket(x: Array, y: Array) -> Array:
    """ad_x y."""
    linear = np.cross(x[..., 3:], y[..., :3]) + np.cross(x[..., :3], y[..., 3:])
    return np.concatenate([linear, np.cross(x[..., 3:], y[..., 3:])], axis=-1)
