"""How LLVM spells numbers and operations for a given number of lanes."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Protocol


def hexadecimal(x: float) -> str:
    """A double as LLVM reads it exactly."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', x))[0]:016X}"


@dataclass(frozen=True)
class Lanes:
    """One lane: double. More: a vector with one state in each lane."""

    width: int

    @property
    def type(self) -> str:
        return "double" if self.width == 1 else f"<{self.width} x double>"

    @property
    def int_type(self) -> str:
        return "i64" if self.width == 1 else f"<{self.width} x i64>"

    @property
    def bool_type(self) -> str:
        return "i1" if self.width == 1 else f"<{self.width} x i1>"

    @property
    def suffix(self) -> str:
        return "f64" if self.width == 1 else f"v{self.width}f64"

    @property
    def align(self) -> int:
        return 8 * self.width

    def constant(self, x: float) -> str:
        return hexadecimal(x) if self.width == 1 else f"splat (double {hexadecimal(x)})"

    def integer(self, k: int) -> str:
        return str(k) if self.width == 1 else f"splat (i64 {k})"


def declarations(lanes: Lanes) -> str:
    """The intrinsics and library functions that pieces may call."""
    T, s = lanes.type, lanes.suffix
    return "\n".join(
        [
            f"declare {T} @llvm.fma.{s}({T}, {T}, {T})",
            f"declare {T} @llvm.sqrt.{s}({T})",
            f"declare {T} @llvm.nearbyint.{s}({T})",
            f"declare {T} @llvm.fabs.{s}({T})",
        ]
    )


class Emits(Protocol):
    """Writes an instruction and names its value."""

    def emit(self, text: str) -> str: ...


def transpose(writer: Emits, rows: list[str], lanes: Lanes) -> list[str]:
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
