"""The degrees of freedom of a robot as sliders see them: names, ranges, units, and the joints that follow others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fallingcat.model.joints import Cylindrical, JointModel, Planar, Prismatic, Reversed, Spherical, Universal
from fallingcat.model.model import Model
from fallingcat.model.report import printable

FREE_TURN, FREE_WAY = np.pi, 1.0
"""Ranges of sliders without limits, rad and m; a limit beyond twenty times as much is as good as none."""


@dataclass(frozen=True)
class Dof:
    """One degree of freedom of a joint."""

    name: str
    """The joint's name, with the direction behind it where the joint has several."""
    body: int
    """The body that the joint moves."""
    at: int
    """Its index in nu."""
    low: float
    high: float
    limited: bool
    """Do the bounds come from the description?"""
    unit: str
    """rad or m."""

    def plain(self) -> dict[str, Any]:
        """In plain types."""
        bounds = [float(f"{x:.6g}") for x in (self.low, self.high)]
        return {"name": printable(self.name, 60), "body": self.body, "range": bounds, "limited": self.limited, "unit": self.unit}


@dataclass(frozen=True)
class Follower:
    """A mimic joint: its position is multiplier * x[at] + offset."""

    name: str
    body: int
    at: int
    """The place in nu of the joint that it follows."""
    multiplier: float
    offset: float


def dofs(model: Model) -> list[Dof]:
    """Those of the joints, in the order of nu; the base's six are not among them."""
    found = []
    for i, body in enumerate(model.bodies):
        if body.mimics or (model.floating and i == 0):
            continue
        for k, (end, unit) in enumerate(_directions(body.joint)):
            name = f"{body.joint_name}.{end}" if end else body.joint_name
            found.append(Dof(name, i, body.nu_at + k, *_range(body.limits.lower, body.limits.upper, unit), unit))
    return sorted(found, key=lambda dof: dof.at)


def followers(model: Model) -> list[Follower]:
    """The joints that follow others."""
    return [
        Follower(body.joint_name, i, body.nu_at, body.multiplier, body.offset)
        for i, body in enumerate(model.bodies)
        if body.mimics
    ]


def _directions(joint: JointModel) -> list[tuple[str, str]]:
    """(name, unit) of every degree of freedom of a joint, in the order of its velocities."""
    if isinstance(joint, Reversed):
        return _directions(joint.forward)
    if isinstance(joint, Prismatic):
        return [("", "m")]
    if isinstance(joint, Cylindrical):
        return [("slide", "m"), ("turn", "rad")]
    if isinstance(joint, Planar):
        return [("x", "m"), ("y", "m"), ("turn", "rad")]
    if isinstance(joint, Universal):
        return [("first", "rad"), ("second", "rad")]
    if isinstance(joint, Spherical):
        return [(axis, "rad") for axis in ("rx", "ry", "rz")]
    if joint.nv == 6:
        return [(axis, "m") for axis in "xyz"] + [(axis, "rad") for axis in ("rx", "ry", "rz")]
    return [("", "rad")]


def _range(lower: float, upper: float, unit: str) -> tuple[float, float, bool]:
    free = FREE_TURN if unit == "rad" else FREE_WAY
    low, high = lower if lower > -20.0 * free else -np.inf, upper if upper < 20.0 * free else np.inf
    limited = bool(np.isfinite(low) or np.isfinite(high))
    if not np.isfinite(low):
        low = min(-free, high - 2.0 * free) if np.isfinite(high) else -free
    if not np.isfinite(high):
        high = max(free, low + 2.0 * free)
    if not low < high:  # a joint that cannot move still has a slider
        low, high = low - 1e-3, low + 1e-3
    return float(low), float(high), limited
