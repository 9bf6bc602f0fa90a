"""The few functions an algorithm may apply to a scalar, for every kind of scalar.

An algorithm in this library is written once and runs on Python floats, complex numbers (complex
step), mpmath numbers (50 digits) and the symbols of the tracer. Arithmetic comes from the operators
of the scalar itself; what operators cannot express is here. Other kinds of scalar `register`.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, TypeVar

from fallingcat import elementary

Scalar: TypeAlias = Any
"""float, complex, mpmath number or traced symbol."""

Matrix: TypeAlias = Sequence[Sequence[Scalar]]
T = TypeVar("T")


class Dots(NamedTuple):
    """Neighbouring dot products of one vector: out[place + c step] = A[left:] . B[:terms, right + c] for c < columns."""

    left: int
    right: int
    columns: int
    place: int
    step: int
    terms: int = 0
    """Number of terms of each dot product; 0 for as many as B has rows."""


@dataclass(frozen=True)
class Functions:
    """Functions of one kind of scalar, beyond its operators."""

    sin: Callable[[Scalar], Scalar]
    cos: Callable[[Scalar], Scalar]
    sqrt: Callable[[Scalar], Scalar]
    atan2: Callable[[Scalar, Scalar], Scalar]
    where_less: Callable[[Scalar, Scalar, Scalar, Scalar], Scalar]
    """(x, y, a, b) -> a if x < y else b."""
    matmul: Callable[[Matrix, Matrix, bool, bool], list[list[Scalar]]] | None = None
    """(A, B, negate, symmetric) -> A B or -A B, where a kind of scalar can do better than entry by entry."""
    dots: Callable[..., Sequence[Scalar]] | None = None
    """`dots`, likewise."""
    table: Callable[..., Any] | None = None
    """(terms, rows, columns, symmetric) -> a matrix of dot products (`tensors.MatrixOfDots`) that is not written out."""
    worth_a_table: Callable[[int], bool] | None = None
    """Are there so many products that a table costs less than writing them out?"""
    cheapest: Callable[..., Any] | None = None
    """`cheapest`, for a kind of scalar that can say what a result costs."""
    keep: Callable[[Scalar], None] | None = None
    """`keep`, for a kind of scalar whose values are compiled."""
    outermost: bool = False
    """Is it composed of scalars of another kind? Then its functions are called wherever it is among the arguments."""


def _real(x: Scalar) -> float:
    return x.real if isinstance(x, complex) else x


def _complex_atan2(y: Scalar, x: Scalar) -> complex:
    """First-order extension of atan2 off the real axis: exactly what a complex step needs."""
    y, x = complex(y), complex(x)
    slope = (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2)
    return complex(elementary.atan2(y.real, x.real), slope)


def _sqrt(x: float) -> float:
    return math.sqrt(x) if x >= 0.0 else math.nan


PLAIN = _REAL = Functions(elementary.sin, elementary.cos, _sqrt, elementary.atan2, lambda x, y, a, b: a if x < y else b)
_COMPLEX = Functions(cmath.sin, cmath.cos, cmath.sqrt, _complex_atan2, lambda x, y, a, b: a if _real(x) < _real(y) else b)
_KINDS: dict[type, Functions] = {float: _REAL, int: _REAL, complex: _COMPLEX}


def register(kind: type, functions: Functions) -> None:
    """Teach the algorithms a new kind of scalar."""
    _KINDS[kind] = functions


def functions(*scalars: Scalar) -> Functions:
    """The functions of the most special kind of scalar among the arguments."""
    best = _REAL
    for x in scalars:
        kind = type(x)
        if kind is float or kind is int:
            continue
        found = _KINDS.get(kind)
        if found is None:
            found = _discover(x)
        if found.outermost:
            return found
        if best is _REAL or (best is _COMPLEX and found is not _REAL):
            best = found
    return best


def _discover(x: Scalar) -> Functions:
    """NumPy scalars behave as the Python numbers they derive from; mpmath brings its own functions."""
    if isinstance(x, float):
        found = _REAL
    elif isinstance(x, complex):
        found = _COMPLEX
    elif hasattr(x, "_mpf_") or hasattr(x, "_mpc_"):
        mp = x.context
        found = Functions(mp.sin, mp.cos, mp.sqrt, mp.atan2, lambda a, b, c, d: c if a < b else d)
    else:
        raise TypeError(f"not a scalar: {x!r} of type {type(x).__name__}; register its functions with fallingcat.scalar.register")
    _KINDS[type(x)] = found
    return found


def sin(x: Scalar) -> Scalar:
    return functions(x).sin(x)


def cos(x: Scalar) -> Scalar:
    return functions(x).cos(x)


def sqrt(x: Scalar) -> Scalar:
    return functions(x).sqrt(x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    return functions(y, x).atan2(y, x)


def where_less(x: Scalar, y: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """a where x < y, b elsewhere. Both are computed, so neither may raise an error."""
    return functions(x, y, a, b).where_less(x, y, a, b)


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """The products added one after the other. `sum` would add floats with another rounding from Python 3.12 on."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def matmul(A: Matrix, B: Matrix, negate: bool = False, symmetric: bool = False) -> list[list[Scalar]]:
    """A B, or -A B, computing half of it if it is known to be symmetric.

    Traced, it becomes a loop in the compiled code instead of being written out.
    """
    for row in (*A, *B):
        for x in row:
            special = _KINDS.get(type(x))
            if special is not None and special.matmul is not None:
                return special.matmul(A, B, negate, symmetric)
    sign = -1.0 if negate else 1.0
    columns = list(zip(*B, strict=True))
    full = [[sign * dot(row, column) for column in columns] for row in A]
    return [[full[min(i, j)][max(i, j)] for j in range(len(full))] for i in range(len(full))] if symmetric else full


