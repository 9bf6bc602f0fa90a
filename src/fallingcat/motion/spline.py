"""Splines on the group of configurations: quintic in the local coordinates of every interval, with two continuous derivatives.

Between two times q(t) = integrate(q_k, x(t)), where the polynomial x of degree five meets position, velocity and acceleration at
both ends. So q, nu and dnu are continuous, and nu and dnu between the samples are the derivatives of q exactly. Where velocities
are not known they come from the polynomial through the five nearest samples: errors of q are of fifth order in the distance of
the samples, those of nu of fourth, those of dnu of third.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fallingcat.motion import group

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

STENCIL = 5
"""Number of samples from which a derivative is computed."""


class States(NamedTuple):
    """Configurations (..., times, nq), velocities and accelerations (..., times, nv)."""

    q: Array
    nu: Array
    dnu: Array


def from_positions(robot: Robot, t: Array, q: Array) -> States:
    """The velocities and accelerations of a motion through the samples q (..., times, nq)."""
    smooth = group.continuous(robot.model, q)
    first, second = derivatives(t, smooth)
    return States(q, *group.coordinate_velocity(robot.model, smooth, first, second))


def derivatives(t: Array, x: Array) -> tuple[Array, Array]:
    """The first two derivatives by time of samples x (..., times, m), by the polynomial through the nearest ones."""
    size = min(STENCIL, len(t))
    start = np.clip(np.arange(len(t)) - size // 2, 0, len(t) - size)
    near = start[:, None] + np.arange(size)
    reach = t[near[:, -1]] - t[near[:, 0]] if size > 1 else np.ones(1)
    powers = ((t[near] - t[:, None]) / reach[:, None])[..., None] ** np.arange(size)
    wanted = np.zeros((len(t), size, 2))
    for order, factor in ((1, 1.0), (2, 2.0)):
        if order < size:
            wanted[:, order, order - 1] = factor / reach**order
    weights = np.linalg.solve(np.swapaxes(powers, -1, -2), wanted)  # a polynomial is differentiated exactly
    away = x[..., near, :] - x[..., :, None, :]
    first, second = (np.einsum("kj,...kjm->...km", weights[..., order], away) for order in (0, 1))
    return first, second


def interpolate(robot: Robot, t: Array, states: States, times: Array) -> States:
    """The spline through states at t, at times between the first and the last."""
    if len(t) == 1:
        return States(*(np.repeat(part, len(times), axis=-2) for part in states))
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    h = np.diff(t)[k][:, None]
    q0, v0, a0 = (part[..., k, :] for part in states)
    q1, nu1, dnu1 = (part[..., k + 1, :] for part in states)
    d = robot.difference(q0, q1)
    v1, a1 = group.local_rates(robot.model, d, nu1, dnu1)
    x, dx, ddx = _quintic((times - t[k])[:, None] / h, d, h * v0, h**2 * a0, h * v1, h**2 * a1)
    nu, dnu = group.velocity(robot.model, x, dx / h, ddx / h**2)
    found = States(robot.integrate(q0, x), nu, dnu)
    for end in (k, k + 1):  # at a sample the sample itself, to the last bit
        same = times == t[end]
        for part, given in zip(found, states, strict=True):
            part[..., same, :] = given[..., end[same], :]
    return found


def _quintic(u: Array, d: Array, v0: Array, a0: Array, v1: Array, a1: Array) -> tuple[Array, Array, Array]:
    """The quintic from 0 to d over u in [0, 1] with these velocities and accelerations at its ends, and its two derivatives."""
    r, s, w = d - v0 - a0 / 2.0, v1 - v0 - a0, a1 - a0
    c3, c4, c5 = 10.0 * r - 4.0 * s + w / 2.0, -15.0 * r + 7.0 * s - w, 6.0 * r - 3.0 * s + w / 2.0
    x = u * (v0 + u * (a0 / 2.0 + u * (c3 + u * (c4 + u * c5))))
    dx = v0 + u * (a0 + u * (3.0 * c3 + u * (4.0 * c4 + u * 5.0 * c5)))
    return x, dx, a0 + u * (6.0 * c3 + u * (12.0 * c4 + u * 20.0 * c5))
