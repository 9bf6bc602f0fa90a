"""Runs a program value by value in Python: slow and simple, the reference for every compiled kernel.

With another table of operations it runs on other numbers, such as those of an array library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fallingcat.trace.blocks import Entry, Pack, Product
from fallingcat.trace.dots import DotTable
from fallingcat.trace.loops import Operations, run
from fallingcat.trace.lower import product_loops, table_loops
from fallingcat.trace.ops import OPS
from fallingcat.trace.program import Program

FLOATS: Operations = {name: op.evaluate for name, op in OPS.items()}


def interpret(program: Program, vectors: Sequence[Sequence[Any]], operations: Operations = FLOATS) -> list[list[Any]]:
    """Run a program on one vector per input; returns one flat list per output."""
    values: list[Any] = [x for vector in vectors for x in vector]
    if operations is FLOATS:
        values = [float(x) for x in values]
    values += program.constants
    for op, args in program.instructions:
        given = [values[a] for a in args]
        if isinstance(op, str):
            values.append(operations[op](*given))
        elif isinstance(op, (Pack, Entry)):
            values.append(op.evaluate(*given))
        else:
            values.append(_block(op, given, operations))
    results = [[values[i] for i in flat] for flat in program.results]
    for k, (op, _) in enumerate(program.instructions):
        if isinstance(op, DotTable) and op.output is not None:
            results[op.output] = values[program.first + k]
    return results


def _block(op: Product | DotTable, factors: Sequence[list[Any]], operations: Operations) -> list[Any]:
    """The entries of a product of blocks or a table of dot products."""
    result: list[Any] = [0.0] * op.size
    loops = product_loops(op) if isinstance(op, Product) else table_loops(op)
    run(loops, {"A": factors[0], "B": factors[1], "C": result}, operations)
    return result
