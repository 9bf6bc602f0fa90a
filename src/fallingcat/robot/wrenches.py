"""Wrenches that a user applies to frames, converted to wrenches on bodies, which compiled functions take.

A frame is fixed to its body, so that the wrench on the body is a constant linear map of the wrench on the frame. One compiled
function takes wrenches on all bodies, for any set of frames; the map is a small table for each set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.held_wrenches import SIZES
from fallingcat.arrays.arguments import FLOAT64, real_array, refuse_masked
from fallingcat.arrays.non_numpy import LAZY, library, refuse_non_numpy
from fallingcat.choices import check_choice
from fallingcat.errors import InputError
from fallingcat.model.model import WORLD, FrameOf, Model
from fallingcat.spatial.vec3 import IDENTITY, add, cross, mat, matvec, scale, transpose, vec
from fallingcat.task import Input
from fallingcat.text import printable, shown

Array = NDArray[np.float64]

KEPT = 1024
"""Largest number of tables, and of choices of frames, that a robot keeps."""


Key = tuple[tuple[str, ...], str, tuple[tuple[float, ...], ...] | None]
"""(frames, axes, points), on which a table depends."""


class Wrenches:
    """Wrenches on named frames as one array, in axes of your choice.

    frames: a frame, or k of them. values: (..., 6) or (..., k, 6): force and moment, acting on the robot.
    axes: "body", those of the frame; "mixed", the world's orientation at the frame's origin; "inertial", the world's own, about
    its origin. Derivatives hold a wrench fixed in the axes it is given in.
    point: (3,) or (k, 3), in the coordinates of the frame: where the force acts instead of the origin.

    >>> robot.inverse_dynamics(q, nu, dnu, fc.Wrenches(["left_foot", "right_foot"], w, axes="mixed"))
    """

    def __init__(
        self, frames: str | Iterable[str], values: ArrayLike, axes: str = "body", point: ArrayLike | None = None
    ) -> None:
        single = isinstance(frames, str)
        names = tuple([frames] if isinstance(frames, str) or not isinstance(frames, Iterable) else frames)
        if not all(isinstance(name, str) for name in names):
            got = f"{type(frames).__name__}: {shown(frames)}"
            raise InputError("wrenches: frames are not names", expected="a name, or several", got=got)
        check_choice("axes of wrenches", axes, SIZES)
        given = _values(values)
        if single:
            given = given[..., None, :] if given.ndim else given
        if given.shape[-2:] != (len(names), 6):
            _refuse_shape(given.shape[:-2] + given.shape[-1:] if single else given.shape, None if single else len(names))
        points = _points(point, len(names), axes)
        # Past the frozen dataclass's __setattr__; all attributes have been checked together.
        vars(self).update(frames=names, axes=axes, values=given, points=points, key=(names, axes, points))

    frames: tuple[str, ...]
    axes: str
    values: Any
    """(..., k, 6)"""
    points: tuple[tuple[float, ...], ...] | None
    key: Key

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Wrenches cannot be changed: make new ones instead of setting .{name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Wrenches cannot be changed: .{name} stays")

    def __repr__(self) -> str:
        return f"<Wrenches on {', '.join(map(printable, self.frames))}: {self.axes} axes, {self.values.shape}>"


def _refuse_shape(shape: tuple[int, ...], count: int | None) -> None:
    expected = "(..., 6)" if count is None else f"(..., {count}, 6), one wrench for each frame"
    raise InputError("wrenches have the wrong shape", expected=expected, got=str(tuple(shape)))


def _values(values: Any) -> Any:
    """The values as an array, of symbols, too, inside a function that is traced."""
    if library(values) == "xarray":
        hint = 'a mapping takes them: wrenches={"left_foot": w}, in the axes of the frames'
        raise InputError("wrenches: values are an xarray object", expected="an array", got=type(values).__name__, hint=hint)
    if library(values):
        return values
    refuse_masked("wrenches: values", values)
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputError(
            "wrenches: values are not an array", expected="(..., 6)", got=f"{type(values).__name__}: {error}"
        ) from None


def _points(point: ArrayLike | None, count: int, axes: str) -> tuple[tuple[float, ...], ...] | None:
    """One point for each frame, checked; None if the forces act at the origins."""
    if point is None:
        return None
    if axes == "inertial":
        raise InputError(
            "wrenches: a point with inertial axes", expected="no point: such wrenches are about the world's origin",
            hint="axes='mixed' has the world's orientation and acts at the point",
        )  # fmt: skip
    a = real_array("wrenches: point", point)
    if a.shape not in ((3,), (count, 3)) or not np.isfinite(a).all():
        raise InputError("wrenches: point does not fit", expected=f"numbers of shape (3,) or ({count}, 3)", got=shown(point))
    return tuple(map(tuple, np.broadcast_to(a, (count, 3)).tolist()))


class BodyWrenches(NamedTuple):
    """Wrenches on all bodies, as compiled functions take them."""

    values: NDArray[Any]
    """(..., number of bodies times numbers per body)"""
    axes: str


class Table(NamedTuple):
    """The sparse linear map from wrenches on frames to wrenches on bodies."""

    checks: tuple[Input, ...]
    shapes: list[tuple[int, ...]]
    """The shapes of the frames' wrenches for one state."""
    lines: Array
    """(factor, from, to): see `compile.spread`."""
    size: int
    """Number of entries of the wrenches on all bodies."""


