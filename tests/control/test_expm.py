"""The batched matrix exponential against SciPy's and against what is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from fallingcat.control.expm import expm
from trees import relative_error


@pytest.mark.parametrize("size", [1e-12, 1e-3, 0.1, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("m", [1, 2, 7, 40])
def test_against_scipy(m: int, size: float, rng: np.random.Generator) -> None:
    A = rng.normal(size=(3, 2, m, m)) * size / np.sqrt(m)
    E = expm(A)
    assert E.shape == A.shape
    for k in np.ndindex(3, 2):
        reference = scipy.linalg.expm(A[k])
        assert np.abs(E[k] - reference).max() <= 1e-12 * np.abs(reference).max()


def test_every_matrix_has_its_own_scale(rng: np.random.Generator) -> None:
    """Small and large matrices in one batch give what they give alone."""
    A = rng.normal(size=(5, 6, 6)) * np.array([0.0, 1e-6, 1.0, 10.0, 50.0])[:, None, None]
    together = expm(A)
    for one, E in zip(A, together, strict=True):
        assert relative_error(expm(one) / np.abs(E).max(), E / np.abs(E).max()) < 1e-13


def test_closed_forms(rng: np.random.Generator) -> None:
    assert relative_error(expm(np.zeros((3, 3))), np.eye(3)) < 1e-15
    assert relative_error(expm(np.array([[0.0, -np.pi], [np.pi, 0.0]])), -np.eye(2)) < 1e-14
    nilpotent = np.diag(np.ones(4), 1)
    series = sum(np.linalg.matrix_power(nilpotent, k) / np.prod(np.arange(1.0, k + 1)) for k in range(5))
    assert relative_error(expm(nilpotent), series) < 1e-14
    S = rng.normal(size=(20, 20))
    E = expm(S - S.T)
    assert relative_error(E @ E.T, np.eye(20)) < 1e-13


def test_edges() -> None:
    """Nothing in, nothing out; what is not finite stays where it is."""
    assert expm(np.zeros((0, 3, 3))).shape == (0, 3, 3)
    assert expm(np.zeros((2, 0, 0))).shape == (2, 0, 0)
    A = np.zeros((2, 3, 3))
    A[1, 0, 0] = np.nan
    E = expm(A)
    assert relative_error(E[0], np.eye(3)) < 1e-15
    assert np.isnan(E[1]).all()
