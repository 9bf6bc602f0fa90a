"""Products of many dense matrices: every entry is one chain of fused multiply-adds, in the order of the inner index.

BLAS chooses the order of its sums by the processor and the number of threads; here the bits depend on neither, nor on the
number of lanes. One native function for matrices of any size, compiled at first use:

    void fc_matmul(i64 count, i64 rows, i64 inner, i64 columns, ptr A, ptr B, ptr C, i64 step_A, i64 step_B)

reads row-major matrices step_A and step_B doubles apart (0 repeats one). Numbers of rows and columns are multiples of the tile's.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.codegen import native
from fallingcat.codegen.lanes import Lanes, declarations

Array = NDArray[np.float64]
ROWS = 4
"""Rows of a tile."""
VECTORS = 2
"""Vectors per row of a tile."""


def matmul(A: ArrayLike, B: ArrayLike) -> Array:
    """A B, (..., i, j) for A (..., i, k) and B (..., k, j)."""
    left, right = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    shape = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    rows, inner, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    width = native.host_lanes().width * VECTORS
    left = _padded(left, shape, -rows % ROWS, 0)
    right = _padded(right, shape, 0, -columns % width)
    total = np.zeros((*shape, left.shape[-2], right.shape[-1]))
    if inner and total.size:
        steps = (left[0].size if left.ndim > 2 else 0, right[0].size if right.ndim > 2 else 0)
        count = math.prod(shape)
        sizes = (count, left.shape[-2], inner, right.shape[-1])
        _function()(*sizes, left.ctypes.data, right.ctypes.data, total.ctypes.data, *steps)
    return total[..., :rows, :columns]


def _padded(X: Array, shape: tuple[int, ...], rows: int, columns: int) -> Array:
    """X contiguous and padded with `rows` and `columns` of zeros: a stack of matrices of that shape, or one that is repeated."""
    if X.ndim > 2:
        X = np.broadcast_to(X, (*shape, *X.shape[-2:])).reshape(math.prod(shape), *X.shape[-2:])
    if not (rows or columns):
        return np.ascontiguousarray(X)
    padded = np.zeros((*X.shape[:-2], X.shape[-2] + rows, X.shape[-1] + columns))
    padded[..., : X.shape[-2], : X.shape[-1]] = X
    return padded


@cache
def _function() -> Callable[..., None]:
    code = native.Code(native.compile_object(matmul_text(native.host_lanes())), {})
    kinds = [*[ctypes.c_int64] * 4, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2]
    function = ctypes.CFUNCTYPE(None, *kinds)(code.address("fc_matmul"))
    function.code = code  # type: ignore[attr-defined]  # lives as long as the function
    return function


def matmul_text(lanes: Lanes) -> str:
    """The module text with `fc_matmul`."""
    T, W = lanes.type, lanes.width
    tile = [(r, v) for r in range(ROWS) for v in range(VECTORS)]
    sums = [f"  %sum{r}_{v} = phi {T} [ zeroinitializer, %column ], [ %next{r}_{v}, %inner_loop ]" for r, v in tile]
    loads = [_load_vector(v, lanes) for v in range(VECTORS)] + [_load_entry(r, lanes) for r in range(ROWS)]
    fma = f"call {T} @llvm.fma.{lanes.suffix}"
    adds = [f"  %next{r}_{v} = {fma}({T} %a{r}, {T} %b{v}, {T} %sum{r}_{v})" for r, v in tile]
    stores = [_store(r, v, lanes) for r, v in tile]
    return "\n".join([declarations(lanes), HEAD, *sums, *loads, *adds, MIDDLE, *stores, FOOT.format(tile=W * VECTORS, rows=ROWS)])


def _load_vector(v: int, lanes: Lanes) -> str:
    return (
        f"  %at_b{v} = getelementptr double, ptr %row_b, i64 {v * lanes.width}\n"
        f"  %b{v} = load {lanes.type}, ptr %at_b{v}, align 8"
    )


def _load_entry(r: int, lanes: Lanes) -> str:
    """An entry of A in every lane."""
    T, W = lanes.type, lanes.width
    return (
        f"  %row{r} = mul i64 %inner, {r}\n"
        f"  %place{r} = add i64 %row{r}, %k\n"
        f"  %at_a{r} = getelementptr double, ptr %rows_a, i64 %place{r}\n"
        f"  %entry_a{r} = load double, ptr %at_a{r}, align 8\n"
        f"  %one_a{r} = insertelement {T} undef, double %entry_a{r}, i32 0\n"
        f"  %a{r} = shufflevector {T} %one_a{r}, {T} undef, <{W} x i32> zeroinitializer"
    )


def _store(r: int, v: int, lanes: Lanes) -> str:
    return (
        f"  %down{r}_{v} = mul i64 %columns, {r}\n"
        f"  %along{r}_{v} = add i64 %down{r}_{v}, {v * lanes.width}\n"
        f"  %at_c{r}_{v} = getelementptr double, ptr %tile_c, i64 %along{r}_{v}\n"
        f"  store {lanes.type} %next{r}_{v}, ptr %at_c{r}_{v}, align 8"
    )


HEAD = """
define void @fc_matmul(i64 %count, i64 %rows, i64 %inner, i64 %columns, ptr %A, ptr %B, ptr %C, i64 %step_A, i64 %step_B) #1 {
start:
  %step_C = mul i64 %rows, %columns
  br label %matrix
matrix:
  %m = phi i64 [ 0, %start ], [ %m_next, %row_done ]
  %offset_a = mul i64 %m, %step_A
  %offset_b = mul i64 %m, %step_B
  %offset_c = mul i64 %m, %step_C
  %matrix_a = getelementptr double, ptr %A, i64 %offset_a
  %matrix_b = getelementptr double, ptr %B, i64 %offset_b
  %matrix_c = getelementptr double, ptr %C, i64 %offset_c
  br label %row
row:
  %i = phi i64 [ 0, %matrix ], [ %i_next, %column_done ]
  %start_a = mul i64 %i, %inner
  %start_c = mul i64 %i, %columns
  %rows_a = getelementptr double, ptr %matrix_a, i64 %start_a
  %rows_c = getelementptr double, ptr %matrix_c, i64 %start_c
  br label %column
column:
  %j = phi i64 [ 0, %row ], [ %j_next, %tile_done ]
  %column_b = getelementptr double, ptr %matrix_b, i64 %j
  %tile_c = getelementptr double, ptr %rows_c, i64 %j
  br label %inner_loop
inner_loop:
  %k = phi i64 [ 0, %column ], [ %k_next, %inner_loop ]
  %row_b = phi ptr [ %column_b, %column ], [ %row_b_next, %inner_loop ]"""

MIDDLE = """  %row_b_next = getelementptr double, ptr %row_b, i64 %columns
  %k_next = add i64 %k, 1
  %more_inner = icmp ult i64 %k_next, %inner
  br i1 %more_inner, label %inner_loop, label %tile_done
tile_done:"""

FOOT = """  %j_next = add i64 %j, {tile}
  %more_columns = icmp ult i64 %j_next, %columns
  br i1 %more_columns, label %column, label %column_done
column_done:
  %i_next = add i64 %i, {rows}
  %more_rows = icmp ult i64 %i_next, %rows
  br i1 %more_rows, label %row, label %row_done
row_done:
  %m_next = add i64 %m, 1
  %more = icmp ult i64 %m_next, %count
  br i1 %more, label %matrix, label %done
done:
  ret void
}}
"""
