"""C99: a program as functions that need nothing but `fma`, `sqrt`, `rint` and `fabs`.

The code has no allocation, no global variables, and no library sines: `c_sines` repeats those of `codegen.mathlib` operation
by operation, so that results equal those of compiled kernels bit for bit wherever `fma` rounds once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence

from fallingcat.codegen.backend import Array, Backend, Body, Place, Written, write
from fallingcat.errors import InputError
from fallingcat.trace.loops import Apply, For, Index, Let, Load, Local, Lookup, Loops, Number, Real, Set, Statement
from fallingcat.trace.program import Program

PRECISIONS = ("double", "float")

PREAMBLE = """\
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* A piece of a function; larger functions take compilers long and run slower. GCC joins neighbouring sums to vectors and
   contracts them there although it is told not to, so it must leave them alone. */
#if defined(__clang__)
#define FC_PIECE static __attribute__((noinline))
#define FC_LOOPS FC_PIECE
#elif defined(__GNUC__)
#define FC_PIECE static __attribute__((noinline, optimize("fp-contract=off", "no-tree-slp-vectorize")))
#define FC_LOOPS static __attribute__((noinline))
#else
#define FC_PIECE static
#define FC_LOOPS static
#endif

/* a b + c, rounded once. FALLINGCAT_NO_FMA is for processors without this operation, where math.h computes it slowly:
   results then differ in the last digits. */
#if defined(FALLINGCAT_NO_FMA)
#define FC_FMA(a, b, c) ((a) * (b) + (c))
#else
#define FC_FMA(a, b, c) {fma}(a, b, c)
#endif
#define FC_SQRT(a) {sqrt}(a)
/* -a, where a is a b + c rounded once: GCC would join the two to -a b - c, which is another zero when both cancel. */
#define FC_NEG(a) FC_FMA(a, {one}, {zero})
"""

_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register restrict
return short signed sizeof static struct switch typedef union unsigned void volatile while asm alignas alignof and and_eq
bitand bitor bool catch class compl concept consteval constexpr constinit const_cast co_await co_return co_yield decltype
delete dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private
protected public reinterpret_cast requires static_assert static_cast template this thread_local throw true try typeid
typename using virtual wchar_t xor xor_eq linux unix main fma fmaf sqrt sqrtf rint rintf fabs fabsf printf at i
"""
KEYWORDS = frozenset(_WORDS.split())
"""Keywords of C and C++, and names that the generated code and the example use for functions and counters."""
_OWN = re.compile(r"[tsc]\d+|(fc|FC)_.*|FALLINGCAT.*")
_MACROS = re.compile(
    "NAN|INFINITY|NULL|EOF|BUFSIZ|I|errno|assert|stdin|stdout|stderr|signbit|is(finite|inf|nan|normal)|near|far|min|max|"
    "(M|FP|MATH|SEEK|EXIT|TMP|RAND|L|_IO|FLT|DBL|LDBL|CHAR|SHRT|LONG|U?INT|SIZE|PTRDIFF|WCHAR|CLOCKS|SIG)_[A-Z0-9_]+|"
    "U?INT(_(FAST|LEAST))?(8|16|32|64|MAX|PTR)(_C|_MAX|_MIN)|HUGE_VAL[FL]?|E[A-Z0-9]{2,}|FILE|FILENAME_MAX|FOPEN_MAX|BIG_ENDIAN"
)
"""Macros of headers that are often included before the generated header."""


def reserved(name: str) -> bool:
    """Is this name unusable for an argument, in C or in C++?"""
    return name in KEYWORDS or any(form.fullmatch(name) is not None for form in (_OWN, _MACROS))


def c_source(program: Program, name: str, precision: str = "double", taken: Container[str] = ()) -> Written:
    """A program as the C function `name`, preceded by the static functions that it calls; it needs `PREAMBLE`.

    taken: names that its arguments may not have.
    """
    return write(program, name, C99(precision), lambda name: reserved(name) or name in taken)


def declaration(written: Written, precision: str = "double") -> str:
    """The prototype for a header of C and C++."""
    return f"void {written.name}({', '.join(parameter(a, precision) for a in written.arrays)});"


