"""Dask arrays: a function of blocks of states becomes one or several lazy arrays, blockwise over the leading axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.arrays.axes import common_axes
from fallingcat.arrays.non_numpy import library
from fallingcat.arrays.shared_objects import SharedObject, identity
from fallingcat.errors import InputError


@dataclass(frozen=True)
class Argument:
    """An array that a function is called with."""

    name: str
    value: Any
    core: int
    """Number of last axes that belong to one state; those before are batch axes."""


def probe(function: Callable[..., Any], shared: SharedObject, arguments: Sequence[Argument]) -> Any:
    """The result of a function for an empty batch: it has the shapes, and errors are raised before anything is computed."""
    return function(*map(_no_states, arguments), shared=shared)


def _no_states(argument: Argument) -> Any:
    value = argument.value
    if not library(value):
        value = np.asarray(value)
        if value.ndim == argument.core:
            return value
    elif not isinstance(getattr(value, "shape", None), tuple) or not hasattr(value, "dtype"):
        hint = "dask.array.from_delayed, df.to_dask_array and ds.q make arrays"
        raise InputError(
            f"{argument.name} is not an array", expected="an array of Dask or xarray", got=type(value).__name__, hint=hint
        )
    if value.dtype.kind not in "fiub":
        raise InputError(f"{argument.name} does not hold real numbers", expected="real numbers", got=f"dtype {value.dtype}")
    if len(value.shape) < argument.core:
        return np.zeros(value.shape, dtype=value.dtype)  # an axis is missing: the function refuses it as it refuses a NumPy array
    core = value.shape[len(value.shape) - argument.core :]
    if any(isinstance(n, float) and math.isnan(n) for n in core):
        raise InputError(f"{argument.name} has a last axis of unknown length", hint="x.compute_chunk_sizes() finds it")
    return np.zeros((0, *core), dtype=value.dtype)


def blockwise(function: Callable[..., Any], where: str, shared: SharedObject, arguments: Sequence[Argument]) -> Any:
    """The results of `function(*blocks, shared=...)` as Dask arrays, in the form that it returns them in."""
    results = probe(function, shared, arguments)
    several = isinstance(results, tuple)
    shapes = [r.shape[1:] for r in (results if several else (results,))]
    arrays = [_single_block(a) for a in arguments]
    unknown = any(math.isnan(n) for a in arrays for n in a.shape)
    if unknown:
        _same_blocks(where, arguments, arrays)
    else:
        common_axes(where, {a.name: x.shape[: x.ndim - a.core] for a, x in zip(arguments, arrays, strict=True)}, core=0)
    made = _build(function, where, shared, arrays, [a.core for a in arguments], shapes, several, unknown)
    return _form(results, made) if several else made[0]


def _same_blocks(where: str, arguments: Sequence[Argument], arrays: Sequence[Any]) -> None:
    """Refuse arrays of unknown length whose blocks cannot match; unknown lengths are compared when the blocks are computed."""
    chunks = [(a.name, x.chunks[: x.ndim - a.core]) for a, x in zip(arguments, arrays, strict=True)]
    for axis in range(1, max(len(c) for _, c in chunks) + 1):
        several = [(name, c[-axis]) for name, c in chunks if len(c) >= axis and c[-axis] != (1,)]
        for name, lengths in several[1:]:
            first = several[0][1]
            if len(lengths) != len(first) or any(m != n for m, n in zip(first, lengths, strict=True) if m == m and n == n):
                raise InputError(
                    f"{where}: {several[0][0]} and {name} come in different blocks, and not all lengths are known",
                    expected=f"blocks of {first}", got=f"blocks of {lengths}",
                    hint="x.compute_chunk_sizes() finds lengths; x.rechunk changes blocks then",
                )  # fmt: skip


def _form(like: Any, values: Sequence[Any]) -> Any:
    return type(like)(*values) if hasattr(like, "_fields") else tuple(values)


def _single_block(argument: Argument) -> Any:
    """A Dask array with a single block along the core axes."""
    import dask.array as da

    value = argument.value
    if library(value) != "dask":
        value = np.asarray(value)
        return da.from_array(value, chunks=-1 if value.ndim == argument.core else "auto")
    last = {k: -1 for k in range(value.ndim - argument.core, value.ndim) if len(value.chunks[k]) > 1}
    return value.rechunk(last) if last else value


def _build(
    function: Callable[..., Any], where: str, shared: SharedObject, arrays: Sequence[Any], cores: Sequence[int],
    shapes: Sequence[tuple[int, ...]], several: bool, unknown: bool,
) -> list[Any]:  # fmt: skip
    """Blockwise layers of the task graph, whose size does not depend on the number of blocks."""
    import dask.array as da
    from dask import delayed

    batch = max(a.ndim - core for a, core in zip(arrays, cores, strict=True))
    loop = tuple(f"batch{k}" for k in range(batch))
    pairs: list[Any] = []
    for k, (a, core) in enumerate(zip(arrays, cores, strict=True)):
        pairs += [a, (*loop[batch - (a.ndim - core) :], *(f"argument{k}.{i}" for i in range(core)))]
    # the robot is a task of its own, on which all blocks depend: each worker gets it once
    node = delayed(identity, pure=True)(shared, dask_key_name=f"fallingcat-{shared.token}")
    options = {"shared": node, "align_arrays": not unknown, "concatenate": False}

    def axes(output: int) -> dict[str, int]:
        return {f"result{output}.{i}": n for i, n in enumerate(shapes[output])}

    ones = [tuple(n == 1 for n in a.shape[: a.ndim - core]) for a, core in zip(arrays, cores, strict=True)] if unknown else None
    block = _Block(function, where, cores, ones)
    if not several:
        new, empty = axes(0), np.empty((0,) * (batch + len(shapes[0])))
        return [da.blockwise(block, (*loop, *new), *pairs, new_axes=new, token=where, meta=empty, **options)]
    together = da.blockwise(block, loop, *pairs, token=where, meta=np.empty((0,) * batch, dtype=object), dtype=object, **options)
    made = []
    for k, shape in enumerate(shapes):
        new, empty = axes(k), np.empty((0,) * (batch + len(shape)))
        made.append(da.blockwise(
            _pick, (*loop, *new), together, loop, new_axes=new, token=f"{where}-{k}", meta=empty, k=k, align_arrays=False
        ))  # fmt: skip
    return made


class _Block:
    """A function as Dask calls it on blocks: an axis of a state has one block, in a list of length one per such axis."""

    def __init__(
        self, function: Callable[..., Any], where: str, cores: Sequence[int], ones: Sequence[tuple[bool, ...]] | None
    ) -> None:
        self.function, self.where, self.cores, self.ones = function, where, tuple(cores), ones

    def __dask_tokenize__(self) -> Any:
        return self.cores, self.ones, self.function.__dask_tokenize__()  # type: ignore[attr-defined]

    def __call__(self, *blocks: Any, shared: SharedObject) -> Any:
        plain = []
        for block, core in zip(blocks, self.cores, strict=True):
            for _ in range(core):
                (block,) = block
            plain.append(block)
        if self.ones is not None:
            self._compare(plain, self.ones)
        result = self.function(*plain, shared=shared)
        return tuple(result) if isinstance(result, tuple) else np.asarray(result)

    def _compare(self, blocks: Sequence[Any], ones: Sequence[tuple[bool, ...]]) -> None:
        """Check blocks whose lengths were unknown: an axis of length 1 is broadcast only if that length was known before."""
        found: dict[int, int] = {}
        for block, core, single in zip(blocks, self.cores, ones, strict=True):
            for axis, length in enumerate(reversed(block.shape[: block.ndim - core])):
                if not single[len(single) - 1 - axis] and found.setdefault(axis, length) != length:
                    raise InputError(
                        f"{self.where}: blocks of arrays of unknown length do not match", expected=f"{found[axis]} states",
                        got=f"{length}", hint="arrays that are filtered must be filtered alike",
                    )  # fmt: skip


def _pick(results: tuple[NDArray[Any], ...], k: int) -> NDArray[Any]:
    return np.asarray(results[k])
