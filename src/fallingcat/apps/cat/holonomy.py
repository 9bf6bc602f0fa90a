"""The rotation that a gait leaves, its gradient, and its estimate by the area integral, for any robot that floats freely.

`motion.reconstruction` has the connection, the reconstruction and the area integral. On top of it, one more fact about the
curvature B of the connection: a change delta of a path, its ends held, changes the end by

    dH H^-1 = integral of Ad(H) B(ds, delta),  exactly.

The area integral serves to choose a gait, and this formula gives the gradient for the optimisation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fallingcat.motion.reconstruction import Path, cone, configurations, reconstruct
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]


def curvature(robot: Robot, s: Array) -> Array:
    """The angular part of the curvature, (..., 3, n, n), in the coordinates of the base."""
    return robot.curvature(configurations(robot, s))[..., 3:, :, :]


def holonomy(robot: Robot, path: Path, intervals: int) -> Array:
    """The pose in which a path from parameter 0 to 1 leaves the base, (4, 4)."""
    return robot.split(reconstruct(robot, path, np.linspace(0.0, 1.0, intervals + 1))[-1])[0]


def holonomy_gradient(robot: Robot, path: Path, directions: Array, x: Array) -> tuple[Array, Array]:
    """The rotation R that a path leaves, and its derivative (3, m) along m directions that vanish at the ends: dR R^T.

    directions: (len(x), n, m), changes of the shape at the parameters x, which are equidistant.
    """
    R = robot.split(reconstruct(robot, path, x))[0][:, :3, :3]
    motion = path(x)
    B = np.einsum("kaij,ki->kaj", curvature(robot, motion.s), motion.ds)
    turned = R @ B @ directions
    # The trapezoidal rule, which is very accurate here: the integrand and its first derivatives vanish at both ends.
    return R[-1], (x[1] - x[0]) * np.asarray(turned.sum(axis=0) - (turned[0] + turned[-1]) / 2.0)


def area_integral(robot: Robot, path: Path, link: str | None = None, intervals: int = 70, layers: int = 10) -> Array:
    """The rotation vector -integral of B over the cone from the first shape of a closed path to the path, (3,).

    The estimate is coordinate dependent: for large gaits it is good in a frame that moves little. With a `link`, the frame is
    turned halfway from the base to that link; otherwise it is the base. Both agree to the third order.
    """
    total = np.zeros(3)
    for weights, s, B in cone(robot, path, np.linspace(0.0, 1.0, intervals + 1), layers):
        b = B[:, 3:] if link is None else np.einsum("kji,kj->ki", halfway(robot, s, link), B[:, 3:])
        total += weights @ b
    return total


def halfway(robot: Robot, s: Array, link: str) -> Array:
    """The rotation that, done twice, turns the base's axes into the link's, (..., 3, 3)."""
    return rotation(log(robot.frame_pose(configurations(robot, s), link)[..., :3, :3]) / 2.0)


# ---------------------------------------------------------------------------------------------------------------------
# Rotations


def rotation(w: Array) -> Array:
    """exp(hat(w)) of rotation vectors (..., 3)."""
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    K = np.zeros((*w.shape[:-1], 3, 3))
    K[..., 2, 1], K[..., 0, 2], K[..., 1, 0] = np.moveaxis(w, -1, 0)
    K -= np.swapaxes(K, -1, -2)
    return np.asarray(np.eye(3) + np.sinc(angle / np.pi) * K + 0.5 * np.sinc(angle / (2.0 * np.pi)) ** 2 * K @ K)


def log(R: Array) -> Array:
    """The rotation vector (..., 3) of rotations by less than a half turn."""
    axis = np.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1) / 2.0
    sine = np.linalg.norm(axis, axis=-1)[..., None]
    angle = np.arctan2(sine, (np.trace(R, axis1=-2, axis2=-1)[..., None] - 1.0) / 2.0)
    return np.asarray(axis * np.divide(angle, sine, out=np.ones_like(sine), where=sine > 0.0))
