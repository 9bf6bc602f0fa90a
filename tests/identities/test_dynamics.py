"""What must be true of the dynamics of any tree, whatever its joints, its base and its state.

The identities run the algorithms in Python, on many trees; the last tests tie the compiled functions to them.
"""

from __future__ import annotations

import dataclasses

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import energy, kinematics
from fallingcat.algorithms.joint_dynamics import FRICTION_SPEED
from fallingcat.model import joints as J
from fallingcat.model.description import Inertial, Joint, Pose
from trees import (
    ONE_AXIS,
    REPRESENTATIONS,
    Array,
    body_velocity,
    derivative,
    leader,
    moved,
    places,
    plain,
    random_tree,
    relative_error,
    slope,
    state,
    stepped,
    trees,
    without_mimics,
)

TIGHT = 1e-12
"""For what is evaluated: a few roundings."""
SOLVED = 1e-10
"""For what was divided by a mass matrix, whose condition number comes in."""

few = settings(max_examples=40)
floating = st.booleans()
seeds = st.integers(0, 1000)
representation = st.sampled_from(REPRESENTATIONS)


def load(builder: fc.Builder | fc.Description, floating: bool, **options: object) -> fc.Robot:
    """With a gravity that no axis is aligned with."""
    return plain(fc.load(builder, floating=floating, gravity=(1.0, -2.0, -9.0), **options))  # type: ignore[arg-type]


def hat(w: Array) -> Array:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def vee(W: Array) -> Array:
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


def spatial_inertia(inertial: Inertial) -> Array:
    """The 6 x 6 inertia of a link in the link's frame, (linear; angular), straight from its description."""
    xx, xy, xz, yy, yz, zz = inertial.inertia
    R, c, m = np.array(inertial.pose.rotation), np.array(inertial.pose.position), inertial.mass
    I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    C = hat(c)
    return np.block([[m * np.eye(3), -m * C], [m * C, I - m * C @ C]])


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
# Frames


def pose_slope(robot: fc.Robot, q: Array, direction: Array, frame: str, representation: str) -> Array:
    """The twist of a frame when q moves along a body-fixed direction, from its pose alone."""
    H = robot.frame_pose(q, frame)
    dH = derivative(kinematics.frame_pose, robot.model, q, direction, frame)
    if representation == "mixed":
        return np.concatenate([dH[:3, 3], vee(dH[:3, :3] @ H[:3, :3].T)])
    twist = np.linalg.solve(H, dH) if representation == "body" else dH @ np.linalg.inv(H)
    return np.concatenate([twist[:3, 3], vee(twist)])


@few
@given(trees(max_joints=5), floating, seeds, representation)
def test_jacobian_is_the_slope_of_the_pose(builder: fc.Builder, floating: bool, seed: int, representation: str) -> None:
    """J column by column from the derivative of frame_pose, the base twist in nu having the same representation."""
    robot = load(builder, floating)
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng)
    frame = str(rng.choice(robot.frame_names))
    columns = [pose_slope(robot, q, body_velocity(robot, q, e, representation), frame, representation) for e in np.eye(robot.nv)]
    assert relative_error(robot.frame_jacobian(q, frame, representation), np.column_stack(columns)) < TIGHT


@few
@given(trees(), floating, seeds, representation)
def test_jacobian_rate_is_the_slope_of_the_jacobian(builder: fc.Builder, floating: bool, seed: int, representation: str) -> None:
    """dJ/dt from the derivative of J along the motion; it vanishes at rest."""
    robot = load(builder, floating)
    rng = np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    frame = str(rng.choice(robot.frame_names))
    direction = body_velocity(robot, q, nu, representation)
    expected = derivative(kinematics.frame_jacobian, robot.model, q, direction, frame, representation)
    assert relative_error(robot.frame_jacobian_rate(q, nu, frame, representation), expected) < TIGHT


