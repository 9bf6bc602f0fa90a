"""Meshes for pages: within the budget, in place, with their colours, and packed so that they come back."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from fallingcat.apps import view
from fallingcat.apps.view.scene import Looks
from fallingcat.apps.view.triangles import Triangles, _clustered, _reduced, creased

ROBOT = """<robot name="m"><link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
</inertial><visual><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><geometry><mesh filename="{file}" scale="2 1 1"/></geometry>
{material}</visual></link></robot>"""
RED = '<material name="red"><color rgba="0.8 0.1 0.1 1"/></material>'


def sphere(count: int = 60) -> Triangles:
    """A ball of radius one, from a grid of angles."""
    u, v = np.meshgrid(np.linspace(0.0, np.pi, count), np.linspace(0.0, 2.0 * np.pi, count, endpoint=False), indexing="ij")
    points = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], axis=-1).reshape(-1, 3)
    k = np.arange(count * count).reshape(count, count)
    a, b, c, d = k[:-1], k[1:], np.roll(k[1:], -1, axis=1), np.roll(k[:-1], -1, axis=1)
    faces = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)])
    return Triangles(points, faces)


def cube() -> Triangles:
    points = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return Triangles(points, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]))


@pytest.mark.parametrize("reduce", ["fast_simplification", "own"])
def test_reduced_surfaces_stay_where_they_were(reduce: str) -> None:
    ball = sphere()
    if reduce == "own":
        made = _clustered(ball, 1200)
    else:
        extra("fast_simplification")
        made = _reduced(ball, 1200 / len(ball.faces))
    assert 200 < len(made.faces) <= 1260
    radii = np.linalg.norm(made.vertices, axis=1)
    assert radii.min() > 0.9
    assert radii.max() < 1.05
    assert made.faces.max() == len(made.vertices) - 1


def test_packed_meshes_come_back() -> None:
    ball = sphere(20)
    packed = ball.packed()
    low, high = np.array(packed["box"])
    places = np.frombuffer(base64.b64decode(packed["points"]), "<u2").reshape(-1, 3)
    assert np.abs(low + (high - low) * places / 65535.0 - ball.vertices).max() < 2e-5
    assert np.array_equal(np.frombuffer(base64.b64decode(packed["triangles"]), "<u2").reshape(-1, 3), ball.faces)


def test_creases_are_kept_and_smooth_surfaces_shared() -> None:
    points, faces = creased(cube())
    assert len(points) == 24
    assert faces.shape == (12, 3)
    ball = sphere(40)
    away = np.abs(ball.vertices[ball.faces][..., 2]).max(axis=1) < 0.95  # from the poles, where a grid has triangles without area
    inside = Triangles(ball.vertices, ball.faces[away])
    assert len(creased(inside)[0]) == len(np.unique(inside.faces))


def write_stl(path: Path, mesh: Triangles) -> None:
    lines = ["solid x"]
    for face in mesh.faces:
        corners = "".join(f"vertex {x} {y} {z}\n" for x, y, z in mesh.vertices[face])
        lines.append(f"facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet")
    path.write_text("\n".join([*lines, "endsolid x"]))


def test_a_mesh_is_drawn_where_its_link_is(tmp_path: Path) -> None:
    extra("trimesh")
    write_stl(tmp_path / "ball.stl", sphere(12))
    (tmp_path / "m.urdf").write_text(ROBOT.format(file="ball.stl", material=RED))
    robot = fc.load(tmp_path / "m.urdf")
    scene = view.scene(robot, robot.neutral())
    assert [shape["kind"] for shape in scene["shapes"]] == ["mesh"]
    assert scene["shapes"][0]["rgba"] == [0.8, 0.1, 0.1, 1.0]
    assert not scene["skeleton"]
    assert np.allclose(scene["bounds"], [[0.0, 0.0, 2.0], [2.0, 4.0, 4.0]], atol=0.05)  # the long axis is turned to y
    few = Looks.of(robot, budget=70)
    assert sum(len(mesh.faces) for mesh in few.meshes) <= 72


@pytest.mark.parametrize(("rgba", "shown"), [("1 1 1 1", [0.2, 0.4, 0.6, 1.0]), ("0.8 0.1 0.1 1", [0.8, 0.1, 0.1, 1.0])])
def test_plain_white_leaves_a_mesh_its_own_colours(tmp_path: Path, rgba: str, shown: list[float]) -> None:
    extra("trimesh")
    points = "".join(f"{x} {y} {z} 51 102 153 255\n" for x, y, z in cube().vertices)
    faces = "".join(f"3 {a} {b} {c}\n" for a, b, c in cube().faces)
    places = "".join(f"property float {x}\n" for x in "xyz")
    colours = "".join(f"property uchar {x}\n" for x in ("red", "green", "blue", "alpha"))
    head = f"ply\nformat ascii 1.0\nelement vertex 8\n{places}{colours}"
    (tmp_path / "a.ply").write_text(f"{head}element face 12\nproperty list uchar int vertex_indices\nend_header\n{points}{faces}")
    material = f'<material name="m"><color rgba="{rgba}"/></material>'
    (tmp_path / "m.urdf").write_text(ROBOT.format(file="a.ply", material=material))
    robot = fc.load(tmp_path / "m.urdf")
    assert [shape["rgba"] for shape in view.scene(robot, robot.neutral())["shapes"]] == [shown]


def test_what_is_missing_is_said_and_drawn_as_a_skeleton(tmp_path: Path) -> None:
    (tmp_path / "m.urdf").write_text(ROBOT.format(file="nowhere.stl", material=""))
    scene = view.scene(fc.load(tmp_path / "m.urdf"), [0, 0, 0, 0, 0, 0, 1])
    assert scene["skeleton"]
    assert scene["missing"] == ["nowhere.stl"]
