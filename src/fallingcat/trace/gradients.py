"""Derivatives of tasks, as tasks, which a kernel's `vjp`, `jvp`, `jacobian` and `hessian` compile.

An input on a Lie group (`Input.tangents`) is differentiated along its velocities; "ambient" derivatives are those by its
entries, those of unit quaternions being restricted to the tangent space of their sphere. Results are plain arrays.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from fallingcat import scalar
from fallingcat.errors import InputError
from fallingcat.lazy import lazy
from fallingcat.scalar import Scalar
from fallingcat.task import Input, Output, Task
from fallingcat.trace.adjoint import pull_back
from fallingcat.trace.program import Program, trace
from fallingcat.trace.replay import Replay
from fallingcat.trace.tangent import push_forward

Vector = Sequence[Scalar]


class Source(Protocol):
    """The function to differentiate: a task, and its program, which is made when it is needed."""

    task: Task

    @property
    def program(self) -> Program: ...


class Traced:
    """A task with its program."""

    def __init__(self, task: Task) -> None:
        self.task = task

    @lazy
    def program(self) -> Program:
        return trace(self.task)


# ---------------------------------------------------------------------------------------------------------------------
# Tasks


def vjp_task(source: Source, ambient: bool = False) -> Task:
    """(inputs, a cotangent per output) -> a cotangent per input."""
    task = source.task
    names = _new_names([o.name for o in task.outputs], "_bar", task)
    inputs = (*task.inputs, *(Input(name, o.size) for name, o in zip(names, task.outputs, strict=True)))
    outputs = tuple(Output(i.name, (_size(i, ambient),)) for i in task.inputs)
    return _made(task, "vjp", ambient, inputs, outputs, _Vjp(source, ambient), named("Cotangents", outputs))


def jvp_task(source: Source, ambient: bool = False) -> Task:
    """(inputs, a tangent per input) -> a tangent per output."""
    task = source.task
    names = _new_names([i.name for i in task.inputs], "_dot", task)
    inputs = (*task.inputs, *(Input(name, _size(i, ambient)) for name, i in zip(names, task.inputs, strict=True)))
    results = None if task.results is None else named("Tangents", task.outputs)
    return _made(task, "jvp", ambient, inputs, task.outputs, _Jvp(source, ambient), results)


def jacobian_task(source: Source, ambient: bool = False) -> Task:
    """inputs -> the derivative of each output by each input: the output's axes, then one for the tangent."""
    task = source.task
    several = len(task.outputs) > 1
    outputs = tuple(
        Output(f"d{o.name}_d{i.name}" if several else i.name, (*o.shape, _size(i, ambient)))
        for o in task.outputs
        for i in task.inputs
    )
    results = named("Jacobians", outputs) if len(outputs) > 1 else None
    return _made(task, "jacobian", ambient, task.inputs, outputs, _Jacobian(source, ambient), results)


def check_scalar(task: Task) -> None:
    """Refuse a function with more than one number as its result: its second derivative would not be one matrix."""
    if len(task.outputs) != 1 or task.outputs[0].size != 1:
        got = ", ".join(f"{o.name} of shape {o.shape}" for o in task.outputs)
        raise InputError(
            f"{task.name}: only a function with one number as its result has a hessian", expected="one number", got=got,
            hint="compile a function that returns one entry or a sum, or take the vjp of the vjp",
        )  # fmt: skip


def _made(
    task: Task, kind: str, ambient: bool, inputs: tuple[Input, ...], outputs: tuple[Output, ...], evaluate: Any,
    results: type | None,
) -> Task:  # fmt: skip
    key = f"{'ambient ' if ambient else ''}{kind} of {task.key}" if task.key else ""
    explain = None if task.explain is None else _Explain(task.explain, len(task.inputs))
    return Task(f"{task.name}_{kind}", inputs, outputs, evaluate, key, results, explain)


@dataclass(frozen=True)
class _Explain:
    """Explains NaN in a derivative as the function explains its own: both are singular at the same inputs."""

    explain: Callable[..., str]
    count: int

    def __call__(self, *vectors: Vector) -> str:
        return self.explain(*vectors[: self.count])


def _new_names(names: Sequence[str], ending: str, task: Task) -> list[str]:
    """Names for further inputs, made by appending `ending`, that differ from the names of the task's inputs."""
    taken = {i.name for i in task.inputs}
    made = []
    for name in names:
        name += ending
        while name in taken:
            name += ending
        taken.add(name)
        made.append(name)
    return made


def named(kind: str, fields: Sequence[Input | Output]) -> type:
    """The type of a named tuple of arrays, one for each field."""
    return _named(kind, tuple(f.name for f in fields))


@cache
def _named(kind: str, fields: tuple[str, ...]) -> type:
    base: Any = namedtuple(kind, fields, rename=True)  # type: ignore[misc]
    again: Callable[[Any], Any] = lambda self: (_filled, (kind, fields, tuple(self)))  # noqa: E731
    return type(kind, (base,), {"__slots__": (), "__reduce__": again, "__module__": __name__})


