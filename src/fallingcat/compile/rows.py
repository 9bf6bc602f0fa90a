"""Rows of states handed to a batched kernel, with the interpreter lock released.

    PyObject *fc_rows(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)

takes start, stop, the input and output arrays (2-d, contiguous, checked) and a workspace array. It first tests the
quaternions of its rows and whether an output shares memory with another array, and answers 1 without computing anything if
one is far from unit length or memory is shared, else 0.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.compile import cpython, native
from fallingcat.compile.call import quaternion_test, square_and_spoil
from fallingcat.compile.lanes import hexadecimal
from fallingcat.task import Input, Output, Task

Array = NDArray[np.float64]


class NativeBatch:
    """The compiled functions for batches of one task."""

    def __init__(self, task: Task, code: native.Code, workspace: int) -> None:
        self._task = task
        self._code = code
        self._size = workspace + 8  # room to align it
        i64, pointer = ctypes.c_int64, ctypes.c_void_p
        self._batch = ctypes.CFUNCTYPE(None, i64, i64, pointer, pointer, pointer)(code.address("fc_batch"))
        self._check = ctypes.CFUNCTYPE(i64, i64, pointer, i64)(code.address("fc_check"))
        self._rows: Any = None
        if cpython.fast_calls_possible():
            self._rows = cpython.builtin("rows", code.address("fc_rows"), None, "")

    def run(self, start: int, stop: int, rows: Sequence[Array], outs: Sequence[Array]) -> bool:
        """Compute rows start..stop-1; False if a quaternion is far from unit length or outputs share memory."""
        workspace = np.empty(self._size)
        if self._rows is not None:
            return bool(self._rows(start, stop, *rows, *outs, workspace) == 0)
        return self._run_by_ctypes(start, stop, rows, outs, workspace)

    def _run_by_ctypes(self, start: int, stop: int, rows: Sequence[Array], outs: Sequence[Array], workspace: Array) -> bool:
        if any(np.may_share_memory(out, other) for k, out in enumerate(outs) for other in (*rows, *outs[:k])):
            return False
        for spec, a in zip(self._task.inputs, rows, strict=True):
            stride = 0 if len(a) == 1 else spec.size
            for at in spec.quaternions:
                if self._check(stop - start, a.ctypes.data + 8 * (start * stride + at), stride):
                    return False
        pointers = (ctypes.c_void_p * (len(rows) + len(outs)))(*[a.ctypes.data for a in (*rows, *outs)])
        strides = (ctypes.c_int64 * max(1, len(rows)))(*[0 if len(a) == 1 else a.shape[1] for a in rows])
        self._batch(start, stop, pointers, strides, (workspace.ctypes.data + 63) & ~63)
        return True


def rows_text(inputs: tuple[Input, ...], outputs: tuple[Output, ...]) -> str:
    """The module text with `fc_rows`."""
    count = len(inputs) + len(outputs)
    lines = [
        "define ptr @fc_rows(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) #1 {",
        "entry:",
        f"  %pointers = alloca [{count} x ptr], align 8",
        f"  %strides = alloca [{max(1, len(inputs))} x i64], align 8",
        "  %start_object = load ptr, ptr %args, align 8",
        "  %start = call i64 @fc_PyLong_AsLongLong(ptr %start_object)",
        "  %stop_at = getelementptr ptr, ptr %args, i64 1",
        "  %stop_object = load ptr, ptr %stop_at, align 8",
        "  %stop = call i64 @fc_PyLong_AsLongLong(ptr %stop_object)",
        "  %states = sub i64 %stop, %start",
    ]
    for j in range(count + 1):
        lines += [
            f"  %slot{j} = getelementptr ptr, ptr %args, i64 {j + 2}",
            f"  %a{j} = load ptr, ptr %slot{j}, align 8",
            f"  %data_at{j} = getelementptr i8, ptr %a{j}, i64 {cpython.DATA}",
            f"  %data{j} = load ptr, ptr %data_at{j}, align 8",
        ]
        if j < count:
            lines.append(f"  %pointer{j} = getelementptr ptr, ptr %pointers, i64 {j}")
            lines.append(f"  store ptr %data{j}, ptr %pointer{j}, align 8")
    for j, spec in enumerate(inputs):
        lines += [
            f"  %dims_at{j} = getelementptr i8, ptr %a{j}, i64 {cpython.DIMENSIONS}",
            f"  %dims{j} = load ptr, ptr %dims_at{j}, align 8",
            f"  %rows{j} = load i64, ptr %dims{j}, align 8",
            f"  %one{j} = icmp eq i64 %rows{j}, 1",
            f"  %stride{j} = select i1 %one{j}, i64 0, i64 {spec.size}",
            f"  %stride_at{j} = getelementptr i64, ptr %strides, i64 {j}",
            f"  store i64 %stride{j}, ptr %stride_at{j}, align 8",
        ]
    shared = _shared_memory(inputs, outputs, lines)
    lines.append("  %thread = call ptr @fc_PyEval_SaveThread()")
    bad = shared
    for j, spec in enumerate(inputs):
        for at in spec.quaternions:
            tag = f"{j}_{at}"
            lines += [
                f"  %skip{tag} = mul i64 %start, %stride{j}",
                f"  %from{tag} = add i64 %skip{tag}, {at}",
                f"  %turn{tag} = getelementptr double, ptr %data{j}, i64 %from{tag}",
                f"  %far{tag} = call i64 @fc_check(i64 %states, ptr %turn{tag}, i64 %stride{j})",
                f"  %bad{tag} = or i64 {bad}, %far{tag}",
            ]
            bad = f"%bad{tag}"
    lines += [
        f"  %refused = icmp ne i64 {bad}, 0",
        "  br i1 %refused, label %end, label %go",
        "go:",
        f"  %ws_number = ptrtoint ptr %data{count} to i64",
        "  %ws_up = add i64 %ws_number, 63",
        "  %ws_aligned = and i64 %ws_up, -64",
        "  %ws = inttoptr i64 %ws_aligned to ptr",
        "  call void @fc_batch(i64 %start, i64 %stop, ptr %pointers, ptr %strides, ptr %ws)",
        "  br label %end",
        "end:",
        "  call void @fc_PyEval_RestoreThread(ptr %thread)",
        f"  %answer = call ptr @fc_PyLong_FromLongLong(i64 {bad})",
        "  ret ptr %answer",
        "}",
    ]
    return _DECLARATIONS + "\n".join(lines)


def _shared_memory(inputs: tuple[Input, ...], outputs: tuple[Output, ...], lines: list[str]) -> str:
    """1 if an output overlaps an input or another output; arrays without entries overlap nothing."""
    sizes = [x.size for x in inputs] + [x.size for x in outputs]
    for j, size in enumerate(sizes):
        if j >= len(inputs):
            lines += [
                f"  %dims_at{j} = getelementptr i8, ptr %a{j}, i64 {cpython.DIMENSIONS}",
                f"  %dims{j} = load ptr, ptr %dims_at{j}, align 8",
                f"  %rows{j} = load i64, ptr %dims{j}, align 8",
            ]
        lines += [
            f"  %begin{j} = ptrtoint ptr %data{j} to i64",
            f"  %length{j} = mul i64 %rows{j}, {8 * size}",
            f"  %end{j} = add i64 %begin{j}, %length{j}",
        ]
    shared = "0"
    for j in range(len(inputs), len(sizes)):
        for k in range(j):
            if sizes[j] and sizes[k]:
                lines += [
                    f"  %left{j}_{k} = icmp ult i64 %begin{j}, %end{k}",
                    f"  %right{j}_{k} = icmp ult i64 %begin{k}, %end{j}",
                    f"  %both{j}_{k} = and i1 %left{j}_{k}, %right{j}_{k}",
                    f"  %wide{j}_{k} = zext i1 %both{j}_{k} to i64",
                    f"  %shared{j}_{k} = or i64 {shared}, %wide{j}_{k}",
                ]
                shared = f"%shared{j}_{k}"
    return shared


_DECLARATIONS = """
declare i64 @fc_PyLong_AsLongLong(ptr)
declare ptr @fc_PyLong_FromLongLong(i64)
declare ptr @fc_PyEval_SaveThread()
declare void @fc_PyEval_RestoreThread(ptr)
"""


def check_text(tolerance: float) -> str:
    """i64 fc_check(i64 rows, ptr quaternions, i64 stride): 1 if any is far from unit length.

    Squared lengths that are not finite pass: they make the result not a number.
    """
    sums = []
    squared = spoilt = hexadecimal(0.0)
    for k in range(4):
        sums += [
            f"  %p{k} = getelementptr double, ptr %row, i64 {k}",
            f"  %x{k} = load double, ptr %p{k}, align 8",
            *square_and_spoil(f"%x{k}", squared, spoilt),
        ]
        squared, spoilt = f"%x{k}t", f"%x{k}u"
    return "\n".join(
        [
            "",
            "define i64 @fc_check(i64 %rows, ptr %quaternions, i64 %stride) #1 {",
            "entry:",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [0, %entry], [%next, %more]",
            "  %left = icmp slt i64 %i, %rows",
            "  br i1 %left, label %test, label %fine",
            "test:",
            "  %at = mul i64 %i, %stride",
            "  %row = getelementptr double, ptr %quaternions, i64 %at",
            *sums,
            *quaternion_test("%", squared, spoilt, tolerance),
            "  br i1 %both, label %more, label %bad",
            "more:",
            "  %next = add i64 %i, 1",
            "  br label %loop",
            "fine:",
            "  ret i64 0",
            "bad:",
            "  ret i64 1",
            "}",
            "",
        ]
    )
