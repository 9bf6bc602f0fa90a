"""The meshes of a robot: one list of triangles for each colour of a link, reduced to a budget, packed for a page."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.errors import FallingCatError
from fallingcat.model import meshes
from fallingcat.model.description import GREY, Description
from fallingcat.model.mesh_files import Mesh, load_mesh

Array = NDArray[np.float64]
Faces = NDArray[np.int64]
Colour = tuple[float, float, float, float]

PAGE, LIVE = 48_000, 900_000
"""Triangles of all meshes together, in a page and in the viewer."""
LEAST = 60
"""Number of triangles that every mesh may keep, whatever the budget."""
SILENT = (GREY, (1.0, 1.0, 1.0, 1.0))
"""Colours of a description that are ignored in favour of the mesh's own: none, and the plain white that exporters write."""
MOST_COLOURS = 12
"""Colours of one mesh at most; beyond, all its triangles get their average."""


@dataclass(frozen=True, eq=False)
class Triangles:
    """Triangles of one colour, in the frame of their shape, metres."""

    vertices: Array
    """(v, 3)"""
    faces: Faces
    """(f, 3)"""

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The corners of the box around them."""
        return self.vertices.min(axis=0), self.vertices.max(axis=0)

    def packed(self) -> dict[str, Any]:
        """For a page: corners of the box, places in it as 16-bit numbers, and indices, little-endian in base64."""
        low, high = self.bounds
        span = np.where(high > low, high - low, 1.0)
        places = np.round((self.vertices - low) / span * 65535.0).astype("<u2")
        indices = self.faces.astype("<u2" if len(self.vertices) <= 65536 else "<u4")
        return {
            "box": [[float(f"{x:.7g}") for x in corner] for corner in (low, low + span)],
            "points": base64.b64encode(places.tobytes()).decode("ascii"),
            "triangles": base64.b64encode(indices.tobytes()).decode("ascii"),
            "wide": indices.itemsize == 4,
        }


@dataclass(frozen=True, eq=False)
class Piece:
    """A coloured part of a visual's mesh."""

    link: str
    visual: Any
    triangles: Triangles
    rgba: Colour


@dataclass
class Wardrobe:
    """The meshes of a description, each file read and reduced once."""

    description: Description
    budget: int = PAGE
    progress: Callable[[str], None] = lambda what: None
    missing: list[str] = field(default_factory=list)
    """Files that are not there or cannot be read."""
    unread: str = ""
    """Why meshes are not drawn at all: their reader is not installed."""

    def pieces(self) -> list[Piece]:
        """Everything that is drawn by meshes."""
        found: list[tuple[str, Any, list[tuple[Triangles, Colour | None]], int]] = []
        read: dict[Any, list[tuple[Triangles, Colour | None]]] = {}
        for link, visual, path in meshes.shapes(self.description):
            if visual.shape != "mesh" or self.unread:
                continue
            key = (path, visual.scale)
            if key not in read:
                mesh = self._read(visual.file, path, visual.scale)
                read[key] = [] if mesh is None else list(_by_colour(mesh))
            found.append((link, visual, read[key], id(read[key])))
        total = sum(len(t.faces) for parts in {i: parts for *_, parts, i in found}.values() for t, _ in parts)
        share = min(1.0, self.budget / max(total, 1))
        reduced = {i: [(_reduced(t, share), c) for t, c in parts] for *_, parts, i in found}
        return [
            Piece(link, visual, triangles, visual.rgba if colour is None or visual.rgba not in SILENT else colour)
            for link, visual, _, i in found
            for triangles, colour in reduced[i]
            if len(triangles.faces)
        ]

    def _read(self, name: str, path: Any, scale: Any) -> Mesh | None:
        self.progress(f"mesh {name.rsplit('/', 1)[-1]}")
        if path is None:
            self.missing.append(name)
            return None
        try:
            return load_mesh(path, scale)
        except FallingCatError as error:
            if "pip install" in str(error):
                self.unread = str(error)
            else:
                self.missing.append(name)
            return None


def _by_colour(mesh: Mesh) -> Iterator[tuple[Triangles, Colour | None]]:
    """The mesh in parts of one colour, with vertices at the same place joined."""
    vertices, faces = _joined(mesh.vertices, mesh.faces)
    if mesh.colours is None:
        yield _used(vertices, faces), None
        return
    colours = mesh.colours[: len(mesh.faces)]
    codes = np.round(colours * 255.0).astype(np.int64) @ np.array([1 << 24, 1 << 16, 1 << 8, 1])
    kinds, which = np.unique(codes, return_inverse=True)
    if len(kinds) > MOST_COLOURS:
        yield _used(vertices, _proper(faces)), _colour(colours.mean(axis=0))
        return
    for k in range(len(kinds)):
        chosen = which == k
        yield _used(vertices, _proper(faces[chosen])), _colour(colours[chosen][0])


