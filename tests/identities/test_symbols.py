"""Christoffel symbols for other velocities, and of the second kind (paper 001, eq. 3, 4 and 74).

The witness of a representation is the law (74) with the change of velocities written by hand, and the mass matrix moved along
the motion; that of the symbols of the second kind is the motion that nothing pushes. On random trees with every type of joint.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bases import KINDS, base_of, bound, rerooted, to_body
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import crba
from spread import first
from trees import (
    ON_R,
    TIGHT,
    Array,
    Plain,
    derivative,
    floating,
    hat,
    load,
    plain,
    random_tree,
    relative_error,
    representations,
    seeds,
    state,
    trees,
)

few = settings(max_examples=12)


def change_by_hand(robot: fc.Robot, q: Array, representation: str) -> tuple[Array, Array]:
    """A with nu_body = A nu, and [b, j, k] its rate along nu = e_k: A_rate = -ad A, ad of what turns, and shifts, the axes."""
    A = to_body(robot, q, representation)
    dA = np.zeros((robot.nv,) * 3)
    if robot.floating and representation != "body":
        for k in range(robot.nv):
            v, w = A[:3, k], A[3:6, k]
            ad = np.zeros((6, 6))
            ad[:3, :3] = ad[3:, 3:] = hat(w)
            if representation == "inertial":
                ad[:3, 3:] = hat(v)
            dA[:6, :6, k] = -ad @ A[:6, :6]
    return A, dA


def law_74(G: Array, M: Array, A: Array, dA: Array) -> Array:
    """As the paper prints it."""
    return np.array(np.einsum("abc,ai,bj,ck->ijk", G, A, A, A) + np.einsum("ab,ai,bjk->ijk", M, A, dA))


# ---------------------------------------------------------------------------------------------------------------------
# Representations


@few
@given(trees(max_joints=5), floating, seeds, representations)
def test_the_law_of_the_symbols(builder: fc.Builder, floating: bool, seed: int, representation: Any) -> None:
    """(74) from the body-fixed twist to any other, (3) with the Coriolis matrix, and (1) with the bias."""
    robot = load(builder, floating, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    G = robot.christoffel_symbols(q, representation)
    A, dA = change_by_hand(robot, q, representation)
    own = robot.christoffel_symbols(q), robot.mass_matrix(q)
    assert relative_error(G, law_74(*own, A, dA)) < TIGHT
    assert relative_error(fc.change_symbols(*own, A, dA), G) < TIGHT
    assert relative_error(G @ nu, robot.coriolis_matrix(q, nu, representation=representation)) < TIGHT
    expected = robot.bias(q, nu, representation) - robot.gravity_torque(q, representation)
    assert relative_error(G @ nu @ nu, expected) < TIGHT


def test_the_inhomogeneous_term_is_not_small() -> None:
    robot = plain(fc.load("spacearm"))
    q, _, _ = state(robot, np.random.default_rng(1))
    for representation in ("mixed", "inertial"):
        A, dA = change_by_hand(robot, q, representation)
        as_a_tensor = law_74(robot.christoffel_symbols(q), robot.mass_matrix(q), A, 0.0 * dA)
        assert relative_error(as_a_tensor, robot.christoffel_symbols(q, representation)) > 0.1  # type: ignore[arg-type]


@few
@given(trees(max_joints=5), floating, seeds, representations)
def test_derivatives_of_the_mass_matrix(builder: fc.Builder, floating: bool, seed: int, representation: Any) -> None:
    """Along nu = e_k of the representation, by complex steps; the rate of M along any nu; G_ijk + G_jik."""
    robot = load(builder, floating, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    model, A = robot.model.in_representation(representation), to_body(robot, q, representation)
    slopes = np.stack([derivative(crba.mass_matrix, model, q, A[:, k]) for k in range(robot.nv)], axis=-1)
    dM = robot.mass_matrix_derivatives(q, representation)
    assert relative_error(dM, slopes) < TIGHT
    assert relative_error(dM @ nu, robot.mass_matrix_rate(q, nu, representation)) < TIGHT
    G = robot.christoffel_symbols(q, representation)
    assert relative_error(G + np.swapaxes(G, 0, 1), dM) < TIGHT


@pytest.mark.parametrize("representation", ["mixed", "inertial"])
def test_against_differences(representation: Any) -> None:
    """Nothing but the mass matrix and `integrate`."""
    robot = load(random_tree(3, joints=6), True, 3)
    q, _, _ = state(robot, np.random.default_rng(3))
    h, A = 1e-5, to_body(robot, q, representation)

    def slope(e: Array) -> Array:
        ends = [robot.mass_matrix(robot.integrate(q, x * A @ e), representation) for x in (h, -h)]
        return (ends[0] - ends[1]) / (2 * h)

    dM = np.stack([slope(e) for e in np.eye(robot.nv)], axis=-1)
    assert relative_error(robot.mass_matrix_derivatives(q, representation), dM) < 1e-7


@few
@given(trees(), floating, seeds, representations)
def test_products(builder: fc.Builder, floating: bool, seed: int, representation: Any) -> None:
    """C w and C^T w; with w = nu the rate of the momentum M nu."""
    robot = load(builder, floating, seed)
    q, nu, w = state(robot, np.random.default_rng(seed))
    C = robot.coriolis_matrix(q, nu, representation=representation)
    assert relative_error(robot.coriolis_product(q, nu, w, representation), C @ w) < TIGHT
    assert relative_error(robot.coriolis_transpose_product(q, nu, w, representation), C.T @ w) < TIGHT
    tau = robot.inverse_dynamics(q, nu, w, representation=representation)
    rate = robot.mass_matrix_rate(q, nu, representation) @ nu + robot.mass_matrix(q, representation) @ w
    found = robot.coriolis_transpose_product(q, nu, nu, representation) - robot.gravity_torque(q, representation) + tau
    assert relative_error(found, rate) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Symbols of the second kind


@few
@given(trees(max_joints=5), floating, seeds, representations)
def test_second_kind(builder: fc.Builder, floating: bool, seed: int, representation: Any) -> None:
    """M times them are those of the first kind, armature or not."""
    robot = load(builder, floating, seed, joint_dynamics=bool(seed % 2))
    q, _, _ = state(robot, np.random.default_rng(seed))
    M, G = robot.mass_matrix(q, representation), robot.christoffel_symbols(q, representation)
    second = robot.christoffel_symbols_second_kind(q, representation)
    assert relative_error(second, np.einsum("il,ljk->ijk", np.linalg.inv(M), G)) < bound(M)


@few
@given(trees(max_joints=5), floating, seeds, representations)
def test_what_nothing_pushes_moves_along_a_geodesic(builder: fc.Builder, floating: bool, seed: int, representation: Any) -> None:
    """dnu = -G nu nu, by articulated bodies."""
    robot = load(builder, floating, seed, gravity=(0.0, 0.0, 0.0))
    q, nu, _ = state(robot, np.random.default_rng(seed))
    second = robot.christoffel_symbols_second_kind(q, representation)
    dnu = robot.forward_dynamics(q, nu, np.zeros(robot.nv), representation=representation)
    assert relative_error(-second @ nu @ nu, dnu) < bound(robot.mass_matrix(q, representation))


@few
@given(trees(max_joints=5, types=ON_R), seeds)
def test_second_kind_of_coordinates(builder: fc.Builder, seed: int) -> None:
    """For joints on R: the textbook's formula, with derivatives of M by complex steps; symmetric in the lower indices."""
    robot = load(builder, False)
    q, _, _ = state(robot, np.random.default_rng(seed))
    dM = np.stack([derivative(crba.mass_matrix, robot.model, q, e) for e in np.eye(robot.nv)], axis=-1)
    first = 0.5 * (dM + np.swapaxes(dM, 1, 2) - np.einsum("jki->ijk", dM))
    M, second = robot.mass_matrix(q), robot.christoffel_symbols_second_kind(q)
    assert relative_error(second, np.einsum("il,ljk->ijk", np.linalg.inv(M), first)) < bound(M)
    assert relative_error(second, np.swapaxes(second, 1, 2)) < bound(M)


