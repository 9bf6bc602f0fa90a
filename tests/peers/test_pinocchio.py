"""Against Pinocchio, on robots from the field: two independent programs, one physics.

Joints are matched by name: `peer` builds the map q -> q_pin and the matrix G with nu_pin = G nu, which permutes, and
which lets mimic joints (that Pinocchio reads as joints of their own) follow. Then tau = G^T tau_pin, M = G^T M_pin G.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import fallingcat as fc
from trees import Array, body_velocity, leader, places, plain, relative_error

ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",  # an arm; its fingers mimic each other along opposite axes
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",  # continuous joints
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",  # two arms, mimicking grippers
    "allegro": "allegro_hand_description/urdf/allegro_right_hand.urdf",  # a hand: general axes
    "talos": "talos_data/robots/talos_reduced.urdf",  # humanoids
    "icub": "icub_description/robots/icub_reduced.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",  # quadrupeds
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "anymal_c": "anymal_c_simple_description/urdf/anymal.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "a1": "a1_description/urdf/a1.urdf",
    "laikago": "laikago_description/urdf/laikago.urdf",
    "centauro": "centauro_description/urdf/centauro.urdf",  # legs with wheels, and arms
    "bolt": "bolt_description/robots/bolt.urdf",  # a biped
    "tiago": "tiago_description/robots/tiago_no_hand.urdf",  # a mobile base: continuous wheels, a prismatic torso
    "pr2": "pr2_description/urdf/pr2.urdf",  # joints that mimic across branches
    "hector": "hector_description/robots/quadrotor_base.urdf",  # one flying body
    "iris": "iris_description/robots/iris.urdf",  # one with rotors
    "borinot": "borinot_description/urdf/borinot_flying_arm_2.urdf",  # a flying arm
}
TOLERANCE = 1e-10
STATES = 2


@dataclass(frozen=True)
class Peer:
    """The same robot twice."""

    robot: fc.Robot
    model: pin.Model
    data: pin.Data
    G: Array
    """nu_pin = G nu."""

    def q_pin(self, q: Array) -> Array:
        out = pin.neutral(self.model)
        if self.robot.floating:
            out[:7] = q[:7]
        where = places(self.robot)
        for k in range(1, self.model.njoints):
            name, joint = self.model.names[k], self.model.joints[k]
            if name == "root_joint":
                continue
            master, multiplier, offset = leader(self.robot.description, name)
            (x,) = multiplier * q[where[master][0]] + offset
            # Pinocchio keeps unbounded angles as cosine and sine.
            out[joint.idx_q : joint.idx_q + joint.nq] = (np.cos(x), np.sin(x)) if joint.nq == 2 else x
        return out

    @property
    def mimics(self) -> bool:
        return self.G.shape[0] != self.G.shape[1]


def urdf(name: str) -> Path:
    found = [entry for entry in files("example-robot-data") or [] if str(entry).endswith(f"/robots/{ROBOTS[name]}")]
    return Path(str(found[0].locate()))


@cache
def peer(name: str, floating: bool) -> Peer:
    path = urdf(name)
    robot = plain(fc.load(path, floating=floating))
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(str(path))
    G = np.zeros((model.nv, robot.nv))
    if floating:
        G[:6, :6] = np.eye(6)
    where = places(robot)
    for k in range(1, model.njoints):
        if model.names[k] != "root_joint":
            master, multiplier, _ = leader(robot.description, model.names[k])
            G[model.joints[k].idx_v, where[master][1]] = multiplier
    return Peer(robot, model, model.createData(), G)


# A welded body has no degrees of freedom, and Pinocchio's Jacobians of such a model crash the interpreter.
PAIRS = [(name, floating) for name in ROBOTS for floating in (False, True) if (name, floating) != ("hector", False)]


@pytest.fixture(params=PAIRS, ids=lambda p: f"{p[0]}-{'floating' if p[1] else 'fixed'}")
def pair(request: pytest.FixtureRequest) -> Peer:
    return peer(*request.param)


def states(peer: Peer, seed: int = 7) -> list[tuple[Array, Array, Array]]:
    rng = np.random.default_rng(seed)
    robot = peer.robot
    return [(robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)) for _ in range(STATES)]


def symmetric(M: Array) -> Array:
    """Pinocchio fills the upper triangle."""
    return np.array(np.triu(M) + np.triu(M, 1).T)


def test_the_joints_are_the_same(pair: Peer) -> None:
    """Every joint of Pinocchio is one of ours or follows one; every column of G is used."""
    assert set(pair.robot.joint_names) <= set(pair.model.names)
    assert np.linalg.matrix_rank(pair.G) == pair.robot.nv


def test_poses_of_all_links(pair: Peer) -> None:
    for q, _, _ in states(pair):
        pin.framesForwardKinematics(pair.model, pair.data, pair.q_pin(q))
        for link in pair.robot.link_names:
            frame = pair.model.getFrameId(link, pin.FrameType.BODY)
            assert frame < pair.model.nframes
            assert relative_error(pair.robot.frame_pose(q, link), pair.data.oMf[frame].homogeneous) < TOLERANCE


REFERENCE = {"body": pin.LOCAL, "mixed": pin.LOCAL_WORLD_ALIGNED, "inertial": pin.WORLD}


@pytest.mark.parametrize("representation", REFERENCE)
def test_jacobians_and_velocities(pair: Peer, representation: str) -> None:
    """Of some links, in every representation; Pinocchio's base twist always is the body-fixed one."""
    robot = pair.robot
    rng = np.random.default_rng(1)
    q, nu, _ = states(pair)[0]
    # From nu in this representation to nu with a body-fixed base twist.
    T = np.column_stack([body_velocity(robot, q, e, representation) for e in np.eye(robot.nv)])
    pin.computeJointJacobiansTimeVariation(pair.model, pair.data, pair.q_pin(q), pair.G @ T @ nu)
    pin.updateFramePlacements(pair.model, pair.data)
    for link in rng.choice(robot.link_names, size=min(4, len(robot.link_names)), replace=False):
        frame = pair.model.getFrameId(str(link), pin.FrameType.BODY)
        J = pin.getFrameJacobian(pair.model, pair.data, frame, REFERENCE[representation])
        v = pin.getFrameVelocity(pair.model, pair.data, frame, REFERENCE[representation]).vector
        assert relative_error(robot.frame_jacobian(q, str(link), representation), J @ pair.G @ T) < TOLERANCE
        assert relative_error(robot.frame_velocity(q, nu, str(link), representation), v) < TOLERANCE
        if representation == "body" or not robot.floating:  # T does not move
            J_rate = pin.getFrameJacobianTimeVariation(pair.model, pair.data, frame, REFERENCE[representation])
            ours = robot.frame_jacobian_rate(q, nu, str(link), representation)
            assert relative_error(ours, J_rate @ pair.G) < TOLERANCE


