"""Where robots come from: files, text, descriptions, builders and the bundled collection."""

from __future__ import annotations

import os
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Protocol

from fallingcat.errors import InputError, ModelError
from fallingcat.model.description import Description
from fallingcat.model.findings import Finding
from fallingcat.model.report import Report, Suggestions, listed, printable, quoted
from fallingcat.model.urdf import read_urdf
from fallingcat.model.xacro_files import XacroError, expand, has_macros
from fallingcat.model.xml_tree import MAX_SIZE


class Describable(Protocol):
    """Anything that can describe itself, such as a builder."""

    def description(self) -> Description:
        """The finished description."""
        ...


Source = str | bytes | os.PathLike[str] | Description | Describable
"""A path, XML text, a finished description, a builder, or the name of a bundled robot."""

_Reading = tuple[Description | None, tuple[Finding, ...]]


def read(source: Source) -> _Reading:
    """The description of a source and the mistakes met on the way; None with errors when there is nothing to describe."""
    if isinstance(source, Description):
        return source, ()
    if isinstance(source, bytes):
        return read_urdf(source)
    if isinstance(source, str):
        return _read_string(source)
    if isinstance(source, os.PathLike):
        return _read_file(Path(source))
    return _read_builder(source)


@cache
def bundled_robots() -> tuple[str, ...]:
    """The names of the robots that come with the library, sorted."""
    folder = _robots_folder()
    if not folder.is_dir():
        return ()
    return tuple(sorted(entry.name.removesuffix(".urdf") for entry in folder.iterdir() if entry.name.endswith(".urdf")))


def _robots_folder() -> Traversable:
    return resources.files("fallingcat").joinpath("model").joinpath("robots")


def _read_string(source: str) -> _Reading:
    # The beginning is enough to tell, and a hundred megabytes need not be copied for it.
    if source[:4096].lstrip("\ufeff \t\r\n").startswith("<"):
        return read_urdf(source)
    if not source.strip("\ufeff \t\r\n"):
        return _failure("<text>", "the source is empty", "give a path, URDF text or the name of a bundled robot")
    if source in bundled_robots():
        return read_urdf(_robots_folder().joinpath(f"{source}.urdf").read_bytes(), f"{source}.urdf")
    if len(source) > 4096 or "\n" in source:
        return _failure(
            "<text>", f"this is neither XML nor a path: {quoted(source)}", "URDF text starts with <robot> or <?xml ...?>"
        )
    return _read_file(Path(source))


def _read_file(path: Path) -> _Reading:
    name = printable(str(path), limit=1000)
    try:
        if path.is_dir():
            return _failure(name, "this is a directory, not a file", "give the path of the URDF file in it")
        with open(path, "rb") as stream:
            # One byte beyond the limit shows that there is too much, however large the file is.
            content = stream.read(MAX_SIZE + 1)
    except FileNotFoundError:
        return _failure(name, f"there is no file {quoted(name, limit=200)}", _hint_for_missing(path))
    except PermissionError:
        return _failure(name, f"the file {quoted(name, limit=200)} may not be read", "check its permissions")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return _failure(name, f"the file {quoted(name, limit=200)} cannot be read: {reason}", "check the path")
    return _read_xacro(path, name, content) if has_macros(path, content) else read_urdf(content, name)


def _read_xacro(path: Path, name: str, content: bytes) -> _Reading:
    """A file with macros: expanded if that is possible. Lines of findings are then those of the expanded text."""
    try:
        text = expand(path)
    except XacroError as error:
        what = f"xacro cannot expand this file: {printable(str(error), limit=300)}"
        return _failure(name, what, "expand it where its packages are: xacro robot.xacro > robot.urdf")
    return read_urdf(content if text is None else text, name)


def _hint_for_missing(path: Path) -> str:
    names = bundled_robots()
    near = Suggestions(names).near(path.stem)
    if near:
        return f"did you mean the bundled robot {' or '.join(quoted(name) for name in near)}?"
    if names:
        return f"check the path; the bundled robots are {listed(names, limit=40)}"
    return "check the path"


def _read_builder(source: object) -> _Reading:
    describe = getattr(source, "description", None)
    if isinstance(describe, Description):
        return describe, ()
    if not callable(describe):
        raise InputError(
            "this is no robot",
            expected="a path, URDF text, a Description, a builder or the name of a bundled robot",
            got=type(source).__name__,
        )
    try:
        description = describe()
    except ModelError as error:
        return None, error.findings or _failure("<description>", str(error), "")[1]
    if not isinstance(description, Description):
        raise InputError("description() does not give a robot", expected="a Description", got=type(description).__name__)
    return description, ()


def _failure(file: str, message: str, hint: str) -> _Reading:
    report = Report(file)
    report.error(message, hint=hint)
    return None, tuple(report.findings)
