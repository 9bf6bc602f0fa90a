"""Products of blocks as loops over tiles, as LLVM text.

In a batch an element is a vector with one state per lane. For one state an element is a number, and a vector holds
neighbouring columns of the right factor. Either way each entry is the same chain of fused multiply-adds.
"""

from __future__ import annotations

from fallingcat.compile.lanes import Lanes
from fallingcat.trace.blocks import Product

TILE_ROWS = 4
TILE_COLUMNS = 2
"""A tile of 4 x 2 vectors: eight sums, two right factors and a left factor fit in sixteen registers."""


def product_text(name: str, parameters: str, op: Product, left: int, right: int, out: int, slot: Lanes, vector: Lanes) -> str:
    """void name(..., ptr ws, ...): the product of the blocks at slots `left` and `right` into the block at slot `out`.

    `slot` is the element of the workspace. If `vector` is wider, it spans columns.
    """
    span = vector.width // slot.width
    if op.columns < span:
        return product_text(name, parameters, op, left, right, out, slot, slot)
    columns = TILE_COLUMNS if op.columns >= TILE_COLUMNS * span else 1
    rows = min(TILE_ROWS, op.rows)
    w = _Writer(op, left, right, out, slot, vector, span, rows, columns)
    return w.function(name, parameters)


class _Writer:
    def __init__(
        self, op: Product, left: int, right: int, out: int, slot: Lanes, vector: Lanes, span: int, rows: int, columns: int
    ) -> None:
        self.op, self.left, self.right, self.out = op, left, right, out
        self.slot, self.vector, self.span, self.rows, self.columns = slot, vector, span, rows, columns
        self.lines: list[str] = []

    def emit(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def element(self, base: str, index: int) -> str:
        return self.emit(f"getelementptr {self.slot.type}, ptr {base}, i64 {index}")

    def function(self, name: str, parameters: str) -> str:
        """Loops over tiles; the last tile of a row or column may overlap the one before and writes the same again."""
        op, wide = self.op, self.columns * self.span
        self._tile()
        return "\n".join(
            [
                f"define internal void @{name}({parameters}) #0 {{",
                "entry:",
                "  br label %across",
                "across:",
                "  %j = phi i64 [0, %entry], [%j_next, %across_next]",
                "  br label %down",
                "down:",
                "  %i = phi i64 [0, %across], [%i_next, %down]",
                *self.lines,
                f"  %i_step = add i64 %i, {self.rows}",
                f"  %i_last = icmp sge i64 %i, {op.rows - self.rows}",
                f"  %i_next = call i64 @llvm.smin.i64(i64 %i_step, i64 {op.rows - self.rows})",
                "  br i1 %i_last, label %across_next, label %down",
                "across_next:",
                f"  %j_step = add i64 %j, {wide}",
                f"  %j_last = icmp sge i64 %j, {op.columns - wide}",
                f"  %j_next = call i64 @llvm.smin.i64(i64 %j_step, i64 {op.columns - wide})",
                "  br i1 %j_last, label %done, label %across",
                "done:",
                "  ret void",
                "}",
            ]
        )

    def _tile(self) -> None:
        op, T = self.op, self.vector.type
        at = self.emit(f"mul i64 %i, {op.width}")
        start = self.element("%ws", self.left)
        a = self.emit(f"getelementptr {self.slot.type}, ptr {start}, i64 {at}")
        start = self.element("%ws", self.right)
        b = self.emit(f"getelementptr {self.slot.type}, ptr {start}, i64 %j")
        sums: dict[tuple[int, int], str] = {}
        for k, inner in enumerate(op.inner):
            right = [self._load_right(b, k * op.columns + c * self.span) for c in range(self.columns)]
            for r in range(self.rows):
                left = self._load_left(a, r * op.width + inner)
                for c in range(self.columns):
                    if k == 0:
                        sums[r, c] = self.emit(f"fmul {T} {left}, {right[c]}")
                    else:
                        sums[r, c] = self.emit(
                            f"call {T} @llvm.fma.{self.vector.suffix}({T} {left}, {T} {right[c]}, {T} {sums[r, c]})"
                        )
        row = self.emit(f"mul i64 %i, {op.columns}")
        corner = self.emit(f"add i64 {row}, %j")
        start = self.element("%ws", self.out)
        target = self.emit(f"getelementptr {self.slot.type}, ptr {start}, i64 {corner}")
        for (r, c), total in sums.items():
            where = self.element(target, r * op.columns + c * self.span)
            self.do(f"store {T} {total}, ptr {where}, align {self.slot.align}")

    def _load_right(self, base: str, index: int) -> str:
        where = self.element(base, index)
        return self.emit(f"load {self.vector.type}, ptr {where}, align {self.slot.align}")

    def _load_left(self, base: str, index: int) -> str:
        where = self.element(base, index)
        x = self.emit(f"load {self.slot.type}, ptr {where}, align {self.slot.align}")
        T, W = self.vector.type, self.vector.width
        if self.span > 1:
            one = self.emit(f"insertelement {T} undef, double {x}, i32 0")
            x = self.emit(f"shufflevector {T} {one}, {T} undef, <{W} x i32> zeroinitializer")
        return self.emit(f"fneg {T} {x}") if self.op.negate else x
