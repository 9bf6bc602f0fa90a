"""The functions that processors lack, for any number of lanes, as LLVM text. No C library has a say in their bits.

sin and cos come together: Cody-Waite reduction to [-pi/4, pi/4] with pi/2 in three parts (exact in its first step thanks to
the fused multiply-add; the third part counts for the doubles closest to multiples of pi/2), then the minimax polynomials
of Cephes (S. Moshier); 2 ulp. Lanes beyond 1e5 are reduced one by one with all digits of pi that they need.
Every lane rounds the same way whatever the number of lanes.
"""

from __future__ import annotations

import math

from fallingcat.codegen.arctangent import atan2
from fallingcat.codegen.far_angles import reduction
from fallingcat.codegen.lanes import Lanes, declarations, hexadecimal
from fallingcat.trace.program import Program

LARGE = 1e5
HALF_PI = (1.57079632679489655800e00, 6.12323399573676603587e-17, -1.49738490485916983294e-33)
SIN = (
    -1.66666666666666307295e-1, 8.33333333332211858878e-3, -1.98412698295895385996e-4,
    2.75573136213857245213e-6, -2.50507477628578072866e-8, 1.58962301576546568060e-10,
)  # fmt: skip
COS = (
    4.16666666666665929218e-2, -1.38888888888730564116e-3, 2.48015872888517045348e-5,
    -2.75573141792967388112e-7, 2.08757008419747316778e-9, -1.13585365213876817300e-11,
)  # fmt: skip
ROUND_TO_INTEGER = 6755399441055744.0
"""1.5 * 2^52: adding it leaves an integer in the low bits."""


def functions(program: Program, lanes: Lanes, vector: Lanes) -> str:
    """Definitions and declarations of what a program calls: pieces with `lanes`, the angles of a state with `vector`."""
    used = {op for op, _ in program.instructions}
    widths = [lanes] if lanes == vector else [lanes, vector]
    texts = [declarations(w) for w in dict.fromkeys((Lanes(1), *widths))]
    if "sin" in used or "cos" in used:
        texts += [reduction(), *map(sincos, widths)]
    if "atan2" in used:
        texts.append(atan2(lanes))
    return "\n".join(texts)


def sincos(lanes: Lanes) -> str:
    """define {T, T} @fc_sincos<width>(T x)."""
    T, TI, W = lanes.type, lanes.int_type, lanes.width
    c, n = lanes.constant, lanes.integer
    fma = f"call {T} @llvm.fma.{lanes.suffix}"
    far, r, quadrant = _far(lanes)
    lines = [
        f"define internal {{{T}, {T}}} @fc_sincos{W}({T} %x) #2 {{",
        "entry:",
        f"  %kx = fmul {T} %x, {c(2.0 / math.pi)}",
        f"  %k = call {T} @llvm.nearbyint.{lanes.suffix}({T} %kx)",
        f"  %nk = fneg {T} %k",
        f"  %r1 = {fma}({T} %nk, {T} {c(HALF_PI[0])}, {T} %x)",
        f"  %r2 = {fma}({T} %nk, {T} {c(HALF_PI[1])}, {T} %r1)",
        f"  %r.near = {fma}({T} %nk, {T} {c(HALF_PI[2])}, {T} %r2)",
        f"  %kr = fadd {T} %k, {c(ROUND_TO_INTEGER)}",
        f"  %quadrant.near = bitcast {T} %kr to {TI}",
        f"  %size = call {T} @llvm.fabs.{lanes.suffix}({T} %x)",
        f"  %large = fcmp ogt {T} %size, {c(LARGE)}",
        *_any(lanes),
        "  br i1 %any, label %far, label %reduced",
        "far:",
        *far,
        "  br label %reduced",
        "reduced:",
        f"  %r = phi {T} [ %r.near, %entry ], [ {r}, %far ]",
        f"  %quadrant = phi {TI} [ %quadrant.near, %entry ], [ {quadrant}, %far ]",
        f"  %z = fmul {T} %r, %r",
        *_horner("s", SIN, lanes),
        f"  %rz = fmul {T} %r, %z",
        f"  %sin_r = {fma}({T} %s, {T} %rz, {T} %r)",
        *_horner("c", COS, lanes),
        f"  %zz = fmul {T} %z, %z",
        f"  %c1 = {fma}({T} {c(-0.5)}, {T} %z, {T} {c(1.0)})",
        f"  %cos_r = {fma}({T} %c, {T} %zz, {T} %c1)",
        f"  %odd1 = and {TI} %quadrant, {n(1)}",
        f"  %odd = icmp ne {TI} %odd1, {n(0)}",
        *_pick("sin", "%cos_r", "%sin_r", "%quadrant", lanes),
        f"  %next = add {TI} %quadrant, {n(1)}",
        *_pick("cos", "%sin_r", "%cos_r", "%next", lanes),
        f"  %pair = insertvalue {{{T}, {T}}} undef, {T} %sin, 0",
        f"  %both = insertvalue {{{T}, {T}}} %pair, {T} %cos, 1",
        f"  ret {{{T}, {T}}} %both",
        "}",
    ]
    return "\n".join(lines)


