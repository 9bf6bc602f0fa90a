"""The torques that drive a robot along a motion: given for every step, or by a feedback of the state and the time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fallingcat.arrays.non_numpy import refuse_non_numpy
from fallingcat.codegen import Kernel
from fallingcat.control.steps import generalized
from fallingcat.errors import InputError
from fallingcat.text import shown

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]
Controller = Callable[..., Any]
"""(q, nu, t) -> tau, over the leading axes of q (..., nq) and nu (..., nv); t is one number."""


class Drive(ABC):
    """Writes the torques of a motion at each step: all of them, or the joint torques after a base wrench of zero."""

    def __init__(self, where: str, tau: Array, size: int) -> None:
        self._where = where
        self._place = tau[..., tau.shape[-1] - size :]

    @abstractmethod
    def at(self, step: int, q: Array, nu: Array, t: float) -> None:
        """Write the torques of a step that starts in the state (q, nu) at the time t."""


class OpenLoop(Drive):
    """Open-loop controls (..., steps, size), known before the motion."""

    def __init__(self, where: str, tau: Array, controls: NDArray[Any]) -> None:
        super().__init__(where, tau, controls.shape[-1])
        self._controls = np.moveaxis(controls, -2, 0)

    def at(self, step: int, q: Array, nu: Array, t: float) -> None:
        """Write the controls of this step; at the end of the motion, where there are none, the last ones again."""
        np.copyto(self._place, self._controls[min(step, len(self._controls) - 1)])


class PythonFeedback(Drive):
    """A Python function of the state and the time."""

    def __init__(self, where: str, tau: Array, size: int, controller: Controller) -> None:
        super().__init__(where, tau, size)
        self._controller = controller

    def at(self, step: int, q: Array, nu: Array, t: float) -> None:
        """Call the function; its result must have as many entries as that of the first call."""
        found = _result(self._where, self._controller(q, nu, t), self._place.shape)
        np.copyto(self._place, found)


class CompiledFeedback(Drive):
    """A function of `fc.compile` with arguments among q, nu and t."""

    def __init__(self, where: str, tau: Array, size: int, kernel: Kernel) -> None:
        super().__init__(where, tau, size)
        shape = tau.shape[:-1]
        rows = (math.prod(shape),) if shape else ()
        self._call = kernel if shape else kernel.entry
        self._names = [i.name for i in kernel.task.inputs]
        self._t, self._u = np.empty((*rows, 1)), np.empty((*rows, size))

    def at(self, step: int, q: Array, nu: Array, t: float) -> None:
        """Run the compiled code, which writes into memory that is already allocated."""
        self._t[...] = t
        given = {"q": q, "nu": nu}
        values = [self._t if name == "t" else _rows_of(given[name], self._u) for name in self._names]
        self._call(*values, out=self._u)
        np.copyto(self._place, self._u.reshape(self._place.shape))


def _rows_of(x: Array, like: Array) -> Array:
    return x.reshape(*like.shape[:-1], x.shape[-1])


class Driven(NamedTuple):
    """The array of forces of a motion, and the drive that writes into it."""

    tau: Array
    """(..., nv), or (..., m) for inputs of the robot."""
    inputs: dict[str, str]
    """The option that says that tau are inputs of the robot; empty if they are generalized forces."""
    drive: Drive


def open_loop(robot: Robot, where: str, controls: NDArray[Any], shape: tuple[int, ...]) -> Driven:
    """The drive by controls (..., steps, size), for robots with the leading axes `shape`."""
    tau, inputs = _memory(robot, where, shape, controls.shape[-1])
    return Driven(tau, inputs, OpenLoop(where, tau, controls))


def feedback(robot: Robot, where: str, controller: Any, q: Array, nu: Array, t: float) -> Driven:
    """The drive by a feedback; a Python function is called once to find out how many torques it returns."""
    kernel = getattr(controller, "kernel", None)
    if isinstance(kernel, Kernel):
        _check_compiled(robot, where, kernel)
        size = kernel.task.outputs[0].size
        tau, inputs = _memory(robot, where, q.shape[:-1], size)
        return Driven(tau, inputs, CompiledFeedback(where, tau, size, kernel))
    if not callable(controller):
        expected = "a function (q, nu, t) -> tau"
        raise InputError(f"{where}: the feedback cannot be called", expected=expected, got=shown(controller))
    size = _result(where, controller(q, nu, t), (*q.shape[:-1], -1)).shape[-1]
    tau, inputs = _memory(robot, where, q.shape[:-1], size)
    return Driven(tau, inputs, PythonFeedback(where, tau, size, controller))


def _memory(robot: Robot, where: str, shape: tuple[int, ...], size: int) -> tuple[Array, dict[str, str]]:
    """An array of zero forces, in the convention of `Robot.step`, for controllers that give `size` numbers per robot."""
    forces, inputs = generalized(robot, where, np.zeros((*shape, size)))
    wanted = robot.m if inputs.get("inputs") == "u" else robot.nv
    if forces.shape[-1] != wanted:
        expected = f"(..., {robot.nv}), or (..., {robot.m}), the inputs of this robot"
        raise InputError(f"{where}: torques have the wrong shape", expected=expected, got=f"(..., {size})")
    return np.array(forces, dtype=np.float64), inputs


def _check_compiled(robot: Robot, where: str, kernel: Kernel) -> None:
    """Refuse a compiled feedback unless its arguments are among q, nu and t, and it returns one vector."""
    sizes = {"q": robot.nq, "nu": robot.nv, "t": 1}
    expected = ", ".join(f"{name} ({size})" for name, size in sizes.items())
    for i in kernel.task.inputs:
        if sizes.get(i.name) != i.size:
            hint = "fc.compile(f, robot, t=1) for a function f(r, q, nu, t), with the time in t[0]"
            raise InputError(
                f"{where}: the compiled feedback takes something else than the state and the time",
                expected=f"arguments among {expected}", got=f"{i.name} ({i.size})", hint=hint,
            )  # fmt: skip
    if len(kernel.task.outputs) != 1 or len(kernel.task.outputs[0].shape) != 1:
        got = f"shape {kernel.task.outputs[0].shape}"
        raise InputError(
            f"{where}: the compiled feedback returns no vector", expected="torques or inputs, (nv,) or (m,)", got=got
        )


def _result(where: str, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """What a feedback returns as an array that fits all robots; its last axis is as in `shape`, or free where that is -1."""
    if type(value) is not np.ndarray:
        refuse_non_numpy(where, "the feedback's result", value)
        try:
            value = np.asarray(value)
        except (TypeError, ValueError):
            value = np.array(None)
    last = value.shape[-1] if value.ndim else -1
    free = shape[-1] == -1 and last >= 0
    fits = value.dtype.kind in "fiub" and (free or last == shape[-1])
    if fits and (value.shape[:-1] == shape[:-1] or _broadcasts(value.shape[:-1], shape[:-1])):
        return np.asarray(value)
    words = ", ".join("torques" if n == -1 else str(n) for n in shape)
    got = f"{value.shape} of dtype {value.dtype}"
    hint = "q and nu have all robots in their leading axes: write q[..., 7:], not q[7:]"
    raise InputError(f"{where}: what the feedback returns does not fit", expected=f"({words})", got=got, hint=hint)


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False
