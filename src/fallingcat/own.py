"""Your own function of a robot, compiled like the library's.

    def height(r, q):
        return r.center_of_mass(q)[2]

    f = fc.compile(height, robot)
    f(q), f(Q)

The function gets a `Formulas` object with the robot's functions and one vector per argument, and may use arithmetic and
`fallingcat.scalar`. It is run once on symbols; what comes out is compiled for one state and for batches.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.compile import Kernel
from fallingcat.errors import InputError, TraceError
from fallingcat.functions import FUNCTIONS, Evaluate, Function, quaternions
from fallingcat.model.model import Model
from fallingcat.model.suggest import closest
from fallingcat.robot import Robot
from fallingcat.task import Input, Output, Task
from fallingcat.trace.expr import Block, Expr
from fallingcat.trace.graph import Graph

_KNOWN = {"q": "nq", "q0": "nq", "q1": "nq", "nu": "nv", "dnu": "nv", "tau": "nv", "dx": "nv", "s": "n", "r": "n", "ddr": "n"}


class Formulas:
    """A robot's functions over any scalar: the methods of `Robot`, on symbols or numbers, one state at a time.

    Vectors and matrices come as NumPy arrays of objects, so slicing, `@` and arithmetic work.
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    def __getattr__(self, name: str) -> Any:
        if name not in FUNCTIONS:
            raise AttributeError(f"no function {name!r}; {closest(name, FUNCTIONS)}")
        function = FUNCTIONS[name]

        def call(*arguments: Any, **options: Any) -> Any:
            count = len(function.inputs)
            named = dict(zip(function.options, arguments[count:], strict=False))
            chosen: dict[str, Any] = _defaults(function) | named | options
            if "base" in chosen and "frame" in chosen:
                chosen["base"] = chosen.pop("frame")  # what `Robot.base_change` calls it
            model = self.model
            if function.any_representation:
                model = model.in_representation(chosen.pop("representation", "body"))
            result = Evaluate(model, name, (), tuple(sorted(chosen.items())))(*(list(a) for a in arguments[:count]))
            if function.results is not None:
                return function.results(*map(_as_array, result))
            return _as_array(result)

        call.__name__ = name
        return call


def _defaults(function: Function) -> dict[str, Any]:
    """The options of the robot's methods when nothing is said."""
    usual: dict[str, Any] = {"representation": "body", "velocity": "body"}
    if "base" in function.options:
        usual = {"base": None, "representation": "mixed"}
    return {name: value for name, value in usual.items() if name in function.options}


def _as_array(value: Any) -> Any:
    """Lists, and tensors that were traced as blocks, as arrays."""
    return np.array(value, dtype=object) if isinstance(value, (list, Block)) else value


class CompiledFunction:
    """A user's function as machine code: call it with one state or a batch."""

    def __init__(self, function: Callable[..., Any], robot: Robot, sizes: Mapping[str, int]) -> None:
        self.function, self.robot, self.sizes = function, robot, dict(sizes)
        inputs = _inputs(function, robot, sizes)
        evaluate = _Evaluate(function, robot.model)
        output = Output("result", _result_shape(evaluate, inputs))
        name = getattr(function, "__name__", "function")
        self.kernel = Kernel(Task(name, inputs, (output,), evaluate))
        self.__doc__ = function.__doc__
        self.__name__ = name

    def __call__(self, *values: Any, out: NDArray[np.float64] | None = None) -> Any:
        return self.kernel.entry(*values) if out is None else self.kernel(*values, out=out)

    def __reduce__(self) -> Any:
        return CompiledFunction, (self.function, self.robot, self.sizes)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__} of {self.robot!r}: {self.kernel.operations} operations>"


class _Evaluate:
    """The user's function with the formulas of a robot filled in."""

    def __init__(self, function: Callable[..., Any], model: Model) -> None:
        self.function, self.model = function, model

    def __call__(self, *vectors: Any) -> Any:
        result = self.function(Formulas(self.model), *(np.array(v, dtype=object) for v in vectors))
        return result.tolist() if isinstance(result, np.ndarray) else result


def compile(function: Callable[..., Any], robot: Robot, **sizes: int) -> CompiledFunction:
    """Trace and compile your own function of a robot.

    function(r, q, nu, ...): r has the robot's functions; arguments named q, nu, dnu, tau, ... have their usual
    lengths, other names need one: `fc.compile(f, robot, target=3)`.
    """
    return CompiledFunction(function, robot, sizes)


def _inputs(function: Callable[..., Any], robot: Robot, sizes: Mapping[str, int]) -> tuple[Input, ...]:
    names = list(inspect.signature(function).parameters)[1:]
    unknown = [name for name in names if name not in sizes and name not in _KNOWN]
    extra = [name for name in sizes if name not in names]
    if unknown or extra or not names:
        what = f"lengths of {unknown}" if unknown else f"arguments {extra}" if extra else "arguments after the robot"
        raise InputError(
            f"fc.compile: unknown {what}",
            expected="a function (r, q, nu, ...) whose other arguments have a length",
            got=f"arguments {names}",
            hint="pass it by name, as in fc.compile(f, robot, target=3)",
        )
    inputs = []
    for name in names:
        size = sizes[name] if name in sizes else int(getattr(robot, _KNOWN[name]))
        own = name in _KNOWN and _KNOWN[name] == "nq" and name not in sizes
        inputs.append(Input(name, size, quaternions(robot.model) if own else ()))
    return tuple(inputs)


def _result_shape(evaluate: _Evaluate, inputs: tuple[Input, ...]) -> tuple[int, ...]:
    """Run the function once on throw-away symbols to see what comes out."""
    graph = Graph()
    position = 0
    vectors = []
    for spec in inputs:
        vectors.append([Expr(graph, graph.input(position + k)) for k in range(spec.size)])
        position += spec.size
    name = getattr(evaluate.function, "__name__", "function")
    try:
        result = np.array(evaluate(*vectors), dtype=object)
    except TypeError as error:
        raise TraceError(f"{name} cannot be traced: {error}") from error
    for x in result.flat:
        if not isinstance(x, (Expr, float, int, np.floating, np.integer)):
            got = f"it returns something with {type(x).__name__} in it"
            raise TraceError(f"{name} cannot be traced: it must return a number or a rectangular array of numbers; {got}")
    return result.shape
