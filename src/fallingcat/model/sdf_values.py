"""Reads values from the text of SDF elements, and reports mistakes."""

from __future__ import annotations

import math
from typing import cast

from fallingcat.model.description import Vector
from fallingcat.model.placed import HERE, Placed
from fallingcat.model.report import Report, printable, quoted
from fallingcat.model.rotations import rotation_from_quaternion, rotation_from_rpy
from fallingcat.model.urdf_numbers import NumberReader
from fallingcat.model.xml_tree import Element


def name_of(element: Element) -> str:
    return (element.get("name") or "").strip()


def subject_of(kind: str, name: str) -> str:
    """How findings name an element."""
    return f"{kind} {quoted(name)}" if name and not name.endswith("::") else f"{kind} without a name"


class Values:
    """Reads values between tags; a value that cannot be read is reported and replaced by a harmless one."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._numbers = NumberReader(report)

    def only(self, element: Element, tag: str, subject: str) -> Element | None:
        """The one child with this tag, the first when there are several."""
        found = element.all(tag)
        if len(found) > 1:
            self._report.warning(
                f"<{printable(element.tag)}> has {len(found)} <{tag}> elements; only the one at line {found[0].line} counts",
                hint="delete the others", element=subject, line=found[1].line,
            )  # fmt: skip
        return found[0] if found else None

    def number(self, parent: Element | None, tag: str, subject: str, default: float, infinite: bool = False) -> float:
        """One number in a child element; the default when it is absent."""
        element = None if parent is None else self.only(parent, tag, subject)
        if element is None:
            return default
        row = self._numbers.text(element, 1, subject, infinite)
        return default if row is None else row[0]

    def required(self, parent: Element, tag: str, subject: str, hint: str) -> float | None:
        """One number in a child element; an error, and None, if it is missing."""
        element = self.only(parent, tag, subject)
        if element is None:
            self._report.error(f"<{parent.tag}> has no <{tag}>", hint=hint, element=subject, line=parent.line)
            return None
        row = self._numbers.text(element, 1, subject)
        return None if row is None else row[0]

    def row(self, element: Element, count: int, subject: str) -> tuple[float, ...] | None:
        """Exactly `count` numbers in the text of an element."""
        return self._numbers.text(element, count, subject)

    def vector(self, element: Element, subject: str) -> Vector | None:
        """Three numbers in the text of an element."""
        return cast("Vector | None", self._numbers.text(element, 3, subject))

    def word(self, parent: Element, tag: str, subject: str) -> str:
        """The text of a child element; empty when it is absent."""
        element = self.only(parent, tag, subject)
        return "" if element is None else element.text.strip()

    def truth(self, parent: Element, tag: str, subject: str) -> bool:
        """The boolean (1, 0, true or false) in a child element; false if it is absent."""
        word = self.word(parent, tag, subject).lower()
        if word not in ("", "0", "1", "true", "false"):
            element = parent.all(tag)[0]
            what = f"<{tag}> is neither true nor false: {quoted(word)}"
            self._report.error(what, hint="write true or false", element=subject, line=element.line)
        return word in ("1", "true")

    def pose(self, parent: Element, subject: str) -> Placed:
        """The <pose> of an element: x y z roll pitch yaw, or as its attributes specify; the identity if it is absent."""
        element = self.only(parent, "pose", subject)
        if element is None or not element.text.strip():
            return HERE
        if (element.get("rotation_format") or "euler_rpy") == "quat_xyzw":
            return self._quaternion(element, subject)
        row = self._numbers.text(element, 6, subject)
        if row is None:
            return HERE
        factor = math.pi / 180.0 if (element.get("degrees") or "").strip().lower() in ("1", "true") else 1.0
        roll, pitch, yaw = (factor * angle for angle in row[3:])
        return Placed(rotation_from_rpy(roll, pitch, yaw), (row[0], row[1], row[2]))

    def _quaternion(self, element: Element, subject: str) -> Placed:
        row = self._numbers.text(element, 7, subject)
        if row is None:
            return HERE
        length = math.sqrt(sum(x * x for x in row[3:]))
        if not 0.9 < length < 1.1:
            what = f"the quaternion of <pose> has length {length:.6g}"
            self._report.error(what, hint="its order is x y z w, its length 1", element=subject, line=element.line)
            return HERE
        return Placed(rotation_from_quaternion(row[3], row[4], row[5], row[6]), (row[0], row[1], row[2]))
