"""A loaded robot as a description: locked joints are fixed, the base is the root, and joints are in the order of q."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fallingcat.errors import InputError
from fallingcat.model.assemble import CANONICAL, Choice, LockValue
from fallingcat.model.description import Description, Joint, Link, Mimic, Pose, Vector
from fallingcat.model.placed import Placed
from fallingcat.spatial.vec3 import IDENTITY, transpose

_SYMMETRIC = ("revolute", "continuous", "prismatic", "helical", "cylindrical", "fixed")
"""Joints whose reverse is a joint of the same type with the opposite axis."""


def resolved(
    description: Description, base: str, joints: Iterable[str] | None = None, lock: Mapping[str, LockValue] | None = None
) -> Description:
    """The description of a robot that was loaded with these options.

    Raises `InputError` if the base reverses a joint whose reverse is no joint type of files.
    """
    choice = Choice(description, joints, lock or {})
    every = [_locked(joint, choice) for joint in description.joints]
    links, every = _rooted(description, every, base)
    order = {name: k for k, name in enumerate(choice.movable)}
    every.sort(key=lambda joint: order.get(joint.name, len(order)))  # stable: the other joints keep their order
    return replace(description, links=tuple(links), joints=tuple(every))


def _locked(joint: Joint, choice: Choice) -> Joint:
    """A locked joint as a fixed one; a mimic joint with the leader at the end of its chain; other joints unchanged."""
    locked = choice.lock_of(joint) if joint.type != "fixed" else None
    if locked is None:
        if joint.name in choice.master:
            leader, multiplier, offset = choice.master[joint.name]
            return replace(joint, mimic=Mimic(leader, multiplier, offset))
        return joint
    model, A = CANONICAL[joint.type](joint)
    turn = Placed(A)
    moved = Placed.of(joint.pose) @ turn @ Placed(transpose(model.rotation(locked, IDENTITY).matrix()), model.offset(locked))
    return Joint(joint.name, "fixed", joint.parent, joint.child, (moved @ turn.inverse()).pose(), line=joint.line)


def _rooted(description: Description, joints: list[Joint], base: str) -> tuple[list[Link], list[Joint]]:
    """The tree with another root: the joints between the root and the base are reversed."""
    above = {joint.child: joint for joint in joints}
    links, names = list(description.links), {link.name for link in description.links}
    link = base
    while link in above:
        joint = above[link]
        at = joints.index(joint)
        if joint.type not in _SYMMETRIC:
            raise InputError(
                f"with the base {base!r} joint {joint.name!r} is reversed, and a reversed {joint.type} joint cannot be written",
                hint="write the robot with its own root as the base: robot.with_base(...)",
            )
        if joint.type == "fixed":
            back = Placed.of(joint.pose).inverse().pose()
            joints[at] = replace(joint, parent=joint.child, child=joint.parent, pose=back)
        else:
            # X_child,parent = X_J(q)^-1 X_parent,joint^-1, and X_J(q)^-1 is the joint about the opposite axis.
            between = _new_name(f"{joint.parent}/{joint.name}", names)
            links.append(Link(between))
            x, y, z = joint.axis
            turned: Vector = (0.0 - x, 0.0 - y, 0.0 - z)
            joints[at] = replace(joint, parent=joint.child, child=between, pose=Pose(), axis=turned)
            weld = _new_name(f"{joint.name}/weld", {joint.name for joint in joints})
            joints.append(Joint(weld, "fixed", between, joint.parent, Placed.of(joint.pose).inverse().pose()))
        link = joint.parent
    links.sort(key=lambda link: link.name != base)  # the root first
    return links, joints


def _new_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name
