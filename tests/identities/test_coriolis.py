"""Coriolis terms (paper 001) against a complex step of the mass matrix through its own source, and against each other.

The witness of the symbols is the Levi-Civita connection of the mass matrix: its derivatives by complex steps and the brackets
of the velocities determine it, whatever the joints. Everything here runs in Python on random trees.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import configuration, crba
from fallingcat.model.model import Model
from trees import (
    ON_R,
    TIGHT,
    Array,
    body_velocity,
    derivative,
    floating,
    load,
    plain,
    random_tree,
    relative_error,
    representations,
    seeds,
    state,
    trees,
)

FACTORIZATIONS = ("christoffel", "body")

few = settings(max_examples=15)


def mass_matrix_slopes(model: Model, q: Array) -> Array:
    """[i, j, k]: the derivative of M_ij along axis k, by complex steps."""
    slopes = [derivative(crba.mass_matrix, model, q, e) for e in np.eye(model.nv)]
    return np.moveaxis(np.array(slopes).reshape(model.nv, model.nv, model.nv), 0, -1)


def brackets(model: Model) -> Array:
    """[l, j, k]: entry l of [e_j, e_k]."""
    each = [np.array(configuration.bracket(model, e.tolist()), dtype=float) for e in np.eye(model.nv)]
    return np.stack(each, axis=1).reshape(model.nv, model.nv, model.nv)


def levi_civita(M: Array, dM: Array, c: Array) -> Array:
    """G_ijk = <nabla_k e_j, e_i> by Koszul's formula; for commuting velocities eq. (4) of the paper."""
    low = np.einsum("il,ljk->ijk", M, c)  # <[e_j, e_k], e_i>
    metric = dM + np.einsum("ikj->ijk", dM) - np.einsum("kji->ijk", dM)
    # + <[k, j], i> - <[k, i], j> - <[j, i], k>
    torsion = np.einsum("ikj->ijk", low) - np.einsum("jki->ijk", low) - np.einsum("kji->ijk", low)
    return 0.5 * (metric + torsion)


# ---------------------------------------------------------------------------------------------------------------------
# Against the mass matrix


@few
@given(trees(max_joints=5), floating, seeds)
def test_symbols_and_derivatives_of_the_mass_matrix(builder: fc.Builder, floating: bool, seed: int) -> None:
    """dM/dq, and the connection of the metric M in the velocities nu: every type of joint, floating or not."""
    robot = load(builder, floating, seed)
    q, _, _ = state(robot, np.random.default_rng(seed))
    dM = mass_matrix_slopes(robot.model, q)
    assert relative_error(robot.mass_matrix_derivatives(q), dM) < TIGHT
    G = robot.christoffel_symbols(q)
    assert relative_error(G, levi_civita(robot.mass_matrix(q), dM, brackets(robot.model))) < TIGHT
    assert relative_error(G + np.swapaxes(G, 0, 1), dM) < TIGHT


@few
@given(trees(max_joints=6, types=ON_R), seeds)
def test_symbols_of_the_first_kind(builder: fc.Builder, seed: int) -> None:
    """Eq. (4) for joints on R, with armature too; symmetric in the last two indices, for single axes to the last bit."""
    robot = load(builder, False, joint_dynamics=bool(seed % 2))
    q, _, _ = state(robot, np.random.default_rng(seed))
    dM = mass_matrix_slopes(robot.model, q)
    G = robot.christoffel_symbols(q)
    expected = 0.5 * (dM + np.swapaxes(dM, 1, 2) - np.einsum("jki->ijk", dM))
    assert relative_error(G, expected) < TIGHT
    if not robot.model.mimics and all(body.joint.nv == 1 for body in robot.model.bodies):
        assert np.array_equal(G, np.swapaxes(G, 1, 2))


