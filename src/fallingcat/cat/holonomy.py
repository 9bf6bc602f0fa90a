"""Where a change of shape takes a robot that floats without momentum.

With no momentum the base moves by dH/dt = H hat(-A(s) ds/dt), with the mechanical connection A (paper 003, Sec. V-3). The
way back to the same shape leaves the base somewhere else: that displacement is the holonomy of the path. Two facts about
it, with the curvature B(x, y) = dA(x, y) - [A x, A y] (ERRATA of paper 003, 3.9):

    a closed path around a small area displaces the base by exp(-integral of B), up to the third order in its size;
    a change delta of a path, its ends held, changes the end by  dH H^-1 = integral of Ad(H) B(ds, delta),  exactly.

The first chooses a gait, the second gives the optimiser its gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fallingcat.cat.gait import Motion
from fallingcat.robot import Robot

Array = NDArray[np.float64]
Path = Callable[[Array], Motion]
"""Shapes and their derivatives at given parameters."""

GAUSS = np.sqrt(3.0) / 6.0
"""Half the distance of the two Gauss points of a unit interval."""


def configurations(robot: Robot, s: Array) -> Array:
    """Shapes with the base at the origin."""
    q = np.zeros((*s.shape[:-1], robot.nq))
    q[..., 6], q[..., 7:] = 1.0, s
    return q


def connection(robot: Robot, s: Array) -> Array:
    """A with mu = v + A ds/dt, (..., 6, n). It depends on the shape alone."""
    return robot.mechanical_connection(configurations(robot, s))


def curvature(robot: Robot, s: Array) -> Array:
    """The angular part of the curvature, (..., 3, n, n), in the coordinates of the base."""
    return robot.curvature(configurations(robot, s))[..., 3:, :, :]


def reconstruct(robot: Robot, path: Path, x: Array, start: Array | None = None) -> Array:
    """Configurations along a path of the shape without momentum or gravity, at the parameters x: (len(x), nq).

    Fourth order in the steps of x: H exp(h/2 (a + b) + sqrt(3)/12 h^2 [a, b]) with the velocities a, b of the base at the two
    Gauss points of a step (Magnus). `start` is the first configuration; the base at the origin when None.
    """
    h = np.diff(x)
    middle = (x[1:] + x[:-1]) / 2.0
    a, b = (_base_velocity(robot, path(middle + side * GAUSS * h)) for side in (-1.0, 1.0))
    steps = h[:, None] * (a + b) / 2.0 + np.sqrt(3.0) / 12.0 * h[:, None] ** 2 * bracket(a, b)
    dx = np.zeros((len(h), robot.nv))
    dx[:, :6] = steps
    q = np.empty((len(x), robot.nq))
    q[0] = configurations(robot, path(x[:1]).s)[0] if start is None else start
    for k in range(len(h)):
        q[k + 1] = robot.integrate(q[k], dx[k])
    q[:, 7:] = path(x).s
    return q


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


def area_integral(robot: Robot, path: Path, link: str | None = None, intervals: int = 200, layers: int = 10) -> Array:
    """The rotation vector -integral of B over the cone from the first shape of a closed path to the path, (3,).

    The estimate is coordinate dependent: for large gaits it is good in a frame that moves little. With a `link`, the frame is
    turned halfway from the base to that link; otherwise it is the base. Both agree to the third order.
    """
    x = (np.arange(intervals) + 0.5) / intervals
    motion = path(x)
    first = path(np.zeros(1)).s
    nodes, weights = np.polynomial.legendre.leggauss(layers)
    total = np.zeros(3)
    for size, weight in zip((nodes + 1.0) / 2.0, weights / 2.0, strict=True):
        away = motion.s - first
        s = first + size * away
        b = np.einsum("kaij,ki,kj->ka", curvature(robot, s), size * motion.ds, away)
        if link is not None:
            b = np.einsum("kji,kj->ki", halfway(robot, s, link), b)
        total += weight * b.mean(axis=0)
    return total


def halfway(robot: Robot, s: Array, link: str) -> Array:
    """The rotation that, done twice, turns the base's axes into the link's, (..., 3, 3)."""
    return rotation(log(robot.frame_pose(configurations(robot, s), link)[..., :3, :3]) / 2.0)


def _base_velocity(robot: Robot, motion: Motion) -> Array:
    return np.asarray(-np.einsum("kij,kj->ki", connection(robot, motion.s), motion.ds))


# ---------------------------------------------------------------------------------------------------------------------
# Rotations


def bracket(a: Array, b: Array) -> Array:
    """The Lie bracket [a, b] of twists (linear; angular), (..., 6)."""
    v, w, y, z = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    return np.concatenate([np.cross(w, y) + np.cross(v, z), np.cross(w, z)], axis=-1)


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
