"""Many states: one state in each lane of a vector, as LLVM text.

    void fc_batch(i64 start, i64 stop, ptr pointers, ptr strides, ptr ws)

`pointers` holds the addresses of the inputs and then of the outputs, row-major; `strides` the distance in
doubles between the rows of each input (0 repeats one row). States start..stop-1 are done, a vector of them at a
time: rows are transposed into lanes, computed, and transposed back into rows, each result being written once.
The last vector repeats the last state in its surplus lanes, so no lane is special.
"""

from __future__ import annotations

from dataclasses import dataclass

from fallingcat.codegen.builder import Function
from fallingcat.codegen.lanes import Lanes, transpose
from fallingcat.codegen.mathlib import functions as library
from fallingcat.codegen.pieces import PieceWriter, Storage, product_function, write_piece, write_pieces
from fallingcat.codegen.schedule import Schedule, without_direct
from fallingcat.codegen.stores import PAIR, can_stream, group_starts, store_functions, store_tile, stream_functions
from fallingcat.trace.program import Program

PARAMETERS = ("ptr noalias readonly %in", "ptr noalias %ws", "ptr noalias readonly %rows")

MANY_BYTES = 1 << 23
"""Bytes of results from which on they are written past the caches."""

LARGE = 64
"""Results of a state from which on that is possible: below, a batch of so many bytes has other work to do."""


@dataclass(frozen=True)
class Layout:
    """The memory of one vector of states: inputs, slots, and a table of row addresses; in doubles."""

    inputs: int
    slots: int
    rows: int

    @property
    def total(self) -> int:
        return self.inputs + self.slots + self.rows


def layout(program: Program, plan: Schedule, lanes: Lanes) -> Layout:
    """Where everything lies."""
    W = lanes.width
    return Layout(program.input_count * W, without_direct(program, plan).slot_count * W, len(program.outputs) * W)


def batch_text(program: Program, plan: Schedule, lanes: Lanes) -> str:
    """The module text with `fc_batch`."""
    storage = Storage(PARAMETERS, lambda writer, k: writer.take("%in", k), lambda writer, k, name: None, store_tile)
    functions: dict[str, str] = {}
    near: list[str] = []
    far: list[str] = []
    streams = _streams(program)

    if plan.angles:
        functions["fc_angles"] = _angles(program, plan, lanes, storage)
        near.append("fc_angles")
        far.append("fc_angles")
    kept = without_direct(program, plan)
    for value, piece in zip(plan.pieces, write_pieces(program, plan, lanes, lanes, storage), strict=True):
        for name, text in piece:
            functions[name] = text
        names = [name for name, _ in piece]
        near += names
        if isinstance(value, int) and value in plan.direct and streams:
            *names, last = names
            functions[f"{last}_kept"] = product_function(f"{last}_kept", program, kept, lanes, lanes, storage, value)
            names.append(f"{last}_kept")
        far += names
    for name, text in store_functions(program, plan, lanes, storage):
        functions[name] = text
        near.append(name)
    for name, text in stream_functions(program, kept, lanes, storage) if streams else ():
        functions[name] = text
        far.append(name)
    loads = [_load_rows(j, spec.size, lanes) for j, spec in enumerate(program.inputs)]
    place = layout(program, plan, lanes)
    driver = _driver(program, lanes, place, near, far if streams else [])
    return "\n".join([library(program, lanes, lanes), *functions.values(), *loads, _enter(program, lanes, place), driver])


def _streams(program: Program) -> list[int]:
    """The outputs that may be written past the caches; none of a program whose results are few."""
    total = sum(output.size for output in program.outputs)
    return [j for j in range(len(program.outputs)) if can_stream(program, j)] if total >= LARGE else []


def _angles(program: Program, plan: Schedule, lanes: Lanes, storage: Storage) -> str:
    early = set(plan.angles)
    values = [program.first + k for k, (op, args) in enumerate(program.instructions) if op in ("sin", "cos") and args[0] in early]
    writer = PieceWriter("fc_angles", program, plan, lanes, storage)
    write_piece(writer, values)
    return writer.finished


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
    w.give()
    return w.text


