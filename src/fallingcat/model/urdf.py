"""URDF text to a `Description`.

The reader continues after a mistake, so that one reading reports all of them. Values that cannot be read
are replaced by harmless ones, so the description of a text with errors is good for further checks only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

from fallingcat.model.description import (
    INFINITY,
    Description,
    Inertial,
    Joint,
    JointType,
    Limits,
    Link,
    Mimic,
    Pose,
    Rgba,
    ShapeKind,
    Vector,
    Visual,
)
from fallingcat.model.findings import Finding
from fallingcat.model.report import Report, Suggestions, printable, quoted
from fallingcat.model.rotations import rotation_from_rpy
from fallingcat.model.urdf_numbers import NumberReader
from fallingcat.model.xacro_files import HINT
from fallingcat.model.xml_tree import Element, XmlError, parse_xml

# Elements that URDF files are known to contain. Unknown elements are ignored without a finding,
# unless their name is close to a known one.
_KNOWN_CHILDREN = {
    "robot": ("link", "joint", "material", "gazebo", "transmission", "sensor", "group", "ros2_control", "fallingcat"),
    "link": ("inertial", "visual", "collision", "contact", "self_collision_checking", "collision_checking", "sensor"),
    "joint": (
        *("origin", "parent", "child", "axis", "axis2", "limit", "dynamics", "mimic"),
        *("calibration", "safety_controller", "hardwareInterface"),
    ),
    "inertial": ("origin", "mass", "inertia"),
}
_SIZES = {
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
    "capsule": {"radius": 1, "length": 1},
}
"""Per shape: its attributes, and how many numbers each holds."""
NO_LIMIT = 1e15
"""Limits from here on count as infinite: files write huge numbers for none."""
_OTHER_FORMATS = {
    "sdf": "this is SDF, not URDF: fc.load reads it",
    "mujoco": "this is MJCF, not URDF: fc.load reads it",
    "html": "this is a web page; download the raw file instead",
}


def read_urdf(text: str | bytes, file: str = "<text>") -> tuple[Description | None, tuple[Finding, ...]]:
    """The description in a URDF text, and a finding for every mistake. It is None when the text is no URDF at all."""
    report = Report(file)
    try:
        root = parse_xml(text)
    except XmlError as error:
        report.error(error.message, hint=error.hint, line=error.line)
        return None, tuple(report.findings)
    return read_urdf_tree(root, file)


def read_urdf_tree(root: Element, file: str) -> tuple[Description | None, tuple[Finding, ...]]:
    """`read_urdf` for a text that has been parsed."""
    report = Report(file)
    if root.tag != "robot":
        report.error(
            f"the root element is <{printable(root.tag)}>, not <robot>",
            hint=_OTHER_FORMATS.get(root.tag, "a URDF holds everything inside <robot name=...>"),
            line=root.line,
        )
        return None, tuple(report.findings)
    return _Reader(report).robot(root), tuple(report.findings)


class _Reader:
    """Reads an element tree, with one method per kind of element."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._numbers = NumberReader(report)
        self._colours: dict[str, Rgba] = {}
        self._near = {tag: Suggestions(known) for tag, known in _KNOWN_CHILDREN.items()}

    def robot(self, root: Element) -> Description:
        name = (root.get("name") or "").strip()
        if not name:
            self._report.warning("the robot has no name", hint='write <robot name="...">', element="robot", line=root.line)
        self._refuse_xacro(root)
        self._warn_of_misspelt_children(root, "robot")
        for material in root.all("material"):
            self._colour(material, "material")
        links = tuple(self._link(element) for element in root.all("link"))
        # Only direct children: a <transmission> has elements named <joint> too, which are references.
        joints = tuple(self._joint(element) for element in root.all("joint"))
        floating, gravity = self._own(root)
        return Description(name or "robot", links, joints, self._report.file, gravity=gravity, world=not floating)

    def _own(self, root: Element) -> tuple[bool, Vector | None]:
        """The <fallingcat> element, which `Robot.to_urdf` adds to URDF: whether the base floats, and gravity."""
        element = self._only(root, "fallingcat", "robot")
        if element is None:
            return True, None
        gravity = self._numbers.row(element, "gravity", 3, "robot") if element.get("gravity") is not None else None
        return element.get("floating") != "false", cast("Vector | None", gravity)

    # Links

    def _link(self, element: Element) -> Link:
        name = _name(element)
        subject = _subject("link", name)
        self._warn_of_misspelt_children(element, subject)
        inertial = self._only(element, "inertial", subject)
        return Link(
            name,
            None if inertial is None else self._inertial(inertial, subject),
            self._visuals(element.all("visual"), subject),
            element.line,
            _Reader(Report(self._report.file))._visuals(element.all("collision"), subject),  # their mistakes are no errors
        )

    def _inertial(self, element: Element, subject: str) -> Inertial:
        self._warn_of_misspelt_children(element, subject)
        pose = self._pose(self._only(element, "origin", subject), subject)
        mass = self._mass(element, subject)
        inertia = self._inertia(element, subject)
        if mass is None or inertia is None:
            # A valid inertia, so that an unreadable number is not reported a second time as a link without mass.
            return Inertial(1.0, Pose(), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0), element.line)
        return Inertial(mass, pose, inertia, element.line)

    def _mass(self, inertial: Element, subject: str) -> float | None:
        mass = self._only(inertial, "mass", subject)
        if mass is None or mass.get("value") is None:
            where = inertial if mass is None else mass
            problem = "<inertial> has no <mass>" if mass is None else "<mass> has no value"
            self._report.error(
                problem, hint='write <mass value="..."/> in kilograms, or delete <inertial>', element=subject, line=where.line
            )
            return None
        return self._numbers.scalar(mass, "value", subject)

    def _inertia(self, inertial: Element, subject: str) -> tuple[float, float, float, float, float, float] | None:
        inertia = self._only(inertial, "inertia", subject)
        if inertia is None:
            self._report.error(
                "<inertial> has no <inertia>",
                hint='write <inertia ixx="..." iyy="..." izz="..."/>, or zeros for a point mass',
                element=subject,
                line=inertial.line,
            )
            return None
        entries: list[float | None] = []
        for attribute in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"):
            if inertia.get(attribute) is None and attribute[1] == attribute[2]:
                self._report.error(
                    f"<inertia> has no {attribute}", hint=f'write {attribute}="..."', element=subject, line=inertia.line
                )
                entries.append(None)
            else:
                entries.append(self._numbers.scalar(inertia, attribute, subject, default=0.0))
        ixx, ixy, ixz, iyy, iyz, izz = entries
        if ixx is None or ixy is None or ixz is None or iyy is None or iyz is None or izz is None:
            return None
        return ixx, ixy, ixz, iyy, iyz, izz

    def _visuals(self, elements: list[Element], subject: str) -> tuple[Visual, ...]:
        found = (self._visual(element, subject) for element in elements)
        return tuple(visual for visual in found if visual is not None)

    def _visual(self, element: Element, subject: str) -> Visual | None:
        """The first shape of a <visual> or <collision> that can be read."""
        pose = self._pose(self._only(element, "origin", subject), subject)
        material = self._only(element, "material", subject)
        rgba = None if material is None else self._colour(material, subject)
        geometry = self._only(element, "geometry", subject)
        for child in () if geometry is None else geometry.children:
            shape = self._shape(child, subject)
            if shape is not None:
                shape = replace(shape, pose=pose, line=child.line)
                return shape if rgba is None else replace(shape, rgba=rgba)
        return None

    def _shape(self, element: Element, subject: str) -> Visual | None:
        """The shape, or None when it is of an unknown kind or its size cannot be read."""
        if element.tag == "mesh":
            scale = self._numbers.vector(element, "scale", subject, default=(1.0, 1.0, 1.0))
            return Visual("mesh", file=(element.get("filename") or "").strip(), scale=scale or (1.0, 1.0, 1.0))
        counts = _SIZES.get(element.tag)
        size = None if counts is None else self._sizes(element, counts, subject)
        return None if size is None else Visual(cast(ShapeKind, element.tag), size)

    def _sizes(self, element: Element, counts: dict[str, int], subject: str) -> tuple[float, ...] | None:
        """The numbers of several attributes, concatenated; None if one of them cannot be read."""
        rows = [self._numbers.row(element, attribute, count, subject) for attribute, count in counts.items()]
        size = tuple(value for row in rows if row is not None for value in row)
        if None in rows:
            return None
        if min(size) < 0:
            self._report.warning(
                f"<{element.tag}> has a negative size, {min(size):g}",
                hint="sizes are lengths in metres",
                element=subject,
                line=element.line,
            )
        return size

    def _colour(self, material: Element, subject: str) -> Rgba | None:
        """The material's colour; a colour given with a name is remembered for others that use the name."""
        name = material.get("name") or ""
        colour = self._only(material, "color", subject)
        if colour is None:
            return self._colours.get(name)
        rgba = self._numbers.row(colour, "rgba", 4, subject)
        if rgba is None:
            return None
        if name:
            self._colours.setdefault(name, cast(Rgba, rgba))
        return cast(Rgba, rgba)

    # Joints

    def _joint(self, element: Element) -> Joint:
        name = _name(element)
        subject = _subject("joint", name)
        self._warn_of_misspelt_children(element, subject)
        # An unknown type is kept as it is written: the doctor reports it.
        kind = cast(JointType, (element.get("type") or "").strip())
        axis, axis2, pitch = self._axes(element, subject)
        damping, friction, armature = self._dynamics(self._only(element, "dynamics", subject), subject)
        return Joint(
            name,
            kind,
            parent=self._link_reference(element, "parent", subject),
            child=self._link_reference(element, "child", subject),
            pose=self._pose(self._only(element, "origin", subject), subject),
            axis=axis,
            axis2=axis2,
            pitch=pitch,
            limits=self._limits(element, kind, subject),
            damping=damping,
            friction=friction,
            armature=armature,
            mimic=self._mimic(self._only(element, "mimic", subject), subject),
            line=element.line,
        )

    def _link_reference(self, joint: Element, tag: str, subject: str) -> str:
        element = self._only(joint, tag, subject)
        return "" if element is None else (element.get("link") or "").strip()

    def _axes(self, joint: Element, subject: str) -> tuple[Vector, Vector, float]:
        first, second = self._only(joint, "axis", subject), self._only(joint, "axis2", subject)
        axis = self._numbers.vector(first, "xyz", subject, default=(1.0, 0.0, 0.0))
        axis2 = self._numbers.vector(second, "xyz", subject, default=(0.0, 1.0, 0.0))
        pitch = self._numbers.scalar(first, "pitch", subject, default=0.0)
        if axis is None or axis2 is None or pitch is None:
            return (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), 1.0
        return axis, axis2, pitch

    def _limits(self, joint: Element, kind: str, subject: str) -> Limits:
        element = self._only(joint, "limit", subject)
        if element is None:
            if kind in ("revolute", "prismatic"):
                self._report.warning(
                    f"a {kind} joint needs a <limit>, and there is none: it is taken as unlimited",
                    hint='add <limit lower="..." upper="..." velocity="..." effort="..."/>'
                    + (', or write type="continuous"' if kind == "revolute" else ""),
                    element=subject,
                    line=joint.line,
                )
            return Limits()
        # URDF's own default is zero, which is a trap but the standard; the other types are unlimited by default.
        zero_by_default = kind in ("revolute", "prismatic")
        if zero_by_default and element.get("lower") is None and element.get("upper") is None:
            self._report.warning(
                "<limit> has neither lower nor upper, which URDF reads as zero: the joint cannot move",
                hint='write lower="..." and upper="..."',
                element=subject,
                line=element.line,
            )
        free = 0.0 if zero_by_default else INFINITY
        lower = self._numbers.scalar(element, "lower", subject, default=-free)
        upper = self._numbers.scalar(element, "upper", subject, default=free)
        velocity = self._numbers.scalar(element, "velocity", subject, default=INFINITY)
        effort = self._numbers.scalar(element, "effort", subject, default=INFINITY)
        if kind == "continuous" or lower is None or upper is None:
            lower, upper = -INFINITY, INFINITY
        velocity, effort = INFINITY if velocity is None else velocity, INFINITY if effort is None else effort
        return Limits(_bound(lower), _bound(upper), _bound(velocity), _bound(effort))

    def _dynamics(self, element: Element | None, subject: str) -> tuple[float, float, float]:
        damping = self._numbers.scalar(element, "damping", subject, default=0.0)
        friction = self._numbers.scalar(element, "friction", subject, default=0.0)
        armature = self._numbers.scalar(element, "armature", subject, default=0.0)
        return damping or 0.0, friction or 0.0, armature or 0.0

    def _mimic(self, element: Element | None, subject: str) -> Mimic | None:
        if element is None:
            return None
        multiplier = self._numbers.scalar(element, "multiplier", subject, default=1.0)
        offset = self._numbers.scalar(element, "offset", subject, default=0.0)
        return Mimic((element.get("joint") or "").strip(), 1.0 if multiplier is None else multiplier, offset or 0.0)

    # Shared by links and joints

    def _pose(self, origin: Element | None, subject: str) -> Pose:
        if origin is None:
            return Pose()
        if origin.get("quat_xyzw") is not None:
            self._report.error(
                "<origin quat_xyzw> is not supported", hint='write the rotation as rpy="..."', element=subject, line=origin.line
            )
        position = self._numbers.vector(origin, "xyz", subject, default=(0.0, 0.0, 0.0))
        angles = self._numbers.vector(origin, "rpy", subject, default=(0.0, 0.0, 0.0))
        return Pose(rotation_from_rpy(*(angles or (0.0, 0.0, 0.0))), position or (0.0, 0.0, 0.0))

    def _only(self, element: Element, tag: str, subject: str) -> Element | None:
        """The one child with this tag, the first when there are several."""
        found = element.all(tag)
        if len(found) > 1:
            self._report.warning(
                f"<{printable(element.tag)}> has {len(found)} <{tag}> elements; only the one at line {found[0].line} counts",
                hint="delete the others",
                element=subject,
                line=found[1].line,
            )
        return found[0] if found else None

    def _warn_of_misspelt_children(self, element: Element, subject: str) -> None:
        known = _KNOWN_CHILDREN[element.tag]
        for child in element.children:
            if child.tag in known or ":" in child.tag:
                continue
            near = self._near[element.tag].near(child.tag, cutoff=0.8)
            if near:
                self._report.warning(
                    f"the element <{printable(child.tag)}> is unknown and passed over",
                    hint=f"did you mean <{near[0]}>?",
                    element=subject,
                    line=child.line,
                )

    def _refuse_xacro(self, root: Element) -> None:
        """Report elements of xacro: the parts that the macros would have made are missing."""
        waiting = [root]
        while waiting:
            element = waiting.pop()
            if element.tag.startswith("xacro:"):
                what = f"this is a xacro file: <{printable(element.tag)}> is an instruction for xacro"
                self._report.error(what, hint=HINT, element="robot", line=element.line)
                return
            waiting += reversed(element.children)


def _bound(value: float) -> float:
    """A limit; infinite where the file writes a huge number."""
    return math.copysign(INFINITY, value) if abs(value) >= NO_LIMIT else value + 0.0  # -0.0 becomes 0.0


def _name(element: Element) -> str:
    return (element.get("name") or "").strip()


def _subject(kind: str, name: str) -> str:
    return f"{kind} {quoted(name)}" if name else f"{kind} without a name"
