"""The loop language, to which products of blocks and tables of dot products are lowered, and which every back end writes.

    statement = For | Lookup | Let | Set | Store
    number    = Number | Local | Load | Apply
    index     = Index

Arrays and locals are named, tables hold constant integers, and an index is a polynomial in named integers: variables of loops,
and integers looked up in a table. The back end decides which array a name stands for, and where a block lies in it. The order
of floating-point operations is fixed here, so that all back ends round alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Index:
    """An integer index: a sum of products, each (factor, names)."""

    terms: tuple[tuple[int, tuple[str, ...]], ...]

    def __add__(self, other: Index | int) -> Index:
        found: dict[tuple[str, ...], int] = {}
        for factor, names in (*self.terms, *whole(other).terms):
            found[names] = found.get(names, 0) + factor
        return Index(tuple((factor, names) for names, factor in found.items() if factor))

    def __mul__(self, other: Index | int) -> Index:
        pairs = [(a * b, tuple(sorted((*x, *y)))) for a, x in self.terms for b, y in whole(other).terms]
        return Index(tuple((factor, names) for factor, names in pairs if factor)) + 0

    __radd__ = __add__
    __rmul__ = __mul__


def whole(value: Index | int) -> Index:
    """An integer constant as an index; an index unchanged."""
    return value if isinstance(value, Index) else Index(((value, ()),) if value else ())


def variable(name: str) -> Index:
    """A named integer as an index."""
    return Index(((1, (name,)),))


# ---------------------------------------------------------------------------------------------------------------------
# Numbers


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True)
class Local:
    """The current value of a local."""

    name: str


@dataclass(frozen=True)
class Load:
    """An entry of an array."""

    array: str
    index: Index


@dataclass(frozen=True)
class Apply:
    """An operation of the table `trace.ops.OPS`."""

    op: str
    args: tuple[Real, ...]


Real = Number | Local | Load | Apply


# ---------------------------------------------------------------------------------------------------------------------
# Statements


@dataclass(frozen=True)
class For:
    """A loop in which `name` runs from start to stop - 1."""

    name: str
    start: Index
    stop: Index
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Lookup:
    """name = tables[table][row][column], an integer."""

    name: str
    table: str
    row: Index
    column: int


@dataclass(frozen=True)
class Let:
    """Declares a local of the enclosing body, with its first value."""

    name: str
    value: Real


@dataclass(frozen=True)
class Set:
    """Assigns a new value to a local."""

    name: str
    value: Real


@dataclass(frozen=True)
class Store:
    """array[index] = value."""

    array: str
    index: Index
    value: Real


Statement = For | Lookup | Let | Set | Store


@dataclass(frozen=True)
class Loops:
    """Statements, and the tables of integers that they read."""

    body: tuple[Statement, ...]
    tables: Mapping[str, tuple[tuple[int, ...], ...]]


def loop(name: str, count: Index | int, body: Sequence[Statement], start: int = 0) -> list[Statement]:
    """A list of one loop; empty if the loop would never run."""
    if isinstance(count, int) and count <= start:
        return []
    return [For(name, whole(start), whole(count), tuple(body))]


# ---------------------------------------------------------------------------------------------------------------------
# Running them

Operations = Mapping[str, Callable[..., Any]]
Arrays = Mapping[str, MutableSequence[Any]]


def run(loops: Loops, arrays: Arrays, operations: Operations) -> None:
    """Run loops on arrays of any numbers, with the operations of a table."""
    _Run(loops, arrays, operations).statements(loops.body)


class _Run:
    def __init__(self, loops: Loops, arrays: Arrays, operations: Operations) -> None:
        self.tables, self.arrays, self.operations = loops.tables, arrays, operations
        self.wholes: dict[str, int] = {}
        self.locals: dict[str, Any] = {}

    def statements(self, body: Sequence[Statement]) -> None:
        for s in body:
            if isinstance(s, For):
                for k in range(self.index(s.start), self.index(s.stop)):
                    self.wholes[s.name] = k
                    self.statements(s.body)
            elif isinstance(s, Lookup):
                self.wholes[s.name] = self.tables[s.table][self.index(s.row)][s.column]
            elif isinstance(s, Store):
                self.arrays[s.array][self.index(s.index)] = self.real(s.value)
            else:
                self.locals[s.name] = self.real(s.value)

    def index(self, index: Index) -> int:
        total = 0
        for factor, names in index.terms:
            for name in names:
                factor *= self.wholes[name]
            total += factor
        return total

    def real(self, x: Real) -> Any:
        if isinstance(x, Local):
            return self.locals[x.name]
        if isinstance(x, Load):
            return self.arrays[x.array][self.index(x.index)]
        if isinstance(x, Number):
            return x.value
        return self.operations[x.op](*map(self.real, x.args))