def _enter(program: Program, lanes: Lanes, place: Layout) -> str:
    """Bring one vector of states in: rows into lanes, and the addresses of its result rows into the table."""
    T, W = lanes.type, lanes.width
    w = Function("fc_enter", "void", ("i64 %i", "i64 %last", "ptr %pointers", "ptr %strides", "ptr %here"), True, "#2")
    table = w.value(f"getelementptr double, ptr %here, i64 {place.inputs + place.slots}")
    index = []
    for lane in range(W):
        i = w.value(f"add i64 %i, {lane}")
        index.append(w.value(f"call i64 @llvm.smin.i64(i64 {i}, i64 %last)"))

    def row_pointers(j: int, stride: str) -> list[str]:
        where = w.value(f"getelementptr ptr, ptr %pointers, i64 {j}")
        base = w.value(f"load ptr, ptr {where}, align 8")
        rows = []
        for i in index:
            offset = w.value(f"mul i64 {i}, {stride}")
            rows.append(w.value(f"getelementptr double, ptr {base}, i64 {offset}"))
        return rows

    position = 0
    for j, spec in enumerate(program.inputs):
        where = w.value(f"getelementptr i64, ptr %strides, i64 {j}")
        stride = w.value(f"load i64, ptr {where}, align 8")
        rows = row_pointers(j, stride)
        to = w.value(f"getelementptr {T}, ptr %here, i64 {position}")
        w.do(f"call void @fc_load{j}({', '.join(f'ptr {row}' for row in rows)}, ptr {to})")
        position += spec.size
    for j, output in enumerate(program.outputs):
        for lane, row in enumerate(row_pointers(len(program.inputs) + j, str(output.size))):
            where = w.value(f"getelementptr ptr, ptr {table}, i64 {j * W + lane}")
            w.do(f"store ptr {row}, ptr {where}, align 8")
    w.give()
    return w.text


def _driver(program: Program, lanes: Lanes, place: Layout, near: list[str], far: list[str]) -> str:
    """The loop over vectors of states; `far` are the steps for results that are written past the caches."""
    f = Function("fc_batch", "void", ("i64 %start", "i64 %stop", "ptr %pointers", "ptr %strides", "ptr %in"))
    ws = f.at("%in", 8 * place.inputs)
    rows = f.at("%in", 8 * (place.inputs + place.slots))
    last = f.value("sub i64 %stop, 1")
    some, past, done = f.label("some"), f.label("past"), f.label("done")

    def loop(steps: list[str]) -> None:
        with f.counting("%stop", "%start", lanes.width) as i:
            f.call("void", "fc_enter", f"i64 {i}", f"i64 {last}", "ptr %pointers", "ptr %strides", "ptr %in")
            for name in steps:
                f.call("void", name, "ptr %in", f"ptr {ws}", f"ptr {rows}")

    f.require(f.value("icmp slt i64 %start, %stop"), done)
    if far:
        f.branch(_goes_past_caches(f, program), past, some)
        f.begin(past)
        loop(far)
        f.do("fence seq_cst")  # such stores are seen by others only after it
        f.go(done)
        f.begin(some)
    loop(near)
    f.go(done)
    f.begin(done)
    f.give()
    return f.text


def _goes_past_caches(f: Function, program: Program) -> str:
    """Are there many results, in arrays that are aligned for it?"""
    size = 8 * sum(output.size for output in program.outputs)
    states = f.value("sub i64 %stop, %start")
    yes = f.value(f"icmp sge i64 {f.value(f'mul i64 {states}, {size}')}, {MANY_BYTES}")
    for j in _streams(program):
        address = f.load("i64", "%pointers", 8 * (len(program.inputs) + j))
        yes = f.both(yes, f.same(f.value(f"and i64 {address}, {8 * PAIR - 1}"), "0", "i64"))
    return yes
