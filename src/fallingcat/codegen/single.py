"""One state: the kernel with the lowest latency, as LLVM text.

    void fc_single(ptr input..., ptr output..., ptr ws)

Inputs are read from, and results written to, the caller's arrays directly. The sines and cosines of all
joint angles are computed first, a vector register of them at a time.
"""

from __future__ import annotations

from fallingcat.codegen.builder import Function
from fallingcat.codegen.core import NO_CORE, CoreText, arguments, core_text
from fallingcat.codegen.lanes import Lanes
from fallingcat.codegen.mathlib import functions as library
from fallingcat.codegen.pieces import PieceWriter, Storage, write_pieces
from fallingcat.codegen.products import Tile, TileWriter
from fallingcat.codegen.schedule import Schedule
from fallingcat.trace.blocks import Entry
from fallingcat.trace.program import Program

ONE = Lanes(1)
STORES = 128
"""Results copied per function; compile time grows faster than linearly with the length of a function."""


def single_core(program: Program, plan: Schedule, vector: Lanes) -> CoreText:
    """The module text of the core of a program, if it is compiled apart."""
    if not plan.core:
        return NO_CORE
    storage = _core_storage(program)
    functions = _angles(program, plan, vector, storage) + write_pieces(program, plan, ONE, vector, storage, plan.of_core)
    return core_text(library(plan.instructions_of_core(program), ONE, vector), functions, storage.parameters)


def single_text(program: Program, plan: Schedule, vector: Lanes, core: CoreText = NO_CORE) -> str:
    """The module text with `fc_single`, which calls the core; `vector` is the processor's vector type, for the sines."""
    storage = _storage(program)
    functions = [] if plan.core else _angles(program, plan, vector, storage)
    functions += write_pieces(program, plan, ONE, vector, storage, plan.of_rest)
    functions += _fixed_results(program, plan, storage)
    f = Function("fc_single", "void", storage.parameters)
    if plan.core:
        f.call("void", core.function, *arguments(_core_storage(program).parameters))
    for name, _ in functions:
        f.call("void", name, *arguments(storage.parameters))
    f.ret()
    texts = [library(plan.instructions_of_rest(program), ONE, vector), core.declaration, *(text for _, text in functions), f.text]
    return "\n".join(texts)


def _inputs(program: Program) -> list[str]:
    return [f"ptr noalias readonly %in{j}" for j in range(len(program.inputs))]


def _core_storage(program: Program) -> Storage:
    """The storage of the core, which writes no results."""
    return Storage((*_inputs(program), "ptr noalias %ws"), _load_input, lambda writer, k, name: None, _store_direct)


def _storage(program: Program) -> Storage:
    outs = [f"ptr noalias %out{j}" for j in range(len(program.outputs))]

    where: dict[int, list[tuple[int, int]]] = {}
    for j, flat in enumerate(program.results):
        for position, value in enumerate(flat):
            where.setdefault(value, []).append((j, position))

    def store_result(writer: PieceWriter, k: int, name: str) -> None:
        for j, position in where.get(k, ()):
            writer.put(name, f"%out{j}", position)

    return Storage((*_inputs(program), *outs, "ptr noalias %ws"), _load_input, store_result, _store_direct)


def _store_direct(writer: TileWriter, tile: Tile, sums: dict[tuple[int, int], str]) -> None:
    """Store the rows of a tile of a product in an output; a vector holds neighbouring columns."""
    for r in range(tile.rows):
        place = writer.place_of_row(r)
        row = writer.f.value(f"getelementptr double, ptr %out{tile.output}, i64 {place}")
        for c in range(tile.columns):
            where = writer.f.value(f"getelementptr double, ptr {row}, i64 {c * tile.vector.width}")
            writer.f.do(f"store {tile.vector.type} {sums[r, c]}, ptr {where}, align 8")


def _load_input(writer: PieceWriter, k: int) -> str:
    for j, spec in enumerate(writer.program.inputs):
        if k < spec.size:
            return writer.take(f"%in{j}", k)
        k -= spec.size
    raise AssertionError("not an input")


def _angles(program: Program, plan: Schedule, vector: Lanes, storage: Storage) -> list[tuple[str, str]]:
    """The function that takes all sines and cosines of inputs, a vector at a time; an empty list if there are none."""
    if not plan.angles:
        return []
    T, W = vector.type, vector.width
    writer = PieceWriter("fc_angles", program, plan, ONE, storage)
    of: dict[tuple[str, int], int] = {
        (op, args[0]): program.first + k for k, (op, args) in enumerate(program.instructions) if op in ("sin", "cos")
    }
    for start in range(0, len(plan.angles), W):
        group = plan.angles[start : start + W]
        packed = "zeroinitializer"
        for lane, angle in enumerate(group):
            packed = writer.value(f"insertelement {T} {packed}, double {writer.get(angle)}, i32 {lane}")
        pair = writer.value(f"call {{{T}, {T}}} @fc_sincos{W}({T} {packed})")
        for part, op in enumerate(("sin", "cos")):
            both = writer.value(f"extractvalue {{{T}, {T}}} {pair}, {part}")
            for lane, angle in enumerate(group):
                value = of.get((op, angle))
                if value is not None:
                    writer.define(value, writer.value(f"extractelement {T} {both}, i32 {lane}"))
    return [("fc_angles", writer.finished)]


def _fixed_results(program: Program, plan: Schedule, storage: Storage) -> list[tuple[str, str]]:
    """The functions that store results which no piece has written: constants, inputs, entries of blocks, and values of the
    core."""
    entries = {program.first + k for k, (op, _) in enumerate(program.instructions) if isinstance(op, Entry)}
    entries -= plan.written
    stores = [
        (value, j, position)
        for j, flat in enumerate(program.results)
        for position, value in enumerate(flat)
        if value < program.first or value in entries or value in plan.core
    ]
    functions: list[tuple[str, str]] = []
    for start in range(0, len(stores), STORES):
        name = f"fc_fixed{len(functions)}"
        writer = PieceWriter(name, program, plan, ONE, storage)
        for value, j, position in stores[start : start + STORES]:
            writer.put(writer.get(value), f"%out{j}", position)
        functions.append((name, writer.finished))
    return functions
