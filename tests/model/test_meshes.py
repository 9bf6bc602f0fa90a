"""Shapes of descriptions, and where their meshes are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.model.description import GREY, Description, Link, Visual
from fallingcat.model.meshes import PACKAGE_PATHS, find_mesh, shapes
from fallingcat.model.urdf import read_urdf

URDF = """
<robot name="r">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="a">
    <visual><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>
      <geometry><mesh filename="package://robot/meshes/a.stl" scale="0.001 0.001 0.002"/></geometry>
      <material name="red"/></visual>
    <visual><geometry><capsule radius="0.1" length="0.4"/></geometry></visual>
    <collision><geometry><sphere radius="0.2"/></geometry></collision>
  </link>
</robot>"""


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No folders of packages but those of the test."""
    for name in PACKAGE_PATHS:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"solid x\nendsolid x\n")
    return path


def test_urdf_shapes() -> None:
    description, findings = read_urdf(URDF)
    assert description is not None
    assert not findings
    mesh, capsule = description.links[0].visuals
    assert (mesh.shape, mesh.file, mesh.scale) == ("mesh", "package://robot/meshes/a.stl", (0.001, 0.001, 0.002))
    assert (mesh.rgba, mesh.line, mesh.pose.position) == ((1.0, 0.0, 0.0, 1.0), 6, (1.0, 2.0, 3.0))
    assert np.allclose(mesh.pose.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    assert (capsule.shape, capsule.size, capsule.rgba) == ("capsule", (0.1, 0.4), GREY)
    assert description.links[0].collisions == (Visual("sphere", (0.2,), line=9),)
    assert [shape.visual for shape in shapes(description)] == [mesh, capsule]
    assert [shape.visual.shape for shape in shapes(description, collisions=True)] == ["sphere"]


@pytest.mark.parametrize("scheme", ["package", "model"])
def test_packages(tmp_path: Path, bare: pytest.MonkeyPatch, scheme: str) -> None:
    """In the order of trust: folders given, the environment's, those above the file, and those under another name."""
    file = f"{scheme}://robot/meshes/a.stl"
    (tmp_path / "deep" / "urdf").mkdir(parents=True)
    description = Description("r", (), (), folder=str(tmp_path / "deep" / "urdf"))

    def found(**changes: object) -> Path | None:
        return find_mesh(Description("r", (), (), **{"folder": description.folder, **changes}), file)  # type: ignore[arg-type]

    assert found() is None
    other = touch(tmp_path / "deep" / "meshes" / "a.stl")
    assert found() == other
    above = touch(tmp_path / "robot" / "meshes" / "a.stl")
    assert found() == above
    ament = touch(tmp_path / "ament" / "share" / "robot" / "meshes" / "a.stl")
    bare.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path / 'ament'}")
    assert found() == ament
    ros = touch(tmp_path / "ros" / "robot" / "meshes" / "a.stl")
    bare.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ros"))
    assert found() == ros
    given = touch(tmp_path / "given" / "robot" / "meshes" / "a.stl")
    assert found(package_dirs=(str(tmp_path / "given"),)) == given
    assert found(package_dirs=(str(tmp_path / "given" / "robot"),)) == given


def test_package_folder_above(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    mesh = touch(tmp_path / "robot" / "meshes" / "a.stl")
    inside = Description("r", (), (), folder=str(tmp_path / "robot" / "urdf"))
    assert find_mesh(inside, "package://robot/meshes/a.stl") == mesh


def test_plain_paths(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    mesh = touch(tmp_path / "my meshes" / "a.stl")
    here = Description("r", (), (), folder=str(tmp_path))
    assert find_mesh(here, "my meshes/a.stl") == mesh
    assert find_mesh(here, "my meshes\\a.stl") == mesh
    assert find_mesh(here, str(mesh)) == mesh
    assert find_mesh(here, f"file://{tmp_path}/my%20meshes/a.stl") == mesh
    elsewhere = Description("r", (), (), folder="/nowhere", package_dirs=(str(tmp_path),))
    assert find_mesh(elsewhere, "my meshes/a.stl") == mesh
    bare.chdir(tmp_path)
    assert find_mesh(Description("r", (), ()), "my meshes/a.stl") == Path.cwd() / "my meshes" / "a.stl"


@pytest.mark.parametrize(
    "file",
    ["", "package://", "package://robot", "model://", "http://host/a.stl", "a\0b.stl", "x" * 5000, "/dev/zero", "/", ".", "file://",
     "package://../../../../../../dev/zero", "\ud800.stl"],
)  # fmt: skip
def test_what_is_no_file(tmp_path: Path, bare: pytest.MonkeyPatch, file: str) -> None:
    assert find_mesh(Description("r", (), (), folder=str(tmp_path)), file) is None


def test_load_keeps_folders(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    (tmp_path / "robot" / "urdf").mkdir(parents=True)
    (tmp_path / "robot" / "urdf" / "r.urdf").write_text(URDF)
    mesh = touch(tmp_path / "robot" / "meshes" / "a.stl")
    bare.chdir(tmp_path)
    robot = fc.load("robot/urdf/r.urdf", floating=False)
    assert robot.description.folder == str(Path.cwd() / "robot" / "urdf")
    assert shapes(robot.description)[0].path == mesh
    text = fc.load(URDF, floating=False, package_dirs=["."])
    assert shapes(text.description)[0].path == mesh
    assert text.description.package_dirs == (str(Path.cwd()),)


@pytest.mark.parametrize("wrong", [["/no/such/folder"], 3, [3], "/no/such", ["a\0b"]])
def test_wrong_package_dirs(wrong: object) -> None:
    with pytest.raises(fc.InputError, match="package_dirs"):
        fc.load("cat", package_dirs=wrong)  # type: ignore[arg-type]


def test_other_shapes_have_no_path() -> None:
    description = Description("r", (Link("a", visuals=(Visual("box", (1.0, 1.0, 1.0)),)),), ())
    (shape,) = shapes(description)
    assert (shape.link, shape.path) == ("a", None)
