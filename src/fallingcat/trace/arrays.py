"""Arrays with symbols in them: conversion and checks of arguments, for code that is otherwise written for arrays of numbers."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.trace.expr import Expr


def real(value: Any) -> NDArray[Any]:
    """The value as an array of float64; if it contains a symbol, as an array of objects (symbols and floats)."""
    a = np.asarray(value)
    if a.dtype == object and any(type(x) is Expr for x in a.flat):
        return _floats_and_symbols(a)
    return np.asarray(value, dtype=np.float64)


def mixed(value: Any) -> NDArray[Any] | None:
    """The array of objects that a value is, if it holds symbols and real numbers only; None for anything else."""
    try:
        a = np.asarray(value)
    except (TypeError, ValueError):
        return None
    if a.dtype != object or not all(type(x) is Expr or isinstance(x, Real) for x in a.flat):
        return None
    return _floats_and_symbols(a)


def stand_in(a: NDArray[Any], symbol: float = np.nan) -> NDArray[Any]:
    """The same array with a number in place of every symbol: for checks of shapes, and of the numbers that are known."""
    if a.dtype != object:
        return a
    return _each(lambda x: symbol if type(x) is Expr else x, a).astype(np.float64)


def _floats_and_symbols(a: NDArray[Any]) -> NDArray[Any]:
    return _each(lambda x: x if type(x) is Expr else float(x), a)


def _each(function: Any, a: NDArray[Any]) -> NDArray[Any]:
    out = np.empty(a.shape, dtype=object)
    out.ravel()[:] = [function(x) for x in a.flat]
    return out
