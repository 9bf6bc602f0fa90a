"""Whose files are written over, and what is left when something fails in the middle."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import fallingcat as fc


@pytest.fixture(scope="module")
def cat() -> fc.Robot:
    return fc.load("cat")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_file_that_speaks_of_us_is_not_ours(cat: fc.Robot, tmp_path: Path) -> None:
    mine = "project(mine)\n# links the dynamics made by fallingcat 0.1.0\n"
    (tmp_path / "CMakeLists.txt").write_text(mine)
    with pytest.raises(fc.InputError, match="was not made by an export"):
        fc.export(cat, ["gravity_torque"], tmp_path)
    assert contents(tmp_path) == {"CMakeLists.txt": mine.encode()}


@pytest.mark.parametrize("name", ["main.c", "cat.h", "CMakeLists.txt"])
def test_a_file_that_was_changed_is_kept(cat: fc.Robot, name: str, tmp_path: Path) -> None:
    fc.export(cat, ["gravity_torque"], tmp_path)
    with (tmp_path / name).open("a") as file:
        file.write("\n/* hours of work */\n")
    before = contents(tmp_path)
    with pytest.raises(fc.InputError, match=f"{name}' was changed since it was exported"):
        fc.export(cat, ["gravity_torque", "bias"], tmp_path)
    assert contents(tmp_path) == before


def test_line_ends_are_no_change(cat: fc.Robot, tmp_path: Path) -> None:
    fc.export(cat, ["gravity_torque"], tmp_path)
    main = tmp_path / "main.c"
    main.write_bytes(main.read_bytes().replace(b"\n", b"\r\n"))
    fc.export(cat, ["bias"], tmp_path)
    assert b"cat_bias" in main.read_bytes()


def test_two_robots_in_one_folder(cat: fc.Robot, tmp_path: Path) -> None:
    fc.export(cat, ["gravity_torque"], tmp_path)
    before = contents(tmp_path)
    with pytest.raises(fc.InputError, match=r"belongs to another robot; expected: 'quadruped'; got: 'cat'"):
        fc.export(fc.load("quadruped"), ["gravity_torque"], tmp_path)
    with pytest.raises(fc.InputError, match="belongs to another robot"):
        fc.export(cat, ["gravity_torque"], tmp_path, name="kitten")
    assert contents(tmp_path) == before


@pytest.mark.parametrize(("target", "name"), [("x86_64-linux-gnu", "cat.o"), ("wasm", "cat.wasm")])
def test_binary_files_that_were_changed(cat: fc.Robot, target: str, name: str, tmp_path: Path) -> None:
    fc.export(cat, ["gravity_torque"], tmp_path, target=target)
    fc.export(cat, ["gravity_torque", "bias"], tmp_path, target=target)
    (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(fc.InputError, match="was not made by an export"):
        fc.export(cat, ["gravity_torque"], tmp_path, target=target)
    assert (tmp_path / name).read_bytes() == b"mine"


@pytest.mark.parametrize("fails", range(1, 9))
def test_what_was_there_comes_back(cat: fc.Robot, fails: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However far it came: a file that cannot take its place leaves the folder as it was."""
    fc.export(cat, ["gravity_torque"], tmp_path)
    before = contents(tmp_path)
    usual, count = os.replace, [0]

    def replace(a: Any, b: Any) -> None:
        count[0] += 1
        if count[0] == fails:
            raise PermissionError(1, "Operation not permitted")
        usual(a, b)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(fc.InputError, match="not permitted"):
        fc.export(cat, ["bias"], tmp_path)
    assert contents(tmp_path) == before


def test_no_folders_are_left_behind(cat: fc.Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(fc.InputError, match="No space left"):
        fc.export(cat, ["bias"], tmp_path / "new" / "folder")
    assert list(tmp_path.iterdir()) == []


def test_no_folder_is_named(cat: fc.Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fc.InputError, match=r"not a folder; got: an empty name"):
        fc.export(cat, ["bias"], "")
    assert list(tmp_path.iterdir()) == []
