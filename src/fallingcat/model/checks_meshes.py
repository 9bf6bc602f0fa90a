"""Checks that meshes exist, are in metres, and agree with the inertia of their links.

The dynamics do not depend on meshes: a missing one is a note; findings that cast doubt on masses or lengths are warnings.
"""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from fallingcat.errors import FallingCatError
from fallingcat.model.checks_tree import link_label
from fallingcat.model.description import Description, Link
from fallingcat.model.mesh_files import Mesh, load_mesh
from fallingcat.model.meshes import Shape, shapes
from fallingcat.model.report import Report, quoted
from fallingcat.model.welds import inertia_matrix

Array = NDArray[np.float64]

_MOST = 20
"""Largest number of missing meshes that are named one by one."""
_HUGE, _TINY = 10.0, 1e-4
"""Sizes in metres beyond which a mesh is suspected to be in other units."""
_BEYOND = 10.0
"""A mesh above `_HUGE` is reported if it is larger than this many times the robot's reach."""
_DISAGREEMENT = 10.0
"""Reported factor between the moments of inertia of a link and of its mesh, filled with the link's mass at uniform density."""
_NEGLIGIBLE = 1e-3
"""Links below this share of the total mass are not checked: the inertia of cameras and the like is often arbitrary."""
_CLOSED = 1e-3
"""Relative size of the gap up to which a mesh counts as closed."""


def check_meshes(description: Description, report: Report) -> None:
    """Report meshes that are missing, unreadable, in wrong units, or shaped unlike the inertia of their link."""
    with np.errstate(all="ignore"):  # the numbers of a description may overflow
        _check(description, report)


def _check(description: Description, report: Report) -> None:
    found = [shape for shape in shapes(description) if shape.visual.shape == "mesh"]
    _report_missing([shape for shape in found if shape.path is None and shape.visual.file], report)
    if not found or find_spec("trimesh") is None:
        return
    reach = _reach(description)
    links = {link.name: link for link in description.links}
    placed: dict[str, list[tuple[Array, Mesh]]] = {}
    for shape in found:
        mesh = _loaded(shape, report)
        if mesh is not None and _in_metres(shape, mesh, reach, links[shape.link], report):
            placed.setdefault(shape.link, []).append((_vertices(shape, mesh), mesh))
    whole = sum(link.inertial.mass for link in description.links if link.inertial is not None)
    for name, parts in placed.items():
        inertial = links[name].inertial
        if inertial is not None and inertial.mass > _NEGLIGIBLE * whole:
            _compare_inertia(links[name], parts, report)


def _report_missing(missing: list[Shape], report: Report) -> None:
    hint = "say where with package_dirs=[...] or ROS_PACKAGE_PATH; dynamics do without"
    first = {shape.visual.file: shape for shape in reversed(missing)}
    for file, shape in list(first.items())[:_MOST]:
        element, line = f"link {quoted(shape.link)}", shape.visual.line
        report.note(f"the mesh {quoted(file)} is not there", hint=hint, element=element, line=line)
    if len(first) > _MOST:
        report.note(f"{len(first) - _MOST} more meshes are not there", hint=hint)


def _loaded(shape: Shape, report: Report) -> Mesh | None:
    if shape.path is None:
        return None
    try:
        return load_mesh(shape.path, shape.visual.scale)
    except FallingCatError as error:
        element, line = f"link {quoted(shape.link)}", shape.visual.line
        report.warning(str(error), hint="viewers show nothing there; dynamics do without", element=element, line=line)
        return None


def _reach(description: Description) -> float:
    """The longest path from the root along the joints' offsets, in metres, with sliding joints at zero."""
    far: dict[str, float] = {}
    above = {joint.child: joint for joint in description.joints}
    for link in description.links:
        way, name = [], link.name
        while name in above and name not in far:
            way.append(name)
            name = above[name].parent
        for child in reversed(way):
            step = math.hypot(*above[child].pose.position)
            far[child] = far.get(above[child].parent, 0.0) + step
    return max(far.values(), default=0.0)


