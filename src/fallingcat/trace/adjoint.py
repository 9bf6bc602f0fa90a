"""Reverse mode over a traced program: from cotangents of its results to cotangents of its inputs.

Values are visited from the last to the first; each adds its cotangent, times its partial derivatives, to those of its arguments.
This works on any scalar. On symbols it makes another program, in which products of blocks and listed dot products remain loops:
    Y = A B:                                  A_bar = Y_bar B^T,   B_bar = A^T Y_bar
    y[place + c step] = A[left:] . B[:, right + c]:   A_bar[left + m] += sum_c y_bar[place + c step] B[m, right + c]
                                                      B_bar[m, right + c] += A[left + m] y_bar[place + c step]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fallingcat import scalar
from fallingcat.scalar import Dots, Scalar
from fallingcat.trace.blocks import Entry, Pack, Product
from fallingcat.trace.dots import DotTable
from fallingcat.trace.partials import PARTIALS, is_zero
from fallingcat.trace.replay import Replay, factors, flat, is_copy, rows


def pull_back(run: Replay, cotangents: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """The cotangent of every input number, from one flat cotangent per output."""
    program = run.program
    bars = _Bars(run.values)
    for results, cotangent in zip(program.results, cotangents, strict=True):
        for value, y in zip(results, cotangent, strict=False):
            bars.add(value, y)
    for k in reversed(range(len(program.instructions))):
        op, args = program.instructions[k]
        value, x = program.first + k, run.arguments[k]
        y = bars.taken(value)
        if isinstance(op, DotTable) and op.output is not None:
            y = cotangents[op.output]
        if is_zero(y):
            continue
        if isinstance(op, str):
            for a, bar in zip(args, PARTIALS[op](y, run.values[value], *x), strict=True):
                bars.add(a, bar)
        elif isinstance(op, Pack):
            for a, bar in zip(args, y, strict=True):
                bars.add(a, bar)
        elif isinstance(op, Entry):
            bars.add_block(args[0], [(op.index, y)])
        elif isinstance(op, Product):
            _product(op, args, x, list(y), bars)
        elif is_copy(op, x[0]):
            bars.add_block(args[1], enumerate(y))
        else:
            _dot_table(op, args, x, list(y), bars)
    return [0.0 if bars.of[a] is None else bars.of[a] for a in range(program.input_count)]


class _Bars:
    """The cotangents of all values while they are accumulated: None if there is no term yet, a list for a block."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values
        self.of: list[Any] = [None] * len(values)

    def add(self, value: int, bar: Scalar | None) -> None:
        if not is_zero(bar):
            self.of[value] = bar if self.of[value] is None else self.of[value] + bar

    def add_block(self, value: int, entries: Iterable[tuple[int, Scalar]]) -> None:
        block = self.of[value]
        if block is None:
            block = self.of[value] = [0.0] * len(self._values[value])
        for k, bar in entries:
            if not is_zero(bar):
                block[k] = bar if is_zero(block[k]) else block[k] + bar

    def taken(self, value: int) -> Any:
        """The cotangent of a value once all of its terms have been added."""
        bar, self.of[value] = self.of[value], None
        return bar


def _product(op: Product, args: tuple[int, ...], x: list[Any], y: list[Scalar], bars: _Bars) -> None:
    A, B = factors(op, *x)
    Y = [y[i * op.columns : (i + 1) * op.columns] for i in range(op.rows)]
    A_bar = scalar.matmul(Y, _transposed(B), negate=op.negate)
    B_bar = scalar.matmul(_transposed(A), Y, negate=op.negate)
    left = [(op.first_row + i) * op.left_width + k for i in range(op.rows) for k in op.inner]
    right = [m * op.right_width + op.first_column + j for m in range(len(op.inner)) for j in range(op.columns)]
    bars.add_block(args[0], zip(left, flat(A_bar), strict=True))
    bars.add_block(args[1], zip(right, flat(B_bar), strict=True))


def _dot_table(op: DotTable, args: tuple[int, ...], x: list[Any], y: list[Scalar], bars: _Bars) -> None:
    """Add the cotangents of both factors, one table each. They read the jobs' cotangents side by side; zero ones are skipped."""
    side_by_side: list[Scalar] = []
    jobs: list[tuple[Dots, int]] = []
    for job in op.jobs:
        bar = [_mirrored(op, y, job.place + c * job.step) for c in range(job.columns)]
        if not all(map(is_zero, bar)):
            jobs.append((job, len(side_by_side)))
            side_by_side += bar
    if not jobs:
        return
    A, B = x[0], rows(op, x[1])
    bars.add_block(args[0], enumerate(_left_bar(op, jobs, side_by_side, B, len(A))))
    bars.add_block(args[1], enumerate(_right_bar(op, jobs, side_by_side, A)))


def _left_bar(op: DotTable, jobs: list[tuple[Dots, int]], y: list[Scalar], B: list[list[Scalar]], size: int) -> Sequence[Scalar]:
    """The cotangent of A. Jobs over the same columns of B share these, transposed, in the right factor of the table."""
    stretches: dict[tuple[int, int], int] = {}
    for job, _ in jobs:
        stretches.setdefault((job.right, job.columns), len(stretches))
    longest = max(columns for _, columns in stretches)
    turned: list[list[Scalar]] = [[0.0] * (op.inner * len(stretches)) for _ in range(longest)]
    for (right, columns), number in stretches.items():
        for c in range(columns):
            turned[c][op.inner * number : op.inner * (number + 1)] = [row[right + c] for row in B]
    table = [
        Dots(at, op.inner * stretches[job.right, job.columns], op.terms(job), job.left, 1, job.columns) for job, at in jobs
    ]  # fmt: skip
    return scalar.dots(y, turned, table, size, 0, True)


def _right_bar(op: DotTable, jobs: list[tuple[Dots, int]], y: list[Scalar], A: Sequence[Scalar]) -> Sequence[Scalar]:
    """The cotangent of B, flat: for every term, each job adds a number of A times its row of cotangents to a row of B."""
    width = op.right_width
    table = [Dots(job.left + m, at, job.columns, m * width + job.right, 1, 1) for job, at in jobs for m in range(op.terms(job))]
    return scalar.dots(A, [y], table, op.inner * width, 0, True)


def _mirrored(op: DotTable, y: list[Scalar], place: int) -> Scalar:
    """The cotangent of the number that a job writes at a place and, in a symmetric matrix, at its mirror image."""
    if not op.side or place % op.side == place // op.side:
        return y[place]
    return y[place] + y[place % op.side * op.side + place // op.side]


def _transposed(A: list[list[Scalar]]) -> list[list[Scalar]]:
    return [list(column) for column in zip(*A, strict=True)]