def test_acceleration_of_links(pair: Peer) -> None:
    """Body-fixed spatial acceleration; with a fixed base also the acceleration of the origin in world axes."""
    robot = pair.robot
    for q, nu, dnu in states(pair)[:1]:
        pin.forwardKinematics(pair.model, pair.data, pair.q_pin(q), pair.G @ nu, pair.G @ dnu)
        pin.updateFramePlacements(pair.model, pair.data)
        for link in robot.link_names[-4:]:
            frame = pair.model.getFrameId(link, pin.FrameType.BODY)
            spatial = pin.getFrameAcceleration(pair.model, pair.data, frame, pin.LOCAL).vector
            assert relative_error(robot.frame_acceleration(q, nu, dnu, link), spatial) < TOLERANCE
            if not robot.floating:
                classical = pin.getFrameClassicalAcceleration(pair.model, pair.data, frame, pin.LOCAL_WORLD_ALIGNED).vector
                assert relative_error(robot.frame_acceleration(q, nu, dnu, link, "mixed"), classical) < TOLERANCE


def test_mass_matrix(pair: Peer) -> None:
    for q, _, _ in states(pair):
        M = symmetric(pin.crba(pair.model, pair.data, pair.q_pin(q)))
        assert relative_error(pair.robot.mass_matrix(q), pair.G.T @ M @ pair.G) < TOLERANCE


