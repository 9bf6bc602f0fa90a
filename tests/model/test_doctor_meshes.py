"""What the doctor says of meshes: missing, unreadable, in other units, unlike the inertia."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.extras import extra

import fallingcat as fc
from fallingcat.model.checks_meshes import solid
from fallingcat.model.mesh_files import load_mesh

trimesh = extra("trimesh")


def robot(mesh: str, mass: float = 2.0, moment: float = 0.02, com: str = "0 0 0") -> str:
    """A link of a mesh at line 2."""
    inertia = f'<inertia ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"/>'
    inertial = f'<inertial><origin xyz="{com}"/><mass value="{mass}"/>{inertia}</inertial>'
    return f'<robot name="r">\n<link name="hand">{inertial}\n<visual><geometry>{mesh}</geometry></visual></link></robot>'


def said(tmp_path: Path, text: str) -> list[tuple[str, int, str]]:
    (tmp_path / "r.urdf").write_text(text)
    return [(f.severity, f.line, str(f)) for f in fc.diagnose(tmp_path / "r.urdf")]


@pytest.fixture
def ball(tmp_path: Path) -> Path:
    trimesh.creation.icosphere(subdivisions=3, radius=0.15).export(tmp_path / "ball.stl")
    return tmp_path


def test_a_healthy_mesh(ball: Path) -> None:
    assert said(ball, robot('<mesh filename="ball.stl"/>')) == []


def test_a_missing_mesh_is_a_note(ball: Path) -> None:
    ((severity, line, text),) = said(ball, robot('<mesh filename="package://p/hand.stl"/>'))
    assert (severity, line) == ("note", 3)
    assert "'package://p/hand.stl' is not there" in text
    assert "package_dirs" in text
    assert fc.diagnose(ball / "r.urdf", meshes=False) == ()
    (ball / "p").mkdir()
    (ball / "ball.stl").rename(ball / "p" / "hand.stl")
    assert fc.diagnose(ball / "r.urdf", package_dirs=[ball]) == ()


def test_the_command_takes_folders(ball: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fallingcat.cli.main import main

    (ball / "r.urdf").write_text(robot('<mesh filename="package://p/ball.stl"/>'))
    (ball / "folder" / "p").mkdir(parents=True)
    (ball / "ball.stl").rename(ball / "folder" / "p" / "ball.stl")
    assert main(["doctor", str(ball / "r.urdf")]) == 0
    assert "is not there" in capsys.readouterr().out
    assert main(["doctor", str(ball / "r.urdf"), "--package-dir", str(ball / "folder")]) == 0
    assert "healthy" in capsys.readouterr().out
    assert main(["doctor", str(ball / "r.urdf"), "--package-dir", "/no/such/folder"]) == 2


def test_many_missing_meshes_are_counted(tmp_path: Path) -> None:
    visuals = "".join(f'<visual><geometry><mesh filename="m{k}.stl"/></geometry></visual>' for k in range(30))
    found = said(tmp_path, f'<robot name="r"><link name="a">{visuals}</link></robot>')
    assert len(found) == 21
    assert "10 more meshes" in found[-1][2] or "10 more meshes" in found[0][2]


def test_a_broken_mesh(ball: Path) -> None:
    (ball / "x.stl").write_bytes(b"nonsense")
    ((severity, line, text),) = said(ball, robot('<mesh filename="x.stl"/>'))
    assert (severity, line) == ("warning", 3)
    assert "cannot be read" in text or "no triangles" in text


def test_a_hand_of_three_hundred_metres(ball: Path) -> None:
    ((severity, line, text),) = said(ball, robot('<mesh filename="ball.stl" scale="1000 1000 1000"/>'))
    assert (severity, line) == ("warning", 3)
    assert "300 m large" in text
    assert "0.001 0.001 0.001" in text
    ((_, _, small),) = said(ball, robot('<mesh filename="ball.stl" scale="1e-6 1e-6 1e-6"/>'))
    assert "applied twice" in small


def test_an_inertia_unlike_the_mesh(ball: Path) -> None:
    """2 kg in a ball of 0.15 m have moments of 0.018; twenty times as much is no ball."""
    ((severity, line, text),) = said(ball, robot('<mesh filename="ball.stl"/>', moment=0.36))
    assert (severity, line) == ("warning", 2)
    assert "the inertia is 20" in text or "the inertia is 19.9" in text or "the inertia is 20." in text
    assert len(said(ball, robot('<mesh filename="ball.stl"/>', moment=0.0008))) == 1
    ((_, _, away),) = said(ball, robot('<mesh filename="ball.stl"/>', com="0 0 3"))
    assert "2.85 m outside" in away


def test_the_inertia_of_filled_meshes(tmp_path: Path) -> None:
    """Against trimesh, which integrates otherwise; two parts together; a mesh that is not closed counts as its box."""
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    box.apply_translation((1.0, 2.0, 3.0))
    cone = trimesh.creation.cone(0.2, 0.5)
    for name, mesh in (("box", box), ("cone", cone)):
        mesh.export(tmp_path / f"{name}.stl")
        read = load_mesh(tmp_path / f"{name}.stl")
        center, spread = solid([(read.vertices, read)])
        assert center == pytest.approx(mesh.center_mass, abs=1e-6)
        assert spread == pytest.approx(np.trace(mesh.moment_inertia) / 2.0 / mesh.mass, rel=1e-5)
    parts = [load_mesh(tmp_path / "box.stl"), load_mesh(tmp_path / "cone.stl")]
    both = trimesh.util.concatenate([box, cone])
    center, spread = solid([(part.vertices, part) for part in parts])
    assert center == pytest.approx(both.center_mass, abs=1e-6)
    assert spread == pytest.approx(np.trace(both.moment_inertia) / 2.0 / both.mass, rel=1e-5)
    trimesh.Trimesh(box.vertices, box.faces[:-1], process=False).export(tmp_path / "open.stl")
    opened = load_mesh(tmp_path / "open.stl")
    assert solid([(opened.vertices, opened)])[1] == pytest.approx((0.1**2 + 0.2**2 + 0.3**2) / 12.0, rel=1e-5)
