"""Joints of SDF: types, axes in any frame, limits, and mimic joints."""

from __future__ import annotations

import math
from typing import Any

from fallingcat.model.description import INFINITY, Joint, JointType, Limits, Mimic, Pose, Vector
from fallingcat.model.report import Report, Suggestions, printable, quoted
from fallingcat.model.sdf_frames import MODEL, Frames
from fallingcat.model.sdf_values import Values, subject_of
from fallingcat.model.xml_tree import Element
from fallingcat.spatial.vec3 import matvec, transpose

_TYPES: dict[str, JointType] = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "screw": "helical", "universal": "universal",
    "ball": "spherical", "fixed": "fixed",
}  # fmt: skip
_NO_LIMIT = 1e15
"""Limits from here on count as infinite: SDF writes 1e16 for none."""


class JointReader:
    """Reads one joint at a time."""

    def __init__(self, report: Report, frames: Frames, version: tuple[int, int]) -> None:
        self._report = report
        self._values = Values(report)
        self._frames = frames
        self._version = version
        self._types = Suggestions(_TYPES)

    def end(self, joint: Element, tag: str, prefix: str, subject: str, quiet: bool = False) -> str | None:
        """The frame that a joint's <parent> or <child> names."""
        element = self._values.only(joint, tag, subject)
        name = "" if element is None else element.text.strip()
        if not name:
            if not quiet:
                what = f"there is no <{tag}>"
                self._report.error(what, hint=f"add <{tag}>NAME OF A LINK</{tag}>", element=subject, line=joint.line)
            return None
        if quiet and self._frames.unknown(name, prefix):
            return None
        return self._frames.find(name, prefix, subject, element.line if element is not None else joint.line)

    def joint(self, place: Any, parent: str, child: str, pose: Pose) -> Joint:
        """Read a joint. place: its full name, the prefix of its model, its element. pose: of its frame in the parent link."""
        element, subject = place.element, subject_of("joint", place.full)
        kind = self._type(element, subject)
        first, second = self._values.only(element, "axis", subject), self._values.only(element, "axis2", subject)
        if first is None and kind not in ("spherical", "fixed"):
            hint = "add <axis><xyz>0 0 1</xyz></axis>"
            self._report.error(f"a {printable(kind)} joint needs an <axis>", hint=hint, element=subject, line=element.line)
        if second is None and kind == "universal":
            hint = "add <axis2><xyz>0 1 0</xyz></axis2>"
            self._report.error("a universal joint needs a second axis, <axis2>", hint=hint, element=subject, line=element.line)
        limits = self._limits(first, kind, subject)
        unlimited = not (math.isfinite(limits.lower) or math.isfinite(limits.upper))
        dynamics = None if first is None else self._values.only(first, "dynamics", subject)
        self._warn_of_springs(dynamics, subject)
        return Joint(
            place.full,
            "continuous" if kind == "revolute" and unlimited else kind,
            parent,
            child,
            pose,
            self._axis(first, place, subject, (0.0, 0.0, 1.0)),
            self._axis(second, place, subject, (0.0, 1.0, 0.0)),
            self._pitch(element, subject) if kind == "helical" else 0.0,
            limits,
            self._values.number(dynamics, "damping", subject, 0.0),
            self._values.number(dynamics, "friction", subject, 0.0),
            self._armature(element, subject),
            self._mimic(first, place, subject),
            element.line,
        )

    def _type(self, element: Element, subject: str) -> JointType:
        given = (element.get("type") or "").strip()
        if given not in _TYPES:
            what = f"the joint type {quoted(given)} is not read" if given else "the joint has no type"
            hint = self._types.hint(given.lower(), f"those that are: {', '.join(_TYPES)}")
            self._report.error(what, hint=hint, element=subject, line=element.line)
            return "fixed"
        return _TYPES[given]

    def _axis(self, element: Element | None, place: Any, subject: str, default: Vector) -> Vector:
        """An axis in the joint's frame; the file may give it in any frame."""
        xyz = None if element is None else self._values.only(element, "xyz", subject)
        axis = default if xyz is None else self._values.vector(xyz, subject) or default
        name = "" if xyz is None else (xyz.get("expressed_in") or "").strip()
        if element is not None and self._version < (1, 7) and self._values.truth(element, "use_parent_model_frame", subject):
            name = MODEL
        frame = self._frames.find(name, place.prefix, subject, place.element.line) if name else None
        if frame is None:
            return axis
        R_joint, R_frame = self._frames.place(f"{place.full}\0joint").R, self._frames.place(frame).R
        x, y, z = (float(value) for value in matvec(transpose(R_joint), matvec(R_frame, axis)))
        return x, y, z

    def _limits(self, axis: Element | None, kind: str, subject: str) -> Limits:
        element = None if axis is None else self._values.only(axis, "limit", subject)

        def limit(tag: str, default: float) -> float:
            value = self._values.number(element, tag, subject, default, infinite=True)
            return math.copysign(INFINITY, value) if abs(value) >= _NO_LIMIT else value

        lower, upper = limit("lower", -INFINITY), limit("upper", INFINITY)
        effort, velocity = limit("effort", INFINITY), limit("velocity", INFINITY)
        if kind == "continuous":
            lower, upper = -INFINITY, INFINITY
        # In SDF a negative bound means none.
        return Limits(lower, upper, velocity if velocity >= 0.0 else INFINITY, effort if effort >= 0.0 else INFINITY)

    def _warn_of_springs(self, dynamics: Element | None, subject: str) -> None:
        if dynamics is not None and self._values.number(dynamics, "spring_stiffness", subject, 0.0) != 0.0:
            self._report.warning(
                "the spring is not taken over", hint="add its torque to tau", element=subject, line=dynamics.line
            )

    def _pitch(self, element: Element, subject: str) -> float:
        """The pitch, metres per radian. <screw_thread_pitch> is in metres per turn; the older <thread_pitch> is -1/pitch."""
        if element.all("screw_thread_pitch"):
            return self._values.number(element, "screw_thread_pitch", subject, 1.0) / (2.0 * math.pi)
        backwards = self._values.number(element, "thread_pitch", subject, 1.0)
        return -1.0 / backwards if backwards != 0.0 else 0.0

    def _armature(self, element: Element, subject: str) -> float:
        """The armature by Drake's extension: the rotor's inertia times the square of the gear ratio."""
        rotor = self._values.number(element, "drake:rotor_inertia", subject, 0.0)
        return rotor * self._values.number(element, "drake:gear_ratio", subject, 1.0) ** 2

    def _mimic(self, axis: Element | None, place: Any, subject: str) -> Mimic | None:
        """The <mimic> of an axis: position = multiplier (leader - reference) + offset."""
        element = None if axis is None else self._values.only(axis, "mimic", subject)
        if element is None:
            return None
        multiplier = self._values.number(element, "multiplier", subject, 1.0)
        offset = self._values.number(element, "offset", subject, 0.0)
        reference = self._values.number(element, "reference", subject, 0.0)
        leader = (element.get("joint") or "").strip()
        return Mimic(place.prefix + leader if leader else "", multiplier, offset - multiplier * reference)
