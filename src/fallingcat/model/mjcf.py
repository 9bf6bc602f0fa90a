"""MJCF to a `Description`, through MuJoCo's own compiler (pip install 'fallingcat[mujoco]')."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fallingcat.model.description import Description
from fallingcat.model.findings import Finding
from fallingcat.model.mjcf_guard import refuse_excess
from fallingcat.model.mjcf_model import description_of
from fallingcat.model.mjcf_notes import note_what_is_left_out
from fallingcat.model.report import Report, printable
from fallingcat.model.xml_tree import Element

_LINE = re.compile(r"\b[Ll]ine(?: number=)? ?(\d+)")
_PLACE = re.compile(r"Element (?:name )?'([^']*)'")
_HINTS = (
    ("unrecognized attribute", "correct its name or delete it: the attributes of every element are in MuJoCo's XML reference"),
    ("unrecognized element", "correct its name or move it: MuJoCo's XML reference says what may stand where"),
    ("repeated name", "give every element of a kind a name of its own"),
    ("repeated default class", "give every default class a name of its own"),
    ("unknown default class", 'declare <default class="..."> or correct the name'),
    ("mjMINVAL", "give the body a geom or an <inertial>: whatever moves needs mass"),
    ("A + B >= C", 'no body has such an inertia; mend it, or let <compiler balanceinertia="true"/> do so'),
    ("opening file", "check the path: it starts at the model's folder, or at meshdir and texturedir of <compiler>"),
    ("top level", "only a child of <worldbody> can have a free joint"),
    ("axis too small", 'give it a direction, for instance axis="0 0 1"'),
    ("range[0] should be smaller", "swap the two"),
    ("does not have enough data", "write as many numbers as the attribute needs, separated by blanks"),
    ("has too much data", "write as many numbers as the attribute needs, separated by blanks"),
    ("bad format", "write plain decimal numbers such as 0.25 or 2.5e-1, separated by blanks"),
    ("more than 6 dofs", "a body has six degrees of freedom at most: put a body in between"),
    ("must be positive", "sizes are lengths in metres"),
    ("unknown element", "correct the name"),
    ("unknown transmission target", "correct the name of the joint, tendon, site or body"),
)
"""(words in an error of MuJoCo, hint) pairs."""
_LOCK = threading.Lock()


def read_mjcf(root: Element, text: str | bytes, file: str, path: Path | None) -> tuple[Description | None, tuple[Finding, ...]]:
    """The description in an MJCF text: `root` is its tree, `path` its file, from where includes and meshes are looked for."""
    report = Report(file)
    refuse_excess(root, path.parent if path is not None else Path.cwd(), report)
    if report.has_errors():
        return None, tuple(report.findings)
    try:
        import mujoco
    except ImportError:
        report.error("this is MJCF, which MuJoCo reads", hint="pip install 'fallingcat[mujoco]', or load a URDF of the robot")
        return None, tuple(report.findings)
    compiled = _compiled(mujoco, text, path, report)
    if compiled is None:
        return None, tuple(report.findings)
    lines = _line_of(root)
    note_what_is_left_out(compiled, lines, report)
    return description_of(compiled, report.file, lines), tuple(report.findings)


def read_model(model: Any) -> tuple[Description, tuple[Finding, ...]]:
    """The robot in a `mujoco.MjModel` that was compiled elsewhere."""
    report = Report("<MjModel>")
    lines = _line_of(None)
    note_what_is_left_out(model, lines, report)
    return description_of(model, report.file, lines), tuple(report.findings)


def _compiled(mujoco: Any, text: str | bytes, path: Path | None, report: Report) -> Any:
    """The compiled model; None with an error when MuJoCo refuses."""
    try:
        with _warnings_to(mujoco, report):
            if path is not None:
                spec = mujoco.MjSpec.from_file(str(path))
            else:
                spec = mujoco.MjSpec.from_string(text if isinstance(text, str) else text.decode("utf-8", "replace"))
            # MuJoCo would find ranges of muscles by simulation, which may take for ever; nothing here depends on them.
            for actuator in spec.actuators:
                actuator.lengthrange = (0.0, 1.0)
            return spec.compile()
    except MemoryError:
        raise
    except Exception as error:  # ValueError, MuJoCo's FatalError, and errors of the binding for odd strings
        _explain(str(error), report)
        return None


@contextmanager
def _warnings_to(mujoco: Any, report: Report) -> Iterator[None]:
    """A context that reports MuJoCo's warnings as findings; it would write them to the terminal and to a file."""
    said: list[str] = []
    with _LOCK, warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(said.append)
        try:
            yield
        finally:
            mujoco.set_mju_user_warning(before)
    for words in dict.fromkeys([*said, *(str(warning.message) for warning in raised)]):
        report.warning(f"MuJoCo: {_one_line(words)}")


def _explain(words: str, report: Report) -> None:
    """Report MuJoCo's message as an error, with the line that it names."""
    line, place = _LINE.search(words), _PLACE.search(words)
    message = _one_line(words.split("\nElement")[0].replace("Error=", " "))
    message = re.sub(r"^(XML )?(parse )?[Ee]rror( \d+)?: *", "", message).removeprefix("Error: ")
    message = message.replace("Error opening file", "cannot open the file")
    hint = next((hint for words_of, hint in _HINTS if words_of in words), "MuJoCo's XML reference explains its elements")
    element = f"element {printable(place[1])!r}" if place and place[1] else ""
    report.error(f"MuJoCo: {message.strip()}", hint=hint, element=element, line=int(line[1]) if line else 0)


def _one_line(words: str) -> str:
    return printable(" ".join(words.split()), limit=500)


def _line_of(root: Element | None) -> Callable[[str, str], int]:
    """A function (tag, name) -> line of the element in the main file; 0 for elements that are included or have no name."""
    lines: dict[tuple[str, str], int] = {}
    for section in root.children if root is not None else ():
        waiting = list(section.children) if section.tag in ("worldbody", "equality", "actuator", "tendon") else []
        while waiting:
            element = waiting.pop()
            kind = {"freejoint": "joint"}.get(element.tag, element.tag) if section.tag == "worldbody" else section.tag
            lines.setdefault((kind, element.get("name") or ""), element.line)
            waiting += element.children
    return lambda tag, name: lines.get((tag, name), 0) if name else 0
