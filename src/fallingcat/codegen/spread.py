"""A sparse linear map with constant coefficients, applied to rows of numbers by one native function for all robots.

    PyObject *fc_spread(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)

takes a table, inputs, outputs, and the numbers of rows, inputs and outputs per row; for every row and every line
(factor, from, to) of the table, in its order, it does `out[to] += factor * in[from]`. Product and sum are rounded one after
the other, so that every machine, and `plainly`, give the same bits. At a line with an index out of range it stops and
returns the table, otherwise None. Nothing else is checked: only `spread` calls it.
"""

from __future__ import annotations

import ctypes
import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.codegen import cache as kept
from fallingcat.codegen import cpython, native
from fallingcat.codegen.builder import Function
from fallingcat.codegen.call import PARAMETERS
from fallingcat.errors import InputError

Array = NDArray[np.float64]
FLOAT64 = np.dtype(np.float64)


def spread(table: Array, values: NDArray[Any], size: int) -> NDArray[Any]:
    """The outputs (..., size) for inputs (..., anything), by a table of (factor, from, to), (lines, 3)."""
    if values.dtype != FLOAT64 or not cpython.fast_calls_possible():
        return plainly(table, values, size)
    *shape, width = values.shape
    out = np.zeros((*shape, size))
    if _native()(table, np.ascontiguousarray(values), out, math.prod(shape), width, size) is not None:
        raise _out_of_range(table, width, size)
    return out


def _out_of_range(table: Array, width: int, size: int) -> InputError:
    wanted = f"rows of {int(table[:, 1].max()) + 1} or more numbers, for {int(table[:, 2].max()) + 1} or more"
    return InputError("a table of wrenches has indices out of range", expected=wanted, got=f"rows of {width}, for {size}")


def plainly(table: Array, values: NDArray[Any], size: int) -> NDArray[Any]:
    """`spread` in Python, for numbers and for symbols."""
    if len(table) and (table[:, 1].max() >= values.shape[-1] or table[:, 2].max() >= size):
        raise _out_of_range(table, values.shape[-1], size)
    out = np.full((*values.shape[:-1], size), 0.0, dtype=values.dtype)
    for factor, source, target in table.tolist():
        out[..., int(target)] += factor * values[..., int(source)]
    return out


@cache
def _native() -> Any:
    name = kept.key("spread")
    found = kept.load(name)
    object_code = native.compile_object(_text()) if found is None else found[1]
    if found is None:
        kept.save(name, {}, object_code)
    code = native.Code(object_code, cpython.symbols())
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(code.address("fc_bind"))(None)
    function = cpython.builtin("spread", None, "", __name__)
    cpython.point(function, code.address("fc_spread"), (code,))
    return function


def _text() -> str:
    f = Function("fc_spread", "ptr", PARAMETERS)
    table, values, out, *numbers = (f.load("ptr", "%args", 8 * k) for k in range(6))
    rows, width_in, width_out = (f.call("i64", "fc_PyLong_AsLongLong", f"ptr {number}") for number in numbers)
    lines = f.load("i64", f.load("ptr", table, cpython.DIMENSIONS))
    entries, inputs, outputs = (f.load("ptr", a, cpython.DATA) for a in (table, values, out))
    row, line, more, add, next_row, done, out_of_range = (
        f.label(hint) for hint in ("row", "line", "more", "add", "next_row", "done", "out_of_range")
    )
    f.go(row)

    f.begin(row)
    i = f.value(f"phi i64 [0, %entry], [%after_row, %{next_row}]")
    x, y = (
        f.value(f"getelementptr double, ptr {start}, i64 {f.value(f'mul i64 {i}, {width}')}")
        for start, width in ((inputs, width_in), (outputs, width_out))
    )
    f.branch(f.value(f"icmp slt i64 {i}, {rows}"), line, done)

    f.begin(line)
    k = f.value(f"phi i64 [0, %{row}], [%after_line, %{add}]")
    entry = f.value(f"getelementptr [3 x double], ptr {entries}, i64 {k}")
    f.branch(f.value(f"icmp slt i64 {k}, {lines}"), more, next_row)

    f.begin(more)
    at, to = (f.value(f"fptosi double {f.load('double', entry, place)} to i64") for place in (8, 16))
    inside = f.both(f.value(f"icmp ult i64 {at}, {width_in}"), f.value(f"icmp ult i64 {to}, {width_out}"))
    f.branch(inside, add, out_of_range)

    f.begin(add)
    source, target = (f.value(f"getelementptr double, ptr {start}, i64 {place}") for start, place in ((x, at), (y, to)))
    product = f.value(f"fmul double {f.load('double', entry)}, {f.load('double', source)}")
    f.store("double", f.value(f"fadd double {f.load('double', target)}, {product}"), target)
    f.do(f"%after_line = add i64 {k}, 1")
    f.go(line)

    f.begin(next_row)
    f.do(f"%after_row = add i64 {i}, 1")
    f.go(row)

    f.begin(done)
    nothing = f.load("ptr", "@fc_none")
    f.call("void", "fc_Py_IncRef", f"ptr {nothing}")
    f.ret(nothing)

    f.begin(out_of_range)
    f.call("void", "fc_Py_IncRef", f"ptr {table}")
    f.ret(table)
    return _GLOBALS + f.text


_GLOBALS = """
@fc_none = internal global ptr null, align 8
declare void @fc_Py_IncRef(ptr)
declare i64 @fc_PyLong_AsLongLong(ptr)
define void @fc_bind(ptr %none) {
  store ptr %none, ptr @fc_none, align 8
  ret void
}
"""
