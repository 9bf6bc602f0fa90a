"""Joints: what is inside them, how they can be tied, locked and ordered, and every joint model by itself.

A joint model is right if its axes are the slope of its own pose and its ring the slope of its axes; `FORWARD` lists all of them.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import energy
from fallingcat.algorithms.joint_dynamics import FRICTION_SPEED
from fallingcat.model import joints as J
from fallingcat.model.description import Joint, Pose
from trees import (
    ONE_AXIS,
    SOLVED,
    TIGHT,
    Array,
    floating,
    leader,
    load,
    moved,
    places,
    random_tree,
    relative_error,
    seeds,
    slope,
    state,
    stepped,
    trees,
    vee,
    without_mimics,
)

few = settings(max_examples=20)


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
    """The rate of S in body coordinates."""
    q, nu = joint_state(joint, rng)
    expected = slope(joint.columns(joint.integrate(q, stepped(np.zeros(joint.nv), nu))))
    assert relative_error(joint.ring(q, nu), expected) < 1e-14
    assert joint.axes_move or not np.any(expected)
    assert not joint.axes_move or np.any(expected) or isinstance(joint, J.Reversed)  # of these, not all do


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
