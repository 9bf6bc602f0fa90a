"""Listed dot products as loops over tables, as LLVM text.

The jobs of a `DotTable` are constant tables beside the code. They are done slab by slab, so that a slab is still in the cache
when it is filled after it was zeroed. Long jobs on neighbouring places are done a vector of columns at a time, the last vector
overlapping the one before; jobs with fewer columns than a vector has lanes have unrolled code, one copy per number of columns;
all others go column by column. Either way each entry is the same chain of fused multiply-adds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fallingcat.codegen.builder import Function
from fallingcat.codegen.lanes import Lanes, store_rows, transpose
from fallingcat.codegen.products import Site
from fallingcat.scalar import Dots
from fallingcat.trace.dots import DotTable

FIELDS = 5
"""Fields of a job in the tables; its number of terms is not among them, as it is the same for all jobs of a kind."""


def dots_text(name: str, op: DotTable, site: Site) -> str:
    """The function that computes listed dot products."""
    return _Writer(name, op, site).write()


class _Writer(Function):
    def __init__(self, name: str, op: DotTable, site: Site) -> None:
        super().__init__(name, "void", site.parameters, internal=True, attributes="#2")
        self.table, self.op, self.site = name, op, site
        self.terms = op.inner
        """Number of terms of the jobs whose code is being written."""
        self.rows = site.slot.width if op.output is not None and site.slot.width > 1 else 0
        """Number of states whose result rows are written, if this is a batch and the table is an output; else 0."""
        self.vector = site.slot if site.slot.width > 1 else site.vector

    def kind(self, job: Dots) -> tuple[str, int, int]:
        """The kind of a job, (way, columns, terms): "few" and "apart" are unrolled, with adjacent and strided places; columns is
        0 for the loops "long" (over vectors of columns) and "each" (over columns)."""
        op, W, terms = self.op, self.vector.width, self.op.terms(job)
        near = job.step == 1
        if op.add or (job.columns >= W and not near):
            return "each", 0, terms
        if job.columns < W:
            return "few" if near else "apart", job.columns, terms
        return ("long" if self.site.slot.width == 1 or self.rows else "each"), 0, terms

    def element(self, type_: str, base: str, index: int | str) -> str:
        return self.value(f"getelementptr {type_}, ptr {base}, i64 {index}")

    def whole(self, op: str, a: str | int, b: str | int) -> str:
        return self.value(f"{op} i64 {a}, {b}")

    def fma(self, lanes: Lanes, a: str, b: str, c: str) -> str:
        T = lanes.type
        return self.value(f"call {T} @llvm.fma.{lanes.suffix}({T} {a}, {T} {b}, {T} {c})")

    # -----------------------------------------------------------------------------------------------------------------

    def write(self) -> str:
        op = self.op
        slabs = -(-op.size // op.slab) if op.size else 0
        kinds: dict[tuple[str, int, int], list[Dots]] = {}
        for job in op.jobs:
            kinds.setdefault(self.kind(job), []).append(job)
        names = {key: "{}{}_{}".format(*key) for key in sorted(kinds, reverse=True)}
        tables = [self._table(names[key], kinds[key], slabs) for key in names]
        self._enter()
        with self.counting(slabs) as slab:
            if op.has_gaps:
                self._zero(slab)
            for (how, columns, self.terms), kind in names.items():
                few = partial(self._few_job, columns, how == "few")
                self._loop_over(kind, slab, {"long": self._long_job, "each": self._each_job}.get(how, few))
        self.ret()
        return "\n".join([*tables, self.text])

    def _table(self, kind: str, jobs: list[Dots], slabs: int) -> str:
        """The constant tables with the jobs of a kind, and with the index of the first job of each slab."""
        starts, k = [0], 0
        for s in range(slabs):
            while k < len(jobs) and jobs[k].place // self.op.slab == s:
                k += 1
            starts.append(k)
        numbers = ", ".join(f"i32 {x}" for job in jobs for x in job[:FIELDS])
        size = FIELDS * len(jobs)
        return (
            f"@{self.table}_{kind} = internal constant [{size} x i32] [{numbers}]\n"
            f"@{self.table}_{kind}_starts = internal constant [{len(starts)} x i32] [{', '.join(f'i32 {x}' for x in starts)}]"
        )

    def _enter(self) -> None:
        """Compute the addresses that all jobs need: those of the factors and of the results."""
        slot, site, output = self.site.slot.type, self.site, self.op.output
        self.left = self.element(slot, "%ws", site.left)
        self.right = self.element(slot, "%ws", site.right)
        if self.rows:
            assert output is not None
            self.targets = [self.load("ptr", "%rows", 8 * (output * self.rows + lane)) for lane in range(self.rows)]
        else:
            self.targets = [self.element(slot, "%ws", site.out) if output is None else f"%out{output}"]

    def _zero(self, slab: str) -> None:
        """Zero the slab, a vector at a time."""
        wide = self.vector if self.op.slab >= self.vector.width and (self.rows or self.site.slot.width == 1) else self.site.slot
        step = 1 if wide is self.site.slot and not self.rows else wide.width
        if self.rows and self.op.slab < wide.width:
            wide, step = Lanes(1), 1
        element = "double" if self.rows else self.site.slot.type
        first = self.whole("mul", slab, self.op.slab)
        with self.covering(self.whole("add", first, self.op.slab - step), step, first) as at:
            for target in self.targets:
                self.do(f"store {wide.type} {wide.constant(0.0)}, ptr {self.element(element, target, at)}, align 8")

    def _loop_over(self, kind: str, slab: str, job: Callable[[dict[str, str]], None]) -> None:
        """Write the loop over the jobs of one kind in a slab."""
        starts = self.element("i32", f"@{self.table}_{kind}_starts", slab)
        first, end = self._number(starts, 0), self._number(starts, 1)
        some, done = self.label("some"), self.label("done")
        self.branch(self.value(f"icmp slt i64 {first}, {end}"), some, done)
        self.begin(some)
        with self.counting(end, first) as k:
            row = self.element("i32", f"@{self.table}_{kind}", self.whole("mul", k, FIELDS))
            fields = {name: self._number(row, m) for m, name in enumerate(Dots._fields[:FIELDS])}
            if self.op.side:
                down = self.whole("mul", self.whole("srem", fields["place"], self.op.side), self.op.side)
                fields["mirror"] = self.whole("add", down, self.whole("sdiv", fields["place"], self.op.side))
            job(fields)
        self.go(done)
        self.begin(done)

    def _number(self, row: str, k: int) -> str:
        narrow = self.value(f"load i32, ptr {self.element('i32', row, k)}, align 4")
        return self.value(f"sext i32 {narrow} to i64")

    def _left(self, job: dict[str, str], broadcast: Lanes | None) -> list[str]:
        """The entries of a job's left vector, each broadcast to the lanes of `broadcast` if that is given."""
        slot = self.site.slot
        base = self.element(slot.type, self.left, job["left"])
        values = []
        for m in range(self.terms):
            x = self.value(f"load {slot.type}, ptr {self.element(slot.type, base, m)}, align {slot.align}")
            if broadcast is not None:
                T, W = broadcast.type, broadcast.width
                one = self.value(f"insertelement {T} undef, double {x}, i32 0")
                x = self.value(f"shufflevector {T} {one}, {T} undef, <{W} x i32> zeroinitializer")
            values.append(x)
        return values

    def _sum(self, lanes: Lanes, left: list[str], column: str, offset: int) -> str:
        """The dot product of the left vector with a column (or, for one state, a vector of columns)."""
        total = ""
        for m, a in enumerate(left):
            where = self.element(self.site.slot.type, column, m * self.op.right_width + offset)
            b = self.value(f"load {lanes.type}, ptr {where}, align {self.site.slot.align}")
            total = self.value(f"fmul {lanes.type} {a}, {b}") if m == 0 else self.fma(lanes, a, b, total)
        return total

    def _long_job(self, job: dict[str, str]) -> None:
        """Write the code of a job that runs over vectors of neighbouring columns."""
        slot, W = self.site.slot, self.vector.width
        left = self._left(job, None if self.rows else self.vector)
        base = self.element(slot.type, self.right, job["right"])
        with self.covering(self.whole("sub", job["columns"], W), W) as c:
            column = self.element(slot.type, base, c)
            place = self.whole("add", job["place"], c)
            if self.rows:
                vectors = transpose(self, [self._sum(slot, left, column, k) for k in range(W)], slot)
            else:
                vectors = [self._sum(self.vector, left, column, 0)]
            for x, target in zip(vectors, self.targets, strict=True):
                self.do(f"store {self.vector.type} {x}, ptr {self.element('double', target, place)}, align 8")
                self._mirror_vector(job, c, x, target)

    def _mirror_vector(self, job: dict[str, str], c: str, x: str, target: str) -> None:
        """For a symmetric matrix, store the sums of a vector of columns also down a column of the matrix."""
        if not self.op.side:
            return
        ahead = self.whole("mul", c, self.op.side)
        first = self.element("double", target, self.whole("add", job["mirror"], ahead))
        for k in range(self.vector.width):
            part = self.value(f"extractelement {self.vector.type} {x}, i32 {k}")
            self.do(f"store double {part}, ptr {self.element('double', first, k * self.op.side)}, align 8")

    def _few_job(self, columns: int, near: bool, job: dict[str, str]) -> None:
        """Write the unrolled code of a job with few columns; for one state in vectors, the last of which may overlap another."""
        slot = self.site.slot
        base = self.element(slot.type, self.right, job["right"])
        if slot.width > 1:
            left = self._left(job, None)
            sums = [self._sum(slot, left, base, c) for c in range(columns)]
            if self.rows and near:
                store_rows(self, sums, slot, [self.element("double", target, job["place"]) for target in self.targets])
            for c, x in enumerate(sums):
                self._put_apart(job, c, x, not (self.rows and near))
            return
        vector = self.vector.filled_by(columns)
        left = self._left(job, vector if vector.width > 1 else None)
        done = 0
        for c in sorted({*range(0, columns - vector.width + 1, vector.width), columns - vector.width}):
            x = self._sum(vector, left, base, c)
            if near:
                place = self.element("double", self.targets[0], self.whole("add", job["place"], c))
                self.do(f"store {vector.type} {x}, ptr {place}, align 8")
            for k in range(done, c + vector.width) if self.op.side or not near else ():
                part = x if vector.width == 1 else self.value(f"extractelement {vector.type} {x}, i32 {k - c}")
                self._put_apart(job, k, part, not near)
            done = c + vector.width

    def _put_apart(self, job: dict[str, str], c: int, x: str, here: bool) -> None:
        """Store the sum of one column: at its own place if `here`, and at its mirror image if the matrix is symmetric."""
        if here:
            self._put_all(x, self.whole("add", job["place"], self.whole("mul", job["step"], c)))
        if self.op.side:
            self._put_all(x, self.whole("add", job["mirror"], c * self.op.side))

    def _each_job(self, job: dict[str, str]) -> None:
        """Write the code of a job that runs over its columns one by one."""
        slot = self.site.slot
        left = self._left(job, None)
        base = self.element(slot.type, self.right, job["right"])
        with self.counting(job["columns"]) as c:
            x = self._sum(slot, left, self.element(slot.type, base, c), 0)
            self._put_all(x, self.whole("add", job["place"], self.whole("mul", c, job["step"])))
            if self.op.side:
                self._put_all(x, self.whole("add", job["mirror"], self.whole("mul", c, self.op.side)))

    def _put_all(self, x: str, place: str) -> None:
        """Store a number, or in a batch the numbers of all states, at a place of the result."""
        slot = self.site.slot
        if self.rows:
            for lane, target in enumerate(self.targets):
                part = self.value(f"extractelement {slot.type} {x}, i32 {lane}")
                self._put("double", part, self.element("double", target, place), 8)
        else:
            self._put(slot.type, x, self.element(slot.type, self.targets[0], place), slot.align if self.op.output is None else 8)

    def _put(self, T: str, x: str, where: str, align: int) -> None:
        if self.op.add:
            before = self.value(f"load {T}, ptr {where}, align {align}")
            x = self.value(f"fadd {T} {before}, {x}")
        self.do(f"store {T} {x}, ptr {where}, align {align}")
