"""The operator between representations of the base twist, and both sides of a change of base (paper 004, eq. 2, 18, 19).

Witnesses: the twists written by hand, complex steps of the operator along the motion, dynamics in both representations, and
the robot assembled anew with the other base. Random trees with every type of joint.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bases import KINDS, base_of, bound, close, rerooted, to_body
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import base_change as source
from trees import (
    REPRESENTATIONS,
    Array,
    body_velocity,
    derivative,
    floating,
    load,
    moved,
    plain,
    random_tree,
    representations,
    seeds,
    slope,
    state,
    trees,
)

few = settings(max_examples=12)


# ---------------------------------------------------------------------------------------------------------------------
# Representations


@few
@given(trees(max_joints=4), floating, seeds, representations, representations)
def test_the_operator(builder: fc.Builder, floating: bool, seed: int, a: Any, b: Any) -> None:
    """T is that of the twists by hand, T_rate its complex step along the motion, and the way back undoes it."""
    robot, rng = load(builder, floating, seed), np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    change = robot.representation_change(q, nu, a, b)
    by_hand = np.linalg.solve(to_body(robot, q, b), to_body(robot, q, a))
    close(change.T, by_hand)
    along = body_velocity(robot, q, nu, a)
    close(change.T_rate, derivative(lambda *x: source.representation_change(*x).T, robot.model, q, along, nu, a, b))
    back = robot.representation_change(q, change.velocity(nu), b, a)
    close(back.T, change.inverse)
    close(back.T_rate, change.inverse_rate)
    if a == b or not floating:
        assert np.array_equal(change.T, np.eye(robot.nv))
        assert not change.T_rate.any()


@few
@given(trees(max_joints=4), seeds, representations, representations)
def test_what_it_does(builder: fc.Builder, seed: int, a: Any, b: Any) -> None:
    """Velocities, accelerations, forces, Jacobians and the equations of motion of one representation are those of the other."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    change = robot.representation_change(q, nu, a, b)
    nu_b, dnu_b = change.velocity(nu), change.acceleration(nu, dnu)
    close(body_velocity(robot, q, nu_b, b), body_velocity(robot, q, nu, a))
    close(nu_b[:6], robot.frame_velocity(q, nu_b, robot.base, b))
    tau = robot.inverse_dynamics(q, nu, dnu, representation=a)
    close(change.force(tau), robot.inverse_dynamics(q, nu_b, dnu_b, representation=b))
    found = robot.forward_dynamics(q, nu_b, change.force(tau), representation=b)
    close(found, dnu_b, bound(robot.mass_matrix(q, b)))
    close(change.force(tau) @ nu_b, tau @ nu)
    A_G = robot.centroidal_momentum_matrix(q, a)
    close(change.jacobian(A_G), robot.centroidal_momentum_matrix(q, b))
    own = robot.equations_of_motion(q, nu, None, a)
    for x, y in zip(change.equations(*own), robot.equations_of_motion(q, nu_b, None, b), strict=True):
        close(x, y)


@pytest.mark.parametrize(("a", "b"), [(a, b) for a in REPRESENTATIONS for b in REPRESENTATIONS])
def test_accelerations_by_differences(a: Any, b: Any) -> None:
    """The twist in b along a motion with constant dnu in a, by central differences on the group."""
    robot, rng = load(random_tree(7, 4), True, 7), np.random.default_rng(7)
    q, nu, dnu = state(robot, rng)
    h = 1e-5

    def seen(t: float) -> Array:
        middle = robot.integrate(q, 0.5 * t * body_velocity(robot, q, nu, a))
        there = robot.integrate(q, t * body_velocity(robot, middle, nu + 0.5 * t * dnu, a))
        nu_t = nu + t * dnu
        return robot.representation_change(there, nu_t, a, b).velocity(nu_t)

    close(robot.representation_change(q, nu, a, b).acceleration(nu, dnu), (seen(h) - seen(-h)) / (2 * h), 1e-8)


