"""Arrays of other libraries, recognised by the module of their type, without importing any.

Arguments are checked where they would be converted, so that NumPy arrays skip the check. Arrays of Dask and xarray are lazy:
their numbers may be on a disk, on another machine, or not computed yet. Arrays of JAX, PyTorch and CuPy carry gradients, or are
on another device; matrices of CasADi are symbols, or columns. Converting either in silence would be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

from fallingcat.errors import InputError

LAZY = {"dask": "a Dask array", "xarray": "an xarray object"}
FRAMEWORKS = {"jax": "JAX", "jaxlib": "JAX", "torch": "PyTorch", "cupy": "CuPy", "casadi": "CasADi"}
DOORS = {"JAX": "fc.jax", "PyTorch": "fc.torch", "CasADi": "fc.casadi"}

Function = TypeVar("Function", bound=Callable[..., Any])


class LazyArrayError(InputError):
    """Raised for an argument of Dask or xarray. The methods of a robot catch it and build a lazy result."""


def library(value: Any) -> str:
    """The library that defines a value's type, or a base of it, if it is one of those listed here; else an empty text."""
    return _library(cast(Hashable, type(value)))


@lru_cache(256)
def _library(kind: Hashable) -> str:
    for ancestor in cast(type, kind).__mro__:
        name = ancestor.__module__.partition(".")[0]
        if name in LAZY or (name in FRAMEWORKS and hasattr(kind, "shape")):
            return name
    return ""


def refuse_non_numpy(where: str, name: str, value: Any) -> None:
    """Raise for an array that must not be converted in silence; `LazyArrayError` for a lazy one."""
    several = type(value) is list or type(value) is tuple
    found = _among(value) if several else library(value)
    if not found:
        return
    what = f"{where}: {name}" if where else name
    if found in FRAMEWORKS:
        raise _framework_error(what, FRAMEWORKS[found])
    if several:
        hint = "make one array of them first, as with dask.array.stack"
        raise InputError(f"{what} is a list of arrays that are not NumPy's", got=LAZY[found], hint=hint)
    raise LazyArrayError(
        f"{what} is {LAZY[found]}", expected="an array of numbers that are in memory",
        hint="methods of a robot and functions of fc.compile take it as it is; elsewhere pass x.compute() or x.values",
    )  # fmt: skip


def _among(values: list[Any] | tuple[Any, ...]) -> str:
    """The library that one of several values comes from, nested lists included; else an empty text."""
    kinds = set(map(type, values))
    found = [name for name in map(_library, kinds) if name]
    if not found and not kinds.isdisjoint((list, tuple)):
        found = [name for name in [_among(x) for x in values if type(x) is list or type(x) is tuple] if name]
    return found[0] if found else ""


def _framework_error(what: str, framework: str) -> InputError:
    """The error for an array of JAX, PyTorch, CuPy or CasADi, with the function that takes it."""
    hint = "everything is computed on the CPU: cupy.asnumpy(x) copies it"
    if framework in DOORS:
        converted = "x.full() has the numbers of a DM" if framework == "CasADi" else "np.asarray(x) converts it"
        hint = f"{DOORS[framework]}(robot) has the functions that take it and can be differentiated; {converted}"
    return InputError(f"{what} is an array of {framework}", expected="an array of NumPy", hint=hint)


def deferrable(function: Function) -> Function:
    """A method that also takes lazy arguments of Dask and xarray, and then returns lazy results of their kind."""

    @wraps(function)
    def method(self: Any, *values: Any, **named: Any) -> Any:
        try:
            return function(self, *values, **named)
        except LazyArrayError:
            pass
        return self._deferred(function, values, named)

    return cast(Function, method)
