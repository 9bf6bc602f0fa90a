"""Rows of states handed to a batched kernel, with the interpreter lock released.

    PyObject *fc_many(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
    PyObject *fc_rows(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)

`fc_many` takes the arguments of a user as they come, inputs and then outputs, and computes all of them if everything is a
contiguous batch, where an input may also be one vector for all rows; `fc_rows` takes start, stop, arrays checked before (2-d,
contiguous; an input of one row is repeated) and a workspace array, and does one thread's share. Both first test the quaternions
and whether an output shares memory with another array. They return 0, or 1 if nothing was computed: Python then converts the
arguments, checks them and explains. For a function that inverts the mass matrix, `fc_many` returns 2 if the first output of
some state begins with NaN.

`fc_many` reads the memory of exact arrays only and may be called with anything. `fc_rows` does not check the types of its
arguments: only `NativeBatch.run` calls it. Both keep no reference beyond the call; their callers hold the arrays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.codegen import cpython, native
from fallingcat.codegen.builder import Function
from fallingcat.codegen.call import DENSE, PARAMETERS, quaternion_fits
from fallingcat.task import Input, Output, Task

Array = NDArray[np.float64]

ALIGNMENT = 64
"""Alignment of the workspace in bytes: a cache line."""


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
        """`fc_many`: (inputs and outputs) -> 0, 1 or 2; None if there are no inputs, or if fast calls are not possible."""
        if cpython.fast_calls_possible():
            bind = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.py_object)(code.address("fc_bind"))
            bind(np.ndarray, np.dtype(np.float64))
            self._rows = _pointed("rows", code)
            if task.inputs:  # without them there are no rows to count
                self.many = _pointed("many", code)

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


def _pointed(name: str, code: native.Code) -> Any:
    function = cpython.builtin(name, None, "", __name__)
    cpython.point(function, code.address(f"fc_{name}"), (code,))
    return function


def rows_text(task: Task, workspace: int) -> str:
    """The module text with `fc_many`, `fc_rows` and the `fc_bind` that `fc_many` needs."""
    inputs, outputs, checked = task.inputs, task.outputs, task.explain is not None
    many = _many(inputs, outputs, workspace, checked)
    return "\n".join([_DECLARATIONS, _any_nan(), _guarded(inputs, outputs), _rows(inputs, outputs), many])


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


def _rows(inputs: tuple[Input, ...], outputs: tuple[Output, ...]) -> str:
    """The text of `fc_rows`, called with start, stop, arrays and workspace. An input of one row has stride 0."""
    f = Function("fc_rows", "ptr", PARAMETERS)
    count = len(inputs) + len(outputs)
    start, stop = (f.call("i64", "fc_PyLong_AsLongLong", f"ptr {f.load('ptr', '%args', 8 * k)}") for k in range(2))
    pointers, strides = f.alloca("ptr", count), f.alloca("i64", len(inputs))
    total = stop
    for j in range(count):
        a = f.load("ptr", "%args", 8 * (j + 2))
        f.store("ptr", f.load("ptr", a, cpython.DATA), pointers, 8 * j)
        rows = f.load("i64", f.load("ptr", a, cpython.DIMENSIONS))
        if j < len(inputs):
            stride = f.value(f"select i1 {f.same(rows, '1', 'i64')}, i64 0, i64 {inputs[j].size}")
            f.store("i64", stride, strides, 8 * j)
        elif j == len(inputs):
            total = rows
    memory = f.load("ptr", f.load("ptr", "%args", 8 * (count + 2)), cpython.DATA)
    f.ret(_answer(f, _run(f, start, stop, total, pointers, strides, memory)))
    return f.text


def _many(inputs: tuple[Input, ...], outputs: tuple[Output, ...], workspace: int, checked: bool) -> str:
    """The text of `fc_many`, called with inputs and outputs. It computes if all are contiguous arrays with equally many rows,
    or inputs that are one vector for all rows; if `checked`, it returns 2 if the first output of some state begins with NaN."""
    f = Function("fc_many", "ptr", PARAMETERS)
    refuse, no_memory = f.label("refuse"), f.label("no_memory")
    f.require(f.same("%nargs", str(len(inputs) + len(outputs)), "i64"), refuse)
    array_type, float64 = f.load("ptr", "@fc_array_type"), f.load("ptr", "@fc_float64")
    pointers, strides = f.alloca("ptr", len(inputs) + len(outputs)), f.alloca("i64", len(inputs))

    def contiguous(j: int, flags: int) -> str:
        """Continue if argument j is a contiguous float64 array; the array, whose data pointer is stored in `pointers`."""
        a = f.load("ptr", "%args", 8 * j)
        f.require(f.same(f.load("ptr", a, cpython.TYPE), array_type), refuse)
        right_type = f.same(f.load("ptr", a, cpython.DESCR), float64)
        right_flags = f.same(f.value(f"and i32 {f.load('i32', a, cpython.FLAGS)}, {flags}"), str(flags), "i32")
        f.require(f.both(right_type, right_flags), refuse)
        f.store("ptr", f.load("ptr", a, cpython.DATA), pointers, 8 * j)
        return a

    total = ""
    for j, output in enumerate(outputs, len(inputs)):
        a = contiguous(j, DENSE | cpython.WRITEABLE)
        f.require(f.same(f.load("i32", a, cpython.NDIM), str(1 + len(output.shape)), "i32"), refuse)
        rows = _shaped(f, a, output.shape, 1, refuse)
        f.require(f.same(rows, total, "i64") if total else f.value(f"icmp sgt i64 {rows}, 0"), refuse)
        total = total or rows
    repeated = ""
    for j, spec in enumerate(inputs):
        a = contiguous(j, DENSE)
        one = f.same(f.load("i32", a, cpython.NDIM), "1", "i32")
        f.store("i64", f.value(f"select i1 {one}, i64 0, i64 {spec.size}"), strides, 8 * j)
        repeated = f.value(f"and i1 {repeated}, {one}") if repeated else one
        vector, batch, next_input = f.label("vector"), f.label("batch"), f.label("next_input")
        f.branch(one, vector, batch)
        f.begin(vector)
        _shaped(f, a, (spec.size,), 0, refuse)
        f.go(next_input)
        f.begin(batch)
        f.require(f.same(f.load("i32", a, cpython.NDIM), "2", "i32"), refuse)
        f.require(f.same(_shaped(f, a, (spec.size,), 1, refuse), total, "i64"), refuse)
        f.go(next_input)
        f.begin(next_input)
    f.require(f.same(repeated, "false", "i1"), refuse)  # not a batch at all
    memory = f.call("ptr", "fc_PyMem_RawMalloc", f"i64 {8 * workspace + ALIGNMENT}")
    f.require(f.value(f"icmp ne ptr {memory}, null"), no_memory)
    bad = _run(f, "0", total, total, pointers, strides, memory)
    f.call("void", "fc_PyMem_RawFree", f"ptr {memory}")
    if checked and outputs[0].size:
        first = f.load("ptr", pointers, 8 * len(inputs))
        f.require(f.same(bad, "0", "i64"), refuse)
        bad = f.call("i64", "fc_any_nan", f"i64 {total}", f"ptr {first}", f"i64 {outputs[0].size}")
    f.ret(_answer(f, bad))
    f.begin(refuse)
    f.ret(_answer(f, "1"))
    f.begin(no_memory)
    f.ret(f.call("ptr", "fc_PyErr_NoMemory"))
    return f.text


def _shaped(f: Function, a: str, shape: tuple[int, ...], skip: int, refuse: str) -> str:
    """Continue if an array has this shape after its first `skip` axes; the length of its first axis."""
    dimensions = f.load("ptr", a, cpython.DIMENSIONS)
    for k, n in enumerate(shape):
        f.require(f.same(f.load("i64", dimensions, 8 * (k + skip)), str(n), "i64"), refuse)
    return f.load("i64", dimensions)


def _run(f: Function, start: str, stop: str, total: str, pointers: str, strides: str, memory: str) -> str:
    return f.call(
        "i64", "fc_guarded", f"i64 {start}", f"i64 {stop}", f"i64 {total}", f"ptr {pointers}", f"ptr {strides}", f"ptr {memory}"
    )  # fmt: skip


def _answer(f: Function, bad: str) -> str:
    return f.call("ptr", "fc_PyLong_FromLongLong", f"i64 {bad}")


def _guarded(inputs: tuple[Input, ...], outputs: tuple[Output, ...]) -> str:
    """The text of `fc_guarded`, which computes rows start..stop-1 of `total` and returns 0, or returns 1 without computing if
    an output shares memory or a quaternion is far from unit length."""
    parameters = ("i64 %start", "i64 %stop", "i64 %total", "ptr %pointers", "ptr %strides", "ptr %memory")
    f = Function("fc_guarded", "i64", parameters, internal=True)
    data = [f.load("ptr", "%pointers", 8 * j) for j in range(len(inputs) + len(outputs))]
    stride = [f.load("i64", "%strides", 8 * j) for j in range(len(inputs))]
    bad = _shared_memory(f, inputs, outputs, data, stride)
    thread = f.call("ptr", "fc_PyEval_SaveThread")
    states = f.value("sub i64 %stop, %start")
    for j, spec in enumerate(inputs):
        for at in spec.quaternions:
            first = f.value(f"add i64 {f.value(f'mul i64 %start, {stride[j]}')}, {at}")
            place = f.value(f"getelementptr double, ptr {data[j]}, i64 {first}")
            far = f.call("i64", "fc_check", f"i64 {states}", f"ptr {place}", f"i64 {stride[j]}")
            bad = f.value(f"or i64 {bad}, {far}")
    go, end = f.label("go"), f.label("end")
    f.branch(f.same(bad, "0", "i64"), go, end)
    f.begin(go)
    number = f.value("ptrtoint ptr %memory to i64")
    aligned = f.value(f"and i64 {f.value(f'add i64 {number}, {ALIGNMENT - 1}')}, {-ALIGNMENT}")
    workspace = f.value(f"inttoptr i64 {aligned} to ptr")
    f.call("void", "fc_batch", "i64 %start", "i64 %stop", "ptr %pointers", "ptr %strides", f"ptr {workspace}")
    f.go(end)
    f.begin(end)
    f.call("void", "fc_PyEval_RestoreThread", f"ptr {thread}")
    f.ret(bad)
    return f.text


def _shared_memory(
    f: Function, inputs: tuple[Input, ...], outputs: tuple[Output, ...], data: Sequence[str], stride: Sequence[str]
) -> str:
    """An i64, 1 if an output overlaps an input or another output, else 0; arrays without entries overlap nothing."""
    sizes = [i.size for i in inputs] + [o.size for o in outputs]
    begin, end = [], []
    for j, size in enumerate(sizes):
        rows = "%total"
        if j < len(inputs):
            rows = f.value(f"select i1 {f.same(stride[j], '0', 'i64')}, i64 1, i64 %total")
        begin.append(f.value(f"ptrtoint ptr {data[j]} to i64"))
        end.append(f.value(f"add i64 {begin[j]}, {f.value(f'mul i64 {rows}, {8 * size}')}"))
    shared = "false"
    for j in range(len(inputs), len(sizes)):
        for k in range(j):
            if sizes[j] and sizes[k]:
                left, right = f.value(f"icmp ult i64 {begin[j]}, {end[k]}"), f.value(f"icmp ult i64 {begin[k]}, {end[j]}")
                shared = f.value(f"or i1 {shared}, {f.both(left, right)}")
    return f.value(f"zext i1 {shared} to i64")


def _any_nan() -> str:
    """i64 fc_any_nan(i64 rows, ptr numbers, i64 stride): 2 if any row begins with NaN, else 0."""
    f = Function("fc_any_nan", "i64", ("i64 %rows", "ptr %numbers", "i64 %stride"), internal=True)
    loop, done = f.label("loop"), f.label("done")
    f.go(loop)
    f.begin(loop)
    i = f.value(f"phi i64 [0, %entry], [%next, %{loop}]")
    found = f.value(f"phi i1 [false, %entry], [%either, %{loop}]")
    x = f.load("double", f.value(f"getelementptr double, ptr %numbers, i64 {f.value(f'mul i64 {i}, %stride')}"))
    f.do(f"%either = or i1 {found}, {f.value(f'fcmp uno double {x}, {x}')}")
    f.do(f"%next = add i64 {i}, 1")
    f.branch(f.value("icmp slt i64 %next, %rows"), loop, done)
    f.begin(done)
    f.ret(f.value("select i1 %either, i64 2, i64 0"))
    return f.text


def check_text(tolerance: float) -> str:
    """i64 fc_check(i64 rows, ptr quaternions, i64 stride): 1 if any is far from unit length.

    Squared lengths that are not finite pass: they make the result NaN.
    """
    f = Function("fc_check", "i64", ("i64 %rows", "ptr %quaternions", "i64 %stride"))
    loop, test, more, fine, bad = (f.label(x) for x in ("loop", "test", "more", "fine", "bad"))
    f.go(loop)
    f.begin(loop)
    i = f.value(f"phi i64 [0, %entry], [%next, %{more}]")
    f.branch(f.value(f"icmp slt i64 {i}, %rows"), test, fine)
    f.begin(test)
    place = f.value(f"getelementptr double, ptr %quaternions, i64 {f.value(f'mul i64 {i}, %stride')}")
    f.branch(quaternion_fits(f, place, tolerance), more, bad)
    f.begin(more)
    f.do(f"%next = add i64 {i}, 1")
    f.go(loop)
    f.begin(fine)
    f.ret("0")
    f.begin(bad)
    f.ret("1")
    return "\n" + f.text + "\n"
