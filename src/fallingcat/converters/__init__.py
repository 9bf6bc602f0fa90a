"""Converters, at the edge, to the states of other libraries and back.

>>> to = fc.converters.pinocchio(robot, model)
>>> pin.rnea(model, data, to.q(q), to.nu(q, nu), to.dnu(q, nu, dnu))  # is to.tau(q, robot.inverse_dynamics(q, nu, dnu))

Joints are matched by name: `joint_names` are theirs in the order of their coordinates, ours when None. None of the
libraries is imported. docs/coming_from.md shows the differences in one table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fallingcat.choices import check_representation
from fallingcat.converters import conventions
from fallingcat.converters.converter import Converter as Converter
from fallingcat.converters.converter import PoseAndJoints as PoseAndJoints
from fallingcat.model.joints import Representation

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

__all__ = ["Converter", "PoseAndJoints", "adam", "drake", "idyntree", "mujoco", "pinocchio", "rbdl"]

Names = Iterable[str] | None


def pinocchio(robot: Robot, joint_names: Names | Any = None, continuous: Names = None, mimic: bool = False) -> Converter:
    """Pinocchio: the same conventions as here, but for unbounded angles, kept as cosine and sine, and the joints' order.

    joint_names: the model itself, or names such as `model.names`. mimic: for names of a model built with `mimic=True`,
    where joints that follow others have no coordinates, as here; the model itself says so. continuous: the joints kept
    as cosine and sine; those of type `continuous` when None. A planar joint's angle always is.
    """
    names, sizes = getattr(joint_names, "names", None), getattr(joint_names, "nqs", None)
    if names is not None and sizes is not None:
        joint_names = [name for name, size in zip(names, sizes, strict=True) if size > 0]
    elif mimic and joint_names is not None and not isinstance(joint_names, str):
        followers = {body.joint_name for body in robot.model.bodies if body.mimics}
        joint_names = [name for name in joint_names if name not in followers]
    return Converter(robot, conventions.PINOCCHIO, joint_names, continuous)


def mujoco(robot: Robot, joint_names: Names = None) -> Converter:
    """MuJoCo: qpos with quaternions w x y z; qvel with the base's linear velocity in world axes, the angular in body axes."""
    return Converter(robot, conventions.MUJOCO, joint_names)


def drake(robot: Robot, joint_names: Names = None) -> Converter:
    """Drake: the base's quaternion w x y z, then its position; (angular; linear) velocity in world axes."""
    return Converter(robot, conventions.DRAKE, joint_names)


def idyntree(robot: Robot, joint_names: Names = None, representation: Representation = "mixed") -> Converter:
    """iDynTree: (H, s) for the configuration; the base's twist as `setFrameVelocityRepresentation` has it.

    Our base must be the link given to `setFloatingBase`.
    """
    return Converter(robot, _with_pose("iDynTree", representation, any_base=True), joint_names)


def adam(robot: Robot, joint_names: Names = None, representation: Representation = "mixed") -> Converter:
    """adam: (H, s) for the configuration; the base's twist as `set_frame_velocity_representation` has it."""
    return Converter(robot, _with_pose("adam", representation, any_base=False), joint_names)


def rbdl(robot: Robot, joint_names: Names = None) -> Converter:
    """RBDL: q with the w of each quaternion at its end; the base's linear velocity in world axes, the angular in body axes."""
    return Converter(robot, conventions.RBDL, joint_names)


def _with_pose(library: str, representation: str, any_base: bool) -> conventions.Convention:
    check_representation(representation)
    return conventions.with_pose(library, representation, any_base)
