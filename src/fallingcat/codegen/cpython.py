"""The memory layout of CPython's and NumPy's objects, checked at run time, and built-in functions with compiled code.

The fast call reads the public layout of `PyArrayObject` directly. Before it is used once, the layout is
compared with what NumPy says about an array; if anything differs, every call takes the Python path.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import sys
import sysconfig
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZE = 16
"""Offset of the number of items in an object of variable size."""
# Offsets in PyArrayObject_fields, stable since NumPy 1.7.
TYPE, DATA, NDIM, DIMENSIONS, STRIDES, DESCR, FLAGS = 8, 16, 24, 32, 40, 56, 64
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0100, 0x0400
_FLAG_BITS = C_CONTIGUOUS | ALIGNED | WRITEABLE
TUPLE_HASH, NO_HASH = 24, 0xFFFFFFFFFFFFFFFF
"""Offset of the hash of a tuple since Python 3.14, and its value before the hash is known."""
_NEW_FROM_DESCR = 94
_PYARRAY_TYPE = 2


def _word(address: int) -> int:
    return int(ctypes.c_uint64.from_address(address).value)


@cache
def fast_calls_possible() -> bool:
    """Does this interpreter and this NumPy have the layout that the fast call relies on?

    It reads only memory of objects that are known to be large enough, and follows an address only after the fields
    around it have been checked.
    """
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    # a reference count and a type come first; builds that trace references have more there
    if object.__basicsize__ != 16 or np.ndarray.__basicsize__ < FLAGS + 8:
        return False
    try:
        return _tuples_known() and all(_array_known(np.zeros((2, 3, 4)[:n])) for n in (1, 2, 3)) and _api_known()
    except (AttributeError, ImportError, TypeError, ValueError):
        return False


def _array_known(probe: NDArray[np.float64]) -> bool:
    """Is every field of this array where the fast call reads it?"""
    at, axes = id(probe), probe.ndim
    dimensions, strides = _word(at + DIMENSIONS), _word(at + STRIDES)
    fields = (
        _word(at + TYPE) == id(np.ndarray)
        and _word(at + DATA) == probe.ctypes.data
        and int(ctypes.c_int.from_address(at + NDIM).value) == axes
        and _word(at + DESCR) == id(np.dtype(np.float64)) == id(probe.dtype)
        and int(ctypes.c_int.from_address(at + FLAGS).value) & _FLAG_BITS == probe.flags.num & _FLAG_BITS
        and dimensions % 8 == 0
        and strides - dimensions == 8 * axes  # one piece of memory holds both
    )
    return (
        fields
        and tuple(_word(dimensions + 8 * k) for k in range(axes)) == probe.shape
        and tuple(_word(strides + 8 * k) for k in range(axes)) == probe.strides
    )


def _tuples_known() -> bool:
    """Do the items of a tuple start at the end of its fixed part, whose last field may be a hash (Python 3.14)?"""
    probe = (object(), object())
    at, size = id(probe), tuple.__basicsize__
    if size == TUPLE_HASH + 8 and _word(at + TUPLE_HASH) != NO_HASH:
        return False
    return size in (TUPLE_HASH, TUPLE_HASH + 8) and tuple(_word(at + size + 8 * k) for k in range(2)) == tuple(map(id, probe))


def _api_known() -> bool:
    """Does NumPy's table of C functions have a known version of the binary interface?"""
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(int(_api()[0]))()
    return version in (0x01000009, 0x02000000) and int(_api()[_PYARRAY_TYPE]) == id(np.ndarray)


@cache
def _api() -> Any:
    """NumPy's table of C functions."""
    name = "numpy._core._multiarray_umath" if np.__version__[0] != "1" else "numpy.core._multiarray_umath"
    umath = importlib.import_module(name)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


def _function(name: str) -> int:
    return int(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)


PYTHON_FUNCTIONS = ("Py_IncRef", "Py_DecRef", "PyFloat_FromDouble", "PyObject_Vectorcall",
                    "PyType_GenericAlloc", "PyMem_RawMalloc", "PyMem_RawFree", "PyErr_NoMemory",
                    "PyLong_AsLongLong", "PyLong_FromLongLong", "PyEval_SaveThread", "PyEval_RestoreThread")  # fmt: skip


@cache
def symbols() -> dict[str, int]:
    """The addresses of the C functions that compiled calls are linked against, by name."""
    table = {f"fc_{name}": _function(name) for name in PYTHON_FUNCTIONS}
    table["fc_NewFromDescr"] = int(_api()[_NEW_FROM_DESCR])
    return table


def untrack(thing: Any) -> None:
    """Hide a new object from the garbage collector: it dies by its reference count alone, after all finalizers of a cycle."""
    if sys.implementation.name == "cpython":
        ctypes.pythonapi.PyObject_GC_UnTrack(ctypes.py_object(thing))


def keep_for_ever(thing: Any) -> None:
    """Add a reference that is never released."""
    if sys.implementation.name == "cpython":
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


class _MethodDef(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002


class _Module(str):
    """The `__module__` of a built-in function, which also keeps alive the code and the definition that the function points into.

    CPython releases it last when it deallocates a function, so that code and definition live exactly as long as anything can
    call them, whether or not the robot or the kernel still exists. The objects that it keeps must not refer to the function:
    the garbage collector would not see the cycle.
    """

    __slots__ = ("definition", "function", "keeps")
    definition: _MethodDef
    function: Callable[[], Any]
    """A weak reference to the function, dead by the time the function is deallocated."""
    keeps: tuple[Any, ...]

    def __del__(self) -> None:
        """If the function still lives, it was given another `__module__`: then its code and definition must stay for ever."""
        if self.function() is not None:
            keep_for_ever(self.definition)
            keep_for_ever(self.keeps)


def builtin(name: str, python: Any, doc: str, module: str) -> Any:
    """A built-in function that calls the callable `python`, until `point` gives it code, which falls back on `python`.

    PyObject_Vectorcall(callable, args, nargs, kwnames) has the form of a METH_FASTCALL function whose `self` is the callable.
    """
    definition = _MethodDef(name.encode(), _function("PyObject_Vectorcall"), METH_FASTCALL_KEYWORDS, doc.encode())
    home = _Module(module)
    home.definition, home.function, home.keeps = definition, _no_function, ()
    untrack(home)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    function = new(ctypes.addressof(definition), python, home)
    home.function = weakref.ref(function)
    return function


def _no_function() -> None:
    return None


def point(function: Any, address: int, keeps: Sequence[Any]) -> None:
    """Make a built-in function run the code at an address from now on, for references taken earlier, too."""
    home = function.__module__
    if isinstance(home, _Module):  # it may have been given another one
        home.keeps = tuple(keeps)
        home.definition.function = address


def text_signature(function: Any) -> str:
    """The docstring of a built-in function for a method: the signature as `inspect` and `help` read it, then the text."""
    parts = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        fixed = parameter.default is inspect.Parameter.empty
        parts.append(parameter.name if fixed else f"{parameter.name}={parameter.default!r}")
    return f"{function.__name__}({', '.join(['$self', *parts])})\n--\n\n{inspect.getdoc(function) or ''}"
