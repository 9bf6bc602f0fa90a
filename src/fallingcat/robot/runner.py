"""The base class of the parts of `Robot`: a model and its compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.actuation import Actuation
from fallingcat.arrays.arguments import Batch, check_out, prepare, real_array
from fallingcat.arrays.non_numpy import refuse_non_numpy
from fallingcat.choices import GROUPS, NO_HASH, REPRESENTATIONS, check_choice
from fallingcat.codegen import Kernel
from fallingcat.codegen.spread import spread
from fallingcat.errors import FrameError, InputError
from fallingcat.functions import BEHIND, FUNCTIONS, task
from fallingcat.model.joints import Representation
from fallingcat.model.model import Model
from fallingcat.robot.ahead import compile_ahead, jobs_of
from fallingcat.robot.bases import check_base
from fallingcat.robot.factors import checked_factorization
from fallingcat.robot.methods import CompiledMethod, has_code
from fallingcat.robot.wrenches import KEPT, BodyWrenches, Key, Table, one_state, table, taken_apart
from fallingcat.robot.wrenches import Wrenches as FrameWrenches
from fallingcat.suggest import closest
from fallingcat.task import Task
from fallingcat.text import shown

Wrenches = Mapping[str, ArrayLike] | FrameWrenches | BodyWrenches
"""Frame name -> (..., 6), acting on the robot, body-fixed in that frame; or in axes of the user's choice."""

Group = Literal["product", "tangent"]
"""The group structure of states (`choices.GROUPS`)."""

Result = TypeVar("Result")
"""An array or a named tuple of arrays: the declared return type of the calling method."""


