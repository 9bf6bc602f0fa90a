"""The geoms of a compiled MuJoCo model as shapes of links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fallingcat.model.description import GREY, Pose, Rgba, ShapeKind, Vector, Visual
from fallingcat.model.placed import Placed
from fallingcat.model.rotations import rotation_from_quaternion

_SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = 2, 3, 4, 5, 6, 7
_SHAPES: dict[int, tuple[ShapeKind, Callable[[Vector], tuple[float, ...]]]] = {
    _SPHERE: ("sphere", lambda s: s[:1]),
    _CAPSULE: ("capsule", lambda s: (s[0], 2.0 * s[1])),
    _ELLIPSOID: ("ellipsoid", lambda s: s),
    _CYLINDER: ("cylinder", lambda s: (s[0], 2.0 * s[1])),
    _BOX: ("box", lambda s: (2.0 * s[0], 2.0 * s[1], 2.0 * s[2])),
}
"""Shapes by MuJoCo's type, with sizes from half to full lengths; planes and height fields belong to the ground."""
_VISIBLE = 3
"""Geoms of groups below this are shown by default; higher groups are by convention for contacts only."""
_PLAIN = (0.5, 0.5, 0.5, 1.0)
"""MuJoCo's default colour of a geom."""


def visuals_of(m: Any, body: int) -> tuple[Visual, ...]:
    """The shapes of a body that MuJoCo shows by default."""
    return tuple(_shape(m, g) for g in _geoms(m, body) if m.geom_group[g] < _VISIBLE and m.geom_rgba[g][3] > 0.0)


def collisions_of(m: Any, body: int) -> tuple[Visual, ...]:
    """The shapes of a body that take part in contacts."""
    return tuple(_shape(m, g) for g in _geoms(m, body) if m.geom_contype[g] or m.geom_conaffinity[g])


def _geoms(m: Any, body: int) -> Iterator[int]:
    start = int(m.body_geomadr[body])
    for g in range(start, start + int(m.body_geomnum[body])):
        if int(m.geom_type[g]) in _SHAPES or (int(m.geom_type[g]) == _MESH and int(m.geom_dataid[g]) >= 0):
            yield g


def _shape(m: Any, g: int) -> Visual:
    at = _placed(m.geom_pos[g], m.geom_quat[g])
    if int(m.geom_type[g]) != _MESH:
        kind, sizes = _SHAPES[int(m.geom_type[g])]
        return Visual(kind, sizes(_three(m.geom_size[g])), at.pose(), _colour(m, g))
    mesh = int(m.geom_dataid[g])
    # The compiler moves a mesh to its centre and principal axes, and the geom with it; this undoes the motion.
    moved = _placed(m.mesh_pos[mesh], m.mesh_quat[mesh])
    pose: Pose = (at @ moved.inverse()).pose()
    return Visual("mesh", (), pose, _colour(m, g), mesh_file(m, mesh), _three(m.mesh_scale[mesh]))


def mesh_file(m: Any, mesh: int) -> str:
    """The file of a mesh as the model names it, its folder of meshes included; empty for one that is written out."""
    at = int(m.mesh_pathadr[mesh])
    return "" if at < 0 else bytes(m.paths)[at:].split(b"\0", 1)[0].decode("utf-8", "replace")


def _colour(m: Any, g: int) -> Rgba:
    r, s, t, a = (round(float(x), 6) for x in m.geom_rgba[g])
    if (r, s, t, a) == _PLAIN:
        if int(m.geom_matid[g]) < 0:
            return GREY
        r, s, t, a = (round(float(x), 6) for x in m.mat_rgba[int(m.geom_matid[g])])
    return r, s, t, a


def _placed(position: Any, quaternion: Any) -> Placed:
    w, x, y, z = (float(value) for value in quaternion)
    return Placed(rotation_from_quaternion(x, y, z, w), _three(position))


def _three(x: Any) -> Vector:
    return float(x[0]), float(x[1]), float(x[2])
