"""The place of every entry of this library's q and nu in another library's, and the joints whose axes differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fallingcat.converters.conventions import Convention
from fallingcat.errors import InputError
from fallingcat.model.model import Body
from fallingcat.suggest import closest

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

BASE = "floating base"


@dataclass(frozen=True)
class Place:
    """One number: `there` in their vector is multiplier * `here` in ours + offset."""

    here: int
    there: int
    multiplier: float = 1.0
    offset: float = 0.0
    follows: bool = False
    """Does it belong to a joint that follows another here, but has a coordinate of its own there?"""


@dataclass(frozen=True)
class Turning:
    """A joint whose velocity may be written in other axes than the body's: floating, or planar."""

    q_at: int
    nu_at: int
    planar: bool


@dataclass
class Layout:
    """The places of all entries, joint by joint in the other library's order."""

    joint_names: tuple[str, ...]
    coordinates: list[Place] = field(default_factory=list)
    angles: list[Place] = field(default_factory=list)
    """Coordinates that are kept there as a cosine, at `there`, and a sine behind it."""
    velocities: list[Place] = field(default_factory=list)
    turning: list[Turning] = field(default_factory=list)
    nq: int = 0
    nv: int = 0


def layout(robot: Robot, convention: Convention, joint_names: Iterable[str] | None, continuous: Iterable[str] | None) -> Layout:
    """Lay out a robot: the floating base, then the joints in their order."""
    _check_base(robot, convention)
    names = _their_joints(robot, convention, joint_names)
    circles = _circles(robot, convention, continuous)
    bodies = {body.joint_name: body for body in robot.model.bodies}
    types = {joint.name: joint.type for joint in robot.description.joints}
    made = Layout(tuple(names))
    real_parts: list[int] = []
    if robot.floating:
        _floating(made, convention, robot.model.bodies[0], real_parts)
    for name in names:
        body = bodies[name]
        if body.joint.nq == 1:
            _one_coordinate(made, body, name in circles)
            continue
        _check_type(robot, convention, name)
        {"spherical": _spherical, "planar": _planar, "floating": _floating}[types[name]](made, convention, body, real_parts)
    for here in real_parts:
        made.coordinates.append(Place(here, made.nq))
        made.nq += 1
    return made


def _one_coordinate(made: Layout, body: Body, circle: bool) -> None:
    follow = (body.multiplier, body.offset, body.mimics)
    (made.angles if circle else made.coordinates).append(Place(body.q_at, made.nq, *follow))
    made.velocities.append(Place(body.nu_at, made.nv, body.multiplier, 0.0, body.mimics))
    made.nq, made.nv = made.nq + (2 if circle else 1), made.nv + 1


def _floating(made: Layout, convention: Convention, body: Body, real_parts: list[int]) -> None:
    at = (*convention.position_at, *convention.quaternion_at)
    _quaternion_joint(made, convention, body, at, real_parts)
    order = (3, 4, 5, 0, 1, 2) if convention.angular_first else range(6)
    made.velocities += [Place(body.nu_at + k, made.nv + at) for k, at in enumerate(order)]
    made.turning.append(Turning(body.q_at, body.nu_at, planar=False))
    made.nv += 6


def _spherical(made: Layout, convention: Convention, body: Body, real_parts: list[int]) -> None:
    """A spherical joint: every library that has one writes its velocity in the axes of the body."""
    _quaternion_joint(made, convention, body, convention.spherical_at, real_parts)
    made.velocities += [Place(body.nu_at + k, made.nv + k) for k in range(3)]
    made.nv += 3


def _quaternion_joint(made: Layout, convention: Convention, body: Body, at: Sequence[int], real_parts: list[int]) -> None:
    if convention.real_parts_last:
        at = at[:-1]
        real_parts.append(body.q_at + body.joint.nq - 1)
    made.coordinates += [Place(body.q_at + k, made.nq + there) for k, there in enumerate(at)]
    made.nq += len(at)


