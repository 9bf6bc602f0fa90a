"""Constraints as a user or a file names them: `fc.point("left_foot")`, `fc.weld("rod", "crank")`, ...; plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.errors import InputError
from fallingcat.model.description import Equality, Pose
from fallingcat.text import printable, shown

Vec3 = tuple[float, float, float]
WORLD_NAME = "world"
HOME = "home"
"""Where two frames are against each other at the configuration where constraints hold."""


@dataclass(frozen=True)
class Constraint:
    """One constraint, by name; made by `fc.point`, `fc.surface`, `fc.weld` and the others."""

    kind: str
    frames: tuple[str | None, ...]
    """Names of frames of the robot; None is the world."""
    options: tuple[tuple[str, Any], ...] = ()
    """The other arguments, by name."""

    def __str__(self) -> str:
        options = dict(self.options)
        names = [str(options[k]) for k in ("name", "joint", "other") if k in options]
        names += [getattr(options["function"], "__name__", "function")] if "function" in options else []
        names += ["world" if f is None else f for f in self.frames]
        return f"{self.kind}({', '.join(map(printable, names))})"


# ---------------------------------------------------------------------------------------------------------------------
# What users write


def point(
    frame: str, point: ArrayLike | None = None, directions: ArrayLike | None = None, at: ArrayLike | None = None
) -> Constraint:
    """A point of the robot does not move in the world: 3 rows, along the world's axes.

    point: in the frame; its origin if None. directions: (k, 3), directions of the world along which it does not move, instead of
    all three: [[0, 0, 1]] is a foot on ice. at: where it is held, (3,), for `kp` and `violation`; see `Robot.constraints`.
    """
    chosen = None if directions is None else _directions("point", directions)
    place = _three("point", "point", (0.0, 0.0, 0.0) if point is None else point)
    return _made("point", (frame,), point=place, directions=chosen, at=None if at is None else _three("point", "at", at))


def surface(frame: str, at: ArrayLike | None = None) -> Constraint:
    """A frame does not move in the world: 6 rows, linear then angular, along the world's axes. at: its pose, (4, 4)."""
    return _made("surface", (frame,), at=None if at is None else _pose("surface", at))


def point_to_point(
    a: str | None, b: str | None, point_a: ArrayLike | None = None, point_b: ArrayLike | str | None = None
) -> Constraint:
    """A point of b stays at a point of a, as a ball joint holds them: 3 rows in the axes of a. None or "world" is the world.

    point_a, point_b: in the frames a and b; their origins if None. point_b may be "home": the point of b that is at point_a where
    the constraints of a robot hold.
    """
    at_a = _three("point_to_point", "point_a", (0.0, 0.0, 0.0) if point_a is None else point_a)
    if isinstance(point_b, str) and point_b == HOME:
        return _made("point_to_point", (a, b), point_a=at_a, point_b=HOME)
    at_b = _three("point_to_point", "point_b", (0.0, 0.0, 0.0) if point_b is None else point_b)
    return _made("point_to_point", (a, b), point_a=at_a, point_b=at_b)


def weld(a: str | None, b: str | None, pose: ArrayLike | str | None = None) -> Constraint:
    """Frame b does not move against frame a: 6 rows in the axes of a. pose: of b in a, (4, 4).

    They coincide if None; with "home" they stay as they are where the constraints of a robot hold.
    """
    return _made("weld", (a, b), pose=_relative("weld", pose))


def hinge(a: str | None, b: str | None, axis: ArrayLike, pose: ArrayLike | str | None = None) -> Constraint:
    """Frame b turns about an axis of frame a and does nothing else: 5 rows. axis: in a, through the origin of b."""
    return _made("hinge", (a, b), axis=_unit("hinge", axis), pose=_relative("hinge", pose))


def slider(a: str | None, b: str | None, axis: ArrayLike, pose: ArrayLike | str | None = None) -> Constraint:
    """Frame b slides along an axis of frame a and does nothing else: 5 rows. axis: in a."""
    return _made("slider", (a, b), axis=_unit("slider", axis), pose=_relative("slider", pose))


def distance(a: str | None, b: str | None, length: float | None = None) -> Constraint:
    """The origins of two frames stay apart by a length, as a massless rod holds them: 1 row.

    length: metres; what it is at the configuration where the constraints hold if None.
    """
    return _made("distance", (a, b), length=None if length is None else _positive("distance: a length", length))


def joint(name: str, at: ArrayLike | None = None) -> Constraint:
    """A joint is held, or driven along a reference: one row for each of its degrees of freedom. at: its coordinates."""
    values = None if at is None else _several("joint: at does not fit", at)
    return Constraint("joint", (), (("name", name), ("at", values)))


def coupling(joint: str, other: str, coefficients: Sequence[float] = (0.0, 1.0)) -> Constraint:
    """A joint follows another by a polynomial, joint = c0 + c1 other + c2 other^2 + ...: 1 row, as gears and cams have it."""
    values = _several("coupling: coefficients do not fit", coefficients)
    return Constraint("coupling", (), (("joint", joint), ("other", other), ("coefficients", values)))


def rolling(frame: str, radius: float, normal: ArrayLike = (0.0, 0.0, 1.0), at: ArrayLike | None = None) -> Constraint:
    """A ball of a radius with its centre at a frame rolls on a plane of the world without slipping: 3 rows, nonholonomic.

    normal: of the plane. at: a place of the centre, (3,), which says how high the plane is.
    """
    place = None if at is None else _three("rolling", "at", at)
    return _made("rolling", (frame,), radius=_positive("rolling: a radius", radius), normal=_unit("rolling", normal), at=place)


