"""Runs a task state by state on Python floats: slow and simple, the reference for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fallingcat.arrays.arguments import answer, check_out, prepare
from fallingcat.arrays.singular_states import check_results
from fallingcat.task import Task


def run(task: Task, values: Sequence[Any], out: Any = None) -> Any:
    """The results of a task for any batch of states."""
    batch = prepare(task, values)
    results = check_out(task, batch.shape, out)
    flats = [r.reshape(batch.count, o.size) for r, o in zip(results, task.outputs, strict=True)]
    for where, pieces in batch.chunks():
        for row in range(where.stop - where.start):
            columns = task.flat([piece[row].tolist() for piece in pieces])
            for flat, column in zip(flats, columns, strict=True):
                flat[where.start + row] = column
    for result, flat in zip(results, flats, strict=True):
        if not result.flags.c_contiguous:  # then reshape made a copy
            result[...] = flat.reshape(result.shape)
    check_results(task, batch.arrays, results, batch.shape)
    return answer(task, results, out)
