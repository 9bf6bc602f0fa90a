"""The same numbers in arrays of every kind, and things that are no arrays of numbers.

A disguise says what must come of a call: SAME, the result of the plain numbers; REFUSED, a documented error; EITHER of them.
"""

from __future__ import annotations

import array
import tempfile
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SAME, REFUSED, EITHER = "same", "refused", "either"


def strided(v: Array) -> Array:
    wide = np.full((*v.shape[:-1], 3 * v.shape[-1]), np.nan)
    wide[..., 1::3] = v
    return wide[..., 1::3]


def backwards(v: Array) -> Array:
    return v[..., ::-1].copy()[..., ::-1]


def rows_backwards(v: Array) -> Array:
    return v[::-1].copy()[::-1]


def transposed(v: Array) -> Array:
    return np.ascontiguousarray(v.T).T


def misaligned(v: Array) -> Array:
    raw = np.empty(v.nbytes + 1, dtype=np.uint8)[1:]
    result = raw.view(np.float64).reshape(v.shape)
    result[...] = v
    return result


def read_only(v: Array) -> Array:
    v = v.copy()
    v.flags.writeable = False
    return v


def mapped(v: Array) -> Any:
    if v.size == 0:
        return v
    with tempfile.TemporaryFile(dir=".") as file:
        m = np.memmap(file, dtype=np.float64, mode="w+", shape=v.shape)
    m[...] = v
    return m


class Holder:
    """Has `__array__` only."""

    def __init__(self, v: Array) -> None:
        self.v = v

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.v


class Interface:
    """Has `__array_interface__` only."""

    def __init__(self, v: Array) -> None:
        self.v = v
        self.__array_interface__ = v.__array_interface__


class Sub(np.ndarray):
    """An honest subclass."""


LIES: dict[str, Any] = {
    "dtype": np.dtype(np.float32),
    "shape": (1000, 1000),
    "strides": (8,),
    "ndim": 1,
    "size": 10**6,
    "nbytes": 8,
    "flags": np.empty((2, 2)).flags,
    "base": None,
    "T": np.zeros((3, 3)),
    "reshape": lambda *a, **k: np.zeros((100, 100)),
    "astype": lambda *a, **k: np.zeros(3),
    "copy": lambda *a, **k: np.zeros(3),
    "tolist": lambda: [0.0] * 1000,
    "view": lambda *a, **k: np.zeros(3),
    "ravel": lambda *a, **k: np.zeros(3),
    "ctypes": None,
    "__len__": lambda self: 1000,
    "__getitem__": lambda self, at: np.zeros(3),
    "__setitem__": lambda self, at, value: None,
    "__array__": lambda self, *a, **k: np.zeros(3),
    "__array_interface__": {"shape": (1000,), "typestr": "<f8", "data": (8, False), "version": 3},
    "__array_ufunc__": None,
    "__array_function__": lambda self, *a, **k: np.zeros(3),
    "__array_priority__": 1e9,
    "__iter__": lambda self: iter(()),
    "__eq__": lambda self, other: True,
    "__class__": np.ndarray,
}


@cache
def liar(lies: tuple[str, ...]) -> type:
    """A subclass that says the wrong thing about itself."""
    body: dict[str, Any] = {}
    for lie in lies:
        value = LIES[lie]
        special = (lie.startswith("__") and callable(value) and lie != "__class__") or value is None
        body[lie] = value if special else property(lambda self, value=value: value)
    if "__eq__" in body:
        body["__hash__"] = None
    return type("Liar", (np.ndarray,), body)


def lying(v: Array, random: Random) -> Any:
    return np.ndarray.view(v.copy(), liar(tuple(sorted(random.sample(list(LIES), random.choice((1, 1, 2, 4)))))))


def _matrix(v: Array) -> Any:
    return v.view(np.matrix) if v.ndim == 2 else v.view(Sub)


Disguise = tuple[Callable[[Array, Random], Any], str]

