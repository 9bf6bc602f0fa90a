"""Robots by name from the package robot_descriptions, without its ever fetching anything."""

from __future__ import annotations

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
import os
def clone_to_cache(name, commit=None):
    path = os.path.join(os.environ["ROBOT_DESCRIPTIONS_CACHE"], "arm_repository")
    if not os.path.isdir(path):
        raise RuntimeError("it would fetch")
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


def test_files_that_are_there(package: Path) -> None:
    inside = package / "arm_repository" / "arm_package"
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


def test_an_unknown_name(package: Path) -> None:
    with pytest.raises(fc.ModelError, match=r"no robot 'arm_descripton'.*arm_description"):
        fc.load("robot_descriptions:arm_descripton")
    with pytest.raises(fc.ModelError, match="no robot"):
        fc.load("robot_descriptions:../../etc/passwd")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fallingcat.model.descriptions_package.find_spec", lambda name: None)
    with pytest.raises(fc.ModelError, match=r"pip install 'fallingcat\[robot_descriptions\]'"):
        fc.load("robot_descriptions:panda_description")
