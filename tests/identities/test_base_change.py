"""Lemma 3, Theorem 2 and the remarks of paper 004: the same equations of motion seen from any base.

The witness of an operator is a robot that was assembled anew with the other base, and for rates a complex step through the
source. Everything runs in Python, on random trees with every type of joint and on three robots from the field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from bases import CASES, FIELD, KINDS, base_of, bound, close, field_robot, on_robots, rerooted, to_body, twist_by_hand
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import base_change as source
from fallingcat.algorithms import energy, kinematics
from trees import (
    REPRESENTATIONS,
    Array,
    Plain,
    body_velocity,
    derivative,
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


# ---------------------------------------------------------------------------------------------------------------------
# Lemma 3: velocities, forces, Jacobians


@pytest.mark.parametrize(("kind", "representation"), CASES)
def test_velocities_and_forces(kind: str, representation: Any) -> None:
    """(18), (19), (27)-(29), (38): T nu is the twist of the base, and T_rate the complex step of T along the motion.

    (20), (21): forces go with T^-T, so that power is the same.
    """

    def check(robot: Plain, q: Array, nu: Array, dnu: Array, rng: np.random.Generator) -> None:
        base = base_of(kind, robot, rng)
        change = robot.base_change(q, nu, base, representation)
        n = robot.n
        assert np.array_equal(change.T[6:], np.hstack([np.zeros((n, 6)), np.eye(n)]))
        assert not change.T_rate[6:].any()
        if kind == "centroid":
            twist = robot.average_velocity(q, nu, "mixed")
        else:
            twist = twist_by_hand(robot, q, nu, base, representation)
        close(change.velocity(nu), [*twist, *nu[6:]])
        along = body_velocity(robot, q, nu, representation)
        close(change.T_rate, derivative(lambda *x: source.base_change(*x).T, robot.model, q, along, nu, base, representation))
        A, tau = np.linalg.inv(change.T), rng.normal(size=robot.nv)
        close(change.acceleration(nu, dnu), change.T @ dnu + change.T_rate @ nu)
        close(change.inverse, A)
        close(change.inverse_rate, -A @ change.T_rate @ A)
        close(change.force(tau), A.T @ tau)
        close(change.force(tau) @ change.velocity(nu), tau @ nu)

    on_robots(check, CASES.index((kind, representation)))


@few
@given(trees(max_joints=5), seeds, representations)
def test_jacobian_rates(builder: fc.Builder, seed: int, representation: Any) -> None:
    """Of the robot's own base and of another, by complex steps; J' T = J and its rate tie them together."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    base, frame = base_of("link", robot, rng), base_of("frame", robot, rng)
    change = robot.base_change(q, nu, base, representation)
    along = body_velocity(robot, q, nu, representation)
    J, J_rate = robot.frame_jacobian(q, frame, representation), robot.frame_jacobian_rate(q, nu, frame, representation)
    close(J_rate, derivative(kinematics.frame_jacobian, robot.model, q, along, frame, representation))
    other, q_other = rerooted(robot, q, base)
    close(other.frame_jacobian(q_other, frame, representation), change.jacobian(J))
    rate = other.frame_jacobian_rate(q_other, change.velocity(nu), frame, representation)
    close(rate, change.jacobian(J_rate) + J @ change.inverse_rate)


