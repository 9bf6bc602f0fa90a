"""Somebody's own factor B(v, I) in the Coriolis matrix (paper 001, Def. 4 and Prop. 1), and what is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from trees import TIGHT, Array, ad, floating, hat, load, random_tree, relative_error, representations, seeds, state, trees

few = settings(max_examples=10)


def newton(v: Any, I: Any) -> Any:
    """(11)"""
    return -ad(v).T @ I


def niemeyer(v: Any, I: Any) -> Any:
    """(12)"""
    f = I @ v
    swapped = np.stack([-ad(e).T @ f for e in np.eye(6)], axis=1)
    return 0.5 * (newton(v, I) + swapped - I @ ad(v))


def between(v: Any, I: Any) -> Any:
    """Admissible as both are, and neither of them."""
    return 0.3 * newton(v, I) + 0.7 * niemeyer(v, I)


def crooked(v: Any, I: Any) -> Any:
    """Valid, but neither admissible nor the same in all coordinates: what v is orthogonal to is added."""
    more = np.zeros((6, 6), dtype=object)
    more[0, :2] = v[1], -v[0]
    more[4, 2:4] = 2.0 * v[3], -2.0 * v[2]
    return newton(v, I) + more


# ---------------------------------------------------------------------------------------------------------------------
# Prop. 1


@few
@given(trees(max_joints=5), floating, seeds, representations)
def test_named_ones_written_by_hand(builder: fc.Builder, floating: bool, seed: int, representation: Any) -> None:
    robot = load(builder, floating, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    for own, name in ((newton, "body"), (niemeyer, "christoffel")):
        C = robot.coriolis_matrix(q, nu, name, representation)  # type: ignore[arg-type]
        assert relative_error(robot.coriolis_matrix(q, nu, own, representation), C) < TIGHT


@few
@given(trees(max_joints=5), floating, seeds, representations)
def test_valid_and_admissible(builder: fc.Builder, floating: bool, seed: int, representation: Any) -> None:
    """C nu = h - g with any; M_rate - 2 C skew where B + B^T is the rate of the inertia. M and M_rate do not depend on B."""
    robot = load(builder, floating, seed, joint_dynamics=False)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    bias = robot.bias(q, nu, representation) - robot.gravity_torque(q, representation)
    rate = robot.mass_matrix_rate(q, nu, representation)
    for own in (between, crooked):
        terms = robot.coriolis_terms(q, nu, own, representation)
        assert np.array_equal(terms.C, robot.coriolis_matrix(q, nu, own, representation))
        assert relative_error(terms.C @ nu, bias) < TIGHT
        assert relative_error(terms.M, robot.mass_matrix(q, representation)) < TIGHT
        assert relative_error(terms.M_rate, rate) < TIGHT
        if own is between:
            assert relative_error(terms.C + terms.C.T, rate) < TIGHT


@few
@given(trees(max_joints=4), floating, seeds)
def test_a_sum_over_bodies(builder: fc.Builder, floating: bool, seed: int) -> None:
    """C = sum J^T I J_rate + J^T B(v, I) J with v and I in the coordinates of each link, (40): B may depend on them."""
    robot = load(builder, floating, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    C = np.zeros((robot.nv, robot.nv))
    for body in robot.model.bodies:
        J, J_rate = robot.frame_jacobian(q, body.name), robot.frame_jacobian_rate(q, nu, body.name)
        place = robot.model.frame(body.name).pose  # of the link in the coordinates that algorithms have of its body
        R, p = np.array(place.rotation), np.array(place.position)
        X = np.block([[R, hat(p) @ R], [np.zeros((3, 3)), R]])  # twists from the link to these coordinates
        I, v = X.T @ np.array(body.inertia.matrix(), dtype=float) @ X, J @ nu
        C += J.T @ I @ (J_rate + ad(v) @ J) + J.T @ crooked(v, I).astype(float) @ J  # the axes turn with the link
    assert relative_error(robot.coriolis_matrix(q, nu, crooked), C) < TIGHT


def test_the_crooked_one_is_not_admissible() -> None:
    robot = load(random_tree(1, 4), True, 1)
    q, nu, _ = state(robot, np.random.default_rng(1))
    C = robot.coriolis_matrix(q, nu, crooked)
    assert relative_error(C + C.T, robot.mass_matrix_rate(q, nu)) > 0.01


# ---------------------------------------------------------------------------------------------------------------------
# What users run


def test_compiled_and_within_a_function() -> None:
    robot = fc.load("tree9")
    rng = np.random.default_rng(0)
    Q, V = (np.array(x) for x in zip(*(state(robot, rng)[:2] for _ in range(5)), strict=True))
    expected = 0.3 * robot.coriolis_matrix(Q, V, "body") + 0.7 * robot.coriolis_matrix(Q, V)
    assert relative_error(robot.coriolis_matrix(Q, V, between), expected) < TIGHT
    assert relative_error(robot.coriolis_matrix(Q[0], V[0], factorization=between), expected[0]) < TIGHT
    assert robot.kernel("coriolis_matrix", factorization=between) is robot.kernel("coriolis_matrix", factorization=between)
    inside = fc.compile(lambda r, q, nu: r.coriolis_matrix(q, nu, between) @ nu, robot)
    assert relative_error(inside(Q[0], V[0]), expected[0] @ V[0]) < TIGHT


def test_functions_of_one_name_are_two() -> None:
    """Another function is another matrix, whatever it is called and wherever it lies in memory."""
    robot = fc.load("tree9")
    q, nu, _ = state(robot, np.random.default_rng(0))

    def made(x: float) -> Any:
        return lambda v, I: x * newton(v, I) + (1.0 - x) * niemeyer(v, I)

    body, christoffel = robot.coriolis_matrix(q, nu, "body"), robot.coriolis_matrix(q, nu)
    for x in (0.0, 1.0, 0.25):
        assert relative_error(robot.coriolis_matrix(q, nu, made(x)), x * body + (1.0 - x) * christoffel) < TIGHT


SCRIPT = """
import numpy as np
import fallingcat as fc

