"""Methods of a robot with arguments of Dask and xarray: the method is called later, block by block.

A task for a block has the robot, the name of the method, the options, and blocks in place of the arrays,
those of wrenches on frames included.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fallingcat.arrays.blocks import Argument, blockwise, probe
from fallingcat.arrays.labelled import Labels, apply
from fallingcat.arrays.non_numpy import library
from fallingcat.arrays.shared_objects import SharedObject
from fallingcat.errors import FallingCatError, InputError
from fallingcat.robot import labels as names
from fallingcat.robot.runner import Part
from fallingcat.robot.wrenches import Wrenches

if TYPE_CHECKING:
    from fallingcat.robot.constraints import Constraints
    from fallingcat.robot.robot import Robot
    from fallingcat.robot.user_functions import CompiledFunction

AXES = {"dt": 0, "H": 2, "controls": 2, "active": 1, "forces": 1} | dict.fromkeys(names.SIZES, 1)
"""Arguments that are arrays, and the number of their axes that belong to one state."""


@dataclass(frozen=True)
class Call:
    """A call of a method without its arrays; can be pickled."""

    method: str
    """The method's name; empty for a function of `fc.compile`, which is called itself."""
    arrays: tuple[str, ...]
    """Names of the array arguments, in order; `wrenches[...]` for those on frames."""
    options: tuple[tuple[str, Any], ...] = ()
    wrenches: tuple[Any, ...] | None = None
    """Frames, axes and points of the wrenches; None if there are none."""

    def __dask_tokenize__(self) -> Any:
        options = [(name, value.token if isinstance(value, SharedObject) else value) for name, value in self.options]
        return ("fallingcat", self.method, self.arrays, repr(options), repr(self.wrenches))

    def __call__(self, *values: Any, shared: SharedObject) -> Any:
        if not self.method:
            return shared.value(*values)
        named: dict[str, Any] = {n: v.value if isinstance(v, SharedObject) else v for n, v in self.options}
        if self.wrenches is not None:
            count = sum(name.startswith("wrenches[") for name in self.arrays)
            named["wrenches"] = _wrenches(self.wrenches, values[len(values) - count :])
        named |= {n: v for n, v in zip(self.arrays, values, strict=True) if not n.startswith("wrenches[")}
        return getattr(shared.value, self.method)(**named)


def _wrenches(about: tuple[Any, ...], values: Sequence[Any]) -> Any:
    frames, axes, points = about
    if axes is None:
        return dict(zip(frames, values, strict=True))
    return Wrenches(frames, values[0], axes, points)


def defer_method(
    robot: Robot | Constraints, function: Callable[..., Any], values: tuple[Any, ...], named: Mapping[str, Any]
) -> Any:
    """The lazy result of a method of a robot, or of its constraints, with at least one argument of Dask or xarray."""
    name = function.__name__.removeprefix("_")
    given = dict(inspect.signature(function).bind(robot, *values, **named).arguments)
    given.pop(next(iter(given)))
    if given.pop("out", None) is not None:
        raise InputError(f"{name}: out= cannot be given with lazy arrays", hint="use what it returns")
    wrenches = given.pop("wrenches", None)
    arrays = {n for n, v in given.items() if n in AXES and v is not None and not _feedback(v)}
    arguments = [Argument(n, given[n], AXES[n]) for n in given if n in arrays]
    options = {n: _shared_feedback(v) if _feedback(v) else v for n, v in given.items() if n not in arrays}
    for option, value in options.items():
        if library(value):
            raise InputError(f"{name}: {option} cannot be a lazy array", expected="a value", got=type(value).__name__)
    about = None
    if wrenches is not None:
        about, more = _taken_apart(wrenches)
        arguments += more
    call = Call(function.__name__, tuple(a.name for a in arguments), tuple(options.items()), about)
    return _deferred(robot, call, name, SharedObject(token_of(robot), robot, _version()), arguments, options)


def _feedback(value: Any) -> bool:
    """Is the value a feedback function rather than a lazy array?"""
    return callable(value) and not library(value)