@few
@given(trees(max_joints=5), seeds, representations)
def test_the_way_back(builder: fc.Builder, seed: int, representation: Any) -> None:
    """T of the rerooted robot to the old base is T^-1, and its rate the rate of T^-1; a third base on the way changes nothing."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    link, third = (base_of("link", robot, rng) for _ in range(2))
    there = robot.base_change(q, nu, link, representation)
    other, q_other = rerooted(robot, q, link)
    nu_other = there.velocity(nu)
    back = other.base_change(q_other, nu_other, robot.base, representation)
    close(back.T, there.inverse)
    close(back.T_rate, there.inverse_rate)
    direct, onwards = robot.base_change(q, nu, third, representation), other.base_change(q_other, nu_other, third, representation)
    close(onwards.T @ there.T, direct.T)
    close(onwards.T_rate @ there.T + onwards.T @ there.T_rate, direct.T_rate)


def test_remark_1_joint_torques_do_not_know_the_base() -> None:
    """No base wrench: the same numbers for every base, to the last bit."""

    def check(robot: Plain, q: Array, nu: Array, dnu: Array, rng: np.random.Generator) -> None:
        tau = np.concatenate([np.zeros(6), rng.normal(size=robot.n)])
        for kind, representation in CASES:
            change = robot.base_change(q, nu, base_of(kind, robot, rng), representation)  # type: ignore[arg-type]
            assert np.array_equal(change.force(tau), tau)

    on_robots(check, 41)


def links_between(robot: fc.Robot, frame: str) -> set[str]:
    """The joints on the way from the base to a frame, their leaders for those that follow."""
    model = robot.model
    body, joints = model.frame(frame).body, set()
    while body > 0:
        at = model.bodies[body].nu_at
        joints |= {b.joint_name for b in model.bodies if b.nu_at == at and not b.mimics}
        body = model.bodies[body].parent
    return joints


def test_remark_2_base_wrenches_become_joint_torques() -> None:
    """(corrected) phi' = [W f; -J^T W f], and only joints on the way to the new base feel it. Gone with the way back."""

    def check(robot: Plain, q: Array, nu: Array, dnu: Array, rng: np.random.Generator) -> None:
        f, link = rng.normal(size=6), base_of("link", robot, rng)
        change = robot.base_change(q, nu, link)
        J = robot.frame_jacobian(q, link, "mixed")
        W = np.linalg.inv(J[:, :6]).T
        phi = change.force(np.concatenate([f, np.zeros(robot.n)]))
        close(phi, np.concatenate([W @ f, -J[:, 6:].T @ W @ f]))
        felt = {name for name, at in joint_places(robot) if np.any(phi[at] != 0.0)}
        assert felt <= links_between(robot, link)
        other, q_other = rerooted(robot, q, link)
        back = other.base_change(q_other, change.velocity(nu), robot.base)
        close(back.force(phi), np.concatenate([f, np.zeros(robot.n)]))

    on_robots(check, 42)


def joint_places(robot: fc.Robot) -> Iterator[tuple[str, slice]]:
    """Where every joint's velocities are in nu."""
    for body in robot.model.bodies[1:]:
        if not body.mimics:
            yield body.joint_name, slice(body.nu_at, body.nu_at + body.joint.nv)


# ---------------------------------------------------------------------------------------------------------------------
# Theorem 2: the equations of motion


def check_rerooted(
    robot: Plain, q: Array, nu: Array, dnu: Array, link: str, representation: Any, rng: np.random.Generator
) -> None:
    """Velocities, accelerations, forces, M, C, g and dynamics of the operator and of the rerooted robot."""
    change = robot.base_change(q, nu, link, representation)
    other, q_other = rerooted(robot, q, link)
    nu_other, dnu_other = change.velocity(nu), change.acceleration(nu, dnu)
    close(nu_other[:6], robot.frame_velocity(q, nu, link, representation))
    close(dnu_other[:6], robot.frame_acceleration(q, nu, dnu, link, representation))
    M, C, g = robot.equations_of_motion(q, nu, link, representation)
    close(M, other.mass_matrix(q_other, representation))
    close(C, other.coriolis_matrix(q_other, nu_other, representation=representation))
    close(g, other.gravity_torque(q_other, representation))
    frame = base_of("link", robot, rng)
    wrenches = {frame: rng.normal(size=6)}
    tau = robot.inverse_dynamics(q, nu, dnu, wrenches, representation)
    tau_other = other.inverse_dynamics(q_other, nu_other, dnu_other, wrenches, representation)
    close(change.force(tau), tau_other)
    J = other.frame_jacobian(q_other, frame, "body") @ to_body(other, q_other, representation)
    close(M @ dnu_other + C @ nu_other + g - J.T @ wrenches[frame], tau_other)
    forward = other.forward_dynamics(q_other, nu_other, change.force(tau), wrenches, representation)
    close(forward, dnu_other, bound(M))
    own = robot.forward_dynamics(q, nu, tau, wrenches, representation)
    close(own, dnu, bound(robot.mass_matrix(q, representation)))