def rows(function: Callable[..., Any]) -> Constraint:
    """User-defined rows: function(r, q) returns numbers that stay zero.

    r has the robot's functions, q is a configuration; arithmetic and `fallingcat.scalar` may be used, as for `fc.compile`.
    Velocity, acceleration and their derivatives come from the function by themselves.
    """
    if not callable(function):
        raise InputError("rows: not a function", expected="a function (r, q) -> numbers that stay zero", got=shown(function))
    return Constraint("rows", (), (("function", function),))


# ---------------------------------------------------------------------------------------------------------------------
# Checks


def _made(kind: str, frames: tuple[str | None, ...], **options: Any) -> Constraint:
    named = tuple(None if f == WORLD_NAME else f for f in frames)
    for frame in named:
        if not isinstance(frame, (str, type(None))) or frames == (None,):
            raise InputError(f"{kind}: a frame is given by its name", got=shown(frame))
    return Constraint(kind, named, tuple(options.items()))


def _three(kind: str, what: str, x: ArrayLike) -> Vec3:
    try:
        a = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        a = np.zeros(0)
    if a.shape != (3,) or not np.isfinite(a).all():
        raise InputError(f"{kind}: {what} does not fit", expected="three numbers", got=shown(x))
    return (float(a[0]), float(a[1]), float(a[2]))


def _several(what: str, x: Any) -> tuple[float, ...]:
    try:
        a = np.atleast_1d(np.asarray(x, dtype=np.float64))
    except (TypeError, ValueError):
        a = np.zeros(0)
    if a.ndim != 1 or not a.size or not np.isfinite(a).all():
        raise InputError(what, expected="one number or more", got=shown(x))
    return tuple(a.tolist())


def _positive(what: str, x: Any) -> float:
    try:
        value = float(x)
    except (TypeError, ValueError):
        value = np.nan
    if not (np.isfinite(value) and value > 0.0):
        raise InputError(
            f"{what} must be positive", expected="metres", got=shown(x), hint="for points that meet: fc.point_to_point"
        )
    return value


def _unit(kind: str, given: ArrayLike, what: str = "axis") -> Vec3:
    a = np.array(_three(kind, what, given))
    if not np.linalg.norm(a) > 0.0:
        raise InputError(f"{kind}: {what} has no length", expected="three numbers, not all zero", got=shown(given))
    x, y, z = (a / np.linalg.norm(a)).tolist()
    return (x, y, z)


def _directions(kind: str, x: ArrayLike) -> tuple[Vec3, ...] | None:
    """Unit vectors; None for all three axes."""
    try:
        a = np.atleast_2d(np.asarray(x, dtype=np.float64))
    except (TypeError, ValueError):
        a = np.zeros((0, 0))
    if a.ndim != 2 or a.shape[1] != 3 or not 1 <= len(a) <= 3:
        raise InputError(f"{kind}: directions do not fit", expected="one to three directions, (k, 3)", got=shown(x))
    units = tuple(_unit(kind, d, "a direction") for d in a)
    if np.linalg.matrix_rank(np.array(units), tol=1e-6) < len(units):
        raise InputError(f"{kind}: directions depend on each other", expected="independent directions", got=shown(x))
    return None if np.array_equal(units, np.eye(3)) else units


def _relative(kind: str, pose: ArrayLike | str | None) -> Pose | str:
    if isinstance(pose, str) and pose == HOME:
        return HOME
    return Pose() if pose is None else _pose(kind, pose)


def _pose(kind: str, x: ArrayLike) -> Pose:
    try:
        H = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        H = np.zeros(0)
    good = H.shape == (4, 4) and np.isfinite(H).all() and np.allclose(H[3], (0, 0, 0, 1))
    if not good or not np.allclose(H[:3, :3] @ H[:3, :3].T, np.eye(3), atol=1e-6) or np.linalg.det(H[:3, :3]) < 0.0:
        raise InputError(f"{kind}: this is not a pose", expected="a homogeneous matrix (4, 4) with a rotation", got=shown(x))
    return Pose(tuple(map(tuple, H[:3, :3].tolist())), tuple(H[:3, 3].tolist()))  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------------------------
# Of files


def of_equality(item: Equality) -> tuple[Constraint, ...]:
    """The constraints that an equality of a file means; none if the file switches it off."""
    if not item.active:
        return ()
    if item.joints is not None:
        first, second = item.joints
        return (coupling(first, second, item.polynomial) if second else joint(first, at=item.polynomial[0]),)
    if item.frames is None:
        return ()
    a, b = item.frames
    if item.kind == "connect":
        return (point_to_point(a.link, b.link, a.pose.position, b.pose.position),)
    if item.kind == "weld":
        return (weld(a.link, b.link, _homogeneous(a.pose) @ np.linalg.inv(_homogeneous(b.pose))),)
    # A hinge is two points of its axis that coincide; one of the six rows follows from the others.
    ends = [[_homogeneous(x.pose) @ (*(s * np.array(item.axis)), 1.0) for x in (a, b)] for s in (0.0, 1.0)]
    return tuple(point_to_point(a.link, b.link, on_a[:3], on_b[:3]) for on_a, on_b in ends)


def _homogeneous(pose: Pose) -> NDArray[np.float64]:
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = pose.rotation, pose.position
    return H
