"""How other libraries write the state of a robot, as a table.

The differences are in the joints with several degrees of freedom, above all the floating base: the places of its
position and of its quaternion in q, the axes of its linear and of its angular velocity, and which of the two comes
first. Joints with one coordinate are written alike everywhere, but for Pinocchio's unbounded angles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Linear = Literal["body", "world", "inertial"]
"""Velocity of the base's origin in its own or in the world's axes, or of the point at the world's origin."""
Angular = Literal["body", "world"]
"""Axes in which the angular velocity is written."""


@dataclass(frozen=True)
class Convention:
    """The conventions of one library for the state of a robot."""

    library: str
    position_at: tuple[int, int, int] = (0, 1, 2)
    """Places of x y z among the coordinates of a floating joint."""
    quaternion_at: tuple[int, int, int, int] = (3, 4, 5, 6)
    """Places of the quaternion's x y z w among them."""
    spherical_at: tuple[int, int, int, int] = (0, 1, 2, 3)
    """Places of x y z w among the coordinates of a spherical joint."""
    real_parts_last: bool = False
    """Does the w of every quaternion come after all other coordinates of the robot?"""
    linear: Linear = "body"
    angular: Angular = "body"
    angular_first: bool = False
    """Is a twist (angular; linear)?"""
    circles: bool = False
    """Are unbounded angles kept as cosine and sine?"""
    pose: bool = False
    """Is the base's pose a 4 x 4 matrix, given apart from the joints?"""
    any_base: bool = False
    """Can any link be the base, as here? Otherwise it is the root of the description."""
    joints: frozenset[str] = frozenset()
    """The types of joints with several degrees of freedom that both libraries have."""
    no_joints: frozenset[str] = frozenset()
    """Names in its list of joints that are not joints of the description."""


PINOCCHIO = Convention(
    "Pinocchio",
    circles=True,
    joints=frozenset({"spherical", "planar", "floating"}),
    no_joints=frozenset({"universe", "root_joint"}),
)

MUJOCO = Convention(
    "MuJoCo",
    quaternion_at=(4, 5, 6, 3),
    spherical_at=(1, 2, 3, 0),
    linear="world",
    joints=frozenset({"spherical", "floating"}),
)

DRAKE = Convention(
    "Drake",
    position_at=(4, 5, 6),
    quaternion_at=(1, 2, 3, 0),
    linear="world",
    angular="world",
    angular_first=True,
    joints=frozenset({"planar"}),
)

RBDL = Convention("RBDL", real_parts_last=True, linear="world", joints=frozenset({"spherical"}))


def with_pose(library: str, representation: str, any_base: bool) -> Convention:
    """iDynTree's and adam's: the base's pose as a matrix, its twist in one of three representations (paper 004)."""
    linear: dict[str, Linear] = {"body": "body", "mixed": "world", "inertial": "inertial"}
    angular: Angular = "body" if representation == "body" else "world"
    return Convention(library, linear=linear[representation], angular=angular, pose=True, any_base=any_base)