@settings(max_examples=12)
@given(trees(max_joints=6), seeds, representations)
def test_operator_and_rerooted_robot_agree(builder: fc.Builder, seed: int, representation: Any) -> None:
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    check_rerooted(robot, *state(robot, rng), base_of("link", robot, rng), representation, rng)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("name", FIELD)
def test_operator_and_rerooted_robot_agree_in_the_field(name: str, representation: Any, rng: np.random.Generator) -> None:
    robot = field_robot(name)
    for _ in range(2):
        check_rerooted(robot, *state(robot, rng), base_of("link", robot, rng), representation, rng)


@pytest.mark.parametrize(("kind", "representation"), CASES)
def test_equations_of_motion(kind: str, representation: Any) -> None:
    """(24), (25) and the skew-symmetry of M_rate - 2 C, for every base and representation.

    M_rate is a complex step of M, K_rate one of the kinetic energy: K_rate = nu'^T (tau' - g') needs all of the theorem.
    """

    def check(robot: Plain, q: Array, nu: Array, dnu: Array, rng: np.random.Generator) -> None:
        base = base_of(kind, robot, rng)
        change = robot.base_change(q, nu, base, representation)
        own = robot.equations_of_motion(q, nu, None, representation)
        M, C, g = robot.equations_of_motion(q, nu, base, representation)
        for x, y in zip(change.equations(*own), (M, C, g), strict=True):
            close(x, y)
        assert np.array_equal(M, M.T)
        assert np.linalg.eigvalsh(M)[0] > 0.0
        close(own.M, robot.mass_matrix(q, representation))
        close(own.C @ nu + own.g, robot.bias(q, nu, representation))

        along = body_velocity(robot, q, nu, representation)
        M_rate = derivative(lambda *x: source.equations_of_motion(*x).M, robot.model, q, along, nu, base, representation)
        close(C + C.T, M_rate)

        nu_new, dnu_new = change.velocity(nu), change.acceleration(nu, dnu)
        close(nu_new @ M @ nu_new / 2, robot.kinetic_energy(q, along))
        tau = robot.inverse_dynamics(q, nu, dnu, representation=representation)
        close(M @ dnu_new + C @ nu_new + g, change.force(tau))
        close(nu_new @ (change.force(tau) - g), energy_rate(robot, q, nu, dnu, representation))

    on_robots(check, 60 + CASES.index((kind, representation)))


def energy_rate(robot: Plain, q: Array, nu: Array, dnu: Array, representation: Any) -> Array:
    """dK/dt by a complex step along the motion."""
    model = robot.model.in_representation(representation)
    q_moved = moved(robot.model, q, body_velocity(robot, q, nu, representation))
    return slope(energy.kinetic_energy(model, q_moved, stepped(nu, dnu)))


@few
@given(trees(max_joints=5), seeds)
def test_joint_dynamics_come_along(builder: fc.Builder, seed: int) -> None:
    """Armature and friction belong to the joints: the centroid and other bases have them unchanged."""
    robot, rng = load(builder, True, seed, joint_dynamics=True), np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    bare = load(builder, True, seed)
    for kind in KINDS:
        base = base_of(kind, robot, np.random.default_rng(seed))
        M, C, _ = robot.equations_of_motion(q, nu, base)
        M_bare, C_bare, _ = bare.equations_of_motion(q, nu, base)
        armature = robot.mass_matrix(q) - bare.mass_matrix(q)
        close(M - M_bare, armature)
        close(C, C_bare)


# ---------------------------------------------------------------------------------------------------------------------
# Representations


