"""What is drawn besides the bodies: frames, the centre of mass, momentum, twists and wrenches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.view.shape import position_and_quaternion
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

LINEAR, ANGULAR, FORCE, MOMENT = (11, 110, 143), (194, 69, 45), (58, 125, 68), (106, 76, 147)
"""Colours: blue what moves along, red what turns; green forces, violet moments."""


class Arrows:
    """Overlays that can be switched on and off; only what is on is computed."""

    def __init__(self, server: Any, robot: Robot, size: float) -> None:
        self.robot, self.size, self._server = robot, size, server
        self.on = {"frames": False, "centre of mass": robot.mass > 0.0, "momentum": False, "twists": False, "wrenches": True}
        self._links = [robot.frame_names.index(name) for name in robot.link_names]
        self._bodies = tuple(body.name for body in robot.model.bodies)
        self._arrow: dict[str, Any] = {}
        unit = np.tile([1.0, 0.0, 0.0, 0.0], (len(self._links), 1))
        self._axes = server.scene.add_batched_axes(
            "/frames", unit, np.zeros((len(self._links), 3)), axes_length=0.06 * size, axes_radius=0.0025 * size, visible=False
        )
        ball, ring = 0.016 * size, (235, 120, 20)
        self._centre = server.scene.add_icosphere("/centre_of_mass", radius=ball, color=ring, visible=False, cast_shadow=False)

    def move(self, q: Array, nu: Array, wrenches: Mapping[str, Array], poses: Array) -> None:
        """Put everything that is switched on to a state; poses are those of all frames."""
        on, robot = self.on, self.robot
        self._axes.visible = on["frames"]
        if on["frames"]:
            x = position_and_quaternion(poses[self._links])
            self._axes.batched_positions = x[:, :3].astype(np.float32)
            self._axes.batched_wxyzs = x[:, [6, 3, 4, 5]].astype(np.float32)
        weighty = robot.mass > 0.0
        self._centre.visible = on["centre of mass"] and weighty
        if weighty and (on["centre of mass"] or on["momentum"]):
            c = robot.center_of_mass(q)
            self._centre.position = c
            h = robot.centroidal_momentum(q, nu) if on["momentum"] else np.zeros(6)
            inertia = robot.mass * (0.2 * self.size) ** 2
            self._draw("momentum", [(c, h[:3] / robot.mass, LINEAR), (c, h[3:] / inertia, ANGULAR)])
        else:
            self._draw("momentum", [])
        self._draw("twists", self._twists(q, nu, poses) if on["twists"] else [])
        self._draw("wrenches", self._wrenches(wrenches, poses) if on["wrenches"] else [])

    def _twists(self, q: Array, nu: Array, poses: Array) -> list[Any]:
        """Velocities of the bodies' origins and angular velocities; one second of motion is as long as the arrow."""
        if not self._bodies:
            return []
        V = self.robot.frame_velocities(q, nu, self._bodies)
        found: list[Any] = []
        for H, v in zip((poses[self.robot.frame_names.index(name)] for name in self._bodies), V):
            found.append((H[:3, 3], 0.3 * (H[:3, :3] @ v[:3]), LINEAR))
            found.append((H[:3, 3], 0.1 * self.size * (H[:3, :3] @ v[3:]), ANGULAR))
        return found

    def _wrenches(self, wrenches: Mapping[str, Array], poses: Array) -> list[Any]:
        """Arrows of wrenches; the robot's weight would be as long as a fifth of the robot."""
        weight = 9.81 * self.robot.mass or 1.0
        found = []
        for name, w in wrenches.items():
            H = poses[self.robot.frame_names.index(name)]
            found.append((H[:3, 3], 0.2 * self.size / weight * (H[:3, :3] @ w[:3]), FORCE))
            found.append((H[:3, 3], 1.0 / weight * (H[:3, :3] @ w[3:]), MOMENT))
        return found

    def _draw(self, name: str, arrows: list[tuple[Array, Array, tuple[int, int, int]]]) -> None:
        """Arrows from points along vectors, at most as long as the robot; those that are nearly nothing are left out."""
        kept = []
        for start, along, colour in arrows:
            length = float(np.linalg.norm(along))
            if length > 1e-3 * self.size:
                kept.append((start, start + along * min(1.0, self.size / length), colour))
        old = self._arrow.pop(name, None)
        if not kept:
            if old is not None:
                old.remove()
            return
        points = np.array([(a, b) for a, b, _ in kept], dtype=np.float32)
        colours = np.array([c for _, _, c in kept], dtype=np.uint8)
        if old is not None and len(old.points) == len(points):
            old.points, old.colors, self._arrow[name] = points, colours, old
            return
        thick = 0.004 * self.size
        self._arrow[name] = self._server.scene.add_arrows(
            f"/arrows/{name}", points, colours, shaft_radius=thick, head_radius=2.4 * thick, head_length=6.0 * thick
        )
