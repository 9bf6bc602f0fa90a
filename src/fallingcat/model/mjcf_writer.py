"""A `Description` as MJCF that MuJoCo compiles, and that reads back as the same robot.

Joints with massless links between them become several joints of one body, because moving bodies of MuJoCo need mass. A mimic
joint becomes an equality constraint, whose name marks it, so that reading it back gives a mimic joint again. A screw becomes a
hinge, and a slide that follows it. A link named `world` becomes the body `world'`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field

import numpy as np

from fallingcat.errors import InputError
from fallingcat.model.description import GREY, Description, Equality, Frame, Inertial, Joint, Link, Mimic, Pose, Vector, Visual
from fallingcat.model.mjcf_model import MIMIC
from fallingcat.model.placed import HERE, Placed, unit
from fallingcat.model.rotations import quaternion_of
from fallingcat.model.urdf_writer import attribute, numbers
from fallingcat.model.welds import inertia_matrix
from fallingcat.spatial.vec3 import matvec

_TINY = 1e-15
"""MuJoCo's mjMINVAL: moving bodies must have more mass and inertia than this."""
_TRIANGLE = 1e-9
_WORLD = "world"
_MESHES = (".stl", ".obj", ".msh")
Files = Callable[[Visual], str]


@dataclass
class Member:
    """A joint on the path to a body, with the pose of the joint's frame in the body."""

    joint: Joint
    on_body: Placed = HERE


@dataclass
class Written:
    """The contents of other sections of the file, collected while the tree of bodies is written."""

    followers: list[tuple[str, Mimic]] = field(default_factory=list)
    meshes: dict[tuple[str, Vector], str] = field(default_factory=dict)


def mjcf_text(robot: Description, floating: bool, gravity: Vector, file_of: Files | None) -> str:
    """The text of a description whose root is the base. file_of: where meshes are, or None to leave them out."""
    return _Writer(robot, floating, file_of).text(gravity)


