"""A robot's functions for CasADi: `fc.casadi(robot)`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import casadi
import numpy as np

from fallingcat.arrays.arguments import check_quaternions
from fallingcat.choices import check_truth, several_names
from fallingcat.codegen import Kernel
from fallingcat.errors import InputError
from fallingcat.frameworks.calls import COMPOSED, NAMES, Calls, with_methods
from fallingcat.frameworks.casadi_symbols import symbolic
from fallingcat.frameworks.constraint_calls import CONSTRAINT_NAMES, ConstraintCalls, ConstraintMethods, with_constraint_methods
from fallingcat.functions import FUNCTIONS
from fallingcat.robot.constraint_sets import unactuated
from fallingcat.robot.constraint_tasks import optional
from fallingcat.robot.constraints import Constraints
from fallingcat.robot.robot import Robot
from fallingcat.robot.runner import Wrenches
from fallingcat.robot.wrenches import BodyWrenches, table, taken_apart
from fallingcat.suggest import closest
from fallingcat.task import Input, Task
from fallingcat.text import shown

SYMBOLS = (casadi.SX, casadi.MX)


@with_methods
class CasadiRobot:
    """The functions of a robot over CasADi's matrices: SX gives SX, MX gives MX, numbers give DM.

    Vectors are columns; several states are columns side by side, as everywhere in CasADi. Results with three axes come as
    their matrices one below the other: `casadi.vertsplit(P, 4)` takes `frame_poses` apart.
    """

    def __init__(self, robot: Robot, compiled: bool = False, order: int = 2) -> None:
        self.robot = robot
        self.compiled, self.order = compiled, order
        self._calls = _Calls(robot, compiled, order)

    def function(self, name: str, **options: Any) -> casadi.Function:
        """A function of the robot as a `casadi.Function` with named inputs and outputs.

        options: those of the method, such as frame="hand" or frames=[...]; wrenches="body" for one more input with wrenches on
        all bodies; tau=robot.n for joint torques where the method takes them (`step`, `linearize`, `discretize`).

        >>> fc.casadi(robot).function("inverse_dynamics")
        Function(inverse_dynamics:(q[7],nu[7],dnu[7])->(tau[7]) SXFunction)
        """
        if not isinstance(name, str) or name not in NAMES:
            raise InputError(f"no function {shown(name)}", hint=closest(name, NAMES))
        size = self._torques(options.pop("tau", 0)) if "tau" in COMPOSED.get(name, ()) else 0
        for option in needed(name):
            if option not in options:
                raise InputError(f"{name}: {option} missing", hint=f"function({name!r}, {option}=...)")
        frames = options.pop("frames", None) if name.startswith("frame_") else None
        given = tuple([(option, tuple(x) if isinstance(x, list) else x) for option, x in options.items()])
        found: _Function = self._calls.find(name, given, size)
        return found.function if frames is None else self._of_frames(found.function, name, frames)

    def _torques(self, size: Any) -> int:
        """The length of tau, as checked; 0 for torques of all degrees of freedom."""
        robot = self.robot
        if isinstance(size, bool) or not isinstance(size, int) or size not in (0, robot.n, robot.m, robot.nv):
            expected = " or ".join([str(x) for x in sorted({robot.n, robot.m, robot.nv})])
            raise InputError("tau cannot have this length", expected=expected, got=shown(size), hint="tau=robot.n, for one")
        return size

    def _of_frames(self, function: casadi.Function, name: str, frames: Any) -> casadi.Function:
        """The same function with the results of some frames only."""
        inputs = function.sx_in() if function.class_name() == "SXFunction" else function.mx_in()
        chosen = self._calls.places_of(name, several_names("frames", frames))
        results = [self._calls.pick(x, chosen, 0) for x in function.call(inputs)]
        return casadi.Function(name, inputs, results, function.name_in(), function.name_out())

    def __repr__(self) -> str:
        return f"<{'compiled ' if self.compiled else ''}functions of {self.robot!r} for CasADi>"

    def __reduce__(self) -> Any:
        return CasadiRobot, (self.robot, self.compiled, self.order)


@with_constraint_methods
class CasadiConstraints(ConstraintMethods):
    """The functions of constraints over CasADi's matrices, as in `CasadiRobot`. Their anchors are constants of each function."""

    _calls: _ConstraintCalls

    def __init__(self, constraints: Constraints, compiled: bool = False, order: int = 2) -> None:
        if constraints.anchors.ndim != 1:
            got, hint = f"anchors of shape {constraints.anchors.shape}", "c.with_anchors(...) of one state"
            raise InputError("fc.casadi: these constraints have a batch of anchors", got=got, hint=hint)
        self.constraints = constraints
        self.compiled, self.order = compiled, order
        self._calls = _ConstraintCalls(constraints, _Calls(constraints.robot, compiled, order))

    def function(self, name: str, inputs: Sequence[str] = (), wrenches: str = "") -> casadi.Function:
        """A function of the constraints as a `casadi.Function` with named inputs and outputs.

        inputs: those of "active", "reference", "wrenches" that it takes besides. A reference is r'' + kd r' + kp r; wrenches,
        in the axes that `wrenches` names, are those on all bodies.

        >>> fc.casadi(c).function("forward_dynamics", ["active"])
        Function(forward_dynamics:(q[19],nu[18],tau[18],active[4])->(dnu[18],forces[12]) SXFunction)
        """
        if not isinstance(name, str) or name not in CONSTRAINT_NAMES:
            raise InputError(f"no function {shown(name)} of constraints", hint=closest(name, CONSTRAINT_NAMES))
        return self._calls.function(name, tuple(inputs), wrenches)

    def __repr__(self) -> str:
        return f"<{'compiled ' if self.compiled else ''}functions of {self.constraints!r} for CasADi>"

    def __reduce__(self) -> Any:
        return CasadiConstraints, (self.constraints, self.compiled, self.order)