def taken_apart(name: str, wrenches: Any) -> tuple[Key, Any]:
    """The key of the table for given wrenches, and one array (..., 6) for each frame."""
    if type(wrenches) is dict or isinstance(wrenches, Mapping):
        return (tuple(wrenches), "body", None), tuple(wrenches.values())
    if isinstance(wrenches, Wrenches):
        if library(wrenches.values) in LAZY:
            refuse_non_numpy(name, "wrenches", wrenches.values)
        if wrenches.values.shape[-2:] != (len(wrenches.frames), 6):  # the shape of an array can be changed in place
            _refuse_shape(wrenches.values.shape, len(wrenches.frames))
        return wrenches.key, wrenches.values
    raise InputError(
        f"{name}: wrenches is not a mapping", expected="frame name -> (..., 6), or fc.Wrenches", got=type(wrenches).__name__,
        hint='as in wrenches={"left_foot": w}',
    )  # fmt: skip


def one_state(values: Any, shapes: list[tuple[int, ...]]) -> Array | None:
    """The wrenches for one state, concatenated, if they are plain float64 arrays; else None."""
    if type(values) is np.ndarray:
        return values.reshape(-1) if values.shape == (len(shapes), 6) and values.dtype == FLOAT64 else None
    if any(type(v) is not np.ndarray or v.dtype != FLOAT64 for v in values) or [v.shape for v in values] != shapes:
        return None
    return np.concatenate(values)


def table(model: Model, key: Key) -> Table:
    """The table for a set of frames. Wrenches are summed in the order of the robot's frames, however they are given."""
    frames, axes, points = key
    places = [model.frame(frame) for frame in frames]
    order = {name: k for k, (name, _) in enumerate(model.frames)}
    lines: list[tuple[float, int, int]] = []
    for k in sorted(range(len(frames)), key=lambda k: order[frames[k]]):
        if places[k].body != WORLD:  # a wrench on the ground does nothing
            start = SIZES[axes] * places[k].body
            for i, row in enumerate(_matrix(places[k], axes, (0.0, 0.0, 0.0) if points is None else points[k])):
                lines += [(x, 6 * k + j, start + i) for j, x in enumerate(row) if x != 0.0]
    checks = tuple(Input(f"wrenches[{frame!r}]", 6) for frame in frames)
    return Table(checks, [(6,)] * len(frames), np.array(lines, dtype=np.float64).reshape(-1, 3), SIZES[axes] * len(model.bodies))


def _matrix(place: FrameOf, axes: str, point: tuple[float, ...]) -> list[tuple[float, ...]]:
    """The matrix from a wrench on a frame to the entries of its body: force and moment, and f p^T for mixed axes."""
    R, zero = mat(place.pose.rotation), (0.0, 0.0, 0.0)
    unit: list[tuple[float, ...]] = [*((*row, *zero) for row in IDENTITY), *((*zero, *row) for row in IDENTITY)]
    if axes == "inertial":
        return unit
    p = add(place.pose.position, matvec(R, vec(point)))
    if axes == "body":
        levers = transpose(mat([cross(p, column) for column in transpose(R)]))
        return [*((*row, *zero) for row in R), *((*lever, *row) for lever, row in zip(levers, R, strict=True))]
    return [*unit, *((*scale(x, row), *zero) for row in IDENTITY for x in p)]
