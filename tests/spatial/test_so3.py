"""Rotations: group axioms, exponential and logarithm with their difficult places, Jacobians, quaternions."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from fallingcat.spatial import so3
from trees import ONE_FORMULA, STEP, hat, relative_error, slope

KINDS = [float, complex, mpmath.mpf]
AXES = [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (0.48, 0.6, -0.64), (-0.36, 0.8, 0.48)]
ANGLES = [0.0, 1e-300, 1e-9, 1e-4, 0.0199, 0.0201, 0.7, 0.9999999, 1.0000001, 2.0, 3.0, math.pi - 1e-4, math.pi - 1e-9, math.pi]
BEYOND = [math.pi + 1e-9, 4.0, 6.0]


def rotation_vector(axis: tuple[float, ...], angle: float, kind: type = float) -> tuple:
    return tuple(kind(angle * a) for a in axis)


def real(x: object) -> np.ndarray:
    return np.vectorize(lambda y: float(y.real), otypes=[float])(np.array(x, dtype=object))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("angle", ANGLES + BEYOND)
@pytest.mark.parametrize("axis", AXES)
def test_exp_is_rodrigues(axis: tuple[float, ...], angle: float, kind: type) -> None:
    """R = 1 + sin t K + (1 - cos t) K^2, written here with 50 digits, for every kind of scalar."""
    with mpmath.workdps(50):
        w = [mpmath.mpf(a) * mpmath.mpf(angle) for a in axis]
        t = mpmath.sqrt(sum(x * x for x in w))
        K = mpmath.matrix(hat(w)) / t if t else mpmath.zeros(3)
        expected = mpmath.eye(3) + mpmath.sin(t) * K + (1 - mpmath.cos(t)) * K * K
        expected = np.array(expected.tolist(), dtype=float)
    assert relative_error(real(so3.exp(rotation_vector(axis, angle, kind))), expected) < ONE_FORMULA


def test_exp_is_a_rotation(rng: np.random.Generator) -> None:
    """R R^T = 1, det R = 1, exp(-w) = exp(w)^T, and the axis stays."""
    for _ in range(20):
        w = rng.normal(size=3) * rng.uniform(0, 3)
        R = np.array(so3.exp(tuple(w)))
        assert relative_error(R @ R.T, np.eye(3)) < ONE_FORMULA
        assert relative_error(np.linalg.det(R), 1.0) < ONE_FORMULA
        assert relative_error(so3.exp(tuple(-w)), R.T) < ONE_FORMULA
        assert relative_error(R @ w, w) < ONE_FORMULA


def test_turns_about_one_axis_add(rng: np.random.Generator) -> None:
    """exp(s a) exp(t a) = exp((s + t) a)."""
    a = rng.normal(size=3)
    for s, t in rng.normal(size=(20, 2)):
        product = np.array(so3.exp(tuple(s * a))) @ np.array(so3.exp(tuple(t * a)))
        assert relative_error(so3.exp(tuple((s + t) * a)), product) < ONE_FORMULA


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("axis", AXES)
def test_log_undoes_exp(axis: tuple[float, ...], angle: float, kind: type) -> None:
    """log(exp(w)) = w up to half a turn; at exactly half a turn either sign of the axis is right."""
    w = rotation_vector(axis, angle, kind)
    back = real(so3.log(so3.exp(w)))
    errors = [relative_error(s * back, real(w)) for s in (1.0, -1.0)]
    assert (min(errors) if angle == math.pi else errors[0]) < ONE_FORMULA
    if angle < 1e-8:  # small turns keep their digits, not just their size
        assert np.abs(back - real(w)).max() <= 1e-14 * np.abs(real(w)).max()


@pytest.mark.parametrize("angle", BEYOND)
def test_log_is_the_shorter_way(angle: float) -> None:
    """Beyond half a turn the logarithm goes the other way round."""
    for axis in AXES:
        w = np.array(so3.log(so3.exp(rotation_vector(axis, angle))))
        assert relative_error(w, (angle - 2 * math.pi) * np.array(axis)) < ONE_FORMULA


def test_log_of_every_half_turn(rng: np.random.Generator) -> None:
    """exp(log(R)) = R for half turns about any axis, where the antisymmetric part of R vanishes."""
    for axis in [*np.array(AXES), *rng.normal(size=(20, 3))]:
        a = axis / np.linalg.norm(axis)
        R = 2.0 * np.outer(a, a) - np.eye(3)
        w = np.array(so3.log(tuple(map(tuple, R))))
        assert relative_error(np.linalg.norm(w), math.pi) < ONE_FORMULA
        assert relative_error(so3.exp(tuple(w)), R) < ONE_FORMULA


@pytest.mark.parametrize("angle", ANGLES + BEYOND)
def test_left_jacobian_is_the_slope_of_exp(angle: float, rng: np.random.Generator) -> None:
    """exp(w + dw) = exp(J dw) exp(w): dR R^T = (J dw)^, by complex step."""
    for axis in AXES:
        w = rotation_vector(axis, angle)
        J = np.array(so3.left_jacobian(w))
        for dw in rng.normal(size=(3, 3)):
            R = so3.exp(tuple(complex(a, STEP * b) for a, b in zip(w, dw, strict=True)))
            assert relative_error(slope(R) @ real(R).T, hat(J @ dw)) < ONE_FORMULA


@pytest.mark.parametrize("angle", ANGLES + BEYOND)
def test_left_jacobian_inverse(angle: float) -> None:
    """J J^-1 = 1 up to a full turn. Near it J is nearly singular, and so are the digits."""
    for axis in AXES:
        w = rotation_vector(axis, angle)
        product = np.array(so3.left_jacobian(w)) @ np.array(so3.left_jacobian_inverse(w))
        assert relative_error(product, np.eye(3)) < 1e-13


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.5, 2.5, math.pi - 1e-6])
def test_log_has_the_slope_of_the_inverse_jacobian(angle: float, rng: np.random.Generator) -> None:
    """log(exp(dw) exp(w)) = w + J^-1 dw: differentiable at zero too."""
    for axis in AXES:
        w = rotation_vector(axis, angle)
        dw = rng.normal(size=3)
        step = so3.exp(tuple(complex(0.0, STEP * x) for x in dw))
        R = np.array(step) @ np.array(so3.exp(w))
        expected = np.array(so3.left_jacobian_inverse(w)) @ dw
        assert relative_error(slope(so3.log(tuple(map(tuple, R.tolist())))), expected) < ONE_FORMULA


@pytest.mark.parametrize("x", [0.0, 1e-20, 1e-6, 0.3, 1.0 - 1e-15, 1.0, 1.0 + 1e-15, 5.0, 39.0])
def test_coefficients(x: float) -> None:
    """c_k(x) = sum (-x)^i / (2i + k)! to the last digits on both sides of the switch from series to closed form."""
    for k, c in enumerate(so3.coefficients(x, 5)):
        with mpmath.workdps(50):
            expected = float(mpmath.nsum(lambda i, k=k: (-mpmath.mpf(x)) ** i / mpmath.factorial(2 * i + k), [0, 80]))
        assert abs(c - expected) <= 4e-15 * max(abs(expected), 1e-2)


# ---------------------------------------------------------------------------------------------------------------------
# Quaternions


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("angle", ANGLES + BEYOND)
def test_quaternion_round_trips(angle: float, kind: type) -> None:
    """The quaternion of the exponential is that of the rotation, up to sign, and gives the rotation back."""
    for axis in AXES:
        w = rotation_vector(axis, angle, kind)
        R, q = so3.exp(w), real(so3.exp_quaternion(w))
        assert relative_error(np.linalg.norm(q), 1.0) < ONE_FORMULA
        assert relative_error(real(so3.from_quaternion(so3.exp_quaternion(w))), real(R)) < ONE_FORMULA
        back = real(so3.quaternion(R))
        assert min(relative_error(back, q), relative_error(-back, q)) < ONE_FORMULA


@pytest.mark.parametrize("largest", range(4))
def test_quaternion_of_a_rotation_with_any_largest_component(largest: int, rng: np.random.Generator) -> None:
    """All four branches of the extraction."""
    for _ in range(10):
        q = rng.uniform(-0.3, 0.3, size=4)
        q[largest] = 1.0
        q /= np.linalg.norm(q)
        back = np.array(so3.quaternion(so3.from_quaternion(tuple(q))))
        assert relative_error(back * np.sign(back[largest]), q) < ONE_FORMULA


def test_quaternion_product_is_the_product_of_rotations(rng: np.random.Generator) -> None:
    """R(a b) = R(a) R(b), for unit and for longer quaternions alike."""
    for _ in range(20):
        a, b = rng.normal(size=(2, 4))
        product = np.array(so3.from_quaternion(tuple(a))) @ np.array(so3.from_quaternion(tuple(b)))
        ab = so3.quaternion_product(tuple(a), tuple(b))
        assert relative_error(so3.from_quaternion(ab), product) < ONE_FORMULA
        assert relative_error(np.linalg.norm(so3.quaternion_normalized(ab)), 1.0) < ONE_FORMULA


def test_log_of_a_quaternion_and_of_its_opposite(rng: np.random.Generator) -> None:
    """q and -q are one rotation and have one logarithm."""
    for _ in range(20):
        q = rng.normal(size=4)
        q /= np.linalg.norm(q)
        w = so3.log_quaternion(tuple(q))
        assert relative_error(so3.log_quaternion(tuple(-q)), w) < ONE_FORMULA
        assert np.linalg.norm(w) <= math.pi
        assert relative_error(so3.exp(w), so3.from_quaternion(tuple(q))) < ONE_FORMULA
