"""The centroid of paper 004: momentum, average velocity, Theorem 3, and derivatives by complex steps.

The witness of the momentum is a sum over the links of the description, from poses and velocities alone. Everything runs in
Python, on random trees with every type of joint and on three robots from the field.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bases import FIELD, TOLERANCE, base_of, close, field_robot, rerooted, to_body
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import centroidal
from fallingcat.model.model import WORLD
from trees import (
    GRAVITY,
    REPRESENTATIONS,
    Array,
    Plain,
    body_velocity,
    derivative,
    floating,
    hat,
    load,
    moved,
    plain,
    random_tree,
    representations,
    seeds,
    slope,
    state,
    stepped,
    trees,
)

few = settings(max_examples=10)


@pytest.fixture(params=FIELD)
def in_the_field(request: pytest.FixtureRequest) -> Plain:
    return field_robot(request.param)


# ---------------------------------------------------------------------------------------------------------------------
# Momentum, inertia, average velocity


def by_links(robot: Plain, q: Array, nu: Array) -> tuple[Array, Array, Array]:
    """Centre of mass, momentum about it, and inertia about it, link by link; nu is body-fixed."""
    rows = []
    for link in robot.description.links:
        if link.inertial is None or robot.model.frame(link.name).body == WORLD:
            continue
        H, v = robot.frame_pose(q, link.name), robot.frame_velocity(q, nu, link.name)
        R, m = H[:3, :3], link.inertial.mass
        arm = R @ np.array(link.inertial.pose.position)
        xx, xy, xz, yy, yz, zz = link.inertial.inertia
        turn = R @ np.array(link.inertial.pose.rotation)
        I = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
        w = R @ v[3:]
        rows.append((m, H[:3, 3] + arm, R @ v[:3] + np.cross(w, arm), w, I))
    mass = sum(row[0] for row in rows)
    c = sum((m * p for m, p, *_ in rows), np.zeros(3)) / mass
    linear = sum((m * v for m, _, v, *_ in rows), np.zeros(3))
    angular = sum((np.cross(p - c, m * v) + I @ w for m, p, v, w, I in rows), np.zeros(3))
    inertia = sum((I - m * hat(p - c) @ hat(p - c) for m, p, _, _, I in rows), np.zeros((3, 3)))
    full = np.block([[mass * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), inertia]])
    return c, np.concatenate([linear, angular]), full


def check_momentum(robot: Plain, q: Array, nu: Array, representation: Any) -> None:
    """(30)-(33), and the matrix applied to the velocity."""
    nu_body = body_velocity(robot, q, nu, representation)
    c, h, I = by_links(robot, q, nu_body)
    A = robot.centroidal_momentum_matrix(q, representation)
    close(robot.center_of_mass(q), c)
    close(robot.centroidal_inertia(q), I)
    close(A @ nu, h)
    close(robot.centroidal_momentum(q, nu, representation), h)
    close(robot.average_velocity(q, nu, representation), np.linalg.solve(I, h))
    close(A[:3] @ nu, robot.mass * robot.center_of_mass_jacobian(q) @ nu_body)
    if robot.floating:  # (32): moved from the base rows of the mixed mass matrix
        rows = robot.mass_matrix(q, "mixed")[:6]
        shift = np.block([[np.eye(3), np.zeros((3, 3))], [hat(q[:3] - c), np.eye(3)]])
        close(robot.centroidal_momentum_matrix(q, "mixed"), shift @ rows)


@few
@given(trees(), floating, seeds, representations)
def test_momentum(builder: fc.Builder, floating: bool, seed: int, representation: Any) -> None:
    robot = load(builder, floating, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    check_momentum(robot, q, nu, representation)


def test_momentum_in_the_field(in_the_field: Plain, rng: np.random.Generator) -> None:
    for representation in REPRESENTATIONS:
        q, nu, _ = state(in_the_field, rng)
        check_momentum(in_the_field, q, nu, representation)


def check_rates(robot: Plain, q: Array, nu: Array, dnu: Array, representation: Any) -> None:
    """Rates of the matrix, of the inertia and of the momentum are complex steps along the motion."""
    model, along = robot.model.in_representation(representation), body_velocity(robot, q, nu, representation)
    rate = robot.centroidal_momentum_matrix_rate(q, nu, representation)
    close(rate, derivative(centroidal.centroidal_momentum_matrix, model, q, along))
    I_rate = centroidal.centroidal_inertia_rate(model, q.tolist(), nu.tolist())
    close(I_rate, derivative(centroidal.centroidal_inertia, model, q, along)[3:, 3:])
    h_rate = slope(centroidal.centroidal_momentum(model, moved(model, q, along), stepped(nu, dnu)))
    close(robot.centroidal_momentum_rate(q, nu, dnu, representation), h_rate)
    close(robot.centroidal_momentum_matrix(q, representation) @ dnu + rate @ nu, h_rate)


@few
@given(trees(), floating, seeds, representations)
def test_rates(builder: fc.Builder, floating: bool, seed: int, representation: Any) -> None:
    robot = load(builder, floating, seed)
    check_rates(robot, *state(robot, np.random.default_rng(seed)), representation)


def test_rates_in_the_field(in_the_field: Plain, rng: np.random.Generator) -> None:
    for representation in REPRESENTATIONS:
        check_rates(in_the_field, *state(in_the_field, rng), representation)


@few
@given(trees(max_joints=5), seeds)
def test_average_velocity_is_that_of_the_frozen_robot(builder: fc.Builder, seed: int) -> None:
    """Block all joints at once, keep the momentum: the rigid body that is left turns with the average angular velocity."""
    robot = load(builder, True, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    v_G = robot.average_velocity(q, nu)
    c, h, _ = by_links(robot, q, nu)
    rigid = np.concatenate([v_G[:3] + np.cross(v_G[3:], q[:3] - c), v_G[3:], np.zeros(robot.n)])
    frozen = body_velocity(robot, q, rigid, "mixed")
    close(by_links(robot, q, frozen)[1], h)
    # of all velocities with this momentum the frozen robot's has the least energy
    K = 0.5 * v_G @ h
    close(robot.kinetic_energy(q, frozen), K)
    assert robot.kinetic_energy(q, nu) >= K


@few
@given(trees(max_joints=5), seeds)
def test_the_centroid_does_not_know_the_base(builder: fc.Builder, seed: int) -> None:
    """Momentum, inertia and average velocity are those of the rerooted robot; A_G' = A_G T^-1."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    link = base_of("link", robot, rng)
    other, q_other = rerooted(robot, q, link)
    change = robot.base_change(q, nu, link, "mixed")
    nu_other, dnu_other = change.velocity(nu), change.acceleration(nu, dnu)
    close(other.centroidal_inertia(q_other), robot.centroidal_inertia(q))
    close(other.centroidal_momentum(q_other, nu_other, "mixed"), robot.centroidal_momentum(q, nu, "mixed"))
    close(other.average_velocity(q_other, nu_other, "mixed"), robot.average_velocity(q, nu, "mixed"))
    A = other.centroidal_momentum_matrix(q_other, "mixed")
    close(A, change.jacobian(robot.centroidal_momentum_matrix(q, "mixed")))
    rate = robot.centroidal_momentum_rate(q, nu, dnu, "mixed")
    close(other.centroidal_momentum_rate(q_other, nu_other, dnu_other, "mixed"), rate)
    for x, y in zip(other.equations_of_motion(q_other, nu_other, "centroidal"), robot.equations_of_motion(q, nu, "centroidal")):
        close(x, y)