class Part:
    """A family of methods of `Robot`."""

    _actuation: Actuation | None = None
    """The actuation by the inputs; None if they are the joint torques."""
    _inputs_of_file: bool = False
    """Are the inputs the actuators of the robot's file? Then nv numbers are generalized forces, even if there are nv inputs."""
    _run_task: Callable[[Task, tuple[Any, ...], Any], Any] | None = None
    """Runs a task of constraints on symbols; None for a robot with compiled functions."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Replace methods of the library's classes that are functions of the table by compiled ones."""
        super().__init_subclass__(**options)
        if cls.__module__.partition(".")[0] == __name__.partition(".")[0]:
            for name in FUNCTIONS.keys() & cls.__dict__.keys():
                setattr(cls, name, CompiledMethod(cls.__dict__[name], len(FUNCTIONS[name].inputs)))

    def __init__(self, model: Model) -> None:
        for name in FUNCTIONS:  # drop compiled methods of another model, if this is called again
            self.__dict__.pop(name, None)
        self.model = model
        self._kernels: dict[Any, Kernel] = {}
        self._calls: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._tables: dict[Key, Table] = {}
        self._places: dict[str, NDArray[Any]] = {}
        self._chosen: dict[tuple[str, ...], NDArray[np.intp]] = {}

    def kernel(self, name: str, **options: Any) -> Kernel:
        """The compiled function behind a method, for its program, operation count and code.

        Options are those of the method; wrenches="body" (or "mixed", "inertial") is the function that takes wrenches on all
        bodies as one more vector, whatever frames they are given on.

        >>> print(fc.load("cat").kernel("inverse_dynamics").program)
        """
        if not isinstance(name, str) or (name not in FUNCTIONS and name not in BEHIND):
            raise InputError(f"no function {shown(name)}", hint=closest(name, FUNCTIONS))
        options = with_defaults(name, check_options(self.model, name, options))
        key = (name, *sorted(options.items()))
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels.setdefault(key, Kernel(self._made(name, options)))
        return found

    def compile(
        self, functions: Iterable[str | tuple[str, Mapping[str, Any]]], *, single: bool = True, batch: bool = False,
        progress: bool = True,
    ) -> None:  # fmt: skip
        """Prepare functions ahead, on all processors at once, with a progress bar on a terminal.

        functions: names, or (name, options). single, batch: code for one state, for many, or both.

        >>> robot.compile(["inverse_dynamics", ("forward_dynamics", {"wrenches": "body"})], batch=True)
        """
        names = [functions] if isinstance(functions, str) else functions
        compile_ahead(self, jobs_of(self, names), single, batch, progress)

    def _made(self, name: str, options: Mapping[str, Any]) -> Task:
        """The task of a function, with the actuation of the robot where options ask for it."""
        if "inputs" in options and self._actuation is None:
            raise InputError(f"{name}: this robot has no inputs of its own", hint="robot.with_actuation(...) sets them")
        return task(self.model, name, actuation=self._actuation if "inputs" in options else None, **options)

    def _run(self, name: str, values: tuple[Any, ...], out: Any, wrenches: Wrenches | None = None, **options: Any) -> Result:  # type: ignore[type-var]
        """Run a compiled function; from the second call on, its entry is looked up directly."""
        if wrenches is not None:
            found = self._on_bodies(name, wrenches)
            if found is not None:
                values, options = (*values, found.values), options | {"wrenches": found.axes}
        key = (name, *options.items())
        try:
            call = self._calls.get(key)
        except NO_HASH:  # refused below
            call = None
        if call is None:
            call = self.kernel(name, **options)
        result: Result = call(*values) if out is None else call(*values, out=out)
        if type(call) is Kernel:
            self._remember(key, call)
        return result

    def _on_bodies(self, name: str, wrenches: Wrenches) -> BodyWrenches | None:
        """Wrenches on frames as wrenches on bodies; None if there are none."""
        if isinstance(wrenches, BodyWrenches):
            return wrenches
        key, values = taken_apart(name, wrenches)
        for value in values if type(values) is tuple else ():
            if type(value) is not np.ndarray:
                refuse_non_numpy(name, "wrenches", value)
        if not key[0]:
            return None
        try:
            found = self._tables.get(key)
        except NO_HASH:  # refused below
            found = None
        if found is None:
            if len(self._tables) >= KEPT:
                self._tables.clear()
            found = self._tables[key] = table(self.model, key)
        together = one_state(values, found.shapes)
        if together is None:
            parts = tuple(np.moveaxis(values, -2, 0)) if isinstance(values, np.ndarray) else values
            batch = self._prepare(Task(name, found.checks, (), len), parts, check=False)
            together = np.concatenate([np.broadcast_to(self._numbers(a), (*batch.shape, 6)) for a in batch.arrays], axis=-1)
        return BodyWrenches(spread(found.lines, together, found.size), key[1])

    def _remember(self, key: tuple[Any, ...], kernel: Kernel) -> None:
        self._calls[key] = kernel.entry if kernel.entry_made else kernel
        if key == (kernel.task.name,):
            has_code(self, kernel)

    def _deferred(self, function: Callable[..., Any], values: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """A method with arguments of Dask or xarray: a lazy result, computed block by block."""
        from fallingcat.robot.deferred import defer_method

        return defer_method(self, function, values, named)  # type: ignore[arg-type]

    # Conversion of arguments and results of composed functions; `Formulas` overrides it for symbols.

    def _numbers(self, value: Any, name: str = "an argument") -> NDArray[Any]:
        return real_array(name, value)

    def _prepare(self, made: Task, values: Sequence[Any], check: bool = True) -> Batch:
        return prepare(made, values, check)

    def _results(self, made: Task, shape: tuple[int, ...], out: Any) -> tuple[NDArray[Any], ...]:
        return check_out(made, shape, out)


def check_frame(frame: Any) -> None:
    """Refuse a value that is not a string, as a frame is given by its name."""
    if not isinstance(frame, str):
        raise FrameError(f"no frame {shown(frame)}: a frame is given by its name, not by a {type(frame).__name__}")


def check_options(model: Model, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a function; raises for unknown options and values."""
    function = FUNCTIONS.get(name) or BEHIND[name]
    if name == "base_change" and "frame" in options and "base" not in options:  # as the method calls it
        options = {"base" if option == "frame" else option: value for option, value in options.items()}
    known = (*function.options, *(("representation",) if function.any_representation else ()), "wrenches", "inputs")
    for option, value in options.items():
        if option not in known:
            raise InputError(f"{name} has no option {option!r}", hint=closest(option, known))
        if option == "frame":
            check_frame(value)
        if option == "wrenches":
            check_choice("axes of wrenches", value, REPRESENTATIONS)
        if option in WORDS:
            check_choice(option, value, WORDS[option])
    if "factorization" in options:
        options = {**options, "factorization": checked_factorization(options["factorization"])}
    base = options.get("base")
    if base is not None:
        options = {**options, "base": tuple(base) if isinstance(base, list) else base}
        check_base(model, options["base"], options.get("target_representation", options.get("representation", "mixed")))
    return dict(options)


def with_defaults(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a function with the defaults of its method, normalised as the method passes them; a frame must be given."""
    function = FUNCTIONS.get(name) or BEHIND[name]
    needed = "frame" if "frame" in function.options else "base" if name == "base_change" else ""
    if needed and needed not in options:
        raise InputError(f"{name}: no frame", expected='the name of one, as in frame="hand"')
    if "base" in function.options:
        options.setdefault("base", None)
    if "representation" in function.options:
        options.setdefault("representation", "mixed" if "base" in options else "body")
    usual = {"group": "product"} | ({"representation": "body"} if function.any_representation else {})
    return {option: value for option, value in options.items() if option not in usual or usual[option] != value}


WORDS = {
    "representation": REPRESENTATIONS, "target_representation": REPRESENTATIONS, "source": REPRESENTATIONS,
    "target": REPRESENTATIONS, "inputs": ("tau", "u"), "group": GROUPS,
}  # fmt: skip


def in_representation(representation: Representation) -> dict[str, Any]:
    """The option for a base twist that is not body-fixed."""
    return {} if isinstance(representation, str) and representation == "body" else {"representation": representation}


def in_group(group: Group) -> dict[str, Any]:
    """The option for a group of states on which velocities do not simply add."""
    return {} if isinstance(group, str) and group == "product" else {"group": group}