class _Writer:
    def __init__(self, robot: Description, floating: bool, file_of: Files | None) -> None:
        self._robot = robot
        self._floating = floating
        self._file_of = file_of
        self._links = {link.name: link for link in robot.links}
        self._leaving: dict[str, list[Joint]] = {name: [] for name in self._links}
        for joint in robot.joints:
            self._leaving[joint.parent].append(joint)
        ends = (frame for equality in robot.equalities for frame in equality.frames or ())
        self._frames: dict[str, list[Frame]] = {name: [] for name in self._links}
        for frame in {frame.name: frame for frame in (*robot.frames, *ends)}.values():
            self._frames[frame.link].append(frame)
        self._more = Written()

    def text(self, gravity: Vector) -> str:
        children = {joint.child for joint in self._robot.joints}
        root = next(link for link in self._robot.links if link.name not in children)
        bodies = [*self._world(root)] if self._is_world(root) else [*self._body(root, [], Pose(), 2, top=True)]
        lines = [
            f"<mujoco model={attribute(self._robot.name)}>",
            '  <compiler angle="radian" autolimits="true" inertiafromgeom="false" balanceinertia="false" fusestatic="false"/>',
            f"  <option gravity={numbers(gravity)}/>",
            *self._assets(),
            "  <worldbody>",
            *bodies,
            "  </worldbody>",
            *self._tendons(),
            *self._equalities(),
            *self._actuators(),
            "</mujoco>",
            "",
        ]
        return "\n".join(lines)

    # Bodies

    def _is_world(self, root: Link) -> bool:
        """A root without mass that does not float is the world itself."""
        return not self._floating and root.inertial is None

    def _world(self, root: Link) -> Iterator[str]:
        yield from self._contents(root, 2)
        for joint in self._leaving[root.name]:
            yield from self._branch(joint, 2)

    def _branch(self, joint: Joint, depth: int) -> Iterator[str]:
        """The text of the body that a joint leads to, through massless links if there are any."""
        way, at = [Member(joint)], Placed.of(joint.pose)
        link = self._links[joint.child]
        while self._passes_through(link, way):
            (following,) = self._leaving[link.name]
            for member in way:
                member.on_body = Placed.of(following.pose).inverse() @ member.on_body
            way.append(Member(following))
            at = at @ Placed.of(following.pose)
            link = self._links[following.child]
        yield from self._body(link, way, at.pose(), depth)

    def _passes_through(self, link: Link, way: list[Member]) -> bool:
        moving = any(member.joint.type != "fixed" for member in way)
        empty = link.inertial is None and not link.visuals and not link.collisions and not self._frames[link.name]
        return empty and moving and len(self._leaving[link.name]) == 1

    def _body(self, link: Link, way: list[Member], pose: Pose, depth: int, top: bool = False) -> Iterator[str]:
        blank = "  " * depth
        free = [member.joint for member in way if member.joint.type == "floating"]
        yield f"{blank}<body name={attribute(_body_name(link, self._links))} {_pose(Pose() if free else pose)}>"
        if top and self._floating:
            yield f'{blank}  <freejoint name="{_free_name(self._robot)}"/>'
        for member in way:
            yield from self._joints(member, depth + 1, pose, len(way))
        self._check_mass(link, way, top)
        if link.inertial is not None:
            yield f"{blank}  {_inertial(link)}"
        yield from self._contents(link, depth + 1)
        for joint in self._leaving[link.name]:
            yield from self._branch(joint, depth + 1)
        yield f"{blank}</body>"

    def _check_mass(self, link: Link, way: list[Member], top: bool) -> None:
        moving = [member.joint for member in way if member.joint.type != "fixed"]
        if (moving or (top and self._floating)) and not self._has_mass(link):
            what = f"MuJoCo has no moving bodies without mass, and {link.name!r} has none"
            raise InputError(what, hint="give it some, or write URDF")

    def _has_mass(self, link: Link) -> bool:
        """Has the link mass, its own or that of links welded to it?"""
        waiting = [link]
        while waiting:
            one = waiting.pop()
            if one.inertial is not None and one.inertial.mass > _TINY:
                return True
            waiting += [self._links[joint.child] for joint in self._leaving[one.name] if joint.type == "fixed"]
        return False

    def _contents(self, link: Link, depth: int) -> Iterator[str]:
        blank = "  " * depth
        for group, shapes in ((1, link.visuals), (3, link.collisions)):
            for shape in shapes:
                geom = self._geom(shape)
                if geom:
                    contact = 'contype="0" conaffinity="0" ' if group == 1 else ""
                    colour = f" rgba={numbers(shape.rgba)}" if shape.rgba != GREY and group == 1 else ""
                    yield f'{blank}<geom {geom} {_pose(shape.pose)} group="{group}" {contact}{colour}/>'
        for frame in self._frames[link.name]:
            yield f"{blank}<site name={attribute(frame.name)} {_pose(frame.pose)}/>"

    def _geom(self, shape: Visual) -> str:
        sizes = shape.size
        if shape.shape == "mesh":
            if self._file_of is None or not shape.file.lower().endswith(_MESHES):
                return ""
            key = (self._file_of(shape), shape.scale)
            name = self._more.meshes.setdefault(key, f"mesh{len(self._more.meshes)}")
            return f'type="mesh" mesh="{name}"'
        if min(sizes) <= 0.0:
            return ""
        halves = {"box": (0.5, 0.5, 0.5), "cylinder": (1.0, 0.5), "capsule": (1.0, 0.5)}.get(shape.shape, (1.0,) * len(sizes))
        return f'type="{shape.shape}" size={numbers(tuple(a * b for a, b in zip(sizes, halves, strict=True)))}'

    # Joints

    def _joints(self, member: Member, depth: int, pose: Pose, count: int) -> Iterator[str]:
        """The text of MuJoCo's joints (hinges, slides, balls) for one joint."""
        joint = member.joint
        name, axis = joint.name, unit(joint.axis) if any(joint.axis) else (0.0, 0.0, 1.0)
        if joint.type in ("revolute", "continuous"):
            yield self._line(depth, name, "hinge", axis, member)
        elif joint.type == "prismatic":
            yield self._line(depth, name, "slide", axis, member)
        elif joint.type == "helical":
            yield self._line(depth, name, "hinge", axis, member)
            yield self._line(depth, f"{name}/slide", "slide", axis, member, inside=False)
            self._more.followers.append((f"{name}/slide", Mimic(name, joint.pitch)))
        elif joint.type == "cylindrical":
            yield self._line(depth, name, "slide", axis, member)
            yield self._line(depth, f"{name}/turn", "hinge", axis, member)
        elif joint.type == "universal":
            yield self._line(depth, name, "hinge", axis, member)
            yield self._line(depth, f"{name}/second", "hinge", unit(joint.axis2), member)
        elif joint.type == "spherical":
            yield self._line(depth, name, "ball", (0.0, 0.0, 1.0), member)
        elif joint.type == "floating":
            if pose != Pose() or depth != 3 or count != 1 or not self._is_world(self._links[joint.parent]):
                what = f"MuJoCo's free joints start at the origin of the world, and {name!r} does not"
                raise InputError(what, hint="write URDF")
            yield f"{'  ' * depth}<freejoint name={attribute(name)}/>"
        elif joint.type == "planar":
            hint = "write URDF, or build the joint of two slides and a hinge"
            raise InputError(f"MuJoCo has no joint like the planar {name!r}, whose velocity turns with the body", hint=hint)
        if joint.mimic is not None and joint.type != "fixed":  # a locked mimic joint needs no constraint
            self._more.followers.append((name, joint.mimic))

    def _line(self, depth: int, name: str, kind: str, axis: Vector, member: Member, inside: bool = True) -> str:
        """One <joint> element. inside: does it have the damping, friction, armature and limits of the joint?"""
        joint, limits = member.joint, member.joint.limits
        words = [f'<joint name={attribute(name)} type="{kind}"', f"pos={numbers(_vector(member.on_body.p))}"]
        if kind != "ball":
            words.append(f"axis={numbers(_vector(matvec(member.on_body.R, axis)))}")
        if inside:
            for word, value in (("damping", joint.damping), ("frictionloss", joint.friction), ("armature", joint.armature)):
                if value:
                    words.append(f"{word}={numbers((value,))}")
            bounded = math.isfinite(limits.lower) or math.isfinite(limits.upper)
            if bounded and kind != "ball" and limits.lower < limits.upper:
                words.append(f"range={numbers((max(limits.lower, -1e16), min(limits.upper, 1e16)))}")
            if math.isfinite(limits.effort) and limits.effort > 0.0 and kind != "ball":
                words.append(f"actuatorfrcrange={numbers((-limits.effort, limits.effort))}")
        return "  " * depth + " ".join(words) + "/>"

    # The rest

    def _assets(self) -> Iterator[str]:
        if self._more.meshes:
            yield "  <asset>"
            for (file, scale), name in self._more.meshes.items():
                yield f'    <mesh name="{name}" file={attribute(file)} scale={numbers(scale)}/>'
            yield "  </asset>"

    def _tendons(self) -> Iterator[str]:
        several = [actuator for actuator in self._robot.actuators if len(actuator.joints) > 1]
        if several:
            yield "  <tendon>"
            for actuator in several:
                joints = "".join(f"<joint joint={attribute(j)} coef={numbers(gears)}/>" for j, gears in actuator.joints)
                yield f"    <fixed name={attribute(actuator.name)}>{joints}</fixed>"
            yield "  </tendon>"

    def _actuators(self) -> Iterator[str]:
        if self._robot.actuators:
            yield "  <actuator>"
            for actuator in self._robot.actuators:
                name = attribute(actuator.name)
                if len(actuator.joints) > 1:
                    yield f"    <motor name={name} tendon={name}/>"
                elif actuator.joints:
                    (joint, gears), *_ = actuator.joints
                    yield f"    <motor name={name} joint={attribute(joint)} gear={numbers(gears)}/>"
                else:
                    yield f"    <general name={name} site={attribute(actuator.frame)} gear={numbers(actuator.wrench)}/>"
            yield "  </actuator>"

    def _equalities(self) -> Iterator[str]:
        kept = [equality for equality in self._robot.equalities if equality.kind != "hinge"]
        if kept or self._more.followers:
            yield "  <equality>"
            for follower, mimic in self._more.followers:
                pair = f"joint1={attribute(follower)} joint2={attribute(mimic.joint)}"
                coefficients = numbers((mimic.offset, mimic.multiplier, 0.0, 0.0, 0.0))
                yield f"    <joint name={attribute(MIMIC + follower)} {pair} polycoef={coefficients}/>"
            for equality in kept:
                yield f"    {_equality(equality)}"
            yield "  </equality>"


