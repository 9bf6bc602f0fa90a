"""User-defined functions of a robot, compiled like the library's.

    def height(r, q):
        return r.center_of_mass(q)[2]

    f = fc.compile(height, robot)
    f(q), f(Q)

The function gets a `Formulas` object with the robot's functions and one vector per argument, and may use arithmetic and
`fallingcat.scalar`. It is run once on symbols; what comes out is compiled for one state and for batches.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.arrays.arguments import in_order
from fallingcat.arrays.non_numpy import LazyArrayError
from fallingcat.codegen import Kernel
from fallingcat.errors import InputError, TraceError
from fallingcat.functions import Velocities, configuration_input, what_is_singular
from fallingcat.robot.formulas import Formulas
from fallingcat.robot.gradients import Derivative, vjp_of
from fallingcat.robot.robot import Robot
from fallingcat.task import Input, Output, Task
from fallingcat.trace.expr import Expr
from fallingcat.trace.program import Program, assemble, symbols

MOST_NUMBERS = 1_000_000
"""Largest length of an argument of a user's function; with more, a trace takes minutes and gigabytes."""
_KNOWN = {"q": "nq", "q0": "nq", "q1": "nq", "nu": "nv", "dnu": "nv", "tau": "nv", "dx": "nv", "s": "n", "r": "n", "ddr": "n"}


def compile(function: Callable[..., Any], robot: Robot, **sizes: int) -> CompiledFunction:
    """Trace and compile a user-defined function of a robot.

    function(r, q, nu, ...): r has the robot's functions; arguments named q, nu, dnu, tau, ... have their usual
    lengths, other names need one: `fc.compile(f, robot, target=3)`. An argument with a default is no argument of the compiled
    function: its default is fixed, unless a length is given for it.
    """
    return CompiledFunction(function, robot, sizes)


class CompiledFunction:
    """A user's function as machine code: call it with one state or a batch, by position or by name."""

    def __init__(self, function: Callable[..., Any], robot: Robot, sizes: Mapping[str, int]) -> None:
        self.function, self.robot, self.sizes = function, robot, dict(sizes)
        inputs = _inputs(function, robot, sizes)
        task, program = _trace(_name(function), inputs, _Evaluate(function, robot, tuple(i.name for i in inputs)))
        self.kernel = Kernel(task, program=program)
        self.__doc__ = function.__doc__
        self.__name__ = task.name
        self._count = len(inputs)
        names, empty = {i.name for i in inputs}, inspect.Parameter.empty
        self._defaults = {n: p.default for n, p in _after_robot(function) if n in names and p.default is not empty}

    def __call__(self, *values: Any, out: NDArray[np.float64] | None = None, **named: Any) -> Any:
        if named or len(values) != self._count:
            values = in_order(self.kernel.task, values, named, self._defaults)
        call = self.kernel.entry if self.kernel.entry_made else self.kernel  # a batch needs no code for one state
        try:
            return call(*values) if out is None else call(*values, out=out)
        except LazyArrayError:
            if out is not None:
                raise
        from fallingcat.robot.deferred import defer_function

        return defer_function(self, values)

    @property
    def vjp(self) -> Derivative:
        """(arguments, a cotangent in the shape of the result) -> a cotangent for each argument; q's left-trivialized (nv)."""
        return vjp_of(self.kernel)

    @property
    def jvp(self) -> Derivative:
        """(arguments, a tangent for each argument) -> the tangent of the result; q's is a body-fixed velocity (nv)."""
        return Derivative(self.kernel.jvp())

    @property
    def jacobian(self) -> Derivative:
        """arguments -> the derivative of the result by each argument, its own axes first; by q with nv columns.

        One array for a function of one argument, a named tuple for several.
        """
        return Derivative(self.kernel.jacobian())

    @property
    def hessian(self) -> Derivative:
        """arguments -> the second derivative of a function with one number as its result: the derivative of its gradient.

        One array [j, k] for a function of one argument, the second derivative along k last; a named tuple .dq_dq .dq_dnu ...
        for several. On a group directions do not commute: the symmetric part is the second derivative along q exp(t z).
        """
        return Derivative(self.kernel.hessian())

    def __reduce__(self) -> Any:
        return CompiledFunction, (self.function, self.robot, self.sizes)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__} of {self.robot!r}: {self.kernel.operations} operations>"


@dataclass(frozen=True)
class _Evaluate:
    """The user's function with the formulas of a robot and its fixed options filled in; can be pickled if the function can."""

    function: Callable[..., Any]
    robot: Robot
    names: tuple[str, ...]
    """Names of the arguments that are inputs."""

    def __call__(self, *vectors: Any) -> Any:
        given = {name: np.array(v, dtype=object) for name, v in zip(self.names, vectors, strict=True)}
        positional: list[Any] = [Formulas(self.robot)]
        keywords: dict[str, Any] = {}
        for name, parameter in _after_robot(self.function):
            value = given.get(name, parameter.default)
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                keywords[name] = value
            else:
                positional.append(value)
        result = self.function(*positional, **keywords)
        return result.tolist() if isinstance(result, np.ndarray) else result