def test_a_robot_that_cannot_move() -> None:
    builder = fc.Builder("brick")
    builder.link("brick", mass=1.0, inertia=(0.1, 0, 0, 0.1, 0, 0.1))
    robot = load(builder, False)
    assert robot.christoffel_symbols_second_kind([]).shape == (0, 0, 0)


# ---------------------------------------------------------------------------------------------------------------------
# Other bases


@pytest.mark.parametrize("kind", KINDS)
def test_symbols_of_another_base(kind: str) -> None:
    """`change_symbols` with the operator of paper 004: C of the equations of motion is the symbols times nu'."""
    for seed in range(3):
        robot, rng = load(random_tree(seed, 4), True, seed), np.random.default_rng(seed)
        q, nu, _ = state(robot, rng)
        base = base_of(kind, robot, rng)
        change = robot.base_change(q, nu, base)
        A = change.inverse
        along = robot.base_change(q, A.T, base)  # one velocity nu' = e_k after the other
        dA = np.moveaxis(along.inverse_rate, 0, -1)
        G = fc.change_symbols(robot.christoffel_symbols(q, "mixed"), robot.mass_matrix(q, "mixed"), A, dA)
        assert relative_error(G @ change.velocity(nu), robot.equations_of_motion(q, nu, base).C) < 1e-11
        if kind == "link":
            other, q_other = rerooted(robot, q, base)
            assert relative_error(other.christoffel_symbols(robot.base_configuration(q, base), "mixed"), G) < 1e-11
            assert relative_error(other.christoffel_symbols(q_other, "mixed"), G) < 1e-11


