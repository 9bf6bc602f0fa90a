"""Forward mode over a traced program: from tangents of its inputs to tangents of its results, on any scalar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fallingcat import scalar
from fallingcat.scalar import Scalar
from fallingcat.trace.blocks import Entry, Pack, Product
from fallingcat.trace.dots import DotTable
from fallingcat.trace.partials import PARTIALS, is_nan, is_zero
from fallingcat.trace.replay import Replay, factors, flat, is_copy, rows


def push_forward(run: Replay, tangents: Sequence[Scalar]) -> list[Sequence[Scalar]]:
    """The tangent of every output, flat, from the tangent of every input number."""
    program = run.program
    dots: list[Any] = [*tangents, *[0.0] * len(program.constants)]
    outputs: list[Any] = [None] * len(program.outputs)
    for k, (op, args) in enumerate(program.instructions):
        x = run.arguments[k]
        dx = [dots[a] for a in args]
        dots.append(_operation(op, run.values[program.first + k], x, dx) if isinstance(op, str) else _block(op, x, dx))
        if isinstance(op, DotTable) and op.output is not None:
            outputs[op.output] = dots[-1]
    return [
        whole if whole is not None else [dots[value] for value in results]
        for whole, results in zip(outputs, program.results, strict=True)
    ]


def _operation(op: str, value: Scalar, x: list[Scalar], dx: list[Scalar]) -> Scalar:
    """The tangent of an operation: the sum over its arguments of derivative times tangent."""
    if all(map(is_zero, dx)):
        return 0.0
    if op == "select":
        return scalar.where_less(x[0], x[1], dx[2], math.nan if is_nan(x[3]) else dx[3])
    total: Scalar = 0.0
    for slope, tangent in zip(PARTIALS[op](1.0, value, *x), dx, strict=True):
        if not is_zero(slope) and not is_zero(tangent):
            total = total + slope * tangent
    return total


def _block(op: Any, x: list[Any], dx: list[Any]) -> Any:
    if isinstance(op, Pack):
        return dx
    if isinstance(op, Entry):
        return dx[0][op.index]
    if isinstance(op, Product):
        (A, B), (dA, dB) = factors(op, *x), factors(op, *dx)
        first, second = (flat(scalar.matmul(*pair, negate=op.negate)) for pair in ((dA, B), (A, dB)))
        return [a + b for a, b in zip(first, second, strict=True)]
    if is_copy(op, x[0]):
        return dx[1]
    # dA . B + A . dB is one table, with both left factors concatenated and both right factors side by side
    A, dA, B, dB = list(x[0]), list(dx[0]), rows(op, x[1]), rows(op, dx[1])
    both = [[*b, *db] for b, db in zip(B, dB, strict=True)]
    jobs = [job._replace(left=job.left + len(A)) for job in op.jobs]
    jobs += [job._replace(right=job.right + op.right_width) for job in op.jobs]
    return _mirror(op, scalar.dots([*A, *dA], both, jobs, op.size, op.slab, True))


def _mirror(op: DotTable, block: Any) -> Any:
    """The block with the entries above the diagonal of a symmetric matrix copied below it, as tables that add do not mirror."""
    if not op.side:
        return block
    found = list(block)
    written = {job.place + c * job.step for job in op.jobs for c in range(job.columns)}
    for place in written:
        found[place % op.side * op.side + place // op.side] = found[place]
    return found
