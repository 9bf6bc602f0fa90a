"""How long one call takes on this machine, in a loop of machine code."""

from __future__ import annotations

import ctypes
import time

import numpy as np

from fallingcat.codegen.builder import Function
from fallingcat.codegen.ir import ir_source
from fallingcat.codegen.native import Code
from fallingcat.codegen.objects import compile_for, module_text, this_processor
from fallingcat.deploy.chosen import Chosen
from fallingcat.deploy.vectors import vectors
from fallingcat.robot.robot import Robot

SECONDS = 0.02
"""Seconds of one measurement."""
MEASUREMENTS = 7
"""Number of measurements; the shortest is used, as disturbances only make them longer."""


def seconds_per_call(robot: Robot, chosen: Chosen, precision: str) -> float:
    """Seconds of one call of the exported function, compiled by LLVM for this processor."""
    written = ir_source(chosen.kernel.program, "f", precision)
    text = module_text([written], precision) + _repeat(len(written.arrays))
    code = Code(compile_for(this_processor(), text), {})
    kind = np.float32 if precision == "float" else np.float64
    states, results = vectors(robot, chosen, precision)
    arrays = [np.ascontiguousarray(x[0], kind) for x in states] + [np.zeros(max(1, r.shape[1]), kind) for r in results]
    arrays.append(np.zeros(written.workspace, kind))
    repeat = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(arrays))(code.address("repeat"))

    def timed(count: int) -> float:
        started = time.perf_counter()
        repeat(count, *(a.ctypes.data for a in arrays))
        return time.perf_counter() - started

    count = 1
    while timed(count) < SECONDS / 2:
        count *= 2
    return min(timed(count) for _ in range(MEASUREMENTS)) / count


def _repeat(arguments: int) -> str:
    """LLVM text of a function `repeat(i64 count, ptr ...)` that calls f `count` times."""
    names = [f"%a{k}" for k in range(arguments)]
    f = Function("repeat", "void", ["i64 %count", *(f"ptr {name}" for name in names)])
    with f.counting("%count"):
        f.call("void", "f", *(f"ptr {name}" for name in names))
    f.ret()
    return f"\n{f.text}\n"


def shown(seconds: float) -> str:
    """A time as text, in a suitable unit."""
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"
