"""Many states: one state in each lane of a vector, as LLVM text.

    void fc_batch(i64 start, i64 stop, ptr pointers, ptr strides, ptr ws)

`pointers` holds the addresses of the inputs and then of the outputs, row-major; `strides` the distance in
doubles between the rows of each input (0 repeats one row). States start..stop-1 are done, a vector of them at a
time: rows are transposed into lanes, computed, and transposed back into rows, each result being written once.
The last vector repeats the last state in its surplus lanes, so no lane is special.
"""

from __future__ import annotations

from dataclasses import dataclass

from fallingcat.codegen import native
from fallingcat.codegen.builder import Function
from fallingcat.codegen.core import NO_CORE, CoreText, core_text
from fallingcat.codegen.lanes import Lanes, transpose
from fallingcat.codegen.mathlib import functions as library
from fallingcat.codegen.pieces import PieceWriter, Storage, write_piece, write_pieces
from fallingcat.codegen.schedule import Schedule
from fallingcat.codegen.stores import copy_past_caches, group_starts, store_functions, store_tile
from fallingcat.trace.program import Program

CORE_PARAMETERS = ("ptr noalias readonly %in", "ptr noalias %ws")
PARAMETERS = (*CORE_PARAMETERS, "ptr noalias readonly %rows")

MANY_BYTES = native.largest_cache()
"""Bytes of results from which they are written past the caches; smaller results stay in the caches for the next reader."""

FEW, MANY = 64, 1 << 17
"""The range of results per vector of states in which that is done: with fewer, computing dominates; more fill the caches
before they are copied out."""


@dataclass(frozen=True)
class Layout:
    """The memory of one vector of states: inputs, slots, a table of row addresses, and rows of results; in doubles."""

    inputs: int
    slots: int
    rows: int
    results: int
    """Room for rows of results that are then copied past the caches; 0 if results are stored directly."""

    @property
    def total(self) -> int:
        return self.inputs + self.slots + self.rows + self.results


def layout(program: Program, plan: Schedule, lanes: Lanes) -> Layout:
    """The memory layout of a program for one vector of states."""
    W = lanes.width
    results = W * sum(output.size for output in program.outputs)
    return Layout(
        program.input_count * W, plan.slot_count * W, len(program.outputs) * W, results if W * FEW <= results <= MANY else 0
    )


def batch_core(program: Program, plan: Schedule, lanes: Lanes) -> CoreText:
    """The module text of the core of a program, if it is compiled apart."""
    if not plan.core:
        return NO_CORE
    storage = _storage(CORE_PARAMETERS)
    functions = _angles(program, plan, lanes, storage) + write_pieces(program, plan, lanes, lanes, storage, plan.of_core)
    return core_text(library(plan.instructions_of_core(program), lanes, lanes), functions, CORE_PARAMETERS)


def batch_text(program: Program, plan: Schedule, lanes: Lanes, core: CoreText = NO_CORE) -> str:
    """The module text with `fc_batch`, which calls the core."""
    storage = _storage(PARAMETERS)
    place = layout(program, plan, lanes)
    functions = [] if plan.core else _angles(program, plan, lanes, storage)
    functions += write_pieces(program, plan, lanes, lanes, storage, plan.of_rest)
    functions += store_functions(program, plan, lanes, storage)
    texts = [library(plan.instructions_of_rest(program), lanes, lanes), core.declaration, *(text for _, text in functions)]
    texts += [_load_rows(j, spec.size, lanes) for j, spec in enumerate(program.inputs)]
    texts.append(_enter(program, lanes, place, "fc_enter"))
    if place.results:
        texts += [_enter(program, lanes, place, "fc_enter_here"), copy_past_caches(lanes), _leave(program, lanes, place)]
    return "\n".join([*texts, _driver(program, lanes, place, core, [name for name, _ in functions])])


def _storage(parameters: tuple[str, ...]) -> Storage:
    return Storage(parameters, lambda writer, k: writer.take("%in", k), lambda writer, k, name: None, store_tile)


def _angles(program: Program, plan: Schedule, lanes: Lanes, storage: Storage) -> list[tuple[str, str]]:
    """The function that takes all sines and cosines of inputs; an empty list if there are none."""
    if not plan.angles:
        return []
    early = set(plan.angles)
    values = [program.first + k for k, (op, args) in enumerate(program.instructions) if op in ("sin", "cos") and args[0] in early]
    writer = PieceWriter("fc_angles", program, plan, lanes, storage)
    write_piece(writer, values)
    return [("fc_angles", writer.finished)]


def _rows(lanes: Lanes) -> list[str]:
    return [f"%row{lane}" for lane in range(lanes.width)]


def _load_rows(j: int, size: int, lanes: Lanes) -> str:
    """Transpose one row per lane into one vector per entry."""
    T, W = lanes.type, lanes.width
    rows = _rows(lanes)
    w = Function(f"fc_load{j}", "void", [*(f"ptr readonly {row}" for row in rows), "ptr noalias %to"], True, "#2")
    for start in group_starts(size, W) if size >= W else []:
        loaded = []
        for row in rows:
            where = w.value(f"getelementptr double, ptr {row}, i64 {start}")
            loaded.append(w.value(f"load {T}, ptr {where}, align 8"))
        for k, column in enumerate(transpose(w, loaded, lanes)):
            where = w.value(f"getelementptr {T}, ptr %to, i64 {start + k}")
            w.do(f"store {T} {column}, ptr {where}, align {lanes.align}")
    if size < W:
        for k in range(size):
            vector = "undef"
            for lane, row in enumerate(rows):
                where = w.value(f"getelementptr double, ptr {row}, i64 {k}")
                x = w.value(f"load double, ptr {where}, align 8")
                vector = w.value(f"insertelement {T} {vector}, double {x}, i32 {lane}")
            where = w.value(f"getelementptr {T}, ptr %to, i64 {k}")
            w.do(f"store {T} {vector}, ptr {where}, align {lanes.align}")
    w.ret()
    return w.text


