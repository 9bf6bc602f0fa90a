"""Conversion between configurations and base poses with joint coordinates (paper 000, Sec. 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.arrays.arguments import refuse_quaternion
from fallingcat.arrays.axes import common_axes
from fallingcat.errors import InputError
from fallingcat.robot.symbols import real_or_symbols
from fallingcat.spatial import so3

Array = NDArray[np.float64]


def configuration_from_pose(floating: bool, H: ArrayLike, s: ArrayLike, nq: int) -> Array:
    """q (..., nq) from a base pose H (..., 4, 4) and joint coordinates s."""
    H, s = real_or_symbols("configuration: H", H), real_or_symbols("configuration: s", s)
    joints = nq - 7 if floating else nq
    if H.shape[-2:] != (4, 4) or s.shape[-1:] != (joints,):
        expected = f"H (..., 4, 4) and s (..., {joints})"
        raise InputError("pose and joints do not fit", expected=expected, got=f"H {H.shape} and s {s.shape}")
    if not floating:
        return s.copy()
    shape = common_axes("configuration", {"H": H.shape[:-1], "s": s.shape})
    R = H[..., :3, :3]
    if R.dtype != object and not _are_rotations(R):
        raise InputError("H is not a pose", expected="a rotation R with R R^T = 1 and det R = 1", got=f"R = {R.tolist()}")
    q = np.empty((*shape, nq), dtype=np.result_type(H, s))
    q[..., :3] = H[..., :3, 3]
    q[..., 3:7] = _quaternions(R)
    q[..., 7:] = s
    return q


def configuration_at(q: ArrayLike, position: Array, R: Array) -> Array:
    """The configuration with another origin and orientation of the base, and the same joint coordinates."""
    q = real_or_symbols("q", q)
    moved = np.empty((*R.shape[:-2], q.shape[-1]), dtype=np.result_type(q, R))
    moved[..., :3] = position
    moved[..., 3:7] = _quaternions(R)
    moved[..., 7:] = q[..., 7:]
    return moved


def _are_rotations(R: Array) -> bool:
    return np.allclose(R @ np.swapaxes(R, -1, -2), np.eye(3), atol=1e-6) and not np.any(np.linalg.det(R) < 0.0)


def _quaternions(R: Array) -> Array:
    """Unit quaternions (x y z w) of rotations, from the largest component."""
    if R.dtype == object:
        return _each(so3.quaternion, R, 2)
    a, b, c = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    squares = np.stack([1 + a - b - c, 1 - a + b - c, 1 - a - b + c, 1 + a + b + c], axis=-1)
    xy, xz, yz = R[..., 0, 1] + R[..., 1, 0], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 2] + R[..., 2, 1]
    wx, wy, wz = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    rows = np.stack(
        [
            np.stack([squares[..., 0], xy, xz, wx], -1),
            np.stack([xy, squares[..., 1], yz, wy], -1),
            np.stack([xz, yz, squares[..., 2], wz], -1),
            np.stack([wx, wy, wz, squares[..., 3]], -1),
        ],
        axis=-2,
    )
    best = np.argmax(squares, axis=-1)
    chosen = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    return np.array(chosen / np.linalg.norm(chosen, axis=-1, keepdims=True))


def split_configuration(floating: bool, q: ArrayLike, nq: int) -> tuple[Array, Array]:
    """The base pose (..., 4, 4) and the joint coordinates of a configuration."""
    q = real_or_symbols("split: q", q)
    if q.shape[-1:] != (nq,):
        raise InputError("q has the wrong shape", expected=f"(..., {nq})", got=str(q.shape))
    H = np.zeros((*common_axes("split", {"q": q.shape}), 4, 4), dtype=q.dtype)
    H[...] = np.eye(4)
    if not floating:
        return H, q.copy()
    H[..., :3, 3] = q[..., :3]
    if q.dtype == object:
        H[..., :3, :3] = _each(so3.from_quaternion, q[..., 3:7], 1)
    else:
        _turn(H, q)
    return H, q[..., 7:].copy()


def _turn(H: Array, q: Array) -> None:
    """Write the orientations of the base into its poses H, from quaternions of q, which are checked and normalised."""
    length = np.linalg.norm(q[..., 3:7], axis=-1, keepdims=True)
    off = np.abs(length - 1.0) > so3.QUATERNION_TOLERANCE
    if np.any(off):
        refuse_quaternion("the quaternion q[..., 3:7]", float(length[off][0]))
    x, y, z, w = np.moveaxis(q[..., 3:7] / length, -1, 0)
    H[..., 0, :3] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], -1)
    H[..., 1, :3] = np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], -1)
    H[..., 2, :3] = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], -1)


def _each(function: Callable[..., Any], a: NDArray[Any], axes: int) -> NDArray[Any]:
    """Apply a function over any scalar to every vector (axes = 1) or matrix (axes = 2) of an array of symbols."""
    batch = a.shape[:-axes]
    flat = [np.array(function(x.tolist()), dtype=object) for x in a.reshape(-1, *a.shape[-axes:])]
    return np.array(flat, dtype=object).reshape(*batch, *flat[0].shape)
