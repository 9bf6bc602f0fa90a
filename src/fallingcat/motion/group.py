"""Calculus on the group of configurations, over arrays: velocities and accelerations of curves in local coordinates and in q.

A curve q(t) = integrate(q0, x(t)) has the body-fixed velocity nu = Jr(x) x', with the right Jacobian of exp

    Jr(x) y = y - [x, y] / 2! + [x, [x, y]] / 3! - ...

on every joint that is a Lie group; where coordinates simply add, nu = x'. Last axes are vectors, all others are batches.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fallingcat.model.model import Body, Model

Array = NDArray[np.float64]

MOST_TERMS = 60
"""Maximum number of terms of the series. At a half turn 25 terms are exact to the last digit."""


def bracket(a: Array, b: Array) -> Array:
    """The Lie bracket [a, b] of twists (linear; angular), (..., 6)."""
    v, w, y, z = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    return np.concatenate([np.cross(w, y) + np.cross(v, z), np.cross(w, z)], axis=-1)


def velocity(model: Model, x: Array, dx: Array, ddx: Array) -> tuple[Array, Array]:
    """nu and dnu of integrate(q0, x(t)), from x and its first two derivatives by time."""
    nu, dnu = dx.copy(), ddx.copy()
    for at, entries in _lie_groups(model):
        v, a = _exp_rates(_twist(x, at, entries), _twist(dx, at, entries), _twist(ddx, at, entries))
        nu[..., at], dnu[..., at] = v[..., entries], a[..., entries]
    return nu, dnu


def local_rates(model: Model, x: Array, nu: Array, dnu: Array) -> tuple[Array, Array]:
    """The inverse of `velocity`: x' and x'' of local coordinates x, from nu and dnu of integrate(q0, x(t))."""
    dx, ddx = nu.copy(), dnu.copy()
    for at, entries in _lie_groups(model):
        here = _twist(x, at, entries)
        rows, _ = _exp_rates(here[..., None, :], np.eye(6), np.zeros((6, 6)))
        J = np.swapaxes(rows, -1, -2)
        y: Array = np.linalg.solve(J, _twist(nu, at, entries)[..., None])[..., 0].astype(np.float64)
        _, bent = _exp_rates(here, y, np.zeros_like(y))
        z = np.linalg.solve(J, (_twist(dnu, at, entries) - bent)[..., None])[..., 0]
        dx[..., at], ddx[..., at] = y[..., entries], z[..., entries]
    return dx, ddx