# ---------------------------------------------------------------------------------------------------------------------
# The result


WRONG_RESULT = "{} cannot be traced: it must return a number or a rectangular array of numbers; {}"


def _trace(name: str, inputs: tuple[Input, ...], evaluate: _Evaluate) -> tuple[Task, Program]:
    """Run the function once on symbols; its result gives the output's shape and the program."""
    graph, vectors = symbols(inputs, name)
    try:
        result = _rectangular(name, evaluate(*vectors))
    except TypeError as error:
        hint = ""
        if "loop of ufunc" in str(error):
            hint = "; arrays of symbols may hold plain numbers, too, and NumPy's functions do not: use those of fallingcat.scalar"
        raise TraceError(f"{name} cannot be traced: {error}{hint}") from error
    for x in result.flat:
        if not isinstance(x, (Expr, float, int, np.floating, np.integer)):
            raise TraceError(WRONG_RESULT.format(name, f"it returns something with {type(x).__name__} in it"))
    task = Task(name, inputs, (Output("result", result.shape),), evaluate)
    program = assemble(task, graph, [result.ravel().tolist()])
    if any(c != c for c in program.constants):  # the program replaces zero pivots by NaN
        task = replace(task, explain=_Explain(inputs))
    return task, program


def _rectangular(name: str, result: Any) -> NDArray[Any]:
    try:
        return np.array(result, dtype=object)
    except ValueError as error:
        shapes = [np.shape(x) for x in result] if isinstance(result, (tuple, list)) else [type(result).__name__]
        got = f"it returns parts of shapes {', '.join(map(str, shapes))}"
        raise TraceError(WRONG_RESULT.format(name, f"{got}: np.concatenate joins them")) from error


@dataclass(frozen=True)
class _Explain:
    """Explains which mass matrices are singular at the configurations among the arguments."""

    inputs: tuple[Input, ...]

    def __call__(self, *vectors: Any) -> str:
        for spec, x in zip(self.inputs, vectors, strict=True):
            found = what_is_singular(spec.tangents.model, x) if isinstance(spec.tangents, Velocities) else ""
            if found:
                return found
        return ""


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", "function"))


# ---------------------------------------------------------------------------------------------------------------------
# The arguments


def _after_robot(function: Callable[..., Any]) -> list[tuple[str, inspect.Parameter]]:
    return list(inspect.signature(function).parameters.items())[1:]


def _inputs(function: Callable[..., Any], robot: Robot, sizes: Mapping[str, int]) -> tuple[Input, ...]:
    """One input per argument that has a length, in their order; the other arguments keep their defaults."""
    parameters = _checked_parameters(function, robot)
    names = list(parameters)
    free = [name for name in names if name in sizes or parameters[name].default is inspect.Parameter.empty]
    unknown = [name for name in free if name not in sizes and name not in _KNOWN]
    extra = [name for name in sizes if name not in names]
    if unknown or extra or not free:
        what = f"lengths of {unknown}" if unknown else f"arguments {extra}" if extra else "arguments after the robot"
        raise InputError(
            f"fc.compile: unknown {what}",
            expected="a function (r, q, nu, ...) whose other arguments have a length",
            got=f"arguments {names}",
            hint="pass it by name, as in fc.compile(f, robot, target=3)",
        )
    return tuple(_input(name, robot, sizes) for name in free)


def _input(name: str, robot: Robot, sizes: Mapping[str, int]) -> Input:
    if name in sizes:
        return Input(name, _length(name, sizes[name], robot))
    length = _KNOWN[name]
    return configuration_input(name, robot.model) if length == "nq" else Input(name, int(getattr(robot, length)))


def _length(name: str, size: Any, robot: Robot) -> int:
    """A length as an integer; zero is allowed only for a robot without joints."""
    least = 1 if robot.n else 0
    try:
        length = -1 if isinstance(size, (bool, np.bool_)) else operator.index(size)
    except TypeError:
        length = -1
    if length > MOST_NUMBERS:
        expected = f"{MOST_NUMBERS} numbers at most: each is a symbol of its own"
        raise InputError(f"fc.compile: {name} is too long", expected=expected, got=repr(size))
    if length < least:
        raise InputError(
            f"fc.compile: {name} cannot have this length", expected=f"a whole number, {least} or more", got=repr(size),
            hint="as in fc.compile(f, robot, target=3)",
        )  # fmt: skip
    return length


def _checked_parameters(function: Any, robot: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function after the robot; refuses callables without a signature."""
    if not isinstance(robot, Robot):
        raise InputError("fc.compile: not a robot", expected="fc.compile(f, robot)", got=type(robot).__name__, hint="see fc.load")
    expected = "a function (r, q, nu, ...)"
    try:
        found = dict(_after_robot(function))
    except (TypeError, ValueError):
        raise InputError("fc.compile: unknown arguments of this function", expected=expected, got=repr(function)) from None
    for name, parameter in found.items():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise InputError(f"fc.compile: {parameter} has no length", expected=expected, hint="write the arguments out")
        if name == "out":
            raise InputError("fc.compile: an argument cannot be called 'out'", expected=expected, hint="out= is where results go")
    return found
