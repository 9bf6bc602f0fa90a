"""Many states: one state in each lane of a vector, as LLVM text.

    void fc_batch(i64 start, i64 stop, ptr pointers, ptr strides, ptr ws)

`pointers` holds the addresses of the inputs and then of the outputs, row-major; `strides` the distance in
doubles between the rows of each input (0 repeats one row). States start..stop-1 are done, a vector of them at a
time: rows are transposed into lanes, computed, and transposed back into rows, each result being written once.
The last vector repeats the last state in its surplus lanes, so no lane is special.
"""

from __future__ import annotations

from fallingcat.compile.lanes import Lanes, declarations
from fallingcat.compile.mathlib import sincos
from fallingcat.compile.pieces import PieceWriter, Storage, write_piece, write_pieces
from fallingcat.compile.schedule import Schedule
from fallingcat.trace.program import Program

GROUPS = 64
"""Groups of results transposed by one function."""


def batch_text(program: Program, plan: Schedule, lanes: Lanes) -> str:
    """The module text with `fc_batch`."""
    storage = Storage(
        "ptr noalias readonly %in, ptr noalias %ws",
        "ptr %in, ptr %ws",
        lambda writer, k: writer.load("%in", k),
        lambda writer, k, name: None,
    )
    functions = [declarations(lanes), sincos(lanes)]
    compute: list[tuple[str, str]] = []
    if plan.angles:
        functions.append(_angles(program, plan, lanes, storage))
        compute.append(("fc_angles", storage.arguments))
    for name, arguments, text in write_pieces(program, plan, lanes, lanes, storage):
        functions.append(text)
        compute.append((name, arguments))
    loads = [_load_rows(j, spec.size, lanes) for j, spec in enumerate(program.inputs)]
    stores = _store_rows(program, plan, lanes)
    functions += loads + [text for texts in stores for text in texts]
    functions.append(_driver(program, lanes, compute, [len(texts) for texts in stores]))
    return "\n".join(functions)


def _angles(program: Program, plan: Schedule, lanes: Lanes, storage: Storage) -> str:
    early = set(plan.angles)
    values = [program.first + k for k, (op, args) in enumerate(program.instructions) if op in ("sin", "cos") and args[0] in early]
    writer = PieceWriter(program, plan, lanes, storage)
    write_piece(writer, values)
    return writer.function("fc_angles")


def _rows(lanes: Lanes) -> list[str]:
    return [f"%row{lane}" for lane in range(lanes.width)]


def _transpose(writer: _Lines, rows: list[str], lanes: Lanes) -> list[str]:
    """A square of vectors transposed in registers, by exchanging halves, quarters, ..."""
    T, W = lanes.type, lanes.width
    rows = list(rows)
    step = 1
    while step < W:
        for i in range(W):
            if i & step:
                continue
            a, b = rows[i], rows[i | step]
            low = ", ".join(f"i32 {p if not p & step else W + (p ^ step)}" for p in range(W))
            high = ", ".join(f"i32 {p ^ step if not p & step else W + p}" for p in range(W))
            rows[i] = writer.emit(f"shufflevector {T} {a}, {T} {b}, <{W} x i32> <{low}>")
            rows[i | step] = writer.emit(f"shufflevector {T} {a}, {T} {b}, <{W} x i32> <{high}>")
        step *= 2
    return rows


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
        return f"define internal void @{name}({parameters}) #0 {{\n{body}\n  ret void\n}}"


def _starts(size: int, width: int) -> list[int]:
    """Where groups of `width` columns start; the last one may overlap the one before."""
    if size < width:
        return []
    starts = list(range(0, size - width + 1, width))
    if starts[-1] + width < size:
        starts.append(size - width)
    return starts


def _load_rows(j: int, size: int, lanes: Lanes) -> str:
    """Transpose one row per lane into one vector per entry."""
    T, W = lanes.type, lanes.width
    w = _Lines()
    rows = _rows(lanes)
    for start in _starts(size, W):
        loaded = []
        for row in rows:
            where = w.emit(f"getelementptr double, ptr {row}, i64 {start}")
            loaded.append(w.emit(f"load {T}, ptr {where}, align 8"))
        for k, column in enumerate(_transpose(w, loaded, lanes)):
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