@few
@given(trees(), floating, seeds, representation)
def test_frame_velocity_and_acceleration(builder: fc.Builder, floating: bool, seed: int, representation: str) -> None:
    """v = J nu, a = J dnu + dJ/dt nu, and a is the slope of v."""
    robot = load(builder, floating)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    frame = str(rng.choice(robot.frame_names))
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
    """dH/dt = H hat(v): the base twist in nu is body-fixed."""
    robot = load(builder, True)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    assert relative_error(robot.frame_velocity(q, nu, robot.base), nu[:6]) < TIGHT
    assert relative_error(pose_slope(robot, q, nu, robot.base, "body"), nu[:6]) < TIGHT
    assert relative_error(robot.frame_pose(q, robot.base), robot.split(q)[0]) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Inside the joints


@few
@given(trees(), floating, seeds)
def test_damping_friction_and_armature(builder: fc.Builder, floating: bool, seed: int) -> None:
    """joint_dynamics=True adds G^T (d x + mu x / sqrt(x^2 + x0^2) + r a) and G^T r G, and nothing else."""
    rigid, robot = load(builder, floating), load(builder, floating, joint_dynamics=True)
    q, nu, dnu = state(robot, np.random.default_rng(seed))
    torque, rotors = np.zeros(robot.nv), np.zeros(robot.nv)
    where = places(robot)
    for joint in robot.description.joints:
        if joint.type == "fixed":
            continue
        master, multiplier, _ = leader(robot.description, joint.name)
        at = where[master][1]
        x, a = multiplier * nu[at], multiplier * dnu[at]
        own = joint.damping * x + joint.friction * x / np.sqrt(x**2 + FRICTION_SPEED**2)
        torque[at] += multiplier * (own + joint.armature * a)
        rotors[at] += multiplier**2 * joint.armature
    tau = robot.inverse_dynamics(q, nu, dnu)
    assert rotors.max() > 0.0
    assert relative_error(tau, rigid.inverse_dynamics(q, nu, dnu) + torque) < TIGHT
    assert relative_error(robot.mass_matrix(q), rigid.mass_matrix(q) + np.diag(rotors)) < TIGHT
    assert relative_error(robot.kinetic_energy(q, nu), rigid.kinetic_energy(q, nu) + rotors @ nu**2 / 2) < TIGHT
    assert relative_error(robot.forward_dynamics(q, nu, tau), dnu) < SOLVED
    assert np.array_equal(robot.gravity_torque(q), rigid.gravity_torque(q))


@few
@given(trees(max_joints=8, min_joints=3, mimic=0.7, types=(*ONE_AXIS, "universal")), floating, seeds)
def test_mimic_joints_are_a_projection(builder: fc.Builder, floating: bool, seed: int) -> None:
    """With nu_full = G nu: tau = G^T tau_full, M = G^T M_full G, J = J_full G, and dnu solves the projected equations."""
    robot = load(builder, floating)
    full = load(without_mimics(builder.description()), floating)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    q_full, G = full.neutral(), np.zeros((full.nv, robot.nv))
    if floating:
        q_full[:7], G[:6, :6] = q[:7], np.eye(6)
    of, at = places(robot), places(full)
    for joint in full.joint_names:
        master, multiplier, offset = leader(robot.description, joint)
        q_full[at[joint][0]] = multiplier * q[of[master][0]] + offset
        G[at[joint][1], of[master][1]] = multiplier * np.eye(G[at[joint][1]].shape[0])
    assert all(of[joint] == of[leader(robot.description, joint)[0]] for joint in full.joint_names)

    for frame in robot.frame_names:
        assert relative_error(robot.frame_pose(q, frame), full.frame_pose(q_full, frame)) < TIGHT
    frame = str(rng.choice(robot.frame_names))
    assert relative_error(robot.frame_jacobian(q, frame), full.frame_jacobian(q_full, frame) @ G) < TIGHT
    tau = G.T @ full.inverse_dynamics(q_full, G @ nu, G @ dnu)
    assert relative_error(robot.inverse_dynamics(q, nu, dnu), tau) < TIGHT
    assert relative_error(robot.mass_matrix(q), G.T @ full.mass_matrix(q_full) @ G) < TIGHT
    assert relative_error(robot.forward_dynamics(q, nu, tau), dnu) < SOLVED
    assert relative_error(robot.center_of_mass_jacobian(q), full.center_of_mass_jacobian(q_full) @ G) < TIGHT


