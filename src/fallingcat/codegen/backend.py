"""The interface of back ends: a program becomes a few kinds of functions, which a back end writes in its language.

`write(program, name, backend)` walks the pieces of a schedule. A back end provides one `Body` per function, which the walk
tells what to compute and what to store, and joins the functions at the end. Arrays are the inputs, the outputs and the
workspace; this module decides which value lies where, so that a back end needs no schedule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from fallingcat.codegen.schedule import Schedule, schedule
from fallingcat.trace.blocks import Entry, Product
from fallingcat.trace.dots import DotTable
from fallingcat.trace.loops import Loops, Number, Store, loop, variable
from fallingcat.trace.lower import Part, product_loops, table_loops
from fallingcat.trace.program import Program

STORES = 128
"""Copies per function; compile time grows faster than linearly with the length of a function."""
ANGLES = 32
"""Sines and cosines taken by one function."""
RUN = 8
"""Length from which a run of equal constants is written by a loop."""


@dataclass(frozen=True)
class Array:
    """An array argument of the generated function."""

    name: str
    size: int
    is_output: bool = False
    shape: tuple[int, ...] = ()
    """The shape of an output; for an input, its length."""


@dataclass(frozen=True)
class Place:
    """An array, starting at an offset."""

    array: str
    offset: int = 0


class Body(Protocol):
    """One function under construction. Its parameters are arrays; a value is a string whose form is the back end's own."""

    def number(self, value: float) -> str:
        """A constant."""

    def load(self, array: str, index: int) -> str:
        """An entry of an array."""

    def store(self, array: str, index: int, value: str) -> None:
        """array[index] = value."""

    def operate(self, name: str, op: str, args: Sequence[str]) -> str:
        """The value of an operation of the table `OPS` other than sin and cos; `name` is an unused name for it."""

    def sincos(self, name: str, angle: str) -> tuple[str, str]:
        """Sine and cosine."""

    def loops(self, loops: Loops) -> None:
        """Write loops whose arrays are parameters of this function."""


class Backend(Protocol):
    """A language."""

    def body(self, name: str, parameters: Sequence[Array]) -> Body:
        """A new function, called by the entry function only."""

    def entry(self, name: str, arrays: Sequence[Array], calls: Sequence[tuple[Body, Sequence[Place]]]) -> str:
        """The text of these functions and of the entry function, which calls them in this order."""


@dataclass(frozen=True)
class Written:
    """A program in the language of a back end."""

    name: str
    text: str
    arrays: tuple[Array, ...]
    """The arguments, the workspace last."""
    library: frozenset[str]
    """Those of sin, cos and atan2 that the program calls."""

    @property
    def workspace(self) -> int:
        """Size of the workspace that the caller provides, in numbers."""
        return self.arrays[-1].size


def write(program: Program, name: str, backend: Backend, reserved: Callable[[str], bool] = lambda name: False) -> Written:
    """Write a program as one function; arguments get no names for which `reserved` is true."""
    plan = schedule(program, keep_results=False)
    arrays = _arrays(program, plan.slot_count, reserved)
    calls = list(_Walk(program, plan, arrays, name, backend).functions())
    used = {op for op, _ in program.instructions if op in ("sin", "cos", "atan2")}
    return Written(name, backend.entry(name, arrays, calls), arrays, frozenset(map(str, used)))


def _arrays(program: Program, slots: int, reserved: Callable[[str], bool]) -> tuple[Array, ...]:
    """The arrays of inputs, outputs and workspace, with distinct names."""
    taken = {"workspace"}

    def free(name: str, other: str) -> str:
        name = identifier(name)
        while name in taken or reserved(name):
            name = other.format(name)
        taken.add(name)
        return name

    found = [Array(free(i.name, "{}_in"), i.size, shape=(i.size,)) for i in program.inputs]
    found += [Array(free(o.name, "{}_out"), o.size, True, o.shape) for o in program.outputs]
    return (*found, Array("workspace", max(1, slots), True, (max(1, slots),)))


def identifier(name: str) -> str:
    """A name that every language takes: letters of ASCII, digits and underscores."""
    plain = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_") or "x"
    return f"x{plain}" if plain[0].isdigit() else plain