def _equality(equality: Equality) -> str:
    head = f'<{equality.kind} name={attribute(equality.name)} active="{str(equality.active).lower()}"'
    if equality.joints is not None:
        first, second = equality.joints
        other = f" joint2={attribute(second)}" if second else ""
        coefficients = (*equality.polynomial, 0.0, 0.0, 0.0, 0.0, 0.0)[:5]
        return f"{head} joint1={attribute(first)}{other} polycoef={numbers(coefficients)}/>"
    assert equality.frames is not None
    one, two = equality.frames
    return f"{head} site1={attribute(one.name)} site2={attribute(two.name)}/>"


def _inertial(link: Link) -> str:
    """The <inertial> element, in principal axes, because MuJoCo diagonalizes other inertias to fewer digits."""
    inertial = link.inertial
    assert isinstance(inertial, Inertial)
    xx, xy, xz, yy, yz, zz = inertial.inertia
    at, moments = Placed.of(inertial.pose), (xx, yy, zz)
    if any((xy, xz, yz)):
        values, axes = np.linalg.eigh(inertia_matrix(inertial))
        axes = axes if np.linalg.det(axes) > 0.0 else -axes
        a, b, c = (tuple(float(x) for x in row) for row in axes)
        at = at @ Placed(((a[0], a[1], a[2]), (b[0], b[1], b[2]), (c[0], c[1], c[2])))
        moments = (float(values[0]), float(values[1]), float(values[2]))
    smallest, middle, largest = sorted(moments)
    if smallest < 0.0 or smallest + middle < largest * (1.0 - _TRIANGLE):
        shown = f"{smallest:g}, {middle:g} and {largest:g}"
        what = f"MuJoCo takes no inertia such as that of {link.name!r}, whose principal moments are {shown}"
        raise InputError(what, hint="no body has it: mend it, or write URDF")
    return f"<inertial {_pose(at.pose())} mass={numbers((inertial.mass,))} diaginertia={numbers(moments)}/>"


def _pose(pose: Pose) -> str:
    words = [f"pos={numbers(pose.position)}"]
    if pose.rotation != Pose().rotation:
        x, y, z, w = quaternion_of(pose.rotation)
        words.append(f"quat={numbers((w, x, y, z))}")
    return " ".join(words)


def _vector(v: tuple[object, object, object]) -> Vector:
    x, y, z = (float(value) for value in v)  # type: ignore[arg-type]
    return x, y, z


def _body_name(link: Link, links: Container[str]) -> str:
    """The name of a link's body; `world` is changed, because it is MuJoCo's name for the world itself."""
    name = link.name
    while name == _WORLD or (name != link.name and name in links):
        name += "'"
    return name


def _free_name(robot: Description) -> str:
    name = "floating base"
    while name in {joint.name for joint in robot.joints}:
        name += "'"
    return name
