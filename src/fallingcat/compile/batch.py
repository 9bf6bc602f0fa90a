"""Many states: one state in each lane of a vector, as LLVM text.

    void fc_batch(i64 start, i64 stop, ptr pointers, ptr strides, ptr ws)

`pointers` holds the addresses of the inputs and then of the outputs, row-major; `strides` the distance in
doubles between the rows of each input (0 repeats one row). States start..stop-1 are done, a vector of them at a
time: rows are transposed into lanes, computed, and transposed back into rows, each result being written once.
The last vector repeats the last state in its surplus lanes, so no lane is special.

The code of a large program does not fit in the instruction cache, and fetching it takes longer than running it. So
several vectors of states, a team, go through each piece one after the other while its code is at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

from fallingcat.compile.lanes import Lanes, declarations
from fallingcat.compile.mathlib import sincos
from fallingcat.compile.pieces import PieceWriter, Storage, write_piece, write_pieces
from fallingcat.compile.schedule import Schedule, group_starts
from fallingcat.trace.program import Program

GROUPS = 64
"""Groups of results transposed by one function."""
SMALL_CODE = 3000
"""Instructions whose code fits in the instruction cache."""
TEAM_BYTES = 256 * 1024
"""Memory that a team may work in: about half of a second-level cache."""
LARGEST_TEAM = 8

PARAMETERS = "ptr noalias readonly %in, ptr noalias %ws, ptr noalias readonly %rows"
ARGUMENTS = "ptr %in, ptr %ws, ptr %rows"


@dataclass(frozen=True)
class Layout:
    """The memory of one vector of states: inputs, slots, and a table of row addresses; in doubles."""

    inputs: int
    slots: int
    rows: int
    team: int

    @property
    def size(self) -> int:
        """For one vector, padded to 64 bytes."""
        return -(-(self.inputs + self.slots + self.rows) // 8) * 8

    @property
    def total(self) -> int:
        return self.size * self.team


def layout(program: Program, plan: Schedule, lanes: Lanes) -> Layout:
    """Where everything lies, and how many vectors make a team."""
    W = lanes.width
    one = Layout(program.input_count * W, plan.slot_count * W, len(program.outputs) * W, 1)
    if len(program.instructions) <= SMALL_CODE:
        return one
    team = max(1, min(LARGEST_TEAM, TEAM_BYTES // (8 * one.size)))
    return Layout(one.inputs, one.slots, one.rows, team)


def batch_text(program: Program, plan: Schedule, lanes: Lanes) -> str:
    """The module text with `fc_batch`."""
    storage = Storage(PARAMETERS, ARGUMENTS, lambda writer, k: writer.load("%in", k), lambda writer, k, name: None)
    functions = [declarations(lanes), sincos(lanes)]
    steps: list[str] = []
    if plan.angles:
        functions.append(_angles(program, plan, lanes, storage))
        steps.append("fc_angles")

    def store(point: int) -> None:
        groups = plan.stores.get(point, [])
        for first in range(0, len(groups), GROUPS):
            name = f"fc_store{point + 1}_{first}"
            functions.append(_store_rows(name, program, plan, lanes, groups[first : first + GROUPS]))
            steps.append(name)

    store(-1)
    for k, piece in enumerate(write_pieces(program, plan, lanes, lanes, storage)):
        for name, text in piece:
            functions.append(text)
            steps.append(name)
        store(k)
    functions += [_load_rows(j, spec.size, lanes) for j, spec in enumerate(program.inputs)]
    place = layout(program, plan, lanes)
    functions.append(_enter(program, lanes, place))
    functions.append(_driver(lanes, place, steps))
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


def _store_rows(name: str, program: Program, plan: Schedule, lanes: Lanes, groups: list[tuple[int, int]]) -> str:
    """Transpose groups of results back into rows."""
    T, W = lanes.type, lanes.width
    w = _Lines()
    rows: dict[tuple[int, int], str] = {}
    for j in sorted({j for j, _ in groups}):
        for lane in range(W):
            where = w.emit(f"getelementptr ptr, ptr %rows, i64 {j * W + lane}")
            rows[j, lane] = w.emit(f"load ptr, ptr {where}, align 8")

    def load(value: int) -> str:
        if value < program.input_count:
            where = w.emit(f"getelementptr {T}, ptr %in, i64 {value}")
        elif value < program.first:
            return lanes.constant(program.constants[value - program.input_count])
        else:
            where = w.emit(f"getelementptr {T}, ptr %ws, i64 {plan.slots[value]}")
        return w.emit(f"load {T}, ptr {where}, align {lanes.align}")

    for j, start in groups:
        values = program.results[j][start : start + W]
        if len(values) < W:
            for k, value in enumerate(values):
                vector = load(value)
                for lane in range(W):
                    x = w.emit(f"extractelement {T} {vector}, i32 {lane}")
                    where = w.emit(f"getelementptr double, ptr {rows[j, lane]}, i64 {start + k}")
                    w.do(f"store double {x}, ptr {where}, align 8")
            continue
        if len(set(values)) == 1:  # the same value everywhere, most often zero
            columns = _broadcast_lanes(w, load(values[0]), lanes, program.input_count <= values[0] < program.first)
        else:
            columns = _transpose(w, [load(value) for value in values], lanes)
        for lane, column in enumerate(columns):
            where = w.emit(f"getelementptr double, ptr {rows[j, lane]}, i64 {start}")
            w.do(f"store {T} {column}, ptr {where}, align 8")
    return w.function(name, PARAMETERS)


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
    """For each team of vectors: bring them in, then take each step with all of them."""
    W, size = lanes.width, place.size
    table = ", ".join(f"ptr @{name}" for name in steps) or "ptr null"
    return f"""