def hat(x):
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])

def own(v, I):
    ad = np.block([[hat(v[3:]), hat(v[:3])], [np.zeros((3, 3)), hat(v[3:])]])
    more = np.zeros((6, 6), dtype=object)
    more[0, :2] = %s * v[1], -%s * v[0]
    return -ad.T @ I + more

robot = fc.load("spacearm", joints=["joint2"])
nu = np.ones(robot.nv)
print(robot.coriolis_matrix(robot.neutral(), nu, own)[0, 1] - robot.coriolis_matrix(robot.neutral(), nu, "body")[0, 1])
"""


def test_a_corrected_factor_runs(tmp_path: Path) -> None:
    """The name stays, the function does not: code in the cache is that of the program."""

    def run(factor: str) -> float:
        environment = os.environ | {"FALLINGCAT_CACHE": str(tmp_path)}
        words = [sys.executable, "-c", SCRIPT % (factor, factor)]
        return float(subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout)

    first, second = run("1.0"), run("3.0")
    assert first != 0.0
    assert second == pytest.approx(3.0 * first)
    assert run("1.0") == first


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __call__(self, v: Array, I: Array) -> Any:
        return newton(v, I)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda v, I: 2.0 * newton(v, I), r"not the velocity product of a body; expected: v x\* \(I v\).*a difference of"),
        (lambda v, I: np.full((6, 6), np.nan), "not the velocity product"),
        (lambda v, I: newton(v, I)[:5], r"expected: a 6 x 6 matrix; got: shape \(5, 6\)"),
        (lambda v, I: None, r"expected: a 6 x 6 matrix; got: shape \(\)"),
        (lambda v, I: np.full((6, 6), "x"), "a 6 x 6 matrix of numbers"),
        (lambda v: newton(v, v), "a 6 x 6 matrix of numbers.*takes 1 positional argument"),
        (Unhashable(), "not hashable"),
        ("crystal", "'christoffel' or 'body'.*'crystal'"),
        (None, "'christoffel' or 'body'"),
    ],
)
def test_what_is_no_factor(wrong: Any, words: str) -> None:
    robot = load(random_tree(1, 2), True)
    q, nu, _ = state(robot, np.random.default_rng(1))
    for call in (robot.coriolis_matrix, robot.coriolis_terms):
        with pytest.raises(fc.InputError, match=words):
            call(q, nu, wrong)
    with pytest.raises(fc.InputError, match=words):
        robot.kernel("coriolis_matrix", factorization=wrong)


def test_errors_of_the_function_itself_are_its_own() -> None:
    def broken(v: Any, I: Any) -> Any:
        raise ZeroDivisionError("mine")

    robot = load(random_tree(1, 2), True)
    with pytest.raises(ZeroDivisionError, match="mine"):
        robot.coriolis_matrix(robot.neutral(), np.zeros(robot.nv), broken)
