"""Xacro files: expanded where the package is installed, recognised where it is not."""

from __future__ import annotations

import builtins
from pathlib import Path

import pytest

import fallingcat as fc

SPACE = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
MACRO = f"""<robot name="macro" {SPACE}>
  <xacro:property name="m" value="2"/>
  <xacro:macro name="piece" params="name"><link name="${{name}}"><inertial><mass value="${{2 * m}}"/>{INERTIA}</inertial></link>
  </xacro:macro>
  <xacro:piece name="body"/>
</robot>
"""


def written(tmp_path: Path, text: str, name: str = "robot.urdf.xacro") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def _no_xacro(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name == "xacro":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)


def test_a_file_is_expanded(tmp_path: Path) -> None:
    for name in ("robot.urdf.xacro", "robot.urdf"):
        robot = fc.load(written(tmp_path, MACRO, name))
        assert robot.link_names == ("body",)
        assert robot.mass == 4.0


def test_text_is_expanded_as_a_file_is() -> None:
    robot = fc.load(MACRO)
    assert robot.link_names == ("body",)
    assert robot.mass == 4.0
    with pytest.raises(fc.ModelError, match=r"<text>.*xacro cannot expand"):
        fc.load(MACRO.replace("xacro:piece", "xacro:peace"))


@pytest.mark.parametrize("text", [MACRO.replace("xacro:piece", "xacro:peace"), MACRO.replace("2 * m", "2 * n"), MACRO[:200]])
def test_what_cannot_be_expanded_is_said(text: str, tmp_path: Path) -> None:
    with pytest.raises(fc.ModelError, match="xacro cannot expand this file"):
        fc.load(written(tmp_path, text))


@pytest.mark.usefixtures("_no_xacro")
def test_without_the_package(tmp_path: Path) -> None:
    with pytest.raises(fc.ModelError, match=r"this is a xacro file.*expand it first"):
        fc.load(written(tmp_path, MACRO))
    deep = f'<robot name="deep" {SPACE}><link name="a"><xacro:if value="1">x</xacro:if></link></robot>'
    with pytest.raises(fc.ModelError, match="this is a xacro file: <xacro:if>"):
        fc.load(written(tmp_path, deep))
    with pytest.raises(fc.ModelError, match="this is a xacro file"):
        fc.load(deep)  # text has no folder that its includes could be relative to


@pytest.mark.usefixtures("_no_xacro")
def test_an_expanded_file_is_no_xacro_file(tmp_path: Path) -> None:
    """The name space stays, comments may say anything, and meshes are looked up by others."""
    mesh = "<visual><geometry><mesh filename='$(find x)/y.stl'/></geometry></visual>"
    body = f"<inertial><mass value='1'/>{INERTIA}</inertial>{mesh}"
    text = f'<robot name="done" {SPACE}><!-- <xacro:include/> ${{x}} --><link name="a">{body}</link></robot>'
    assert fc.load(written(tmp_path, text, "robot.urdf")).mass == 1.0
    assert fc.load(written(tmp_path, text)).mass == 1.0