@fc_steps = internal constant [{max(1, len(steps))} x ptr] [{table}]
define void @fc_batch(i64 %start, i64 %stop, ptr %pointers, ptr %strides, ptr %memory) #1 {{
entry:
  %last = sub i64 %stop, 1
  %empty = icmp sge i64 %start, %stop
  br i1 %empty, label %done, label %team
team:
  %i = phi i64 [%start, %entry], [%after, %steps_done]
  br label %enter
enter:
  %n = phi i64 [0, %team], [%n_next, %enter]
  %n_states = mul i64 %n, {W}
  %i_n = add i64 %i, %n_states
  %n_at = mul i64 %n, {size}
  %here = getelementptr double, ptr %memory, i64 %n_at
  call void @fc_enter(i64 %i_n, i64 %last, ptr %pointers, ptr %strides, ptr %here)
  %n_next = add i64 %n, 1
  %after = add i64 %i_n, {W}
  %full = icmp sge i64 %n_next, {place.team}
  %finished = icmp sge i64 %after, %stop
  %ready = or i1 %full, %finished
  br i1 %ready, label %step, label %enter
step:
  %k = phi i64 [0, %enter], [%k_next, %step_done]
  %all = icmp sge i64 %k, {len(steps)}
  br i1 %all, label %steps_done, label %members
members:
  %slot = getelementptr ptr, ptr @fc_steps, i64 %k
  %function = load ptr, ptr %slot, align 8
  br label %member
member:
  %m = phi i64 [0, %members], [%m_next, %member]
  %m_at = mul i64 %m, {size}
  %in = getelementptr double, ptr %memory, i64 %m_at
  %ws = getelementptr double, ptr %in, i64 {place.inputs}
  %rows = getelementptr double, ptr %in, i64 {place.inputs + place.slots}
  call void %function(ptr %in, ptr %ws, ptr %rows)
  %m_next = add i64 %m, 1
  %m_all = icmp sge i64 %m_next, %n_next
  br i1 %m_all, label %step_done, label %member
step_done:
  %k_next = add i64 %k, 1
  br label %step
steps_done:
  br i1 %finished, label %done, label %team
done:
  ret void
}}"""