def _colour(x: Array) -> Colour:
    red, green, blue, alpha = (float(v) for v in x)
    return red, green, blue, alpha if alpha > 0.02 else 1.0  # a fully transparent part is taken for an error of the file


def _joined(vertices: Array, faces: Faces) -> tuple[Array, Faces]:
    """Vertices at the same place, to a millionth of the size, are one."""
    low = vertices.min(axis=0)
    span = float((vertices.max(axis=0) - low).max()) or 1.0
    grid = np.round((vertices - low) / span * 1e6).astype(np.int64)
    keys = (grid[:, 0] << 42) | (grid[:, 1] << 21) | grid[:, 2]
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    return vertices[first], where[faces]


def _proper(faces: Faces) -> Faces:
    """The faces without degenerate triangles, which have two equal corners."""
    a, b, c = faces.T
    return np.asarray(faces[(a != b) & (b != c) & (c != a)])


def _used(vertices: Array, faces: Faces) -> Triangles:
    used, where = np.unique(faces, return_inverse=True)
    return Triangles(vertices[used], where.reshape(-1, 3))


def _reduced(triangles: Triangles, share: float) -> Triangles:
    """About this share of the triangles, those that change the surface least left out."""
    wanted = max(LEAST, int(share * len(triangles.faces)))
    if share >= 1.0 or wanted >= len(triangles.faces):
        return triangles
    try:
        import fast_simplification
    except ImportError:
        return _clustered(triangles, wanted)
    for eagerness in (4.0, 7.0):  # the second value is more aggressive, for meshes that the first does not reduce enough
        vertices, faces = fast_simplification.simplify(
            np.ascontiguousarray(triangles.vertices), np.ascontiguousarray(triangles.faces), target_count=wanted, agg=eagerness
        )
        made = _used(np.asarray(vertices, dtype=np.float64), _proper(np.asarray(faces, dtype=np.int64)))
        if np.isfinite(made.vertices).all() and len(made.faces) <= 1.2 * wanted:
            return made
    return _clustered(triangles, wanted)


def _clustered(triangles: Triangles, wanted: int) -> Triangles:
    """The same without the reducer: vertices of one cell of a grid become one, on a grid that gives about as many."""
    low, high = triangles.bounds
    area = float(np.prod(np.sort(np.maximum(high - low, 1e-9))[1:]))
    cell = np.sqrt(6.0 * area / wanted)
    for _ in range(12):
        grid = np.floor((triangles.vertices - low) / cell).astype(np.int64)
        keys = (grid[:, 0] << 42) | (grid[:, 1] << 21) | grid[:, 2]
        _, where, counts = np.unique(keys, return_inverse=True, return_counts=True)
        centres = np.stack([np.bincount(where, x) / counts for x in triangles.vertices.T], axis=-1)
        made = _used(centres, _proper(where[triangles.faces]))
        if len(made.faces) <= wanted:
            return made
        cell *= 1.25
    return made


CREASE = 0.6
"""Edges with a larger angle than this are drawn as creases, rad."""


def creased(triangles: Triangles) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """Vertices and faces for a renderer that smooths over shared vertices: across a crease they are not shared."""
    v, f = triangles.vertices, triangles.faces
    n = np.cross(v[f[:, 1]] - v[f[:, 0]], v[f[:, 2]] - v[f[:, 0]])
    n /= np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-30)
    # Every edge twice, once for each of its faces, with the places of its ends among the corners.
    places = np.arange(3 * len(f)).reshape(-1, 3)
    ends = np.concatenate([places[:, [0, 1]], places[:, [1, 2]], places[:, [2, 0]]])
    corners = f.reshape(-1)
    backward = corners[ends[:, 0]] > corners[ends[:, 1]]
    ends[backward] = ends[backward, ::-1]
    keys = corners[ends[:, 0]] * len(v) + corners[ends[:, 1]]
    order = np.argsort(keys, kind="stable")
    pair = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    one, other = ends[order[pair]], ends[order[pair + 1]]
    smooth = np.einsum("ij,ij->i", n[one[:, 0] // 3], n[other[:, 0] // 3]) > np.cos(CREASE)
    a, b = one[smooth].reshape(-1), other[smooth].reshape(-1)
    # Corners that meet across smooth edges are one vertex; few of them meet, so this settles in a few rounds.
    group = np.arange(3 * len(f))
    for _ in range(64):
        low = np.minimum(group[a], group[b])
        next_group = group.copy()
        np.minimum.at(next_group, a, low)
        np.minimum.at(next_group, b, low)
        if np.array_equal(next_group, group):
            break
        group = next_group
    kept, where = np.unique(group, return_inverse=True)
    return v[corners[kept]].astype(np.float32), where.reshape(-1, 3).astype(np.uint32)
