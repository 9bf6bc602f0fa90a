"""Where frames are and how they move, for any tree: poses, Jacobians and their rates, the centre of mass, configurations.

The witness of a Jacobian or a rate is the complex step of what it is a derivative of. Everything runs in Python on random trees.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from scipy.linalg import expm

import fallingcat as fc
from fallingcat.algorithms import kinematics
from trees import (
    TIGHT,
    Array,
    Plain,
    body_velocity,
    derivative,
    floating,
    load,
    moved,
    relative_error,
    representations,
    seeds,
    slope,
    spatial_inertia,
    state,
    stepped,
    trees,
    vee,
)

few = settings(max_examples=20)


# ---------------------------------------------------------------------------------------------------------------------
# Frames


def at_a_frame(builder: fc.Builder, floating: bool, seed: int) -> tuple[Plain, Array, Array, Array, str]:
    """A robot, its q, nu and dnu, and one of its frames."""
    robot, rng = load(builder, floating), np.random.default_rng(seed)
    return robot, *state(robot, rng), str(rng.choice(robot.frame_names))


def pose_slope(robot: fc.Robot, q: Array, direction: Array, frame: str, representation: str) -> Array:
    """The twist of a frame when q moves along a body-fixed direction, from its pose alone."""
    H = robot.frame_pose(q, frame)
    dH = derivative(kinematics.frame_pose, robot.model, q, direction, frame)
    if representation == "mixed":
        return np.concatenate([dH[:3, 3], vee(dH[:3, :3] @ H[:3, :3].T)])
    twist = np.linalg.solve(H, dH) if representation == "body" else dH @ np.linalg.inv(H)
    return np.concatenate([twist[:3, 3], vee(twist)])


@few
@given(trees(max_joints=5), floating, seeds, representations)
def test_jacobian_is_the_slope_of_the_pose(builder: fc.Builder, floating: bool, seed: int, representation: str) -> None:
    """J column by column from the derivative of frame_pose, the base twist in nu having the same representation."""
    robot, q, _, _, frame = at_a_frame(builder, floating, seed)
    columns = [pose_slope(robot, q, body_velocity(robot, q, e, representation), frame, representation) for e in np.eye(robot.nv)]
    assert relative_error(robot.frame_jacobian(q, frame, representation), np.column_stack(columns)) < TIGHT


@few
@given(trees(), floating, seeds, representations)
def test_jacobian_rate_is_the_slope_of_the_jacobian(builder: fc.Builder, floating: bool, seed: int, representation: str) -> None:
    """dJ/dt from the derivative of J along the motion; it vanishes at rest."""
    robot, q, nu, _, frame = at_a_frame(builder, floating, seed)
    direction = body_velocity(robot, q, nu, representation)
    expected = derivative(kinematics.frame_jacobian, robot.model, q, direction, frame, representation)
    assert relative_error(robot.frame_jacobian_rate(q, nu, frame, representation), expected) < TIGHT


@few
@given(trees(), floating, seeds, representations)
def test_frame_velocity_and_acceleration(builder: fc.Builder, floating: bool, seed: int, representation: str) -> None:
    """v = J nu, a = J dnu + dJ/dt nu, and a is the slope of v."""
    robot, q, nu, dnu, frame = at_a_frame(builder, floating, seed)
    J_f = robot.frame_jacobian(q, frame, representation)
    J_rate = robot.frame_jacobian_rate(q, nu, frame, representation)
    a = robot.frame_acceleration(q, nu, dnu, frame, representation)
    assert relative_error(robot.frame_velocity(q, nu, frame, representation), J_f @ nu) < TIGHT
    assert relative_error(a, J_f @ dnu + J_rate @ nu) < TIGHT
    direction = body_velocity(robot, q, nu, representation)
    later = kinematics.frame_velocity(robot.model, moved(robot.model, q, direction), stepped(nu, dnu), frame, representation)
    assert relative_error(a, slope(later)) < TIGHT


@few
@given(trees(), floating, seeds)
def test_centre_of_mass(builder: fc.Builder, floating: bool, seed: int) -> None:
    """c from the links that move; its Jacobian is its slope, and m J_c nu the momentum of all links."""
    robot = load(builder, floating)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    mass, moment, momentum = 0.0, np.zeros(3), np.zeros(3)
    for link in robot.description.links:
        if robot.model.frame(link.name).body < 0:
            continue
        H = robot.frame_pose(q, link.name)
        mass += link.inertial.mass
        moment += link.inertial.mass * (H[:3, :3] @ link.inertial.pose.position + H[:3, 3])
        momentum += H[:3, :3] @ (spatial_inertia(link.inertial) @ robot.frame_velocity(q, nu, link.name))[:3]
    assert relative_error(robot.mass, mass) < TIGHT
    assert relative_error(robot.center_of_mass(q), moment / mass) < TIGHT
    columns = [derivative(kinematics.center_of_mass, robot.model, q, e) for e in np.eye(robot.nv)]
    jacobian = robot.center_of_mass_jacobian(q)
    assert relative_error(jacobian, np.column_stack(columns)) < TIGHT
    assert relative_error(robot.mass * jacobian @ nu, momentum) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Configurations


@few
@given(trees(), floating, seeds)
def test_integrate_and_difference(builder: fc.Builder, floating: bool, seed: int) -> None:
    """difference(q, integrate(q, dx)) = dx below half a turn; integrate(q0, difference(q0, q1)) = q1 up to sign and turns."""
    robot = load(builder, floating)
    rng = np.random.default_rng(seed)
    q, dx, _ = state(robot, rng)
    dx = 0.9 * dx / max(1.0, np.linalg.norm(dx))
    assert relative_error(robot.difference(q, robot.integrate(q, dx)), dx) < TIGHT
    assert relative_error(robot.integrate(q, 0 * dx), q) < TIGHT
    q1 = robot.random_configuration(rng)
    there = robot.integrate(q, robot.difference(q, q1))
    for frame in robot.frame_names:
        assert relative_error(robot.frame_pose(there, frame), robot.frame_pose(q1, frame)) < TIGHT


@few
@given(trees(), floating, seeds)
def test_integrating_in_two_halves(builder: fc.Builder, floating: bool, seed: int) -> None:
    """A constant body-fixed velocity is a one-parameter subgroup: two halves make the whole."""
    robot = load(builder, floating)
    q, dx, _ = state(robot, np.random.default_rng(seed))
    halves = robot.integrate(robot.integrate(q, dx / 2), dx / 2)
    assert np.abs(robot.difference(robot.integrate(q, dx), halves)).max() < TIGHT


@few
@given(trees(), seeds)
def test_the_base_moves_with_its_twist(builder: fc.Builder, seed: int) -> None:
    """dH/dt = H hat(v), so that H exp(hat(v)) follows when v is held for a second: the base twist in nu is body-fixed."""
    robot = load(builder, True)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    assert relative_error(robot.frame_velocity(q, nu, robot.base), nu[:6]) < TIGHT
    assert relative_error(pose_slope(robot, q, nu, robot.base, "body"), nu[:6]) < TIGHT
    assert relative_error(robot.frame_pose(q, robot.base), robot.split(q)[0]) < TIGHT
    hat = np.zeros((4, 4))
    hat[:3, :3], hat[:3, 3] = np.cross(np.eye(3), nu[3:6]), nu[:3]
    assert relative_error(robot.split(robot.integrate(q, nu))[0], robot.split(q)[0] @ expm(hat)) < TIGHT
