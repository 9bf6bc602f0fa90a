"""Blocks in the loop language, against NumPy, and programs run on other numbers than floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.scalar import Dots
from fallingcat.trace import interpret
from fallingcat.trace.blocks import Product
from fallingcat.trace.dots import DotTable
from fallingcat.trace.loops import Loops, run, variable, whole
from fallingcat.trace.lower import Part, product_loops, table_loops

PLAIN: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a, "fma": lambda a, b, c: a * b + c, "fms": lambda a, b, c: a * b - c, "fnma": lambda a, b, c: c - a * b,
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "atan2": np.arctan2, "taint": lambda a: a * 0.0,
    "select": lambda a, b, c, d: np.where(a < b, c, d),
}  # fmt: skip


def done(loops: Loops, size: int, A: Any, B: Any, **more: list[float]) -> list[float]:
    C = [np.nan] * size
    run(loops, {"A": np.ravel(A).tolist(), "B": np.ravel(B).tolist(), "C": C, **more}, PLAIN)
    return C


def test_an_index_is_a_polynomial() -> None:
    i, j = variable("i"), variable("j")
    assert (i + 2) * (j * 3) == i * j * 3 + j * 6
    assert i * 0 == whole(0)
    assert 1 + i + 1 == i + 2


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("columns", [1, 7, 8, 19])
@pytest.mark.parametrize("inner", [(0, 1, 2), (4,), (5, 3, 0), (0, 2, 4, 6)])
@pytest.mark.parametrize("negate", [False, True])
def test_a_product(rows: int, columns: int, inner: tuple[int, ...], negate: bool) -> None:
    rng = np.random.default_rng(rows + columns)
    A, B = rng.normal(size=(rows + 1, 7)), rng.normal(size=(len(inner), columns + 2))
    op = Product(rows, columns, inner, 7, columns + 2, 1, 2, negate)
    expected = (-1.0 if negate else 1.0) * A[1:, inner] @ B[:, 2:]
    np.testing.assert_allclose(done(product_loops(op), op.size, A, B), expected.ravel(), rtol=1e-13, atol=1e-15)


def test_a_product_goes_where_it_belongs() -> None:
    """Two runs of columns in two arrays, one with rows at places that follow no rule."""
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(3, 4)), rng.normal(size=(4, 12))
    op = Product(3, 12, (0, 1, 2, 3), 4, 12)
    parts = [Part("x", 0, 9, (0, 30, 10)), Part("y", 9, 3, (1, 5, 9))]
    x, y = [0.0] * 40, [0.0] * 12
    done(product_loops(op, parts), 0, A, B, x=x, y=y)
    expected = A @ B
    for i, (a, b) in enumerate([(0, 1), (30, 5), (10, 9)]):
        np.testing.assert_allclose([*x[a : a + 9], *y[b : b + 3]], expected[i], rtol=1e-13)


@pytest.mark.parametrize("columns", [1, 4, 6])
@pytest.mark.parametrize("different", [False, True])
@pytest.mark.parametrize("add", [False, True])
def test_a_table(columns: int, different: bool, add: bool) -> None:
    rng = np.random.default_rng(columns)
    A, B = rng.normal(size=20), rng.normal(size=(4, 9))
    jobs = (
        Dots(0, 1, columns, 0, 1),
        Dots(5, 2, columns - different or 1, 20, 2 if different else 1, 3 if different else 0),
        Dots(9, 0, columns, 0 if add else 40, 1),
    )
    op = DotTable(60, 4, 9, jobs, 60, add=add)
    expected = np.zeros(60)
    for job in jobs:
        for c in range(job.columns):
            n = op.terms(job)
            expected[job.place + c * job.step] += A[job.left : job.left + n] @ B[:n, job.right + c]
    np.testing.assert_allclose(done(table_loops(op), 60, A, B), expected, rtol=1e-12, atol=1e-15)


def test_a_mirrored_table() -> None:
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=20), rng.normal(size=(3, 9))
    jobs = (Dots(0, 0, 4, 0, 1), Dots(6, 3, 3, 5, 1), Dots(12, 1, 1, 15, 1))
    op = DotTable(16, 3, 9, jobs, 16, side=4)
    expected = np.zeros((4, 4))
    for job in jobs:
        for c in range(job.columns):
            i, j = divmod(job.place + c, 4)
            expected[i, j] = expected[j, i] = A[job.left : job.left + 3] @ B[:, job.right + c]
    np.testing.assert_allclose(done(table_loops(op), 16, A, B), expected.ravel(), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["forward_dynamics_derivatives", "christoffel_symbols", "difference"])
def test_a_program_runs_on_arrays(name: str) -> None:
    """All states at once, as an array library would: one array per value."""
    robot = fc.load("tree9")
    kernel = robot.kernel(name)
    rng = np.random.default_rng(3)
    given = {name: np.array([robot.random_configuration(rng) for _ in range(4)]) for name in ("q", "q0", "q1")}
    inputs = [given[i.name] if i.name in given else rng.normal(size=(4, i.size)) for i in kernel.task.inputs]
    results = interpret(kernel.program, [np.moveaxis(x, -1, 0) for x in inputs], PLAIN)
    expected = kernel(*inputs)
    for flat, value in zip(results, expected if kernel.task.results else (expected,), strict=True):
        got = np.stack([np.broadcast_to(x, (4,)) for x in flat], axis=-1)
        np.testing.assert_allclose(got, np.reshape(value, got.shape), rtol=1e-9, atol=1e-11)
