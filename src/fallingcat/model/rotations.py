"""Rotation matrices from the angles of description files."""

from __future__ import annotations

import math

from fallingcat import elementary
from fallingcat.model.description import Rotation, Vector


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Rotation:
    """Rz(yaw) Ry(pitch) Rx(roll): rotations about the fixed x, y and z axes, in this order."""
    sr, cr = elementary.sin(roll), elementary.cos(roll)
    sp, cp = elementary.sin(pitch), elementary.cos(pitch)
    sy, cy = elementary.sin(yaw), elementary.cos(yaw)
    return (
        (_clean(cy * cp), _clean(cy * sp * sr - sy * cr), _clean(cy * sp * cr + sy * sr)),
        (_clean(sy * cp), _clean(sy * sp * sr + cy * cr), _clean(sy * sp * cr - cy * sr)),
        (_clean(-sp), _clean(cp * sr), _clean(cp * cr)),
    )


def rotation_from_quaternion(x: float, y: float, z: float, w: float) -> Rotation:
    """The rotation matrix of a quaternion of any nonzero length; NaN for length zero."""
    n = x * x + y * y + z * z + w * w
    s = 2.0 / n if n > 0.0 else math.nan
    return (
        (_clean(1.0 - s * (y * y + z * z)), _clean(s * (x * y - z * w)), _clean(s * (x * z + y * w))),
        (_clean(s * (x * y + z * w)), _clean(1.0 - s * (x * x + z * z)), _clean(s * (y * z - x * w))),
        (_clean(s * (x * z - y * w)), _clean(s * (y * z + x * w)), _clean(1.0 - s * (x * x + y * y))),
    )


def rotation_about(axis: Vector, angle: float) -> Rotation:
    """The rotation by an angle about an axis of unit length (Rodrigues)."""
    x, y, z = axis
    s, c = elementary.sin(angle), elementary.cos(angle)
    v = 1.0 - c
    return (
        (_clean(c + v * x * x), _clean(v * x * y - s * z), _clean(v * x * z + s * y)),
        (_clean(v * x * y + s * z), _clean(c + v * y * y), _clean(v * y * z - s * x)),
        (_clean(v * x * z - s * y), _clean(v * y * z + s * x), _clean(c + v * z * z)),
    )


def quaternion_of(rotation: Rotation) -> tuple[float, float, float, float]:
    """The unit quaternion (x y z w) of a rotation, without cancellation (Shepperd)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation
    fours = (1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz, 1.0 + xx + yy + zz)
    k = max(range(4), key=lambda i: fours[i])
    rows = (
        (fours[0], xy + yx, xz + zx, zy - yz),
        (xy + yx, fours[1], yz + zy, xz - zx),
        (xz + zx, yz + zy, fours[2], yx - xy),
        (zy - yz, xz - zx, yx - xy, fours[3]),
    )
    length = math.sqrt(sum(x * x for x in rows[k]))
    x, y, z, w = (value / length for value in rows[k])
    return x, y, z, w


def rpy_of(rotation: Rotation) -> Vector:
    """Roll, pitch and yaw of a rotation; at a pitch of +-90 degrees, where they are not unique, some that reproduce it.

    Yaw is computed first and removed from the rotation: near that pitch, the roll compensates the rounding of the yaw.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, _, _) = rotation
    yaw = math.atan2(yx, xx) if xx != 0.0 or yx != 0.0 else 0.0
    s, c = elementary.sin(yaw), elementary.cos(yaw)
    pitch = math.atan2(-zx, c * xx + s * yx)
    roll = math.atan2(s * xz - c * yz, c * yy - s * xy)
    return roll, pitch, yaw


def _clean(entry: float) -> float:
    """Removes the rounding of right angles: entries that are exactly 0, 1 or -1 let later stages drop terms."""
    if abs(entry) < 1e-15:
        return 0.0
    if abs(abs(entry) - 1.0) <= 1e-15:
        return math.copysign(1.0, entry)
    return entry
