"""Runs a traced program again, on any scalar, and keeps all values, from which its derivatives are computed.

Blocks are flat lists, or blocks again if the scalars are symbols: products and listed dot products remain loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fallingcat import scalar
from fallingcat.scalar import Scalar
from fallingcat.trace.blocks import Entry, Pack, Product
from fallingcat.trace.dots import DotTable
from fallingcat.trace.program import Program


class Replay:
    """All values of a program, ready to be differentiated.

    A value that is used by choices only (`select`) must not give NaN where it is not chosen: there the divisor zero, or the root
    of a negative number, is replaced, so that zero times its derivative is zero.
    """

    def __init__(self, program: Program, inputs: Sequence[Scalar]) -> None:
        self.program = program
        self.values: list[Any] = [*inputs, *program.constants]
        """All values: inputs, constants, and the results of the instructions."""
        self.arguments: list[list[Any]] = []
        """The arguments of every instruction."""
        harmless = chosen_from(program)
        for k, (op, args) in enumerate(program.instructions, start=program.first):
            x = [self.values[a] for a in args]
            if k in harmless and op == "div":
                x[1] = _not_zero(x[1])
            elif k in harmless and op == "sqrt":
                x[0] = scalar.where_less(x[0], 0.0, 0.0, x[0])
            self.arguments.append(x)
            self.values.append(SCALARS[op](*x) if isinstance(op, str) else _block(op, x))


SCALARS: dict[str, Callable[..., Scalar]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
    "sqrt": scalar.sqrt,
    "sin": scalar.sin,
    "cos": scalar.cos,
    "atan2": scalar.atan2,
    "select": scalar.where_less,
    "taint": lambda a: 0.0 * a,
}


def _block(op: Any, x: list[Any]) -> Any:
    if isinstance(op, Pack):
        return x
    if isinstance(op, Entry):
        return x[0][op.index]
    if isinstance(op, Product):
        return flat(scalar.matmul(*factors(op, *x), negate=op.negate))
    if op.output is not None:
        return None  # it is an output, and no other value uses it
    return scalar.dots(x[0], rows(op, x[1]), op.jobs, op.size, op.slab, op.add, op.side)


def factors(op: Product, a: Sequence[Scalar], b: Sequence[Scalar]) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """The parts of two blocks that a product multiplies."""
    rows = range(op.first_row, op.first_row + op.rows)
    columns = range(op.first_column, op.first_column + op.columns)
    left = [[a[i * op.left_width + k] for k in op.inner] for i in rows]
    right = [[b[k * op.right_width + j] for j in columns] for k in range(len(op.inner))]
    return left, right


def rows(op: DotTable, b: Sequence[Scalar]) -> list[list[Scalar]]:
    """The right factor of listed dot products as a matrix."""
    flat_right = list(b)
    return [flat_right[k * op.right_width : (k + 1) * op.right_width] for k in range(op.inner)]


def is_copy(op: DotTable, left: Sequence[Scalar]) -> bool:
    """Is the table an output that copies a block (its left factor is the number one)? See `program.assemble`."""
    one = len(left) == 1 and type(left[0]) is float and left[0] == 1.0
    return op.output is not None and one and all((job.left, job.right, job.step) == (0, job.place, 1) for job in op.jobs)


def flat(matrix: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    return [x for row in matrix for x in row]


def chosen_from(program: Program) -> set[int]:
    """Values that reach the results only through a choice (`select`), so that they may be anything where they are not chosen."""
    needed = {value for results in program.results for value in results}
    for k, (op, args) in reversed([*enumerate(program.instructions, start=program.first)]):
        if k in needed or (isinstance(op, DotTable) and op.output is not None):
            needed.update(args[:2] if op == "select" else args)
    return {k for k in range(program.first, program.first + len(program.instructions)) if k not in needed}


def _not_zero(x: Scalar) -> Scalar:
    """x, or 1 where it is zero or NaN."""
    return scalar.where_less(x, 0.0, x, scalar.where_less(0.0, x, x, 1.0))