ANY: dict[str, Disguise] = {
    "strided": (lambda v, _: strided(v), SAME),
    "negative strides": (lambda v, _: backwards(v), SAME),
    "rows backwards": (lambda v, _: rows_backwards(v), SAME),
    "transposed": (lambda v, _: transposed(v), SAME),
    "Fortran": (lambda v, _: np.asfortranarray(v), SAME),
    "misaligned": (lambda v, _: misaligned(v), SAME),
    "read-only": (lambda v, _: read_only(v), SAME),
    "memmap": (lambda v, _: mapped(v), SAME),
    "list": (lambda v, _: v.tolist() if v.size else v, SAME),
    "tuple": (lambda v, _: tuple(v.tolist()) if v.size else v, SAME),
    "list of arrays": (lambda v, _: list(v) if v.size else v, SAME),
    "honest subclass": (lambda v, _: v.view(Sub), SAME),
    "record array": (lambda v, _: v.view(np.recarray), SAME),
    "matrix": (lambda v, _: _matrix(v), SAME),
    "big-endian": (lambda v, _: v.astype(">f8"), SAME),
    "long double": (lambda v, _: v.astype(np.longdouble), SAME),
    "dtype with metadata": (lambda v, _: v.astype(np.dtype(np.float64, metadata={"unit": "rad"})), SAME),
    "__array__": (lambda v, _: Holder(v), SAME),
    "__array_interface__": (lambda v, _: Interface(v), SAME),
    "memoryview": (lambda v, _: memoryview(v), SAME),
    "array.array": (lambda v, _: array.array("d", v.tolist()) if v.ndim == 1 else v, SAME),
    "liar": (lying, EITHER),
    "liar, strided": (lambda v, random: np.ndarray.view(strided(v), type(lying(v, random))), EITHER),
    "field of a structure": (lambda v, _: _field(v), SAME),
}
"""For all numbers, not-a-number among them."""

HALF: dict[str, Disguise] = {
    "float16": (lambda v, _: v.astype(np.float16), SAME),
    "float32": (lambda v, _: v.astype(np.float32), SAME),
    "big-endian float32": (lambda v, _: v.astype(">f4"), SAME),
    "strided float32": (lambda v, _: strided(v).astype(np.float32)[..., ::-1][..., ::-1], SAME),
    "array.array of floats": (lambda v, _: array.array("f", v.tolist()) if v.ndim == 1 else v, SAME),
}
"""For numbers that half precision holds."""

WHOLE: dict[str, Disguise] = {
    name: ((lambda v, _, name=name: v.astype(name)), SAME) for name in ("i1", "i2", "i4", "i8", ">i4", ">i8")
} | {"list of ints": (lambda v, _: v.astype(int).tolist() if v.size else v, SAME)}
"""For whole numbers."""

BAD: dict[str, Callable[[Array], Any]] = {
    "None": lambda v: None,
    "text": lambda v: "abc",
    "bytes": lambda v: b"abcdefgh",
    "complex": lambda v: v.astype(complex),
    "objects": lambda v: v.astype(object) if v.size else "text",
    "dates": lambda v: np.zeros(v.shape, "M8[s]"),
    "durations": lambda v: np.zeros(v.shape, "m8[s]"),
    "strings": lambda v: np.zeros(v.shape, "U8"),
    "structures": lambda v: np.zeros(v.shape, [("x", "f8"), ("y", "f8")]),
    "void": lambda v: np.zeros(v.shape, "V8"),
    "ragged": lambda v: [[1.0], [1.0, 2.0]],
    "dict": lambda v: {"q": 1.0},
    "set": lambda v: {1.0},
    "generator": lambda v: (x for x in (1.0, 2.0)),
    "a number": lambda v: 1.0,
    "0-d": lambda v: np.array(1.0),
    "too long": lambda v: np.zeros((*v.shape[:-1], v.shape[-1] + 1)),
    "too short": lambda v: np.zeros((*v.shape[:-1], v.shape[-1] - 1)),
    "masked": lambda v: np.ma.masked_array(v, mask=np.ones(v.shape, bool)),
    "masked, nothing hidden": lambda v: np.ma.masked_array(v, mask=False),
    "a type": lambda v: float,
    "a module": lambda v: np,
    "too long liar": lambda v: np.ndarray.view(np.zeros((*v.shape[:-1], v.shape[-1] + 2)), _shaped(v.shape)),
}
"""What must be refused whatever the rest of the call is."""


@cache
def _shaped(shape: tuple[int, ...]) -> type:
    return type("Shaped", (np.ndarray,), {"shape": property(lambda self: shape), "__len__": lambda self: shape[0]})


def _field(v: Array) -> Any:
    """One field of an array of structures: odd strides, not aligned."""
    whole = np.zeros(v.shape, [("a", "u1"), ("x", "f8"), ("b", "u2")])
    whole["x"] = v
    return whole["x"]
