"""A shape fixed to a body, and poses and numbers in the form that pages need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.view.triangles import Triangles
from fallingcat.model.description import Pose
from fallingcat.robot.poses import configuration_from_pose

Array = NDArray[np.float64]
Colour = tuple[float, float, float, float]


@dataclass(frozen=True)
class Shape:
    """A primitive fixed to a body."""

    body: int
    """Index of the body, or WORLD."""
    kind: str
    """box: edges x y z; cylinder: radius, length along z; ellipsoid: three semi-axes; mesh: none."""
    size: tuple[float, ...]
    pose: Array
    """(4, 4), in the body."""
    rgba: Colour
    link: str = ""
    """The link that it belongs to; empty for skeletons."""
    mesh: Triangles | None = None

    @property
    def half(self) -> Array:
        """Half the edges of the box around the shape, along its own axes."""
        if self.kind == "box":
            return np.array(self.size) / 2.0
        if self.kind == "cylinder":
            return np.array([self.size[0], self.size[0], self.size[1] / 2.0])
        if self.mesh is not None:
            return np.asarray(np.subtract(*self.mesh.bounds[::-1])) / 2.0
        return np.array(self.size)

    @property
    def middle(self) -> Array:
        """The centre of that box, in the shape's frame."""
        return np.zeros(3) if self.mesh is None else np.asarray(np.add(*self.mesh.bounds)) / 2.0

    def plain(self) -> dict[str, Any]:
        """In plain types."""
        pose = numbers(position_and_quaternion(self.pose))
        return {"body": self.body, "kind": self.kind, "size": numbers(self.size), "pose": pose, "rgba": numbers(self.rgba)}


def ball(body: int, at: Array, radius: float, rgba: Colour) -> Shape:
    H = np.eye(4)
    H[:3, 3] = at
    return Shape(body, "ellipsoid", (radius,) * 3, H, rgba)


def position_and_quaternion(H: Array) -> Array:
    """(..., 7): the origin and the unit quaternion x y z w of poses (..., 4, 4)."""
    return configuration_from_pose(True, H, np.zeros(0), 7)


def symmetric(entries: Sequence[Any]) -> Array:
    """The matrix of xx, xy, xz, yy, yz, zz."""
    xx, xy, xz, yy, yz, zz = (float(x) for x in entries)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def homogeneous(pose: Pose) -> Array:
    """The (4, 4) matrix of a pose."""
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = pose.rotation, pose.position
    return H


def short(x: float) -> float:
    return float(f"{x:.5g}")


def numbers(values: Any) -> list[float]:
    """A list of numbers with as many digits as a picture needs."""
    return [short(float(x)) if abs(x) > 1e-7 else 0.0 for x in values]
