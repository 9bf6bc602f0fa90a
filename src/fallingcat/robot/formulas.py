"""A robot's functions over symbols, which a function gets as its robot while `fc.compile` traces it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fallingcat.arrays.arguments import Batch, prepare
from fallingcat.errors import InputError, TraceError
from fallingcat.functions import FUNCTIONS
from fallingcat.robot.gradients import as_vector
from fallingcat.robot.robot import Robot
from fallingcat.robot.runner import Part, Wrenches, check_options
from fallingcat.robot.symbols import real_or_symbols
from fallingcat.suggest import closest
from fallingcat.task import Task
from fallingcat.trace.arrays import mixed, stand_in
from fallingcat.trace.gradients import Traced, jvp_task, vjp_task


class Formulas(Robot):
    """A robot whose functions run on symbols and numbers, entry by entry, instead of compiled code.

    The methods are those of `Robot`, with their arguments, defaults and errors. Vectors and matrices come as NumPy arrays, of
    objects as soon as there is a symbol among the arguments; slicing, `@` and arithmetic work on them.
    """

    def __init__(self, robot: Robot) -> None:
        Part.__init__(self, robot.model)
        self.description, self._options, self._actuation = robot.description, robot._options, robot._actuation
        self._tasks: dict[Any, Task] = {}

    def __getattr__(self, name: str) -> Any:
        """A function of the table that has no method."""
        if name not in FUNCTIONS:
            raise AttributeError(f"no function {name!r}; {closest(name, [x for x in dir(Robot) if not x.startswith('_')])}")

        def call(*values: Any, wrenches: Wrenches | None = None, **options: Any) -> Any:
            return self._run(name, values, None, wrenches, **options)

        call.__name__ = name
        return call

    def with_base(self, link: str) -> Formulas:
        """The same robot with another link as its base."""
        return Formulas(super().with_base(link))

    # -----------------------------------------------------------------------------------------------------------------
    # What the methods of `Robot` call

    def _run(self, name: str, values: tuple[Any, ...], out: Any, wrenches: Wrenches | None = None, **options: Any) -> Any:
        found = None if wrenches is None else self._on_bodies(name, wrenches)
        if found is not None:
            values, options = (*values, found.values), options | {"wrenches": found.axes}
        return self._run_task(self._task(name, options), values, out)

    def _run_task(self, made: Task, values: tuple[Any, ...], out: Any) -> Any:
        """Evaluate a task, of the robot or of constraints, on symbols, entry by entry."""
        if out is not None:
            _refuse_out(made)
        return self._evaluated(made, values)

    def _evaluated(self, made: Task, values: Sequence[Any]) -> Any:
        batch = self._prepare(made, values)
        rows = [np.broadcast_to(a, (*batch.shape, a.shape[-1])).reshape(batch.count, a.shape[-1]) for a in batch.arrays]
        known = not any(a.dtype == object for a in batch.arrays)
        results = [np.empty((batch.count, o.size), dtype=float if known else object) for o in made.outputs]
        for k in range(batch.count):
            flats = made.flat([row[k].tolist() for row in rows])
            for result, flat in zip(results, flats, strict=True):
                result[k] = list(flat)
        shaped = [r.reshape((*batch.shape, *o.shape))[()] for r, o in zip(results, made.outputs, strict=True)]
        return shaped[0] if made.results is None else made.results(*shaped)

    def vjp(self, name: str, *, ambient: bool = False, **options: Any) -> Any:
        """As `Robot.vjp`, on symbols; wrenches are those on all bodies (`wrenches="body"` and the like)."""
        task = self._task(name, options)
        made = vjp_task(Traced(task), bool(ambient))
        first = len(task.inputs)

        def call(*values: Any) -> Any:
            bars = zip(made.inputs[first:], values[first:], task.outputs, strict=True)
            flat = [as_vector(made.name, spec, value, o.shape) for spec, value, o in bars]
            return self._evaluated(made, (*values[:first], *flat))

        return call

    def jvp(self, name: str, *, ambient: bool = False, **options: Any) -> Any:
        """As `Robot.jvp`, on symbols."""
        made = jvp_task(Traced(self._task(name, options)), bool(ambient))
        return lambda *values: self._evaluated(made, values)

    def _task(self, name: str, options: dict[str, Any]) -> Task:
        options = check_options(self.model, name, options)
        key = (name, *options.items())
        if key not in self._tasks:
            self._tasks[key] = self._made(name, options)
        return self._tasks[key]

    def _numbers(self, value: Any, name: str = "an argument") -> NDArray[Any]:
        return real_or_symbols(name, value)

    def _prepare(self, made: Task, values: Sequence[Any], check: bool = True) -> Batch:
        """The checks of `Robot`, with numbers in place of symbols: a symbol passes if some number would."""
        arrays = [mixed(v) for v in values]
        batch = prepare(made, [v if a is None else stand_in(a) for a, v in zip(arrays, values, strict=True)], check)
        pairs = zip(arrays, batch.arrays, strict=True)
        kept = tuple(np.asarray(number, dtype=np.float64) if a is None else a for a, number in pairs)
        return Batch(kept, batch.shape, batch.count, None)

    def _results(self, made: Task, shape: tuple[int, ...], out: Any) -> tuple[NDArray[Any], ...]:
        if out is not None:
            _refuse_out(made)
        return tuple(np.empty((*shape, *o.shape), dtype=object) for o in made.outputs)

    # -----------------------------------------------------------------------------------------------------------------
    # What is refused on symbols

    def kernel(self, name: str, *_: Any, **__: Any) -> NoReturn:
        """Refused on symbols: a function that is being traced has no compiled code yet."""
        raise TraceError(f"kernel cannot be used inside a function that is traced; call {name}(...) itself")

    def random_configuration(self, *_: Any, **__: Any) -> NoReturn:
        """Refused on symbols: it would be drawn once, when the function is traced."""
        _refuse_chance("random_configuration")

    def random_velocity(self, *_: Any, **__: Any) -> NoReturn:
        """Refused on symbols: it would be drawn once, when the function is traced."""
        _refuse_chance("random_velocity")

    def rollout(self, *_: Any, **__: Any) -> NoReturn:
        """Refused on symbols: its loop runs compiled steps; over symbols it would be one long program."""
        raise TraceError("rollout cannot be used inside a function that is traced; a loop over step(...) can")

    def simulate(self, *_: Any, **__: Any) -> NoReturn:
        """Refused on symbols: its steps are chosen by looking at numbers."""
        raise TraceError("simulate cannot be used inside a function that is traced; its steps depend on numbers")

    def reconstruct(self, *_: Any, **__: Any) -> NoReturn:
        """Refused on symbols: its steps are chosen by looking at numbers."""
        raise TraceError("reconstruct cannot be used inside a function that is traced; its steps depend on numbers")

    def area_estimate(self, *_: Any, **__: Any) -> NoReturn:
        """Refused on symbols: it lays a spline through numbers."""
        raise TraceError("area_estimate cannot be used inside a function that is traced; call it outside")


def _refuse_out(made: Task) -> NoReturn:
    raise InputError(f"{made.name}: out cannot be given inside a function that is traced", hint="use what it returns")


def _refuse_chance(name: str) -> NoReturn:
    raise TraceError(f"{name} cannot be used inside a function that is traced: it would be drawn once; make it an argument")
