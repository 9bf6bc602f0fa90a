"""Principal axes of constant inertias."""

from __future__ import annotations

import numpy as np
import pytest

from fallingcat.spatial import MatrixRotation, so3
from fallingcat.spatial.principal import principal, rotated


def random_inertia(rng: np.random.Generator, kind: str) -> np.ndarray:
    R = np.array(so3.exp(tuple(rng.normal(size=3))))
    moments = {"general": rng.uniform(0.1, 2.0, 3), "round": [1.0, 1.0, 0.3], "ball": [0.7, 0.7, 0.7], "zero": [0.0, 0.0, 0.0]}
    return R @ np.diag(moments[kind]) @ R.T


def upper(A: np.ndarray) -> tuple[float, ...]:
    return tuple(float(A[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))


@pytest.mark.parametrize("kind", ["general", "round", "ball", "zero"])
def test_axes_are_orthonormal_and_give_the_inertia_back(kind: str, rng: np.random.Generator) -> None:
    for scale in (1e-9, 1.0, 1e6):
        I = scale * random_inertia(rng, kind)
        moments, axes = principal(upper(I))
        V = np.array(axes).T
        assert np.abs(V.T @ V - np.eye(3)).max() < 1e-14
        assert np.abs(V @ np.diag(moments) @ V.T - I).max() <= 1e-14 * max(scale * 2.0, 1e-300)


def test_a_diagonal_inertia_keeps_its_axes() -> None:
    """So that zeros fold when a program is traced."""
    moments, axes = principal((1.0, 0.0, 0.0, 2.0, 0.0, 3.0))
    assert moments == (1.0, 2.0, 3.0)
    assert axes == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def test_rotated_is_the_product_of_matrices(rng: np.random.Generator) -> None:
    for kind in ("general", "round", "ball"):
        I, E = random_inertia(rng, kind), np.array(so3.exp(tuple(rng.normal(size=3))))
        got = rotated(MatrixRotation(tuple(map(tuple, E.tolist()))), upper(I))
        assert np.abs(np.array(got) - upper(E.T @ I @ E)).max() < 1e-14
