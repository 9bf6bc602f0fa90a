"""Reduces a call of a robot's method to one compiled function and its vectors, for arrays of any library.

The methods of `Robot` choose functions, options and defaults; most then run a function of the table. `Calls` has the same
methods, but stops at the choice: each library defines what it makes of a kernel, and what its arrays are. Methods that are
composed of several functions (`step`, ...) are traced as one.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, NoReturn

import numpy as np

from fallingcat.codegen import Kernel
from fallingcat.control.steps import Discretization, Step
from fallingcat.errors import InputError
from fallingcat.functions import FUNCTIONS, configuration_input
from fallingcat.robot.formulas import Formulas
from fallingcat.robot.robot import Robot
from fallingcat.robot.runner import Part, Wrenches
from fallingcat.robot.wrenches import BodyWrenches
from fallingcat.task import Input, Output, Task
from fallingcat.trace.program import assemble, symbols

COMPOSED: dict[str, tuple[str, ...]] = {
    "linearize": ("q", "nu", "tau"),
    "step": ("q", "nu", "tau", "dt"),
    "discretize": ("q", "nu", "tau", "dt"),
    "state_plus": ("q", "nu", "z"),
    "state_minus": ("q0", "nu0", "q1", "nu1"),
    "actuation_matrix": ("q",),
}
"""Methods that are composed of several functions of the table, with their array arguments."""

Options = tuple[tuple[str, Any], ...]

NAMES = (*[name for name in FUNCTIONS if hasattr(Robot, name) and name not in COMPOSED], *COMPOSED)
"""The functions that are available in other libraries."""

RESULTS: dict[str, type] = {t.__name__: t for t in [row.results for row in FUNCTIONS.values()] if t is not None}
RESULTS |= {t.__name__: t for t in (Step, Discretization)}
"""The named tuples of functions with several results, by their own names."""


class Finder:
    """Finds kernels by name and options, and keeps what a library makes of each of them."""

    _found: dict[Any, Any]

    @abstractmethod
    def made(self, kernel: Kernel) -> Any:
        """The library's own function of a kernel, to be called with one array per input; made once."""

    @abstractmethod
    def kernel_of(self, name: str, options: dict[str, Any], size: int = 0) -> Kernel:
        """The compiled function behind a method."""

    def find(self, name: str, options: Options, size: int = 0) -> Any:
        """The library's function behind a method. size: the length of tau, for a composed method."""
        key = (name, options, size)
        if key not in self._found:
            self._found[key] = self.made(self.kernel_of(name, dict(options), size))
        return self._found[key]

    def run(self, name: str, options: Options, size: int, values: Sequence[Any]) -> Any:
        """Run the function behind a method."""
        return self.find(name, options, size)(*values)


class Calls(Finder, Robot):
    """The methods of a robot over the arrays of a library, which subclasses define."""

    def __init__(self, robot: Robot) -> None:
        Part.__init__(self, robot.model)
        self.description, self._options, self._actuation = robot.description, robot._options, robot._actuation
        self.robot = robot
        self._found: dict[Any, Any] = {}

    # -----------------------------------------------------------------------------------------------------------------
    # What a library defines

    @abstractmethod
    def length(self, value: Any) -> int:
        """The length of an argument whose vectors may have different lengths; 0 if it is not a vector."""

    @abstractmethod
    def number(self, value: Any) -> Any:
        """A number, or one for each state, as vectors of one entry."""

    def is_number(self, value: Any) -> bool:
        """Is it a single number, or one number per state for libraries in which states are columns?"""
        return self.length(value) == 0

    def mask(self, value: Any) -> Any:
        """Zeros and ones of any kind as an array of the kind that functions take."""
        return value

    @abstractmethod
    def pick(self, result: Any, chosen: Sequence[int], axes: int) -> Any:
        """Some of the entries along the first axis of a result that has `axes` axes for one state."""

    # -----------------------------------------------------------------------------------------------------------------
    # What the methods of `Robot` call

    def _run(self, name: str, values: tuple[Any, ...], out: Any, wrenches: Wrenches | None = None, **options: Any) -> Any:
        refuse_out(name, out)
        if wrenches is not None:
            found = self._on_bodies(name, wrenches)
            if found is not None:
                values, options = (*values, found.values), options | {"wrenches": found.axes}
        return self.run(name, tuple(options.items()), 0, values)

    def kernel_of(self, name: str, options: dict[str, Any], size: int = 0) -> Kernel:
        """The compiled function behind a method."""
        if name not in COMPOSED:
            return self.robot.kernel(name, **options)
        axes = options.pop("wrenches", "")
        return _trace(self.robot, name, _inputs(self.robot, name, size or self.nv, axes), axes, options)

    @abstractmethod
    def _on_bodies(self, name: str, wrenches: Wrenches) -> BodyWrenches | None:
        """Wrenches on frames as wrenches on bodies, in the library's arrays; None if there are none."""

    def _of_frames(self, name: str, values: tuple[Any, ...], frames: Iterable[str] | None, out: Any, **options: Any) -> Any:
        refuse_out(name, out)
        found = self._run(name, values, None, **options)
        if frames is None:
            return found
        return self.pick(found, self.places_of(name, tuple(frames)), 2 if name == "frame_velocities" else 3)

    def places_of(self, name: str, frames: tuple[str, ...]) -> list[int]:
        """The numbers of frames among all frames of the robot."""
        return [int(k) for k in self._numbers_of(name, frames)]

    def kernel(self, name: str, **options: Any) -> Kernel:
        """The robot's own kernel of a function."""
        return self.robot.kernel(name, **options)


