"""Triangles from mesh files, through `trimesh` (pip install 'fallingcat[view]')."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.errors import InputError, ModelError
from fallingcat.text import printable

Array = NDArray[np.float64]

MAX_SIZE = 512_000_000
"""Largest size of a mesh file, in bytes; those of robots are below a hundred million."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles in metres, in the frame of their `Visual`."""

    vertices: Array
    """(v, 3)"""
    faces: NDArray[np.int64]
    """(f, 3): the vertices of every triangle, counter-clockwise seen from outside."""
    colours: Array | None = None
    """(f, 4): red, green, blue, alpha in 0..1 as the file has them; None when it has none."""


def load_mesh(path: Path | str, scale: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Mesh:
    """The triangles of an STL, OBJ, DAE, PLY or glTF file, scaled to metres. Files that were read before are remembered.

    Raises `fc.ModelError` for a file that cannot be read, `fc.InputError` where trimesh is not installed.
    """
    path = Path(path)
    try:
        stamp = path.stat()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if stamp.st_size > MAX_SIZE:
        raise ModelError(f"the mesh {printable(str(path), limit=300)} is larger than {MAX_SIZE // 1_000_000} MB")
    mesh = _read(path, stamp.st_mtime_ns, stamp.st_size)
    if scale == (1.0, 1.0, 1.0):
        return mesh
    inside_out = scale[0] * scale[1] * scale[2] < 0.0
    return Mesh(mesh.vertices * scale, mesh.faces[:, ::-1] if inside_out else mesh.faces, mesh.colours)


@lru_cache(maxsize=256)
def _read(path: Path, time: int, size: int) -> Mesh:
    try:
        import trimesh
    except ImportError:
        raise InputError(
            "reading meshes needs the package trimesh", hint="pip install 'fallingcat[view]'; the dynamics do without"
        ) from None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            parts = _parts(trimesh.load_scene(path, process=False, **_options(path)))
            factor = _metres(path)
    except MemoryError:
        raise
    except Exception as error:  # the parsers of five formats raise anything for a broken file
        raise _unreadable(path, error) from None
    if not parts:
        raise ModelError(f"the mesh {printable(str(path), limit=300)} holds no triangles")
    return _joined(parts, factor)


def _options(path: Path) -> dict[str, Any]:
    return {"ignore_broken": True} if path.suffix.lower() in (".dae", ".zae") else {}


def _parts(scene: Any) -> list[tuple[Array, NDArray[np.int64], Array | None]]:
    """(vertices, faces, colours) of every geometry in a file, placed by its scene."""
    parts = []
    for node in scene.graph.nodes_geometry:
        H, name = scene.graph[node]
        geometry = scene.geometry[name]
        faces = getattr(geometry, "faces", None)
        if faces is None or not len(faces):
            continue
        vertices = np.asarray(geometry.vertices, dtype=np.float64) @ np.asarray(H)[:3, :3].T + np.asarray(H)[:3, 3]
        faces = np.asarray(faces, dtype=np.int64)
        if not np.isfinite(vertices).all() or faces.min() < 0 or faces.max() >= len(vertices):
            raise ValueError("its vertices are not finite numbers, or its triangles name vertices that are not there")
        parts.append((vertices, faces, _colours(geometry.visual, len(faces))))
    return parts


def _colours(visual: Any, count: int) -> Array | None:
    """One colour (RGBA) per triangle, or None if the file has none; a texture counts as its base colour."""
    if visual.kind == "texture":
        colour = getattr(visual.material, "main_color", None)
        return None if colour is None else np.tile(np.asarray(colour, dtype=np.float64) / 255.0, (count, 1))
    if visual.kind in ("face", "vertex"):
        return np.asarray(visual.face_colors, dtype=np.float64) / 255.0
    return None


def _joined(parts: list[tuple[Array, NDArray[np.int64], Array | None]], factor: float) -> Mesh:
    vertices = np.concatenate([v for v, _, _ in parts]) * factor
    starts = np.cumsum([0, *(len(v) for v, _, _ in parts[:-1])])
    faces = np.concatenate([f + start for (_, f, _), start in zip(parts, starts)])
    colours = None
    if any(c is not None for _, _, c in parts):
        grey = np.array([0.6, 0.6, 0.65, 1.0])
        colours = np.concatenate([np.tile(grey, (len(f), 1)) if c is None else c for _, f, c in parts])
    return Mesh(vertices, faces, colours)


def _metres(path: Path) -> float:
    """Metres per unit of a file's coordinates: Collada files say; those of other formats are taken as they are."""
    if path.suffix.lower() != ".dae":
        return 1.0
    from xml.etree.ElementTree import iterparse

    for _, element in iterparse(path, events=("start",)):
        if element.tag.endswith("}unit"):
            return float(element.get("meter", "1"))
        if element.tag.endswith("}library_geometries"):
            break
    return 1.0


def _unreadable(path: Path, error: Exception) -> ModelError:
    reason = printable(" ".join(str(error).split()) or type(error).__name__, limit=300)
    return ModelError(f"the mesh {printable(str(path), limit=300)} cannot be read: {reason}")