def parameter(array: Array, real: str, qualifier: str = "") -> str:
    """The declaration of an array parameter, as in `double x[restrict 3]`."""
    const = "" if array.is_output else "const "
    if not array.size:
        return f"{const}{real} *{qualifier}{array.name}"
    return f"{const}{real} {array.name}[{qualifier}{array.size}]"


def preamble(precision: str) -> str:
    """The preamble of a file: macros that its functions use."""
    suffix = "f" if precision == "float" else ""
    return PREAMBLE.format(
        fma=f"fma{suffix}", sqrt=f"sqrt{suffix}", one=number(-1.0, precision), zero=number(-0.0, precision)
    )  # fmt: skip


class C99(Backend):
    """Functions in double or single precision."""

    def __init__(self, precision: str) -> None:
        self.real = precision

    def body(self, name: str, parameters: Sequence[Array]) -> CBody:
        return CBody(name, parameters, self.real)

    def entry(self, name: str, arrays: Sequence[Array], calls: Sequence[tuple[Body, Sequence[Place]]]) -> str:
        texts, lines, used = [], [], set[str]()
        for body, places in calls:
            assert isinstance(body, CBody)
            texts.append(body.text)
            given = [p for p, a in zip(places, body.parameters, strict=True) if a.name in body.used]
            used |= {p.array for p in given}
            words = ", ".join(p.array if not p.offset else f"{p.array} + {p.offset}" for p in given)
            lines.append(f"  {body.name}({words});")
        parameters = ", ".join(parameter(a, self.real, "restrict ") for a in arrays)
        unused = [f"  (void){a.name};" for a in arrays if a.name not in used]
        return "\n".join([*texts, f"void {name}({parameters}) {{", *unused, *lines, "}"]) + "\n"


class CBody(Body):
    """One static function."""

    def __init__(self, name: str, parameters: Sequence[Array], real: str) -> None:
        self.name, self.parameters, self.real = name, parameters, real
        self.used: set[str] = set()
        self._lines: list[str | Operation] = []
        self._fused: set[str] = set()
        """Names of values that a fused multiply-add computes."""
        self._plain: set[str] = set()
        """Names of values that are used without a minus sign."""
        self._kind = "FC_PIECE"

    @property
    def text(self) -> str:
        taken = [a for a in self.parameters if a.name in self.used]
        words = ", ".join(f"{'' if a.is_output else 'const '}{self.real} *restrict {a.name}" for a in taken) or "void"
        lines = (line if isinstance(line, str) else self._spelled(*line) for line in self._lines)
        return "\n".join([f"{self._kind} void {self.name}({words}) {{", *lines, "}", ""])

    def number(self, value: float) -> str:
        return number(value, self.real)

    def load(self, array: str, index: int) -> str:
        self.used.add(array)
        return f"{array}[{index}]"

    def store(self, array: str, index: int, value: str) -> None:
        self.used.add(array)
        self._plain.add(value)
        self._lines.append(f"  {array}[{index}] = {value};")

    def operate(self, name: str, op: str, args: Sequence[str]) -> str:
        if op == "fnma" and args[0] in self._fused and args[1] not in self._fused:
            args = (args[1], args[0], args[2])
        self._lines.append((name, op, args))
        self._plain.update(a for k, a in enumerate(args) if k != MINUS.get(op))
        if op in FUSED:
            self._fused.add(name)
        return name

    def _spelled(self, name: str, op: str, args: Sequence[str]) -> str:
        """The line of an operation, written when all uses are known.

        A compiler may fold a minus sign into a fused value that is used only negated; `FC_NEG` keeps the two apart.
        """
        minus = args[MINUS[op]] if op in MINUS else ""
        text = SPELLINGS[op].format(*args, zero=self.number(0.0))
        if minus in self._fused and minus not in self._plain:
            text = text.replace(f"-{minus}", f"FC_NEG({minus})", 1)
        return f"  const {self.real} {name} = {text};"

    def sincos(self, name: str, angle: str) -> tuple[str, str]:
        self._plain.add(angle)
        self._lines.append(f"  {self.real} s{name}, c{name}; fc_sincos({angle}, &s{name}, &c{name});")
        return f"s{name}", f"c{name}"

    # -----------------------------------------------------------------------------------------------------------------
    # Loops

    def loops(self, loops: Loops) -> None:
        self._kind = "FC_LOOPS"
        for name, rows in loops.tables.items():
            largest = max((abs(x) for row in rows for x in row), default=0)
            kind = "short" if largest < 1 << 15 else "int"
            words = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
            self._lines.append(f"  static const {kind} {name}[{len(rows)}][{len(rows[0])}] = {{{words}}};")
        for statement in loops.body:
            self._statement(statement, "  ")

    def _statement(self, s: Statement, indent: str) -> None:
        if isinstance(s, For):
            head = f"for (int {s.name} = {index(s.start)}; {s.name} < {index(s.stop)}; {s.name}++) {{"
            self._lines.append(indent + head)
            for inner in s.body:
                self._statement(inner, indent + "  ")
            self._lines.append(indent + "}")
        elif isinstance(s, Lookup):
            self._lines.append(f"{indent}const int {s.name} = {s.table}[{index(s.row)}][{s.column}];")
        elif isinstance(s, Let):
            self._lines.append(f"{indent}{self.real} {s.name} = {self._real(s.value)};")
        elif isinstance(s, Set):
            self._lines.append(f"{indent}{s.name} = {self._real(s.value)};")
        else:
            self.used.add(s.array)
            self._lines.append(f"{indent}{s.array}[{index(s.index)}] = {self._real(s.value)};")

    def _real(self, x: Real) -> str:
        if isinstance(x, Number):
            return self.number(x.value)
        if isinstance(x, Local):
            return x.name
        if isinstance(x, Load):
            self.used.add(x.array)
            return f"{x.array}[{index(x.index)}]"
        assert isinstance(x, Apply)
        return SPELLINGS[x.op].format(*map(self._real, x.args), zero=self.number(0.0))