def _horner(name: str, coefficients: tuple[float, ...], lanes: Lanes) -> list[str]:
    T = lanes.type
    value = lanes.constant(coefficients[-1])
    lines = []
    for k in reversed(range(len(coefficients) - 1)):
        target = f"%{name}" if k == 0 else f"%{name}.{k}"
        lines.append(
            f"  {target} = call {T} @llvm.fma.{lanes.suffix}({T} {value}, {T} %z, {T} {lanes.constant(coefficients[k])})"
        )
        value = target
    return lines


def _pick(name: str, if_odd: str, if_even: str, quadrant: str, lanes: Lanes) -> list[str]:
    """The polynomial of the quadrant with its sign (bit 1 of the quadrant moved to the sign bit)."""
    T, TI, n = lanes.type, lanes.int_type, lanes.integer
    return [
        f"  %{name}.p = select {lanes.bool_type} %odd, {T} {if_odd}, {T} {if_even}",
        f"  %{name}.q = and {TI} {quadrant}, {n(2)}",
        f"  %{name}.s = shl {TI} %{name}.q, {n(62)}",
        f"  %{name}.b = bitcast {T} %{name}.p to {TI}",
        f"  %{name}.x = xor {TI} %{name}.b, %{name}.s",
        f"  %{name} = bitcast {TI} %{name}.x to {T}",
    ]


def _any(lanes: Lanes) -> list[str]:
    if lanes.width == 1:
        return ["  %any = or i1 %large, false"]
    bits = f"i{lanes.width}"
    return [f"  %mask = bitcast {lanes.bool_type} %large to {bits}", f"  %any = icmp ne {bits} %mask, 0"]


def _far(lanes: Lanes) -> tuple[list[str], str, str]:
    """Large lanes reduced one by one, the others as they were: the lines, and the names of what is left and of the quadrant."""
    T, TI, W = lanes.type, lanes.int_type, lanes.width
    if W == 1:
        return [*_reduced("0", "%x")], "%far_r0", "%far_k0"
    lines = []
    r, k = "%r.near", "%quadrant.near"
    for lane in range(W):
        lines += [
            f"  %x{lane} = extractelement {T} %x, i32 {lane}",
            f"  %big{lane} = extractelement {lanes.bool_type} %large, i32 {lane}",
            f"  %far_x{lane} = select i1 %big{lane}, double %x{lane}, double {hexadecimal(LARGE)}",
            *_reduced(str(lane), f"%far_x{lane}"),
            f"  %near_r{lane} = extractelement {T} {r}, i32 {lane}",
            f"  %near_k{lane} = extractelement {TI} {k}, i32 {lane}",
            f"  %lane_r{lane} = select i1 %big{lane}, double %far_r{lane}, double %near_r{lane}",
            f"  %lane_k{lane} = select i1 %big{lane}, i64 %far_k{lane}, i64 %near_k{lane}",
            f"  %r.{lane} = insertelement {T} {r}, double %lane_r{lane}, i32 {lane}",
            f"  %k.{lane} = insertelement {TI} {k}, i64 %lane_k{lane}, i32 {lane}",
        ]
        r, k = f"%r.{lane}", f"%k.{lane}"
    return lines, r, k


def _reduced(lane: str, x: str) -> list[str]:
    return [
        f"  %reduced{lane} = call {{double, i64}} @fc_reduce(double {x})",
        f"  %far_r{lane} = extractvalue {{double, i64}} %reduced{lane}, 0",
        f"  %far_k{lane} = extractvalue {{double, i64}} %reduced{lane}, 1",
    ]