# ---------------------------------------------------------------------------------------------------------------------
# Methods that are composed of several functions


def composed(calls: Calls, name: str, given: dict[str, Any]) -> Any:
    """Apply a composed method, traced as one function."""
    refuse_out(name, given.pop("out", None))
    wrenches = given.pop("wrenches", None)
    values = [calls.number(given.pop(x)) if x == "dt" else given.pop(x) for x in COMPOSED[name]]
    forces = None if wrenches is None else calls._on_bodies(name, wrenches)
    if forces is not None:
        values, given = [*values, forces.values], {**given, "wrenches": forces.axes}
    size = calls.length(values[2]) if "tau" in COMPOSED[name] else 0
    return calls.run(name, tuple(given.items()), size, values)


def _inputs(robot: Robot, name: str, size: int, axes: str) -> tuple[Input, ...]:
    sizes = {"q": robot.nq, "n": robot.nv, "t": size if size in (robot.n, robot.m) else robot.nv, "z": 2 * robot.nv, "d": 1}
    inputs = [configuration_input(x, robot.model) if x[0] == "q" else Input(x, sizes[x[0]]) for x in COMPOSED[name]]
    if axes:
        (*_, last) = robot.kernel("inverse_dynamics", wrenches=axes).task.inputs
        inputs.append(last)
    return tuple(inputs)


def _trace(robot: Robot, name: str, inputs: tuple[Input, ...], axes: str, options: Mapping[str, Any]) -> Kernel:
    """A method of a robot as one function."""

    def method(*vectors: Sequence[Any]) -> Any:
        values: dict[str, Any] = {spec.name: np.array(v, dtype=object) for spec, v in zip(inputs, vectors, strict=True)}
        if "dt" in values:
            values["dt"] = values["dt"][0]
        if axes:
            values["wrenches"] = BodyWrenches(values["wrenches"], axes)
        return getattr(Formulas(robot), name)(**values, **options)

    return traced(name, inputs, method)


def traced(name: str, inputs: tuple[Input, ...], method: Callable[..., Any]) -> Kernel:
    """The kernel of a method that is run once on symbols, which gives the shapes of its results and its program."""
    graph, vectors = symbols(inputs, name)
    found = method(*vectors)
    several = isinstance(found, tuple)
    arrays = [np.array(x, dtype=object) for x in (found if several else (found,))]
    fields = found._fields if several else ("result",)
    outputs = tuple(Output(field, a.shape) for field, a in zip(fields, arrays, strict=True))
    task = Task(name, inputs, outputs, method, results=type(found) if several else None)
    return Kernel(task, program=assemble(task, graph, [a.ravel().tolist() for a in arrays]))


def refuse_out(name: str, out: Any) -> None:
    """Refuse `out=`: results are never written into tensors or symbols."""
    if out is not None:
        raise InputError(f"{name}: out cannot be given here", hint="use what it returns; out= is for NumPy arrays")


def refuse_robot(what: str, value: Any) -> NoReturn:
    """Refuse an argument that is no robot, no constraints and no compiled function."""
    expected, hint = "a robot, its constraints, or a function from fc.compile", "see fc.load, robot.constraints and fc.compile"
    raise InputError(f"{what}: not a robot", expected=expected, got=type(value).__name__, hint=hint)


# ---------------------------------------------------------------------------------------------------------------------
# The methods of the object that a user holds


def with_methods(cls: type) -> type:
    """Give a class the functions of a robot, by way of its attribute `_calls`."""
    for name in NAMES:
        method = inspect.getattr_static(Robot, name)
        function = getattr(method, "__wrapped__", method)
        setattr(cls, name, _of_several(name, function) if name in COMPOSED else of_one(function))
    return cls


def of_one(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(self: Any, *values: Any, **named: Any) -> Any:
        return function(self._calls, *values, **named)

    return call


def _of_several(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}

    @wraps(function)
    def call(self: Any, *values: Any, **named: Any) -> Any:
        given = {**defaults, **dict(zip(names, values)), **named}
        missing = [x for x in names if x not in given]
        unknown = [x for x in named if x not in names and x not in defaults]
        if missing or unknown or len(values) > len(names):
            wrong = (
                f"{', '.join(missing)} missing" if missing else f"no argument {unknown[0]!r}" if unknown else "too many arguments"
            )
            raise InputError(f"{name}: {wrong}", expected=", ".join(names))
        return composed(self._calls, name, given)

    return call