class _Walk:
    """The functions of a program, in the order of their calls."""

    def __init__(self, program: Program, plan: Schedule, arrays: Sequence[Array], name: str, backend: Backend) -> None:
        self.program, self.plan, self.arrays, self.name, self.backend = program, plan, arrays, name, backend
        self.ins, self.outs = arrays[: len(program.inputs)], arrays[len(program.inputs) : -1]
        self.workspace = arrays[-1]
        self.values: dict[int, str] = {}
        self.pairs: dict[int, tuple[str, str]] = {}
        """Per angle, the names of its sine and cosine in the current function; `values` has all other values."""
        self.results: dict[int, list[tuple[str, int]]] = {}
        for output, flat in zip(self.outs, program.results, strict=True):
            for position, value in enumerate(flat):
                self.results.setdefault(value, []).append((output.name, position))

    def functions(self) -> Iterator[tuple[Body, Sequence[Place]]]:
        yield from self.angles()
        for k, values in enumerate(self.plan.pieces):
            if isinstance(values, int):
                yield from self.copies(f"{k}_fill", [(v, "workspace", slot) for v, slot in self.plan.fills[values]])
                yield self.block(f"{k}", values)
            else:
                body = self.begin(f"{k}")
                for value in values:
                    self.compute(body, value)
                yield body, self.everything
        yield from self.fixed()

    @property
    def everything(self) -> list[Place]:
        return [Place(a.name) for a in self.arrays]

    def piece(self, suffix: str) -> str:
        """The name of an internal function. An `identifier` never contains two underscores in a row, so the name is unique."""
        return f"{self.name}__{suffix}"

    def begin(self, suffix: str) -> Body:
        self.values, self.pairs = {}, {}
        return self.backend.body(self.piece(suffix), self.arrays)

    # -----------------------------------------------------------------------------------------------------------------
    # Values

    def value(self, body: Body, k: int) -> str:
        program = self.program
        found = self.values.get(k)
        if found is not None:
            return found
        if k >= program.first:
            found = body.load("workspace", self.plan.slots[k])
        elif k >= program.input_count:
            return body.number(program.constants[k - program.input_count])
        else:
            at = k
            for array in self.ins:
                if at < array.size:
                    break
                at -= array.size
            found = body.load(array.name, at)
        self.values[k] = found
        return found

    def define(self, body: Body, k: int, value: str) -> None:
        """Record a computed value, and store it in its slots and in the results that it is."""
        self.values[k] = value
        if k in self.plan.slots:
            for slot in (self.plan.slots[k], *self.plan.copies.get(k, ())):
                body.store("workspace", slot, value)
        for array, position in self.results.get(k, ()):
            body.store(array, position, value)

    def compute(self, body: Body, k: int) -> None:
        op, args = self.program.instructions[k - self.program.first]
        assert isinstance(op, str)
        if op in ("sin", "cos"):
            self.define(body, k, self.sincos(body, args[0])[op == "cos"])
        else:
            given = [self.value(body, a) for a in args]
            self.define(body, k, body.operate(f"t{k - self.program.first}", op, given))

    def sincos(self, body: Body, angle: int) -> tuple[str, str]:
        if angle not in self.pairs:
            self.pairs[angle] = body.sincos(f"{angle}", self.value(body, angle))
        return self.pairs[angle]

    # -----------------------------------------------------------------------------------------------------------------
    # Functions

    def angles(self) -> Iterator[tuple[Body, Sequence[Place]]]:
        """The functions that take the sines and cosines of inputs."""
        program, angles = self.program, self.plan.angles
        of: dict[int, list[int]] = {}
        for k, (op, args) in enumerate(program.instructions, start=program.first):
            if op in ("sin", "cos"):
                of.setdefault(args[0], []).append(k)
        for start in range(0, len(angles), ANGLES):
            body = self.begin(f"angles{start // ANGLES}")
            for angle in angles[start : start + ANGLES]:
                for k in of[angle]:
                    self.compute(body, k)
            yield body, self.everything

    def copies(self, suffix: str, stores: Sequence[tuple[int, str, int]]) -> Iterator[tuple[Body, Sequence[Place]]]:
        """Functions that make the given stores, (value, array, position) each, `STORES` per function."""
        for start in range(0, len(stores), STORES):
            body = self.begin(f"{suffix}{start // STORES}")
            for value, array, position in stores[start : start + STORES]:
                body.store(array, position, self.value(body, value))
            yield body, self.everything

    def block(self, suffix: str, k: int) -> tuple[Body, Sequence[Place]]:
        """A product or a table, as a function of its two factors and its destination."""
        op, (left, right) = self.program.instructions[k - self.program.first]
        blocks, direct = self.plan.blocks, self.plan.direct.get(k)
        sizes = [self.program.instructions[x - self.program.first][0].size for x in (left, right)]  # type: ignore[union-attr]
        parameters = [Array("A", sizes[0]), Array("B", sizes[1])]
        places = [Place("workspace", blocks[left]), Place("workspace", blocks[right])]
        if direct is not None:
            assert isinstance(op, Product)
            used = sorted({output for _, _, output, _ in direct.runs})
            parameters += [Array(f"C{j}", self.outs[j].size, True) for j in used]
            places += [Place(self.outs[j].name) for j in used]
            runs = direct.runs
            loops = product_loops(op, [Part(f"C{j}", c, n, tuple(at + row for row in direct.rows)) for c, n, j, at in runs])
        else:
            assert isinstance(op, (Product, DotTable))
            output = op.output if isinstance(op, DotTable) else None
            parameters.append(Array("C", op.size, True))
            places.append(Place("workspace", blocks[k]) if output is None else Place(self.outs[output].name))
            loops = product_loops(op) if isinstance(op, Product) else table_loops(op)
        body = self.backend.body(self.piece(suffix), parameters)
        body.loops(loops)
        return body, places

    def fixed(self) -> Iterator[tuple[Body, Sequence[Place]]]:
        """The functions that store results which no piece has written: constants, inputs, and entries of blocks."""
        program = self.program
        entries = {program.first + k for k, (op, _) in enumerate(program.instructions) if isinstance(op, Entry)}
        entries -= self.plan.written
        single: list[tuple[int, str, int]] = []
        runs: list[tuple[str, int, int, float]] = []
        for output, flat in zip(self.outs, program.results, strict=True):
            for value, group in groupby(range(len(flat)), key=lambda position: flat[position]):
                places = list(group)
                if len(places) >= RUN and program.input_count <= value < program.first:
                    runs.append((output.name, places[0], len(places), program.constants[value - program.input_count]))
                elif value < program.first or value in entries:
                    single += [(value, output.name, position) for position in places]
        if runs:
            body = self.begin("constants")
            at = variable("at")
            for array, first, count, number in runs:
                body.loops(Loops(tuple(loop("at", count, [Store(array, at + first, Number(number))])), {}))
            yield body, self.everything
        yield from self.copies("results", single)
