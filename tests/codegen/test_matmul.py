"""Products of matrices with the same bits for any number of lanes, in a batch or alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fallingcat.codegen import matmul as M
from fallingcat.trace.ops import fused

SHAPES = [
    ((3, 4), (4, 5)), ((1, 1), (1, 1)), ((7, 9, 13), (13, 22)), ((9, 13), (7, 2, 13, 22)), ((2, 1, 5, 6), (3, 6, 7)),
    ((0, 3, 3), (0, 3, 3)), ((2, 0, 3), (3, 4)), ((2, 3, 0), (0, 4)), ((3, 0), (0, 0)), ((40, 41), (41, 33)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def forget() -> None:
    """Other tests change the number of lanes."""
    M._function.cache_clear()


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_against_numpy(left: tuple[int, ...], right: tuple[int, ...], rng: np.random.Generator) -> None:
    A, B = rng.normal(size=left), rng.normal(size=right)
    C = M.matmul(A, B)
    assert C.shape == (A @ B).shape
    np.testing.assert_allclose(C, A @ B, rtol=1e-12, atol=1e-13)


def test_views_and_other_orders(rng: np.random.Generator) -> None:
    A, B = rng.normal(size=(6, 10)), rng.normal(size=(9, 12))
    expected = M.matmul(A[::2, 1:].copy(), B.copy())
    assert (M.matmul(A[::2, 1:], np.asfortranarray(B)) == expected).all()


def test_every_entry_is_a_chain_of_fused_multiply_adds(with_lanes: Callable[[int], None], rng: np.random.Generator) -> None:
    A, B = rng.normal(size=(3, 5, 7)), rng.normal(size=(3, 7, 6))
    expected = np.zeros((3, 5, 6))
    for m, i, j in np.ndindex(3, 5, 6):
        for k in range(7):
            expected[m, i, j] = fused(float(A[m, i, k]), float(B[m, k, j]), float(expected[m, i, j]))
    for width in (2, 4, 8):
        with_lanes(width)
        M._function.cache_clear()
        assert M.matmul(A, B).tobytes() == expected.tobytes()
        assert M.matmul(A[1], B[1]).tobytes() == expected[1].tobytes()
    M._function.cache_clear()
