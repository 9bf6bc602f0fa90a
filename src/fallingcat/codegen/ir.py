"""The back end for LLVM text: a program for one state and any processor, in double or single precision.

The kernels of this process have code of their own (`single`, `batch`), made for its vector registers; this back end assumes
nothing about the processor. Loops keep their locals in memory; LLVM's passes promote them to registers.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence

from fallingcat.codegen.arctangent import atan2
from fallingcat.codegen.backend import Array, Backend, Body, Place, Written, write
from fallingcat.codegen.builder import Function
from fallingcat.codegen.c99 import reserved, single
from fallingcat.codegen.c_sines import COS_SINGLE, HALF_PI_SINGLE, LARGE_SINGLE, SIN_SINGLE
from fallingcat.codegen.lanes import Lanes, declarations, hexadecimal
from fallingcat.codegen.mathlib import HALF_PI, sincos
from fallingcat.codegen.range_reduction import reduction
from fallingcat.trace.loops import Apply, For, Index, Let, Load, Local, Lookup, Loops, Number, Real, Set, Statement
from fallingcat.trace.program import Program

ONE = Lanes(1)
HALF_PI_SPLIT = (float.fromhex("0x1.921fb544p+0"), float.fromhex("0x1.0b4611a6p-34"), float.fromhex("0x1.3198a2e037073p-69"))
"""pi/2 in three parts, the first two short enough for exact products with small integers, without fused multiply-add."""


def ir_source(program: Program, name: str, precision: str = "double", taken: Container[str] = ()) -> Written:
    """A program as the LLVM function `name` and the internal functions that it calls; `ir_library` has the sines and atan2.

    Its arguments are named as in the C code, because its header is in C; they have no names in `taken`.
    """
    return write(program, name, IR(precision), lambda name: reserved(name) or name in taken)


def ir_library(used: Iterable[str], precision: str = "double", fused: bool = True) -> str:
    """Declarations of intrinsics, and the functions for those of sin, cos and atan2 that are used."""
    used = set(used)
    texts = [declarations(ONE), declarations(ONE).replace("double", "float").replace("f64", "f32")]
    if used & {"sin", "cos"}:
        texts.append(reduction())
        texts.append(_sincos_single() if precision == "float" else sincos(ONE, HALF_PI if fused else HALF_PI_SPLIT))
    if "atan2" in used:
        texts.append(atan2(ONE))
        if precision == "float":
            texts.append(_atan2_single())
    return "\n".join(texts)


class IR(Backend):
    """Functions in double or single precision."""

    def __init__(self, precision: str) -> None:
        self.real = precision

    def body(self, name: str, parameters: Sequence[Array]) -> IRBody:
        return IRBody(name, parameters, self.real)

    def entry(self, name: str, arrays: Sequence[Array], calls: Sequence[tuple[Body, Sequence[Place]]]) -> str:
        f = Function(name, "void", [_parameter(a) for a in arrays])
        texts = []
        size = 4 if self.real == "float" else 8
        for body, places in calls:
            assert isinstance(body, IRBody)
            texts.append(body.finished)
            f.call("void", body.name, *(f"ptr {f.at(_value(p.array), size * p.offset)}" for p in places))
        f.ret()
        return "\n".join([*texts, f.text])


def _parameter(array: Array) -> str:
    return f"ptr noalias {'' if array.is_output else 'readonly '}{_value(array.name)}"


def _value(name: str) -> str:
    """The LLVM name of an array; it starts with an underscore to differ from labels, which share the names of values."""
    return f"%_{name}"


class IRBody(Body):
    """One internal function."""

    def __init__(self, name: str, parameters: Sequence[Array], real: str) -> None:
        self.name, self.real = name, real
        self.suffix = "f32" if real == "float" else "f64"
        self.align = 4 if real == "float" else 8
        self.tables: list[str] = []
        self.f = Function(name, "void", [_parameter(a) for a in parameters], internal=True, attributes="#0")
        self.wholes: dict[str, str] = {}
        """The values of the integer names: loop variables, and entries looked up in tables."""
        self.locals: dict[str, str] = {}
        """The stack addresses of locals."""

    @property
    def finished(self) -> str:
        self.f.ret()
        return "\n".join([*self.tables, self.f.text])

    def number(self, value: float) -> str:
        return hexadecimal(single(value) if self.real == "float" else value)

    def load(self, array: str, index: int | str) -> str:
        return self.f.value(f"load {self.real}, ptr {self._at(array, index)}, align {self.align}")

    def store(self, array: str, index: int | str, value: str) -> None:
        self.f.do(f"store {self.real} {value}, ptr {self._at(array, index)}, align {self.align}")

    def _at(self, array: str, index: int | str) -> str:
        start = _value(array)
        return start if index == 0 else self.f.value(f"getelementptr {self.real}, ptr {start}, i32 {index}")

    def operate(self, name: str, op: str, args: Sequence[str]) -> str:
        f, T = self.f, self.real
        if op in PLAIN:
            return f.value(f"{PLAIN[op]} {T} {args[0]}, {args[1]}")
        if op in ("fma", "fms", "fnma"):
            a, b, c = args
            a = f.value(f"fneg {T} {a}") if op == "fnma" else a
            c = f.value(f"fneg {T} {c}") if op == "fms" else c
            return f.call(T, f"llvm.fma.{self.suffix}", f"{T} {a}", f"{T} {b}", f"{T} {c}")
        if op == "select":
            less = f.value(f"fcmp olt {T} {args[0]}, {args[1]}")
            return f.value(f"select i1 {less}, {T} {args[2]}, {T} {args[3]}")
        if op == "neg":
            return f.value(f"fneg {T} {args[0]}")
        if op == "taint":
            return f.value(f"fmul {T} {args[0]}, {self.number(0.0)}")
        if op == "sqrt":
            return f.call(T, f"llvm.sqrt.{self.suffix}", f"{T} {args[0]}")
        assert op == "atan2"
        return f.call(T, "fc_atan2_1" if T == "double" else "fc_atan2_single", f"{T} {args[0]}", f"{T} {args[1]}")

    def sincos(self, name: str, angle: str) -> tuple[str, str]:
        T, f = self.real, self.f
        pair = f.call(f"{{{T}, {T}}}", "fc_sincos1" if T == "double" else "fc_sincos_single", f"{T} {angle}")
        return f.value(f"extractvalue {{{T}, {T}}} {pair}, 0"), f.value(f"extractvalue {{{T}, {T}}} {pair}, 1")

    # -----------------------------------------------------------------------------------------------------------------
    # Loops

    def loops(self, loops: Loops) -> None:
        for name, rows in loops.tables.items():
            numbers = ", ".join(f"i32 {x}" for row in rows for x in row)
            count = len(rows) * len(rows[0])
            self.tables.append(f"@{self.name}_{name} = internal constant [{count} x i32] [{numbers}], align 4")
        self._widths = {name: len(rows[0]) for name, rows in loops.tables.items()}
        for statement in loops.body:
            self._statement(statement)

    def _statement(self, s: Statement) -> None:
        f = self.f
        if isinstance(s, For):
            self._for(s)
        elif isinstance(s, Lookup):
            index = self._index(s.row * self._widths[s.table] + s.column)
            at = f.value(f"getelementptr i32, ptr @{self.name}_{s.table}, i32 {index}")
            self.wholes[s.name] = f.value(f"load i32, ptr {at}, align 4")
        elif isinstance(s, (Let, Set)):
            if isinstance(s, Let) and s.name not in self.locals:
                self.locals[s.name] = f.alloca(self.real, align=8)
            value = self._real(s.value)
            f.do(f"store {self.real} {value}, ptr {self.locals[s.name]}, align {self.align}")
        else:
            self.store(s.array, self._index(s.index), self._real(s.value))

    def _for(self, s: For) -> None:
        f = self.f
        start, stop = self._index(s.start), self._index(s.stop)
        before, test, body, done = f.block, f.label("test"), f.label("body"), f.label("done")
        f.go(test)
        f.begin(test)
        counter, following = f.name(), f.name()
        latch = f.label("latch")
        f.do(f"{counter} = phi i32 [ {start}, %{before} ], [ {following}, %{latch} ]")
        f.branch(f.value(f"icmp slt i32 {counter}, {stop}"), body, done)
        f.begin(body)
        self.wholes[s.name] = counter
        for inner in s.body:
            self._statement(inner)
        f.go(latch)
        f.begin(latch)
        f.do(f"{following} = add nsw i32 {counter}, 1")
        f.go(test)
        f.begin(done)

    def _index(self, i: Index) -> str:
        f, total = self.f, ""
        for factor, names in sorted(i.terms, key=lambda term: (not term[1], term)):
            value = str(factor) if not names else self.wholes[names[0]]
            for name in names[1:]:
                value = f.value(f"mul nsw i32 {value}, {self.wholes[name]}")
            if names and factor != 1:
                value = f.value(f"mul nsw i32 {value}, {factor}")
            total = f.value(f"add nsw i32 {total}, {value}") if total else value
        return total or "0"

    def _real(self, x: Real) -> str:
        if isinstance(x, Number):
            return self.number(x.value)
        if isinstance(x, Local):
            return self.f.value(f"load {self.real}, ptr {self.locals[x.name]}, align {self.align}")
        if isinstance(x, Load):
            return self.load(x.array, self._index(x.index))
        assert isinstance(x, Apply)
        return self.operate("", x.op, [self._real(a) for a in x.args])


PLAIN = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


# ---------------------------------------------------------------------------------------------------------------------
# Single precision

ROUND_TO_INTEGER_SINGLE = 12582912.0
"""1.5 * 2^23: adding it leaves an integer in the low bits."""


def _sincos_single() -> str:
    """define {float, float} @fc_sincos_single(float x), the same operations as the C code."""
    f = Function("fc_sincos_single", "{float, float}", ["float %x"], internal=True, attributes="#2")

    def c(x: float) -> str:
        return hexadecimal(single(x))

    def fma(a: str, b: str, z: str) -> str:
        return f.call("float", "llvm.fma.f32", f"float {a}", f"float {b}", f"float {z}")

    def horner(coefficients: Sequence[float]) -> str:
        value = c(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            value = fma(value, z, c(coefficient))
        return value

    kx = f.value(f"fmul float %x, {c(2.0 / math.pi)}")
    turned = f.value(f"fadd float {kx}, {c(ROUND_TO_INTEGER_SINGLE)}")
    k = f.value(f"fsub float {turned}, {c(ROUND_TO_INTEGER_SINGLE)}")
    minus = f.value(f"fneg float {k}")
    near = "%x"
    for part in HALF_PI_SINGLE:
        near = fma(minus, c(part), near)
    quadrant_near = f.value(f"bitcast float {turned} to i32")
    size = f.call("float", "llvm.fabs.f32", "float %x")
    far, reduced = f.label("far"), f.label("reduced")
    f.branch(f.value(f"fcmp ogt float {size}, {c(LARGE_SINGLE)}"), far, reduced)
    f.begin(far)
    wide = f.value("fpext float %x to double")
    both = f.call("{double, i64}", "fc_reduce", f"double {wide}")
    parts = [f.value(f"extractvalue {{double, i64}} {both}, {k}") for k in range(2)]
    r_far, quadrant_far = f.value(f"fptrunc double {parts[0]} to float"), f.value(f"trunc i64 {parts[1]} to i32")
    f.go(reduced)
    f.begin(reduced)
    r = f.value(f"phi float [ {near}, %entry ], [ {r_far}, %{far} ]")
    quadrant = f.value(f"phi i32 [ {quadrant_near}, %entry ], [ {quadrant_far}, %{far} ]")
    z = f.value(f"fmul float {r}, {r}")
    sine = fma(horner(SIN_SINGLE), f.value(f"fmul float {r}, {z}"), r)
    cosine = fma(horner(COS_SINGLE), f.value(f"fmul float {z}, {z}"), fma(c(-0.5), z, c(1.0)))
    odd = f.value(f"trunc i32 {quadrant} to i1")

    def signed(if_odd: str, if_even: str, turn: str) -> str:
        size = f.value(f"select i1 {odd}, float {if_odd}, float {if_even}")
        half = f.value(f"lshr i32 {turn}, 1")
        below, minus = f.value(f"trunc i32 {half} to i1"), f.value(f"fneg float {size}")
        return f.value(f"select i1 {below}, float {minus}, float {size}")

    first = f.value(f"insertvalue {{float, float}} undef, float {signed(cosine, sine, quadrant)}, 0")
    after = f.value(f"add i32 {quadrant}, 1")
    f.ret(f.value(f"insertvalue {{float, float}} {first}, float {signed(sine, cosine, after)}, 1"))
    return f.text


def _atan2_single() -> str:
    """atan2 in single precision, computed in double precision: it is rare."""
    f = Function("fc_atan2_single", "float", ["float %y", "float %x"], internal=True, attributes="#2")
    y, x = (f.value(f"fpext float {v} to double") for v in ("%y", "%x"))
    angle = f.call("double", "fc_atan2_1", f"double {y}", f"double {x}")
    f.ret(f.value(f"fptrunc double {angle} to float"))
    return f.text
