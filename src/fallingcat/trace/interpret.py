"""Run a program value by value in Python: slow, obvious, and the judge of every compiled kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fallingcat.trace.dots import DotTable
from fallingcat.trace.ops import OPS
from fallingcat.trace.program import Program


def interpret(program: Program, vectors: Sequence[Sequence[float]]) -> list[list[float]]:
    """One flat list per output."""
    values: list[Any] = [float(x) for vector in vectors for x in vector]
    values += program.constants
    for op, args in program.instructions:
        evaluate = OPS[op].evaluate if isinstance(op, str) else op.evaluate
        values.append(evaluate(*(values[a] for a in args)))
    results = [[values[i] for i in flat] for flat in program.results]
    for k, (op, _) in enumerate(program.instructions):
        if isinstance(op, DotTable) and op.output is not None:
            results[op.output] = values[program.first + k]
    return results
