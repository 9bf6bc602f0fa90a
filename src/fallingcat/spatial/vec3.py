"""Vectors and matrices of size three over any scalar, as plain tuples.

Zeros that are Python floats stay Python floats, so a tracer can fold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from fallingcat.scalar import Scalar

Vec: TypeAlias = tuple[Scalar, Scalar, Scalar]
Mat: TypeAlias = tuple[Vec, Vec, Vec]
Sym: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
"""A symmetric matrix: xx, xy, xz, yy, yz, zz."""

ZERO: Vec = (0.0, 0.0, 0.0)
IDENTITY: Mat = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
ZERO_MATRIX: Mat = (ZERO, ZERO, ZERO)
SYM_ZERO: Sym = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def vec(x: Sequence[Scalar]) -> Vec:
    return (x[0], x[1], x[2])


def mat(rows: Sequence[Sequence[Scalar]]) -> Mat:
    return (vec(rows[0]), vec(rows[1]), vec(rows[2]))


def add(a: Vec, b: Vec) -> Vec:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a: Vec, b: Vec) -> Vec:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def neg(a: Vec) -> Vec:
    return (-a[0], -a[1], -a[2])


def scale(s: Scalar, a: Vec) -> Vec:
    return (s * a[0], s * a[1], s * a[2])


def dot(a: Vec, b: Vec) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vec, b: Vec) -> Vec:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def skew(a: Vec) -> Mat:
    """The matrix a^ with a^ b = a x b."""
    return ((0.0, -a[2], a[1]), (a[2], 0.0, -a[0]), (-a[1], a[0], 0.0))


def matvec(A: Mat, x: Vec) -> Vec:
    return (dot(A[0], x), dot(A[1], x), dot(A[2], x))


def matTvec(A: Mat, x: Vec) -> Vec:
    """A^T x."""
    return (
        A[0][0] * x[0] + A[1][0] * x[1] + A[2][0] * x[2],
        A[0][1] * x[0] + A[1][1] * x[1] + A[2][1] * x[2],
        A[0][2] * x[0] + A[1][2] * x[1] + A[2][2] * x[2],
    )


def matmul(A: Mat, B: Mat) -> Mat:
    Bt = transpose(B)
    return (matvec(Bt, A[0]), matvec(Bt, A[1]), matvec(Bt, A[2]))


def transpose(A: Mat) -> Mat:
    return ((A[0][0], A[1][0], A[2][0]), (A[0][1], A[1][1], A[2][1]), (A[0][2], A[1][2], A[2][2]))


def matadd(A: Mat, B: Mat) -> Mat:
    return (add(A[0], B[0]), add(A[1], B[1]), add(A[2], B[2]))


def matsub(A: Mat, B: Mat) -> Mat:
    return (sub(A[0], B[0]), sub(A[1], B[1]), sub(A[2], B[2]))


def matscale(s: Scalar, A: Mat) -> Mat:
    return (scale(s, A[0]), scale(s, A[1]), scale(s, A[2]))


def outer(a: Vec, b: Vec) -> Mat:
    return (scale(a[0], b), scale(a[1], b), scale(a[2], b))


def sym_matvec(I: Sym, x: Vec) -> Vec:
    xx, xy, xz, yy, yz, zz = I
    return (
        xx * x[0] + xy * x[1] + xz * x[2],
        xy * x[0] + yy * x[1] + yz * x[2],
        xz * x[0] + yz * x[1] + zz * x[2],
    )


def sym_add(A: Sym, B: Sym) -> Sym:
    return (A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5])


def sym_sub(A: Sym, B: Sym) -> Sym:
    return (A[0] - B[0], A[1] - B[1], A[2] - B[2], A[3] - B[3], A[4] - B[4], A[5] - B[5])


def sym_full(I: Sym) -> Mat:
    xx, xy, xz, yy, yz, zz = I
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def upper(A: Mat) -> Sym:
    """The symmetric matrix whose upper triangle is that of A."""
    return (A[0][0], A[0][1], A[0][2], A[1][1], A[1][2], A[2][2])


def sym_outer(a: Vec) -> Sym:
    """a a^T."""
    return (a[0] * a[0], a[0] * a[1], a[0] * a[2], a[1] * a[1], a[1] * a[2], a[2] * a[2])


def sym_scale(s: Scalar, A: Sym) -> Sym:
    return (s * A[0], s * A[1], s * A[2], s * A[3], s * A[4], s * A[5])
