"""The methods of `Robot` that run compiled functions.

Seen from a robot, such a method is a built-in function that carries the method's signature and documentation. It calls the
method until there is code for plain single states, and then runs that code, also through a reference taken earlier:
`f = robot.inverse_dynamics` before the first call is as fast as `robot.inverse_dynamics(...)` after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fallingcat.arrays.non_numpy import LazyArrayError, deferrable
from fallingcat.codegen import Kernel, cpython
from fallingcat.errors import InputError


class Method:
    """What the built-in function of a robot's method calls where plain single states are not what it got."""

    __slots__ = ("function", "kernel", "robot", "served")

    def __init__(self, function: Callable[..., Any], robot: Any) -> None:
        self.function, self.robot = function, robot
        self.kernel: Kernel | None = None
        """The compiled function behind the method without options, once it has been called."""
        self.served = False
        """Does the built-in function have the code for one state? Not after a first call with a batch."""

    def __call__(self, *values: Any, **named: Any) -> Any:
        kernel = self.kernel
        if kernel is not None and len(values) == len(kernel.task.inputs) and (not named or named.keys() == {"out"}):
            try:
                result = kernel(*values, **named)
            except InputError:
                pass  # the method may know more about its arguments, and has the words
            else:
                if kernel.entry_made and not self.served:
                    self.served = True
                    has_code(self.robot, kernel)
                return result
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
    """Stands in the class in place of a method and gives each robot its built-in function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function
        self.__doc__ = function.__doc__
        self._name = function.__name__
        self._doc = cpython.text_signature(function)

    def __get__(self, robot: Any, owner: type | None = None) -> Any:
        if robot is None:
            return self.__wrapped__
        # A user's own class that overrides the method must go on being called; this is its super().
        stands = next(c.__dict__[self._name] for c in type(robot).__mro__ if self._name in c.__dict__) is self
        if not stands or not cpython.fast_calls_possible():
            return deferrable(self.__wrapped__).__get__(robot)
        function = cpython.builtin(self._name, Method(self.__wrapped__, robot), self._doc, self.__wrapped__.__module__)
        return robot.__dict__.setdefault(self._name, function)


def has_code(robot: Any, kernel: Kernel) -> None:
    """Tell the built-in function of a robot's method that there is a kernel behind it now, and its code if there is any."""
    function = robot.__dict__.get(kernel.task.name)
    method = getattr(function, "__self__", None)
    if isinstance(method, Method):
        method.kernel = kernel
        kernel.serve(function)


def _itself(robot: Any) -> Any:
    return robot
