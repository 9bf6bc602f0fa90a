"""Twists and wrenches of a body in other axes (paper 004, Sec. II), and the rate of the transformation T.

With R and p the orientation and the origin of the body, a body-fixed twist (v, w) becomes

    linear: v (body), R v (world), R v + p x R w (inertial)        angular: w (body), R w (world)

which is T (v, w). A wrench becomes T^-T (f, m), so that the power is the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fallingcat.converters.conventions import Convention

Array = NDArray[np.float64]


def _rotate(R: Array, x: Array) -> Array:
    return np.array(np.einsum("...ij,...j->...i", R, x))


def _back(R: Array, x: Array) -> Array:
    return np.array(np.einsum("...ji,...j->...i", R, x))


def _join(linear: Array, angular: Array) -> Array:
    return np.concatenate([linear, angular], axis=-1)


def twist(c: Convention, H: Array, x: Array) -> Array:
    """T x."""
    R, p, v, w = H[..., :3, :3], H[..., :3, 3], x[..., :3], x[..., 3:]
    if c.angular == "world":
        w = _rotate(R, w)
    if c.linear != "body":
        v = _rotate(R, v)
    if c.linear == "inertial":
        v = v + np.cross(p, w)
    return _join(v, w)


def twist_back(c: Convention, H: Array, x: Array) -> Array:
    """T^-1 x."""
    R, p, v, w = H[..., :3, :3], H[..., :3, 3], x[..., :3], x[..., 3:]
    if c.linear == "inertial":
        v = v - np.cross(p, w)
    return _join(v if c.linear == "body" else _back(R, v), w if c.angular == "body" else _back(R, w))


def wrench(c: Convention, H: Array, x: Array) -> Array:
    """T^-T x."""
    R, p, f, m = H[..., :3, :3], H[..., :3, 3], x[..., :3], x[..., 3:]
    if c.angular == "world":
        m = _rotate(R, m)
    if c.linear != "body":
        f = _rotate(R, f)
    if c.linear == "inertial":
        m = m + np.cross(p, f)
    return _join(f, m)


def wrench_back(c: Convention, H: Array, x: Array) -> Array:
    """T^T x."""
    R, p, f, m = H[..., :3, :3], H[..., :3, 3], x[..., :3], x[..., 3:]
    if c.linear == "inertial":
        m = m - np.cross(p, f)
    return _join(f if c.linear == "body" else _back(R, f), m if c.angular == "body" else _back(R, m))


def drift(c: Convention, H: Array, x: Array) -> Array:
    """dT/dt x along the body-fixed twist x itself.

    It is not zero only for world axes at the body's own origin: dR/dt v = R (w x v). The angular part is zero since w x w = 0,
    and that of the inertial twist since the cross product of a twist with itself vanishes.
    """
    out = np.zeros(np.broadcast_shapes(H.shape[:-2], x.shape[:-1]) + (6,))
    if c.linear == "world":
        out[..., :3] = _rotate(H[..., :3, :3], np.cross(x[..., 3:], x[..., :3]))
    return out
