"""Inputs of a robot as a user gives them: joints, thrusters, wrenches on frames, or a matrix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fallingcat.algorithms.actuation import Actuation, FrameInput, base_column, moves_nothing
from fallingcat.arrays.arguments import real_array
from fallingcat.errors import InputError
from fallingcat.model.description import Actuator
from fallingcat.model.model import Model
from fallingcat.suggest import closest
from fallingcat.text import shown

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Thruster:
    """One input: a force along a direction that is fixed in a frame; see `thruster`."""

    frame: str
    direction: Vector
    """The direction of the force: of unit length, in the coordinates of the frame."""
    point: Vector
    moment_ratio: float

    @property
    def wrench(self) -> tuple[float, ...]:
        """The wrench (force; moment) of one newton of thrust, about the origin of the frame."""
        d, p = self.direction, self.point
        lever = (p[1] * d[2] - p[2] * d[1], p[2] * d[0] - p[0] * d[2], p[0] * d[1] - p[1] * d[0])
        return (*d, *(a + self.moment_ratio * b for a, b in zip(lever, d, strict=True)))


@dataclass(frozen=True)
class WrenchInput:
    """Six inputs: force and moment on a frame, in its coordinates; see `wrench_input`."""

    frame: str


Inputs = ArrayLike | Iterable[str | Thruster | WrenchInput]
"""What `Robot.with_actuation` takes."""


def thruster(frame: str, direction: ArrayLike, point: ArrayLike | None = None, moment_ratio: float = 0.0) -> Thruster:
    """A thruster or rotor on a frame, for `Robot.with_actuation`: its input is the force in newtons.

    direction: of the force, in the coordinates of the frame; its length does not matter. point: where it acts, the frame's
    origin if None. moment_ratio: newton metres about the direction for each newton, as a spinning rotor has; its sign is the
    sense of rotation.
    """
    d = np.array(_three(direction, "direction"))
    if not np.linalg.norm(d) > 0.0:
        raise InputError("thruster: direction has no length", expected="three numbers, not all zero", got=repr(direction))
    d = d / np.linalg.norm(d)
    try:
        ratio = float(moment_ratio)
    except (TypeError, ValueError):
        ratio = np.nan
    if not np.isfinite(ratio):
        raise InputError("thruster: moment_ratio is not a number", expected="metres", got=repr(moment_ratio))
    x, y, z = d.tolist()
    return Thruster(frame, (x, y, z), (0.0, 0.0, 0.0) if point is None else _three(point, "point"), ratio)


def wrench_input(frame: str) -> WrenchInput:
    """Six inputs for `Robot.with_actuation`: force and moment on a frame, in its coordinates."""
    return WrenchInput(frame)


def _three(x: ArrayLike, what: str) -> Vector:
    a = real_array(f"thruster: {what}", x)
    if a.shape != (3,) or not np.isfinite(a).all():
        raise InputError(f"thruster: {what} does not fit", expected="three numbers", got=repr(x))
    return (float(a[0]), float(a[1]), float(a[2]))


# ---------------------------------------------------------------------------------------------------------------------
# Their actuation of a robot


def actuation_of(model: Model, inputs: Any) -> Actuation:
    """The actuation of a robot by the inputs that a user names, or by the actuators of a description."""
    if isinstance(inputs, (str, Thruster, WrenchInput)):
        inputs = [inputs]
    if isinstance(inputs, Iterable) and not isinstance(inputs, np.ndarray):
        inputs = list(inputs)
        if all(isinstance(x, (str, Thruster, WrenchInput)) for x in inputs):
            return _of_list(model, inputs)
        if all(isinstance(x, Actuator) for x in inputs):
            return _of_actuators(model, [x for x in inputs if acts(model, x)])
    return _of_matrix(model, inputs)


def acts(model: Model, actuator: Actuator) -> bool:
    """Does an actuator of a description act on a movable joint, or on a frame that moves?"""
    return any(name in model.joint_names for name, _ in actuator.joints) or (
        actuator.frame != "" and not moves_nothing(model, actuator.frame)
    )


def _of_actuators(model: Model, actuators: list[Actuator]) -> Actuation:
    columns: list[list[float]] = []
    frames: list[FrameInput] = []
    for actuator in actuators:
        column = [0.0] * model.nv
        for name, gears in actuator.joints:
            if name in model.joint_names:
                for row, gear in zip(_dofs(model, name), gears, strict=True):
                    column[row] += gear
        if actuator.frame:
            whole = base_column(model, actuator.frame, actuator.wrench)
            if whole is None:
                frames.append(FrameInput(len(columns), actuator.frame, actuator.wrench))
            column = column if whole is None else whole
        columns.append(column)
    return Actuation(len(columns), tuple(tuple(column[k] for column in columns) for k in range(model.nv)), tuple(frames))


def _of_matrix(model: Model, given: Any) -> Actuation:
    expected = f"a matrix of numbers with {model.nv} rows, or a list of joints, fc.thruster(...) and fc.wrench_input(...)"
    try:
        S = real_array("with_actuation: the matrix", given)
    except InputError:
        raise InputError("with_actuation: not inputs", expected=expected, got=shown(given)) from None
    if S.ndim != 2 or len(S) != model.nv or not np.isfinite(S).all():
        got = f"shape {S.shape}" if np.isfinite(S).all() else "entries that are not finite"
        raise InputError("with_actuation: the matrix does not fit", expected=expected, got=got)
    return Actuation(S.shape[1], tuple(map(tuple, S.tolist())))


def _of_list(model: Model, inputs: list[Any]) -> Actuation:
    columns: list[list[float]] = []
    frames: list[FrameInput] = []
    for given in inputs:
        if isinstance(given, str):
            columns += _joint(model, given)
            continue
        if moves_nothing(model, given.frame):
            raise InputError(
                f"with_actuation: frame {given.frame!r} is welded to the world", expected="a frame on a body that can move",
                hint="load with floating=True",
            )  # fmt: skip
        units = [given.wrench] if isinstance(given, Thruster) else np.eye(6).tolist()
        for unit in units:
            column = base_column(model, given.frame, tuple(unit))
            if column is None:
                frames.append(FrameInput(len(columns), given.frame, tuple(unit)))
            columns.append([0.0] * model.nv if column is None else column)
    rows = tuple(tuple(column[k] for column in columns) for k in range(model.nv))
    return Actuation(len(columns), rows, tuple(frames))


def _joint(model: Model, name: str) -> list[list[float]]:
    """The columns of S for a joint, one for each of its degrees of freedom."""
    if name in model.joint_names:
        return [[float(k == dof) for k in range(model.nv)] for dof in _dofs(model, name)]
    raise InputError(f"with_actuation: no movable joint {name!r}", hint=closest(name, model.joint_names))


def _dofs(model: Model, name: str) -> range:
    """The entries of nu that belong to a movable joint."""
    return next(model.dofs(i) for i, body in enumerate(model.bodies) if body.joint_name == name and not body.mimics)


def for_another_base(inputs: Any, model: Model) -> None:
    """Refuse a matrix that acts on the base: for another base it would not be constant."""
    if isinstance(inputs, np.ndarray) and model.floating and np.any(inputs[:6]):
        raise InputError(
            "with_base: the actuation is a matrix that acts on the base", expected="joints, thrusters and wrenches by name",
            hint="set it again with with_actuation(...) after with_base(...)",
        )  # fmt: skip
