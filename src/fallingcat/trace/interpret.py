"""Run a program value by value in Python: slow, obvious, and the judge of every compiled kernel."""

from __future__ import annotations

from collections.abc import Sequence

from fallingcat.trace.ops import OPS
from fallingcat.trace.program import Program


def interpret(program: Program, vectors: Sequence[Sequence[float]]) -> list[list[float]]:
    """One flat list per output."""
    values: list[float] = [float(x) for vector in vectors for x in vector]
    values += program.constants
    for op, args in program.instructions:
        values.append(OPS[op].evaluate(*(values[a] for a in args)))
    return [[values[i] for i in flat] for flat in program.results]
