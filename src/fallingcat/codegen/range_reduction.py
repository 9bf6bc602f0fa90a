"""Range reduction of large angles, by the digits of 2/pi (Payne and Hanek 1983), as LLVM text.

x = m 2^e with an integer m of 53 bits. Of 2/pi only those 192 bits matter that neither give multiples of four nor fall below
2^-137 once multiplied by m 2^e; the product's first two bits are the quadrant, the others the part of a quadrant.
The double nearest to a multiple of pi/2 misses it by 2^-62, so that 64 good bits are left in the worst case.
"""

from __future__ import annotations

from collections.abc import Callable

from fallingcat import elementary
from fallingcat.codegen.builder import Function
from fallingcat.codegen.lanes import hexadecimal

HALF_PI = (1.57079632679489655800e00, 6.12323399573676603587e-17)
PAIR = "{double, i64}"
LOW = 2**32 - 1
WORDS = 21
"""Words of the table: 64 zero bits, which small angles need, and the bits of 2/pi up to those that the largest double needs."""


def digits() -> list[int]:
    """The words of the table: 64 bits of zero, then 2/pi, 64 bits each."""
    bits = 64 * (WORDS - 1)
    whole = (1 << (2 * bits + 1)) // elementary.pi(bits)  # 2/pi 2^bits
    return [(whole >> (bits - 64 * k)) & (2**64 - 1) for k in range(WORDS)]


def reduction() -> str:
    """define {double, i64} @fc_reduce(double x): r in [-pi/4, pi/4] and k with x = r + k pi/2, k modulo four, for |x| > 2^16."""
    f = Function("fc_reduce", PAIR, ["double %x"], internal=True, attributes="#0")

    def whole(op: str, a: str | int, b: str | int) -> str:
        return f.value(f"{op} i64 {a}, {b}")

    def compare(how: str, a: str, b: str | int) -> str:
        return f.value(f"icmp {how} i64 {a}, {b}")

    def pick(condition: str, yes: str, no: str) -> str:
        return f.value(f"select i1 {condition}, i64 {yes}, i64 {no}")

    def funnel(high: str, low: str, shift: str) -> str:
        return f.call("i64", "llvm.fshl.i64", f"i64 {high}", f"i64 {low}", f"i64 {shift}")

    bits = f.value("bitcast double %x to i64")
    field = whole("and", whole("lshr", bits, 52), 2047)
    finite = compare("ult", field, 2047)
    m = whole("or", whole("and", bits, 2**52 - 1), 2**52)

    # the window of 2/pi: bits e - 1 to e + 190 after the point, behind the zeros of the table
    start = whole("sub", pick(finite, field, "2046"), 1013)
    shift = whole("and", start, 63)
    at = f.at("@fc_two_over_pi", whole("shl", whole("lshr", start, 6), 3))
    t = [f.load("i64", at, 8 * k) for k in range(4)]
    w = [funnel(t[k], t[k + 1], shift) for k in range(3)]

    # its product with m, modulo 2^192, without the last 64 bits
    high, _ = _product(whole, m, w[2])
    over, low = _product(whole, m, w[1])
    lower = whole("add", low, high)
    carry = f.value(f"zext i1 {compare('ult', lower, low)} to i64")
    top = whole("add", whole("add", whole("mul", m, w[0]), over), carry)

    # the nearest quadrant, and what is left as a signed part of one, in units of 2^-128
    k = whole("lshr", whole("add", top, 2**61), 62)
    part, rest = funnel(top, lower, "2"), whole("shl", lower, 2)
    below = compare("slt", part, 0)
    borrow = f.value(f"zext i1 {compare('ne', rest, 0)} to i64")
    part = pick(below, whole("sub", whole("sub", 0, part), borrow), part)
    rest = pick(below, whole("sub", 0, rest), rest)
    empty = compare("eq", part, 0)
    part, rest = pick(empty, rest, part), pick(empty, "0", rest)
    zeros = f.call("i64", "llvm.ctlz.i64", f"i64 {part}", "i1 false")
    lead = funnel(part, rest, zeros)
    places = whole("add", zeros, pick(empty, "64", "0"))

    # its first 64 bits as a sum of two doubles, times pi/2
    scale = f.value(f"bitcast i64 {whole('shl', whole('sub', 1023 - 53, places), 52)} to double")
    a = f.value(f"sitofp i64 {whole('lshr', lead, 11)} to double")
    b = f.value(f"sitofp i64 {whole('and', lead, 2047)} to double")
    a = f.value(f"fmul double {a}, {scale}")
    b = f.value(f"fmul double {b}, {hexadecimal(2.0**-11)}")
    b = f.value(f"fmul double {b}, {scale}")
    r = f.value(f"fmul double {b}, {hexadecimal(HALF_PI[0])}")
    for digits_of_half_pi in (HALF_PI[1], HALF_PI[0]):
        r = f.call("double", "llvm.fma.f64", f"double {a}", f"double {hexadecimal(digits_of_half_pi)}", f"double {r}")

    # for x < 0 both change sign
    negative = compare("slt", bits, 0)
    turned = f.value(f"xor i1 {below}, {negative}")
    minus = f.value(f"fneg double {r}")
    r = f.value(f"select i1 {turned}, double {minus}, double {r}")
    r = f.value(f"select i1 {finite}, double {r}, double {hexadecimal(float('nan'))}")
    quadrant = pick(negative, whole("sub", 0, k), k)
    both = f.value(f"insertvalue {PAIR} undef, double {r}, 0")
    f.ret(f.value(f"insertvalue {PAIR} {both}, i64 {quadrant}, 1"))
    table = ", ".join(f"i64 {word}" for word in digits())
    return f"""
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare i64 @llvm.ctlz.i64(i64, i1)
@fc_two_over_pi = internal constant [{WORDS} x i64] [{table}], align 8
{f.text}"""


def _product(whole: Callable[[str, str | int, str | int], str], x: str, y: str) -> tuple[str, str]:
    """The upper and the lower 64 bits of a product, from products of 32-bit halves: not every processor has wider ones."""
    a, b, c, d = (part for v in (x, y) for part in (whole("and", v, LOW), whole("lshr", v, 32)))
    ac, bc, ad = whole("mul", a, c), whole("mul", b, c), whole("mul", a, d)
    middle = whole("add", whole("add", whole("lshr", ac, 32), whole("and", bc, LOW)), ad)
    high = whole("add", whole("add", whole("mul", b, d), whole("lshr", bc, 32)), whole("lshr", middle, 32))
    return high, whole("or", whole("shl", middle, 32), whole("and", ac, LOW))
