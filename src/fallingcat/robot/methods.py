"""The methods of `Robot` that run compiled functions.

Seen from a robot, such a method is a built-in function that carries the method's signature and documentation. It calls the
method until there is code for plain single states, and then runs that code, also through a reference taken earlier:
`f = robot.inverse_dynamics` before the first call is as fast as `robot.inverse_dynamics(...)` after it.
Options, as in `robot.frame_jacobian(q, "foot")`, lead to another compiled function, which is remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fallingcat.arrays.non_numpy import LazyArrayError, deferrable
from fallingcat.choices import NO_HASH
from fallingcat.codegen import Kernel, cpython
from fallingcat.errors import InputError

MAX_CALLS = 1024
"""Combinations of options that a method remembers."""

OPTIONS = (str, type(None))
"""Types of options that are remembered; a call with others is the method's."""


class CompiledCall(NamedTuple):
    """The compiled function that a method runs with certain options."""

    call: Callable[..., Any]
    values: tuple[Any, ...]
    """What it takes: the inputs of the method, and then what follows from the options."""


class DryRun:
    """Stands in for a robot while one of its methods runs, to learn which compiled function it calls; nothing is computed."""

    def __init__(self, robot: Any) -> None:
        self._robot = robot

    def __getattr__(self, name: str) -> Any:
        return getattr(self._robot, name)

    def _run(self, name: str, values: tuple[Any, ...], out: Any, wrenches: None = None, **options: Any) -> CompiledCall:
        return CompiledCall(self._robot._calls[name, *options.items()], values)


class Method:
    """Called by the built-in function of a robot's method for all arguments other than plain single states."""

    __slots__ = ("calls", "function", "inputs", "kernel", "robot", "served")

    def __init__(self, function: Callable[..., Any], robot: Any, inputs: int) -> None:
        self.function, self.robot, self.inputs = function, robot, inputs
        self.kernel: Kernel | None = None
        """The compiled function behind the method without options, once it has been called."""
        self.served = False
        """Does the built-in function have the code for one state? It has none yet if the first call was with a batch."""
        self.calls: dict[Any, CompiledCall | None] = {}
        """Compiled functions by the options as they were given; None if the method does more than call one function."""

    def __call__(self, *values: Any, **named: Any) -> Any:
        if (len(values) > self.inputs or (named and (len(named) > 1 or "out" not in named))) and "wrenches" not in named:
            return self._with_options(values, named)
        kernel = self.kernel
        if kernel is not None and len(values) == self.inputs and (not named or "out" in named):
            try:
                result = kernel(*values, **named)
            except InputError:
                pass  # the method may accept these arguments, or raises the error
            else:
                if kernel.entry_made and not self.served:
                    self.served = True
                    has_code(self.robot, kernel)
                return result
        return self._by_method(values, named)

    def _with_options(self, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call the compiled function that is remembered for these options, or else the method."""
        out = named.get("out")
        by_name = named if out is None else {name: x for name, x in named.items() if name != "out"}
        options = (values[self.inputs :], *by_name.items())
        try:
            found = self.calls[options]
        except KeyError:
            result = self._by_method(values, named)
            self._remember(options, values, by_name)
            return result
        except NO_HASH:
            found = None
        if found is not None:
            try:
                given = values[: self.inputs] + found.values
                result = found.call(*given) if out is None else found.call(*given, out=out)
            except InputError:
                pass  # as above
            else:
                if type(found.call) is Kernel and found.call.entry_made:  # the next call finds this entry, which is faster
                    self.calls.pop(options, None)
                return result
        return self._by_method(values, named)

    def _remember(self, options: tuple[Any, ...], values: tuple[Any, ...], by_name: dict[str, Any]) -> None:
        """Remember which compiled function the method calls with these options, if the method only returns its result."""
        by_position, *rest = options
        if len(values) < self.inputs or any(type(x) not in OPTIONS for x in (*by_position, *(x for _, x in rest))):
            return
        try:
            found = self.function(DryRun(self.robot), *values, **by_name)
            same = type(found) is CompiledCall and all(x is y for x, y in zip(values[: self.inputs], found.values, strict=False))
        except Exception:  # the method computes with the result
            same = False
        if len(self.calls) >= MAX_CALLS:
            self.calls.clear()
        self.calls[options] = CompiledCall(found.call, found.values[self.inputs :]) if same else None

    def _by_method(self, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
        try:
            return self.function(self.robot, *values, **named)
        except LazyArrayError:
            pass
        return self.robot._deferred(self.function, values, named)

    def __repr__(self) -> str:
        return f"<{self.function.__name__} of {self.robot!r}>"

    def __reduce__(self) -> Any:
        # A pickled built-in function is the attribute of that name of whatever its `self` becomes.
        return _itself, (self.robot,)


class CompiledMethod:
    """A descriptor that replaces a method in the class and gives each robot its own built-in function."""

    def __init__(self, function: Callable[..., Any], inputs: int) -> None:
        """inputs: how many of the arguments are inputs of the compiled function; the others are options."""
        self.__wrapped__, self._inputs = function, inputs
        self.__doc__ = function.__doc__
        self._name = function.__name__
        self._doc = cpython.text_signature(function)

    def __get__(self, robot: Any, owner: type | None = None) -> Any:
        if robot is None:
            return self.__wrapped__
        # A user's subclass that overrides the method must still be called; then this is its super().
        stands = next(c.__dict__[self._name] for c in type(robot).__mro__ if self._name in c.__dict__) is self
        if not stands or not cpython.fast_calls_possible():
            return deferrable(self.__wrapped__).__get__(robot)
        method = Method(self.__wrapped__, robot, self._inputs)
        function = cpython.builtin(self._name, method, self._doc, self.__wrapped__.__module__)
        return robot.__dict__.setdefault(self._name, function)


def has_code(robot: Any, kernel: Kernel) -> None:
    """Give the built-in function of a robot's method the kernel that now exists, with its code if it is compiled."""
    function = robot.__dict__.get(kernel.task.name)
    method = getattr(function, "__self__", None)
    if isinstance(method, Method):
        method.kernel = kernel
        kernel.serve(function)


def _itself(robot: Any) -> Any:
    return robot
