"""Where CPython and NumPy keep things, found and checked at run time.

The fast call reads the public layout of `PyArrayObject` directly. Before it is used once, the layout is
compared with what NumPy says about an array; if anything differs, every call takes the Python path.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import sysconfig
from functools import cache
from typing import Any

import numpy as np

# Offsets in PyArrayObject_fields, stable since NumPy 1.7.
TYPE, DATA, NDIM, DIMENSIONS, STRIDES, DESCR, FLAGS = 8, 16, 24, 32, 40, 56, 64
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0100, 0x0400
_NEW_FROM_DESCR = 94
_PYARRAY_TYPE = 2


def _word(address: int) -> int:
    return int(ctypes.c_uint64.from_address(address).value)


@cache
def fast_calls_possible() -> bool:
    """Does this interpreter and this NumPy have the layout that the fast call relies on?"""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    try:
        probe = np.arange(6.0).reshape(2, 3)
        at = id(probe)
        return (
            _word(at + TYPE) == id(np.ndarray)
            and _word(at + DATA) == probe.ctypes.data
            and int(ctypes.c_int.from_address(at + NDIM).value) == 2
            and (_word(_word(at + DIMENSIONS)), _word(_word(at + DIMENSIONS) + 8)) == probe.shape
            and (_word(_word(at + STRIDES)), _word(_word(at + STRIDES) + 8)) == probe.strides
            and _word(at + DESCR) == id(np.dtype(np.float64)) == id(probe.dtype)
            and bool(ctypes.c_int.from_address(at + FLAGS).value & ALIGNED)
            and int(_api()[_PYARRAY_TYPE]) == id(np.ndarray)
        )
    except (AttributeError, ImportError, TypeError, ValueError):
        return False


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


PYTHON_FUNCTIONS = ("Py_IncRef", "Py_DecRef", "PyFloat_FromDouble", "PyObject_Vectorcall", "PyType_GenericAlloc",
                    "PyMem_RawMalloc", "PyMem_RawFree", "PyErr_NoMemory", "PyLong_AsLongLong", "PyLong_FromLongLong",
                    "PyEval_SaveThread", "PyEval_RestoreThread")  # fmt: skip


@cache
def symbols() -> dict[str, int]:
    """The addresses that compiled calls are linked against."""
    table = {f"fc_{name}": _function(name) for name in PYTHON_FUNCTIONS}
    table["fc_NewFromDescr"] = int(_api()[_NEW_FROM_DESCR])
    return table


class _MethodDef(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002


def builtin(name: str, address: int, owner: Any, doc: str) -> Any:
    """A built-in function at an address, bound to `owner`."""
    definition = _MethodDef(name.encode(), address, METH_FASTCALL_KEYWORDS, doc.encode())
    # Never freed: CPython looks at it until the end of the function's life, which may come after that of all modules.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(definition), owner, None)
