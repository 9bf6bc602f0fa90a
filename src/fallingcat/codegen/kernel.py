"""A kernel: one task compiled, callable with one state or a batch of them.

The code for one state and the code for batches are compiled when first needed, each kept in the cache under
a key that is known without tracing, so that a second process neither traces nor compiles.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.arrays import eager
from fallingcat.arrays.arguments import QUATERNION_TOLERANCE, Batch, answer, check_out, check_quaternions, in_order, prepare
from fallingcat.arrays.memory import RESULTS
from fallingcat.arrays.singular_states import check_batch, check_results, check_state
from fallingcat.codegen import cache, cpython, modules, native
from fallingcat.codegen.batch import batch_core, batch_text, layout
from fallingcat.codegen.call import call_text
from fallingcat.codegen.modules import Module
from fallingcat.codegen.rows import NativeBatch, check_text, rows_text
from fallingcat.codegen.schedule import Schedule, schedule
from fallingcat.codegen.single import single_core, single_text
from fallingcat.codegen.threads import run_all, threads
from fallingcat.task import Task
from fallingcat.trace.gradients import check_scalar, jacobian_task, jvp_task, vjp_task
from fallingcat.trace.program import Program, trace

Array = NDArray[np.float64]

MIN_ROWS_PER_THREAD = 64
"""With fewer rows, another thread costs more time than it saves."""

_making = threading.RLock()
"""Held while a kernel is traced or compiled. A fork waits for it, so that no child inherits a half-made kernel."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_making.acquire, after_in_parent=_making.release, after_in_child=_making.release)


