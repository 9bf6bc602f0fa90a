"""Rotation matrices from the angles of description files."""

from __future__ import annotations

import math

from fallingcat import elementary
from fallingcat.model.description import Rotation


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Rotation:
    """Rz(yaw) Ry(pitch) Rx(roll): turns about the fixed x, y and z axes, in this order."""
    sr, cr = elementary.sin(roll), elementary.cos(roll)
    sp, cp = elementary.sin(pitch), elementary.cos(pitch)
    sy, cy = elementary.sin(yaw), elementary.cos(yaw)
    return (
        (_clean(cy * cp), _clean(cy * sp * sr - sy * cr), _clean(cy * sp * cr + sy * sr)),
        (_clean(sy * cp), _clean(sy * sp * sr + cy * cr), _clean(sy * sp * cr - cy * sr)),
        (_clean(-sp), _clean(cp * sr), _clean(cp * cr)),
    )


def _clean(entry: float) -> float:
    """Removes the rounding of right angles: exact zeros and ones let later stages drop whole terms."""
    if abs(entry) < 1e-15:
        return 0.0
    if abs(abs(entry) - 1.0) <= 1e-15:
        return math.copysign(1.0, entry)
    return entry