# ---------------------------------------------------------------------------------------------------------------------
# Theorem 3


def check_theorem_3(robot: Plain, q: Array, nu: Array, dnu: Array, rng: np.random.Generator) -> None:
    """(39)-(44): zero blocks and gravity exactly, the rest against the general change of base."""
    m, n = robot.mass, robot.n
    change = robot.base_change(q, nu, "centroidal")
    own = robot.equations_of_motion(q, nu)
    M, C, g = robot.equations_of_motion(q, nu, "centroidal")
    I = robot.centroidal_inertia(q)
    assert np.array_equal(M[:6, :6], I)
    assert np.array_equal(M[:3, :3], m * np.eye(3))
    assert not M[:3, 3:].any()
    assert not M[:6, 6:].any()
    assert not M[6:, :6].any()
    assert np.array_equal(g, [*(-m * np.array(GRAVITY)), *np.zeros(3 + n)])
    for x, y in zip(change.equations(*own), (M, C, g), strict=True):
        close(x, y)
    H, F, I_B = own.M[6:, 6:], own.M[:6, 6:], own.M[:6, :6]
    close(M[6:, 6:], H - F.T @ np.linalg.solve(I_B, F))
    nu_G, dnu_G = change.velocity(nu), change.acceleration(nu, dnu)
    close(nu_G[:6], robot.average_velocity(q, nu, "mixed"))
    close((C @ nu_G)[:3], np.zeros(3))
    # (35): J_G = I_G^-1 A_G
    close(change.T[:6], np.linalg.solve(I, robot.centroidal_momentum_matrix(q, "mixed")))
    # the first six rows are the centroidal dynamics: the rate of the momentum
    close((M @ dnu_G + C @ nu_G)[:6], robot.centroidal_momentum_rate(q, nu, dnu, "mixed"))
    # (42b) with a wrench on a link: joints feel it through J_L T^-1
    link, w = base_of("link", robot, rng), rng.normal(size=6)
    tau = robot.inverse_dynamics(q, nu, dnu, {link: w}, "mixed")
    J = robot.frame_jacobian(q, link) @ to_body(robot, q, "mixed")
    close(M @ dnu_G + C @ nu_G + g, change.force(tau) + change.jacobian(J).T @ w)