@settings(max_examples=12)
@given(trees(max_joints=6), seeds, st.sampled_from(["mixed", "inertial"]))
def test_dynamics_in_a_representation(builder: fc.Builder, seed: int, representation: Any) -> None:
    """A change of velocities nu_body = A nu: M = A^T M A, tau = A^T tau(A dnu + A_rate nu); forward undoes inverse."""
    robot, rng = load(builder, True, seed, joint_dynamics=bool(seed % 2)), np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    A = to_body(robot, q, representation)
    nu_body = A @ nu
    turning = hat(nu_body[3:6])  # R' = R w^, and for the inertial twist A = Ad(H^-1)
    shifting = hat(nu_body[:3]) if representation == "inertial" else np.zeros((3, 3))
    ad = np.block([[turning, shifting], [np.zeros((3, 3)), turning]])
    dnu_body = A @ dnu - np.concatenate([ad @ nu_body[:6], np.zeros(robot.n)])
    wrenches = {base_of("frame", robot, rng): rng.normal(size=6)}
    tau = robot.inverse_dynamics(q, nu, dnu, wrenches, representation)
    tau_body = robot.inverse_dynamics(q, nu_body, dnu_body, wrenches)
    close(tau, A.T @ tau_body)
    close(tau @ nu, tau_body @ nu_body)
    M = robot.mass_matrix(q, representation)
    close(M, A.T @ robot.mass_matrix(q) @ A)
    close(robot.gravity_torque(q, representation), A.T @ robot.gravity_torque(q))
    close(robot.bias(q, nu, representation), robot.inverse_dynamics(q, nu, 0 * nu, representation=representation))
    close(robot.forward_dynamics(q, nu, tau, wrenches, representation), dnu, bound(M))


@pytest.mark.parametrize("representation", ["mixed", "inertial"])
@pytest.mark.parametrize("name", FIELD)
def test_forward_undoes_inverse_in_the_field(name: str, representation: Any, rng: np.random.Generator) -> None:
    robot = field_robot(name)
    q, nu, dnu = state(robot, rng)
    tau = robot.inverse_dynamics(q, nu, dnu, representation=representation)
    M = robot.mass_matrix(q, representation)
    close(tau, M @ dnu + robot.bias(q, nu, representation))
    close(robot.forward_dynamics(q, nu, tau, representation=representation), dnu, bound(M))


def test_a_fixed_base_has_one_representation(rng: np.random.Generator) -> None:
    robot = load(random_tree(3, 4), False, 0)
    q, nu, dnu = state(robot, rng)
    for representation in REPRESENTATIONS:
        r: Any = representation
        assert np.array_equal(robot.mass_matrix(q, r), robot.mass_matrix(q))
        assert np.array_equal(robot.inverse_dynamics(q, nu, dnu, representation=r), robot.inverse_dynamics(q, nu, dnu))
        close(robot.equations_of_motion(q, nu, None, r).M, robot.mass_matrix(q))


# ---------------------------------------------------------------------------------------------------------------------
# Batches and errors


def test_batches(rng: np.random.Generator) -> None:
    """Leading axes go through the change of base and all it does."""
    robot = load(random_tree(5, 4), True, 0)
    states = [state(robot, rng) for _ in range(3)]
    Q, V, A = (np.array(x) for x in zip(*states, strict=True))
    link = robot.link_names[-1]
    batch = robot.base_change(Q, V, link)
    J = robot.frame_jacobian(Q, robot.link_names[1], "mixed")
    equations = batch.equations(*robot.equations_of_motion(Q, V))
    for k, (q, nu, dnu) in enumerate(states):
        one = robot.base_change(q, nu, link)
        close(batch.T[k], one.T, 1e-15)
        close(batch.inverse[k], one.inverse, 1e-15)
        close(batch.velocity(V)[k], one.velocity(nu), 1e-15)
        close(batch.acceleration(V, A)[k], one.acceleration(nu, dnu), 1e-14)
        close(batch.force(A)[k], one.force(dnu), 1e-14)
        close(batch.jacobian(J)[k], one.jacobian(J[k]), 1e-14)
        close(equations.C[k], one.equations(*robot.equations_of_motion(q, nu)).C, 1e-13)


