"""A kernel: one task compiled, callable with one state or a batch of them.

The code for one state and the code for batches are compiled when first needed, each kept in the cache under
a key that is known without tracing, so that a second process neither traces nor compiles.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.arguments import QUATERNION_TOLERANCE, Batch, check_out, prepare
from fallingcat.compile import cache, cpython, native
from fallingcat.compile.batch import batch_text
from fallingcat.compile.call import call_text
from fallingcat.compile.schedule import schedule
from fallingcat.compile.single import single_text
from fallingcat.compile.threads import pool, threads
from fallingcat.task import Task
from fallingcat.trace.program import Program, trace

Array = NDArray[np.float64]

MIN_ROWS_PER_THREAD = 64
"""Below this a thread costs more than it brings."""


class Kernel:
    """Machine code for a task. Safe to call from many threads at once."""

    def __init__(self, task: Task, label: str = "") -> None:
        self.task = task
        self.name = label or task.name
        self._lock = threading.RLock()
        self._single: tuple[Any, ...] | None = None
        self._batch: tuple[Any, int] | None = None
        self._keep: list[Any] = []

    @cached_property
    def program(self) -> Program:
        """The traced program; made when first asked for, because a warm start does not need it."""
        return trace(self.task)

    # -----------------------------------------------------------------------------------------------------------------
    # One state

    def entry(self, owner: Any, slow: Callable[..., Any], doc: str = "") -> Any:
        """A built-in function for one state, bound to `owner`, that falls back to `slow`; None where that cannot be."""
        if not cpython.fast_calls_possible():
            return None
        with self._lock:
            code = self._code("single", self._single_module, cpython.symbols())[0]
            bind = ctypes.PYFUNCTYPE(None, *[ctypes.py_object] * 4)(code.address("fc_bind"))
            bind(np.ndarray, np.dtype(np.float64), slow, self.task.results or tuple)
            function, definition = cpython.builtin(self.name, code.address("fc_call"), owner, doc)
            self._keep += [code, definition, slow, self.task.results]
            return function

    def _single_module(self) -> tuple[dict[str, Any], str]:
        program = self.program
        plan = schedule(program, keep_results=False)
        task = self.task
        text = single_text(program, plan, native.host_lanes())
        text += call_text(
            task.inputs, task.outputs, plan.slot_count, QUATERNION_TOLERANCE, several=task.results is not None
        )
        return {"workspace": plan.slot_count, "operations": program.operations}, text

    # -----------------------------------------------------------------------------------------------------------------
    # Batches

    def __call__(self, *values: Any, out: Any = None) -> Any:
        """Any number of states: broadcasting, other dtypes and strides, `out=`."""
        task = self.task
        batch = prepare(task, values)
        results = check_out(task, batch.shape, out)
        targets = _targets(results, batch.arrays if out is not None else ())
        self.run(batch, [t.reshape(batch.count, -1) if t.size else t.reshape(batch.count, 0) for t in targets])
        for result, target in zip(results, targets, strict=True):
            if target is not result:
                result[...] = target
        if task.results is not None:
            return task.results(*results)
        return results[0] if out is not None or results[0].ndim else float(results[0])

    def run(self, batch: Batch, outs: Sequence[Array]) -> None:
        """Compute all rows of a batch into contiguous 2-d arrays."""
        if batch.count == 0:
            return
        rows = batch.direct()
        if rows is not None:
            self._rows(rows, outs, batch.count)
            return
        for where, pieces in batch.chunks():
            self._rows(pieces, [o[where] for o in outs], where.stop - where.start)

    def _rows(self, rows: Sequence[Array], outs: Sequence[Array], count: int) -> None:
        function, workspace = self._batch_function()
        pointers = (ctypes.c_void_p * (len(rows) + len(outs)))(*(a.ctypes.data for a in (*rows, *outs)))
        strides = (ctypes.c_int64 * max(1, len(rows)))(*(0 if len(a) == 1 else a.shape[1] for a in rows))
        width = native.host_lanes().width

        def part(start: int, stop: int) -> None:
            space = np.empty(workspace * width + 8)
            function(start, stop, pointers, strides, (space.ctypes.data + 63) & ~63)

        workers = min(threads(), max(1, count // MIN_ROWS_PER_THREAD))
        if workers == 1:
            part(0, count)
            return
        step = -(-count // workers // width) * width
        edges = [*range(0, count, step), count]
        jobs = [pool(workers).submit(part, a, b) for a, b in zip(edges[1:-1], edges[2:], strict=True)]
        try:
            part(edges[0], edges[1])
        finally:
            for job in jobs:
                job.result()

    def _batch_function(self) -> tuple[Any, int]:
        found = self._batch
        if found is None:
            with self._lock:
                code, facts = self._code("batch", self._batch_module, {})
                # CDLL-style: the interpreter lock is released while it runs
                kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
                found = self._batch = (kind(code.address("fc_batch")), int(facts["workspace"]))
                self._keep.append(code)
        return found

    def _batch_module(self) -> tuple[dict[str, Any], str]:
        program = self.program
        plan = schedule(program, keep_results=True)
        facts = {"workspace": program.input_count + plan.slot_count, "operations": program.operations}
        return facts, batch_text(program, plan, native.host_lanes())

    # -----------------------------------------------------------------------------------------------------------------

    def _code(
        self, kind: str, module: Callable[[], tuple[dict[str, Any], str]], symbols: dict[str, int]
    ) -> tuple[native.Code, dict[str, Any]]:
        """Machine code from the cache, or compiled now and kept."""
        name = cache.key(f"{kind}\0{self.task.key}") if self.task.key else ""
        found = cache.load(name) if name else None
        if found is not None:
            facts, code = found
        else:
            facts, text = module()
            code = native.compile_object(text)
            if name:
                cache.save(name, facts, code)
        return native.Code(code, symbols), facts

    @cached_property
    def operations(self) -> int:
        """Floating-point operations for one state."""
        return self.program.operations


def _targets(results: Sequence[Array], inputs: Sequence[NDArray[Any]]) -> list[Array]:
    """Where to compute: the result itself, unless it is not contiguous or shares memory with an argument."""
    targets = []
    for k, result in enumerate(results):
        others = [*inputs, *results[:k]]
        plain = result.flags.c_contiguous and not any(np.may_share_memory(result, a) for a in others)
        targets.append(result if plain else np.empty(result.shape))
    return targets