def _filled(kind: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return _named(kind, fields)(*values)


# ---------------------------------------------------------------------------------------------------------------------
# Their algorithms


@dataclass(frozen=True)
class _Derivative:
    source: Source
    ambient: bool

    def _split(self, vectors: Sequence[Vector]) -> tuple[Sequence[Vector], Sequence[Vector], Replay]:
        """The arguments of the function itself, the further ones, and the function's program run on its arguments."""
        count = len(self.source.task.inputs)
        inputs = vectors[:count]
        return inputs, vectors[count:], Replay(self.source.program, [x for v in inputs for x in v])

    def _cotangents(self, inputs: Sequence[Vector], run: Replay, bars: Sequence[Vector]) -> list[Vector]:
        flat = pull_back(run, bars)
        pulled: list[Vector] = []
        at = 0
        for spec, x in zip(self.source.task.inputs, inputs, strict=True):
            bar = flat[at : at + spec.size]
            at += spec.size
            pulled.append(_tangent_to_spheres(spec, x, bar) if self.ambient else _of_velocity(spec, x, bar))
        return pulled

    def _tangents(self, inputs: Sequence[Vector], run: Replay, dots: Sequence[Vector]) -> list[Sequence[Scalar]]:
        rates: list[Scalar] = []
        for spec, x, dot in zip(self.source.task.inputs, inputs, dots, strict=True):
            rates += _tangent_to_spheres(spec, x, dot) if self.ambient else _rate(spec, x, dot)
        return push_forward(run, rates)

    def _shaped(self, flats: Sequence[Any]) -> Any:
        outputs = self.source.task.outputs
        shaped = [scalar.tensor(x, o.shape) if o.shape else x[0] for x, o in zip(flats, outputs, strict=True)]
        return shaped[0] if self.source.task.results is None else tuple(shaped)


class _Vjp(_Derivative):
    def __call__(self, *vectors: Vector) -> Any:
        inputs, bars, run = self._split(vectors)
        return tuple(self._cotangents(inputs, run, bars))


class _Jvp(_Derivative):
    def __call__(self, *vectors: Vector) -> Any:
        inputs, dots, run = self._split(vectors)
        return self._shaped(self._tangents(inputs, run, dots))


class _Jacobian(_Derivative):
    """Jacobians, row by row in reverse mode or column by column in forward mode, whichever are fewer."""

    def __call__(self, *vectors: Vector) -> Any:
        inputs, _, run = self._split(vectors)
        task = self.source.task
        rows, columns = [o.size for o in task.outputs], [_size(i, self.ambient) for i in task.inputs]
        blocks: list[Any]
        if sum(rows) < sum(columns):
            found = [self._cotangents(inputs, run, seed) for seed in _units(rows)]
            lines = [[row[j] for row in found] for j in range(len(columns))]
            blocks = [part[sum(rows[:k]) : sum(rows[: k + 1])] for k in range(len(rows)) for part in lines]
        else:
            pushed = [self._tangents(inputs, run, seed) for seed in _units(columns)]
            blocks = [
                [list(row) for row in zip(*(list(pushed[c][k]) for c in _range(columns, j)), strict=True)]
                for k in range(len(rows))
                for j in range(len(columns))
            ]
        outputs = [o for o in task.outputs for _ in task.inputs]
        shaped = [_with_rows(block, o.shape) for block, o in zip(blocks, outputs, strict=True)]
        return shaped[0] if len(shaped) == 1 else tuple(shaped)


def _units(sizes: Sequence[int]) -> list[list[list[float]]]:
    """The unit vectors of a product of spaces of these dimensions, each as one list per space."""
    total = sum(sizes)
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return [[[float(n == s + k) for k in range(size)] for s, size in zip(starts, sizes, strict=True)] for n in range(total)]


def _range(sizes: Sequence[int], j: int) -> range:
    return range(sum(sizes[:j]), sum(sizes[: j + 1]))


def _with_rows(rows: list[Any], shape: tuple[int, ...]) -> Any:
    """The rows of a derivative as a tensor with the output's axes first."""
    return scalar.tensor(rows, shape) if shape else rows[0]


# ---------------------------------------------------------------------------------------------------------------------
# Velocities of inputs


def _size(spec: Input, ambient: bool) -> int:
    return spec.size if ambient or spec.tangents is None else spec.tangents.size


def _rate(spec: Input, x: Vector, velocity: Vector) -> list[Scalar]:
    return list(velocity if spec.tangents is None else spec.tangents.rate(x, velocity))


def _of_velocity(spec: Input, x: Vector, bar: Vector) -> list[Scalar]:
    """The cotangent of an input's velocity: the transpose of `_rate`, applied to the cotangent of its entries."""
    if spec.tangents is None:
        return list(bar)
    units = _units([spec.tangents.size])
    return [scalar.dot(spec.tangents.rate(x, unit), bar) for (unit,) in units]


def _tangent_to_spheres(spec: Input, x: Vector, rate: Vector) -> list[Scalar]:
    """A rate or cotangent projected on the tangent spaces of the unit spheres of quaternions; the projection is symmetric."""
    kept = list(rate)
    for at in spec.quaternions:
        q, r = x[at : at + 4], rate[at : at + 4]
        outward = scalar.dot(q, r) / scalar.dot(q, q)
        kept[at : at + 4] = [b - outward * a for a, b in zip(q, r, strict=True)]
    return kept
