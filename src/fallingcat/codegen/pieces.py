"""The pieces of a program as LLVM text, for any number of lanes.

The writer of a piece knows values by number; where a value comes from (an input, a constant, a slot of
the workspace) is the business of the `Storage` that the single and the batched kernel each bring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fallingcat.codegen.dots import dots_text
from fallingcat.codegen.lanes import Lanes
from fallingcat.codegen.products import Site, Store, product_text
from fallingcat.codegen.schedule import Schedule
from fallingcat.trace.blocks import Product
from fallingcat.trace.dots import DotTable
from fallingcat.trace.program import Program


@dataclass(frozen=True)
class Storage:
    """How a piece reaches memory."""

    parameters: str
    """The parameters of every piece."""
    arguments: str
    """The same, as passed on by a caller whose own parameters have the same names."""
    load_input: Callable[[PieceWriter, int], str]
    store_result: Callable[[PieceWriter, int, str], None]
    """Called for every computed value; writes it to where results go, if it is one."""
    store_direct: Store
    """Writes a tile of a product that consists of results."""


RELOAD_AFTER = 60
"""Lines after which a value that lies in memory is loaded again rather than kept in a register: registers are few."""


class PieceWriter:
    """Writes the body of one function."""

    def __init__(self, program: Program, plan: Schedule, lanes: Lanes, storage: Storage) -> None:
        self.program, self.plan, self.lanes, self.storage = program, plan, lanes, storage
        self.lines: list[str] = []
        self._names: dict[int, str] = {}
        self._used: dict[int, int] = {}
        self._count = 0

    def fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def emit(self, text: str) -> str:
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def address(self, base: str, index: int, element: str) -> str:
        return base if index == 0 else self.emit(f"getelementptr {element}, ptr {base}, i64 {index}")

    def load(self, base: str, index: int) -> str:
        T = self.lanes.type
        return self.emit(f"load {T}, ptr {self.address(base, index, T)}, align {self.lanes.align}")

    def store(self, value: str, base: str, index: int) -> None:
        T = self.lanes.type
        where = self.address(base, index, T)
        self.do(f"store {T} {value}, ptr {where}, align {self.lanes.align}")

    def value(self, k: int) -> str:
        """The name of a value, loading it if this piece did not compute it."""
        program = self.program
        if program.input_count <= k < program.first:
            return self.lanes.constant(program.constants[k - program.input_count])
        name = self._names.get(k)
        now = len(self.lines)
        in_memory = k < program.input_count or k in self.plan.slots
        if name is None or (in_memory and now - self._used[k] > RELOAD_AFTER):
            name = self.storage.load_input(self, k) if k < program.input_count else self.load("%ws", self.plan.slots[k])
            self._names[k] = name
        self._used[k] = now
        return name

    def define(self, k: int, name: str) -> None:
        """A value has been computed: remember it, and put it where others look for it."""
        self._names[k] = name
        self._used[k] = len(self.lines)
        if k in self.plan.slots:
            self.store(name, "%ws", self.plan.slots[k])
            for slot in self.plan.copies.get(k, ()):
                self.store(name, "%ws", slot)
        self.storage.store_result(self, k, name)

    def function(self, name: str) -> str:
        body = "\n".join(self.lines)
        return f"define internal void @{name}({self.storage.parameters}) #0 {{\n{body}\n  ret void\n}}"


def write_pieces(program: Program, plan: Schedule, lanes: Lanes, vector: Lanes, storage: Storage) -> list[list[tuple[str, str]]]:
    """Per piece, the functions (name, text) that compute it, in order.

    `vector` is what products of blocks are computed with; for one state it is wider than `lanes`.
    """
    pieces: list[list[tuple[str, str]]] = []
    for k, values in enumerate(plan.pieces):
        name = f"fc_piece{k}"
        writer = PieceWriter(program, plan, lanes, storage)
        if not isinstance(values, int):
            write_piece(writer, values)
            pieces.append([(name, writer.function(name))])
            continue
        op, (left, right) = program.instructions[values - program.first]
        assert isinstance(op, (Product, DotTable))
        site = Site(
            storage.parameters,
            plan.blocks[left],
            plan.blocks[right],
            plan.blocks.get(values, 0),
            lanes,
            vector,
            plan.direct.get(values),
            storage.store_direct,
        )
        text = product_text(name, op, site) if isinstance(op, Product) else dots_text(name, op, site)
        pieces.append([*_fills(program, plan, lanes, storage, values, k), (name, text)])
    return pieces


FILLS = 128
"""Entries copied by one function: a longer one takes more than its share of time to compile."""


def _fills(program: Program, plan: Schedule, lanes: Lanes, storage: Storage, product: int, k: int) -> list[tuple[str, str]]:
    """The functions that copy entries to the blocks of piece k, a product."""
    functions = []
    fills = plan.fills[product]
    for start in range(0, len(fills), FILLS):
        writer = PieceWriter(program, plan, lanes, storage)
        for value, slot in fills[start : start + FILLS]:
            writer.store(writer.value(value), "%ws", slot)
        name = f"fc_fill{k}_{start}"
        functions.append((name, writer.function(name)))
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
                pair = angles[args[0]] = _sincos(writer, writer.value(args[0]))
            name = writer.emit(f"extractvalue {_pair(writer)} {pair}, {['sin', 'cos'].index(op)}")
        else:
            name = SPELLINGS[op](writer, [writer.value(a) for a in args])
        writer.define(k, name)


def _pair(writer: PieceWriter) -> str:
    T = writer.lanes.type
    return f"{{{T}, {T}}}"


def _sincos(writer: PieceWriter, x: str) -> str:
    return writer.emit(f"call {_pair(writer)} @fc_sincos{writer.lanes.width}({writer.lanes.type} {x})")


Spelling = Callable[[PieceWriter, list[str]], str]


def _binary(instruction: str) -> Spelling:
    return lambda w, a: w.emit(f"{instruction} {w.lanes.type} {a[0]}, {a[1]}")


def _fma(w: PieceWriter, a: str, b: str, c: str) -> str:
    T = w.lanes.type
    return w.emit(f"call {T} @llvm.fma.{w.lanes.suffix}({T} {a}, {T} {b}, {T} {c})")


def _neg(w: PieceWriter, a: str) -> str:
    return w.emit(f"fneg {w.lanes.type} {a}")


def _select(w: PieceWriter, a: list[str]) -> str:
    T = w.lanes.type
    less = w.emit(f"fcmp olt {T} {a[0]}, {a[1]}")
    return w.emit(f"select {w.lanes.bool_type} {less}, {T} {a[2]}, {T} {a[3]}")


def _atan2(w: PieceWriter, a: list[str]) -> str:
    T = w.lanes.type
    return w.emit(f"call {T} @fc_atan2_{w.lanes.width}({T} {a[0]}, {T} {a[1]})")


SPELLINGS: dict[str, Spelling] = {
    "add": _binary("fadd"),
    "sub": _binary("fsub"),
    "mul": _binary("fmul"),
    "div": _binary("fdiv"),
    "neg": lambda w, a: _neg(w, a[0]),
    "fma": lambda w, a: _fma(w, a[0], a[1], a[2]),
    "fms": lambda w, a: _fma(w, a[0], a[1], _neg(w, a[2])),
    "fnma": lambda w, a: _fma(w, _neg(w, a[0]), a[1], a[2]),
    "sqrt": lambda w, a: w.emit(f"call {w.lanes.type} @llvm.sqrt.{w.lanes.suffix}({w.lanes.type} {a[0]})"),
    "select": _select,
    "atan2": _atan2,
    "taint": lambda w, a: w.emit(f"fmul {w.lanes.type} {a[0]}, {w.lanes.constant(0.0)}"),
}
