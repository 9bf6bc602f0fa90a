"""Rows of states handed to a batched kernel, with the interpreter lock released.

    PyObject *fc_many(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
    PyObject *fc_rows(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)

`fc_many` takes the arguments of a user as they come, inputs and then outputs, and does all of them if everything is a plain
batch; `fc_rows` takes start, stop, arrays that were checked before (2-d, contiguous; an input of one row is repeated) and a
workspace array, and does one thread's share. Both first test the quaternions and whether an output shares memory with another
array. They answer 0, or 1 without having computed anything; then it is for Python to convert, to check and to explain.
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

ALIGNMENT = 64
"""Bytes, of the workspace: a cache line."""


class NativeBatch:
    """The compiled functions for batches of one task."""

    def __init__(self, task: Task, code: native.Code, workspace: int) -> None:
        self._task = task
        self._code = code
        self._size = workspace + ALIGNMENT // 8
        i64, pointer = ctypes.c_int64, ctypes.c_void_p
        self._batch = ctypes.CFUNCTYPE(None, i64, i64, pointer, pointer, pointer)(code.address("fc_batch"))
        self._check = ctypes.CFUNCTYPE(i64, i64, pointer, i64)(code.address("fc_check"))
        self._rows: Any = None
        self.many: Any = None
        """(inputs and outputs) -> 0, or 1 if they are not a plain batch; None where calls of this kind are not possible."""
        if cpython.fast_calls_possible():
            bind = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.py_object)(code.address("fc_bind"))
            bind(np.ndarray, np.dtype(np.float64))
            self._rows = cpython.builtin("rows", code.address("fc_rows"), None, "", __name__, (code,))
            if task.inputs:  # without them there are no rows to count
                self.many = cpython.builtin("many", code.address("fc_many"), None, "", __name__, (code,))

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
        self._batch(start, stop, pointers, strides, (workspace.ctypes.data + ALIGNMENT - 1) & -ALIGNMENT)
        return True


def rows_text(inputs: tuple[Input, ...], outputs: tuple[Output, ...], workspace: int) -> str:
    """The module text with `fc_many`, `fc_rows` and the `fc_bind` that `fc_many` needs."""
    return "\n".join([_DECLARATIONS, _guarded(inputs, outputs), _rows(inputs, outputs), _many(inputs, outputs, workspace)])


_DECLARATIONS = """
@fc_array_type = internal global ptr null, align 8
@fc_float64 = internal global ptr null, align 8
declare i64 @fc_PyLong_AsLongLong(ptr)
declare ptr @fc_PyLong_FromLongLong(i64)
declare ptr @fc_PyEval_SaveThread()
declare void @fc_PyEval_RestoreThread(ptr)
declare ptr @fc_PyMem_RawMalloc(i64)
declare void @fc_PyMem_RawFree(ptr)
declare ptr @fc_PyErr_NoMemory()
define void @fc_bind(ptr %array_type, ptr %float64) {
  store ptr %array_type, ptr @fc_array_type, align 8
  store ptr %float64, ptr @fc_float64, align 8
  ret void
}"""


def _function(name: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f"define ptr @{name}(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) #1 {{\nentry:\n{body}\n}}"


def _tables(inputs: tuple[Input, ...], outputs: tuple[Output, ...]) -> list[str]:
    """Room for the addresses of all arrays and the distances between the rows of the inputs."""
    return [
        f"  %pointers = alloca [{len(inputs) + len(outputs)} x ptr], align 8",
        f"  %strides = alloca [{max(1, len(inputs))} x i64], align 8",
    ]


def _array(j: int, slot: int) -> list[str]:
    """%a{j}: an argument."""
    return [f"  %slot{j} = getelementptr ptr, ptr %args, i64 {slot}", f"  %a{j} = load ptr, ptr %slot{j}, align 8"]


def _field(j: int, name: str, offset: int, type_: str = "ptr") -> list[str]:
    """%{name}{j}: a field of an array."""
    return [
        f"  %{name}_at{j} = getelementptr i8, ptr %a{j}, i64 {offset}",
        f"  %{name}{j} = load {type_}, ptr %{name}_at{j}, align 8",
    ]


def _put(j: int, table: str, type_: str, value: str) -> list[str]:
    """table[j] = value."""
    where = f"%{table}_at{j}"
    return [f"  {where} = getelementptr {type_}, ptr %{table}, i64 {j}", f"  store {type_} {value}, ptr {where}, align 8"]


def _rows(inputs: tuple[Input, ...], outputs: tuple[Output, ...]) -> str:
    count = len(inputs) + len(outputs)
    lines = [
        *_tables(inputs, outputs),
        "  %start_object = load ptr, ptr %args, align 8",
        "  %start = call i64 @fc_PyLong_AsLongLong(ptr %start_object)",
        "  %stop_at = getelementptr ptr, ptr %args, i64 1",
        "  %stop_object = load ptr, ptr %stop_at, align 8",
        "  %stop = call i64 @fc_PyLong_AsLongLong(ptr %stop_object)",
    ]
    for j in range(count):
        lines += [*_array(j, j + 2), *_field(j, "data", cpython.DATA), *_put(j, "pointers", "ptr", f"%data{j}")]
        lines += [*_field(j, "dims", cpython.DIMENSIONS), f"  %rows{j} = load i64, ptr %dims{j}, align 8"]
    for j, spec in enumerate(inputs):
        lines += [
            f"  %one{j} = icmp eq i64 %rows{j}, 1",
            f"  %stride{j} = select i1 %one{j}, i64 0, i64 {spec.size}",
            *_put(j, "strides", "i64", f"%stride{j}"),
        ]
    lines += [
        *_array(count, count + 2),
        *_field(count, "data", cpython.DATA),
        f"  %bad = call i64 @fc_guarded(i64 %start, i64 %stop, i64 %rows{len(inputs)}, "
        f"ptr %pointers, ptr %strides, ptr %data{count})",
        "  %answer = call ptr @fc_PyLong_FromLongLong(i64 %bad)",
        "  ret ptr %answer",
    ]
    return _function("fc_rows", lines)


def _many(inputs: tuple[Input, ...], outputs: tuple[Output, ...], workspace: int) -> str:
    count = len(inputs) + len(outputs)
    dense = cpython.C_CONTIGUOUS | cpython.ALIGNED
    shapes = [(i.size,) for i in inputs] + [o.shape for o in outputs]
    lines = [
        *_tables(inputs, outputs),
        f"  %enough = icmp eq i64 %nargs, {count}",
        "  %array_type = load ptr, ptr @fc_array_type, align 8",
        "  %float64 = load ptr, ptr @fc_float64, align 8",
        "  br i1 %enough, label %array0, label %refuse",
    ]
    for j, shape in enumerate(shapes):
        lines.append(f"array{j}:")
        lines += _plain_array(j, shape, dense if j < len(inputs) else dense | cpython.WRITEABLE)
        lines.append(f"  br i1 %fits{j}, label %{f'array{j + 1}' if j + 1 < count else 'go'}, label %refuse")
    lines.append("go:")
    for j in range(count):
        lines += [*_field(j, "data", cpython.DATA), *_put(j, "pointers", "ptr", f"%data{j}")]
    for j, spec in enumerate(inputs):
        lines += _put(j, "strides", "i64", str(spec.size))
    lines += [
        f"  %memory = call ptr @fc_PyMem_RawMalloc(i64 {8 * workspace + ALIGNMENT})",
        "  %none = icmp eq ptr %memory, null",
        "  br i1 %none, label %no_memory, label %run",
        "no_memory:",
        "  %error = call ptr @fc_PyErr_NoMemory()",
        "  ret ptr null",
        "run:",
        "  %bad = call i64 @fc_guarded(i64 0, i64 %rows0, i64 %rows0, ptr %pointers, ptr %strides, ptr %memory)",
        "  call void @fc_PyMem_RawFree(ptr %memory)",
        "  %answer = call ptr @fc_PyLong_FromLongLong(i64 %bad)",
        "  ret ptr %answer",
        "refuse:",
        "  %no = call ptr @fc_PyLong_FromLongLong(i64 1)",
        "  ret ptr %no",
    ]
    return _function("fc_many", lines)


def _plain_array(j: int, shape: tuple[int, ...], flags: int) -> list[str]:
    """%fits{j}: the argument is an array of rows of that shape, as many as the first has; the label %refuse is for others."""
    lines = [*_array(j, j), *_field(j, "type", cpython.TYPE)]
    lines += [
        f"  %is_array{j} = icmp eq ptr %type{j}, %array_type",
        f"  br i1 %is_array{j}, label %inside{j}, label %refuse",
        f"inside{j}:",
        *_field(j, "descr", cpython.DESCR),
        *_field(j, "ndim", cpython.NDIM, "i32"),
        *_field(j, "flags", cpython.FLAGS, "i32"),
        *_field(j, "dims", cpython.DIMENSIONS),
        f"  %is_double{j} = icmp eq ptr %descr{j}, %float64",
        f"  %has_axes{j} = icmp eq i32 %ndim{j}, {1 + len(shape)}",
        f"  %bits{j} = and i32 %flags{j}, {flags}",
        f"  %is_dense{j} = icmp eq i32 %bits{j}, {flags}",
        f"  %kind{j} = and i1 %is_double{j}, %has_axes{j}",
        f"  %plain{j} = and i1 %kind{j}, %is_dense{j}",
        f"  br i1 %plain{j}, label %shape{j}, label %refuse",
        f"shape{j}:",
        f"  %rows{j} = load i64, ptr %dims{j}, align 8",
        f"  %fits{j}_0 = icmp eq i64 %rows{j}, %rows0" if j else "  %fits0_0 = icmp sgt i64 %rows0, 0",
    ]
    for k, n in enumerate(shape):
        lines += [
            f"  %axis_at{j}_{k} = getelementptr i64, ptr %dims{j}, i64 {k + 1}",
            f"  %axis{j}_{k} = load i64, ptr %axis_at{j}_{k}, align 8",
            f"  %same{j}_{k} = icmp eq i64 %axis{j}_{k}, {n}",
            f"  %fits{j}_{k + 1} = and i1 %fits{j}_{k}, %same{j}_{k}",
        ]
    return [*lines, f"  %fits{j} = and i1 %fits{j}_{len(shape)}, true"]


def _guarded(inputs: tuple[Input, ...], outputs: tuple[Output, ...]) -> str:
    """Rows start..stop-1 of `total`; 1 if an output shares memory or a quaternion is far from unit length, else 0."""
    lines: list[str] = []
    for j in range(len(inputs) + len(outputs)):
        lines.append(f"  %pointer_at{j} = getelementptr ptr, ptr %pointers, i64 {j}")
        lines.append(f"  %data{j} = load ptr, ptr %pointer_at{j}, align 8")
    for j in range(len(inputs)):
        lines.append(f"  %stride_at{j} = getelementptr i64, ptr %strides, i64 {j}")
        lines.append(f"  %stride{j} = load i64, ptr %stride_at{j}, align 8")
    bad = _shared_memory(inputs, outputs, lines)
    lines += ["  %thread = call ptr @fc_PyEval_SaveThread()", "  %states = sub i64 %stop, %start"]
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
        "  %number = ptrtoint ptr %memory to i64",
        f"  %up = add i64 %number, {ALIGNMENT - 1}",
        f"  %aligned = and i64 %up, {-ALIGNMENT}",
        "  %ws = inttoptr i64 %aligned to ptr",
        "  call void @fc_batch(i64 %start, i64 %stop, ptr %pointers, ptr %strides, ptr %ws)",
        "  br label %end",
        "end:",
        "  call void @fc_PyEval_RestoreThread(ptr %thread)",
        f"  ret i64 {bad}",
    ]
    parameters = "i64 %start, i64 %stop, i64 %total, ptr %pointers, ptr %strides, ptr %memory"
    body = "\n".join(lines)
    return f"define internal i64 @fc_guarded({parameters}) #1 {{\nentry:\n{body}\n}}"


def _shared_memory(inputs: tuple[Input, ...], outputs: tuple[Output, ...], lines: list[str]) -> str:
    """1 if an output overlaps an input or another output; arrays without entries overlap nothing."""
    sizes = [x.size for x in inputs] + [x.size for x in outputs]
    for j, size in enumerate(sizes):
        rows = "%total"
        if j < len(inputs):
            lines.append(f"  %one{j} = icmp eq i64 %stride{j}, 0")
            lines.append(f"  %rows{j} = select i1 %one{j}, i64 1, i64 %total")
            rows = f"%rows{j}"
        lines += [
            f"  %begin{j} = ptrtoint ptr %data{j} to i64",
            f"  %length{j} = mul i64 {rows}, {8 * size}",
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
