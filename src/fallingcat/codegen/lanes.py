"""How LLVM spells numbers and operations for a given number of lanes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from fallingcat.codegen.builder import Function


def hexadecimal(x: float) -> str:
    """A double as a hexadecimal constant, which LLVM reads exactly."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', x))[0]:016X}"


@dataclass(frozen=True)
class Lanes:
    """A double (one lane), or a vector of doubles, with the spellings of its types in LLVM."""

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

    def filled_by(self, count: int) -> Lanes:
        """The widest lanes, a power of two, not wider than these, that `count` neighbours fill."""
        return Lanes(min(self.width, 1 << (count.bit_length() - 1)))

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


def transpose(f: Function, rows: list[str], lanes: Lanes) -> list[str]:
    """Transpose W vectors of W lanes in registers, by exchanging halves, quarters, ..."""
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
            rows[i] = f.value(f"shufflevector {T} {a}, {T} {b}, <{W} x i32> <{low}>")
            rows[i | step] = f.value(f"shufflevector {T} {a}, {T} {b}, <{W} x i32> <{high}>")
        step *= 2
    return rows


def store_rows(f: Function, vectors: list[str], lanes: Lanes, places: list[str]) -> None:
    """Store lane l of at most W vectors side by side at places[l], for every lane l."""
    T, W, count = lanes.type, lanes.width, len(vectors)
    if count <= min(2, W - 1):
        for lane, place in enumerate(places):
            for k, vector in enumerate(vectors):
                x = f.value(f"extractelement {T} {vector}, i32 {lane}")
                f.do(f"store double {x}, ptr {f.at(place, 8 * k)}, align 8")
        return
    for place, row in zip(places, transpose(f, [*vectors, *vectors[-1:] * (W - count)], lanes), strict=True):
        start = 0
        while start < count:
            part = lanes.filled_by(count - start)
            x = row
            if part != lanes:
                mask = ", ".join(f"i32 {start + k}" for k in range(part.width))
                x = f.value(f"shufflevector {T} {row}, {T} undef, <{part.width} x i32> <{mask}>")
            f.do(f"store <{part.width} x double> {x}, ptr {f.at(place, 8 * start)}, align 8")
            start += part.width


class LaneFunction(Function):
    """An internal function whose parameters and values have the type of the lanes, unless said otherwise."""

    def __init__(self, name: str, returns: str, parameters: Sequence[str], lanes: Lanes, attributes: str) -> None:
        super().__init__(name, returns, [f"{lanes.type} {p}" for p in parameters], True, attributes)
        self.lanes = lanes
        self.T, self.I, self.B = lanes.type, lanes.int_type, lanes.bool_type
        self.c, self.n = lanes.constant, lanes.integer

    def intrinsic(self, name: str, *args: str) -> str:
        return self.call(self.T, f"llvm.{name}.{self.lanes.suffix}", *(f"{self.T} {a}" for a in args))

    def real(self, op: str, a: str, b: str) -> str:
        return self.value(f"{op} {self.T} {a}, {b}")

    def neg(self, a: str) -> str:
        return self.value(f"fneg {self.T} {a}")

    def whole(self, op: str, a: str, b: str) -> str:
        return self.value(f"{op} {self.I} {a}, {b}")

    def bits(self, a: str) -> str:
        return self.value(f"bitcast {self.T} {a} to {self.I}")

    def from_bits(self, a: str) -> str:
        return self.value(f"bitcast {self.I} {a} to {self.T}")

    def compare(self, how: str, a: str, b: str) -> str:
        return self.value(f"fcmp {how} {self.T} {a}, {b}")

    def compare_whole(self, how: str, a: str, b: str) -> str:
        return self.value(f"icmp {how} {self.I} {a}, {b}")

    def logic(self, op: str, a: str, b: str) -> str:
        return self.value(f"{op} {self.B} {a}, {b}")

    def pick(self, which: str, a: str, b: str) -> str:
        return self.value(f"select {self.B} {which}, {self.T} {a}, {self.T} {b}")

    def pick_whole(self, which: str, a: str, b: str) -> str:
        return self.value(f"select {self.B} {which}, {self.I} {a}, {self.I} {b}")

    def horner(self, coefficients: Sequence[float], z: str) -> str:
        """A polynomial of z, by fused multiply-adds."""
        value = self.c(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            value = self.intrinsic("fma", value, z, self.c(coefficient))
        return value