def _enter(program: Program, lanes: Lanes, place: Layout, name: str) -> str:
    """Load one vector of states: input rows into lanes, and the addresses of its result rows into the table.

    `fc_enter` uses the rows of the output arrays, `fc_enter_here` rows of the workspace.
    """
    T, W = lanes.type, lanes.width
    w = Function(name, "void", ("i64 %i", "i64 %last", "ptr %pointers", "ptr %strides", "ptr %here"), True, "#2")
    table = w.at("%here", 8 * (place.inputs + place.slots))
    index = []
    for lane in range(W):
        i = w.value(f"add i64 %i, {lane}")
        index.append(w.value(f"call i64 @llvm.smin.i64(i64 {i}, i64 %last)"))

    def rows_of(j: int, stride: str) -> list[str]:
        base, rows = w.load("ptr", "%pointers", 8 * j), []
        for i in index:
            offset = w.value(f"mul i64 {i}, {stride}")
            rows.append(w.value(f"getelementptr double, ptr {base}, i64 {offset}"))
        return rows

    position = 0
    for j, spec in enumerate(program.inputs):
        rows = rows_of(j, w.load("i64", "%strides", 8 * j))
        to = w.value(f"getelementptr {T}, ptr %here, i64 {position}")
        w.do(f"call void @fc_load{j}({', '.join(f'ptr {row}' for row in rows)}, ptr {to})")
        position += spec.size
    for j, output in enumerate(program.outputs):
        if name == "fc_enter":
            rows = rows_of(len(program.inputs) + j, str(output.size))
        else:
            rows = [w.at("%here", _row_here(program, place, j, W) + 8 * lane * output.size) for lane in range(W)]
        for lane, row in enumerate(rows):
            w.store("ptr", row, table, 8 * (j * W + lane))
    w.ret()
    return w.text


def _row_here(program: Program, place: Layout, j: int, width: int) -> int:
    """The offset in the workspace, in bytes, of the rows of output j before they are copied past the caches."""
    before = width * sum(output.size for output in program.outputs[:j])
    return 8 * (place.inputs + place.slots + place.rows + before)


def _leave(program: Program, lanes: Lanes, place: Layout) -> str:
    """Copy the result rows of one vector of states from the workspace to the outputs, past the caches."""
    w = Function("fc_leave", "void", ("i64 %i", "i64 %stop", "ptr %pointers", "ptr %here"), True, "#2")
    left = w.value("sub i64 %stop, %i")
    states = w.call("i64", "llvm.smin.i64", f"i64 {left}", f"i64 {lanes.width}")
    for j, output in enumerate(program.outputs):
        base = w.load("ptr", "%pointers", 8 * (len(program.inputs) + j))
        row = w.value(f"mul i64 %i, {output.size}")
        to = w.value(f"getelementptr double, ptr {base}, i64 {row}")
        count = w.value(f"mul i64 {states}, {output.size}")
        here = w.at("%here", _row_here(program, place, j, lanes.width))
        w.call("void", "fc_past_caches", f"ptr {to}", f"ptr {here}", f"i64 {count}")
    w.ret()
    return w.text


def _driver(program: Program, lanes: Lanes, place: Layout, core: CoreText, steps: list[str]) -> str:
    """The loop over vectors of states."""
    f = Function("fc_batch", "void", ("i64 %start", "i64 %stop", "ptr %pointers", "ptr %strides", "ptr %in"))
    ws = f.at("%in", 8 * place.inputs)
    rows = f.at("%in", 8 * (place.inputs + place.slots))
    last = f.value("sub i64 %stop, 1")
    some, past, done = f.label("some"), f.label("past"), f.label("done")

    def loop(past_caches: bool) -> None:
        with f.counting("%stop", "%start", lanes.width) as i:
            enter = "fc_enter_here" if past_caches else "fc_enter"
            f.call("void", enter, f"i64 {i}", f"i64 {last}", "ptr %pointers", "ptr %strides", "ptr %in")
            if core.function:
                f.call("void", core.function, "ptr %in", f"ptr {ws}")
            for name in steps:
                f.call("void", name, "ptr %in", f"ptr {ws}", f"ptr {rows}")
            if past_caches:
                f.call("void", "fc_leave", f"i64 {i}", "i64 %stop", "ptr %pointers", "ptr %in")

    f.require(f.value("icmp slt i64 %start, %stop"), done)
    if place.results:
        size = 8 * sum(output.size for output in program.outputs)
        total = f.value(f"mul i64 {f.value('sub i64 %stop, %start')}, {size}")
        f.branch(f.value(f"icmp sge i64 {total}, {MANY_BYTES}"), past, some)
        f.begin(past)
        loop(past_caches=True)
        f.do("fence seq_cst")  # other threads see non-temporal stores only after a fence
        f.go(done)
        f.begin(some)
    loop(past_caches=False)
    f.go(done)
    f.begin(done)
    f.ret()
    return f.text
