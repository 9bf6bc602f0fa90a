"""Calls with arguments of every kind: a documented error, or the bits that the plain arguments give."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

import fallingcat as fc

from . import disguises, outs
from .disguises import EITHER, REFUSED, SAME, Array
from .problem import ProblemError, words
from .subjects import HALF, STATES, Held, Subject, check_reference, parts, robots, same, subjects, ways

CASES_PER_WATCH, TIME_LIMIT = 1000, 1800.0
"""Calls between two looks at the clock, and the seconds they may take: the first of a process compile."""
SHAPES: tuple[tuple[int, ...], ...] = ((), (), (), (1,), (2,), (3,), (5,), (9,), (2, 3), (1, 4), (0,), (3, 0), (2, 1, 2), (70,))
MANY = (300,)
"""Large enough for results to live in memory that is used again."""
AXES = (31, 32, 33, 40, 62, 63)
"""Numbers of batch axes that some NumPy can still hold, or only just."""
OPTIONS = {
    "frame": ("no such frame", 3, None, b"upper", ["upper"], np.array("upper")),
    "representation": ("mixde", None, 3, np.array(["body"]), ["body"], {"body"}, b"body"),
    "target_representation": ("mixde", 3, ["body"]),
    "source": ("mixde", None, 3, ["body"]),
    "target": ("mixde", None, 3, ["body"]),
    "factorization": ("other", None, 3, ["christoffel"]),
}

DISGUISES = {
    "any": list(disguises.ANY.items()),
    "half": [*disguises.ANY.items(), *disguises.HALF.items()],
    "whole": [*disguises.ANY.items(), *disguises.HALF.items(), *disguises.WHOLE.items()],
}
"""By the kind of numbers that must survive."""


@dataclass
class State:
    robots: dict[str, fc.Robot]
    subjects: list[Subject]
    checked: set[int] = field(default_factory=set)
    held: Held = field(default_factory=lambda: Held(200))


def setup(counts: Counter[str]) -> State:
    made = robots()
    return State(made, subjects(made))


def finish(state: State) -> None:
    state.held.finish()


def case(state: State, index: int, random: Random, counts: Counter[str]) -> None:
    at = random.randrange(len(state.subjects))
    subject = state.subjects[at]
    if at not in state.checked:
        state.checked.add(at)
        check_reference(subject, counts)
    if random.random() < 0.001:
        state.robots = robots()  # new kernels: first calls again
    Call(state, subject, random, counts).make()


class Call:
    """One call: its arguments, its way, and what must come of it."""

    def __init__(self, state: State, subject: Subject, random: Random, counts: Counter[str]) -> None:
        self.state, self.subject, self.random, self.counts = state, subject, random, counts
        self.shape = MANY if random.random() < 0.02 else random.choice(SHAPES)
        self.fate, self.deep = SAME, False
        self.story: list[str] = [repr(subject), f"batch {self.shape}"]
        self.values = [self._value(states) for states in subject.states]
        self.expected = self._expected()

    # -----------------------------------------------------------------------------------------------------------------
    # Arguments

    def _value(self, states: Array) -> tuple[Array, str]:
        """An argument of the batch or of a part of its axes, and what kind of numbers it has."""
        random = self.random
        shape = self.shape
        if shape and random.random() < 0.3:
            shape = shape[random.randrange(len(shape) + 1) :]
        shape = tuple(1 if random.random() < 0.1 and n != 0 else n for n in shape)
        kind, choice = random.choice((("half", HALF), ("half", HALF), ("whole", -1), ("any", STATES)))
        count = math.prod(shape)
        index = [HALF if choice < 0 else random.randrange(choice) for _ in range(min(count, 8))]
        rows = np.resize(np.array(index, dtype=np.int64), count) if index else np.zeros(0, dtype=np.int64)
        return states[rows].reshape(*shape, states.shape[-1]), kind

    def _expected(self) -> list[Array]:
        """The results of plain arguments, all of them, in one call."""
        arrays = [v for v, _ in self.values]
        self.shape = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
        count = math.prod(self.shape)
        rows = [np.ascontiguousarray(np.broadcast_to(a, (*self.shape, a.shape[-1]))).reshape(count, a.shape[-1]) for a in arrays]
        made = [np.empty((count, *o.shape)) for o in self.subject.task.outputs]
        if count:
            self.subject.reference(*rows, out=tuple(made) if len(made) > 1 else made[0])
        return [m.reshape((*self.shape, *o.shape)) for m, o in zip(made, self.subject.task.outputs, strict=True)]

    def _disguised(self, v: Array, kind: str) -> Any:
        random = self.random
        if random.random() < 0.5:
            return v
        name, (make, fate) = random.choice(DISGUISES[kind])
        self.story.append(name)
        self.fate = EITHER if fate == EITHER else self.fate
        return make(v, random)

    def _spoil(self, given: list[Any]) -> None:
        """One argument that must be refused."""
        k = self.random.randrange(len(given))
        name = self.random.choice(list(disguises.BAD))
        self.story.append(f"argument {k}: {name}")
        given[k] = disguises.BAD[name](self.values[k][0])
        self.fate = REFUSED

    def _deepen(self, given: list[Any]) -> None:
        """More batch axes than is usual, all of length one."""
        axes = self.random.choice(AXES)
        try:
            given[0] = np.reshape(self.values[0][0], (1,) * (axes - len(self.values[0][0].shape) + 1) + self.values[0][0].shape)
        except ValueError:  # this NumPy cannot hold them
            return
        self.story.append(f"{axes} axes")
        self.fate, self.deep = EITHER, True
        self.expected = [np.reshape(e, -1) for e in self.expected]

    # -----------------------------------------------------------------------------------------------------------------
    # The call

    def make(self) -> None:
        random = self.random
        given = [self._disguised(v, kind) for v, kind in self.values]
        dice = random.random()
        out = None
        if dice < 0.06:
            self._spoil(given)
        elif dice < 0.07:
            self._deepen(given)
        elif dice < 0.35:
            out, given = self._out(given)
        way, call, by_name = ways(self.state.robots[self.subject.robot], self.subject, random)
        self.story.append(way)
        more: dict[str, Any] = {} if out is None else {"out": out.given}
        if by_name and random.random() < 0.02:
            self._odd_option(more)
        if by_name and random.random() < 0.1:
            more |= {spec.name: value for spec, value in zip(self.subject.task.inputs, given, strict=True)}
            given_now: list[Any] = []
        else:
            given_now = given
        before = [v.copy() for v, _ in self.values] if out is None else []
        self.counts["calls"] += 1
        result = self._result(call, given_now, more)
        if out is not None and out.spoilt():
            raise ProblemError("wrong numbers", f"written beside out: {self.story}")
        if out is None and not all(same(v, b) for (v, _), b in zip(self.values, before, strict=True)):
            raise ProblemError("wrong numbers", f"an argument was changed: {self.story}")
        if result is not None:
            self._compare(result, out)

    def _out(self, given: list[Any]) -> tuple[outs.Out | None, list[Any]]:
        random = self.random
        shapes = [e.shape for e in self.expected]
        way = random.choice(("fitting", "fitting", "fitting", "refused", "overlapping", "folded"))
        self.story.append(f"out: {way}")
        out: outs.Out | None = None
        if way == "fitting":
            out = outs.fitting(shapes, random)
        elif way == "refused":
            out = outs.refused(shapes, random)
        elif way == "folded":
            out = outs.folded(shapes)
        else:
            found = outs.overlapping([v for v, _ in self.values], shapes, random)
            if found is not None:
                out, moved = found
                given = list(moved)
                self.fate = SAME
        if out is not None and out.fate != SAME:
            self.fate = out.fate
        return out, given

    def _odd_option(self, more: dict[str, Any]) -> None:
        known = [name for name, _ in self.subject.options if name in OPTIONS] + ["no_such_option"]
        name = self.random.choice(known)
        if name == "frame" and self.subject.name == "base_change":
            return
        more[name] = 1 if name == "no_such_option" else self.random.choice(OPTIONS[name])
        self.story.append(f"{name}={more[name]!r}")
        self.fate = "a wrong word" if name == "no_such_option" else REFUSED

    def _result(self, call: Any, given: list[Any], more: dict[str, Any]) -> Any:
        """What the call returns; None if it was refused as it should be."""
        try:
            result = call(*given, **more)
        except fc.FallingCatError as error:
            if self.fate == SAME:
                raise ProblemError("other problems", f"refused: {words(error)}: {self.story}") from error
            self.counts["refused"] += 1
            return None
        except TypeError as error:
            if self.fate != "a wrong word":
                raise ProblemError("undocumented exceptions", f"{words(error)}: {self.story}") from error
            self.counts["refused"] += 1
            return None
        except Exception as error:
            raise ProblemError("undocumented exceptions", f"{words(error)}: {self.story}") from error
        if self.fate in (REFUSED, "a wrong word"):
            raise ProblemError("other problems", f"not refused: {self.story}")
        return result

    def _compare(self, result: Any, out: outs.Out | None) -> None:
        found = parts(result)
        if (self.subject.task.results is None and isinstance(result, tuple)) or len(found) != len(self.expected):
            raise ProblemError("wrong numbers", f"the result is a {type(result).__name__}: {self.story}")
        for k, (a, expected) in enumerate(zip(found, self.expected, strict=True)):
            if out is not None:
                given = out.given[k] if isinstance(out.given, tuple) else out.given
                if a is not given:
                    raise ProblemError("other problems", f"out is not what comes back: {self.story}")
                a = out.arrays[k]
            elif type(a) not in (np.ndarray, float):
                raise ProblemError("wrong numbers", f"the result is a {type(a).__name__}: {self.story}")
            plain = np.asarray(a)
            if self.deep and plain.size == expected.size:
                plain = plain.reshape(expected.shape)
            if not same(plain, expected):
                raise ProblemError("wrong numbers", f"result {k}: {_first_difference(plain, expected)}: {self.story}")
            if out is None:
                self.state.held.keep(a, str(self.story))
        self.counts["results compared"] += 1


def _first_difference(a: Any, b: Array) -> str:
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype} {a.shape} instead of {b.dtype} {b.shape}"
    at = np.argwhere(~((a == b) | (np.isnan(a) & np.isnan(b))))
    where = tuple(at[0]) if len(at) else ()
    return f"{a[where]!r} instead of {b[where]!r} at {where}"