class _Function:
    """A function of CasADi with checks of its arguments."""

    def __init__(self, kernel: Kernel, compiled: bool, order: int) -> None:
        self.task = kernel.task
        self.function = function_of(kernel, compiled, order)

    def __call__(self, *values: Any) -> Any:
        return call(self.function, self.task, values)


class _ConstraintCalls(ConstraintCalls):
    """The calls of constraints, whose anchors are constants, so that a solver gets functions of the state alone."""

    def function(self, name: str, inputs: tuple[str, ...], wrenches: str) -> casadi.Function:
        anchors = self._where(kp_only=name != "violation") if "anchors" in optional(name) else None
        fixed = (("unactuated", unactuated(self.source.robot)),) if name == "inverse_dynamics" else None
        options = (("inputs", inputs), ("wrenches", wrenches), ("fixed", _with(anchors, fixed)))
        found: _Function = self.find(name, options)
        return found.function

    def _run(self, name: str, values: tuple[Any, ...], out: Any, fixed: Any = None, anchors: Any = None, **more: Any) -> Any:
        return super()._run(name, values, out, _with(anchors, fixed), **more)


def _with(anchors: Any, fixed: Any) -> Any:
    return fixed if anchors is None else (*(fixed or ()), ("anchors", tuple(anchors.tolist())))


class _Calls(Calls):
    def __init__(self, robot: Robot, compiled: bool, order: int) -> None:
        super().__init__(robot)
        self._how = compiled, order

    def made(self, kernel: Kernel) -> _Function:
        return _Function(kernel, *self._how)

    def length(self, value: Any) -> int:
        shape = value.shape if hasattr(value, "shape") else np.shape(value)
        return int(shape[0]) if shape else 0

    def number(self, value: Any) -> Any:
        return value if hasattr(value, "shape") and len(value.shape) == 2 else np.reshape(value, (1, -1))

    def is_number(self, value: Any) -> bool:
        return self.length(value) <= 1

    def _on_bodies(self, name: str, wrenches: Wrenches) -> BodyWrenches | None:
        key, values = taken_apart(name, wrenches)
        if not key[0]:
            return None
        found = table(self.model, key)
        parts = tuple(np.moveaxis(values, -2, 0)) if isinstance(values, np.ndarray) else values
        given = [column(name, spec, value) for spec, value in zip(found.checks, parts, strict=True)]
        factors, sources, targets = found.lines.T
        rows, columns = targets.astype(int).tolist(), sources.astype(int).tolist()
        matrix = casadi.DM.triplet(rows, columns, factors, found.size, 6 * len(given))
        return BodyWrenches(matrix @ casadi.vertcat(*given), key[1])

    def pick(self, result: Any, chosen: Sequence[int], axes: int) -> Any:
        rows = result.shape[0] // len(self.frame_names)
        parts = casadi.vertsplit(result, rows)
        return casadi.vertcat(*[parts[k] for k in chosen])


