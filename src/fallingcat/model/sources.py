"""Sources of robots: files, text, descriptions, builders and the bundled collection."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Protocol

from fallingcat.errors import InputError, ModelError
from fallingcat.model.description import Description
from fallingcat.model.descriptions_package import PREFIX, DescriptionsError, find_description
from fallingcat.model.findings import Finding
from fallingcat.model.formats import read_xml
from fallingcat.model.report import Report, Suggestions, listed, printable, quoted
from fallingcat.model.xacro_files import XacroError, expand, has_macros
from fallingcat.model.xml_tree import MAX_SIZE
from fallingcat.text import shown


class Describable(Protocol):
    """Anything that can describe itself, such as a builder."""

    def description(self) -> Description:
        """The finished description."""
        ...


Source = str | bytes | os.PathLike[str] | Description | Describable
"""A path, XML text, a finished description, a builder, a compiled MuJoCo model, the name of a bundled robot, or of one of the
package robot_descriptions."""

_Reading = tuple[Description | None, tuple[Finding, ...]]


def read(source: Source, package_dirs: Iterable[str | os.PathLike[str]] = ()) -> _Reading:
    """The description of a source and the findings about it; None with errors if it cannot be read.

    package_dirs: folders in which packages and meshes are looked for first.
    """
    folders = _folders(package_dirs)
    description, findings = _read(source)
    if description is not None and folders:
        description = replace(description, package_dirs=(*folders, *description.package_dirs))
    return description, findings


def _read(source: Source) -> _Reading:
    if isinstance(source, Description):
        return source, ()
    if isinstance(source, bytes):
        return read_xml(source)
    if isinstance(source, str):
        return _read_string(source)
    if isinstance(source, os.PathLike):
        return _read_file(Path(source))
    if hasattr(source, "body_parentid") and hasattr(source, "jnt_type"):  # a compiled mujoco.MjModel
        from fallingcat.model.mjcf import read_model

        return read_model(source)
    return _read_builder(source)


def _folders(package_dirs: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """The absolute paths of folders; raises for one that does not exist, which would otherwise show as missing meshes."""
    if isinstance(package_dirs, (str, os.PathLike)):
        package_dirs = (package_dirs,)
    try:
        folders = [os.path.abspath(os.fspath(folder)) for folder in package_dirs]
        missing = [folder for folder in folders if not os.path.isdir(folder)]
    except (TypeError, ValueError):
        raise InputError("package_dirs does not fit", expected="folders", got=shown(package_dirs)) from None
    if missing:
        raise InputError(f"package_dirs: there is no folder {quoted(missing[0], limit=200)}", hint="check the path")
    return tuple(folders)


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
    # Only the beginning is stripped, so that a hundred megabytes are not copied.
    if source[:4096].lstrip("\ufeff \t\r\n").startswith("<"):
        macros = "xmlns:xacro" in source and has_macros(None, source.encode("utf-8", "replace"))  # xacro requires its name space
        return _read_xacro(source, "<text>", source) if macros else read_xml(source)
    if not source.strip("\ufeff \t\r\n"):
        return _failure("<text>", "the source is empty", "give a path, XML text or the name of a bundled robot")
    if source in bundled_robots():
        return read_xml(_robots_folder().joinpath(f"{source}.urdf").read_bytes(), f"{source}.urdf")
    if source.startswith(PREFIX):
        return _read_description(source.removeprefix(PREFIX))
    if len(source) > 4096 or "\n" in source:
        return _failure(
            "<text>",
            f"this is neither XML nor a path: {quoted(source)}",
            "XML text starts with <robot>, <mujoco>, <sdf> or <?xml ...?>",
        )
    return _read_file(Path(source))


def _read_description(name: str) -> _Reading:
    try:
        path, folders = find_description(name)
    except DescriptionsError as error:
        return _failure(f"{PREFIX}{printable(name)}", error.message, error.hint)
    description, findings = _read_file(path)
    return None if description is None else replace(description, package_dirs=folders), findings


def _read_file(path: Path) -> _Reading:
    name = printable(str(path), limit=1000)
    try:
        if path.is_dir():
            return _failure(name, "this is a directory, not a file", "give the path of the URDF file in it")
        with open(path, "rb") as stream:
            # Reading one byte beyond the limit is enough to see that the file is too large.
            content = stream.read(MAX_SIZE + 1)
    except FileNotFoundError:
        return _failure(name, f"there is no file {quoted(name, limit=200)}", _hint_for_missing(path))
    except PermissionError:
        return _failure(name, f"the file {quoted(name, limit=200)} may not be read", "check its permissions")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return _failure(name, f"the file {quoted(name, limit=200)} cannot be read: {reason}", "check the path")
    description, findings = _read_xacro(path, name, content) if has_macros(path, content) else read_xml(content, name, path)
    if description is not None:
        description = replace(description, folder=str(path.absolute().parent))
    return description, findings


def _read_xacro(source: Path | str, name: str, content: bytes | str) -> _Reading:
    """A file or text with macros: expanded if that is possible. Lines of findings are then those of the expanded text."""
    try:
        text = expand(source)
    except XacroError as error:
        what = f"xacro cannot expand this file: {printable(str(error), limit=300)}"
        return _failure(name, what, "expand it where its packages are: xacro robot.xacro > robot.urdf")
    expanded = content if text is None else text
    return read_xml(expanded, name, source) if isinstance(source, Path) else read_xml(expanded)


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
            "not a robot",
            expected="a path, XML text, a Description, a builder or the name of a bundled robot",
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