@few
@given(trees(min_joints=2), floating, seeds)
def test_a_locked_joint_is_a_fixed_one(builder: fc.Builder, floating: bool, seed: int) -> None:
    """lock= gives the robot whose description has that joint, and what follows it, fixed there."""
    robot = load(builder, floating)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    name = str(rng.choice(robot.joint_names))
    at, nu_at = places(robot)[name]
    locked = load(builder, floating, lock={name: q[at]})

    def fixed(joint: Joint) -> Joint:
        if joint.type == "fixed" or leader(robot.description, joint.name)[0] != name:
            return joint
        H = np.linalg.inv(robot.frame_pose(q, joint.parent)) @ robot.frame_pose(q, joint.child)
        pose = Pose(tuple(tuple(row) for row in H[:3, :3].tolist()), tuple(H[:3, 3].tolist()))
        return dataclasses.replace(joint, type="fixed", pose=pose, mimic=None)

    description = builder.description()
    description = dataclasses.replace(description, joints=tuple(fixed(j) for j in description.joints))
    welded = load(description, floating)

    q, nu, dnu = np.delete(q, at), np.delete(nu, nu_at), np.delete(dnu, nu_at)
    assert locked.joint_names == welded.joint_names == tuple(j for j in robot.joint_names if j != name)
    tau = welded.inverse_dynamics(q, nu, dnu)
    assert relative_error(locked.inverse_dynamics(q, nu, dnu), tau) < TIGHT
    assert relative_error(locked.mass_matrix(q), welded.mass_matrix(q)) < TIGHT
    assert relative_error(locked.forward_dynamics(q, nu, tau), dnu) < SOLVED
    for frame in robot.frame_names:
        assert relative_error(locked.frame_pose(q, frame), welded.frame_pose(q, frame)) < TIGHT


@few
@given(trees(min_joints=2), floating, seeds)
def test_the_order_of_joints_is_only_an_order(builder: fc.Builder, floating: bool, seed: int) -> None:
    """joints= in another order permutes q, nu and tau."""
    robot = load(builder, floating)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    order = [str(name) for name in rng.permutation(robot.joint_names)]
    other = load(builder, floating, joints=order)
    assert other.joint_names == tuple(order)
    of, at = places(robot), places(other)
    q2, nu2, dnu2 = q.copy(), nu.copy(), dnu.copy()
    for name in order:
        q2[at[name][0]], nu2[at[name][1]], dnu2[at[name][1]] = q[of[name][0]], nu[of[name][1]], dnu[of[name][1]]
    tau, tau2 = robot.inverse_dynamics(q, nu, dnu), other.inverse_dynamics(q2, nu2, dnu2)
    for name in order:
        assert relative_error(tau2[at[name][1]], tau[of[name][1]]) < TIGHT
    assert relative_error(other.forward_dynamics(q2, nu2, tau2), dnu2) < SOLVED


# ---------------------------------------------------------------------------------------------------------------------
# Joint models: axes and their rates against the joint's own pose

IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
S2, S3 = np.sqrt(0.5), np.sqrt(1.0 / 3.0)
FORWARD = [
    J.Revolute(0), J.Revolute(1, -1.0), J.Prismatic(2, -1.0), J.Helical(1, 1.0, 0.2), J.Helical(2, -1.0, -0.1),
    J.Cylindrical(0, -1.0), J.Planar(), J.Universal((1.0, 0.0, 0.0), (0.0, S2, S2)), J.Universal((S3, S3, S3), (0.0, 0.0, -1.0)),
    J.Spherical(), J.FreeFlyer(),
]  # fmt: skip
MODELS = [*FORWARD, *(J.Reversed(joint) for joint in FORWARD), *(J.reverse(joint) for joint in FORWARD[:6])]


def joint_state(joint: J.JointModel, rng: np.random.Generator) -> tuple[list[float], list[float]]:
    return joint.integrate(joint.neutral(), list(rng.normal(size=joint.nv))), list(rng.normal(size=joint.nv))


