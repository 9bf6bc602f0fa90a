"""Rigid motions: exponential, logarithm and Jacobians of SE(3)."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from fallingcat.spatial import se3
from trees import ONE_FORMULA, STEP, relative_error, slope

ANGLES = [0.0, 1e-9, 1e-3, 0.7, 0.999999, 1.000001, 2.5, math.pi - 1e-9, math.pi, 4.0, 6.0]


def matrix(pose: tuple) -> np.ndarray:
    """The homogeneous 4 x 4 matrix."""
    R, p = pose
    return np.block([[np.array(R), np.array(p)[:, None]], [np.array([[0.0, 0.0, 0.0, 1.0]])]])


def pose(H: np.ndarray) -> tuple:
    return tuple(map(tuple, H[:3, :3].tolist())), tuple(H[:3, 3].tolist())


def hat(x: np.ndarray) -> np.ndarray:
    v, w = x[:3], x[3:]
    return np.array([[0.0, -w[2], w[1], v[0]], [w[2], 0.0, -w[0], v[1]], [-w[1], w[0], 0.0, v[2]], [0.0] * 4])


def adjoint(H: np.ndarray) -> np.ndarray:
    """From (linear; angular) twists in the frame of H to twists in the world."""
    R = H[:3, :3]
    P = hat(np.concatenate([np.zeros(3), H[:3, 3]]))[:3, :3]
    return np.block([[R, P @ R], [np.zeros((3, 3)), R]])


def twist(rng: np.random.Generator, angle: float) -> np.ndarray:
    v, w = rng.normal(size=(2, 3))
    return np.concatenate([v, angle * w / np.linalg.norm(w)])


def split(x: np.ndarray) -> tuple:
    return tuple(x[:3]), tuple(x[3:])


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("kind", [float, complex, mpmath.mpf])
def test_exp_is_the_matrix_exponential(angle: float, kind: type, rng: np.random.Generator) -> None:
    """exp of the 4 x 4 matrix of the twist, with 30 digits, for every kind of scalar."""
    x = twist(rng, angle)
    with mpmath.workdps(30):
        expected = np.array(mpmath.expm(mpmath.matrix(hat(x).tolist())).tolist(), dtype=float)
    H = matrix(se3.exp((tuple(map(kind, x[:3])), tuple(map(kind, x[3:])))))
    H = np.vectorize(lambda y: float(y.real), otypes=[float])(H)
    assert relative_error(H, expected) < ONE_FORMULA


@pytest.mark.parametrize("angle", [a for a in ANGLES if a < math.pi])
def test_log_undoes_exp(angle: float, rng: np.random.Generator) -> None:
    """log(exp(x)) = x below half a turn."""
    for _ in range(5):
        x = twist(rng, angle)
        assert relative_error(np.concatenate(se3.log(se3.exp(split(x)))), x) < 1e-14


@pytest.mark.parametrize("angle", ANGLES)
def test_exp_undoes_log(angle: float, rng: np.random.Generator) -> None:
    """exp(log(H)) = H for any pose, half a turn and more included."""
    for _ in range(5):
        H = matrix(se3.exp(split(twist(rng, angle))))
        assert relative_error(matrix(se3.exp(se3.log(pose(H)))), H) < 2e-14


def test_one_parameter_subgroups(rng: np.random.Generator) -> None:
    """exp(s x) exp(t x) = exp((s + t) x), and exp(-x) is the inverse."""
    x = twist(rng, 1.3)
    for s, t in rng.normal(size=(10, 2)):
        product = matrix(se3.exp(split(s * x))) @ matrix(se3.exp(split(t * x)))
        assert relative_error(matrix(se3.exp(split((s + t) * x))), product) < ONE_FORMULA


def test_adjoint_moves_through_exp(rng: np.random.Generator) -> None:
    """H exp(x) H^-1 = exp(Ad_H x)."""
    for _ in range(10):
        x, H = twist(rng, 1.1), matrix(se3.exp(split(twist(rng, 2.0))))
        turned = H @ matrix(se3.exp(split(x))) @ np.linalg.inv(H)
        assert relative_error(matrix(se3.exp(split(adjoint(H) @ x))), turned) < ONE_FORMULA


@pytest.mark.parametrize("angle", ANGLES)
def test_left_jacobian_is_the_slope_of_exp(angle: float, rng: np.random.Generator) -> None:
    """exp(x + dx) = exp(J dx) exp(x): dH H^-1 = (J dx)^, by complex step."""
    for _ in range(5):
        x, dx = twist(rng, angle), rng.normal(size=6)
        moved = [complex(a, STEP * b) for a, b in zip(x, dx, strict=True)]
        H = matrix(se3.exp((tuple(moved[:3]), tuple(moved[3:]))))
        expected = slope(H) @ np.linalg.inv(H.real)
        assert relative_error(hat(np.array(se3.left_jacobian(split(x))) @ dx), expected) < ONE_FORMULA


@pytest.mark.parametrize("angle", ANGLES)
def test_left_jacobian_inverse(angle: float, rng: np.random.Generator) -> None:
    """J J^-1 = 1 below a full turn."""
    for _ in range(5):
        x = split(twist(rng, angle))
        product = np.array(se3.left_jacobian(x)) @ np.array(se3.left_jacobian_inverse(x))
        assert relative_error(product, np.eye(6)) < (1e-12 if angle > 5.0 else 1e-14)
