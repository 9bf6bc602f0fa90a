"""The contact geometry of a robot on the floor: a few balls on every body, at its outermost points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.view.shape import Shape
from fallingcat.model.model import WORLD
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

DIRECTIONS = np.array([d for d in product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)


class Contact(NamedTuple):
    """A ball that cannot go below the floor."""

    body: int
    point: tuple[float, float, float]
    """The centre of the ball, in body coordinates."""
    radius: float


def contacts(robot: Robot, shapes: Sequence[Shape]) -> list[Contact]:
    """The balls of every body that lie outermost in one of 26 directions."""
    found = []
    for i in range(len(robot.model.bodies)):
        balls = [ball for shape in shapes if shape.body == i != WORLD for ball in _balls(shape)]
        if not balls:
            continue
        centres, radii = np.array([c for c, _ in balls]), np.array([r for _, r in balls])
        far = {int(np.argmax(centres @ d + radii)) for d in DIRECTIONS}
        for k in sorted(far):
            x, y, z = (float(f"{v:.6g}") for v in centres[k])
            found.append(Contact(i, (x, y, z), float(f"{radii[k]:.6g}")))
    return found


def _balls(shape: Shape) -> Iterator[tuple[Array, float]]:
    """Balls at the outside of a shape, in the body."""
    R, p = shape.pose[:3, :3], shape.pose[:3, 3]
    if shape.kind == "mesh" and shape.mesh is not None:
        v = shape.mesh.vertices
        for k in {int(np.argmax(v @ d)) for d in DIRECTIONS}:
            yield R @ v[k] + p, 0.0
    elif shape.kind == "box":
        for corner in product((-0.5, 0.5), repeat=3):
            yield R @ (np.array(corner) * shape.size) + p, 0.0
    elif shape.kind == "cylinder":
        radius, length = shape.size
        inside = min(radius, length / 2.0)
        for end in (-1.0, 1.0):
            yield R @ np.array([0.0, 0.0, end * (length / 2.0 - inside)]) + p, inside
            if inside < radius:  # a disc: its rim
                for angle in np.arange(8) * np.pi / 4.0:
                    yield R @ np.array([radius * np.cos(angle), radius * np.sin(angle), end * length / 2.0]) + p, 0.0
    elif shape.kind == "ellipsoid":
        least = min(shape.size)
        yield p, least
        for axis in range(3):
            for side in (-1.0, 1.0):
                if shape.size[axis] > 1.05 * least:
                    yield R[:, axis] * side * (shape.size[axis] - least) + p, least