def joint_pose(joint: J.JointModel, q: list[complex]) -> Array:
    """The body in the joint's frame, a homogeneous matrix."""
    H = np.eye(4, dtype=complex)
    H[:3, :3] = np.array(joint.rotation(q, IDENTITY).matrix()).T
    H[:3, 3] = joint.offset(q)
    return H


@pytest.mark.parametrize("joint", MODELS, ids=repr)
def test_joint_axes_are_the_slope_of_the_joint_pose(joint: J.JointModel, rng: np.random.Generator) -> None:
    """S e_k = vee(H^-1 dH) when the coordinates move along e_k."""
    q, _ = joint_state(joint, rng)
    for k, (lin, ang) in enumerate(joint.columns(q)):
        H = joint_pose(joint, joint.integrate(q, stepped(np.zeros(joint.nv), np.eye(joint.nv)[k])))
        twist = np.linalg.solve(H.real, slope(H))
        assert relative_error([*lin, *ang], [*twist[:3, 3], *vee(twist)]) < 1e-14


@pytest.mark.parametrize("joint", MODELS, ids=repr)
def test_ring_is_the_slope_of_the_axes(joint: J.JointModel, rng: np.random.Generator) -> None:
    """The rate of S in body coordinates; no ring means constant axes."""
    q, nu = joint_state(joint, rng)
    expected = slope(joint.columns(joint.integrate(q, stepped(np.zeros(joint.nv), nu))))
    ring = joint.ring(q, nu)
    assert relative_error(np.zeros_like(expected) if ring is None else ring, expected) < 1e-14


@pytest.mark.parametrize("representation", ["mixed", "inertial"])
def test_ring_of_a_base_in_another_representation(representation: str, rng: np.random.Generator) -> None:
    """The same for a free base whose nu is mixed or inertial: its body twist is S nu."""
    joint, body = J.FreeFlyer(representation), J.FreeFlyer()
    q, nu = joint_state(body, rng)
    S = np.array(joint.columns(q)).reshape(6, 6).T
    expected = slope(joint.columns(body.integrate(q, stepped(np.zeros(6), S @ nu))))
    assert relative_error(joint.ring(q, nu), expected) < 1e-14


@pytest.mark.parametrize("joint", FORWARD, ids=repr)
def test_a_reversed_joint_is_the_inverse_pose(joint: J.JointModel, rng: np.random.Generator) -> None:
    """H' = H^-1 at the same coordinates, for the general reversal and for the shortcut."""
    q, _ = joint_state(joint, rng)
    inverse = np.linalg.inv(joint_pose(joint, q))
    for other in (J.Reversed(joint), J.reverse(joint)):
        assert relative_error(joint_pose(other, q).real, inverse.real) < 1e-14


@pytest.mark.parametrize("type_", ["planar", "universal", "spherical", "floating", "cylindrical"])
def test_power_balance_across_moving_axes(type_: str) -> None:
    """Chains of one joint type only, seen from the middle, so that some joints are reversed: dT/dt = nu . (tau - g)."""
    robot = load(random_tree(3, joints=4, types=(type_,), fixed=0.0), True).with_base("link3")
    assert any(isinstance(body.joint, J.Reversed) or body.joint.__class__ is J.Cylindrical for body in robot.model.bodies)
    q, nu, dnu = state(robot, np.random.default_rng(5))
    rate = slope(energy.kinetic_energy(robot.model, moved(robot.model, q, nu), stepped(nu, dnu)))
    power = nu @ (robot.inverse_dynamics(q, nu, dnu) - robot.gravity_torque(q))
    assert relative_error(rate, power) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Compiled


@settings(max_examples=5)
@given(trees(max_joints=4, min_joints=2), floating, seeds)
def test_compiled_functions_are_the_same(builder: fc.Builder, floating: bool, seed: int) -> None:
    """Every function of the robot, compiled, against the same source run in Python."""
    robot = fc.load(builder, floating=floating, gravity=(1.0, -2.0, -9.0), joint_dynamics=True)
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
