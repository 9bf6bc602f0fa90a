"""The motion of the base that a change of shape causes, for a robot that floats freely (paper 003, Sec. V-3).

The base moves by dH/dt = H hat(v) with v = mu - A(s) r: the mechanical connection A, the velocity r of the shape s, and the
locked velocity mu of the momentum, which is conserved. Without momentum mu = 0, and a path that returns to the same shape still
displaces the base: this displacement is the holonomy of the path. With the curvature B(x, y) = dA(x, y) - [A x, A y] (ERRATA of
paper 003, 3.9) a closed path around a small area displaces the base by exp(-integral of B), up to the third order in its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fallingcat.errors import FallingCatError
from fallingcat.motion import group
from fallingcat.motion.group import bracket

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]


class Motion(NamedTuple):
    """Shapes (..., nq - 7), their velocities and their accelerations (..., n)."""

    s: Array
    ds: Array
    dds: Array


Path = Callable[[Array], Motion]
"""A function from parameters, such as times, to shapes with their velocities and accelerations."""

GAUSS = np.sqrt(3.0) / 6.0
"""Half the distance between the two Gauss points of a unit interval."""
MOST_HALVINGS = 12
LAYERS = 8
"""Number of layers into which the cone over a loop is divided."""


def configurations(robot: Robot, s: Array) -> Array:
    """The configurations (..., nq) with these shapes and the base at the origin."""
    q = np.zeros((*s.shape[:-1], robot.nq))
    q[..., 6], q[..., 7:] = 1.0, s
    return q


def connection(robot: Robot, s: Array) -> Array:
    """A with mu = v + A ds/dt, (..., 6, n). It depends on the shape alone."""
    return robot.mechanical_connection(configurations(robot, s))


# ---------------------------------------------------------------------------------------------------------------------
# The base along a path


def reconstruct(robot: Robot, path: Path, x: Array, start: Array | None = None, momentum: Array | None = None) -> Array:
    """Configurations along a path of the shape without gravity, at the parameters x: (len(x), nq).

    Fourth order in the steps of x. `start` is the first configuration; the base at the origin when None. `momentum` is about the
    origin of the world and in its axes, (6,).
    """
    first = configurations(robot, path(x[:1]).s)[0] if start is None else start
    q = _without_momentum(robot, path, x, first) if momentum is None else _with_momentum(robot, path, x, first, momentum)
    q[:, 7:] = path(x).s
    return q


def _without_momentum(robot: Robot, path: Path, x: Array, start: Array) -> Array:
    """H exp(h/2 (a + b) + sqrt(3)/12 h^2 [a, b]) with the velocities a, b of the base at the Gauss points of a step (Magnus)."""
    h = np.diff(x)
    middle = (x[1:] + x[:-1]) / 2.0
    a, b = (_base_velocity(robot, path(middle + side * GAUSS * h)) for side in (-1.0, 1.0))
    dx = np.zeros((len(h), robot.nv))
    dx[:, :6] = h[:, None] * (a + b) / 2.0 + np.sqrt(3.0) / 12.0 * h[:, None] ** 2 * bracket(a, b)
    q = np.empty((len(x), robot.nq))
    q[0] = start
    for k in range(len(h)):
        q[k + 1] = robot.integrate(q[k], dx[k])
    return q


def _base_velocity(robot: Robot, motion: Motion) -> Array:
    return np.asarray(-np.einsum("kij,kj->ki", connection(robot, motion.s), motion.ds))


def _with_momentum(robot: Robot, path: Path, x: Array, start: Array, momentum: Array) -> Array:
    """The method of Runge and Kutta in local coordinates of every step (Munthe-Kaas): the base velocity depends on the pose."""
    nodes = np.concatenate([x, (x[1:] + x[:-1]) / 2.0])
    motion = path(nodes)
    shifts = _base_velocity(robot, motion)
    inverse = np.linalg.inv(robot.locked_inertia(configurations(robot, motion.s)))

    def rate(p: Array, u: Array, node: int) -> Array:
        """u' in the pose H exp(u), with the momentum p as seen from H: v = mu - A r, and mu is the momentum by the inertia."""
        v = inverse[node] @ _carried(p, u) + shifts[node]
        ad = _ad(u)
        return np.asarray(v + ad @ v / 2.0 + ad @ (ad @ v) / 12.0)  # the inverse of Jr(u)

    q, dx = np.empty((len(x), robot.nq)), np.zeros(robot.nv)
    q[0] = start
    for k, h in enumerate(np.diff(x)):
        p, middle = to_base(robot.split(q[k])[0], momentum), len(x) + k
        k1 = rate(p, np.zeros(6), k)
        k2 = rate(p, h / 2.0 * k1, middle)
        k3 = rate(p, h / 2.0 * k2, middle)
        k4 = rate(p, h * k3, k + 1)
        dx[:6] = h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        q[k + 1] = robot.integrate(q[k], dx)
    return q