def _planar(made: Layout, convention: Convention, body: Body, real_parts: list[int]) -> None:
    made.coordinates += [Place(body.q_at + k, made.nq + k) for k in range(2)]
    (made.angles if convention.circles else made.coordinates).append(Place(body.q_at + 2, made.nq + 2))
    made.velocities += [Place(body.nu_at + k, made.nv + k) for k in range(3)]
    made.turning.append(Turning(body.q_at, body.nu_at, planar=True))
    made.nq, made.nv = made.nq + (4 if convention.circles else 3), made.nv + 3


# ---------------------------------------------------------------------------------------------------------------------
# Joints that cannot be converted


def _check_base(robot: Robot, convention: Convention) -> None:
    children = {joint.child for joint in robot.description.joints}
    root = next(link.name for link in robot.description.links if link.name not in children)
    if robot.base != root and not convention.any_base:
        raise InputError(
            f"{convention.library} has another base", expected=f"the root of the description, {root!r}", got=repr(robot.base),
            hint=f"convert with robot.with_base({root!r}); the joints' coordinates stay the same",
        )  # fmt: skip


def _check_type(robot: Robot, convention: Convention, name: str) -> None:
    joint = next(joint for joint in robot.description.joints if joint.name == name)
    if joint.type not in convention.joints:
        known = ", ".join(["one coordinate", *sorted(convention.joints)])
        raise InputError(
            f"{convention.library}: no counterpart of the {joint.type} joint {name!r}", expected=f"joints with {known}",
            hint=f"lock it, or leave it out with joints= when loading {robot.name!r}",
        )  # fmt: skip
    if joint.type == "planar" and tuple(joint.axis) != (0.0, 0.0, 1.0):
        # In a plane with another normal the axes x and y are arbitrary, so that libraries may choose different ones.
        raise InputError(f"{convention.library}: planar joint {name!r}", expected="its axis along z", got=str(joint.axis))


def _their_joints(robot: Robot, convention: Convention, joint_names: Iterable[str] | None) -> list[str]:
    """Their joints in their order, all of ours among them."""
    if isinstance(joint_names, str):
        what = "joint_names does not fit"
        raise InputError(what, expected="a sequence of names", got=repr(joint_names), hint=f"joint_names=[{joint_names!r}]")
    if joint_names is None:
        return list(robot.joint_names)
    names = [str(name) for name in joint_names if name not in convention.no_joints]
    moving = {body.joint_name for body in robot.model.bodies} - {BASE}
    for name in names:
        if name not in moving:
            standing = name in {joint.name for joint in robot.description.joints}
            what = f"joint {name!r} does not move on" if standing else f"no joint {name!r} on"
            hint = "name only joints with coordinates" if standing else closest(name, moving)
            raise InputError(f"joint_names: {what} robot {robot.name!r}", hint=hint)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"joint_names: named twice: {twice}", hint="name each joint once")
    missing = [name for name in robot.joint_names if name not in names]
    if missing:
        raise InputError(
            f"joint_names: {len(missing)} of {len(robot.joint_names)} joints are missing", expected="all movable joints",
            got=f"none of {missing[:4]}", hint="fc.load(..., joints=[...]) locks the joints that do not move there",
        )  # fmt: skip
    return names


def _circles(robot: Robot, convention: Convention, continuous: Iterable[str] | None) -> set[str]:
    """The joints whose angle is kept as cosine and sine: those of type `continuous`, unless named."""
    types = {joint.name: joint.type for joint in robot.description.joints}
    if continuous is None:
        return {name for name, type_ in types.items() if convention.circles and type_ == "continuous"}
    names = {continuous} if isinstance(continuous, str) else set(continuous)
    for name in names:
        if types.get(name) not in ("revolute", "continuous"):
            raise InputError(f"continuous: {name!r} is not a revolute joint", hint=closest(name, types))
    return names