@settings(max_examples=12)
@given(trees(max_joints=6), seeds)
def test_theorem_3(builder: fc.Builder, seed: int) -> None:
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    check_theorem_3(robot, *state(robot, rng), rng)


def test_theorem_3_in_the_field(in_the_field: Plain, rng: np.random.Generator) -> None:
    check_theorem_3(in_the_field, *state(in_the_field, rng), rng)


@few
@given(trees(max_joints=5), seeds)
def test_center_of_mass_in_the_state(builder: fc.Builder, seed: int) -> None:
    """(36)-(38): the first three rows of T are the Jacobian of the centre of mass, the next are those of the base's rotation.

    Its mass matrix has m 1 in the corner and no coupling between the centre of mass and anything else; gravity is constant.
    """
    robot = load(builder, True, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    m, n = robot.mass, robot.n
    T, _ = robot.base_change(q, nu, ("center_of_mass", robot.base))
    close(T[:3], robot.center_of_mass_jacobian(q) @ to_body(robot, q, "mixed"))
    close(T[:3], robot.base_change(q, nu, "centroidal").T[:3])
    close(T[3:], np.hstack([np.zeros((3 + n, 3)), np.eye(3 + n)]))
    M, C, g = robot.equations_of_motion(q, nu, ("center_of_mass", robot.base))
    close(M[:3], np.hstack([m * np.eye(3), np.zeros((3, 3 + n))]))
    close(g, [*(-m * np.array(GRAVITY)), *np.zeros(3 + n)])
    close((C @ T @ nu)[:3], np.zeros(3))


@few
@given(trees(max_joints=5), seeds)
def test_momentum_in_flight(builder: fc.Builder, seed: int) -> None:
    """Whatever the joints do, without a base wrench the momentum changes by the weight alone."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    tau = np.concatenate([np.zeros(6), rng.normal(size=robot.n)])
    dnu = robot.forward_dynamics(q, nu, tau)
    scale = max(1.0, float(np.abs(dnu).max()))
    weight = [*(robot.mass * np.array(GRAVITY)), 0.0, 0.0, 0.0]
    assert np.abs(robot.centroidal_momentum_rate(q, nu, dnu) - weight).max() < TOLERANCE * scale


# ---------------------------------------------------------------------------------------------------------------------
# Derivatives


def check_derivatives(robot: Plain, q: Array, nu: Array, dnu: Array) -> None:
    """Column by column, complex steps through the source of the momentum and of its rate."""
    model, units, still = robot.model, np.eye(robot.nv), [0.0] * robot.nv
    D = robot.centroidal_momentum_derivatives(q, nu)
    by_q = [derivative(centroidal.centroidal_momentum, model, q, e, nu.tolist()) for e in units]
    close(D.dh_dq, np.array(by_q).T)
    close(D.dh_dnu, robot.centroidal_momentum_matrix(q))
    R = robot.centroidal_momentum_rate_derivatives(q, nu, dnu)
    by_q = [derivative(centroidal.centroidal_momentum_rate, model, q, e, nu.tolist(), dnu.tolist()) for e in units]
    by_nu = [slope(centroidal.centroidal_momentum_rate(model, q.tolist(), stepped(nu, e), dnu.tolist())) for e in units]
    by_dnu = [slope(centroidal.centroidal_momentum_rate(model, q.tolist(), nu.tolist(), stepped(still, e))) for e in units]
    close(R.dh_rate_dq, np.array(by_q).T)
    close(R.dh_rate_dnu, np.array(by_nu).T)
    close(R.dh_rate_ddnu, np.array(by_dnu).T)


@few
@given(trees(max_joints=5, min_joints=1), floating, seeds)
def test_derivatives(builder: fc.Builder, floating: bool, seed: int) -> None:
    robot = load(builder, floating, seed)
    check_derivatives(robot, *state(robot, np.random.default_rng(seed)))


def test_derivatives_in_the_field(in_the_field: Plain, rng: np.random.Generator) -> None:
    check_derivatives(in_the_field, *state(in_the_field, rng))


def test_displacing_the_robot_does_not_change_its_momentum(rng: np.random.Generator) -> None:
    """Columns of translations vanish; those of rotations turn the momentum."""
    robot = load(random_tree(8, 5), True, 2)
    q, nu, dnu = state(robot, rng)
    R = robot.split(q)[0][:3, :3]
    for D, x in (
        (robot.centroidal_momentum_derivatives(q, nu), robot.centroidal_momentum(q, nu)),
        (robot.centroidal_momentum_rate_derivatives(q, nu, dnu), robot.centroidal_momentum_rate(q, nu, dnu)),
    ):
        close(np.asarray(D[0])[:, :3], np.zeros((6, 3)))
        turned = [np.concatenate([np.cross(axis, x[:3]), np.cross(axis, x[3:])]) for axis in R.T]
        close(np.asarray(D[0])[:, 3:6], np.array(turned).T)


# ---------------------------------------------------------------------------------------------------------------------
# What users run


def test_compiled(rng: np.random.Generator) -> None:
    """Batches with out=, single states, and representations."""
    robot = fc.load("spacearm", joints=["joint2", "joint4"])
    Q = np.array([robot.random_configuration(rng) for _ in range(5)])
    V = rng.normal(size=(5, robot.nv))
    out = np.full((5, 6, robot.nv), np.nan)
    assert robot.centroidal_momentum_matrix(Q, out=out) is out
    for k in range(5):
        close(out[k] @ V[k], robot.centroidal_momentum(Q[k], V[k]))
        close(robot.centroidal_inertia(Q[k]) @ robot.average_velocity(Q[k], V[k]), out[k] @ V[k])
        mixed = robot.centroidal_momentum_matrix(Q[k], "mixed")
        close(mixed, out[k] @ to_body(robot, Q[k], "mixed"))


def test_a_robot_that_cannot_move() -> None:
    """Welded, without joints: no mass, no momentum, and no average velocity."""
    robot = plain(fc.load(random_tree(1, 3), joints=[], floating=False))
    q = np.zeros(0)
    assert robot.centroidal_momentum_matrix(q).shape == (6, 0)
    assert robot.centroidal_momentum_matrix_rate(q, q).shape == (6, 0)
    assert not robot.centroidal_inertia(q).any()
    assert not robot.centroidal_momentum(q, q).any()
    assert robot.centroidal_momentum_rate_derivatives(q, q, q).dh_rate_dq.shape == (6, 0)
    with pytest.raises(fc.InputError, match="average_velocity has no meaning"):
        robot.average_velocity(q, q)


def test_errors(rng: np.random.Generator) -> None:
    robot = fc.load("spacearm")
    q, nu, _ = state(robot, rng)
    with pytest.raises(fc.InputError, match="unknown representation"):
        robot.centroidal_momentum(q, nu, "centroidal")  # type: ignore[arg-type]
    with pytest.raises(fc.InputError, match="nu has the wrong shape"):
        robot.average_velocity(q, nu[:-1])
    with pytest.raises(fc.InputError, match="quaternion"):
        robot.centroidal_inertia(nu)


# ---------------------------------------------------------------------------------------------------------------------
# Far away: nothing about the centre of mass depends on where the origin of the world is

FAR = 7e6
"""Metres: an orbit."""


@pytest.mark.parametrize("name", ["centroidal_momentum_matrix", "centroidal_inertia"])
def test_far_from_the_origin(name: str, rng: np.random.Generator) -> None:
    robot = plain(fc.load("spacearm"))
    q = robot.random_configuration(rng)
    far = q.copy()
    far[:3] += FAR
    assert np.array_equal(getattr(robot, name)(far), getattr(robot, name)(q))


def test_velocities_far_from_the_origin(rng: np.random.Generator) -> None:
    robot = plain(fc.load("spacearm"))
    q, nu, dnu = state(robot, rng)
    far = q.copy()
    far[:3] += FAR
    for name in ("centroidal_momentum", "average_velocity", "centroidal_momentum_matrix_rate"):
        assert np.array_equal(getattr(robot, name)(far, nu), getattr(robot, name)(q, nu))
    assert np.array_equal(robot.centroidal_momentum_rate(far, nu, dnu), robot.centroidal_momentum_rate(q, nu, dnu))
    near, there = (robot.equations_of_motion(x, nu, base="centroidal") for x in (q, far))
    for a, b in zip(near, there, strict=True):
        close(b, a, 1e-12)