def dots(
    A: Sequence[Scalar], B: Matrix, jobs: Sequence[Dots], size: int, slab: int = 0, add: bool = False, side: int = 0
) -> Sequence[Scalar]:
    """A flat list of `size` numbers: dot products of pieces of A with columns of B, placed by `jobs`, and zero elsewhere.

    Traced, it becomes one loop over a table, however many jobs there are. `slab`: jobs stay within stretches of this length,
    which are filled one after the other. `add`: jobs that meet at a place add up; otherwise they must not meet.
    `side`: of a symmetric matrix; jobs go along rows, and what they place at (i, j) is placed at (j, i) too; no slabs, no adding.
    """
    for x in (A, *A) if isinstance(A, list) else (A,):
        special = _KINDS.get(type(x))
        if special is not None and special.dots is not None:
            return special.dots(A, B, jobs, size, slab, add, side)
    for row in B:
        for x in row:
            special = _KINDS.get(type(x))
            if special is not None and special.dots is not None:
                return special.dots(A, B, jobs, size, slab, add, side)
    out: list[Scalar] = [0.0] * size
    for left, right, columns, place, step, terms in jobs:
        vector = A[left : left + (terms or len(B))]
        for c in range(columns):
            total = dot(vector, [row[right + c] for row in B[: len(vector)]])
            at = place + c * step
            out[at] = out[at] + total if add else total
            if side:
                out[at % side * side + at // side] = out[at]
    return out


def cheapest(x: Sequence[Scalar], *ways: Callable[[], T]) -> T:
    """The result of one of several ways to compute the same of x: traced, of the one that costs the least; else of the first."""
    special = functions(*x).cheapest
    return ways[0]() if special is None else special(x, ways)


def keep(*matrices: Matrix) -> None:
    """Mark intermediate results that several functions compute in the same way.

    Traced, the operations up to them are compiled separately, so that such functions share the machine code.
    The first number is left out: if it is the first result, `trace.program` adds the taint of the inputs to it.
    """
    numbers = (x for matrix in matrices for row in matrix for x in row)
    for x in islice(numbers, 1, None):
        special = _KINDS.get(type(x))
        if special is not None and special.keep is not None:
            special.keep(x)


def tensor(flat: Sequence[Scalar], shape: tuple[int, ...]) -> Any:
    """Nested lists from a flat one, row-major; a traced result of `dots` stays one object."""
    shaped = getattr(flat, "shaped", None)
    if shaped is not None:
        return shaped(shape)
    for n in reversed(shape[1:]):
        flat = [flat[k : k + n] for k in range(0, len(flat), n or 1)]
    return flat