def test_compiled(rng: np.random.Generator) -> None:
    """What users run: methods with out=, for one state and a batch, give what the source gives."""
    robot = fc.load("spacearm", joints=["joint2", "joint4"])
    slow = plain(robot)
    Q = np.array([robot.random_configuration(rng) for _ in range(5)])
    V = rng.normal(size=(5, robot.nv))
    for base in ("link7", ("link7", "link2"), ["center_of_mass", "link2"], "centroidal"):
        out = tuple(np.full((5, robot.nv, robot.nv), np.nan) for _ in range(2))
        change = robot.base_change(Q, V, base, out=out)
        assert change.T is out[0]
        expected = slow.base_change(Q, V, base)
        close(change.T, expected.T)
        close(change.T_rate, expected.T_rate)
        for x, y in zip(robot.equations_of_motion(Q[0], V[0], base), slow.equations_of_motion(Q[0], V[0], base), strict=True):
            close(x, y)


def test_the_own_base(rng: np.random.Generator) -> None:
    """None is the base the robot has: nothing changes."""
    robot = load(random_tree(5, 4), True, 0)
    q, nu, _ = state(robot, rng)
    for representation in REPRESENTATIONS:
        T, T_rate = robot.base_change(q, nu, None, representation)  # type: ignore[arg-type]
        close(T, np.eye(robot.nv))
        close(T_rate, np.zeros((robot.nv, robot.nv)))


def test_errors(rng: np.random.Generator) -> None:
    robot = load(random_tree(5, 4), True, 0)
    q, nu, _ = state(robot, rng)
    link: Any = robot.link_names[1]
    for call in (robot.base_change, robot.equations_of_motion):
        with pytest.raises(fc.FrameError, match="no frame 'lnk1'"):
            call(q, nu, "lnk1")
        with pytest.raises(fc.FrameError, match="no frame 'centre'"):
            call(q, nu, ("centre", link))
        with pytest.raises(fc.FrameError, match="no frame 'center_of_mass'"):
            call(q, nu, (link, "center_of_mass"))
        with pytest.raises(fc.FrameError, match="no frame 7"):
            call(q, nu, 7)  # type: ignore[arg-type]
        with pytest.raises(fc.FrameError, match="no frame"):
            call(q, nu, np.array([link, link]))  # type: ignore[arg-type]
        for bad in ((link,), (link, link, link), [link] * 3):
            with pytest.raises(fc.InputError, match="origin frame"):
                call(q, nu, bad)  # type: ignore[arg-type]
        for representation in ("body", "inertial"):
            with pytest.raises(fc.InputError, match=r"no orientation.*mixed"):
                call(q, nu, "centroidal", representation)  # type: ignore[arg-type]
        with pytest.raises(fc.InputError, match=r"unknown representation.*'spatial'"):
            call(q, nu, link, "spatial")  # type: ignore[arg-type]
        with pytest.raises(fc.InputError, match="nu has the wrong shape"):
            call(q, nu[:-1], link)
    compiled = fc.load(random_tree(5, 4))
    for method in (compiled.mass_matrix, compiled.gravity_torque, compiled.centroidal_momentum_matrix):
        with pytest.raises(fc.InputError, match="unknown representation"):
            method(q, "spatial")  # type: ignore[operator]


def test_a_fixed_base_cannot_be_changed(rng: np.random.Generator) -> None:
    robot = load(random_tree(5, 4), False, 0)
    q, nu, _ = state(robot, rng)
    for base in (robot.link_names[1], "centroidal", ("center_of_mass", robot.link_names[1])):
        for call in (robot.base_change, robot.equations_of_motion):
            with pytest.raises(fc.InputError, match="floating base"):
                call(q, nu, base)
