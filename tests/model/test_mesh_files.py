"""Triangles from files of every format, through trimesh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.extras import extra

import fallingcat as fc
from fallingcat.model.mesh_files import load_mesh

trimesh = extra("trimesh")

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def volume(mesh: object) -> float:
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)  # type: ignore[attr-defined]
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


@pytest.fixture
def solid() -> object:
    return trimesh.Trimesh(CORNERS, FACES, process=False)


@pytest.mark.parametrize("suffix", ["stl", "obj", "ply", "dae", "glb"])
def test_formats(tmp_path: Path, solid: object, suffix: str) -> None:
    if suffix == "dae":
        extra("collada")
    path = tmp_path / f"a.{suffix}"
    solid.export(path)  # type: ignore[attr-defined]
    mesh = load_mesh(path)
    assert len(mesh.faces) == 4
    assert volume(mesh) == pytest.approx(1.0, rel=1e-6)
    assert volume(load_mesh(str(path), (0.1, 0.1, 0.1))) == pytest.approx(1e-3, rel=1e-6)
    # A mirrored solid still has its outside outside.
    assert volume(load_mesh(path, (1.0, -1.0, 2.0))) == pytest.approx(2.0, rel=1e-6)


def test_collada_says_its_unit(tmp_path: Path, solid: object) -> None:
    extra("collada")
    path = tmp_path / "a.dae"
    solid.export(path)  # type: ignore[attr-defined]
    text = path.read_text()
    assert text.count("<asset>") == 1
    path.write_text(text.replace("<asset>", '<asset><unit meter="0.01" name="centimeter"/>'))
    assert np.ptp(load_mesh(path).vertices, axis=0) == pytest.approx([0.01, 0.02, 0.03])


def test_colours(tmp_path: Path) -> None:
    (tmp_path / "a.mtl").write_text("newmtl red\nKd 1 0 0\n")
    (tmp_path / "a.obj").write_text("mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n")
    (tmp_path / "b.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    coloured = load_mesh(tmp_path / "a.obj").colours
    assert coloured is not None
    assert coloured[0] == pytest.approx([1, 0, 0, 1])
    assert load_mesh(tmp_path / "b.obj").colours is None


def test_a_changed_file_is_read_again(tmp_path: Path, solid: object) -> None:
    path = tmp_path / "a.stl"
    solid.export(path)  # type: ignore[attr-defined]
    assert len(load_mesh(path).faces) == 4
    (tmp_path / "b.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    trimesh.Trimesh(CORNERS[:3], FACES[:1], process=False).export(path)
    assert len(load_mesh(path).faces) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.stl", b""),
        ("a.stl", b"solid x\nendsolid x\n"),
        ("a.stl", b"\0" * 80 + b"\xff\xff\xff\xff"),
        ("a.stl", b"solid x\nfacet normal 0 0 1\nouter loop\nvertex nan 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"),
        ("a.obj", b"v 0 0 0\nf 1 2 3\n"),
        ("a.obj", b"\xff\xfe"),
        ("a.dae", b"<COLLADA>"),
        ("a.dae", b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>"),
        ("a.glb", b"glTF\0\0\0\0"),
        ("a.xyzzy", b"?"),
        ("a", b"?"),
    ],
)  # fmt: skip
def test_broken_files(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(fc.ModelError, match="mesh"):
        load_mesh(tmp_path / name)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(fc.ModelError, match="cannot be read"):
        load_mesh(tmp_path / "nothing.stl")