def test_compiled_batches_and_out() -> None:
    robot = fc.load("tree9")
    rng = np.random.default_rng(2)
    Q, V = (np.array(x) for x in zip(*(state(robot, rng)[:2] for _ in range(4)), strict=True))
    for a in REPRESENTATIONS:
        for b in REPRESENTATIONS:
            out = tuple(np.full((4, robot.nv, robot.nv), np.nan) for _ in range(2))
            change = robot.representation_change(Q, V, a, b, out=out)  # type: ignore[arg-type]
            assert change.T is out[0]
            expected = plain(robot).representation_change(Q, V, a, b)  # type: ignore[arg-type]
            close(change.T, expected.T, 1e-14)
            close(change.T_rate, expected.T_rate, 1e-14)
            close(change.force(V)[1], robot.representation_change(Q[1], V[1], a, b).force(V[1]), 1e-14)  # type: ignore[arg-type]
    default = robot.representation_change(Q[0], V[0])
    assert np.array_equal(default.T, robot.representation_change(Q[0], V[0], "body", "mixed").T)


@pytest.mark.parametrize("joints", [["joint2"], None])
def test_a_fixed_base_has_no_twist(joints: Any) -> None:
    robot = fc.load("spacearm", floating=False, joints=joints)
    q, nu, dnu = state(robot, np.random.default_rng(0))
    change = robot.representation_change(q, nu, "mixed", "inertial")
    assert np.array_equal(change.inverse, np.eye(robot.nv))
    assert np.array_equal(change.acceleration(nu, dnu), dnu)
    assert np.array_equal(change.force(dnu), dnu)


def test_unknown_representations_are_refused() -> None:
    robot = fc.load("tree9")
    q, nu = robot.neutral(), np.zeros(robot.nv)
    for value in ("mixd", None, 3, ["body"], np.array(["body", "mixed"])):
        wrong: Any = value
        with pytest.raises(fc.InputError, match="unknown source"):
            robot.representation_change(q, nu, wrong)
        with pytest.raises(fc.InputError, match="unknown target"):
            robot.representation_change(q, nu, "body", wrong)
        with pytest.raises(fc.InputError, match="unknown source"):
            robot.kernel("representation_change", source=wrong)
        if value is not None:
            with pytest.raises(fc.InputError, match="unknown target_representation"):
                robot.base_change(q, nu, robot.link_names[-1], "body", wrong)


# ---------------------------------------------------------------------------------------------------------------------
# A change of base with a representation for each side


@few
@given(trees(max_joints=4), seeds, representations, representations)
def test_both_sides_of_a_change_of_base(builder: fc.Builder, seed: int, a: Any, b: Any) -> None:
    """From nu of the own base in one representation to that of the robot assembled anew in another."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    link = base_of("link", robot, rng)
    change = robot.base_change(q, nu, link, a, b)
    other, q_other = rerooted(robot, q, link)
    nu_other, dnu_other = change.velocity(nu), change.acceleration(nu, dnu)
    along = body_velocity(robot, q, nu, a)
    close(nu_other[:6], robot.representation_change(q, nu, a, b).velocity(nu)[:6] if link == robot.base else nu_other[:6])
    close(body_velocity(other, q_other, nu_other, b)[:6], robot.frame_velocity(q, along, link))
    close(change.T_rate, derivative(lambda *x: source.base_change(*x).T, robot.model, q, along, nu, link, a, b))
    tau = robot.inverse_dynamics(q, nu, dnu, representation=a)
    close(change.force(tau), other.inverse_dynamics(q_other, nu_other, dnu_other, representation=b))
    own = robot.equations_of_motion(q, nu, None, a)
    found = change.equations(*own)
    close(found.M, other.mass_matrix(q_other, b))
    close(found.C, other.coriolis_matrix(q_other, nu_other, representation=b))
    if a == b:
        assert np.array_equal(change.T, robot.base_change(q, nu, link, a).T)


@pytest.mark.parametrize("kind", KINDS)
def test_two_steps_are_one(kind: str) -> None:
    """First the representation, then the base; the centroid takes any nu, and gives the mixed one."""
    for seed, a in enumerate(REPRESENTATIONS):
        robot, rng = load(random_tree(seed, 4), True, seed), np.random.default_rng(seed)
        q, nu, _ = state(robot, rng)
        base = base_of(kind, robot, rng)
        for b in REPRESENTATIONS if kind != "centroid" else ("mixed",):
            first = robot.representation_change(q, nu, a, b)  # type: ignore[arg-type]
            second = robot.base_change(q, first.velocity(nu), base, b)  # type: ignore[arg-type]
            direct = robot.base_change(q, nu, base, a, b)  # type: ignore[arg-type]
            close(direct.T, second.T @ first.T)
            close(direct.T_rate, second.T_rate @ first.T + second.T @ first.T_rate)
    with pytest.raises(fc.InputError, match="the centroid has no orientation"):
        robot.base_change(q, nu, "centroidal", "mixed", "body")


# ---------------------------------------------------------------------------------------------------------------------
# The configuration seen from another base


@few
@given(trees(max_joints=5), seeds)
def test_the_configuration_of_the_robot_assembled_anew(builder: fc.Builder, seed: int) -> None:
    """(18a): every frame of the other robot is where it was; and back."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, _, _ = state(robot, rng)
    link = base_of("link", robot, rng)
    other = robot.with_base(link)
    q_other = robot.base_configuration(q, link)
    for frame in robot.frame_names:
        close(other.frame_pose(q_other, frame), robot.frame_pose(q, frame))
    close(robot.difference(q, other.base_configuration(q_other, robot.base)), np.zeros(robot.nv))


