"""Derivatives against Pinocchio, the reference implementation of paper 002, on robots from the field.

With nu_pin = G nu (see `test_pinocchio`), derivatives of torques are G^T D_pin G, those of frames D_pin G. Where joints
follow others Pinocchio has no forward dynamics of the whole, and its derivatives of inverse dynamics are projected.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from test_pinocchio import PAIRS, Peer, peer, states, symmetric, urdf

import fallingcat as fc
from trees import Array, relative_error

TOLERANCE = 1e-9


@pytest.fixture(params=PAIRS, ids=lambda p: f"{p[0]}-{'floating' if p[1] else 'fixed'}")
def pair(request: pytest.FixtureRequest) -> Peer:
    return peer(*request.param)


def state(pair: Peer) -> tuple[Array, Array, Array]:
    return states(pair, seed=11)[0]


def copies(results: Any) -> list[Array]:
    """Pinocchio returns views of its own memory."""
    return [np.array(x) for x in results]


def inverse(pair: Peer, q: Array, nu: Array, dnu: Array, *forces: Any) -> list[Array]:
    """dq, dnu and M of inverse dynamics in our coordinates."""
    results = pin.computeRNEADerivatives(pair.model, pair.data, pair.q_pin(q), pair.G @ nu, pair.G @ dnu, *forces)
    dq, dv, M = copies(results)
    return [pair.G.T @ x @ pair.G for x in (dq, dv, symmetric(M))]


def forward(pair: Peer, q: Array, nu: Array, dnu: Array) -> list[Array]:
    """dq, dnu and M^-1 of forward dynamics; where joints mimic, by (24) of the paper from Pinocchio's inverse dynamics."""
    if pair.mimics:
        dq, dv, M = inverse(pair, q, nu, dnu)
        return [-np.linalg.solve(M, dq), -np.linalg.solve(M, dv), np.linalg.inv(M)]
    q_pin, nu_pin = pair.q_pin(q), pair.G @ nu
    tau = pin.rnea(pair.model, pair.data, q_pin, nu_pin, pair.G @ dnu).copy()
    dq, dv, Minv = copies(pin.computeABADerivatives(pair.model, pair.data, q_pin, nu_pin, tau))
    return [pair.G.T @ x @ pair.G for x in (dq, dv, symmetric(Minv))]


def same(ours: Any, theirs: list[Array]) -> None:
    for field, x, y in zip(ours._fields, ours, theirs, strict=True):
        assert relative_error(x, y) < TOLERANCE, field


def test_inverse_dynamics(pair: Peer) -> None:
    q, nu, dnu = state(pair)
    same(pair.robot.inverse_dynamics_derivatives(q, nu, dnu), inverse(pair, q, nu, dnu))
    g = pin.computeGeneralizedGravityDerivatives(pair.model, pair.data, pair.q_pin(q))
    assert relative_error(pair.robot.gravity_torque_derivatives(q), pair.G.T @ g @ pair.G) < TOLERANCE


def test_inverse_dynamics_with_wrenches(pair: Peer) -> None:
    """Wrenches in the coordinates of links; Pinocchio takes them in those of joints."""
    robot, rng = pair.robot, np.random.default_rng(3)
    q, nu, dnu = state(pair)
    wrenches, forces = {}, pin.StdVec_Force()
    for _ in range(pair.model.njoints):
        forces.append(pin.Force.Zero())
    for link in rng.choice(robot.link_names, size=min(3, len(robot.link_names)), replace=False):
        w = rng.normal(size=6)
        frame = pair.model.frames[pair.model.getFrameId(str(link), pin.FrameType.BODY)]
        wrenches[str(link)] = w
        forces[frame.parentJoint] += frame.placement.act(pin.Force(w))
    same(robot.inverse_dynamics_derivatives(q, nu, dnu, wrenches), inverse(pair, q, nu, dnu, forces))
    tau = pair.G.T @ pin.rnea(pair.model, pair.data, pair.q_pin(q), pair.G @ nu, pair.G @ dnu, forces)
    assert relative_error(robot.inverse_dynamics(q, nu, dnu, wrenches), tau) < TOLERANCE


@pytest.mark.parametrize("axes", ["mixed", "inertial"])
def test_wrenches_in_axes_of_the_world(pair: Peer, axes: str) -> None:
    """Pinocchio's poses turn them to the coordinates of joints."""
    robot, rng = pair.robot, np.random.default_rng(4)
    q, nu, dnu = state(pair)
    forces = pin.StdVec_Force()
    for _ in range(pair.model.njoints):
        forces.append(pin.Force.Zero())
    pin.framesForwardKinematics(pair.model, pair.data, pair.q_pin(q))
    links = [str(x) for x in rng.choice(robot.link_names, size=min(3, len(robot.link_names)), replace=False)]
    values = rng.normal(size=(len(links), 6))
    for link, w in zip(links, values, strict=True):
        number = pair.model.getFrameId(link, pin.FrameType.BODY)
        pose = pair.data.oMf[number]
        turned = pose.actInv(pin.Force(w)) if axes == "inertial" else pin.SE3(pose.rotation, np.zeros(3)).actInv(pin.Force(w))
        frame = pair.model.frames[number]
        forces[frame.parentJoint] += frame.placement.act(turned)
    tau = pair.G.T @ pin.rnea(pair.model, pair.data, pair.q_pin(q), pair.G @ nu, pair.G @ dnu, forces)
    assert relative_error(robot.inverse_dynamics(q, nu, dnu, fc.Wrenches(links, values, axes)), tau) < TOLERANCE


