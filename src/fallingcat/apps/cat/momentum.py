"""Angular momentum by a plain sum over the links, in numpy, from the description file: a witness for the simulation.

It shares no code with the library's dynamics: positions and velocities are carried from link to link, one joint at a time.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.cat.holonomy import rotation
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]


def angular_momentum(robot: Robot, q: Array, nu: Array, links: Iterable[str] | None = None) -> Array:
    """Angular momentum about the robot's centre of mass, in world axes, (..., 3): sum of m (c - c0) x (v - v0) + R I R^T w.

    links: the links to sum over; all if None. For bundled robots of revolute and fixed joints.
    """
    parts = _links(robot, q, nu)
    mass = sum(m for m, *_ in parts.values())
    center = sum(m * c for m, c, *_ in parts.values()) / mass
    velocity = sum(m * v for m, _, v, _ in parts.values()) / mass
    names = parts if links is None else links
    return np.asarray(sum(m * np.cross(c - center, v - velocity) + spin for m, c, v, spin in (parts[name] for name in names)))


def _links(robot: Robot, q: Array, nu: Array) -> dict[str, tuple[float, Array, Array, Array]]:
    """For each link: mass, centre of mass, its velocity, and the angular momentum about it, in the world."""
    H, s = robot.split(q)
    R, p = H[..., :3, :3], H[..., :3, 3]
    frames = {robot.base: (R, p, _turned(R, nu[..., :3]), _turned(R, nu[..., 3:6]))}
    for joint in robot.description.joints:  # parents come first in the bundled files
        R, p, v, w = frames[joint.parent]
        arm = _turned(R, np.array(joint.pose.position))
        R = R @ np.array(joint.pose.rotation)
        p, v = p + arm, v + np.cross(w, arm)
        if joint.type != "fixed":
            k = robot.joint_names.index(joint.name)
            axis = np.array(joint.axis) / np.linalg.norm(joint.axis)
            R = R @ rotation(s[..., k, None] * axis)
            w = w + nu[..., 6 + k, None] * _turned(R, axis)
        frames[joint.child] = (R, p, v, w)
    parts = {}
    for link in robot.description.links:
        if link.inertial is None:
            continue
        R, p, v, w = frames[link.name]
        xx, xy, xz, yy, yz, zz = link.inertial.inertia
        arm = _turned(R, np.array(link.inertial.pose.position))
        axes = R @ np.array(link.inertial.pose.rotation)
        inertia = axes @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ np.swapaxes(axes, -1, -2)
        parts[link.name] = (link.inertial.mass, p + arm, v + np.cross(w, arm), _turned(inertia, w))
    return parts


def _turned(R: Array, x: Array) -> Array:
    return np.asarray(np.einsum("...ij,...j->...i", R, x))