@few
@given(trees(max_joints=4), seeds)
def test_it_moves_with_the_velocity_of_that_base(builder: fc.Builder, seed: int) -> None:
    """(18a) along (18b): the rate of q' is nu', for every base that has an orientation; by complex steps of poses."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    for kind in KINDS[:-1]:
        base = base_of(kind, robot, rng)
        there = robot.base_configuration(q, base)
        H, s = robot.split(there)
        assert np.array_equal(s, robot.split(q)[1])
        twist = robot.base_change(q, nu, base, "body").velocity(nu)
        h = 1e-6
        ends = [robot.base_configuration(robot.integrate(q, x * nu), base) for x in (h, -h)]
        close(robot.difference(ends[1], ends[0]) / (2 * h), twist, 1e-7)
        along = [slope(source_pose(robot, moved(robot.model, q, nu), base))]
        V = np.linalg.solve(H, along[0])
        close([*V[:3, 3], V[2, 1], V[0, 2], V[1, 0]], twist[:6])


def source_pose(robot: fc.Robot, q: Any, base: Any) -> Any:
    """The pose of a base, on complex numbers."""
    from fallingcat.algorithms.kinematics import center_of_mass, frame_pose

    origin, orientation = base if isinstance(base, tuple) else (base, base)
    H = np.array(frame_pose(robot.model, q, orientation))
    com = origin == "center_of_mass"
    H[:3, 3] = center_of_mass(robot.model, q) if com else np.array(frame_pose(robot.model, q, origin))[:3, 3]
    return H


def test_batches_of_configurations() -> None:
    robot = fc.load("tree9")
    rng = np.random.default_rng(0)
    Q = np.array([[robot.random_configuration(rng) for _ in range(3)] for _ in range(2)])
    for base in (robot.link_names[-1], (robot.link_names[-1], robot.link_names[2]), ["center_of_mass", robot.base], None):
        found = robot.base_configuration(Q, base)  # type: ignore[arg-type]
        assert found.shape == Q.shape
        close(found[1, 2], robot.base_configuration(Q[1, 2], base), 1e-15)  # type: ignore[arg-type]
    Q[0, 1, 4] = np.nan
    lost = np.isnan(robot.base_configuration(Q, robot.link_names[-1])).any(axis=-1)
    assert lost.sum() == 1
    assert lost[0, 1]


def test_what_has_no_pose() -> None:
    robot = fc.load("tree9")
    q = robot.neutral()
    with pytest.raises(fc.InputError, match="the centroid has no orientation"):
        robot.base_configuration(q, "centroidal")
    with pytest.raises(fc.FrameError, match="no frame 'lnk1'"):
        robot.base_configuration(q, "lnk1")
    with pytest.raises(fc.InputError, match="origin frame"):
        robot.base_configuration(q, ("a", "b", "c"))  # type: ignore[arg-type]
    with pytest.raises(fc.InputError, match="floating base"):
        fc.load("tree9", floating=False).base_configuration(q[7:], robot.link_names[-1])
    with pytest.raises(fc.InputError, match="q has the wrong shape"):
        robot.base_configuration(q[:-1], robot.link_names[-1])
