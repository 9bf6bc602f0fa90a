"""The loop language: what products of blocks and tables of dot products are lowered to, for every back end to spell.

    statement = For | Lookup | Let | Set | Store
    number    = Number | Local | Load | Apply
    index     = Index

Arrays and locals are named, tables hold whole numbers that are known, and an index is a polynomial in whole numbers that
have names: the variables of loops, and what was looked up in a table. Which array a name stands for, and where a block lies
in it, is the back end's business. The order of the operations on numbers is fixed here, so that all of them round alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Index:
    """A sum of products: (factor, names) each."""

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
    """A known whole number as an index."""
    return value if isinstance(value, Index) else Index(((value, ()),) if value else ())


def variable(name: str) -> Index:
    """A whole number by its name."""
    return Index(((1, (name,)),))


# ---------------------------------------------------------------------------------------------------------------------
# Numbers


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True)
class Local:
    """The present value of a local."""

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
    """name = start, ..., stop - 1."""

    name: str
    start: Index
    stop: Index
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Lookup:
    """name = tables[table][row][column], a whole number."""

    name: str
    table: str
    row: Index
    column: int


@dataclass(frozen=True)
class Let:
    """A local of the body that this stands in, with its first value."""

    name: str
    value: Real


@dataclass(frozen=True)
class Set:
    """A new value of a local."""

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
    """Statements, and the tables that they look into."""

    body: tuple[Statement, ...]
    tables: Mapping[str, tuple[tuple[int, ...], ...]]


def loop(name: str, count: Index | int, body: Sequence[Statement], start: int = 0) -> list[Statement]:
    """A loop; none where it would not run."""
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
