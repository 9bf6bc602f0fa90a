"""Matrices over any scalar against numpy, and what a product knows of its zeros and ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fallingcat.algorithms.dense import Matrix
from fallingcat.spatial import Force, Motion
from fallingcat.task import Input, Output, Task
from fallingcat.trace import Program, interpret, trace
from trees import Array


def array(A: Matrix) -> Array:
    return np.array(A.rows, dtype=float).reshape(len(A), A.width)


def test_arithmetic(rng: np.random.Generator) -> None:
    a, b, c, x = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.normal(size=(3, 5)), rng.normal(size=3)
    A, B, C = Matrix(a.tolist()), Matrix(b.tolist()), Matrix(c.tolist())
    for found, expected in (
        (A + B, a + b),
        (A - B, a - b),
        (-A, -a),
        (2.0 * A, 2 * a),
        (A * 0.5, a / 2),
        (A.T, a.T),
        (A @ C, a @ c),
        (A.minus_times(C), -a @ c),
        (A.times_symmetric(A.T), a @ a.T),
        (A[1:3], a[1:3]),
        (A[1:3, :2], a[1:3, :2]),
        (A[:, 1:], a[:, 1:]),
        (Matrix.blocks([[A, B], [C.T, Matrix.zero(5, 3)]]), np.block([[a, b], [c.T, np.zeros((5, 3))]])),
        ((A @ A.T).mirrored(), a @ a.T),
        (Matrix.identity(4) @ A, a),
    ):
        np.testing.assert_allclose(array(found), expected, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(A @ x.tolist(), a @ x, rtol=1e-14)
    assert A[2] == a[2].tolist()
    assert list(A) == a.tolist()


def test_diagonals_and_columns(rng: np.random.Generator) -> None:
    a, s, d, e = rng.normal(size=(4, 3)), rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=3)
    A, S = Matrix(a.tolist()), Matrix((s + s.T).tolist())
    for found, expected in (
        (A.scale_rows(d.tolist()), np.diag(d) @ a),
        (A.scale_columns(e.tolist()), a @ np.diag(e)),
        (S.scale_symmetric(d.tolist()), np.diag(d) @ (s + s.T) @ np.diag(d)),
        (S.plus_diagonal(d.tolist()), s + s.T + np.diag(d)),
        (A.gram(), a @ a.T),
        (A.take([2, 0]), a[:, [2, 0]]),
        (A.each_column(lambda x: [2.0 * y for y in reversed(x)]), 2.0 * a[::-1]),
        (Matrix.from_columns(a.T.tolist(), 4), a),
    ):
        np.testing.assert_allclose(array(found), expected, rtol=1e-14, atol=1e-15)
    assert S.diagonal == np.diag(s + s.T).tolist()
    scaled = S.scale_symmetric(d.tolist())
    assert scaled.rows == scaled.T.rows
    assert (len(A.take([])), A.take([]).width) == (4, 0)
    assert (len(Matrix.from_columns([], 4)), Matrix.from_columns([], 4).width) == (4, 0)


def test_symmetric_systems(rng: np.random.Generator) -> None:
    a = rng.normal(size=(4, 4))
    a = a @ a.T + np.eye(4)
    b = rng.normal(size=4)
    np.testing.assert_allclose(array(Matrix(a.tolist()).inverse_symmetric()), np.linalg.inv(a), rtol=1e-11)
    np.testing.assert_allclose(Matrix(a.tolist()).solve(b.tolist()), np.linalg.solve(a, b), rtol=1e-11)


def test_twists_and_wrenches_are_columns(rng: np.random.Generator) -> None:
    x = rng.normal(size=(6, 2))
    assert np.array_equal(array(Matrix.columns([Motion.of(x[:, k], "a") for k in range(2)])), x)
    assert np.array_equal(array(Matrix.columns([Force.of(x[:, k], "a") for k in range(2)])), x)


def test_nothing_at_all() -> None:
    none = Matrix.columns([])
    assert (len(none), none.width) == (6, 0)
    assert (len(none.T), none.T.width) == (0, 6)
    assert (none.T @ none).rows == []
    assert (none @ none.T).rows == [[0.0] * 6] * 6
    assert Matrix.blocks([[none, Matrix.identity(6)]]).rows == Matrix.identity(6).rows
    with pytest.raises(ValueError, match=r"differ in width: \[\[3\], \[2\]\]"):
        Matrix.blocks([[Matrix.zero(2, 3)], [Matrix.zero(2, 2)]])


def traced(function: Any, size: int, shape: tuple[int, int]) -> Program:
    return trace(Task("f", (Input("x", size),), (Output("y", shape),), function))


BASE, JOINTS = 6, 12
ALL = BASE + JOINTS


def change(x: Any) -> Matrix:
    """[A; 0 1], with six rows of numbers, among them a zero block."""
    top = [[x[i * ALL + j] if i < 3 or j >= 3 else 0.0 for j in range(ALL)] for i in range(BASE)]
    return Matrix.blocks([[Matrix(top)], [Matrix.identity(ALL)[BASE:]]])


@pytest.mark.parametrize("left", [False, True])
def test_a_product_knows_zeros_and_ones_of_either_factor(left: bool, rng: np.random.Generator) -> None:
    """[A; 0 1]^T Y and Y [A; 0 1]: six rows are multiplied, the others added."""
    size = BASE * ALL + ALL * ALL

    def function(x: Any) -> Any:
        T, Y = change(x), Matrix([x[BASE * ALL + i * ALL :][:ALL] for i in range(ALL)])
        return T.T @ Y if left else Y @ T

    program = traced(function, size, (ALL, ALL))
    x = rng.normal(size=size)
    (flat,) = interpret(program, [x.tolist()])
    T, Y = array(change(x.tolist())), x[BASE * ALL :].reshape(ALL, ALL)
    np.testing.assert_allclose(np.reshape(flat, (ALL, ALL)), T.T @ Y if left else Y @ T, rtol=1e-12, atol=1e-13)
    multiplied = sum(op.flops for op, _ in program.instructions if not isinstance(op, str))
    assert multiplied == 2 * ALL * (3 * 3 + 6 * (ALL - 3))
    assert program.counts()["add"] - program.counts()["taint"] == ALL * JOINTS
    assert "mul" not in program.counts()
    assert "fma" not in program.counts()


def test_rows_of_many_patterns_share_a_product(rng: np.random.Generator) -> None:
    """Each row with a zero of its own: one loop, not eight."""

    def function(x: Any) -> Any:
        A = Matrix([[0.0 if i == j else x[8 * i + j] for j in range(8)] for i in range(8)])
        return A @ Matrix([x[64 + 8 * i :][:8] for i in range(8)])

    program = traced(function, 128, (8, 8))
    assert program.counts()["product"] == 1
    x = rng.normal(size=128)
    (flat,) = interpret(program, [x.tolist()])
    a, b = x[:64].reshape(8, 8) * (1 - np.eye(8)), x[64:].reshape(8, 8)
    np.testing.assert_allclose(np.reshape(flat, (8, 8)), a @ b, rtol=1e-12, atol=1e-13)
