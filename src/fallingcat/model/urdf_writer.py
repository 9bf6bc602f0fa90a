"""A `Description` as URDF that reads back as the same robot.

Types and attributes beyond URDF's own (helical, cylindrical, universal, spherical joints, a second axis, a pitch, armature) are
those that `urdf.py` reads. Whether the base floats, and gravity, are in an additional element, which other readers ignore.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from xml.sax.saxutils import quoteattr

from fallingcat.errors import InputError
from fallingcat.model.description import GREY, Description, Frame, Inertial, Joint, Link, Pose, Vector, Visual
from fallingcat.model.placed import Placed
from fallingcat.model.rotations import rpy_of
from fallingcat.model.urdf import NO_LIMIT, read_urdf
from fallingcat.text import printable

Files = Callable[[Visual], str]
"""A function from a mesh to the name of its file in the text."""


def urdf_text(robot: Description, floating: bool, gravity: Vector, file_of: Files) -> str:
    """The text of a description whose root is the base."""
    links, joints = [*robot.links], [*robot.joints]
    for frame in robot.frames:
        link, joint = _frame(frame)
        links.append(link)
        joints.append(joint)
    lines = ['<?xml version="1.0"?>', f"<robot name={attribute(robot.name)}>"]
    for link in links:
        lines += _link(link, file_of)
    for joint in joints:
        lines += _joint(joint)
    lines += [f'  <fallingcat floating="{str(floating).lower()}" gravity={numbers(gravity)}/>', "</robot>", ""]
    text = "\n".join(lines)
    _read_back(text, links, joints)
    return text


def attribute(name: str) -> str:
    """A name as the value of an attribute, with quotes."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"the name {printable(name)!r} cannot be written: it is not valid Unicode") from None
    return quoteattr(name)


def numbers(values: tuple[float, ...]) -> str:
    """Numbers as the value of an attribute, with quotes, and with all digits that are needed to read them back exactly."""
    return '"' + " ".join(repr(float(value) + 0.0) for value in values) + '"'


def _read_back(text: str, links: list[Link], joints: list[Joint]) -> None:
    """Refuse names that XML or URDF cannot hold: the text must read back as the same robot."""
    again, findings = read_urdf(text)
    errors = [finding for finding in findings if finding.severity == "error"]
    if again is None or errors:
        raise InputError(f"this robot cannot be written as URDF: {errors[0].message if errors else 'it does not read back'}")
    names = [*(link.name for link in links), *(joint.name for joint in joints)]
    for a, b in zip(names, [*(link.name for link in again.links), *(joint.name for joint in again.joints)], strict=True):
        if a != b:
            raise InputError(f"the name {printable(a)!r} does not survive in URDF", hint="choose another one")


def _frame(frame: Frame) -> tuple[Link, Joint]:
    return Link(frame.name), Joint(frame.name, "fixed", frame.link, frame.name, frame.pose)


def _origin(pose: Pose) -> str:
    return f"<origin xyz={numbers(pose.position)} rpy={numbers(rpy_of(pose.rotation))}/>"


def _link(link: Link, file_of: Files) -> Iterator[str]:
    if link.inertial is None and not link.visuals and not link.collisions:
        yield f"  <link name={attribute(link.name)}/>"
        return
    yield f"  <link name={attribute(link.name)}>"
    if link.inertial is not None:
        yield from _inertial(link.inertial)
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for shape in shapes:
            for pose, geometry in _shapes(shape, file_of):
                colour = ""
                if tag == "visual" and shape.rgba != GREY:
                    colour = f'<material name=""><color rgba={numbers(shape.rgba)}/></material>'
                yield f"    <{tag}>{_origin(pose)}<geometry>{geometry}</geometry>{colour}</{tag}>"
    yield "  </link>"


def _inertial(inertial: Inertial) -> Iterator[str]:
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = " ".join(f"{name}={numbers((value,))}" for name, value in zip(names, inertial.inertia, strict=True))
    yield "    <inertial>"
    yield f"      {_origin(inertial.pose)}<mass value={numbers((inertial.mass,))}/>"
    yield f"      <inertia {moments}/>"
    yield "    </inertial>"


def _shapes(shape: Visual, file_of: Files) -> Iterator[tuple[Pose, str]]:
    """A shape as (pose, text) pairs of shapes that every reader of URDF knows, which have no ellipsoids."""
    if shape.shape == "mesh":
        if shape.file:
            yield shape.pose, f"<mesh filename={attribute(file_of(shape))} scale={numbers(shape.scale)}/>"
    elif shape.shape == "box":
        yield shape.pose, f"<box size={numbers(shape.size)}/>"
    elif shape.shape == "sphere":
        yield shape.pose, f"<sphere radius={numbers(shape.size)}/>"
    elif shape.shape == "ellipsoid":
        x, y, z = shape.size
        yield shape.pose, f"<sphere radius={numbers((math.cbrt(x * y * z),))}/>"
    else:
        radius, length = shape.size
        yield shape.pose, f"<cylinder radius={numbers((radius,))} length={numbers((length,))}/>"
        for end in (-0.5, 0.5) if shape.shape == "capsule" else ():
            yield (Placed.of(shape.pose) @ Placed(p=(0.0, 0.0, end * length))).pose(), f"<sphere radius={numbers((radius,))}/>"


def _joint(joint: Joint) -> Iterator[str]:
    kind, limits = joint.type, joint.limits
    bounded = math.isfinite(limits.lower) or math.isfinite(limits.upper)
    if kind == "revolute" and not bounded:
        kind = "continuous"
    yield f'  <joint name={attribute(joint.name)} type="{kind}">'
    yield f"    <parent link={attribute(joint.parent)}/><child link={attribute(joint.child)}/>"
    yield f"    {_origin(joint.pose)}"
    if kind not in ("fixed", "floating", "spherical"):
        pitch = f" pitch={numbers((joint.pitch,))}" if kind == "helical" else ""
        yield f"    <axis xyz={numbers(joint.axis)}{pitch}/>"
    if kind == "universal":
        yield f"    <axis2 xyz={numbers(joint.axis2)}/>"
    if kind != "fixed":
        yield f"    {_limit(joint)}"
    if joint.damping or joint.friction or joint.armature:
        armature = f" armature={numbers((joint.armature,))}" if joint.armature else ""
        yield f"    <dynamics damping={numbers((joint.damping,))} friction={numbers((joint.friction,))}{armature}/>"
    if joint.mimic is not None:
        mimic = joint.mimic
        factors = f"multiplier={numbers((mimic.multiplier,))} offset={numbers((mimic.offset,))}"
        yield f"    <mimic joint={attribute(mimic.joint)} {factors}/>"
    yield "  </joint>"


def _limit(joint: Joint) -> str:
    """The <limit> element with all four numbers, which other readers require; a huge number means none."""
    values = (joint.limits.lower, joint.limits.upper, joint.limits.effort, joint.limits.velocity)
    finite = (math.copysign(10.0 * NO_LIMIT, value) if math.isinf(value) else value for value in values)
    words = (f"{name}={numbers((value,))}" for name, value in zip(("lower", "upper", "effort", "velocity"), finite, strict=True))
    return f"<limit {' '.join(words)}/>"
