"""What the doctor says: one finding per problem, with the place and the cure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One problem of a robot description."""

    severity: Severity
    """An error makes the description unusable, a warning makes it doubtful, a note says what a sound one leaves out here."""
    message: str
    """What is wrong."""
    hint: str = ""
    """How to mend it."""
    element: str = ""
    """Where in the description, for instance `joint 'knee'`."""
    file: str = ""
    """The file, or a stand-in such as `<text>`."""
    line: int = 0
    """The line in the file, counted from 1; 0 when there is none."""

    def __str__(self) -> str:
        place = self.file or "<description>"
        if self.line:
            place += f":{self.line}"
        subject = f"{self.element}: " if self.element else ""
        cure = f" ({self.hint})" if self.hint else ""
        return f"{place}: {self.severity}: {subject}{self.message}{cure}"
