"""The robot's bodies as nodes of viser's scene: one node a body, with its shapes below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.view.scene import Looks
from fallingcat.apps.view.shape import Shape, position_and_quaternion
from fallingcat.apps.view.skeleton import inertia_ellipsoids
from fallingcat.apps.view.triangles import LIVE, creased
from fallingcat.model.model import WORLD
from fallingcat.model.report import printable
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

PICKED = (235, 150, 50)


class Solids:
    """What is drawn of a robot, and which body each piece belongs to."""

    def __init__(self, server: Any, robot: Robot, picked: Callable[[str], None], progress: Callable[[str], None]) -> None:
        self.robot = robot
        self._nodes: list[Any] = []
        self._pieces: dict[str, list[tuple[Any, Any]]] = {}
        self._shown: Array | None = None
        self._chosen = ""
        for i in range(len(robot.model.bodies)):
            self._nodes.append(server.scene.add_frame(f"/robot/{i}", show_axes=False))
        looks = Looks.of(robot, LIVE, progress)
        self.missing = [printable(name, 200) for name in looks.missing]
        """Meshes that are not there."""
        for k, shape in enumerate(looks.shapes):
            handle = _add(server.scene, f"{_parent(shape.body)}/shape{k}", shape)
            link = shape.link or _name(robot, shape.body)
            self._pieces.setdefault(link, []).append((handle, handle.color))
            handle.on_click(lambda _, link=link: picked(link))
        self._ellipsoids = [
            _add(server.scene, f"{_parent(shape.body)}/inertia", shape, visible=False) for shape in inertia_ellipsoids(robot)
        ]

    def move(self, poses: Array) -> None:
        """Put the bodies to their poses (bodies, 4, 4); what has not moved is left alone."""
        x = position_and_quaternion(poses)
        moved = range(len(x)) if self._shown is None else np.flatnonzero(np.any(x != self._shown, axis=-1))
        for i in moved:
            node = self._nodes[i]
            node.position, node.wxyz = x[i, :3], x[i, [6, 3, 4, 5]]
        self._shown = x

    def choose(self, link: str) -> None:
        """Colour a link, and give the last one its own colour back."""
        for handle, colour in self._pieces.get(self._chosen, ()):
            handle.color = colour
        for handle, _ in self._pieces.get(link, ()):
            handle.color = PICKED
        self._chosen = link

    def show_shapes(self, visible: bool, opacity: float) -> None:
        """Hide the shapes, or let light through them."""
        for pieces in self._pieces.values():
            for handle, _ in pieces:
                handle.visible = visible
                handle.opacity = None if opacity >= 1.0 else opacity

    def show_ellipsoids(self, visible: bool) -> None:
        """Ellipsoids of uniform density with the bodies' inertias."""
        for handle in self._ellipsoids:
            handle.visible = visible


def _name(robot: Robot, body: int) -> str:
    return robot.base if body == WORLD else robot.model.bodies[body].name


def _parent(body: int) -> str:
    return "/still" if body == WORLD else f"/robot/{body}"


def _add(scene: Any, name: str, shape: Shape, visible: bool = True) -> Any:
    x = position_and_quaternion(shape.pose)
    red, green, blue, alpha = shape.rgba
    look: dict[str, Any] = {
        "color": tuple(round(255 * c) for c in (red, green, blue)), "opacity": None if alpha >= 1.0 else alpha,
        "position": x[:3], "wxyz": x[[6, 3, 4, 5]], "visible": visible,
    }  # fmt: skip
    if shape.kind == "box":
        return scene.add_box(name, dimensions=shape.size, **look)
    if shape.kind == "cylinder":
        return scene.add_cylinder(name, radius=shape.size[0], height=shape.size[1], **look)
    if shape.kind == "mesh":
        assert shape.mesh is not None
        vertices, faces = creased(shape.mesh)
        return scene.add_mesh_simple(name, vertices, faces, flat_shading=False, side="double", **look)
    return scene.add_icosphere(name, radius=1.0, scale=tuple(float(x) for x in shape.size), **look)
