"""Dask arrays: a function of blocks of states as a lazy array, or several, blockwise over the leading axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.arrays.axes import common_axes
from fallingcat.arrays.foreign import library
from fallingcat.arrays.sent import Sent, itself
from fallingcat.errors import InputError


@dataclass(frozen=True)
class Argument:
    """An array that a function is called with."""

    name: str
    value: Any
    core: int
    """Its last axes, which belong to one state; those before are batch axes."""


def probe(function: Callable[..., Any], sent: Sent, arguments: Sequence[Argument]) -> Any:
    """What a function returns for a batch of no states: shapes, or the error that is to be raised before anything starts."""
    return function(*map(_no_states, arguments), sent=sent)


def _no_states(argument: Argument) -> Any:
    value = argument.value
    if not library(value):
        value = np.asarray(value)
        if value.ndim == argument.core:
            return value
    elif not isinstance(getattr(value, "shape", None), tuple) or not hasattr(value, "dtype"):
        hint = "dask.array.from_delayed, df.to_dask_array and ds.q make arrays"
        raise InputError(
            f"{argument.name} is no array", expected="an array of Dask or xarray", got=type(value).__name__, hint=hint
        )
    if value.dtype.kind not in "fiub":
        raise InputError(f"{argument.name} does not hold real numbers", expected="real numbers", got=f"dtype {value.dtype}")
    if len(value.shape) < argument.core:
        return np.zeros(value.shape, dtype=value.dtype)  # one axis is missing: refused as any such array is
    core = value.shape[len(value.shape) - argument.core :]
    if any(isinstance(n, float) and math.isnan(n) for n in core):
        raise InputError(f"{argument.name} has a last axis of unknown length", hint="x.compute_chunk_sizes() finds it")
    return np.zeros((0, *core), dtype=value.dtype)


def blockwise(function: Callable[..., Any], where: str, sent: Sent, arguments: Sequence[Argument]) -> Any:
    """The results of `function(*blocks, sent=...)` as Dask arrays, in the form that it returns them in."""
    results = probe(function, sent, arguments)
    several = isinstance(results, tuple)
    shapes = [r.shape[1:] for r in (results if several else (results,))]
    arrays = [_whole(a) for a in arguments]
    unknown = any(math.isnan(n) for a in arrays for n in a.shape)
    if not unknown:
        common_axes(where, {a.name: x.shape[: x.ndim - a.core] for a, x in zip(arguments, arrays, strict=True)}, own=0)
    made = _build(function, where, sent, arrays, [a.core for a in arguments], shapes, several, unknown)
    return _form(results, made) if several else made[0]


def _form(like: Any, values: Sequence[Any]) -> Any:
    return type(like)(*values) if hasattr(like, "_fields") else tuple(values)


def _whole(argument: Argument) -> Any:
    """A Dask array with one block along the axes of a state."""
    import dask.array as da

    value = argument.value
    if library(value) != "dask":
        value = np.asarray(value)
        return da.from_array(value, chunks=-1 if value.ndim == argument.core else "auto")
    last = {k: -1 for k in range(value.ndim - argument.core, value.ndim) if len(value.chunks[k]) > 1}
    return value.rechunk(last) if last else value


def _build(
    function: Callable[..., Any], where: str, sent: Sent, arrays: Sequence[Any], cores: Sequence[int],
    shapes: Sequence[tuple[int, ...]], several: bool, unknown: bool,
) -> list[Any]:  # fmt: skip
    """Layers that stay symbolic: their size does not depend on the number of blocks."""
    import dask.array as da
    from dask import delayed

    batch = max(a.ndim - core for a, core in zip(arrays, cores, strict=True))
    loop = tuple(f"batch{k}" for k in range(batch))
    pairs: list[Any] = []
    for k, (a, core) in enumerate(zip(arrays, cores, strict=True)):
        pairs += [a, (*loop[batch - (a.ndim - core) :], *(f"argument{k}.{i}" for i in range(core)))]
    # the robot is a task of its own, on which all blocks depend: every worker gets it once
    shared = delayed(itself, pure=True)(sent, dask_key_name=f"fallingcat-{sent.token}")
    options = {"sent": shared, "align_arrays": not unknown, "concatenate": False}

    def axes(output: int) -> dict[str, int]:
        return {f"result{output}.{i}": n for i, n in enumerate(shapes[output])}

    if not several:
        empty = np.empty((0,) * (batch + len(shapes[0])))
        new, block = axes(0), _Block(function, cores)
        return [da.blockwise(block, (*loop, *new), *pairs, new_axes=new, token=where, meta=empty, **options)]
    together = da.blockwise(
        _Block(function, cores), loop, *pairs, token=where, meta=np.empty((0,) * batch, dtype=object), dtype=object, **options
    )
    made = []
    for k, shape in enumerate(shapes):
        new, empty = axes(k), np.empty((0,) * (batch + len(shape)))
        made.append(da.blockwise(
            _pick, (*loop, *new), together, loop, new_axes=new, token=f"{where}-{k}", meta=empty, k=k, align_arrays=False
        ))  # fmt: skip
    return made


class _Block:
    """A function of whole blocks: axes of a state have one block, which comes in a list for each of them."""

    def __init__(self, function: Callable[..., Any], cores: Sequence[int]) -> None:
        self.function, self.cores = function, tuple(cores)

    def __dask_tokenize__(self) -> Any:
        return self.cores, self.function.__dask_tokenize__()  # type: ignore[attr-defined]

    def __call__(self, *blocks: Any, sent: Sent) -> Any:
        plain = []
        for block, core in zip(blocks, self.cores, strict=True):
            for _ in range(core):
                (block,) = block
            plain.append(block)
        result = self.function(*plain, sent=sent)
        return tuple(result) if isinstance(result, tuple) else np.asarray(result)


def _pick(results: tuple[NDArray[Any], ...], k: int) -> NDArray[Any]:
    return np.asarray(results[k])
