"""Sines, cosines and atan2 in C99: the ones of `codegen.mathlib`, operation by operation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from fallingcat.codegen.arctangent import ARCTAN, QUARTER_PI, TAN_EIGHTH_PI
from fallingcat.codegen.c99 import number
from fallingcat.codegen.mathlib import COS, HALF_PI, LARGE, ROUND_TO_INTEGER, SIN
from fallingcat.codegen.range_reduction import WORDS, digits


def c_library(used: Iterable[str], precision: str = "double") -> str:
    """The static functions for those of sin, cos and atan2 that are used."""
    used, texts = set(used), []
    if used:
        texts.append("typedef union { double x; uint64_t bits; } fc_bits;\n")
    if used & {"sin", "cos"}:
        texts.append(REDUCE.replace("TABLE", _table()))
        texts.append(_sincos_single() if precision == "float" else _sincos())
    if "atan2" in used:
        texts.append(_atan2(precision))
    return "\n".join(texts)


def _table() -> str:
    words = [f"0x{word:016x}u" for word in digits()]
    return ",\n    ".join(", ".join(words[k : k + 5]) for k in range(0, WORDS, 5))


def _horner(name: str, coefficients: Sequence[float], real: str = "double") -> str:
    lines = [f"  {real} {name} = {number(coefficients[-1], real)};"]
    lines += [f"  {name} = FC_FMA({name}, z, {number(c, real)});" for c in reversed(coefficients[:-1])]
    return "\n".join(lines)


REDUCE = (
    """\
/* x = r + k pi/2 with |r| <= pi/4 and k modulo 4, for large x, by the digits of 2/pi that count (Payne and Hanek 1983). */
static double fc_reduce(double x, uint64_t *k) {
  static const uint64_t two_over_pi[WORDS] = {
    TABLE};
  fc_bits given; given.x = x;
  const uint64_t field = (given.bits >> 52) & 2047u;
  const uint64_t m = (given.bits & 0xfffffffffffffu) | 0x10000000000000u;
  const uint64_t start = (field < 2047u ? field : 2046u) - 1013u, shift = start & 63u;
  const uint64_t *t = two_over_pi + (start >> 6);
  uint64_t w[3];
  for (int i = 0; i < 3; i++) w[i] = shift ? (t[i] << shift) | (t[i + 1] >> (64u - shift)) : t[i];
  /* m times these 192 bits, modulo 2^192, without the last 64 */
  uint64_t high[2], low[2];
  for (int i = 0; i < 2; i++) {
    const uint64_t a = w[i + 1] & 0xffffffffu, b = w[i + 1] >> 32, c = m & 0xffffffffu, d = m >> 32;
    const uint64_t ac = a * c, bc = b * c, ad = a * d, middle = (ac >> 32) + (bc & 0xffffffffu) + ad;
    low[i] = (middle << 32) | (ac & 0xffffffffu);
    high[i] = b * d + (bc >> 32) + (middle >> 32);
  }
  const uint64_t lower = low[0] + high[1];
  const uint64_t top = m * w[0] + high[0] + (lower < low[0]);
  /* the nearest quadrant; what is left as a signed part of one */
  uint64_t quadrant = (top + 0x2000000000000000u) >> 62;
  uint64_t part = (top << 2) | (lower >> 62), rest = lower << 2;
  const int below = (int)(part >> 63);
  if (below) { rest = ~rest + 1u; part = ~part + (rest == 0u); }
  unsigned zeros = 0;
  if (part == 0u) { part = rest; rest = 0u; zeros = 64; }
  while (part != 0u && !(part >> 63)) { part = (part << 1) | (rest >> 63); rest <<= 1; zeros++; }
  /* its first 64 bits times pi/2 */
  fc_bits scale; scale.bits = ((uint64_t)(1023 - 53) - zeros) << 52;
  const double a = (double)(part >> 11) * scale.x, b = (double)(part & 2047u) * 0x1p-11 * scale.x;
  double r = fma(a, HALF_PI_1, b * HALF_PI_0);
  r = fma(a, HALF_PI_0, r);
  const int negative = (int)(given.bits >> 63);
  *k = negative ? 0u - quadrant : quadrant;
  if (field == 2047u) return (double)NAN;
  return below != negative ? -r : r;
}
""".replace("WORDS", str(WORDS))
    .replace("HALF_PI_0", HALF_PI[0].hex())
    .replace("HALF_PI_1", HALF_PI[1].hex())
)


def _sincos() -> str:
    return f"""\
