"""Rigid bodies of links that are welded by fixed joints, and their inertia."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fallingcat.model.description import Description, Inertial, Joint, Link, Pose

Array = NDArray[np.float64]


class WeldedBody:
    """A rigid body of links that fixed joints connect."""

    def __init__(self, parent_joint: Joint | None) -> None:
        self.parent_joint = parent_joint
        """The joint that moves the body; None for the root."""
        self.links: list[Link] = []
        self.child_joints: list[Joint] = []
        """The joints that move other bodies relative to this one."""
        self.places: dict[str, tuple[Array, Array]] = {}
        """Rotation and position of the frames of these joints, by name, in the frame of the first link."""
        self.inertia: Array = np.zeros((6, 6))
        """Spatial inertia, angular part first, in the frame of the first link."""


def welded_bodies(description: Description) -> list[WeldedBody]:
    """The rigid bodies of a description that is a tree, parents before children."""
    links = {link.name: link for link in description.links}
    leaving: dict[str, list[Joint]] = {}
    for joint in description.joints:
        leaving.setdefault(joint.parent, []).append(joint)
    children = {joint.child for joint in description.joints}
    waiting: list[tuple[str, Joint | None]] = [(name, None) for name in links if name not in children]
    bodies: list[WeldedBody] = []
    # A list that grows during the loop, not recursion: chains of links may be longer than Python's stack is deep.
    for name, parent_joint in waiting:
        body = WeldedBody(parent_joint)
        welded: list[tuple[str, Array, Array]] = [(name, np.eye(3), np.zeros(3))]
        for member, R, p in welded:
            link = links[member]
            body.links.append(link)
            if link.inertial is not None:
                body.inertia += _spatial_inertia(link.inertial, R, p)
            for joint in leaving.get(member, []):
                if joint.type == "fixed":
                    welded.append((joint.child, *_compose(R, p, joint.pose)))
                else:
                    body.child_joints.append(joint)
                    body.places[joint.name] = _compose(R, p, joint.pose)
        waiting.extend((joint.child, joint) for joint in body.child_joints)
        bodies.append(body)
    return bodies


def inertia_matrix(inertial: Inertial) -> Array:
    """The 3 x 3 inertia about the centre of mass, in the inertial frame, kg m^2."""
    ixx, ixy, ixz, iyy, iyz, izz = inertial.inertia
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def _compose(R: Array, p: Array, pose: Pose) -> tuple[Array, Array]:
    return R @ np.array(pose.rotation), p + R @ np.array(pose.position)


def _spatial_inertia(inertial: Inertial, R: Array, p: Array) -> Array:
    """The 6 x 6 inertia (angular part first) about the origin of the frame in which the link has pose (R, p)."""
    R_com, c = _compose(R, p, inertial.pose)
    cross = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
    m = inertial.mass
    # Huge numbers may overflow; users of the sum check first that it is finite.
    with np.errstate(all="ignore"):
        rotational = R_com @ inertia_matrix(inertial) @ R_com.T + m * cross @ cross.T
        return np.block([[rotational, m * cross], [m * cross.T, np.diag([m, m, m])]])
