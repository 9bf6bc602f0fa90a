"""Listed dot products as loops over tables, as LLVM text.

The jobs of a `DotTable` are constants beside the code. They are done slab by slab, so that what is zeroed is still in the
cache when it is filled. Long jobs on neighbouring places are done a vector of columns at a time, the last vector overlapping
the one before; all others column by column. Either way each entry is the same chain of fused multiply-adds.
"""

from __future__ import annotations

from collections.abc import Callable

from fallingcat.codegen.lanes import Lanes, transpose
from fallingcat.codegen.products import Site
from fallingcat.scalar import Dots
from fallingcat.trace.dots import DotTable

FIELDS = 5
"""Of a job in the tables; the number of its terms is that of its kind."""


def dots_text(name: str, op: DotTable, site: Site) -> str:
    """The function that computes listed dot products."""
    return _Writer(name, op, site).text()


class _Writer:
    def __init__(self, name: str, op: DotTable, site: Site) -> None:
        self.name, self.op, self.site = name, op, site
        self.lines: list[str] = []
        self.count = 0
        self.terms = op.inner
        """Of the jobs that are written just now."""
        self.rows = site.slot.width if op.output is not None and site.slot.width > 1 else 0
        """States whose rows are written, in a batch that writes an output; else 0."""
        self.vector = site.slot if site.slot.width > 1 else site.vector
        spans = site.slot.width == 1 or self.rows
        self.is_long: Callable[[Dots], bool] = lambda job: (
            bool(spans) and not op.add and job.step == 1 and job.columns >= self.vector.width > 1
        )

    # -----------------------------------------------------------------------------------------------------------------

    def emit(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, text: str) -> None:
        self.lines.append(f"{text}:")

    def at(self, element: str, base: str, index: int | str) -> str:
        return self.emit(f"getelementptr {element}, ptr {base}, i64 {index}")

    def fma(self, lanes: Lanes, a: str, b: str, c: str) -> str:
        T = lanes.type
        return self.emit(f"call {T} @llvm.fma.{lanes.suffix}({T} {a}, {T} {b}, {T} {c})")

    # -----------------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        op = self.op
        slabs = -(-op.size // op.slab) if op.size else 0
        kinds: dict[tuple[bool, int], list[Dots]] = {}
        for job in op.jobs:
            kinds.setdefault((self.is_long(job), op.terms(job)), []).append(job)
        names = {key: f"{'long' if key[0] else 'short'}{key[1]}" for key in sorted(kinds, reverse=True)}
        tables = [self._table(names[key], kinds[key], slabs) for key in names]
        self._enter()
        self.do("br label %slab")
        self.label("slab")
        self.do("%s = phi i64 [0, %entry], [%s_next, %slab_end]")
        if op.has_gaps:
            self._zero()
        for (is_long, self.terms), kind in names.items():
            self._loop_over(kind, self._long_job if is_long else self._short_job)
        self.do("br label %slab_end")
        self.label("slab_end")
        self.do("%s_next = add i64 %s, 1")
        self.do(f"%s_more = icmp slt i64 %s_next, {slabs}")
        self.do("br i1 %s_more, label %slab, label %done")
        body = "\n".join(self.lines)
        function = f"define internal void @{self.name}({self.site.parameters}) #2 {{\n{body}\ndone:\n  ret void\n}}"
        return "\n".join([*tables, function])

    def _table(self, kind: str, jobs: list[Dots], slabs: int) -> str:
        """The jobs of a kind, and where those of each slab start."""
        starts, k = [0], 0
        for s in range(slabs):
            while k < len(jobs) and jobs[k].place // self.op.slab == s:
                k += 1
            starts.append(k)
        numbers = ", ".join(f"i32 {x}" for job in jobs for x in job[:FIELDS])
        size = FIELDS * len(jobs)
        return (
            f"@{self.name}_{kind} = internal constant [{size} x i32] [{numbers}]\n"
            f"@{self.name}_{kind}_starts = internal constant [{len(starts)} x i32] [{', '.join(f'i32 {x}' for x in starts)}]"
        )

    def _enter(self) -> None:
        """Addresses that all jobs need: %left, %right, and where the results go."""
        slot, site = self.site.slot.type, self.site
        self.label("entry")
        self.do(f"%left = getelementptr {slot}, ptr %ws, i64 {site.left}")
        self.do(f"%right = getelementptr {slot}, ptr %ws, i64 {site.right}")
        for lane in range(self.rows):
            where = self.at("ptr", "%rows", self.op.output * self.rows + lane)  # type: ignore[operator]
            self.do(f"%to{lane} = load ptr, ptr {where}, align 8")
        if not self.rows:
            target = "%ws" if self.op.output is None else f"%out{self.op.output}"
            self.do(f"%to = getelementptr {slot}, ptr {target}, i64 {site.out if self.op.output is None else 0}")

    def _zero(self) -> None:
        """Zero the slab, a vector at a time."""
        wide = self.vector if self.op.slab >= self.vector.width and (self.rows or self.site.slot.width == 1) else self.site.slot
        step = 1 if wide is self.site.slot and not self.rows else wide.width
        if self.rows and self.op.slab < wide.width:
            wide, step = Lanes(1), 1
        element = "double" if self.rows else self.site.slot.type
        targets = [f"%to{lane}" for lane in range(self.rows)] or ["%to"]
        self.do(f"%z_first = mul i64 %s, {self.op.slab}")
        self.do(f"%z_last = add i64 %z_first, {self.op.slab - step}")
        self.do("br label %zero")
        self.label("zero")
        self.do("%z = phi i64 [%z_first, %slab], [%z_next, %zero]")
        for target in targets:
            where = self.at(element, target, "%z")
            self.do(f"store {wide.type} {wide.constant(0.0)}, ptr {where}, align 8")
        self.do(f"%z_step = add i64 %z, {step}")
        self.do("%z_done = icmp sge i64 %z, %z_last")
        self.do("%z_next = call i64 @llvm.smin.i64(i64 %z_step, i64 %z_last)")
        self.do("br i1 %z_done, label %filled, label %zero")
        self.label("filled")

    def _loop_over(self, kind: str, job: Callable[[str], None]) -> None:
        """The jobs of one kind in this slab."""
        bounds = []
        for k, s in enumerate(("%s", f"%{kind}_after")):
            if k:
                self.do(f"{s} = add i64 %s, 1")
            where = self.at("i32", f"@{self.name}_{kind}_starts", s)
            narrow = self.emit(f"load i32, ptr {where}, align 4")
            bounds.append(self.emit(f"sext i32 {narrow} to i64"))
        any_job = self.emit(f"icmp slt i64 {bounds[0]}, {bounds[1]}")
        self.do(f"br label %{kind}_enter")
        self.label(f"{kind}_enter")
        self.do(f"br i1 {any_job}, label %{kind}, label %{kind}_done")
        self.label(kind)
        self.do(f"%{kind}_k = phi i64 [{bounds[0]}, %{kind}_enter], [%{kind}_next, %{kind}_end]")
        first = self.emit(f"mul i64 %{kind}_k, {FIELDS}")
        row = self.at("i32", f"@{self.name}_{kind}", first)
        for m, part in enumerate(Dots._fields[:FIELDS]):
            narrow = self.emit(f"load i32, ptr {self.at('i32', row, m)}, align 4")
            self.do(f"%{kind}_{part} = sext i32 {narrow} to i64")
        if self.op.side:
            line = self.emit(f"sdiv i64 %{kind}_place, {self.op.side}")
            column = self.emit(f"srem i64 %{kind}_place, {self.op.side}")
            down = self.emit(f"mul i64 {column}, {self.op.side}")
            self.do(f"%{kind}_mirror = add i64 {down}, {line}")
        job(kind)
        self.label(f"{kind}_end")
        self.do(f"%{kind}_next = add i64 %{kind}_k, 1")
        more = self.emit(f"icmp slt i64 %{kind}_next, {bounds[1]}")
        self.do(f"br i1 {more}, label %{kind}, label %{kind}_done")
        self.label(f"{kind}_done")

    def _left(self, kind: str, broadcast: Lanes | None) -> list[str]:
        """The entries of the left vector; for one state and a vector of columns, each in all lanes."""
        slot = self.site.slot
        base = self.at(slot.type, "%left", f"%{kind}_left")
        values = []
        for m in range(self.terms):
            x = self.emit(f"load {slot.type}, ptr {self.at(slot.type, base, m)}, align {slot.align}")
            if broadcast is not None:
                T, W = broadcast.type, broadcast.width
                one = self.emit(f"insertelement {T} undef, double {x}, i32 0")
                x = self.emit(f"shufflevector {T} {one}, {T} undef, <{W} x i32> zeroinitializer")
            values.append(x)
        return values

    def _sum(self, lanes: Lanes, left: list[str], column: str, offset: int) -> str:
        """The dot product with a column (or, for one state, a vector of columns)."""
        total = ""
        for m, a in enumerate(left):
            where = self.at(self.site.slot.type, column, m * self.op.right_width + offset)
            b = self.emit(f"load {lanes.type}, ptr {where}, align {self.site.slot.align}")
            total = self.emit(f"fmul {lanes.type} {a}, {b}") if m == 0 else self.fma(lanes, a, b, total)
        return total

    def _long_job(self, kind: str) -> None:
        """A vector of neighbouring columns at a time."""
        W = self.vector.width
        left = self._left(kind, None if self.rows else self.vector)
        base = self.at(self.site.slot.type, "%right", f"%{kind}_right")
        self.do(f"%{kind}_last = sub i64 %{kind}_columns, {W}")
        self.do(f"br label %{kind}_chunk")
        self.label(f"{kind}_chunk")
        c = f"%{kind}_c"
        self.do(f"{c} = phi i64 [0, %{kind}], [{c}_next, %{kind}_chunk]")
        column = self.at(self.site.slot.type, base, c)
        place = self.emit(f"add i64 %{kind}_place, {c}")
        if self.rows:
            sums = [self._sum(self.site.slot, left, column, k) for k in range(W)]
            for lane, x in enumerate(transpose(self, sums, self.site.slot)):
                self.do(f"store {self.vector.type} {x}, ptr {self.at('double', f'%to{lane}', place)}, align 8")
                self._mirror_vector(kind, x, f"%to{lane}")
        else:
            x = self._sum(self.vector, left, column, 0)
            self.do(f"store {self.vector.type} {x}, ptr {self.at('double', '%to', place)}, align 8")
            self._mirror_vector(kind, x, "%to")
        self.do(f"{c}_step = add i64 {c}, {W}")
        self.do(f"{c}_done = icmp sge i64 {c}, %{kind}_last")
        self.do(f"{c}_next = call i64 @llvm.smin.i64(i64 {c}_step, i64 %{kind}_last)")
        self.do(f"br i1 {c}_done, label %{kind}_end, label %{kind}_chunk")

    def _mirror_vector(self, kind: str, x: str, to: str) -> None:
        """The columns that start at the current one, down a column of the matrix."""
        if not self.op.side:
            return
        ahead = self.emit(f"mul i64 %{kind}_c, {self.op.side}")
        first = self.at("double", to, self.emit(f"add i64 %{kind}_mirror, {ahead}"))
        for k in range(self.vector.width):
            part = self.emit(f"extractelement {self.vector.type} {x}, i32 {k}")
            self.do(f"store double {part}, ptr {self.at('double', first, k * self.op.side)}, align 8")

    def _short_job(self, kind: str) -> None:
        """Column by column."""
        slot = self.site.slot
        left = self._left(kind, None)
        base = self.at(slot.type, "%right", f"%{kind}_right")
        self.do(f"br label %{kind}_one")
        self.label(f"{kind}_one")
        d = f"%{kind}_d"
        self.do(f"{d} = phi i64 [0, %{kind}], [{d}_next, %{kind}_one]")
        self.do(f"{d}_place = phi i64 [%{kind}_place, %{kind}], [{d}_place_next, %{kind}_one]")
        x = self._sum(slot, left, self.at(slot.type, base, d), 0)
        places = [f"{d}_place"]
        if self.op.side:
            ahead = self.emit(f"mul i64 {d}, {self.op.side}")
            places.append(self.emit(f"add i64 %{kind}_mirror, {ahead}"))
        for place in places:
            self._put_all(x, place)
        self.do(f"{d}_next = add i64 {d}, 1")
        self.do(f"{d}_place_next = add i64 {d}_place, %{kind}_step")
        self.do(f"{d}_more = icmp slt i64 {d}_next, %{kind}_columns")
        self.do(f"br i1 {d}_more, label %{kind}_one, label %{kind}_end")

    def _put_all(self, x: str, place: str) -> None:
        """A number, or those of all states, at a place."""
        slot = self.site.slot
        if self.rows:
            for lane in range(self.rows):
                part = self.emit(f"extractelement {slot.type} {x}, i32 {lane}")
                self._put("double", part, self.at("double", f"%to{lane}", place), 8)
        else:
            self._put(slot.type, x, self.at(slot.type, "%to", place), slot.align if self.op.output is None else 8)

    def _put(self, T: str, x: str, where: str, align: int) -> None:
        if self.op.add:
            before = self.emit(f"load {T}, ptr {where}, align {align}")
            x = self.emit(f"fadd {T} {before}, {x}")
        self.do(f"store {T} {x}, ptr {where}, align {align}")
