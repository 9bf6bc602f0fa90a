"""Products of blocks as loops over tiles, as LLVM text.

In a batch an element is a vector with one state per lane. For one state an element is a number, and a vector holds
neighbouring columns of the right factor. Either way each entry is the same chain of fused multiply-adds. The product goes
to a block of the workspace or, when its entries are results and nothing else, straight to the outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fallingcat.codegen.builder import Function
from fallingcat.codegen.lanes import Lanes
from fallingcat.codegen.schedule import Direct
from fallingcat.trace.blocks import Product

SUMS = 8
"""Sums of a tile that are accumulated at once: with the factors they fill sixteen registers."""

Store = Callable[["TileWriter", "Tile", dict[tuple[int, int], str]], None]
"""Stores the sums of a tile, a dict from (row, column) of vectors to their names, in the outputs."""


@dataclass(frozen=True)
class Tile:
    """A run of columns of a product, and the size of the tiles that cover it."""

    first: int
    """First column of the run, in the product."""
    length: int
    rows: int
    columns: int
    """Columns of the tile, in vectors."""
    vector: Lanes
    output: int = 0
    place: int = 0


@dataclass(frozen=True)
class Site:
    """Where a product reads and writes: slots of the workspace, and the parameters of its function."""

    parameters: tuple[str, ...]
    left: int
    right: int
    out: int
    slot: Lanes
    """The type of an element of the workspace."""
    vector: Lanes
    """The vector type of the computation; if it is wider than a slot, a vector spans columns."""
    direct: Direct | None
    store_direct: Store


def product_text(name: str, op: Product, site: Site) -> str:
    """The text of the function that computes a product."""
    f = Function(name, "void", site.parameters, internal=True, attributes="#2")
    for run in site.direct.runs if site.direct else ((0, op.columns, 0, 0),):
        TileWriter(f, op, site, _tile(op, site, run), f"@{name}_rows").loops()
    f.ret()
    if not site.direct:
        return f.text
    offsets = ", ".join(f"i64 {x}" for x in site.direct.rows)
    return f"@{name}_rows = internal constant [{len(site.direct.rows)} x i64] [{offsets}]\n{f.text}"


def _tile(op: Product, site: Site, run: tuple[int, int, int, int]) -> Tile:
    first, length, output, place = run
    batch = site.slot.width > 1
    vector = site.slot if batch else site.vector.filled_by(length)
    vectors = length if batch else length // vector.width
    # in a batch, a row of as many columns as there are lanes is transposed in registers and stored as a piece of each state's row
    columns = min(vectors, site.slot.width if site.direct and batch else 2)
    sums = SUMS if site.vector.width < 8 else 2 * SUMS  # processors with eight lanes have twice the registers
    return Tile(first, length, min(op.rows, sums // columns), columns, vector, output, place)


class TileWriter:
    """Writes the loops over the tiles of one run of columns."""

    def __init__(self, f: Function, op: Product, site: Site, tile: Tile, table: str) -> None:
        self.f, self.op, self.site, self.tile, self.table = f, op, site, tile, table
        self.span = tile.vector.width // site.slot.width
        self.i = self.j = ""
        """The first row and the first column of a tile."""

    def element(self, base: str, index: int | str) -> str:
        return self.f.value(f"getelementptr {self.site.slot.type}, ptr {base}, i64 {index}")

    def loops(self) -> None:
        """Write loops over the tiles; the last tile of a row or column may overlap the one before, and stores the same values."""
        rows, wide = self.tile.rows, self.tile.columns * self.span
        with self.f.covering(self.tile.length - wide, wide) as self.j, self.f.covering(self.op.rows - rows, rows) as self.i:
            self._tile()

    def _tile(self) -> None:
        op, tile, T = self.op, self.tile, self.tile.vector.type
        row = self.f.value(f"mul i64 {self.i}, {op.left_width}")
        a = self.element(self.element("%ws", self.site.left + op.first_row * op.left_width), row)
        b = self.element(self.element("%ws", self.site.right + op.first_column + tile.first), self.j)
        sums: dict[tuple[int, int], str] = {}
        for k, inner in enumerate(op.inner):
            right = [self._load_right(b, k * op.right_width + c * self.span) for c in range(tile.columns)]
            for r in range(tile.rows):
                left = self._load_left(a, r * op.left_width + inner)
                for c in range(tile.columns):
                    if k == 0:
                        sums[r, c] = self.f.value(f"fmul {T} {left}, {right[c]}")
                    else:
                        terms = f"{T} {left}, {T} {right[c]}, {T} {sums[r, c]}"
                        sums[r, c] = self.f.value(f"call {T} @llvm.fma.{tile.vector.suffix}({terms})")
        if self.site.direct:
            self.site.store_direct(self, tile, sums)
        else:
            self._store_block(sums)

    def _load_right(self, base: str, index: int) -> str:
        where = self.element(base, index)
        return self.f.value(f"load {self.tile.vector.type}, ptr {where}, align {self.site.slot.align}")

    def _load_left(self, base: str, index: int) -> str:
        where = self.element(base, index)
        x = self.f.value(f"load {self.site.slot.type}, ptr {where}, align {self.site.slot.align}")
        T, W = self.tile.vector.type, self.tile.vector.width
        if self.span > 1:
            one = self.f.value(f"insertelement {T} undef, double {x}, i32 0")
            x = self.f.value(f"shufflevector {T} {one}, {T} undef, <{W} x i32> zeroinitializer")
        return self.f.value(f"fneg {T} {x}") if self.op.negate else x

    def _store_block(self, sums: dict[tuple[int, int], str]) -> None:
        row = self.f.value(f"mul i64 {self.i}, {self.op.columns}")
        corner = self.f.value(f"add i64 {row}, {self.j}")
        target = self.element(self.element("%ws", self.site.out), corner)
        for (r, c), total in sums.items():
            where = self.element(target, r * self.op.columns + c * self.span)
            self.f.do(f"store {self.tile.vector.type} {total}, ptr {where}, align {self.site.slot.align}")

    def place_of_row(self, r: int) -> str:
        """The index, in the output, of the first entry of the tile in row i + r of the product."""
        row = self.f.value(f"add i64 {self.i}, {r}")
        where = self.f.value(f"getelementptr i64, ptr {self.table}, i64 {row}")
        start = self.f.value(f"load i64, ptr {where}, align 8")
        at = self.f.value(f"add i64 {start}, {self.tile.place}")
        return self.f.value(f"add i64 {at}, {self.j}")
