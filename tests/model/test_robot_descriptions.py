"""Robots by name from the package robot_descriptions, without its ever fetching anything."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fallingcat as fc
from fallingcat.model.meshes import shapes

URDF = """<robot name="arm"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<visual><geometry><mesh filename="package://arm_package/a.stl"/></geometry></visual></link></robot>"""
MODULE = """
from os import path as _path
from ._cache import clone_to_cache as _clone_to_cache
REPOSITORY_PATH: str = _clone_to_cache("arm-repository", commit=None)
PACKAGE_PATH: str = _path.join(REPOSITORY_PATH, "arm_package")
URDF_PATH: str = _path.join(PACKAGE_PATH, "urdf", "arm.urdf")
"""
CACHE = """
import os, shutil, subprocess
def clone_to_cache(name, commit=None):
    path = os.path.join(os.environ["ROBOT_DESCRIPTIONS_CACHE"], "arm_repository")
    if not os.path.isdir(path):
        raise RuntimeError("it would fetch")
    if not os.path.isdir(os.path.join(path, ".git", "objects")):
        shutil.rmtree(path)
        raise RuntimeError("it would delete and fetch")
    if os.path.exists(os.path.join(path, "old")):
        words = ["git", "-C", path, "fetch", "https://localhost:1/arm.git"]
        raise RuntimeError(subprocess.run(words, capture_output=True, text=True).stderr)
    return path
"""
REPOSITORIES = """
class Repository:
    cache_path = "arm_repository"
REPOSITORIES = {"arm-repository": Repository()}
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of the same build with one robot; the folder in which it keeps its clones."""
    folder = tmp_path / "site" / "robot_descriptions"
    folder.mkdir(parents=True)
    files = {
        "__init__": "",
        "_cache": CACHE,
        "_repositories": REPOSITORIES,
        "arm_description": MODULE,
        "odd_description": "X = 1",
    }
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    for name in [name for name in sys.modules if name.split(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    for name in [name for name in sys.modules if name.split(".")[0] == "robot_descriptions"]:
        del sys.modules[name]


def cloned(package: Path) -> Path:
    """The folder of a clone."""
    for part in ("objects", "refs"):
        (package / "arm_repository" / ".git" / part).mkdir(parents=True)
    (package / "arm_repository" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return package / "arm_repository"


def test_files_that_are_there(package: Path) -> None:
    inside = cloned(package) / "arm_package"
    (inside / "urdf").mkdir(parents=True)
    (inside / "urdf" / "arm.urdf").write_text(URDF)
    (inside / "a.stl").write_bytes(b"solid\n")
    robot = fc.load("robot_descriptions:arm_description")
    assert robot.link_names == ("a",)
    assert shapes(robot.description)[0].path == inside / "a.stl"


@pytest.mark.parametrize("name", ["arm_description", "odd_description"])
def test_files_that_are_not_there_are_not_fetched(package: Path, name: str) -> None:
    with pytest.raises(fc.ModelError, match=rf"not on this machine.*robot_descriptions pull {name}"):
        fc.load(f"robot_descriptions:{name}")


def test_a_clone_that_was_interrupted_is_left_as_it_is(package: Path) -> None:
    """The package deletes it and clones anew."""
    half = package / "arm_repository" / "arm_package"
    half.mkdir(parents=True)
    with pytest.raises(fc.ModelError, match="not on this machine"):
        fc.load("robot_descriptions:arm_description")
    assert half.is_dir()


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
@pytest.mark.parametrize("allowed", [None, "https"])
def test_a_clone_of_another_commit_fetches_nothing(package: Path, allowed: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git itself refuses to reach for another machine."""
    (cloned(package) / "old").touch()
    monkeypatch.delenv("GIT_ALLOW_PROTOCOL", raising=False)
    if allowed is not None:
        monkeypatch.setenv("GIT_ALLOW_PROTOCOL", allowed)
    with pytest.raises(fc.ModelError, match=r"'https' not allowed.*robot_descriptions pull arm_description"):
        fc.load("robot_descriptions:arm_description")
    assert os.environ.get("GIT_ALLOW_PROTOCOL") == allowed


def test_an_unknown_name(package: Path) -> None:
    with pytest.raises(fc.ModelError, match=r"no robot 'arm_descripton'.*arm_description"):
        fc.load("robot_descriptions:arm_descripton")
    with pytest.raises(fc.ModelError, match="no robot"):
        fc.load("robot_descriptions:../../etc/passwd")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fallingcat.model.descriptions_package.find_spec", lambda name: None)
    with pytest.raises(fc.ModelError, match=r"pip install 'fallingcat\[robot-descriptions\]'"):
        fc.load("robot_descriptions:panda_description")
