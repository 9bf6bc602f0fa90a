"""The pieces of a program as LLVM text, for any number of lanes.

The writer of a piece refers to values by number; how they are loaded and stored (inputs, results, slots of
the workspace) is up to the `Storage` that the single and the batched kernel each provide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fallingcat.codegen.builder import Function
from fallingcat.codegen.dots import dots_text
from fallingcat.codegen.lanes import Lanes
from fallingcat.codegen.products import Site, Store, product_text
from fallingcat.codegen.schedule import Schedule
from fallingcat.trace.blocks import Product
from fallingcat.trace.dots import DotTable
from fallingcat.trace.program import Program


@dataclass(frozen=True)
class Storage:
    """How a piece loads inputs and stores results."""

    parameters: tuple[str, ...]
    """The parameters of every piece."""
    load_input: Callable[[PieceWriter, int], str]
    store_result: Callable[[PieceWriter, int, str], None]
    """Called for every computed value; stores it in the outputs if it is a result."""
    store_direct: Store
    """Stores a tile of a product whose entries are results."""


RELOAD_AFTER = 60
"""Lines after which a value that is in memory is loaded again rather than kept in a register: registers are few."""


class PieceWriter(Function):
    """Writes the function of one piece; values are referred to by their number in the program."""

    def __init__(self, name: str, program: Program, plan: Schedule, lanes: Lanes, storage: Storage) -> None:
        super().__init__(name, "void", storage.parameters, internal=True, attributes="#0")
        self.program, self.plan, self.lanes, self.storage = program, plan, lanes, storage
        self._names: dict[int, str] = {}
        self._used: dict[int, int] = {}

    @property
    def finished(self) -> str:
        self.ret()
        return self.text

    def _element(self, base: str, index: int) -> str:
        return base if index == 0 else self.value(f"getelementptr {self.lanes.type}, ptr {base}, i64 {index}")

    def take(self, base: str, index: int) -> str:
        """Load an entry of an array."""
        return self.value(f"load {self.lanes.type}, ptr {self._element(base, index)}, align {self.lanes.align}")

    def put(self, value: str, base: str, index: int) -> None:
        where = self._element(base, index)
        self.do(f"store {self.lanes.type} {value}, ptr {where}, align {self.lanes.align}")

    def get(self, k: int) -> str:
        """The name of a value, loading it if this piece did not compute it."""
        program = self.program
        if program.input_count <= k < program.first:
            return self.lanes.constant(program.constants[k - program.input_count])
        name = self._names.get(k)
        now = self.length
        in_memory = k < program.input_count or k in self.plan.slots
        if name is None or (in_memory and now - self._used[k] > RELOAD_AFTER):
            name = self.storage.load_input(self, k) if k < program.input_count else self.take("%ws", self.plan.slots[k])
            self._names[k] = name
        self._used[k] = now
        return name

    def define(self, k: int, name: str) -> None:
        """Record a computed value, and store it in its slots and, if it is a result, in the outputs."""
        self._names[k] = name
        self._used[k] = self.length
        if k in self.plan.slots:
            for slot in (self.plan.slots[k], *self.plan.copies.get(k, ())):
                self.put(name, "%ws", slot)
        self.storage.store_result(self, k, name)


def write_pieces(
    program: Program, plan: Schedule, lanes: Lanes, vector: Lanes, storage: Storage, which: range
) -> list[tuple[str, str]]:
    """The functions (name, text) of the pieces in the range `which`, in order.

    `vector` is the vector type for products of blocks; for one state it is wider than `lanes`.
    """
    functions: list[tuple[str, str]] = []
    for k in which:
        values = plan.pieces[k]
        name = f"fc_piece{k}"
        if not isinstance(values, int):
            writer = PieceWriter(name, program, plan, lanes, storage)
            write_piece(writer, values)
            functions.append((name, writer.finished))
            continue
        text = product_function(name, program, plan, lanes, vector, storage, values)
        functions += [*_fills(program, plan, lanes, storage, values, k), (name, text)]
    return functions


def product_function(
    name: str, program: Program, plan: Schedule, lanes: Lanes, vector: Lanes, storage: Storage, value: int
) -> str:
    """The text of the function that computes a product of blocks or a table of dot products."""
    op, (left, right) = program.instructions[value - program.first]
    assert isinstance(op, (Product, DotTable))
    site = Site(
        storage.parameters,
        plan.blocks[left],
        plan.blocks[right],
        plan.blocks.get(value, 0),
        lanes,
        vector,
        plan.direct.get(value),
        storage.store_direct,
    )
    return product_text(name, op, site) if isinstance(op, Product) else dots_text(name, op, site)


FILLS = 128
"""Copies per function; compile time grows faster than linearly with the length of a function."""


def _fills(program: Program, plan: Schedule, lanes: Lanes, storage: Storage, product: int, k: int) -> list[tuple[str, str]]:
    """The functions that copy entries into the factors of piece k, a product."""
    functions = []
    fills = plan.fills[product]
    for start in range(0, len(fills), FILLS):
        name = f"fc_fill{k}_{start}"
        writer = PieceWriter(name, program, plan, lanes, storage)
        for value, slot in fills[start : start + FILLS]:
            writer.put(writer.get(value), "%ws", slot)
        functions.append((name, writer.finished))
    return functions


def write_piece(writer: PieceWriter, values: Sequence[int]) -> None:
    """Compute the values of one piece, in order."""
    program = writer.program
    angles: dict[int, str] = {}
    for k in values:
        op, args = program.instructions[k - program.first]
        assert isinstance(op, str)
        if op in ("sin", "cos"):
            pair = angles.get(args[0])
            if pair is None:
                pair = angles[args[0]] = _sincos(writer, writer.get(args[0]))
            name = writer.value(f"extractvalue {_pair(writer)} {pair}, {['sin', 'cos'].index(op)}")
        else:
            name = SPELLINGS[op](writer, [writer.get(a) for a in args])
        writer.define(k, name)


def _pair(writer: PieceWriter) -> str:
    T = writer.lanes.type
    return f"{{{T}, {T}}}"


def _sincos(writer: PieceWriter, x: str) -> str:
    return writer.value(f"call {_pair(writer)} @fc_sincos{writer.lanes.width}({writer.lanes.type} {x})")


Spelling = Callable[[PieceWriter, list[str]], str]


def _binary(instruction: str) -> Spelling:
    return lambda w, a: w.value(f"{instruction} {w.lanes.type} {a[0]}, {a[1]}")


def _fma(w: PieceWriter, a: str, b: str, c: str) -> str:
    T = w.lanes.type
    return w.value(f"call {T} @llvm.fma.{w.lanes.suffix}({T} {a}, {T} {b}, {T} {c})")


def _neg(w: PieceWriter, a: str) -> str:
    return w.value(f"fneg {w.lanes.type} {a}")


def _select(w: PieceWriter, a: list[str]) -> str:
    T = w.lanes.type
    less = w.value(f"fcmp olt {T} {a[0]}, {a[1]}")
    return w.value(f"select {w.lanes.bool_type} {less}, {T} {a[2]}, {T} {a[3]}")


def _atan2(w: PieceWriter, a: list[str]) -> str:
    T = w.lanes.type
    return w.value(f"call {T} @fc_atan2_{w.lanes.width}({T} {a[0]}, {T} {a[1]})")


SPELLINGS: dict[str, Spelling] = {
    "add": _binary("fadd"),
    "sub": _binary("fsub"),
    "mul": _binary("fmul"),
    "div": _binary("fdiv"),
    "neg": lambda w, a: _neg(w, a[0]),
    "fma": lambda w, a: _fma(w, a[0], a[1], a[2]),
    "fms": lambda w, a: _fma(w, a[0], a[1], _neg(w, a[2])),
    "fnma": lambda w, a: _fma(w, _neg(w, a[0]), a[1], a[2]),
    "sqrt": lambda w, a: w.value(f"call {w.lanes.type} @llvm.sqrt.{w.lanes.suffix}({w.lanes.type} {a[0]})"),
    "select": _select,
    "atan2": _atan2,
    "taint": lambda w, a: w.value(f"fmul {w.lanes.type} {a[0]}, {w.lanes.constant(0.0)}"),
}
