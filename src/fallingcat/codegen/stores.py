"""Results of a batch: from one state in each lane to one row for each state.

Results that fit the caches are stored where they belong. A large batch would push everything else out of the caches, and each
line of memory would be read before it is written: the rows of such a batch are stored in the workspace, and then go past the
caches, whole lines at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

from fallingcat.codegen.builder import Function
from fallingcat.codegen.lanes import Lanes, store_rows
from fallingcat.codegen.pieces import PieceWriter, Storage
from fallingcat.codegen.products import Tile, TileWriter
from fallingcat.codegen.schedule import Schedule
from fallingcat.trace.program import Program

Group = tuple[int, int, int]
"""(output, first entry, entries) of neighbouring results."""

GROUPS = 32
"""Groups of results stored per function; compile time grows faster than linearly with the length of a function."""

LINE = 64
"""Bytes in a line of the caches."""


def store_functions(program: Program, plan: Schedule, lanes: Lanes, storage: Storage) -> Iterator[tuple[str, str]]:
    """(name, text) of the functions that store all results that products have not written already."""
    groups = _groups(program, plan, lanes.width)
    for first in range(0, len(groups), GROUPS):
        w = ResultWriter(f"fc_store{first}", program, plan, lanes, storage)
        for group in groups[first : first + GROUPS]:
            w.put_group(group)
        yield f"fc_store{first}", w.finished


def copy_past_caches(lanes: Lanes) -> str:
    """void fc_past_caches(ptr to, ptr from, i64 count), which copies numbers by non-temporal stores.

    Whole cache lines are written without being read first; partial lines at either end are stored as usual.
    """
    f = Function("fc_past_caches", "void", ("ptr noalias %to", "ptr noalias readonly %from", "i64 %count"), True, "#2")
    into_line = f.value(f"and i64 {f.value('ptrtoint ptr %to to i64')}, {LINE - 1}")
    missing = f.value(f"and i64 {f.value(f'sub i64 {LINE}, {into_line}')}, {LINE - 1}")
    head = f.call("i64", "llvm.smin.i64", f"i64 {f.value(f'lshr i64 {missing}, 3')}", "i64 %count")
    rest = f.value(f"sub i64 %count, {head}")
    lines = f.value(f"add i64 {head}, {f.value(f'and i64 {rest}, {-(LINE // 8)}')}")
    ends = ", !nontemporal !{i32 1}"
    for start, stop, step, type_, align, how in (
        ("0", head, 1, "double", 8, ""),
        (head, lines, lanes.width, lanes.type, lanes.align, ends),
        (lines, "%count", 1, "double", 8, ""),
    ):
        some, done = f.label("some"), f.label("done")
        f.branch(f.value(f"icmp slt i64 {start}, {stop}"), some, done)
        f.begin(some)
        with f.counting(stop, start, step) as k:
            source, target = (f.value(f"getelementptr double, ptr {base}, i64 {k}") for base in ("%from", "%to"))
            x = f.value(f"load {type_}, ptr {source}, align 8")
            f.do(f"store {type_} {x}, ptr {target}, align {align}{how}")
        f.go(done)
        f.begin(done)
    f.ret()
    return f.text


def _groups(program: Program, plan: Schedule, width: int) -> list[Group]:
    """The groups of results to be stored at the end.

    Results that products have already written are left out, so that the groups beside them are shorter.
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


class ResultWriter(PieceWriter):
    """Writes a function that stores results."""

    def __init__(self, name: str, program: Program, plan: Schedule, lanes: Lanes, storage: Storage) -> None:
        super().__init__(name, program, plan, lanes, storage)
        self._rows: dict[int, list[str]] = {}

    def _row(self, j: int, lane: int) -> str:
        """The address of the row of output j for the state in a lane."""
        if j not in self._rows:
            W = self.lanes.width
            wheres = [self.value(f"getelementptr ptr, ptr %rows, i64 {j * W + k}") for k in range(W)]
            self._rows[j] = [self.value(f"load ptr, ptr {where}, align 8") for where in wheres]
        return self._rows[j][lane]

    def _place(self, j: int, lane: int, entry: int) -> str:
        return self.value(f"getelementptr double, ptr {self._row(j, lane)}, i64 {entry}")

    def put_group(self, group: Group) -> None:
        """Transpose a group of results back into rows and store them."""
        j, start, count = group
        values = self.program.results[j][start : start + count]
        places = [self._place(j, lane, start) for lane in range(self.lanes.width)]
        if len(set(values)) > 1 or count < self.lanes.width:
            store_rows(self, [self.get(value) for value in values], self.lanes, places)
            return
        for place, row in zip(places, self._equal(values[0]), strict=True):
            self.do(f"store {self.lanes.type} {row}, ptr {place}, align 8")

    def _equal(self, value: int) -> list[str]:
        """Per lane, a vector with that lane's value in all places, for a group of equal results (most often zeros)."""
        T, W = self.lanes.type, self.lanes.width
        vector = self.get(value)
        if self.program.input_count <= value < self.program.first:
            return [vector] * W
        masks = [", ".join([f"i32 {lane}"] * W) for lane in range(W)]
        return [self.value(f"shufflevector {T} {vector}, {T} undef, <{W} x i32> <{mask}>") for mask in masks]


def store_tile(w: TileWriter, tile: Tile, sums: dict[tuple[int, int], str]) -> None:
    """Store a tile of a product, transposed in registers, in the output rows of its states."""
    lanes, f = w.site.slot, w.f
    for r in range(tile.rows):
        place = w.place_of_row(r)
        rows = [f.load("ptr", "%rows", 8 * (tile.output * lanes.width + lane)) for lane in range(lanes.width)]
        places = [f.value(f"getelementptr double, ptr {row}, i64 {place}") for row in rows]
        store_rows(f, [sums[r, c] for c in range(tile.columns)], lanes, places)