def _exp_rates(x: Array, y: Array, z: Array) -> tuple[Array, Array]:
    """Jr(x) y with y = x', and its rate where z = x'': the series and its derivative, term by term."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    x, y, z = (np.broadcast_to(part, shape) for part in (x, y, z))
    term, rate = y, z
    v, a = y.copy(), z.copy()
    for n in range(2, MOST_TERMS):
        term, rate = -bracket(x, term) / n, -(bracket(y, term) + bracket(x, rate)) / n
        v += term
        a += rate
        if _small(term, v) and _small(rate, a):
            break
    return v, a


def _small(term: Array, total: Array) -> bool:
    return bool(np.abs(term).max(initial=0.0) <= 1e-18 * np.abs(total).max(initial=0.0))


def _lie_groups(model: Model) -> Iterator[tuple[slice, list[int]]]:
    """The joints whose coordinates do not simply add: their slice of nu, and the entries of a twist that it holds."""
    for body in independent_bodies(model):
        entries = body.joint.motions()
        if entries is not None:
            yield slice(body.nu_at, body.nu_at + body.joint.nv), entries


def _twist(x: Array, at: slice, entries: list[int]) -> Array:
    twist = np.zeros((*x.shape[:-1], 6))
    twist[..., entries] = x[..., at]
    return twist


def independent_bodies(model: Model) -> list[Body]:
    """Bodies whose joints are independent (not mimics), in the order of the coordinates."""
    return sorted((body for body in model.bodies if not body.mimics), key=lambda body: body.q_at)


# ---------------------------------------------------------------------------------------------------------------------
# From rates of the coordinates themselves


def continuous(model: Model, q: Array) -> Array:
    """Configurations (..., times, nq) without jumps in the signs of quaternions and in the angles of planar joints."""
    q = q.copy()
    for body in independent_bodies(model):
        if body.joint.quaternion_at is not None:
            at = slice(body.q_at + body.joint.quaternion_at, body.q_at + body.joint.quaternion_at + 4)
            Q = q[..., at] / np.linalg.norm(q[..., at], axis=-1, keepdims=True)
            dots = np.sum(Q[..., 1:, :] * Q[..., :-1, :], axis=-1)
            signs = np.cumprod(np.where(dots < 0.0, -1.0, 1.0), axis=-1)
            Q[..., 1:, :] *= signs[..., None]
            q[..., at] = Q
        elif body.joint.motions() is not None:
            q[..., body.q_at + 2] = np.unwrap(q[..., body.q_at + 2], axis=-1)
    return q


def coordinate_velocity(model: Model, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array]:
    """nu and dnu from the first two time derivatives of the coordinates q, whose quaternions have unit length."""
    nu, dnu = np.zeros((*q.shape[:-1], model.nv)), np.zeros((*q.shape[:-1], model.nv))
    for body in independent_bodies(model):
        at, to = slice(body.q_at, body.q_at + body.joint.nq), slice(body.nu_at, body.nu_at + body.joint.nv)
        parts = q[..., at], dq[..., at], ddq[..., at]
        if body.joint.motions() is None:
            nu[..., to], dnu[..., to] = parts[1:]
        elif body.joint.quaternion_at == 0:
            nu[..., to], dnu[..., to] = _spin(*parts)
        elif body.joint.quaternion_at is not None:
            nu[..., to], dnu[..., to] = _free(*parts)
        else:
            nu[..., to], dnu[..., to] = _planar(*parts)
    return nu, dnu


def _spin(Q: Array, dQ: Array, ddQ: Array) -> tuple[Array, Array]:
    """w and w' of Q' = Q w / 2 and Q'' = Q (w' / 2 - |w|^2 / 4), with w as a quaternion without real part."""
    return 2.0 * _back(Q, dQ), 2.0 * _back(Q, ddQ)


def _back(Q: Array, P: Array) -> Array:
    """The imaginary part of Q^-1 P."""
    u, s, v, r = Q[..., :3], Q[..., 3:], P[..., :3], P[..., 3:]
    return np.asarray(s * v - r * u - np.cross(u, v))


def _free(q: Array, dq: Array, ddq: Array) -> tuple[Array, Array]:
    """v = R^T p' and v' = R^T p'' - w x v."""
    w, dw = _spin(q[..., 3:], dq[..., 3:], ddq[..., 3:])
    v = _unturned(q[..., 3:], dq[..., :3])
    dv = _unturned(q[..., 3:], ddq[..., :3]) - np.cross(w, v)
    return np.concatenate([v, w], axis=-1), np.concatenate([dv, dw], axis=-1)


def _unturned(Q: Array, x: Array) -> Array:
    """R(Q)^T x."""
    t = 2.0 * np.cross(x, Q[..., :3])
    return np.asarray(x + Q[..., 3:] * t + np.cross(t, Q[..., :3]))


def _planar(q: Array, dq: Array, ddq: Array) -> tuple[Array, Array]:
    c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
    w, dw = dq[..., 2], ddq[..., 2]
    vx, vy = c * dq[..., 0] + s * dq[..., 1], c * dq[..., 1] - s * dq[..., 0]
    ax, ay = c * ddq[..., 0] + s * ddq[..., 1], c * ddq[..., 1] - s * ddq[..., 0]
    return np.stack([vx, vy, w], axis=-1), np.stack([ax + w * vy, ay - w * vx, dw], axis=-1)