/* Both from one reduction, with the polynomials of Cephes (S. Moshier): within 2 units of the last place, at any angle. */
static void fc_sincos(double x, double *sine, double *cosine) {{
#if defined(FALLINGCAT_NO_FMA)
  const double parts[3] = {{0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69}};
#else
  const double parts[3] = {{{number(HALF_PI[0])}, {number(HALF_PI[1])}, {number(HALF_PI[2])}}};
#endif
  const double k = rint(x * {number(2.0 / math.pi)});
  double r = FC_FMA(-k, parts[0], x);
  r = FC_FMA(-k, parts[1], r);
  r = FC_FMA(-k, parts[2], r);
  fc_bits turn; turn.x = k + {number(ROUND_TO_INTEGER)};
  uint64_t quadrant = turn.bits;
  if (fabs(x) > {number(LARGE)}) r = fc_reduce(x, &quadrant);
  const double z = r * r;
{_horner("s", SIN)}
{_horner("c", COS)}
  s = FC_FMA(s, r * z, r);
  c = FC_FMA(c, z * z, FC_FMA({number(-0.5)}, z, {number(1.0)}));
  const double up = quadrant & 1u ? c : s, along = quadrant & 1u ? s : c;
  *sine = quadrant & 2u ? -up : up;
  *cosine = (quadrant + 1u) & 2u ? -along : along;
}}
"""


LARGE_SINGLE = 1e4
HALF_PI_SINGLE = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
SIN_SINGLE = (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4)
COS_SINGLE = (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)


def _sincos_single() -> str:
    half_pi = ", ".join(number(x, "float") for x in HALF_PI_SINGLE)
    return f"""\
/* Both from one reduction, with the polynomials of Cephes (S. Moshier). */
static void fc_sincos(float x, float *sine, float *cosine) {{
#if defined(FALLINGCAT_NO_FMA)
  const float parts[3] = {{0x1.92p+0f, 0x1.fbp-12f, 0x1.5110b4p-22f}};
#else
  const float parts[3] = {{{half_pi}}};
#endif
  const float k = rintf(x * {number(2.0 / math.pi, "float")});
  float r = FC_FMA(-k, parts[0], x);
  r = FC_FMA(-k, parts[1], r);
  r = FC_FMA(-k, parts[2], r);
  uint64_t quadrant = 0;
  if (fabsf(x) > {number(LARGE_SINGLE, "float")}) r = (float)fc_reduce((double)x, &quadrant);
  else if (x == x) quadrant = (uint64_t)(int)k;
  const float z = r * r;
{_horner("s", SIN_SINGLE, "float")}
{_horner("c", COS_SINGLE, "float")}
  s = FC_FMA(s, r * z, r);
  c = FC_FMA(c, z * z, FC_FMA({number(-0.5, "float")}, z, {number(1.0, "float")}));
  const float up = quadrant & 1u ? c : s, along = quadrant & 1u ? s : c;
  *sine = quadrant & 2u ? -up : up;
  *cosine = (quadrant + 1u) & 2u ? -along : along;
}}
"""


def _atan2(precision: str) -> str:
    """atan2 in C, computed in double precision for `float`, too: it is rare, and its constants are those of doubles."""
    polynomial = _horner("P", ARCTAN).replace("FC_FMA", "fma")
    name = "fc_atan2_double" if precision == "float" else "fc_atan2"
    text = f"""\
/* The angle of the point (x, y), within 1 unit of the last place: K pi/4 + s arctan(t), with what rounding takes from t. */
static double {name}(double y, double x) {{
  if (x != x || y != y) return (double)NAN;
  const double right = fabs(x), up = fabs(y);
  const int steep = up > right;
  double a = steep ? up : right, b = steep ? right : up;
  if (a == (double)INFINITY) {{ b = b == (double)INFINITY ? 1.0 : 0.0; a = 1.0; }}
  if (a == 0.0) a = 1.0;
  /* scaled exactly, so that nothing overflows */
  fc_bits size, scale; size.x = a;
  uint64_t exponent = size.bits & 0x7ff0000000000000u;
  if (exponent > ((uint64_t)2045 << 52)) exponent = (uint64_t)2045 << 52;
  scale.bits = ((uint64_t)2046 << 52) - exponent;
  a *= scale.x;
  b *= scale.x;
  /* t + t_low = (u + u_low) / (v + v_low) */
  const int oblique = b > a * {number(TAN_EIGHTH_PI)};
  const double difference = b - a, sum = a + b;
  const double u = oblique ? difference : b, v = oblique ? sum : a;
  const double u_low = oblique ? b - (difference + a) : 0.0, v_low = oblique ? b - (sum - a) : 0.0;
  const double inverse = 1.0 / v;
  double t = u * inverse;
  const double t_low = fma(-t, v_low, fma(-t, v, u) + u_low) * inverse;
  /* arctan(t + t_low) = t + (t^3 P(t^2) + (1 - t^2) t_low) */
  const double z = t * t;
{polynomial}
  double rest = fma(t * z, P, fma(-z, t_low, t_low));
  fc_bits sign; sign.x = x;
  const int left = (int)(sign.bits >> 63), backwards = steep != left;
  double K = steep ? 2.0 : left ? 4.0 : 0.0;
  K += oblique ? (backwards ? -1.0 : 1.0) : 0.0;
  if (backwards) {{ t = -t; rest = -rest; }}
  const double base = K * {number(QUARTER_PI[0])};
  double angle = base + t;
  angle += (t - (angle - base)) + fma(K, {number(QUARTER_PI[1])}, rest);
  fc_bits signed_angle, sign_y; signed_angle.x = angle; sign_y.x = y;
  signed_angle.bits |= sign_y.bits & 0x8000000000000000u;
  return signed_angle.x;
}}
"""
    if precision == "float":
        text += "\nstatic float fc_atan2(float y, float x) { return (float)fc_atan2_double((double)y, (double)x); }\n"
    return text
