"""sin, cos and atan2 for any number of lanes, as LLVM text, so that no C library decides how they round.

sin and cos come together: Cody-Waite reduction to [-pi/4, pi/4] with pi/2 in three parts (exact in its first step thanks to
the fused multiply-add; the third part counts for the doubles closest to multiples of pi/2), then the minimax polynomials
of Cephes (S. Moshier); 2 ulp. Lanes beyond 1e5 are reduced one by one with all digits of pi that they need.
Every lane rounds the same way whatever the number of lanes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from fallingcat.codegen.arctangent import atan2
from fallingcat.codegen.lanes import LaneFunction, Lanes, declarations, hexadecimal
from fallingcat.codegen.range_reduction import PAIR, reduction
from fallingcat.trace.program import Instruction

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


def functions(instructions: Iterable[Instruction], lanes: Lanes, vector: Lanes) -> str:
    """Definitions and declarations of what instructions call: `lanes` is for pieces, `vector` for the angles of one state."""
    used = {op for op, _ in instructions}
    widths = [lanes] if lanes == vector else [lanes, vector]
    texts = [declarations(Lanes(1 << k)) for k in range(vector.width.bit_length())]  # runs of neighbours may be shorter
    if "sin" in used or "cos" in used:
        texts += [reduction(), *map(sincos, widths)]
    if "atan2" in used:
        texts.append(atan2(lanes))
    return "\n".join(texts)


def sincos(lanes: Lanes, half_pi: tuple[float, float, float] = HALF_PI) -> str:
    """define {T, T} @fc_sincos<width>(T x); `half_pi` has three parts whose sum is pi/2."""
    pair = f"{{{lanes.type}, {lanes.type}}}"
    f = LaneFunction(f"fc_sincos{lanes.width}", pair, ("%x",), lanes, "#2")
    c, n = f.c, f.n
    k = f.intrinsic("nearbyint", f.real("fmul", "%x", c(2.0 / math.pi)))
    minus_k, r = f.neg(k), "%x"
    for part in half_pi:
        r = f.intrinsic("fma", minus_k, c(part), r)
    quadrant = f.bits(f.real("fadd", k, c(ROUND_TO_INTEGER)))
    large = f.compare("ogt", f.intrinsic("fabs", "%x"), c(LARGE))
    far, reduced = f.label("far"), f.label("reduced")
    f.branch(_any(f, large), far, reduced)
    f.begin(far)
    r_far, quadrant_far = _far(f, large, r, quadrant)
    f.go(reduced)
    f.begin(reduced)
    r = f.value(f"phi {f.T} [ {r}, %entry ], [ {r_far}, %{far} ]")
    quadrant = f.value(f"phi {f.I} [ {quadrant}, %entry ], [ {quadrant_far}, %{far} ]")
    z = f.real("fmul", r, r)
    sine = f.intrinsic("fma", f.horner(SIN, z), f.real("fmul", r, z), r)
    rest = f.intrinsic("fma", c(-0.5), z, c(1.0))
    cosine = f.intrinsic("fma", f.horner(COS, z), f.real("fmul", z, z), rest)
    odd = f.compare_whole("ne", f.whole("and", quadrant, n(1)), n(0))

    def signed(if_odd: str, if_even: str, turn: str) -> str:
        """The polynomial of the quadrant with its sign (bit 1 of the quadrant moved to the sign bit)."""
        sign = f.whole("shl", f.whole("and", turn, n(2)), n(62))
        return f.from_bits(f.whole("xor", f.bits(f.pick(odd, if_odd, if_even)), sign))

    first = f.value(f"insertvalue {pair} undef, {f.T} {signed(cosine, sine, quadrant)}, 0")
    turned = signed(sine, cosine, f.whole("add", quadrant, n(1)))
    f.ret(f.value(f"insertvalue {pair} {first}, {f.T} {turned}, 1"))
    return f.text


def _any(f: LaneFunction, large: str) -> str:
    """Is a comparison true in any lane?"""
    if f.lanes.width == 1:
        return large
    bits = f"i{f.lanes.width}"
    mask = f.value(f"bitcast {f.B} {large} to {bits}")
    return f.value(f"icmp ne {bits} {mask}, 0")


def _far(f: LaneFunction, large: str, r: str, k: str) -> tuple[str, str]:
    """The reduced angle and the quadrant: lanes with large angles are reduced one by one, the others stay."""
    if f.lanes.width == 1:
        return _reduced(f, "%x")
    for lane in range(f.lanes.width):
        x = f.value(f"extractelement {f.T} %x, i32 {lane}")
        big = f.value(f"extractelement {f.B} {large}, i32 {lane}")
        far_r, far_k = _reduced(f, f.value(f"select i1 {big}, double {x}, double {hexadecimal(LARGE)}"))
        near_r = f.value(f"extractelement {f.T} {r}, i32 {lane}")
        near_k = f.value(f"extractelement {f.I} {k}, i32 {lane}")
        lane_r = f.value(f"select i1 {big}, double {far_r}, double {near_r}")
        lane_k = f.value(f"select i1 {big}, i64 {far_k}, i64 {near_k}")
        r = f.value(f"insertelement {f.T} {r}, double {lane_r}, i32 {lane}")
        k = f.value(f"insertelement {f.I} {k}, i64 {lane_k}, i32 {lane}")
    return r, k


def _reduced(f: LaneFunction, x: str) -> tuple[str, str]:
    both = f.call(PAIR, "fc_reduce", f"double {x}")
    return f.value(f"extractvalue {PAIR} {both}, 0"), f.value(f"extractvalue {PAIR} {both}, 1")
