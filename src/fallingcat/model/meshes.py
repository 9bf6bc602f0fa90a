"""Where the meshes of a description are on this machine.

Names are resolved as by ROS and Gazebo, or relative to the file's folder. Nothing is fetched from a network.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from fallingcat.model.description import Description, Visual

PACKAGE_PATHS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "GAZEBO_MODEL_PATH")
"""Environment variables with folders of packages, separated like those of PATH."""
_HIGHEST = 32
"""Number of folders above the file that are searched."""


class Shape(NamedTuple):
    """A shape of a link, and the file of a mesh."""

    link: str
    visual: Visual
    """Its pose is that of the shape in the link's frame."""
    path: Path | None = None
    """The mesh's file; None for other shapes, and where there is no such file."""


def shapes(description: Description, collisions: bool = False) -> tuple[Shape, ...]:
    """Every shape of a robot, link by link in their order; its frame in the link is `visual.pose`.

    collisions: the shapes that it touches with, instead of those that it is seen by.
    """
    found: dict[str, Path | None] = {}
    made: list[Shape] = []
    for link in description.links:
        for visual in link.collisions if collisions else link.visuals:
            if visual.shape == "mesh" and visual.file not in found:
                found[visual.file] = find_mesh(description, visual.file)
            made.append(Shape(link.name, visual, found[visual.file] if visual.shape == "mesh" else None))
    return tuple(made)


def find_mesh(description: Description, file: str) -> Path | None:
    """The file that a description means, or None when there is none on this machine.

    package://NAME/x and model://NAME/x are looked for in `package_dirs`, in the folders of ROS_PACKAGE_PATH,
    AMENT_PREFIX_PATH and their like, and in the folders above the description; other paths start at its folder.
    """
    for candidate in _candidates(description, file):
        if is_file(candidate):
            return candidate
    return None


def is_file(path: Path) -> bool:
    """Is there a regular file? False for devices and pipes, and for names that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _candidates(description: Description, file: str) -> Iterator[Path]:
    scheme, separator, rest = file.partition("://")
    if not separator:
        scheme, rest = "", file
    if not rest:
        return
    folder = Path(description.folder) if description.folder else Path.cwd()
    given = [Path(directory) for directory in description.package_dirs]
    if scheme in ("package", "model"):
        package, _, inside = rest.partition("/")
        yield from _in_packages(package, inside, folder, given)
    elif scheme in ("", "file"):
        rest = unquote(rest) if scheme == "file" else rest.replace("\\", "/")
        yield folder / rest  # an absolute path stays what it is
        for directory in given:
            yield directory / rest


def _in_packages(package: str, inside: str, folder: Path, given: list[Path]) -> Iterator[Path]:
    for directory in [*given, *_environment()]:
        yield directory / package / inside
        yield directory / "share" / package / inside
        if directory.name == package:
            yield directory / inside
    above = [folder, *folder.parents][:_HIGHEST]
    for directory in above:
        if directory.name == package:
            yield directory / inside
        yield directory / package / inside
    # A package that was unpacked into a folder with another name.
    for directory in [*given, *above]:
        yield directory / inside


def _environment() -> Iterator[Path]:
    for variable in PACKAGE_PATHS:
        for entry in os.environ.get(variable, "").split(os.pathsep):
            if entry:
                yield Path(entry)