def _store_rows(program: Program, plan: Schedule, lanes: Lanes) -> list[list[str]]:
    """Per output, the functions that transpose results back into rows."""
    T, W = lanes.type, lanes.width
    rows = _rows(lanes)
    parameters = ", ".join([*(f"ptr {row}" for row in rows), "ptr noalias readonly %in", "ptr noalias readonly %ws"])

    def load(w: _Lines, value: int) -> str:
        if value < program.input_count:
            where = w.emit(f"getelementptr {T}, ptr %in, i64 {value}")
        elif value < program.first:
            return lanes.constant(program.constants[value - program.input_count])
        else:
            where = w.emit(f"getelementptr {T}, ptr %ws, i64 {plan.slots[value]}")
        return w.emit(f"load {T}, ptr {where}, align {lanes.align}")

    functions = []
    for j, flat in enumerate(program.results):
        texts: list[str] = []
        starts = _starts(len(flat), W)
        for first in range(0, len(starts), GROUPS):
            w = _Lines()
            for start in starts[first : first + GROUPS]:
                group = flat[start : start + W]
                if len(set(group)) == 1:  # the same value everywhere, most often zero
                    columns = _broadcast_lanes(w, load(w, group[0]), lanes, program.input_count <= group[0] < program.first)
                else:
                    columns = _transpose(w, [load(w, value) for value in group], lanes)
                for row, column in zip(rows, columns, strict=True):
                    where = w.emit(f"getelementptr double, ptr {row}, i64 {start}")
                    w.do(f"store {T} {column}, ptr {where}, align 8")
            texts.append(w.function(f"fc_store{j}_{len(texts)}", parameters))
        if len(flat) < W:
            w = _Lines()
            for k, value in enumerate(flat):
                vector = load(w, value)
                for lane, row in enumerate(rows):
                    x = w.emit(f"extractelement {T} {vector}, i32 {lane}")
                    where = w.emit(f"getelementptr double, ptr {row}, i64 {k}")
                    w.do(f"store double {x}, ptr {where}, align 8")
            texts.append(w.function(f"fc_store{j}_0", parameters))
        functions.append(texts)
    return functions


def _broadcast_lanes(w: _Lines, value: str, lanes: Lanes, constant: bool) -> list[str]:
    """Per lane, a vector that repeats that lane's number."""
    if constant:
        return [value] * lanes.width
    T, W = lanes.type, lanes.width
    columns = []
    for lane in range(W):
        mask = ", ".join(f"i32 {lane}" for _ in range(W))
        columns.append(w.emit(f"shufflevector {T} {value}, {T} undef, <{W} x i32> <{mask}>"))
    return columns


def _driver(program: Program, lanes: Lanes, compute: list[tuple[str, str]], stores: list[int]) -> str:
    """The loop over vectors of states."""
    T, W = lanes.type, lanes.width
    w = _Lines()
    bases, strides = [], []
    for j in range(len(program.inputs) + len(program.outputs)):
        where = w.emit(f"getelementptr ptr, ptr %pointers, i64 {j}")
        bases.append(w.emit(f"load ptr, ptr {where}, align 8"))
    for j in range(len(program.inputs)):
        where = w.emit(f"getelementptr i64, ptr %strides, i64 {j}")
        strides.append(w.emit(f"load i64, ptr {where}, align 8"))
    strides += [str(output.size) for output in program.outputs]
    slots = w.emit(f"getelementptr {T}, ptr %ws, i64 {program.input_count}")
    last = w.emit("sub i64 %stop, 1")
    empty = w.emit("icmp sge i64 %start, %stop")
    w.do(f"br i1 {empty}, label %done, label %loop")
    head, w.lines = w.lines, []

    body = _Body(len(head))
    index = []
    for lane in range(W):
        i = body.emit(f"add i64 %i, {lane}")
        index.append(body.emit(f"call i64 @llvm.smin.i64(i64 {i}, i64 {last})"))

    def row_pointers(j: int) -> str:
        rows = []
        for i in index:
            offset = body.emit(f"mul i64 {i}, {strides[j]}")
            rows.append(body.emit(f"getelementptr double, ptr {bases[j]}, i64 {offset}"))
        return ", ".join(f"ptr {row}" for row in rows)

    position = 0
    for j, spec in enumerate(program.inputs):
        to = body.emit(f"getelementptr {T}, ptr %ws, i64 {position}")
        body.do(f"call void @fc_load{j}({row_pointers(j)}, ptr {to})")
        position += spec.size
    for name, arguments in compute:
        # a piece knows the inputs, at the start of the workspace, as %in, and the slots behind them as %ws
        body.do(f"call void @{name}({arguments.replace('%ws', slots).replace('%in', '%ws')})")
    for j, count in enumerate(stores):
        rows = row_pointers(len(program.inputs) + j) if count else ""
        for k in range(count):
            body.do(f"call void @fc_store{j}_{k}({rows}, ptr %ws, ptr {slots})")
    text = "\n".join(
        [
            "define void @fc_batch(i64 %start, i64 %stop, ptr %pointers, ptr %strides, ptr %ws) #1 {",
            "entry:",
            *head,
            "loop:",
            "  %i = phi i64 [%start, %entry], [%next, %loop]",
            *body.lines,
            f"  %next = add i64 %i, {W}",
            "  %more = icmp slt i64 %next, %stop",
            "  br i1 %more, label %loop, label %done",
            "done:",
            "  ret void",
            "}",
        ]
    )
    return text


class _Body(_Lines):
    """Continues the numbering of the block before it."""

    def __init__(self, offset: int) -> None:
        super().__init__()
        self._offset = offset

    def emit(self, text: str) -> str:
        name = f"%v{self._offset + len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name
