"""atan2 for any number of lanes, as LLVM text; less than 1 ulp from the exact angle, signs of zeros and infinities as in C.

With a = max(|x|, |y|), b = min(|x|, |y|), and t = b/a, or (b - a)/(b + a) where b/a > tan(pi/8),

    angle = K pi/4 + s arctan(t),     K = 0..4,  s = +-1.

The rounding errors of t and of the sum are computed too, by fused multiply-adds, and added at the end.
"""

from __future__ import annotations

from fallingcat.codegen.lanes import LaneFunction, Lanes

QUARTER_PI = (0.7853981633974483, 3.061616997868383e-17)
"""pi/4 as a sum of doubles; the first of them times 0..4 is exact."""
TAN_EIGHTH_PI = 0.41421356237309503
ARCTAN = (
    -0.3333333333333333, 0.19999999999999804, -0.14285714285659828, 0.11111111105155447, -0.09090908753500877,
    0.07692296375032143, -0.06666424885738254, 0.05878928997834762, -0.05230454270650148, 0.04551593220626108,
    -0.034570561981416406, 0.01628575685520846,
)  # fmt: skip
"""P with arctan t = t + t^3 P(t^2): interpolation at the Chebyshev nodes of [0, tan(pi/8)^2]; its error is 0.03 ulp of t."""
EXPONENT = 0x7FF << 52
LARGEST = 2045 << 52
TWICE_ONE = 2046 << 52


def atan2(lanes: Lanes) -> str:
    """define T @fc_atan2_<width>(T y, T x)."""
    f = LaneFunction(f"fc_atan2_{lanes.width}", lanes.type, ("%y", "%x"), lanes, "#0")
    c, n = f.c, f.n
    # a and b; where both are zero or one is infinite, finite numbers with the same angle replace them.
    right, up = f.intrinsic("fabs", "%x"), f.intrinsic("fabs", "%y")
    steep = f.compare("ogt", up, right)
    a, b = f.pick(steep, up, right), f.pick(steep, right, up)
    infinite, nothing = f.compare("oeq", a, c(float("inf"))), f.compare("oeq", a, c(0.0))
    both = f.compare("oeq", b, c(float("inf")))
    b = f.pick(infinite, f.pick(both, c(1.0), c(0.0)), b)
    a = f.pick(f.logic("or", infinite, nothing), c(1.0), a)
    # Scaled exactly so that a is in [1, 4), or below if it is denormal: nothing overflows, no remainder is lost.
    exponent = f.whole("and", f.bits(a), n(EXPONENT))
    exponent = f.pick_whole(f.compare_whole("ugt", exponent, n(LARGEST)), n(LARGEST), exponent)
    scale = f.from_bits(f.whole("sub", n(TWICE_ONE), exponent))
    a, b = f.real("fmul", a, scale), f.real("fmul", b, scale)
    # t + t_low = (u + u_low) / (v + v_low)
    oblique = f.compare("ogt", b, f.real("fmul", a, c(TAN_EIGHTH_PI)))
    difference, sum_ = f.real("fsub", b, a), f.real("fadd", a, b)
    u, v = f.pick(oblique, difference, b), f.pick(oblique, sum_, a)
    u_low = f.pick(oblique, f.real("fsub", b, f.real("fadd", difference, a)), c(0.0))
    v_low = f.pick(oblique, f.real("fsub", b, f.real("fsub", sum_, a)), c(0.0))
    inverse = f.real("fdiv", c(1.0), v)
    t = f.real("fmul", u, inverse)
    minus_t = f.neg(t)
    left_over = f.intrinsic("fma", minus_t, v_low, f.real("fadd", f.intrinsic("fma", minus_t, v, u), u_low))
    t_low = f.real("fmul", left_over, inverse)
    # arctan(t + t_low) = t + (t^3 P(t^2) + (1 - t^2) t_low)
    z = f.real("fmul", t, t)
    P = f.horner(ARCTAN, z)
    rest = f.intrinsic("fma", f.real("fmul", t, z), P, f.intrinsic("fma", f.neg(z), t_low, t_low))
    # K pi/4 + s arctan(t)
    left = f.compare_whole("slt", f.bits("%x"), n(0))
    backwards = f.logic("xor", steep, left)
    K = f.pick(steep, c(2.0), f.pick(left, c(4.0), c(0.0)))
    K = f.real("fadd", K, f.pick(oblique, f.pick(backwards, c(-1.0), c(1.0)), c(0.0)))
    t, rest = f.pick(backwards, minus_t, t), f.pick(backwards, f.neg(rest), rest)
    base = f.real("fmul", K, c(QUARTER_PI[0]))
    angle = f.real("fadd", base, t)
    rounding = f.real("fsub", t, f.real("fsub", angle, base))
    small = f.real("fadd", rounding, f.intrinsic("fma", K, c(QUARTER_PI[1]), rest))
    angle = f.real("fadd", angle, small)
    signed = f.whole("or", f.bits(angle), f.whole("and", f.bits("%y"), n(-(2**63))))
    result = f.pick(f.compare("uno", "%x", "%y"), c(float("nan")), f.from_bits(signed))
    f.ret(result)
    return f.text