def _in_metres(shape: Shape, mesh: Mesh, reach: float, link: Link, report: Report) -> bool:
    size = float(np.ptp(mesh.vertices, axis=0).max())
    large = size > _HUGE and size > _BEYOND * reach
    if not large and size > _TINY:
        return True
    what = f"the mesh {quoted(shape.visual.file)} is {size:.3g} m large, its robot reaches {reach:.3g} m"
    hint = 'in millimetres it wants scale="0.001 0.001 0.001"' if large else "its scale may have been applied twice"
    report.warning(what, hint=hint, element=link_label(link), line=shape.visual.line)
    return False


def _vertices(shape: Shape, mesh: Mesh) -> Array:
    """The vertices of a mesh in the link's frame, (v, 3)."""
    return np.asarray(mesh.vertices @ np.array(shape.visual.pose.rotation).T + np.array(shape.visual.pose.position))


def _compare_inertia(link: Link, parts: list[tuple[Array, Mesh]], report: Report) -> None:
    inertial = link.inertial
    assert inertial is not None
    _, spread = solid(parts)
    own = float(np.trace(inertia_matrix(inertial))) / 2.0 / inertial.mass
    points = np.concatenate([vertices for vertices, _ in parts])
    low, high = points.min(axis=0), points.max(axis=0)
    at = np.array(inertial.pose.position)
    off = float(np.linalg.norm(np.maximum(0.0, np.maximum(low - at, at - high))))
    if off > float(np.linalg.norm(high - low)):
        large = float((high - low).max())
        what = f"the centre of mass is {off:.3g} m outside of the meshes of the link, which are {large:.3g} m large"
        hint = "check the origin of <inertial>, and that of the mesh"
        report.warning(what, hint=hint, element=link_label(link), line=inertial.line)
    elif own > 0.0 and math.isfinite(spread) and not spread / _DISAGREEMENT < own < spread * _DISAGREEMENT:
        what = (
            f"the inertia is {own / spread:.3g} times that of its meshes filled evenly with {inertial.mass:.4g} kg "
            f"(mean radius of gyration {np.sqrt(own):.3g} m, {np.sqrt(spread):.3g} m for the meshes)"
        )
        report.warning(what, hint="check the units of the inertia and of the mesh", element=link_label(link), line=inertial.line)


def solid(parts: list[tuple[Array, Mesh]]) -> tuple[Array, float]:
    """Centre, and mean square distance from it, of meshes filled at uniform density.

    A mesh that is not closed has no volume; its bounding box is used instead.
    """
    volumes, centers, squares = [], [], []
    for vertices, mesh in parts:
        v, c, s = _filled(vertices, mesh.faces)
        volumes.append(v)
        centers.append(c)
        squares.append(s)
    weights = np.array(volumes) / sum(volumes)
    center = weights @ np.array(centers)
    apart = ((np.array(centers) - center) ** 2).sum(axis=1)
    return center, float(weights @ (np.array(squares) + apart))


def _filled(vertices: Array, faces: NDArray[np.int64]) -> tuple[float, Array, float]:
    """(volume, centre, mean square distance from it), by the tetrahedra between the triangles and a point."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    a, b, c = np.moveaxis(vertices[faces] - (low + high) / 2.0, 1, 0)
    areas = np.cross(b - a, c - a)
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    total, box = float(volumes.sum()), float(np.prod(high - low))
    open_ = np.linalg.norm(areas.sum(axis=0)) > _CLOSED * np.linalg.norm(areas, axis=1).sum()
    if open_ or not total > 1e-3 * box or not total <= 1.001 * box:
        return max(box, 1e-12), (low + high) / 2.0, float(((high - low) ** 2).sum() / 12.0)
    center = (volumes[:, None] * (a + b + c)).sum(axis=0) / (4.0 * total)
    # The mean of x^2 over a tetrahedron with one corner at the origin is (sum of squares + (sum)^2) / 20.
    squares = ((a**2 + b**2 + c**2).sum(axis=1) + ((a + b + c) ** 2).sum(axis=1)) / 20.0
    mean = float((volumes * squares).sum() / total)
    return total, center + (low + high) / 2.0, max(mean - float(center @ center), 1e-300)
