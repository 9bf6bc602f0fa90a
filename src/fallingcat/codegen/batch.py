"""Many states: one state in each lane of a vector, as LLVM text.

    void fc_batch(i64 start, i64 stop, ptr pointers, ptr strides, ptr ws)

`pointers` holds the addresses of the inputs and then of the outputs, row-major; `strides` the distance in
doubles between the rows of each input (0 repeats one row). States start..stop-1 are done, a vector of them at a
time: rows are transposed into lanes, computed, and transposed back into rows, each result being written once.
The last vector repeats the last state in its surplus lanes, so no lane is special.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from fallingcat.codegen.lanes import Lanes, transpose
from fallingcat.codegen.mathlib import functions as library
from fallingcat.codegen.pieces import PieceWriter, Storage, write_piece, write_pieces
from fallingcat.codegen.products import Tile, TileWriter
from fallingcat.codegen.schedule import Schedule
from fallingcat.trace.program import Program

GROUPS = 64
"""Groups of results stored by one function."""

PARAMETERS = "ptr noalias readonly %in, ptr noalias %ws, ptr noalias readonly %rows"
ARGUMENTS = "ptr %in, ptr %ws, ptr %rows"


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
    return Layout(program.input_count * W, plan.slot_count * W, len(program.outputs) * W)


def batch_text(program: Program, plan: Schedule, lanes: Lanes) -> str:
    """The module text with `fc_batch`."""
    storage = Storage(PARAMETERS, ARGUMENTS, lambda writer, k: writer.load("%in", k), lambda writer, k, name: None, _store_direct)
    functions = [library(program, lanes, lanes)]
    steps: list[str] = []
    if plan.angles:
        functions.append(_angles(program, plan, lanes, storage))
        steps.append("fc_angles")
    for name, text in chain.from_iterable(write_pieces(program, plan, lanes, lanes, storage)):
        functions.append(text)
        steps.append(name)
    groups = _groups(program, plan, lanes.width)
    for first in range(0, len(groups), GROUPS):
        writer = PieceWriter(program, plan, lanes, storage)
        rows: dict[int, list[str]] = {}
        for group in groups[first : first + GROUPS]:
            _store_group(writer, rows, *group)
        steps.append(f"fc_store{first}")
        functions.append(writer.function(steps[-1]))
    functions += [_load_rows(j, spec.size, lanes) for j, spec in enumerate(program.inputs)]
    place = layout(program, plan, lanes)
    functions.append(_enter(program, lanes, place))
    functions.append(_driver(lanes, place, steps))
    return "\n".join(functions)


def _groups(program: Program, plan: Schedule, width: int) -> list[tuple[int, int, int]]:
    """(output, first entry, entries) of the groups of neighbouring results to be stored at the end.

    Results that products have written already are left out, at the price of shorter groups beside them.
    """
    groups = []
    for j, flat in enumerate(program.results):
        start = 0
        while start < len(flat):
            if flat[start] in plan.written:
                start += 1
                continue
            stop = start
            while stop < len(flat) and flat[stop] not in plan.written:
                stop += 1
            groups += [(j, start + at, min(width, stop - start)) for at in group_starts(stop - start, width)]
            start = stop
    return groups


def group_starts(size: int, width: int) -> list[int]:
    """Where groups of `width` neighbours start; the last one may overlap the one before, or be short if it is alone."""
    if size <= width:
        return [0] if size else []
    starts = list(range(0, size - width + 1, width))
    if starts[-1] + width < size:
        starts.append(size - width)
    return starts


def _angles(program: Program, plan: Schedule, lanes: Lanes, storage: Storage) -> str:
    early = set(plan.angles)
    values = [program.first + k for k, (op, args) in enumerate(program.instructions) if op in ("sin", "cos") and args[0] in early]
    writer = PieceWriter(program, plan, lanes, storage)
    write_piece(writer, values)
    return writer.function("fc_angles")


def _rows(lanes: Lanes) -> list[str]:
    return [f"%row{lane}" for lane in range(lanes.width)]


class _Lines:
    """Numbers the values of a function body."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def emit(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        # an unused name keeps the numbering in step with the lines
        self.lines.append(f"  {text}")

    def function(self, name: str, parameters: str) -> str:
        body = "\n".join(self.lines)
        return f"define internal void @{name}({parameters}) #2 {{\n{body}\n  ret void\n}}"


def _load_rows(j: int, size: int, lanes: Lanes) -> str:
    """Transpose one row per lane into one vector per entry."""
    T, W = lanes.type, lanes.width
    w = _Lines()
    rows = _rows(lanes)
    for start in group_starts(size, W) if size >= W else []:
        loaded = []
        for row in rows:
            where = w.emit(f"getelementptr double, ptr {row}, i64 {start}")
            loaded.append(w.emit(f"load {T}, ptr {where}, align 8"))
        for k, column in enumerate(transpose(w, loaded, lanes)):
            where = w.emit(f"getelementptr {T}, ptr %to, i64 {start + k}")
            w.do(f"store {T} {column}, ptr {where}, align {lanes.align}")
    if size < W:
        for k in range(size):
            vector = "undef"
            for lane, row in enumerate(rows):
                where = w.emit(f"getelementptr double, ptr {row}, i64 {k}")
                x = w.emit(f"load double, ptr {where}, align 8")
                vector = w.emit(f"insertelement {T} {vector}, double {x}, i32 {lane}")
            where = w.emit(f"getelementptr {T}, ptr %to, i64 {k}")
            w.do(f"store {T} {vector}, ptr {where}, align {lanes.align}")
    parameters = ", ".join([*(f"ptr readonly {row}" for row in rows), "ptr noalias %to"])
    return w.function(f"fc_load{j}", parameters)