def test_change_symbols_takes_batches_and_fewer_velocities() -> None:
    rng = np.random.default_rng(0)
    G, M, A, dA = (rng.normal(size=(3, *shape)) for shape in ((4, 4, 4), (4, 4), (4, 2), (4, 2, 2)))
    found = fc.change_symbols(G, M, A, dA)
    assert found.shape == (3, 2, 2, 2)
    for k in range(3):
        assert relative_error(found[k], law_74(G[k], M[k], A[k], dA[k])) < TIGHT
    assert relative_error(fc.change_symbols(G[0], M, A[0], dA)[1], law_74(G[0], M[1], A[0], dA[1])) < TIGHT
    with pytest.raises(fc.InputError, match=r"change_symbols: A_derivatives does not fit.*\(\.\.\., 4, 2, 2\).*\(3, 4, 2\)"):
        fc.change_symbols(G, M, A, A)


def test_change_symbols_on_symbols() -> None:
    robot = fc.load("spacearm", joints=["joint2"])
    q, nu, _ = state(robot, np.random.default_rng(0))

    def inertial(r: Any, q: Any, nu: Any) -> Any:
        T = r.representation_change(q, nu, "inertial", "body").T
        dT = np.stack([r.representation_change(q, e, "inertial", "body").T_rate for e in np.eye(r.nv)], axis=-1)
        return (fc.change_symbols(r.christoffel_symbols(q), r.mass_matrix(q), T, dT) @ nu) @ nu

    expected = robot.christoffel_symbols(q, "inertial") @ nu @ nu
    assert relative_error(inertial(robot, q, nu), expected) < TIGHT
    assert relative_error(fc.compile(inertial, robot)(q, nu), expected) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# What users run


@pytest.mark.parametrize("representation", first(1, ["mixed", "inertial", "body"]))
def test_compiled(representation: Any) -> None:
    """One state, a batch, `out=`; beyond one joint that follows another."""
    robot = fc.load(random_tree(5, 4))
    slow: Plain = plain(robot)
    rng = np.random.default_rng(5)
    Q, V, W = (np.array(x) for x in zip(*(state(robot, rng) for _ in range(5)), strict=True))
    M = slow.mass_matrix(Q, representation)
    for name in ("christoffel_symbols", "christoffel_symbols_second_kind", "mass_matrix_derivatives"):
        expected, method = getattr(slow, name)(Q, representation), getattr(robot, name)
        limit = max(map(bound, M)) if "second" in name else TIGHT
        out = np.full(expected.shape, np.nan)
        assert method(Q, representation, out=out) is out
        assert relative_error(out, expected) < limit
        assert relative_error(method(Q[0], representation), expected[0]) < limit
    for name in ("coriolis_product", "coriolis_transpose_product"):
        expected = getattr(slow, name)(Q, V, W, representation)
        assert relative_error(getattr(robot, name)(Q, V, W, representation), expected) < TIGHT


def test_an_unknown_representation_is_refused() -> None:
    robot = fc.load("tree9")
    q, nu = robot.neutral(), np.zeros(robot.nv)
    for name, values in (
        ("christoffel_symbols", (q,)),
        ("christoffel_symbols_second_kind", (q,)),
        ("mass_matrix_derivatives", (q,)),
        ("coriolis_product", (q, nu, nu)),
        ("coriolis_transpose_product", (q, nu, nu)),
    ):
        with pytest.raises(fc.InputError, match=r"unknown representation.*'mixd'"):
            getattr(robot, name)(*values, "mixd")
