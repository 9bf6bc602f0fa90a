"""Robots by their names in the package `robot_descriptions`, if their files are on this machine.

That package clones a repository when a robot is first used. Nothing is fetched here: only existing clones are used.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from fallingcat.suggest import closest
from fallingcat.text import printable, quoted

PREFIX = "robot_descriptions:"
_PROTOCOLS = "GIT_ALLOW_PROTOCOL"


class DescriptionsError(Exception):
    """Raised when a robot is not available; says why, and what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def find_description(name: str) -> tuple[Path, tuple[str, ...]]:
    """The file of a robot, and the folders in which its packages are."""
    spec = find_spec("robot_descriptions")
    if spec is None or not spec.submodule_search_locations:
        hint = "pip install 'fallingcat[robot-descriptions]'"
        raise DescriptionsError(f"{quoted(name)} is a robot of the package robot_descriptions, which is not installed", hint)
    folder = Path(next(iter(spec.submodule_search_locations)))
    names = sorted(path.stem for path in folder.glob("*_description.py") if not path.stem.startswith("_"))
    if name not in names:
        raise DescriptionsError(f"the package robot_descriptions has no robot {quoted(name)}", closest(name, names))
    cloned = _clone(folder / f"{name}.py")
    hint = f"fetch them once: python -m robot_descriptions pull {name}"
    if cloned is None or not _is_repository(cloned):
        raise DescriptionsError(f"the files of the robot {quoted(name)} are not on this machine", hint)
    try:
        with _offline():
            module = importlib.import_module(f"robot_descriptions.{name}")
    except Exception as error:  # exceptions of the package, of git, and of the code of a description
        why = printable(" ".join(str(error).split()), limit=300)
        raise DescriptionsError(f"robot_descriptions cannot give {quoted(name)}: {why}", hint) from None
    return _file(module, name), _folders(module)


def _clone(source: Path) -> Path | None:
    """The folder of a robot's clone, read from the source of its module, because importing the module might fetch."""
    import ast

    calls = (node for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    for call in calls:
        named = getattr(call.func, "id", getattr(call.func, "attr", "")).lstrip("_") == "clone_to_cache"
        if named and call.args and isinstance(call.args[0], ast.Constant):
            repositories = importlib.import_module("robot_descriptions._repositories").REPOSITORIES
            repository = repositories.get(call.args[0].value)
            root = os.path.expanduser(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions"))
            return None if repository is None else Path(root) / repository.cache_path
    return None


def _is_repository(folder: Path) -> bool:
    """Is the folder a git repository? The package deletes other folders, such as interrupted clones, and clones again."""
    inside = folder / ".git"
    return inside.is_file() or all((inside / part).exists() for part in ("HEAD", "objects", "refs"))


@contextmanager
def _offline() -> Iterator[None]:
    """A context in which git, run by the package if a clone is at another commit, may not access the network."""
    before = os.environ.get(_PROTOCOLS)
    os.environ[_PROTOCOLS] = "file"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_PROTOCOLS]
        else:
            os.environ[_PROTOCOLS] = before


def _file(module: ModuleType, name: str) -> Path:
    for attribute in ("URDF_PATH", "MJCF_PATH", "XACRO_PATH"):
        path = getattr(module, attribute, None)
        if isinstance(path, str):
            return Path(path)
    raise DescriptionsError(f"the robot {quoted(name)} is neither URDF nor MJCF", "choose another one")


def _folders(module: ModuleType) -> tuple[str, ...]:
    paths = [getattr(module, attribute, None) for attribute in ("PACKAGE_PATH", "REPOSITORY_PATH")]
    given = [path for path in paths if isinstance(path, str)]
    return tuple(dict.fromkeys(folder for path in given for folder in (path, os.path.dirname(path)) if os.path.isdir(folder)))