def test_inverse_dynamics(pair: Peer) -> None:
    for q, nu, dnu in states(pair):
        tau = pin.rnea(pair.model, pair.data, pair.q_pin(q), pair.G @ nu, pair.G @ dnu)
        h = pin.nonLinearEffects(pair.model, pair.data, pair.q_pin(q), pair.G @ nu)
        g = pin.computeGeneralizedGravity(pair.model, pair.data, pair.q_pin(q))
        assert relative_error(pair.robot.inverse_dynamics(q, nu, dnu), pair.G.T @ tau) < TOLERANCE
        assert relative_error(pair.robot.bias(q, nu), pair.G.T @ h) < TOLERANCE
        assert relative_error(pair.robot.gravity_torque(q), pair.G.T @ g) < TOLERANCE


def test_forward_dynamics(pair: Peer) -> None:
    """Against Pinocchio's articulated bodies; where joints mimic, against its projected equations of motion.

    Torques come from an acceleration of order one, so that this compares algorithms and not condition numbers.
    """
    for q, nu, dnu in states(pair):
        tau_pin = pin.rnea(pair.model, pair.data, pair.q_pin(q), pair.G @ nu, pair.G @ dnu)
        tau = pair.G.T @ tau_pin
        if pair.mimics:
            M = symmetric(pin.crba(pair.model, pair.data, pair.q_pin(q)))
            h = pin.nonLinearEffects(pair.model, pair.data, pair.q_pin(q), pair.G @ nu)
            expected = np.linalg.solve(pair.G.T @ M @ pair.G, tau - pair.G.T @ h)
        else:
            expected = np.linalg.solve(pair.G, pin.aba(pair.model, pair.data, pair.q_pin(q), pair.G @ nu, tau_pin))
        assert relative_error(pair.robot.forward_dynamics(q, nu, tau), expected) < TOLERANCE


def test_energies_and_centre_of_mass(pair: Peer) -> None:
    for q, nu, _ in states(pair):
        T = pin.computeKineticEnergy(pair.model, pair.data, pair.q_pin(q), pair.G @ nu)
        assert relative_error(pair.robot.kinetic_energy(q, nu), T) < TOLERANCE
        V = pin.computePotentialEnergy(pair.model, pair.data, pair.q_pin(q))
        com = pin.centerOfMass(pair.model, pair.data, pair.q_pin(q))
        J = pin.jacobianCenterOfMass(pair.model, pair.data, pair.q_pin(q))
        assert relative_error(pair.robot.potential_energy(q), V) < TOLERANCE
        assert relative_error(pair.robot.center_of_mass(q), com) < TOLERANCE
        assert relative_error(pair.robot.center_of_mass_jacobian(q), J @ pair.G) < TOLERANCE


@pytest.mark.parametrize(("name", "floating"), [("panda", False), ("ur5", False), ("hyq", True), ("talos", True)])
def test_compiled(name: str, floating: bool) -> None:
    """What users run, on the robots of the benchmarks: in one batch, against Pinocchio state by state."""
    pair = peer(name, floating)
    robot = fc.load(urdf(name), floating=floating)
    q, nu, dnu = (np.array(x) for x in zip(*states(pair), strict=True))
    tau, M = robot.inverse_dynamics(q, nu, dnu), robot.mass_matrix(q)
    back = robot.forward_dynamics(q, nu, tau)
    for k in range(STATES):
        M_pin = symmetric(pin.crba(pair.model, pair.data, pair.q_pin(q[k])))
        tau_pin = pin.rnea(pair.model, pair.data, pair.q_pin(q[k]), pair.G @ nu[k], pair.G @ dnu[k])
        assert relative_error(M[k], pair.G.T @ M_pin @ pair.G) < TOLERANCE
        assert relative_error(tau[k], pair.G.T @ tau_pin) < TOLERANCE
        assert relative_error(back[k], dnu[k]) < TOLERANCE


def test_integrate_and_difference(pair: Peer) -> None:
    """The same exponential for all joints, the same logarithm for the base."""
    (q, nu, _), (q1, _, _) = states(pair)
    there = pin.integrate(pair.model, pair.q_pin(q), pair.G @ nu)
    assert relative_error(pair.q_pin(pair.robot.integrate(q, nu)), there) < TOLERANCE
    if pair.robot.floating:
        expected = pin.difference(pair.model, pair.q_pin(q), pair.q_pin(q1))[:6]
        assert relative_error(pair.robot.difference(q, q1)[:6], expected) < TOLERANCE