@few
@given(trees(), floating, seeds, representations)
def test_rate_of_the_mass_matrix(builder: fc.Builder, floating: bool, seed: int, representation: Any) -> None:
    """Along the motion, in every representation of the base twist."""
    robot = load(builder, floating, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    model = robot.model.in_representation(representation)
    rate = robot.mass_matrix_rate(q, nu, representation)
    assert relative_error(rate, derivative(crba.mass_matrix, model, q, body_velocity(robot, q, nu, representation))) < TIGHT
    assert np.array_equal(rate, rate.T)


@pytest.mark.parametrize("floating", [False, True])
def test_against_differences(floating: bool) -> None:
    """Nothing but the mass matrix and `integrate`: an independent witness, as far as differences see."""
    robot = load(random_tree(3, joints=6), floating, 3)
    q, nu, _ = state(robot, np.random.default_rng(3))
    h = 1e-5

    def slope(e: Array) -> Array:
        return (robot.mass_matrix(robot.integrate(q, h * e)) - robot.mass_matrix(robot.integrate(q, -h * e))) / (2 * h)

    dM = np.stack([slope(e) for e in np.eye(robot.nv)], axis=-1)
    assert relative_error(robot.mass_matrix_derivatives(q), dM) < 1e-7
    assert relative_error(robot.mass_matrix_rate(q, nu), slope(nu)) < 1e-7


def test_what_does_not_meet_is_zero() -> None:
    """Entries of joints that share no path are exactly zero, and so is what moving the whole robot does to M."""
    robot = fc.load("quadruped")
    eager = plain(robot)
    q, nu, _ = state(robot, np.random.default_rng(0))
    G, C, dM = eager.christoffel_symbols(q), eager.coriolis_matrix(q, nu), eager.mass_matrix_derivatives(q)
    apart = np.zeros((robot.nv, robot.nv), dtype=bool)
    apart[6:, 6:] = eager.mass_matrix(q)[6:, 6:] == 0.0
    assert apart.sum() == 4 * 3 * 9  # a leg meets none of the three others
    assert np.all(C[apart] == 0.0)
    assert np.all(G[apart] == 0.0)
    assert np.all(dM[apart] == 0.0)
    assert np.all(dM[..., :6] == 0.0)


# ---------------------------------------------------------------------------------------------------------------------
# Valid and admissible


@few
@given(trees(), floating, seeds, representations, st.sampled_from(FACTORIZATIONS))
def test_valid_and_admissible(builder: fc.Builder, floating: bool, seed: int, representation: Any, factorization: Any) -> None:
    """Definitions 2 and 3, Prop. 1: C nu = h - g and M_rate - 2 C skew, for both factorizations in all representations."""
    robot = load(builder, floating, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    C = robot.coriolis_matrix(q, nu, factorization, representation)
    expected = robot.bias(q, nu, representation=representation) - robot.gravity_torque(q, representation=representation)
    assert relative_error(C @ nu, expected) < TIGHT
    twice = robot.mass_matrix_rate(q, nu, representation)
    assert relative_error(C + C.T, twice) < TIGHT


@few
@given(trees(), floating, seeds, st.sampled_from(FACTORIZATIONS))
def test_terms_of_one_pass(builder: fc.Builder, floating: bool, seed: int, factorization: Any) -> None:
    """C, M and its rate, with armature in M."""
    robot = load(builder, floating, seed, joint_dynamics=True)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    terms = robot.coriolis_terms(q, nu, factorization)
    assert np.array_equal(terms.C, robot.coriolis_matrix(q, nu, factorization))
    assert relative_error(terms.M, robot.mass_matrix(q)) < TIGHT
    assert relative_error(terms.M_rate, robot.mass_matrix_rate(q, nu)) < TIGHT
    assert np.array_equal(terms.M, terms.M.T)
    assert np.array_equal(terms.M_rate, terms.M_rate.T)


@few
@given(trees(), floating, seeds)
def test_the_matrix_is_the_symbols_times_the_velocity(builder: fc.Builder, floating: bool, seed: int) -> None:
    """Eq. (3)."""
    robot = load(builder, floating, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    assert relative_error(robot.christoffel_symbols(q) @ nu, robot.coriolis_matrix(q, nu)) < TIGHT


def test_only_one_factorization_is_consistent() -> None:
    """Prop. 2: with (12) C is the Christoffel-consistent one; with (11) it is another, by as much as it is large."""
    worst = np.inf
    for seed in range(5):
        robot = load(random_tree(seed, joints=6, types=ON_R, mimic=0.0), False)
        q, nu, _ = state(robot, np.random.default_rng(seed))
        dM = mass_matrix_slopes(robot.model, q)
        C = 0.5 * (dM + np.swapaxes(dM, 1, 2) - np.einsum("jki->ijk", dM)) @ nu
        assert relative_error(robot.coriolis_matrix(q, nu), C) < TIGHT
        other = robot.coriolis_matrix(q, nu, "body")
        worst = min(worst, float(np.abs(other - C).max() / np.abs(C).max()))
    assert worst > 0.1


@few
@given(trees(), floating, seeds)
def test_torsion(builder: fc.Builder, floating: bool, seed: int) -> None:
    """C(v) w - C(w) v = M [v, w]; zero for joints on R, where velocities commute."""
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, v, w = state(robot, rng)
    left = robot.coriolis_product(q, v, w) - robot.coriolis_product(q, w, v)
    bracket = np.array(configuration.bracket(robot.model, v.tolist()), dtype=float) @ w
    assert relative_error(left, robot.mass_matrix(q) @ bracket) < TIGHT


def test_torsion_is_not_small() -> None:
    robot = plain(fc.load("spacearm"))
    q, v, w = state(robot, np.random.default_rng(1))
    assert np.abs(robot.coriolis_product(q, v, w) - robot.coriolis_product(q, w, v)).max() > 0.1


# ---------------------------------------------------------------------------------------------------------------------
# Derivatives of inverse dynamics


def test_erratum_1_9_derivatives_by_velocity() -> None:
    """Remark 2: dID/dnu, not dID/dq, is 2 C* without gravity, for joints on R. The torsion spoils it for a floating base."""
    for seed in range(4):
        robot = plain(fc.load(random_tree(seed, joints=6, types=ON_R), floating=False, gravity=(0.0, 0.0, 0.0)))
        q, nu, _ = state(robot, np.random.default_rng(seed))
        C = robot.coriolis_matrix(q, nu)
        d = robot.inverse_dynamics_derivatives(q, nu, np.zeros(robot.nv))
        assert relative_error(d.dtau_dnu, 2.0 * C) < TIGHT
        assert np.abs(d.dtau_dq - 2.0 * C).max() > 0.1 * np.abs(C).max()
    free = plain(fc.load("spacearm", gravity=(0.0, 0.0, 0.0)))
    q, nu, _ = state(free, np.random.default_rng(0))
    C, d = free.coriolis_matrix(q, nu), free.inverse_dynamics_derivatives(q, nu, np.zeros(free.nv))
    bracket = np.array(configuration.bracket(free.model, nu.tolist()), dtype=float)
    assert relative_error(d.dtau_dnu, 2.0 * C) > 0.1
    assert relative_error(d.dtau_dnu, 2.0 * C - free.mass_matrix(q) @ bracket) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Products


@few
@given(trees(), floating, seeds)
def test_products(builder: fc.Builder, floating: bool, seed: int) -> None:
    """C w and C^T w without C."""
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, nu, w = state(robot, rng)
    C = robot.coriolis_matrix(q, nu)
    assert relative_error(robot.coriolis_product(q, nu, w), C @ w) < TIGHT
    assert relative_error(robot.coriolis_transpose_product(q, nu, w), C.T @ w) < TIGHT


@few
@given(trees(), floating, seeds)
def test_rate_of_the_momentum(builder: fc.Builder, floating: bool, seed: int) -> None:
    """d(M nu)/dt = C^T nu - g + tau: what a momentum observer adds up."""
    robot = load(builder, floating, seed)
    q, nu, dnu = state(robot, np.random.default_rng(seed))
    tau = robot.inverse_dynamics(q, nu, dnu)
    rate = robot.mass_matrix_rate(q, nu) @ nu + robot.mass_matrix(q) @ dnu
    assert relative_error(robot.coriolis_transpose_product(q, nu, nu) - robot.gravity_torque(q) + tau, rate) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


def test_an_unknown_factorization_is_refused() -> None:
    robot = plain(fc.load("spacearm"))
    for method in (robot.coriolis_matrix, robot.coriolis_terms):
        with pytest.raises(fc.InputError, match=r"factorization.*'christoffel' or 'body'.*'crystal'"):
            method(robot.neutral(), np.zeros(robot.nv), "crystal")


def test_an_unknown_representation_is_refused() -> None:
    robot = fc.load("spacearm")
    with pytest.raises(fc.InputError, match="mixd"):
        robot.coriolis_matrix(robot.neutral(), np.zeros(robot.nv), "christoffel", "mixd")