def needed(name: str) -> list[str]:
    """The options without which a method cannot be called."""
    known = FUNCTIONS[name].options if name in FUNCTIONS else ()
    parameters = inspect.signature(getattr(Robot, name)).parameters.values()
    return [p.name for p in parameters if p.name in known and p.default is p.empty]


def function_of(kernel: Kernel, compiled: bool, order: int) -> casadi.Function:
    """A kernel as a function of CasADi: expressions, or machine code with derivatives up to an order."""
    if not compiled:
        return symbolic(kernel.program, kernel.task.name)
    from fallingcat.frameworks.casadi_compiled import compiled as made

    return made(kernel, order)


def check_how(compiled: Any, order: Any) -> None:
    """Refuse invalid values of `compiled` and `order`."""
    check_truth("compiled", compiled)
    if isinstance(order, bool) or order not in (0, 1, 2):
        raise InputError("fc.casadi: unknown order of derivatives", expected="0, 1 or 2", got=shown(order))


def call(function: casadi.Function, task: Task, values: Sequence[Any]) -> Any:
    """Call a function of CasADi with checked arguments; several results come in their named tuple."""
    if len(values) != len(task.inputs):
        names = ", ".join(i.name for i in task.inputs)
        expected = f"{len(task.inputs)} ({names})"
        raise InputError(f"{task.name}: wrong number of arguments", expected=expected, got=str(len(values)))
    given = [column(task.name, spec, value) for spec, value in zip(task.inputs, values, strict=True)]
    kinds = {type(v) for v in given}
    if kinds >= set(SYMBOLS):
        raise InputError(f"{task.name}: SX and MX do not mix", hint="make all symbols by casadi.SX.sym or all by casadi.MX.sym")
    if casadi.SX in kinds and function.class_name() == "External":
        hint = "casadi.MX.sym, or fc.casadi(robot) without compiled=True"
        raise InputError(f"{task.name}: machine code takes no SX", expected="MX, DM or numbers", hint=hint)
    if kinds == {casadi.DM}:
        check_quaternions(task, [v.full().T for v in given])
    found = function.call(given)
    return found[0] if task.results is None else task.results(*found)


def column(name: str, spec: Input, value: Any) -> Any:
    """An argument as a matrix of CasADi with one column for each state."""
    if not isinstance(value, (*SYMBOLS, casadi.DM)):
        value = _numbers(name, spec, value)
    if value.shape[0] != spec.size:
        expected = f"{spec.size} x 1" + (f", or {spec.size} x k for k states" if spec.size > 1 else "")
        hint = f"{spec.name}.T: states are columns in CasADi" if value.shape[1] == spec.size else ""
        if spec.quaternions and value.shape[0] == spec.size - len(spec.quaternions):
            hint = "q holds a quaternion (x y z w): one entry more than the velocity"
        got = f"{value.shape[0]} x {value.shape[1]}"
        raise InputError(f"{name}: {spec.name} has the wrong shape", expected=expected, got=got, hint=hint)
    return value


def _numbers(name: str, spec: Input, value: Any) -> casadi.DM:
    expected = f"an SX, MX or DM, or numbers: {spec.size} x 1"
    if isinstance(value, (list, tuple)) and any(isinstance(x, SYMBOLS) for x in value):
        hint = "casadi.vertcat makes one matrix of several"
        raise InputError(f"{name}: {spec.name} is a {type(value).__name__} of symbols", expected=expected, hint=hint)
    try:
        numbers = np.asarray(value).astype(np.float64, casting="same_kind")
    except (TypeError, ValueError):
        raise InputError(f"{name}: {spec.name} is not a matrix", expected=expected, got=shown(value)) from None
    if numbers.ndim > 2:
        raise InputError(f"{name}: {spec.name} has the wrong shape", expected=expected, got=str(numbers.shape))
    return casadi.DM(numbers)