def _shared_feedback(feedback: Any) -> SharedObject:
    """A feedback function as a shared object: it is sent to each worker once, under a digest of what it computes."""
    if hasattr(feedback, "kernel"):
        return SharedObject(token_of_function(feedback), feedback, _version())
    try:
        from dask.base import tokenize
    except ImportError:  # xarray without Dask: nothing is pickled
        return SharedObject(repr(feedback), feedback, _version())
    return SharedObject(_digest(str(tokenize(feedback))), feedback, _version())


def _taken_apart(wrenches: Any) -> tuple[tuple[Any, ...], list[Argument]]:
    if isinstance(wrenches, Wrenches):
        return (wrenches.frames, wrenches.axes, wrenches.points), [Argument("wrenches[...]", wrenches.values, 2)]
    found = dict(wrenches)
    return (tuple(found), None, None), [Argument(f"wrenches[{f!r}]", v, 1) for f, v in found.items()]


def defer_function(function: CompiledFunction, values: tuple[Any, ...]) -> Any:
    """The lazy result of a function of `fc.compile` with at least one argument of Dask or xarray."""
    inputs = [i.name for i in function.kernel.task.inputs]
    arguments = [Argument(n, v, 1) for n, v in zip(inputs, values, strict=True)]
    shared = SharedObject(token_of_function(function), function, _version())
    return _deferred(function.robot, Call("", tuple(inputs)), function.__name__, shared, arguments, {})


def _deferred(
    robot: Any, call: Call, name: str, shared: SharedObject, arguments: Sequence[Argument], options: Mapping[str, Any]
) -> Any:
    try:
        import dask.array  # noqa: F401
    except ImportError:
        if any(library(getattr(a.value, "data", None)) or library(a.value) == "dask" for a in arguments):
            raise FallingCatError("Dask is not fully installed: pip install 'fallingcat[dask]'") from None

    def run(*values: Any) -> Any:
        if not any(library(v) for v in values):
            return call(*values, shared=shared)
        return blockwise(call, name, shared, [Argument(a.name, v, a.core) for a, v in zip(arguments, values, strict=True)])

    if not any(library(a.value) == "xarray" for a in arguments):
        return run(*(a.value for a in arguments))
    inputs = [_labels(robot, a) for a in arguments]
    results = probe(call, shared, [Argument(a.name, _in_place(a, i), a.core) for a, i in zip(arguments, inputs, strict=True)])
    several = isinstance(results, tuple)
    shapes = [r.shape[1:] for r in (results if several else (results,))]
    if _constrains(robot):
        outputs = names.of_constraint_results(robot, name, shapes)
    else:
        outputs = names.of_results(robot, name, shapes, options)
    made = apply(run, name, arguments, inputs, outputs)
    return made if not several else type(results)(*made) if hasattr(results, "_fields") else tuple(made)


def _labels(robot: Any, argument: Argument) -> Labels:
    shape = getattr(argument.value, "shape", ())
    sizes = dict(zip(getattr(argument.value, "dims", ()), shape, strict=False))
    length = sizes.get("dof", shape[-1] if shape else 0)
    if _constrains(robot):
        return names.of_constraint_input(robot, argument.name, length)
    return names.of_input(robot, argument.name, length)


def _constrains(robot: Any) -> bool:
    """Are these a robot's constraints, and not the robot itself?"""
    return not isinstance(robot, Part)


def _in_place(argument: Argument, labels: Labels) -> Any:
    """The argument, if of xarray transposed so that the axes of a state are last; only its shape is used."""
    value = argument.value
    wanted = [a.dim for a in labels.axes]
    if library(value) == "xarray" and hasattr(value, "transpose") and wanted and all(dim in value.dims for dim in wanted):
        return value.transpose(..., *wanted)
    return value


def token_of(robot: Robot | Constraints) -> str:
    """A digest of everything that the results of a robot, or of its constraints, depend on."""
    if not isinstance(robot, Part):
        return _digest(type(robot).__qualname__, robot.token, _version())
    return _digest(type(robot).__qualname__, robot.model.digest, repr(robot._actuation), _version())


def token_of_function(function: CompiledFunction) -> str:
    """A digest of everything that the results of a function of `fc.compile` depend on."""
    return _digest(function.__name__, str(function.kernel.program), _version())


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]


def _version() -> str:
    import fallingcat

    return fallingcat.__version__
