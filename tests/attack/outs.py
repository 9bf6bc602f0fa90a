"""Arrays for `out=`: fitting ones of every kind, and those that must be refused; nothing may be written beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .disguises import EITHER, REFUSED, SAME, Array, Sub, liar, lying

GUARD = -7.125
"""Stands around every array; whoever writes it away wrote where they must not."""


@dataclass
class Out:
    """What is given as `out=`, what must come of it, and how to look whether only the right memory was written."""

    given: Any
    fate: str
    arrays: list[Array] = field(default_factory=list)
    """The plain views in which the results must be, if the call returns."""
    wholes: list[tuple[Array, NDArrayBool]] = field(default_factory=list)
    """The memory the arrays lie in, and which of it is not theirs."""

    def spoilt(self) -> bool:
        """Has anything been written beside the arrays?"""
        return any(not (whole[others] == GUARD).all() for whole, others in self.wholes)


NDArrayBool = Any


def _guarded(shape: tuple[int, ...], random: Random) -> tuple[Array, Array]:
    """An array of this shape in the middle of guards, with strides of many kinds; and the memory it lies in."""
    way = random.choice(("dense", "dense", "dense", "Fortran", "strided", "backwards", "misaligned"))
    size = math.prod(shape)
    if way == "misaligned":
        whole = np.full(size + 17, GUARD)
        view = whole.view(np.uint8)[64 + 1 : 64 + 1 + 8 * size].view(np.float64).reshape(shape)
        view[...] = GUARD  # bytes shifted by one
        return view, whole[:8]
    if way in ("strided", "backwards") and shape:
        whole = np.full(2 * size + 16, GUARD)
        view = whole[8 : 8 + 2 * size].reshape(*shape[:-1], 2 * shape[-1])[..., ::2]
        return (view[..., ::-1] if way == "backwards" else view), whole
    whole = np.full(size + 16, GUARD)
    middle = whole[8 : 8 + size]
    return (middle.reshape(shape[::-1]).T if way == "Fortran" else middle.reshape(shape)), whole


def _others(whole: Array, view: Array) -> NDArrayBool:
    """Which entries of the memory do not belong to the view."""
    marks = np.zeros(whole.shape, bool)
    if view.size and view.flags.aligned:
        offset = (view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]) // 8
        np.lib.stride_tricks.as_strided(marks[offset:], view.shape, tuple(s // 8 for s in view.strides))[...] = True
    return ~marks


def fitting(shapes: Sequence[tuple[int, ...]], random: Random) -> Out:
    """Arrays that fit, of every kind of memory; some in subclasses that tell the truth, some in such that lie."""
    arrays, given, wholes = [], [], []
    fate = SAME
    for shape in shapes:
        view, whole = _guarded(shape, random)
        wholes.append((whole, _others(whole, view)))
        arrays.append(view)
        way = random.random()
        if way < 0.1:
            given.append(view.view(Sub))
        elif way < 0.2:
            given.append(np.ndarray.view(view, type(lying(np.zeros(1), random))))
            fate = EITHER
        else:
            given.append(view)
    whole_out = tuple(given) if len(given) > 1 or random.random() < 0.2 else given[0]
    return Out(whole_out, fate, arrays, wholes)


def _lie(shape: tuple[int, ...], true: Array) -> Any:
    """An array that does not fit and says that it does."""
    fits = np.empty(shape)
    body = {
        "shape": property(lambda self: shape), "dtype": property(lambda self: np.dtype(np.float64)),
        "flags": property(lambda self: fits.flags), "ndim": property(lambda self: len(shape)),
        "strides": property(lambda self: fits.strides), "size": property(lambda self: fits.size),
        "nbytes": property(lambda self: fits.nbytes), "reshape": lambda self, *a, **k: fits.reshape(*a),
    }  # fmt: skip
    return np.ndarray.view(true, type("Fits", (np.ndarray,), body))


def refused(shapes: Sequence[tuple[int, ...]], random: Random) -> Out:
    """Something that is not an array for these results."""
    k = random.randrange(len(shapes))
    shape = shapes[k]
    size = math.prod(shape)
    bad, whole = _bad(shape, size, random)
    given = [bad if j == k else np.empty(s) for j, s in enumerate(shapes)]
    wholes = [] if whole is None else [(whole, np.ones(whole.shape, bool))]
    if len(given) > 1:
        way = random.random()
        if way < 0.1:
            return Out(tuple(given[:-1]), REFUSED)
        if way < 0.2:
            return Out([np.empty(s) for s in shapes], REFUSED)
        if way < 0.3 and size:
            # two results in one piece of memory
            other = next((j for j, s in enumerate(shapes) if s == shape and j != k), None)
            if other is not None:
                given[k] = given[other]
                return Out(tuple(given), REFUSED)
        return Out(tuple(given), REFUSED, wholes=wholes)
    return Out(bad, REFUSED, wholes=wholes)


def _bad(shape: tuple[int, ...], size: int, random: Random) -> tuple[Any, Array | None]:
    guards = np.full(size + 16, GUARD)
    longer = (*shape[:-1], shape[-1] + 1) if shape else (1,)
    choices = ["float32", "big-endian", "complex", "longer", "axis", "text", "list", "number", "lying dtype", "structure"]
    if size:
        choices += ["read-only", "lying shape", "lying flags", "read-only liar"]
    if size > 1:
        choices += ["shorter"]
    way = random.choice(choices)
    if way in ("float32", "complex", "big-endian"):
        return np.empty(shape, {"float32": "f4", "complex": "c16", "big-endian": ">f8"}[way]), None
    if way == "structure":
        return np.empty(shape, [("x", "f8")]), None
    if way == "longer":
        return np.empty(longer), None
    if way == "shorter":
        return guards[8:9], guards
    if way == "axis":
        return np.empty((2, *shape)), None
    if way == "lying dtype":
        return _lie(shape, np.empty(shape, np.float32)), None
    if way == "lying shape":
        return _lie(shape, guards[8:8]), guards
    if way in ("read-only", "lying flags", "read-only liar"):
        view = guards[8 : 8 + size].reshape(shape)
        view.flags.writeable = False
        if way == "lying flags":
            return _lie(shape, view), guards
        return (np.ndarray.view(view, liar(("flags",))) if way == "read-only liar" else view), guards
    return {"text": "out", "list": np.empty(shape).tolist(), "number": 1.0}[way], None


def overlapping(inputs: Sequence[Array], shapes: Sequence[tuple[int, ...]], random: Random) -> tuple[Out, list[Array]] | None:
    """A result in memory that an argument lies in, too; with new arguments. None where nothing fits."""
    (shape,) = shapes if len(shapes) == 1 else ((),)
    j = random.randrange(len(inputs))
    a = inputs[j]
    size = math.prod(shape)
    if not shape or not a.size or not size:
        return None
    whole = np.full(a.size + 2 * size, GUARD)
    start = random.randrange(1, a.size + size)
    moved, target = whole[size : size + a.size].reshape(a.shape), whole[start : start + size]
    moved[...] = a
    out = Out(target.reshape(shape), SAME, [target.reshape(shape)])
    return out, [moved if k == j else b for k, b in enumerate(inputs)]


def folded(shapes: Sequence[tuple[int, ...]]) -> Out | None:
    """An array in which several entries are one number: no room for different results."""
    if len(shapes) != 1 or not shapes[0] or math.prod(shapes[0]) < 2:
        return None
    return Out(as_strided(np.empty(1), shapes[0], (0,) * len(shapes[0])), REFUSED)
