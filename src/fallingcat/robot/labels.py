"""The names and labels of a robot's axes in xarray objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fallingcat.arrays.labelled import Axis, Labels
from fallingcat.arrays.non_numpy import library
from fallingcat.errors import FallingCatError, InputError
from fallingcat.functions import BEHIND, FUNCTIONS, Size
from fallingcat.motion.files import columns
from fallingcat.robot.constraint_tasks import FUNCTIONS as CONSTRAINED
from fallingcat.robot.units import units
from fallingcat.suggest import closest

if TYPE_CHECKING:
    from fallingcat.robot.constraints import Constraints
    from fallingcat.robot.robot import Robot

SIZES: dict[str, Size] = {
    "q": "nq", "q0": "nq", "q1": "nq", "nu": "nv", "nu0": "nv", "nu1": "nv", "dnu": "nv", "tau": "nv", "dx": "nv", "w": "nv",
    "ddr": "n", "r": "n", "tau0": "n", "mu": 6, "a": 6, "z": "2nv", "s": "s",
}  # fmt: skip
"""Vector arguments of methods, and their lengths."""

DIMS: dict[Size, str] = {
    "nq": "coordinate", "nv": "dof", "n": "joint", "s": "joint_coordinate", "2nv": "state", "m": "input", "frames": "frame",
    "times": "time", "parameters": "parameter", "geometry": "placement", 3: "xyz", 4: "row", 6: "spatial",
}  # fmt: skip

METHODS: dict[str, tuple[tuple[str, tuple[Size, ...]], ...]] = {
    "step": (("q", ("nq",)), ("nu", ("nv",))),
    "rollout": (("q", ("times", "nq")), ("nu", ("times", "nv")), ("dnu", ("times", "nv"))),
    "state_plus": (("q", ("nq",)), ("nu", ("nv",))),
    "state_minus": (("z", ("2nv",)),),
    "discretize": (("A", ("2nv", "2nv")), ("B", ("2nv", "m"))),
    "configuration": (("q", ("nq",)),),
    "split": (("H", (4, 4)), ("s", ("s",))),
}
"""Results of methods that are not in the table of functions."""


def axes(robot: Robot, sizes: Sequence[Size], frames: Sequence[str] | None = None) -> tuple[Axis, ...]:
    """The axes of an array: the name of a second one of the same kind ends in _j, of a third in _k; a pose has row and column."""
    found, count = [], dict[Size, int]()
    for size in sizes:
        k = count[size] = count.get(size, -1) + 1
        dim = ("row", "column")[k] if size == 4 else DIMS[size] + ("", "_j", "_k")[k]
        found.append(Axis(dim, tuple(frames) if size == "frames" and frames is not None else _names(robot, size)))
    return tuple(found)


def _names(robot: Robot, size: Size) -> tuple[str, ...]:
    if size in ("nq", "nv", "n", "s", "2nv"):
        table = columns(robot)
        q = tuple(x[2:] for x in table if x.startswith("q:"))
        nu = tuple(x[3:] for x in table if x.startswith("nu:"))
        joints = 7 if robot.floating else 0
        choice = {"nq": q, "nv": nu, "n": nu[robot.nv - robot.n :], "s": q[joints:]}
        return choice[str(size)] if size != "2nv" else (*(f"q:{x}" for x in nu), *(f"nu:{x}" for x in nu))
    if size == "frames":
        return robot.frame_names
    if size == "m":
        return tuple(_names(robot, "n")) if robot._actuation is None else ()
    return {3: ("x", "y", "z"), 6: ("x", "y", "z", "rx", "ry", "rz")}.get(size, ()) if isinstance(size, int) else ()


def of_input(robot: Robot, name: str, length: Any) -> Labels:
    """The labels of a vector that a method takes. Torques may be those of the joints alone, or inputs."""
    size: Size | None = SIZES.get("tau" if name == "controls" else name)
    if name in ("tau", "controls") and length != robot.nv:
        size = "m" if robot._actuation is not None else "n"
    if name == "controls":
        return Labels(name, axes(robot, ("times", size or "nv")), units("tau"))
    return Labels(name, () if size is None else axes(robot, (size,)), units(name))


def of_results(robot: Robot, method: str, shapes: Sequence[tuple[int, ...]], options: Mapping[str, Any]) -> list[Labels]:
    """The labels of the results of a method, given their shapes for one state."""
    function = FUNCTIONS.get(method) or BEHIND.get(method)
    outputs = METHODS.get(method) or (function.outputs if function is not None else ())
    if len(outputs) != len(shapes):
        outputs = tuple((f"result_{k}" if len(shapes) > 1 else method, ()) for k in range(len(shapes)))
    frames = options.get("frames")
    labels = []
    for (name, sizes), shape in zip(outputs, shapes, strict=True):
        known = axes(robot, sizes, None if frames is None else list(frames)) if len(sizes) == len(shape) else ()
        found = known or tuple(Axis(f"{name}_{k}") for k in range(len(shape)))
        labels.append(Labels(name, found, units(name, method) | {"function": method, "robot": robot.name}))
    return labels


# ---------------------------------------------------------------------------------------------------------------------
# Constraints


def of_constraint_input(constraints: Constraints, name: str, length: Any) -> Labels:
    """The labels of a vector argument of constraints: as of the robot, or with one entry per constraint or per row."""
    if name == "active":
        return Labels(name, (Axis("constraint", _constraint_names(constraints)),))
    if name == "forces":
        return Labels(name, (_rows(constraints),), units("forces"))
    return of_input(constraints.robot, name, length)


def of_constraint_results(constraints: Constraints, method: str, shapes: Sequence[tuple[int, ...]]) -> list[Labels]:
    """The labels of the results of a function of constraints."""
    outputs = METHODS["step"] if method == "project" else CONSTRAINED[method].outputs
    labels, robot = [], constraints.robot
    about = {"function": method, "robot": robot.name}
    for (name, sizes), _ in zip(outputs, shapes, strict=True):
        found, own = [], iter(axes(robot, [size for size in sizes if size != "m"]))
        for k, size in enumerate(sizes):
            row = _rows(constraints, "_j" if "m" in sizes[:k] else "")
            found.append(row if size == "m" else next(own))
        labels.append(Labels(name, tuple(found), units(name, method) | about))
    return labels


def _rows(constraints: Constraints, suffix: str = "") -> Axis:
    """The axis of rows, labelled by their constraint, with an index if it has several rows."""
    names = [
        name if at.stop - at.start == 1 else f"{name}[{k}]"
        for name, at in zip(_constraint_names(constraints), constraints.slices, strict=True)
        for k in range(at.stop - at.start)
    ]
    return Axis("constraint_row" + suffix, tuple(names))


def _constraint_names(constraints: Constraints) -> tuple[str, ...]:
    """The texts of the constraints; a second one with the same text ends in #2."""
    count, names = dict[str, int](), []
    for name in map(str, constraints.constraints):
        count[name] = count.get(name, 0) + 1
        names.append(name if count[name] == 1 else f"{name} #{count[name]}")
    return tuple(names)


