"""What the parts of `Robot` have in common: a model, and the compiled functions of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.arguments import Batch, check_out, prepare
from fallingcat.compile import Kernel
from fallingcat.errors import FrameError, InputError
from fallingcat.functions import FUNCTIONS, task
from fallingcat.model.joints import Representation
from fallingcat.model.model import Model
from fallingcat.model.suggest import closest
from fallingcat.task import Task

Wrenches = Mapping[str, ArrayLike]
"""Frame name -> (..., 6), acting on the robot, body-fixed in that frame."""


Result = TypeVar("Result")
"""An array, or a named tuple of arrays: what the method that asks says it returns."""


class Part:
    """A family of methods of `Robot`."""

    def __init__(self, model: Model) -> None:
        for name in FUNCTIONS:  # compiled methods of another model, when somebody calls this again
            self.__dict__.pop(name, None)
        self.model = model
        self._kernels: dict[Any, Kernel] = {}
        self._calls: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def kernel(self, name: str, wrenches: Iterable[str] = (), **options: Any) -> Kernel:
        """The compiled function behind a method, for its program, operation count and code.

        >>> print(fc.load("cat").kernel("inverse_dynamics").program)
        """
        if name not in FUNCTIONS:
            raise InputError(f"no function {name!r}", hint=closest(name, FUNCTIONS))
        frames = tuple(wrenches)
        check_options(options)
        key = (name, frames, *options.items())
        found = self._kernels.get(key)
        if found is None:
            made = task(self.model, name, frames, **options)
            found = self._kernels.setdefault(key, self._make_kernel(made, plain=len(key) == 2 and not frames))
        return found

    def _make_kernel(self, made: Task, plain: bool) -> Kernel:
        return Kernel(made, owner=self if plain else None)

    def _run(self, name: str, values: tuple[Any, ...], out: Any, wrenches: Wrenches | None = None, **options: Any) -> Result:  # type: ignore[type-var]
        """Run a compiled function; from the second call on, the quickest way into it is at hand.

        Without options it also stands in the instance itself, in place of the method.
        """
        if wrenches is not None:
            with_wrenches: Result = self._run_with_wrenches(name, values, out, wrenches, options)
            return with_wrenches
        key = (name, *options.items())
        try:
            call = self._calls.get(key)
        except TypeError:  # an option that cannot be looked up; it is refused below
            call = None
        if call is None:
            call = self.kernel(name, **options)
        result: Result = call(*values) if out is None else call(*values, out=out)
        if type(call) is Kernel:
            self._remember(key, call)
        return result

    def _run_with_wrenches(self, name: str, values: tuple[Any, ...], out: Any, wrenches: Wrenches, options: Any) -> Any:
        check_wrenches(name, wrenches)
        if not wrenches:
            return self._run(name, values, out, **options)
        kernel = self.kernel(name, wrenches, **options)
        return kernel.direct(*values, *wrenches.values(), **({} if out is None else {"out": out}))

    def _remember(self, key: tuple[Any, ...], kernel: Kernel) -> None:
        self._calls[key] = kernel.direct
        if kernel.entry_made and len(key) == 1 and not self._overrides(key[0]):
            self.__dict__[key[0]] = kernel.entry

    # What composed functions take arguments and results with; over symbols (`Formulas`) it is something else.

    def _numbers(self, value: Any) -> NDArray[Any]:
        return np.asarray(value, dtype=np.float64)

    def _prepare(self, made: Task, values: Sequence[Any], check: bool = True) -> Batch:
        return prepare(made, values, check)

    def _results(self, made: Task, shape: tuple[int, ...], out: Any) -> tuple[NDArray[Any], ...]:
        return check_out(made, shape, out)

    def _overrides(self, name: str) -> bool:
        """Is the method that of somebody's own class, which must go on being called?"""
        return bool(getattr(type(self), name).__module__.partition(".")[0] != __name__.partition(".")[0])


def check_wrenches(name: str, wrenches: Any) -> None:
    """Refuse wrenches that say nothing about where they act."""
    if not isinstance(wrenches, Mapping):
        raise InputError(
            f"{name}: wrenches is not a mapping", expected="frame name -> (..., 6)", got=type(wrenches).__name__,
            hint='as in wrenches={"left_foot": w}',
        )  # fmt: skip


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that no function knows."""
    frame = options.get("frame", "")
    if not isinstance(frame, str):
        raise FrameError(f"no frame {frame!r}: a frame is given by its name, not by a {type(frame).__name__}")
    representation = options.get("representation", "body")
    if representation not in ("body", "mixed", "inertial"):
        raise InputError("unknown representation", expected="'body', 'mixed' or 'inertial'", got=repr(representation))


def in_representation(representation: Representation) -> dict[str, Any]:
    """The option for a base twist that is not body-fixed."""
    return {} if representation == "body" else {"representation": representation}
