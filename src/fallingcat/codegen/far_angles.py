"""Angles beyond the reach of a few parts of pi: exact reduction by the digits of 2/pi (Payne and Hanek 1983), as LLVM text.

x = m 2^e with a whole m of 53 bits. Of 2/pi only the 192 bits count that neither make multiples of four nor fall below
2^-137 once multiplied by m 2^e; the product's first two bits are the quadrant, the others the part of a quadrant.
The double nearest to a multiple of pi/2 misses it by 2^-62, so that 64 good bits are left in the worst case.
"""

from __future__ import annotations

from fallingcat import elementary
from fallingcat.codegen.lanes import hexadecimal

HALF_PI = (1.57079632679489655800e00, 6.12323399573676603587e-17)
WORDS = 21
"""64 zeros, because small angles start before the point, and the digits of 2/pi that the largest double needs."""


def _digits() -> list[int]:
    bits = 64 * (WORDS - 1)
    whole = (1 << (2 * bits + 1)) // elementary.pi(bits)  # 2/pi 2^bits
    return [(whole >> (bits - 64 * k)) & (2**64 - 1) for k in range(WORDS)]


def reduction() -> str:
    """define {double, i64} @fc_reduce(double x): r in [-pi/4, pi/4] and k with x = r + k pi/2, k modulo four, for |x| > 2^16."""
    table = ", ".join(f"i64 {word}" for word in _digits())
    return f"""
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare i128 @llvm.ctlz.i128(i128, i1)
@fc_two_over_pi = internal constant [{WORDS} x i64] [{table}]
define internal {{double, i64}} @fc_reduce(double %x) #0 {{
  %bits = bitcast double %x to i64
  %shifted = lshr i64 %bits, 52
  %field = and i64 %shifted, 2047
  %finite = icmp ult i64 %field, 2047
  %exponent = select i1 %finite, i64 %field, i64 2046
  %fraction = and i64 %bits, {2**52 - 1}
  %m = or i64 %fraction, {2**52}

  ; the window of 2/pi: bits e - 1 to e + 190 after the point, behind the zeros of the table
  %start = sub i64 %exponent, 1013
  %word = lshr i64 %start, 6
  %shift = and i64 %start, 63
  %at0 = getelementptr i64, ptr @fc_two_over_pi, i64 %word
  %at1 = getelementptr i64, ptr %at0, i64 1
  %at2 = getelementptr i64, ptr %at0, i64 2
  %at3 = getelementptr i64, ptr %at0, i64 3
  %t0 = load i64, ptr %at0, align 8
  %t1 = load i64, ptr %at1, align 8
  %t2 = load i64, ptr %at2, align 8
  %t3 = load i64, ptr %at3, align 8
  %w0 = call i64 @llvm.fshl.i64(i64 %t0, i64 %t1, i64 %shift)
  %w1 = call i64 @llvm.fshl.i64(i64 %t1, i64 %t2, i64 %shift)
  %w2 = call i64 @llvm.fshl.i64(i64 %t2, i64 %t3, i64 %shift)

  ; its product with m, modulo 2^192, without the last 64 bits
  %wide = zext i64 %m to i128
  %wide1 = zext i64 %w1 to i128
  %wide2 = zext i64 %w2 to i128
  %low = mul i128 %wide, %wide2
  %carry = lshr i128 %low, 64
  %middle = mul i128 %wide, %wide1
  %sum = add i128 %middle, %carry
  %carried = lshr i128 %sum, 64
  %over = trunc i128 %carried to i64
  %high = mul i64 %m, %w0
  %top = add i64 %high, %over
  %upper = zext i64 %top to i128
  %placed = shl i128 %upper, 64
  %kept = and i128 %sum, {2**64 - 1}
  %product = or i128 %placed, %kept

  ; the nearest quadrant, and what is left as a signed part of one, in units of 2^-128
  %half = add i64 %top, {2**61}
  %k = lshr i64 %half, 62
  %part = shl i128 %product, 2
  %below = icmp slt i128 %part, 0
  %minus = sub i128 0, %part
  %size = select i1 %below, i128 %minus, i128 %part
  %zeros = call i128 @llvm.ctlz.i128(i128 %size, i1 false)
  %normal = shl i128 %size, %zeros
  %leading = lshr i128 %normal, 64
  %lead = trunc i128 %leading to i64

  ; its first 64 bits as a sum of two doubles, times pi/2
  %first = lshr i64 %lead, 11
  %rest = and i64 %lead, 2047
  %a = sitofp i64 %first to double
  %b = sitofp i64 %rest to double
  %places = trunc i128 %zeros to i64
  %power = sub i64 {1023 - 53}, %places
  %scale_bits = shl i64 %power, 52
  %scale = bitcast i64 %scale_bits to double
  %a_scaled = fmul double %a, %scale
  %b_small = fmul double %b, {hexadecimal(2.0**-11)}
  %b_scaled = fmul double %b_small, %scale
  %r0 = fmul double %b_scaled, {hexadecimal(HALF_PI[0])}
  %r1 = call double @llvm.fma.f64(double %a_scaled, double {hexadecimal(HALF_PI[1])}, double %r0)
  %r2 = call double @llvm.fma.f64(double %a_scaled, double {hexadecimal(HALF_PI[0])}, double %r1)

  ; for x < 0 both change sign
  %negative = icmp slt i64 %bits, 0
  %turned = xor i1 %below, %negative
  %r2_minus = fneg double %r2
  %r3 = select i1 %turned, double %r2_minus, double %r2
  %k_minus = sub i64 0, %k
  %quadrant = select i1 %negative, i64 %k_minus, i64 %k
  %r = select i1 %finite, double %r3, double {hexadecimal(float("nan"))}
  %ret0 = insertvalue {{double, i64}} undef, double %r, 0
  %ret1 = insertvalue {{double, i64}} %ret0, i64 %quadrant, 1
  ret {{double, i64}} %ret1
}}"""