def test_forward_dynamics(pair: Peer) -> None:
    """Torques come from an acceleration of order one."""
    q, nu, dnu = state(pair)
    tau = pair.robot.inverse_dynamics(q, nu, dnu)
    same(pair.robot.forward_dynamics_derivatives(q, nu, tau), forward(pair, q, nu, dnu))


def test_inverse_mass_matrix(pair: Peer) -> None:
    q, _, _ = state(pair)
    if pair.mimics:
        M = symmetric(pin.crba(pair.model, pair.data, pair.q_pin(q)))
        expected = np.linalg.inv(pair.G.T @ M @ pair.G)
    else:
        Minv = symmetric(pin.computeMinverse(pair.model, pair.data, pair.q_pin(q)))
        expected = pair.G.T @ Minv @ pair.G
    assert relative_error(pair.robot.inverse_mass_matrix(q), expected) < TOLERANCE


def test_frames(pair: Peer) -> None:
    """Velocity and acceleration of some links, in the links' own coordinates."""
    robot, rng = pair.robot, np.random.default_rng(4)
    q, nu, dnu = state(pair)
    pin.computeForwardKinematicsDerivatives(pair.model, pair.data, pair.q_pin(q), pair.G @ nu, pair.G @ dnu)
    pin.updateFramePlacements(pair.model, pair.data)
    for link in rng.choice(robot.link_names, size=min(4, len(robot.link_names)), replace=False):
        frame = pair.model.getFrameId(str(link), pin.FrameType.BODY)
        velocity = copies(pin.getFrameVelocityDerivatives(pair.model, pair.data, frame, pin.LOCAL))
        same(robot.frame_velocity_derivatives(q, nu, str(link)), [x @ pair.G for x in velocity])
        _, *acceleration = copies(pin.getFrameAccelerationDerivatives(pair.model, pair.data, frame, pin.LOCAL))
        same(robot.frame_acceleration_derivatives(q, nu, dnu, str(link)), [x @ pair.G for x in acceleration])


def test_regressor(pair: Peer) -> None:
    """Body by body, regressor times parameters: bodies may have other frames in Pinocchio, torques are the same."""
    q, nu, dnu = state(pair)
    ours = pair.robot.inverse_dynamics_regressor(q, nu, dnu)
    theirs = np.array(pin.computeJointTorqueRegressor(pair.model, pair.data, pair.q_pin(q), pair.G @ nu, pair.G @ dnu))
    scale = max(1.0, float(np.abs(pair.robot.inverse_dynamics(q, nu, dnu)).max()))
    for i, body in enumerate(pair.robot.model.bodies):
        name = "root_joint" if pair.robot.floating and i == 0 else body.joint_name
        k = pair.model.getJointId(name)
        torque = ours[:, 10 * i : 10 * i + 10] @ pair.robot.inertial_parameters[10 * i : 10 * i + 10]
        expected = pair.G.T @ theirs[:, 10 * (k - 1) : 10 * k] @ pair.model.inertias[k].toDynamicParameters()
        assert np.abs(torque - expected).max() < TOLERANCE * scale


@pytest.mark.parametrize(("name", "floating"), [("panda", False), ("ur5", True), ("hyq", True)])
def test_compiled(name: str, floating: bool) -> None:
    """What users run: one call for one state, one for a batch, against Pinocchio state by state."""
    pair = peer(name, floating)
    robot = fc.load(urdf(name), floating=floating)
    some = states(pair)
    Q, NU, DNU = (np.array(x) for x in zip(*some, strict=True))
    TAU = robot.inverse_dynamics(Q, NU, DNU)
    batches = robot.inverse_dynamics_derivatives(Q, NU, DNU), robot.forward_dynamics_derivatives(Q, NU, TAU)
    Minv = robot.inverse_mass_matrix(Q)
    for k, (q, nu, dnu) in enumerate(some):
        for batch, theirs in zip(batches, (inverse(pair, q, nu, dnu), forward(pair, q, nu, dnu)), strict=True):
            same(type(batch)(*(x[k] for x in batch)), theirs)
        same(robot.inverse_dynamics_derivatives(q, nu, dnu), inverse(pair, q, nu, dnu))
        same(robot.forward_dynamics_derivatives(q, nu, TAU[k]), forward(pair, q, nu, dnu))
        assert relative_error(Minv[k], forward(pair, q, nu, dnu)[2]) < TOLERANCE
