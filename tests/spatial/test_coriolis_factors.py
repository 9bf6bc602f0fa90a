"""Coriolis factors of one body against dense matrices: paper 001, (10)-(14), (49), (50) and Def. 4; paper 003, (3)-(5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fallingcat.spatial import Inertia, Motion
from fallingcat.spatial.coriolis import CoriolisFactor, NewtonFactor, SkewFactor
from trees import ONE_FORMULA, ad, hat

SEEDS = range(5)


def swapped(f: Any) -> np.ndarray:
    """The matrix of v -> v x* f = -ad(v)^T f, column by column."""
    return np.column_stack([-ad(e).T @ f for e in np.eye(6)])


def body(seed: int) -> tuple[Inertia, np.ndarray, list[np.ndarray]]:
    """A body whose frame is not at its centre of mass, its matrix from first principles, and three twists."""
    rng = np.random.default_rng(seed)
    mass, c = rng.uniform(0.5, 3.0), rng.normal(size=3)
    half = rng.normal(size=(3, 3))
    about = half @ half.T
    upper = (about[0, 0], about[0, 1], about[0, 2], about[1, 1], about[1, 2], about[2, 2])
    inertia = Inertia.from_com(mass, tuple(c), upper, 0)
    C = hat(c)
    matrix = np.block([[mass * np.eye(3), -mass * C], [mass * C, about - mass * C @ C]])
    return inertia, matrix, list(rng.normal(size=(3, 6)))


def motion(x: Any) -> Motion:
    return Motion.of(list(x), 0)


def close(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert np.abs(np.asarray(found) - expected).max() < ONE_FORMULA * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_factors_are_their_matrices(seed: int) -> None:
    """Paper 001, eq. 12 and 11, and the skew factor of paper 003, eq. 5, with their products and transposes."""
    inertia, I, (v, w, _) = body(seed)
    newton = -ad(v).T @ I
    christoffel = 0.5 * (newton + swapped(I @ v) - I @ ad(v))
    skew = christoffel + I @ ad(v)
    factor = CoriolisFactor.of(motion(v), inertia)
    close(factor.matrix(), christoffel)
    close((factor @ motion(w)).entries(), christoffel @ w)
    close(factor.transposed(motion(w)).entries(), christoffel.T @ w)
    plain = NewtonFactor.of(motion(v), inertia)
    close((plain @ motion(w)).entries(), newton @ w)
    close(plain.transposed(motion(w)).entries(), newton.T @ w)
    third = SkewFactor.of(motion(v), inertia)
    close(third.matrix(), skew)
    close((third @ motion(w)).entries(), skew @ w)
    close(np.add(third.matrix(), np.transpose(third.matrix())), np.zeros((6, 6)))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_factors_are_admissible(seed: int) -> None:
    """Def. 4 of paper 001: B v = v x* (I v), and B + B^T is the rate of the inertia."""
    inertia, I, (v, w, _) = body(seed)
    rate = -ad(v).T @ I - I @ ad(v)
    for kind in (CoriolisFactor, NewtonFactor):
        B = kind.of(motion(v), inertia)
        close((B @ motion(v)).entries(), -ad(v).T @ I @ v)
        close(np.add((B @ motion(w)).entries(), B.transposed(motion(w)).entries()), rate @ w)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rate_of_an_inertia(seed: int) -> None:
    """Paper 001, (13), (14); paper 002, (3): also by moving the body."""
    inertia, I, (v, _, _) = body(seed)
    rate = np.array(CoriolisFactor.of(motion(v), inertia).inertia_rate().matrix())
    close(rate, -ad(v).T @ I - I @ ad(v))
    X = np.eye(6) - 1e-20j * ad(v)  # coordinates that stay behind
    close(rate, (X.T @ I @ X).imag / 1e-20)


@pytest.mark.parametrize("seed", SEEDS)
def test_arguments_exchanged(seed: int) -> None:
    """Paper 001, (49), (50): B(x, I)^T v = ((I v) xbar* - B(v, I)) x."""
    inertia, I, (v, x, _) = body(seed)
    factor = CoriolisFactor.of(motion(v), inertia)
    found = factor.swapped_transposed(inertia @ motion(v), motion(x)).entries()
    other = 0.5 * (-ad(x).T @ I + swapped(I @ x) - I @ ad(x))
    close(found, other.T @ v)
    close(found, swapped(I @ v) @ x - np.array(factor.matrix()) @ x)


@pytest.mark.parametrize("seed", SEEDS)
def test_factors_add_up_over_bodies(seed: int) -> None:
    """In common coordinates, bodies that move together are one body; different velocities add up too."""
    (one, I, (v, w, _)), (other, J, _) = body(seed), body(seed + 100)
    for kind in (CoriolisFactor, NewtonFactor):
        together = kind.of(motion(v), one) + kind.of(motion(w), other)
        separate = [kind.of(motion(u), body_) @ motion(w) for u, body_ in ((v, one), (w, other))]
        close((together @ motion(w)).entries(), np.add(separate[0].entries(), separate[1].entries()))
    apart = CoriolisFactor.of(motion(v), one) - CoriolisFactor.of(motion(w), other)
    close(apart.matrix(), np.subtract(CoriolisFactor.of(motion(v), one).matrix(), CoriolisFactor.of(motion(w), other).matrix()))
    close(np.add(I, J), (one + other).matrix())