def _store_group(w: PieceWriter, known: dict[int, list[str]], j: int, start: int, count: int) -> None:
    """Transpose a group of results back into rows and store them; `known` are row addresses loaded before."""
    program, lanes = w.program, w.lanes
    T, W = lanes.type, lanes.width
    values = program.results[j][start : start + count]
    if j not in known:
        wheres = [w.emit(f"getelementptr ptr, ptr %rows, i64 {j * W + lane}") for lane in range(W)]
        known[j] = [w.emit(f"load ptr, ptr {where}, align 8") for where in wheres]
    rows = known[j]
    if len(values) < W:
        for k, value in enumerate(values):
            vector = w.value(value)
            for lane, row in enumerate(rows):
                x = w.emit(f"extractelement {T} {vector}, i32 {lane}")
                where = w.emit(f"getelementptr double, ptr {row}, i64 {start + k}")
                w.do(f"store double {x}, ptr {where}, align 8")
        return
    if len(set(values)) == 1:  # the same value everywhere, most often zero
        columns = _broadcast_lanes(w, w.value(values[0]), lanes, program.input_count <= values[0] < program.first)
    else:
        columns = transpose(w, [w.value(value) for value in values], lanes)
    for row, column in zip(rows, columns, strict=True):
        where = w.emit(f"getelementptr double, ptr {row}, i64 {start}")
        w.do(f"store {T} {column}, ptr {where}, align 8")


def _store_direct(w: TileWriter, tile: Tile, sums: dict[tuple[int, int], str]) -> None:
    """A tile of a product, transposed in registers, into the rows of its states."""
    lanes = w.site.slot
    T, W = lanes.type, lanes.width
    for r in range(tile.rows):
        place = w.place_of_row(r)
        vectors = [sums[r, c] for c in range(tile.columns)]
        columns = transpose(w, vectors, lanes) if tile.columns == W else []
        for lane in range(W):
            where = w.emit(f"getelementptr ptr, ptr %rows, i64 {tile.output * W + lane}")
            row = w.emit(f"load ptr, ptr {where}, align 8")
            target = w.emit(f"getelementptr double, ptr {row}, i64 {place}")
            if columns:
                w.do(f"store {T} {columns[lane]}, ptr {target}, align 8")
                continue
            for c, vector in enumerate(vectors):
                x = w.emit(f"extractelement {T} {vector}, i32 {lane}")
                where = w.emit(f"getelementptr double, ptr {target}, i64 {c}")
                w.do(f"store double {x}, ptr {where}, align 8")


def _broadcast_lanes(w: PieceWriter, value: str, lanes: Lanes, constant: bool) -> list[str]:
    """Per lane, a vector that repeats that lane's number."""
    if constant:
        return [value] * lanes.width
    T, W = lanes.type, lanes.width
    columns = []
    for lane in range(W):
        mask = ", ".join(f"i32 {lane}" for _ in range(W))
        columns.append(w.emit(f"shufflevector {T} {value}, {T} undef, <{W} x i32> <{mask}>"))
    return columns


def _enter(program: Program, lanes: Lanes, place: Layout) -> str:
    """Bring one vector of states in: rows into lanes, and the addresses of its result rows into the table."""
    T, W = lanes.type, lanes.width
    w = _Lines()
    table = w.emit(f"getelementptr double, ptr %here, i64 {place.inputs + place.slots}")
    index = []
    for lane in range(W):
        i = w.emit(f"add i64 %i, {lane}")
        index.append(w.emit(f"call i64 @llvm.smin.i64(i64 {i}, i64 %last)"))

    def row_pointers(j: int, stride: str) -> list[str]:
        where = w.emit(f"getelementptr ptr, ptr %pointers, i64 {j}")
        base = w.emit(f"load ptr, ptr {where}, align 8")
        rows = []
        for i in index:
            offset = w.emit(f"mul i64 {i}, {stride}")
            rows.append(w.emit(f"getelementptr double, ptr {base}, i64 {offset}"))
        return rows

    position = 0
    for j, spec in enumerate(program.inputs):
        where = w.emit(f"getelementptr i64, ptr %strides, i64 {j}")
        stride = w.emit(f"load i64, ptr {where}, align 8")
        rows = row_pointers(j, stride)
        to = w.emit(f"getelementptr {T}, ptr %here, i64 {position}")
        w.do(f"call void @fc_load{j}({', '.join(f'ptr {row}' for row in rows)}, ptr {to})")
        position += spec.size
    for j, output in enumerate(program.outputs):
        for lane, row in enumerate(row_pointers(len(program.inputs) + j, str(output.size))):
            where = w.emit(f"getelementptr ptr, ptr {table}, i64 {j * W + lane}")
            w.do(f"store ptr {row}, ptr {where}, align 8")
    return w.function("fc_enter", "i64 %i, i64 %last, ptr %pointers, ptr %strides, ptr %here")


def _driver(lanes: Lanes, place: Layout, steps: list[str]) -> str:
    """The loop over vectors of states."""
    calls = "\n".join(f"  call void @{name}({ARGUMENTS})" for name in steps)
    return f"""
define void @fc_batch(i64 %start, i64 %stop, ptr %pointers, ptr %strides, ptr %in) #1 {{
entry:
  %ws = getelementptr double, ptr %in, i64 {place.inputs}
  %rows = getelementptr double, ptr %in, i64 {place.inputs + place.slots}
  %last = sub i64 %stop, 1
  %empty = icmp sge i64 %start, %stop
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [%start, %entry], [%next, %loop]
  call void @fc_enter(i64 %i, i64 %last, ptr %pointers, ptr %strides, ptr %in)
{calls}
  %next = add i64 %i, {lanes.width}
  %more = icmp slt i64 %next, %stop
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""
