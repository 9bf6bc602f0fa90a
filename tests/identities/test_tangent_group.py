"""The tangent group of states (paper 000, Sec. 3.1): the linearization on it and its exponential, against differences.

On this group velocities are carried along by the configurations: (H1, v1) (H2, v2) = (H1 H2, Ad(H2^-1) v1 + v2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from test_linearization import bound, rates, torques

import fallingcat as fc
from fallingcat.algorithms.configuration import bracket
from spread import one_in
from trees import (
    ALL,
    GRAVITY,
    REPRESENTATIONS,
    TIGHT,
    Array,
    body_velocity,
    floating,
    hat,
    load,
    plain,
    random_tree,
    relative_error,
    seeds,
    state,
    trees,
    vee,
)

few = settings(max_examples=10)


def flowed(robot: fc.Robot, q: Array, nu: Array, tau: Array, t: float) -> Any:
    """The state after a short time, to first order in it: nothing but the dynamics."""
    return robot.state_plus(q, nu, t * rates(robot, q, nu, tau, "body"))


@pytest.mark.parametrize("type_", one_in(3, ALL))
def test_against_differences_of_the_group(type_: str) -> None:
    """Perturbed and unperturbed motions, a little later, and what separates them on the tangent group; every joint type."""
    robot = plain(fc.load(random_tree(11, joints=2, types=(type_,), fixed=0.0), gravity=GRAVITY))
    q, nu, dnu = state(robot, np.random.default_rng(2))
    tau = torques(robot, q, nu, dnu, "body")
    h, nv = 1e-4, robot.nv

    def mixed(z: Array, u: Array) -> Array:
        total = np.zeros(2 * nv)
        for a, b in ((1, 1), (-1, -1), (1, -1), (-1, 1)):
            perturbed = robot.state_plus(q, nu, a * h * z, "tangent")
            ends = *flowed(robot, q, nu, tau, b * h), *flowed(robot, *perturbed, tau + a * h * u, b * h)
            total += a * b * robot.state_minus(*ends, "tangent")
        return total / (4 * h * h)

    L = robot.linearize(q, nu, tau, group="tangent")
    A = np.array([mixed(e, np.zeros(nv)) for e in np.eye(2 * nv)]).T
    B = np.array([mixed(np.zeros(2 * nv), e) for e in np.eye(nv)[nv - robot.n :]]).T
    for rows in (slice(0, nv), slice(nv, 2 * nv)):
        for columns in (slice(0, nv), slice(nv, 2 * nv)):
            assert relative_error(L.A[rows, columns], A[rows, columns]) < 2e-6
        assert relative_error(L.B[rows], B[rows]) < 2e-6


@few
@given(trees(), floating, seeds)
def test_the_same_motions_as_on_the_product(builder: fc.Builder, floating: bool, seed: int) -> None:
    """z of the product is T z of the tangent group, T = [[1, 0], [ad(nu), 1]]: A = T^-1 (A_product T - T_rate), to rounding."""
    robot = load(builder, floating, seed)
    q, nu, dnu = state(robot, np.random.default_rng(seed))
    tau = torques(robot, q, nu, dnu, "body")
    product, tangent = robot.linearize(q, nu, tau), robot.linearize(q, nu, tau, group="tangent")
    one, zero = np.eye(robot.nv), np.zeros((robot.nv, robot.nv))
    ad, ad_rate = (np.array(bracket(robot.model, list(x))) for x in (nu, robot.forward_dynamics(q, nu, tau)))
    T, T_inverse = np.block([[one, zero], [ad, one]]), np.block([[one, zero], [-ad, one]])
    expected = T_inverse @ (product.A @ T - np.block([[zero, zero], [ad_rate, zero]]))
    assert relative_error(tangent.A, expected) < bound(robot, q)
    assert np.array_equal(tangent.A[: robot.nv], np.block([zero, one]))
    assert np.array_equal(tangent.B, product.B)


@few
@given(trees(), seeds)
def test_it_does_not_depend_on_the_representation(builder: fc.Builder, seed: int) -> None:
    """The perturbation is one of the motion; in which axes the velocity of the base is given does not matter."""
    robot = load(builder, True, seed)
    q, nu, dnu = state(robot, np.random.default_rng(seed))
    for representation in REPRESENTATIONS:
        body = body_velocity(robot, q, nu, representation)
        tau = torques(robot, q, nu, dnu, representation)
        expected = robot.linearize(q, body, tau, group="tangent")
        found = robot.linearize(q, nu, tau, representation=representation, group="tangent")
        assert relative_error(found.A, expected.A) < bound(robot, q)
        assert relative_error(found.B, expected.B) < bound(robot, q)


@few
@given(trees(), floating, seeds)
def test_the_exponential(builder: fc.Builder, floating: bool, seed: int) -> None:
    """A group's: plus and minus undo each other, and moving along z twice is moving along 2 z."""
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    z = rng.normal(size=2 * robot.nv) / 2.0
    once = robot.state_plus(q, nu, z, "tangent")
    assert relative_error(robot.state_minus(q, nu, *once, "tangent"), z) < 1e-11
    twice, far = robot.state_plus(*once, z, "tangent"), robot.state_plus(q, nu, 2.0 * z, "tangent")
    assert relative_error(twice.nu, far.nu) < TIGHT
    assert relative_error(robot.frame_poses(twice.q), robot.frame_poses(far.q)) < TIGHT


def test_the_product_is_that_of_velocities() -> None:
    """Poses as 4 x 4 matrices: H1(t) H2(t) has the body-fixed velocity H2^-1 v1^ H2 + v2^, with H2 = exp(z)."""
    robot = plain(fc.load("spacearm"))
    rng = np.random.default_rng(3)
    q, nu, _ = state(robot, rng)
    z = rng.normal(size=2 * robot.nv)
    moved, alone = robot.state_plus(q, nu, z, "tangent"), robot.state_plus(robot.neutral(), 0.0 * nu, z, "tangent")
    H2 = robot.split(alone.q)[0]
    V = np.zeros((4, 4))
    V[:3, :3], V[:3, 3] = hat(nu[3:6]), nu[:3]
    carried = np.linalg.inv(H2) @ V @ H2
    assert relative_error(moved.nu[:6], np.concatenate([carried[:3, 3], vee(carried[:3, :3])]) + alone.nu[:6]) < TIGHT
    assert relative_error(robot.split(moved.q)[0], robot.split(q)[0] @ H2) < TIGHT
    assert relative_error(moved.nu[6:], nu[6:] + z[robot.nv + 6 :]) < TIGHT


def test_batches_and_words() -> None:
    """Compiled, in batches, into `out`; an unknown group is refused."""
    robot = fc.load("tree9")
    rng = np.random.default_rng(4)
    Q = np.stack([robot.random_configuration(rng) for _ in range(3)])
    V, Z = rng.normal(size=(3, robot.nv)), 0.3 * rng.normal(size=(3, 2 * robot.nv))
    many = robot.state_plus(Q, V, Z, "tangent")
    one = robot.state_plus(Q[1], V[1], Z[1], "tangent")
    assert np.array_equal(many.nu[1], one.nu)
    back = np.zeros_like(Z)
    robot.state_minus(Q, V, *many, "tangent", out=back)
    assert relative_error(back, Z) < 1e-11
    for call in (
        lambda: robot.state_plus(Q, V, Z, group="direct"),
        lambda: robot.state_minus(Q, V, Q, V, group="direct"),
        lambda: robot.linearize(Q, V, V, group="direct"),
    ):
        with pytest.raises(fc.InputError, match="unknown group"):
            call()