def dataset(robot: Robot, arrays: Mapping[str, Any], dims: Sequence[str] | str | None, coords: Mapping[str, Any] | None) -> Any:
    """The data set of `Robot.xarray`."""
    try:
        import xarray as xr
    except ImportError:
        raise FallingCatError("xarray is not installed: pip install 'fallingcat[dask]'") from None
    names = (dims,) if isinstance(dims, str) else dims
    variables = dict(_variables(robot, arrays, names))
    data = xr.Dataset(variables, coords=dict(coords or {}))
    for dim, labels in {a.dim: a.labels for n, v in variables.items() for a in of_input(robot, n, v[1].shape[-1]).axes}.items():
        data = data.assign_coords({dim: list(labels)}) if labels else data
    data.attrs = {"robot": robot.name, "robot_digest": robot.model.digest}
    return data


def _variables(robot: Robot, arrays: Mapping[str, Any], dims: Sequence[str] | None) -> Iterator[tuple[str, Any]]:
    """The variables of a data set: name and (dims, values, attrs)."""
    for name, value in arrays.items():
        if name not in SIZES:
            raise InputError(f"robot.xarray: no variable {name!r}", hint=closest(name, SIZES))
        a = value if library(value) == "dask" else np.asarray(value)
        labels = of_input(robot, name, a.shape[-1] if a.ndim else 0)
        (axis,) = labels.axes
        if a.ndim == 0 or (axis.labels and a.shape[-1] != len(axis.labels)):
            expected = f"(..., {len(axis.labels)})"
            raise InputError(f"robot.xarray: {name} has the wrong shape", expected=expected, got=str(a.shape))
        batch = a.ndim - 1
        own = ["sample"] if dims is None and batch == 1 else [f"batch_{k}" for k in range(batch)] if dims is None else list(dims)
        if batch > len(own):
            raise InputError(f"robot.xarray: {name} has more batch axes than names", expected=f"dims of {batch}", got=repr(dims))
        yield name, ([*own[len(own) - batch :], axis.dim], a, labels.attrs)
