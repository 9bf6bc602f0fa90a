"""Reads numbers in attributes strictly: anything but a plain finite number is reported with its place."""

from __future__ import annotations

import math
import re
from typing import cast

from fallingcat.model.description import Vector
from fallingcat.model.report import Report, quoted
from fallingcat.model.xml_tree import Element

# Python's float() also takes "1_000", "infinity" and digits of other scripts, which no other URDF reader does.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


class NumberReader:
    """Reads numbers and reports those it cannot read; None then stands in for the value."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def scalar(self, element: Element | None, attribute: str, subject: str, default: float | None = None) -> float | None:
        """One number; the default when the element or the attribute is absent."""
        if element is None or element.get(attribute) is None:
            return default
        row = self.row(element, attribute, 1, subject)
        return None if row is None else row[0]

    def vector(self, element: Element | None, attribute: str, subject: str, default: Vector) -> Vector | None:
        """Three numbers; the default when the element or the attribute is absent."""
        if element is None or element.get(attribute) is None:
            return default
        return cast("Vector | None", self.row(element, attribute, 3, subject))

    def row(self, element: Element, attribute: str, count: int, subject: str) -> tuple[float, ...] | None:
        """Exactly `count` numbers from an attribute that must exist."""
        text = element.get(attribute)
        if text is None:
            wanted = _wanted(count)
            self._error(f"<{element.tag}> has no {attribute}", f'write {attribute}="..." with {wanted}', subject, element)
            return None
        return self._numbers(text, f"<{element.tag} {attribute}>", count, subject, element)

    def text(self, element: Element, count: int, subject: str, infinite: bool = False) -> tuple[float, ...] | None:
        """Exactly `count` numbers between the tags of an element; `infinite`: some of them may be "inf"."""
        return self._numbers(element.text.strip(), f"<{element.tag}>", count, subject, element, infinite)

    def _numbers(
        self, text: str, place: str, count: int, subject: str, element: Element, infinite: bool = False
    ) -> tuple[float, ...] | None:
        # One word more than wanted is enough to know that there are too many.
        words = text.split(maxsplit=count)
        if len(words) != count:
            much = "none" if not words else f"only {len(words)}" if len(words) < count else "more"
            what = f"{place} needs {_wanted(count)}, and there are {much}: {quoted(text)}"
            self._error(what, _advice(text), subject, element)
            return None
        values = tuple(_infinity(word) if infinite and _infinity(word) is not None else _finite(word) for word in words)
        for word, value in zip(words, values):
            if value is None:
                self._error(f"{place}: {quoted(word)} is not a finite number", _advice(word), subject, element)
        return None if None in values else cast("tuple[float, ...]", values)

    def _error(self, message: str, hint: str, subject: str, element: Element) -> None:
        self._report.error(message, hint=hint, element=subject, line=element.line)


def _wanted(count: int) -> str:
    return "a number" if count == 1 else f"{count} numbers"


def _infinity(word: str) -> float | None:
    return {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}.get(word.lower())


def _finite(word: str) -> float | None:
    if not _NUMBER.fullmatch(word):
        return None
    value = float(word)
    return value if math.isfinite(value) else None


def _advice(text: str) -> str:
    """A hint on the probable mistake in a text that should have been numbers."""
    if "${" in text or "$(" in text:
        return "this is an unexpanded xacro expression; expand the file first: xacro robot.xacro > robot.urdf"
    if "," in text:
        return "separate numbers by blanks and write decimals with a point"
    if "inf" in text.lower():
        return "leave the attribute out when there is no bound"
    return "write plain decimal numbers such as 0.25 or 2.5e-1, separated by blanks"
