"""What the parts of `Robot` have in common: a model, and the compiled functions of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.ahead import as_jobs, compile_ahead
from fallingcat.algorithms.base_change import check_base
from fallingcat.algorithms.coriolis import FACTORS
from fallingcat.arguments import Batch, check_out, prepare
from fallingcat.choices import REPRESENTATIONS, check_choice, several_names
from fallingcat.compile import Kernel
from fallingcat.errors import FrameError, InputError
from fallingcat.functions import FUNCTIONS, task
from fallingcat.model.joints import Representation
from fallingcat.model.model import Model
from fallingcat.model.suggest import closest
from fallingcat.robot_methods import CompiledMethod, has_code
from fallingcat.task import Task
from fallingcat.text import shown

Wrenches = Mapping[str, ArrayLike]
"""Frame name -> (..., 6), acting on the robot, body-fixed in that frame."""


Result = TypeVar("Result")
"""An array, or a named tuple of arrays: what the method that asks says it returns."""


class Part:
    """A family of methods of `Robot`."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Methods of the library's own classes that are functions of the table run compiled code."""
        super().__init_subclass__(**options)
        if cls.__module__.partition(".")[0] == __name__.partition(".")[0]:
            for name in FUNCTIONS.keys() & cls.__dict__.keys():
                setattr(cls, name, CompiledMethod(cls.__dict__[name]))

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
        if not isinstance(name, str) or name not in FUNCTIONS:
            raise InputError(f"no function {shown(name)}", hint=closest(name, FUNCTIONS))
        frames = several_names("wrenches", wrenches)
        options = check_options(self.model, name, options)
        key = (name, frames, *options.items())
        found = self._kernels.get(key)
        if found is None:
            made = task(self.model, name, frames, **options)
            found = self._kernels.setdefault(key, Kernel(made))
        return found

    def compile(
        self, functions: Iterable[str | tuple[str, Mapping[str, Any]]], *, single: bool = True, batch: bool = False,
        progress: bool = True,
    ) -> None:  # fmt: skip
        """Prepare functions ahead, on all processors at once, with a progress bar on a terminal.

        functions: names, or (name, options). single, batch: code for one state, for many, or both.

        >>> robot.compile(["inverse_dynamics", ("frame_pose", {"frame": "tool"})], batch=True)
        """
        names = [functions] if isinstance(functions, str) else functions
        compile_ahead(self, as_jobs(names), single, batch, progress)

    def _run(self, name: str, values: tuple[Any, ...], out: Any, wrenches: Wrenches | None = None, **options: Any) -> Result:  # type: ignore[type-var]
        """Run a compiled function; from the second call on, the quickest way into it is at hand."""
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
        call = kernel.entry if kernel.entry_made else kernel
        return call(*values, *wrenches.values(), **({} if out is None else {"out": out}))

    def _remember(self, key: tuple[Any, ...], kernel: Kernel) -> None:
        self._calls[key] = kernel.entry if kernel.entry_made else kernel
        if len(key) == 1:
            has_code(self, kernel)

    # What composed functions take arguments and results with; over symbols (`Formulas`) it is something else.

    def _numbers(self, value: Any) -> NDArray[Any]:
        return np.asarray(value, dtype=np.float64)

    def _prepare(self, made: Task, values: Sequence[Any], check: bool = True) -> Batch:
        return prepare(made, values, check)

    def _results(self, made: Task, shape: tuple[int, ...], out: Any) -> tuple[NDArray[Any], ...]:
        return check_out(made, shape, out)


def check_wrenches(name: str, wrenches: Any) -> None:
    """Refuse wrenches that say nothing about where they act."""
    if not isinstance(wrenches, Mapping):
        raise InputError(
            f"{name}: wrenches is not a mapping", expected="frame name -> (..., 6)", got=type(wrenches).__name__,
            hint='as in wrenches={"left_foot": w}',
        )  # fmt: skip


def check_options(model: Model, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a function, if it has them and their values are among those that it knows."""
    function = FUNCTIONS[name]
    known = (*function.options, *(("representation",) if function.any_representation else ()))
    for option, value in options.items():
        if option not in known:
            raise InputError(f"{name} has no option {option!r}", hint=closest(option, known))
        if option == "frame" and not isinstance(value, str):
            raise FrameError(f"no frame {shown(value)}: a frame is given by its name, not by a {type(value).__name__}")
        if option in WORDS:
            check_choice(option, value, WORDS[option])
    base = options.get("base")
    if base is not None:
        options = {**options, "base": tuple(base) if isinstance(base, list) else base}
        check_base(model, options["base"], options.get("representation", "mixed"))
    return dict(options)


WORDS = {"representation": REPRESENTATIONS, "velocity": REPRESENTATIONS, "factorization": tuple(FACTORS)}


def in_representation(representation: Representation) -> dict[str, Any]:
    """The option for a base twist that is not body-fixed."""
    return {} if isinstance(representation, str) and representation == "body" else {"representation": representation}
