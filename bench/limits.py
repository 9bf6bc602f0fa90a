"""What one core can do at most, measured: operations a second, and bytes a second to and from its caches and memory."""

from __future__ import annotations

import ctypes
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

from fallingcat.codegen import native

CHAINS, LONG = 12, 16
"""Independent sums, enough to keep two units busy for the four cycles that a fused multiply-add takes; and how often in a row."""
TURNS = 20_000
SIZES = {"cache": 1 << 18, "memory": 1 << 28}
"""Bytes of an array that is copied to another one: both within the second level of caches, or far beyond the last."""


def measure() -> dict[str, float]:
    """Gop/s of fused multiply-adds on vectors and on numbers, GB/s of copies: bytes read and bytes written."""
    found = {name: arithmetic(width) for name, width in (("vectors", native.host_lanes().width), ("numbers", 1))}
    return found | {name: copies(size) for name, size in SIZES.items()}


def arithmetic(width: int) -> float:
    """Gop/s of sums that do not depend on each other; a fused multiply-add is two operations."""
    code = native.Code(native.compile_object(_sums(width)), {})
    run = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(code.address("sums"))
    return 2.0 * width * CHAINS * LONG * TURNS / _shortest(lambda: run(TURNS)) / 1e9


def _sums(width: int) -> str:
    kind = f"<{width} x double>" if width > 1 else "double"
    fma = f"@llvm.fma.{f'v{width}' if width > 1 else ''}f64"

    def same(x: str) -> str:
        return f"<{', '.join([f'double {x}'] * width)}>" if width > 1 else x

    lines = [f"declare {kind} {fma}({kind}, {kind}, {kind})", "define double @sums(i64 %turns) #1 {", "entry:", "br label %loop"]
    lines += ["loop:", "%k = phi i64 [0, %entry], [%next, %loop]"]
    lines += [f"%x{c}.0 = phi {kind} [{same(f'{c}.0')}, %entry], [%x{c}.{LONG}, %loop]" for c in range(CHAINS)]
    for k in range(LONG):
        for c in range(CHAINS):
            lines.append(f"%x{c}.{k + 1} = call {kind} {fma}({kind} %x{c}.{k}, {kind} {same('0.5')}, {kind} {same('1.0')})")
    lines += ["%next = add i64 %k, 1", "%more = icmp slt i64 %next, %turns", "br i1 %more, label %loop, label %end", "end:"]
    lines.append(f"%y0 = fadd {kind} %x0.{LONG}, %x1.{LONG}")
    lines += [f"%y{c - 1} = fadd {kind} %y{c - 2}, %x{c}.{LONG}" for c in range(2, CHAINS)]
    last = f"%y{CHAINS - 2}"
    if width > 1:
        lines.append(f"%first = extractelement {kind} {last}, i32 0")
        last = "%first"
    return "\n".join([*lines, f"ret double {last}", "}"])


def copies(size: int) -> float:
    """GB/s of `np.copyto`, what is read and what is written together."""
    source, target = np.ones(size // 8), np.zeros(size // 8)
    number = max(1, (1 << 24) // size)
    return 2.0 * size * number / _shortest(lambda: [np.copyto(target, source) for _ in range(number)]) / 1e9


def _shortest(call: Callable[[], Any], repeats: int = 15) -> float:
    call()
    return min(timeit.repeat(call, number=1, repeat=repeats))


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:14} {value:8.1f} {'Gop/s' if name in ('vectors', 'numbers') else 'GB/s'}")
