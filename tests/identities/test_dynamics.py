"""What must be true of the dynamics of any tree, whatever its joints, its base and its state.

The identities run the algorithms in Python, on many trees; the last test ties the compiled functions to them.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import energy
from trees import (
    GRAVITY,
    REPRESENTATIONS,
    SOLVED,
    TIGHT,
    derivative,
    floating,
    load,
    moved,
    plain,
    relative_error,
    seeds,
    slope,
    spatial_inertia,
    state,
    stepped,
    trees,
)

few = settings(max_examples=20)


# ---------------------------------------------------------------------------------------------------------------------
# Mass matrix, inverse and forward dynamics


@few
@given(trees(), floating, seeds)
def test_mass_matrix_is_the_sum_over_links_of_their_inertias(builder: fc.Builder, floating: bool, seed: int) -> None:
    """M = sum J^T I J over the links of the description; symmetric and positive definite."""
    robot = load(builder, floating)
    q = robot.random_configuration(seed)
    M = robot.mass_matrix(q)
    expected = np.zeros((robot.nv, robot.nv))
    for link in robot.description.links:
        J_link = robot.frame_jacobian(q, link.name)
        expected += J_link.T @ spatial_inertia(link.inertial) @ J_link
    assert relative_error(M, expected) < TIGHT
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0.0


@few
@given(trees(), floating, seeds)
def test_columns_of_the_mass_matrix_are_torques(builder: fc.Builder, floating: bool, seed: int) -> None:
    """M e_k = ID(q, 0, e_k) - ID(q, 0, 0): composite bodies against Newton-Euler."""
    robot = load(builder, floating)
    q, rest = robot.random_configuration(seed), np.zeros(robot.nv)
    columns = [robot.inverse_dynamics(q, rest, e) - robot.gravity_torque(q) for e in np.eye(robot.nv)]
    assert relative_error(robot.mass_matrix(q), np.column_stack(columns)) < TIGHT


@few
@given(trees(), floating, seeds)
def test_inverse_dynamics_is_mass_times_acceleration_plus_bias(builder: fc.Builder, floating: bool, seed: int) -> None:
    """tau = M dnu + h(q, nu); h(q, 0) = g(q)."""
    robot = load(builder, floating)
    q, nu, dnu = state(robot, np.random.default_rng(seed))
    tau = robot.inverse_dynamics(q, nu, dnu)
    assert relative_error(tau, robot.mass_matrix(q) @ dnu + robot.bias(q, nu)) < TIGHT
    assert relative_error(robot.bias(q, 0 * nu), robot.gravity_torque(q)) < TIGHT


@few
@given(trees(), floating, seeds)
def test_forward_dynamics_undoes_inverse_dynamics(builder: fc.Builder, floating: bool, seed: int) -> None:
    """FD(ID(dnu)) = dnu, with an external wrench on both sides."""
    robot = load(builder, floating)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    wrenches = {robot.link_names[-1]: rng.normal(size=6)}
    tau = robot.inverse_dynamics(q, nu, dnu, wrenches)
    assert relative_error(robot.forward_dynamics(q, nu, tau, wrenches), dnu) < SOLVED


@few
@given(trees(), floating, seeds)
def test_bias_is_quadratic_in_velocity(builder: fc.Builder, floating: bool, seed: int) -> None:
    """h(q, s nu) - g = s^2 (h(q, nu) - g)."""
    robot = load(builder, floating)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    g = robot.gravity_torque(q)
    assert relative_error(robot.bias(q, -3.0 * nu) - g, 9.0 * (robot.bias(q, nu) - g)) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Energy


@few
@given(trees(), floating, seeds)
def test_kinetic_energy(builder: fc.Builder, floating: bool, seed: int) -> None:
    """T = nu^T M nu / 2."""
    robot = load(builder, floating)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    assert relative_error(robot.kinetic_energy(q, nu), 0.5 * nu @ robot.mass_matrix(q) @ nu) < TIGHT


@few
@given(trees(), floating, seeds)
def test_power_balance(builder: fc.Builder, floating: bool, seed: int) -> None:
    """dT/dt = nu . (tau - g): what the motors give and gravity does not take becomes kinetic energy."""
    robot = load(builder, floating)
    q, nu, dnu = state(robot, np.random.default_rng(seed))
    rate = slope(energy.kinetic_energy(robot.model, moved(robot.model, q, nu), stepped(nu, dnu)))
    power = nu @ (robot.inverse_dynamics(q, nu, dnu) - robot.gravity_torque(q))
    assert relative_error(rate, power) < TIGHT


@few
@given(trees(), floating, seeds)
def test_gravity_torque_is_the_gradient_of_potential_energy(builder: fc.Builder, floating: bool, seed: int) -> None:
    """g_k = dV along the k-th tangent direction; V = -m g . c."""
    robot = load(builder, floating)
    q = robot.random_configuration(seed)
    gradient = [derivative(energy.potential_energy, robot.model, q, e) for e in np.eye(robot.nv)]
    assert relative_error(robot.gravity_torque(q), gradient) < TIGHT
    assert relative_error(robot.potential_energy(q), -robot.mass * robot.gravity @ robot.center_of_mass(q)) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Wrenches


@few
@given(trees(), floating, seeds)
def test_wrenches_enter_through_the_jacobian(builder: fc.Builder, floating: bool, seed: int) -> None:
    """tau(w) = tau - sum J^T w for wrenches on several frames, some on the same body, a joint's frame among them."""
    robot = load(builder, floating)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    frames = [str(f) for f in rng.choice(robot.frame_names, size=3, replace=False)]
    wrenches = {frame: rng.normal(size=6) for frame in frames}
    expected = robot.inverse_dynamics(q, nu, dnu)
    for frame, w in wrenches.items():
        expected = expected - robot.frame_jacobian(q, frame).T @ w
    assert relative_error(robot.inverse_dynamics(q, nu, dnu, wrenches), expected) < TIGHT