SPELLINGS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}",
    "fma": "FC_FMA({}, {}, {})", "fms": "FC_FMA({}, {}, -{})", "fnma": "FC_FMA(-{}, {}, {})",
    "sqrt": "FC_SQRT({})", "atan2": "fc_atan2({}, {})", "select": "{0} < {1} ? {2} : {3}", "taint": "{} * {zero}",
}  # fmt: skip
"""The C text of each operation. Arguments are names, array entries, or constants; a signed constant is in parentheses."""
FUSED = ("fma", "fms", "fnma")
MINUS = {"neg": 0, "fms": 2, "fnma": 0}
"""The index of the argument that the C text negates."""
Operation = tuple[str, str, Sequence[str]]
"""(name of the value, operation, arguments)."""


def index(i: Index) -> str:
    """An index as a C expression."""
    words = ""
    for factor, names in sorted(i.terms, key=lambda term: (not term[1], term)):
        sign = " - " if factor < 0 else " + " if words else ""
        size = abs(factor)
        parts = [*names] if size == 1 and names else [str(size), *names]
        words += sign.strip() * (not words) + sign * bool(words) + " * ".join(parts)
    return words or "0"


def number(value: float, real: str = "double") -> str:
    """A constant as a C literal that is read back exactly; in parentheses if it has a sign."""
    value, suffix = float(value), ""  # NumPy's scalars print differently
    if math.isnan(value):
        return "NAN"
    if real == "float":
        value, suffix = single(value), "f"
    if math.isinf(value):
        text = "INFINITY"
    else:
        short = repr(abs(value))
        text = (short if len(short) <= 6 and "e" not in short else abs(value).hex()) + suffix
    return f"(-{text})" if math.copysign(1.0, value) < 0 else text


def single(value: float) -> float:
    """The nearest single-precision number."""
    import numpy as np

    if math.isfinite(value) and abs(value) > float(np.finfo(np.float32).max):
        raise InputError("a constant of this robot is too large for single precision", got=repr(value), hint='precision="double"')
    return float(np.float32(value))
