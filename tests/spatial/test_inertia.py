"""Inertias against dense 6 x 6 matrices, for floats, complex numbers and 50 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from fallingcat.errors import FrameError
from fallingcat.spatial import ArticulatedInertia, AxisRotation, Force, Inertia, MatrixRotation, Motion, Transform, so3
from trees import ONE_FORMULA, hat, relative_error

KINDS = [float, complex, mpmath.mpf]


def real(x: object) -> np.ndarray:
    return np.vectorize(lambda y: float(y.real), otypes=[float])(np.array(x, dtype=object))


def body(rng: np.random.Generator, frame: str = "a", kind: type = float) -> tuple[Inertia, np.ndarray]:
    """A random body and its dense inertia from mass points, so that no formula of the library is used twice."""
    masses, points = rng.uniform(0.1, 1.0, size=6), rng.normal(size=(6, 3))
    dense = np.zeros((6, 6))
    for m, p in zip(masses, points, strict=True):
        block = np.hstack([np.eye(3), -hat(p)])  # the velocity of the point
        dense += m * block.T @ block
    mass = masses.sum()
    com = masses @ points / mass
    I_com = dense[3:, 3:] + mass * hat(com) @ hat(com)
    upper = tuple(kind(x) for x in I_com[np.triu_indices(3)])
    return Inertia.from_com(kind(mass), tuple(kind(x) for x in com), upper, frame), dense


def articulated(rng: np.random.Generator, kind: type = float) -> tuple[ArticulatedInertia, np.ndarray]:
    root = rng.normal(size=(6, 6))
    dense = root @ root.T
    A, H, I = dense[:3, :3], dense[:3, 3:], dense[3:, 3:]
    six = [tuple(kind(x) for x in block[np.triu_indices(3)]) for block in (A, I)]
    return ArticulatedInertia(six[0], tuple(tuple(kind(x) for x in row) for row in H), six[1], "a"), dense


def transforms(rng: np.random.Generator, kind: type) -> list[Transform]:
    """X_ab with a full rotation, and with one about each axis."""
    P = so3.exp(tuple(rng.normal(size=3)))
    r = tuple(kind(x) for x in rng.normal(size=3))
    turns = [AxisRotation(k, kind(np.cos(1.2)), kind(np.sin(1.2)), P) for k in range(3)]
    return [Transform(rotation, r, "a", "b") for rotation in (MatrixRotation(P), *turns)]


def dense_transform(X: Transform) -> np.ndarray:
    E = real(X.E.matrix())
    return np.block([[E, -E @ hat(real(X.r))], [np.zeros((3, 3)), E]])


@pytest.mark.parametrize("kind", KINDS)
def test_rigid_inertia_is_its_matrix(kind: type, rng: np.random.Generator) -> None:
    """Ten numbers, the 6 x 6 matrix, and the momentum I v."""
    I, dense = body(rng, kind=kind)
    v = Motion.of([kind(x) for x in rng.normal(size=6)], "a")
    assert relative_error(real(I.matrix()), dense) < ONE_FORMULA
    assert relative_error(real((I @ v).entries()), dense @ real(v.entries())) < ONE_FORMULA
    assert relative_error(real(Inertia.of(I.parameters(), "a").matrix()), dense) < ONE_FORMULA
    assert len(I.parameters()) == 10
    assert relative_error(real(I.articulated().matrix()), dense) < ONE_FORMULA


@pytest.mark.parametrize("kind", KINDS)
def test_moving_a_rigid_inertia(kind: type, rng: np.random.Generator) -> None:
    """X^T I X, for every form of rotation."""
    for X in transforms(rng, kind):
        I, dense = body(rng, kind=kind)
        moved = X.T @ I
        assert moved.frame == "b"
        assert relative_error(real(moved.matrix()), dense_transform(X).T @ dense @ dense_transform(X)) < ONE_FORMULA


@pytest.mark.parametrize("kind", KINDS)
def test_moving_an_articulated_inertia(kind: type, rng: np.random.Generator) -> None:
    """X^T I X for any symmetric matrix, for every form of rotation."""
    for X in transforms(rng, kind):
        I, dense = articulated(rng, kind)
        moved = X.T @ I
        assert moved.frame == "b"
        assert relative_error(real(moved.matrix()), dense_transform(X).T @ dense @ dense_transform(X)) < ONE_FORMULA


@pytest.mark.parametrize("kind", KINDS)
def test_articulated_inertia_is_its_matrix(kind: type, rng: np.random.Generator) -> None:
    """The matrix, the product with a motion, and the removal of what a joint lets go: I - U D^-1 U^T."""
    I, dense = articulated(rng, kind)
    v = Motion.of([kind(x) for x in rng.normal(size=6)], "a")
    assert relative_error(real(I.matrix()), dense) < ONE_FORMULA
    assert relative_error(real((I @ v).entries()), dense @ real(v.entries())) < ONE_FORMULA
    S = rng.normal(size=(6, 2))
    U, D = dense @ S, S.T @ dense @ S
    forces = [[Force.of([kind(x) for x in column], "a") for column in block.T] for block in (U, U @ np.linalg.inv(D))]
    reduced = I.minus_product(*forces)
    expected = dense - U @ np.linalg.solve(D, U.T)
    assert relative_error(real(reduced.matrix()), expected) < 1e-13
    assert np.abs(real(reduced.matrix()) @ S).max() < 1e-12  # the joint's motions now meet no resistance


def test_sums(rng: np.random.Generator) -> None:
    """Inertias in one frame add, zero is neutral, rigid or articulated."""
    (I, dense_I), (K, dense_K) = body(rng), body(rng)
    assert relative_error((I + K).matrix(), dense_I + dense_K) < ONE_FORMULA
    assert (I + Inertia.zero("a")).matrix() == I.matrix()
    total = I.articulated() + K.articulated() + ArticulatedInertia.zero("a")
    assert relative_error(total.matrix(), dense_I + dense_K) < ONE_FORMULA


def test_kinetic_energy_does_not_depend_on_the_frame(rng: np.random.Generator) -> None:
    """v . I v is the same in both frames."""
    I, _ = body(rng)
    X = transforms(rng, float)[1]
    v_b = Motion.of(rng.normal(size=6), "b")
    v_a = X @ v_b
    assert relative_error(v_b @ ((X.T @ I) @ v_b), v_a @ (I @ v_a)) < ONE_FORMULA


def test_fifty_digits(rng: np.random.Generator) -> None:
    """With mpmath the algebra itself, not only its inputs, has 50 digits: moved there and back again."""
    with mpmath.workdps(50):
        c, s = mpmath.cos(1), mpmath.sin(1)
        turn = AxisRotation(2, c, s, ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
        X = Transform(turn, (mpmath.mpf(1) / 3, c, s), "a", "b")
        I, _ = body(rng, kind=mpmath.mpf)
        back = X.inverse().T @ (X.T @ I)
        assert max(abs(x - y) for x, y in zip(back.parameters(), I.parameters(), strict=True)) < mpmath.mpf(10) ** -47


def test_mixed_frames_are_refused(rng: np.random.Generator) -> None:
    I, _ = body(rng, "a")
    K, _ = body(rng, "b")
    v, X = Motion.of(rng.normal(size=6), "b"), transforms(rng, float)[0]
    wrong = [
        lambda: I @ v, lambda: I + K, lambda: X.T @ K, lambda: I.articulated() @ v, lambda: I.articulated() + K.articulated(),
    ]  # fmt: skip
    for operation in wrong:
        with pytest.raises(FrameError, match="frame"):
            operation()