def _carried(p: Array, u: Array) -> Array:
    """Ad(exp(u))^T p: a momentum as seen from a frame that has moved by the twist u, (6,)."""
    W, angle = _hat(u[3:]), float(np.sqrt(u[3:] @ u[3:]))
    half = np.sinc(angle / (2.0 * np.pi)) ** 2 / 2.0
    third = (1.0 - np.sinc(angle / np.pi)) / angle**2 if angle > 1e-2 else 1.0 / 6.0 - angle**2 / 120.0 + angle**4 / 5040.0
    WW = W @ W
    R = np.eye(3) + np.sinc(angle / np.pi) * W + half * WW
    moved = _hat((np.eye(3) + half * W + third * WW) @ u[:3])
    return np.concatenate([R.T @ p[:3], R.T @ (p[3:] - moved @ p[:3])])


def _ad(u: Array) -> Array:
    """[u, .] as a matrix, (6, 6)."""
    ad = np.zeros((6, 6))
    ad[:3, :3] = ad[3:, 3:] = _hat(u[3:])
    ad[:3, 3:] = _hat(u[:3])
    return ad


def _hat(w: Array) -> Array:
    x, y, z = w.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def to_base(H: Array, momentum: Array) -> Array:
    """Ad(H)^T p, (..., 6): a momentum about the world's origin in world axes, taken about the origin of H and in its axes."""
    Rt, p = np.swapaxes(H[..., :3, :3], -1, -2), H[..., :3, 3]
    linear, angular = momentum[..., :3], momentum[..., 3:] - np.cross(p, momentum[..., :3])
    return np.concatenate([np.einsum("...ij,...j->...i", Rt, x) for x in (linear, angular)], axis=-1)


def converged(robot: Robot, path: Path, times: Array, start: Array, momentum: Array | None, tolerance: float) -> Array:
    """The reconstruction at the times, with steps halved until this changes no base pose by more than the tolerance, m or rad."""
    q, steps = reconstruct(robot, path, times, start, momentum), 1
    for _ in range(MOST_HALVINGS):
        steps *= 2
        within = np.arange(steps) / steps
        fine = np.append((times[:-1, None] + np.diff(times)[:, None] * within).ravel(), times[-1])
        coarse, q = q, reconstruct(robot, path, fine, start, momentum)[::steps]
        # Of two results of fourth order the finer one has about 1/15 of their difference as its error.
        if np.abs(robot.difference(coarse, q)[:, :6]).max(initial=0.0) / 15.0 <= tolerance:
            return q
    raise FallingCatError(f"the reconstruction does not reach {tolerance:g} in {steps} steps a sample: give more samples")


# ---------------------------------------------------------------------------------------------------------------------
# The area integral


class Layer(NamedTuple):
    """Points of the cone from the first shape of a path to the path, all at the same fraction of the way."""

    weights: Array
    s: Array
    B: Array
    """(points, 6): the curvature, applied to the two tangent directions of the cone."""


def cone(robot: Robot, path: Path, x: Array, layers: int = LAYERS) -> Iterator[Layer]:
    """The curvature over the cone, by Gauss points between the parameters x and from its tip to its rim."""
    nodes, weights = np.polynomial.legendre.leggauss(3)
    h = np.diff(x)
    motion = path((x[:-1, None] + h[:, None] * (nodes + 1.0) / 2.0).ravel())
    along = (h[:, None] * weights / 2.0).ravel()
    first = configurations(robot, path(x[:1]).s)
    rim = configurations(robot, motion.s)
    away = robot.difference(first, rim)
    r = np.concatenate([np.zeros((len(rim), 6)), motion.ds], axis=1)
    rate, _ = group.local_rates(robot.model, away, r, np.zeros_like(r))
    for size, weight in zip(*np.polynomial.legendre.leggauss(layers), strict=True):
        share = (size + 1.0) / 2.0
        q = robot.integrate(first, share * away)
        around, _ = group.velocity(robot.model, share * away, share * rate, np.zeros_like(r))
        B = np.einsum("kaij,ki,kj->ka", robot.curvature(q), around[:, 6:], away[:, 6:])
        yield Layer(weight / 2.0 * along, q[:, 7:], B)


def area_integral(robot: Robot, path: Path, x: Array, layers: int = LAYERS) -> Array:
    """-integral of B over the cone from the first shape of a closed path to the path, (6,), in the frame of the base."""
    return np.asarray(sum(layer.weights @ layer.B for layer in cone(robot, path, x, layers)))
