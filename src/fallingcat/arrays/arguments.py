"""Arguments of a call to rows of numbers: conversion, broadcasting, checks, and the errors they raise.

The eager runner and the compiled kernels share this module, so that both accept the same arguments and raise
the same errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.arrays.axes import MAX_AXES, common_axes
from fallingcat.arrays.memory import RESULTS
from fallingcat.arrays.non_numpy import refuse_non_numpy
from fallingcat.errors import InputError
from fallingcat.spatial.so3 import QUATERNION_TOLERANCE as QUATERNION_TOLERANCE
from fallingcat.suggest import closest
from fallingcat.task import Input, Task

Array = NDArray[np.float64]

NOTHING: Mapping[str, Any] = {}

FLOAT64 = np.dtype(np.float64)

CHUNK = 4096
"""Rows converted at a time when an argument needs a copy; bounds the memory beyond inputs and outputs."""


@dataclass(frozen=True)
class Batch:
    """Checked arguments: arrays of float64, or of a dtype that converts to it, with their common batch axes."""

    arrays: tuple[NDArray[Any], ...]
    shape: tuple[int, ...]
    count: int
    rows: tuple[Array, ...] | None
    """The arguments as 2-d float64 arrays without a copy (one row when broadcast), or None where a copy is needed."""

    def chunks(self) -> Iterator[tuple[slice, list[Array]]]:
        """The arguments as contiguous float64 arrays, `CHUNK` rows at a time, with the slice of rows."""
        for start in range(0, self.count, CHUNK):
            stop = min(start + CHUNK, self.count)
            index = np.unravel_index(np.arange(start, stop), self.shape) if self.shape else ()
            pieces = []
            for a in self.arrays:
                spread = np.broadcast_to(a, (*self.shape, a.shape[-1]))
                piece = spread[index] if self.shape else spread[np.newaxis]
                pieces.append(np.ascontiguousarray(piece, dtype=np.float64))
            yield slice(start, stop), pieces


def in_order(
    task: Task, values: tuple[Any, ...], named: Mapping[str, Any], defaults: Mapping[str, Any] = NOTHING
) -> tuple[Any, ...]:
    """All arguments by position: those given by name are inserted, and missing ones take their defaults."""
    names = [i.name for i in task.inputs]
    for name in named:
        if name not in names:
            raise InputError(f"{task.name}: no argument {name!r}", expected=", ".join(names), hint=closest(name, names))
        if name in names[: len(values)]:
            raise InputError(f"{task.name}: {name} is given twice", got="one by position and one by name")
    chosen = {**defaults, **named}
    missing = [name for name in names[len(values) :] if name not in chosen]
    if missing or len(values) > len(names):
        raise InputError(
            f"{task.name}: wrong number of arguments", expected=f"{len(names)} ({', '.join(names)})",
            got=str(len(values) + len(named)), hint=f"{', '.join(missing)} missing" if missing else "",
        )  # fmt: skip
    return (*values, *(chosen[name] for name in names[len(values) :]))


def prepare(task: Task, values: Sequence[Any], check: bool = True) -> Batch:
    """Convert, check and broadcast the arguments of a task; without `check`, quaternions are left to the caller."""
    if len(values) != len(task.inputs):
        names = ", ".join(i.name for i in task.inputs)
        raise InputError(
            f"{task.name}: wrong number of arguments", expected=f"{len(task.inputs)} ({names})", got=str(len(values))
        )
    arrays = tuple([_array(task.name, i, v) for i, v in zip(task.inputs, values, strict=True)])
    shape = _batch_shape(task, arrays)
    count = math.prod(shape)
    if check:
        check_quaternions(task, arrays)
    return Batch(arrays, shape, count, _rows(arrays, shape, count))


def _batch_shape(task: Task, arrays: tuple[NDArray[Any], ...]) -> tuple[int, ...]:
    shapes = {a.shape[:-1] for a in arrays}
    if len(shapes) == 1 and arrays[0].ndim <= MAX_AXES:
        return shapes.pop()
    return common_axes(task.name, {i.name: a.shape for i, a in zip(task.inputs, arrays, strict=True)})


def _rows(arrays: tuple[NDArray[Any], ...], shape: tuple[int, ...], count: int) -> tuple[Array, ...] | None:
    rows = []
    for a in arrays:
        whole = a.shape[:-1] == shape
        if a.dtype != FLOAT64 or not (a.flags.c_contiguous and a.flags.aligned) or not (whole or a.size == a.shape[-1]):
            return None
        rows.append(a.reshape((count if whole else 1), a.shape[-1]))
    return tuple(rows)


def _array(name: str, spec: Input, value: Any) -> NDArray[Any]:
    if type(value) is np.ndarray and value.dtype == FLOAT64 and value.ndim and value.shape[-1] == spec.size:
        return value
    refuse_non_numpy(name, spec.name, value)
    a = _real(f"{name}: {spec.name}", value, f"an array of real numbers with last axis {spec.size}")
    if a.ndim == 0 or a.shape[-1] != spec.size:
        hint = ""
        if spec.quaternions and a.ndim and a.shape[-1] == spec.size - len(spec.quaternions):
            hint = "q holds a quaternion (x y z w): one entry more than the velocity; see robot.neutral()"
        raise InputError(f"{name}: {spec.name} has the wrong shape", expected=f"(..., {spec.size})", got=str(a.shape), hint=hint)
    return a


def real_array(name: str, value: Any) -> Array:
    """An argument that belongs to no task as an array of float64; other values than real numbers raise the same errors."""
    refuse_non_numpy("", name, value)
    return _real(name, value, "an array of real numbers").astype(np.float64, copy=False)


def refuse_masked(name: str, value: Any, expected: str = "an array of real numbers") -> None:
    """Raise for a masked array: its mask would be ignored in silence."""
    if isinstance(value, np.ma.MaskedArray):
        hint = "fill it first, as in x.filled(np.nan), or pass its .data"
        raise InputError(f"{name} is a masked array", expected=expected, got="masked entries", hint=hint)


def _real(name: str, value: Any, expected: str) -> NDArray[Any]:
    refuse_masked(name, value, expected)
    try:
        a = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} is not an array", expected=expected, got=f"{type(value).__name__}: {error}") from None
    if a.dtype.kind not in "fiub":
        hint = "complex numbers run through fallingcat.algorithms, not through arrays" if a.dtype.kind == "c" else ""
        raise InputError(f"{name} does not hold real numbers", expected=expected, got=_described(value, a), hint=hint)
    return a


def _described(value: Any, a: NDArray[Any]) -> str:
    return "None" if value is None else f"{type(value).__name__} of dtype {a.dtype}"


def check_quaternions(task: Task, arrays: Sequence[NDArray[Any]]) -> None:
    """Refuse quaternions far from unit length; those with NaN or infinity pass, and make the result NaN."""
    low, high = (1.0 - QUATERNION_TOLERANCE) ** 2, (1.0 + QUATERNION_TOLERANCE) ** 2
    for spec, a in zip(task.inputs, arrays, strict=True):
        if not spec.quaternions:
            continue
        if a.ndim == 1:
            _check_one(task.name, spec, a.tolist(), low, high)
            continue
        flat = a.reshape(-1, a.shape[-1]) if a.flags.c_contiguous else a
        pieces = range(0, len(flat), CHUNK) if flat.ndim > 1 else (0,)
        for at in spec.quaternions:
            for start in pieces:
                part = flat[start : start + CHUNK] if flat.ndim > 1 else flat
                x, y, z, w = (part[..., at + k].astype(np.float64) for k in range(4))
                with np.errstate(over="ignore", invalid="ignore"):
                    # rounded as in the compiled checks: the two must never disagree
                    squared = np.asarray(x * x + y * y + z * z + w * w)
                finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(z) & np.isfinite(w)
                bad = ((squared < low) | (squared > high)) & finite
                if np.any(bad):
                    refuse_quaternion(_quaternion(task.name, spec, at), math.sqrt(squared[bad].flat[0]))


def _check_one(name: str, spec: Input, q: list[Any], low: float, high: float) -> None:
    """`check_quaternions` for one state, on floats: arrays would take ten times as long."""
    for at in spec.quaternions:
        x, y, z, w = map(float, q[at : at + 4])
        squared = x * x + y * y + z * z + w * w  # overflows to infinity, in silence
        if (squared < low or squared > high) and all(map(math.isfinite, (x, y, z, w))):
            refuse_quaternion(_quaternion(name, spec, at), math.sqrt(squared))


def _quaternion(name: str, spec: Input, at: int) -> str:
    return f"{name}: the quaternion {spec.name}[..., {at}:{at + 4}]"


def refuse_quaternion(which: str, length: float) -> None:
    """Raise for a quaternion that is not of unit length."""
    raise InputError(
        f"{which} is far from unit length", expected="length 1", got=f"length {length:.6g}",
        hint="order is x y z w; normalise it, or start from robot.neutral()",
    )  # fmt: skip


def check_out(task: Task, shape: tuple[int, ...], out: Any) -> tuple[Array, ...]:
    """The arrays to write results into, checked; new ones when none were given.

    They are plain ndarrays on the memory of the given ones, because a subclass may misreport its shape or strides.
    """
    full = [(*shape, *o.shape) for o in task.outputs]
    if out is None:
        return tuple(RESULTS.empty(s) for s in full)
    outs = (out,) if len(task.outputs) == 1 and not isinstance(out, tuple) else out
    if not isinstance(outs, tuple) or len(outs) != len(full):
        names = ", ".join(o.name for o in task.outputs)
        raise InputError(
            f"{task.name}: out does not fit", expected=f"a tuple of {len(full)} arrays ({names})", got=type(out).__name__
        )
    plain = tuple([_plain_out(task.name, o.name, a, s) for o, a, s in zip(task.outputs, outs, full, strict=True)])
    for k, (o, a) in enumerate(zip(task.outputs, plain, strict=True)):
        for other, b in zip(task.outputs[:k], plain, strict=False):
            if _share_memory(a, b):
                raise InputError(f"{task.name}: out for {other.name} and {o.name} share memory", hint="pass arrays of their own")
    return plain


def _plain_out(name: str, output: str, given: Any, shape: tuple[int, ...]) -> Array:
    """The array given for an output as a plain ndarray; raises if results of that shape cannot be written into it."""
    expected = f"a float64 array of shape {shape}"
    if not isinstance(given, np.ndarray):
        raise InputError(f"{name}: out for {output} does not fit", expected=expected, got=type(given).__name__)
    if isinstance(given, np.ma.MaskedArray):
        raise InputError(f"{name}: out for {output} is a masked array", expected=expected, hint="pass its .data")
    a: Array = given if type(given) is np.ndarray else np.ndarray.view(given, np.ndarray)
    if a.dtype != np.float64 or a.shape != shape:
        raise InputError(f"{name}: out for {output} does not fit", expected=expected, got=f"{a.dtype} {a.shape}")
    if not a.flags.writeable:
        raise InputError(f"{name}: out for {output} is read-only", hint="pass an array that owns writable memory")
    if not a.flags.forc and _overlaps_itself(a):
        raise InputError(
            f"{name}: out for {output} has entries that share memory", expected=expected, got=f"strides {a.strides}",
            hint="a broadcast array repeats its entries; pass a contiguous one",
        )  # fmt: skip
    return a


def _overlaps_itself(a: Array) -> bool:
    """Do several entries share an address? They do not if every stride exceeds the extent of all shorter strides together."""
    reach = a.itemsize
    steps = sorted((abs(step), n) for step, n in zip(a.strides, a.shape, strict=True) if n > 1)
    for step, n in steps:
        if step < reach:
            break
        reach += step * (n - 1)
    else:
        return False
    if not a.size:
        return False
    places = np.zeros(1, dtype=np.int64)
    for step, n in steps:
        places = np.add.outer(places, step * np.arange(n)).ravel()
    return bool(np.min(np.diff(np.sort(places))) < a.itemsize)


def _share_memory(a: Array, b: Array) -> bool:
    """Do the arrays overlap? Strided views may interleave without sharing an entry."""
    return bool(np.may_share_memory(a, b)) and bool(np.shares_memory(a, b))


def answer(task: Task, results: tuple[Array, ...], out: Any) -> Any:
    """The return value of a call: the results, or the arrays given as `out`, as an array or the task's named tuple."""
    given = results if out is None else out if isinstance(out, tuple) else (out,)
    if task.results is not None:
        return task.results(*given)
    return given[0] if out is not None or results[0].ndim else float(results[0])