class Kernel:
    """Machine code for a task. Safe to call from many threads at once."""

    def __init__(self, task: Task, program: Program | None = None) -> None:
        """`program`: if the task has been traced already."""
        self.task = task
        self._program: Program | None = program
        self._entry: Any = None
        self._native: tuple[int, tuple[Any, ...]] | None = None
        self._batch: NativeBatch | None = None
        self._derivatives: dict[tuple[str, bool], Kernel] = {}
        self._derived_from: tuple[Kernel, str, bool] | None = None

    def __reduce__(self) -> Any:
        return (Kernel, (self.task,)) if self._derived_from is None else (_derivative, self._derived_from)

    @property
    def program(self) -> Program:
        """The traced program; made when first asked for, because a warm start does not need it."""
        if self._program is None:
            with _making:
                if self._program is None:
                    self._program = trace(self.task)
        return self._program

    def eager(self, *values: Any, out: Any = None) -> Any:
        """The same results, state by state on Python floats, without compiling: slow, but at once, however large the robot.

        >>> fc.load("cat").kernel("mass_matrix").eager(q)
        """
        return eager.run(self.task, values, out)

    # -----------------------------------------------------------------------------------------------------------------
    # Derivatives, compiled likewise

    def vjp(self, ambient: bool = False) -> Kernel:
        """(inputs, one cotangent per output, flat) -> one cotangent per input, by reverse mode over the program.

        The cotangent of a configuration is left-trivialized (nv); `ambient`: by its entries (nq), along the sphere of each
        quaternion. The named tuple of the results has the names of the inputs.
        """
        return self._derivative("vjp", ambient)

    def jvp(self, ambient: bool = False) -> Kernel:
        """(inputs, one tangent per input) -> one tangent per output, by forward mode over the program."""
        return self._derivative("jvp", ambient)

    def jacobian(self, ambient: bool = False) -> Kernel:
        """inputs -> the derivative of every output by every input; the last axis is that of the tangent."""
        return self._derivative("jacobian", ambient)

    def hessian(self) -> Kernel:
        """inputs -> the derivative of the jacobian of a function with one number as its result."""
        check_scalar(self.task)
        return self.jacobian().jacobian()

    def _derivative(self, kind: str, ambient: bool) -> Kernel:
        found = self._derivatives.get((kind, ambient))
        if found is None:
            made = Kernel(DERIVATIVES[kind](self, ambient))
            made._derived_from = self, kind, ambient
            found = self._derivatives.setdefault((kind, ambient), made)
        return found

    # -----------------------------------------------------------------------------------------------------------------
    # One state

    @property
    def entry(self) -> Any:
        """A built-in function: machine code for one state, and this kernel for everything else."""
        if self._entry is None:
            if not cpython.fast_calls_possible():
                return self
            with _making:
                if self._entry is None:
                    self._native = self._make_native()
                    entry = cpython.builtin(self.task.name, self, type(self).__call__.__doc__ or "", __name__)
                    self.serve(entry)
                    self._entry = entry
        return self._entry

    @property
    def entry_made(self) -> bool:
        """Does the code for one state exist in this process?"""
        return self._entry is not None

    def serve(self, function: Any) -> None:
        """Let a built-in function run the code for one state, if there is any."""
        if self._native is not None:
            address, keeps = self._native
            cpython.point(function, address, keeps)

    def _make_native(self) -> tuple[int, tuple[Any, ...]]:
        """The address of the code for one state, and the objects that must stay alive with it."""
        code, _ = self._code("single", self._single_module, cpython.symbols())
        names = [sys.intern(i.name) for i in self.task.inputs]
        # Without `evaluate`, which for a derivative refers back to this kernel: the collector does not see what the code holds.
        check = partial(check_state, replace(self.task, evaluate=len))
        bound = (np.ndarray, np.dtype(np.float64), tuple, self.task.results or tuple, check, None, sys.intern("out"), *names)
        ctypes.PYFUNCTYPE(None, *[ctypes.py_object] * len(bound))(code.address("fc_bind"))(*bound)
        return code.address("fc_call"), (code, bound)

    def single(self) -> tuple[native.Code, int]:
        """Machine code with `void fc_single(inputs..., outputs..., workspace)`, and the doubles of its workspace.

        For callers other than Python; they keep the code alive, and align the workspace to 64 bytes.
        """
        with _making:
            code, facts = self._code("single", self._single_module, cpython.symbols())
        return code, int(facts["workspace"])

    def _single_module(self) -> Module:
        plan = self._schedule(keep_results=False)
        core = single_core(self.program, plan, native.host_lanes())
        text = single_text(self.program, plan, native.host_lanes(), core)
        text += call_text(self.task, plan.slot_count, QUATERNION_TOLERANCE)
        return Module({"workspace": plan.slot_count, "operations": self.operations}, text, core, plan.core_operations)

    # -----------------------------------------------------------------------------------------------------------------
    # Batches

    def __call__(self, *values: Any, out: Any = None, **named: Any) -> Any:
        """Any number of states: broadcasting, other dtypes and strides, arguments by name, `out=`."""
        task = self.task
        if named:
            values = in_order(task, values, named)
        outs = self._contiguous_batch(values, out)
        if outs is not None:
            return task.results(*outs) if task.results is not None else outs[0]
        batch = prepare(task, values, check=False)
        if not batch.shape and cpython.fast_calls_possible():
            return self._one_state(batch.arrays, out)
        results = check_out(task, batch.shape, out)
        targets = results if out is None else _targets(results, batch.arrays)
        if not self._run(batch, [t.reshape(batch.count, o.size) for t, o in zip(targets, task.outputs, strict=True)]):
            check_quaternions(task, batch.arrays)  # raises, and says which
        for result, target in zip(results, targets, strict=True):
            if target is not result:
                result[...] = target
        check_results(task, batch.arrays, targets, batch.shape)
        return answer(task, results, out)

    def _one_state(self, arrays: Sequence[NDArray[Any]], out: Any) -> Any:
        """Compute one state by its own code. It is made even for a call with `out=`, so that later such calls run it directly."""
        task = self.task
        results = () if out is None else check_out(task, (), out)
        check_quaternions(task, arrays)
        found = self.entry(*map(_contiguous_copy, arrays))
        if out is None:
            return found
        for result, x in zip(results, found if task.results is not None else (found,), strict=True):
            result[...] = x
        return answer(task, results, out)

    def _contiguous_batch(self, values: tuple[Any, ...], out: Any) -> tuple[Array, ...] | None:
        """The results by one native call; None if some argument is neither a contiguous batch nor one vector for the whole
        batch, or if several threads are in use.

        The first batch takes the general path, so that wrong arguments are found before anything is compiled.
        """
        if self._batch is None or self._batch.many is None or threads() != 1 or len(values) != len(self.task.inputs):
            return None
        if out is None:
            first = values[0] if values else None
            if type(first) is np.ndarray and first.ndim == 1:  # one vector for the whole batch
                first = next((x for x in values if type(x) is np.ndarray and x.ndim == 2), None)
            if type(first) is not np.ndarray or first.ndim != 2:
                return None
            out = tuple([RESULTS.empty((len(first), *o.shape)) for o in self.task.outputs])
        elif not isinstance(out, tuple):
            out = (out,)
        if len(out) != len(self.task.outputs):
            return None
        answer = self._batch.many(*values, *out)
        if answer == 2:  # some of the results are NaN
            check_batch(self.task, values, out[0].shape[:1], out)
        return None if answer == 1 else out

    def _run(self, batch: Batch, outs: list[Array]) -> bool:
        """Compute all rows of a batch into contiguous 2-d arrays; False if a quaternion is far from unit length."""
        if batch.count == 0:
            return True
        if batch.rows is not None:
            return self._rows(batch.rows, outs, batch.count)
        return all(self._rows(pieces, [o[where] for o in outs], where.stop - where.start) for where, pieces in batch.chunks())

    def _rows(self, rows: Sequence[Array], outs: Sequence[Array], count: int) -> bool:
        batch = self._native_batch()
        workers = min(threads(), max(1, count // MIN_ROWS_PER_THREAD))
        if workers == 1:
            return batch.run(0, count, rows, outs)
        width = native.host_lanes().width
        step = -(-count // workers // width) * width
        edges = [*range(0, count, step), count]
        return all(run_all([partial(batch.run, a, b, rows, outs) for a, b in pairwise(edges)]))

    def _native_batch(self) -> NativeBatch:
        if self._batch is None:
            with _making:
                if self._batch is None:
                    code, facts = self._code("batch", self._batch_module, cpython.symbols())
                    self._batch = NativeBatch(self.task, code, int(facts["workspace"]))
        return self._batch

    def batched(self) -> tuple[native.Code, int]:
        """Machine code with `void fc_batch(start, stop, pointers, strides, workspace)`, likewise; see `batch.py`."""
        with _making:
            code, facts = self._code("batch", self._batch_module, cpython.symbols())
        return code, int(facts["workspace"])

    def _batch_module(self) -> Module:
        program, lanes = self.program, native.host_lanes()
        plan = self._schedule(keep_results=True)
        workspace = layout(program, plan, lanes).total
        core = batch_core(program, plan, lanes)
        text = batch_text(program, plan, lanes, core)
        text += check_text(QUATERNION_TOLERANCE) + rows_text(self.task, workspace)
        return Module({"workspace": workspace, "operations": self.operations}, text, core, plan.core_operations)

    # -----------------------------------------------------------------------------------------------------------------

    def _schedule(self, keep_results: bool) -> Schedule:
        """The schedule of the program. A task with a key has its core apart, because other tasks may have the same core."""
        return schedule(self.program, keep_results, apart=bool(self.task.key))

    def _code(self, kind: str, module: Callable[[], Module], symbols: dict[str, int]) -> tuple[native.Code, dict[str, Any]]:
        """Machine code from the cache, or compiled now and kept."""
        # A user-defined function has no key: it is traced first, and its program is the key.
        objects = modules.made(self._cache_name(kind), self.task.name, module, for_batches=kind == "batch")
        return modules.loaded(objects, symbols), objects.facts

    def _cache_name(self, kind: str) -> str:
        task = self.task
        shape = f"{task.inputs}\0{task.outputs}\0{task.results is None}\0{task.explain is None}"
        return cache.key(f"{kind}\0{task.key or self.program}\0{shape}")

    def key(self) -> str:
        """A digest of what the kernel computes, the same in every process and on every processor."""
        task = self.task
        text = f"{task.key or self.program}\0{task.name}\0{task.inputs}\0{task.outputs}\0{task.results is None}"
        return hashlib.sha256(text.encode()).hexdigest()

    def prepare(self, single: bool = True, batch: bool = False) -> None:
        """Have the code for one state, for batches, or for both, before the first call."""
        if single:
            _ = self.entry
        if batch:
            self._native_batch()

    def is_compiled(self, single: bool = True, batch: bool = False) -> bool:
        """Is that code compiled already, in this process or in the cache?"""
        kinds = [("single", self._entry)] * single + [("batch", self._batch)] * batch
        return all(made is not None or modules.load(self._cache_name(kind)) is not None for kind, made in kinds)

    @property
    def operations(self) -> int:
        """Floating-point operations for one state."""
        return self.program.operations


DERIVATIVES = {"vjp": vjp_task, "jvp": jvp_task, "jacobian": jacobian_task}


def _derivative(source: Kernel, kind: str, ambient: bool) -> Kernel:
    return source._derivative(kind, ambient)


def _contiguous_copy(a: NDArray[Any]) -> Array:
    """A contiguous copy with the canonical float64 dtype, as the fast call requires it."""
    plain = np.empty(a.shape)
    plain[...] = a
    return plain


def _targets(results: Sequence[Array], inputs: Sequence[NDArray[Any]]) -> list[Array]:
    """The arrays to compute into: each result, or a new array if it is not contiguous and aligned or shares memory."""
    targets = []
    for k, result in enumerate(results):
        others = [*inputs, *results[:k]]
        dense = result.flags.c_contiguous and result.flags.aligned
        plain = dense and not any(np.may_share_memory(result, a) for a in others)
        targets.append(result if plain else np.empty(result.shape))
    return targets