@few
@given(trees(), seeds)
def test_base_acceleration_needs_no_base_wrench(builder: fc.Builder, seed: int) -> None:
    """ID(q, nu, (base_acceleration(ddr), ddr)) has zero base wrench."""
    robot = load(builder, True)
    q, nu, dnu = state(robot, np.random.default_rng(seed))
    a = robot.base_acceleration(q, nu, dnu[6:])
    tau = robot.inverse_dynamics(q, nu, np.concatenate([a, dnu[6:]]))
    assert np.abs(tau[:6]).max() < SOLVED * max(1.0, np.abs(robot.bias(q, nu)).max())
    assert np.abs(robot.bias(q, nu)[:6]).max() > 1e-2  # there was something to cancel


# ---------------------------------------------------------------------------------------------------------------------
# Another base


@few
@given(trees(), seeds)
def test_another_base_is_the_same_robot(builder: fc.Builder, seed: int) -> None:
    """Energies, poses, centre of mass and motion under joint torques do not depend on which link is called the base."""
    robot = load(builder, True)
    rng = np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    tau = robot.actuation @ rng.normal(size=robot.n)
    dnu = robot.forward_dynamics(q, nu, tau)
    link = str(rng.choice(robot.link_names))
    other = robot.with_base(link)
    assert other.base == link
    assert other.joint_names == robot.joint_names
    q2 = other.configuration(robot.frame_pose(q, link), robot.split(q)[1])
    nu2 = np.concatenate([robot.frame_velocity(q, nu, link), nu[6:]])
    assert relative_error(other.kinetic_energy(q2, nu2), robot.kinetic_energy(q, nu)) < TIGHT
    assert relative_error(other.potential_energy(q2), robot.potential_energy(q)) < TIGHT
    assert relative_error(other.center_of_mass(q2), robot.center_of_mass(q)) < TIGHT
    for frame in robot.frame_names:
        assert relative_error(other.frame_pose(q2, frame), robot.frame_pose(q, frame)) < TIGHT
        assert relative_error(other.frame_velocity(q2, nu2, frame), robot.frame_velocity(q, nu, frame)) < TIGHT
    dnu2 = other.forward_dynamics(q2, nu2, tau)
    assert relative_error(dnu2[6:], dnu[6:]) < SOLVED
    assert relative_error(dnu2[:6], robot.frame_acceleration(q, nu, dnu, link)) < SOLVED
    # And the torques for that motion, which by construction needs no wrench on either base.
    expected = np.concatenate([robot.frame_acceleration(q, nu, dnu, link), dnu[6:]])
    assert relative_error(other.inverse_dynamics(q2, nu2, expected), tau) < SOLVED


@few
@given(trees(), seeds)
def test_welding_another_link_keeps_relative_poses(builder: fc.Builder, seed: int) -> None:
    """A fixed base moved to another link changes where the robot is, not how its links sit to each other."""
    robot = load(builder, False)
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng)
    link = str(rng.choice(robot.link_names))
    other = robot.with_base(link)
    assert np.array_equal(other.frame_pose(q, link), np.eye(4))
    inverse = np.linalg.inv(robot.frame_pose(q, link))
    for frame in robot.frame_names:
        assert relative_error(other.frame_pose(q, frame), inverse @ robot.frame_pose(q, frame)) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Compiled


@settings(max_examples=5)
@given(trees(max_joints=4, min_joints=2), floating, seeds)
def test_compiled_functions_are_the_same(builder: fc.Builder, floating: bool, seed: int) -> None:
    """Every function of the robot, compiled, against the same source run in Python."""
    robot = fc.load(builder, floating=floating, gravity=GRAVITY, joint_dynamics=True)
    slow = plain(robot)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    q1 = robot.random_configuration(rng)
    frame = str(rng.choice(robot.frame_names))
    wrenches = {frame: rng.normal(size=6), robot.link_names[0]: rng.normal(size=6)}
    representation = str(rng.choice(REPRESENTATIONS))
    calls: list[tuple] = [
        ("integrate", q, nu), ("difference", q, q1), ("frame_pose", q, frame), ("frame_jacobian", q, frame, representation),
        ("frame_jacobian_rate", q, nu, frame, representation), ("frame_velocity", q, nu, frame, representation),
        ("frame_acceleration", q, nu, dnu, frame, representation), ("center_of_mass", q), ("center_of_mass_jacobian", q),
        ("inverse_dynamics", q, nu, dnu), ("inverse_dynamics", q, nu, dnu, wrenches), ("mass_matrix", q), ("bias", q, nu),
        ("gravity_torque", q), ("kinetic_energy", q, nu), ("potential_energy", q),
    ]  # fmt: skip
    if floating:
        calls.append(("base_acceleration", q, nu, dnu[6:]))
    for name, *arguments in calls:
        assert relative_error(getattr(robot, name)(*arguments), getattr(slow, name)(*arguments)) < TIGHT, name
    for extra in ((), (wrenches,)):
        fast = robot.forward_dynamics(q, nu, dnu, *extra)
        assert relative_error(fast, slow.forward_dynamics(q, nu, dnu, *extra)) < SOLVED
