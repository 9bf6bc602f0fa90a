"""The converters against the libraries themselves: one physics, whatever the words.

Drake, iDynTree and adam are not among the test dependencies; their tests run where they are installed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from libraries import Adam, Drake, Idyntree, Mujoco, Peer, Pinocchio, urdf_text

import fallingcat as fc
from fallingcat import converters
from trees import Array, plain, relative_error, state

TOLERANCE = 1e-11
LIBRARIES = {"pinocchio": Pinocchio, "mujoco": Mujoco, "drake": Drake, "idyntree": Idyntree, "adam": Adam}
CASES = [(library, robot, floating) for library in LIBRARIES for robot in ("quadruped", "humanoid") for floating in (True, False)]
STEP = 1e-5


@cache
def pair(library: str, name: str, floating: bool) -> tuple[fc.Robot, Peer, converters.Converter]:
    robot = plain(fc.load(name, floating=floating))
    peer = LIBRARIES[library](urdf_text(name), floating)
    return robot, peer, peer.convert(robot, peer.joint_names)


@pytest.fixture(params=CASES, ids=lambda c: f"{c[0]}-{c[1]}-{'floating' if c[2] else 'fixed'}")
def case(request: pytest.FixtureRequest) -> tuple[fc.Robot, Peer, converters.Converter]:
    return pair(*request.param)


Case = tuple[fc.Robot, Peer, converters.Converter]


def mixed(robot: fc.Robot, q: Array, nu: Array) -> Array:
    """By hand: the velocity of the origin and the angular velocity in world axes."""
    if not robot.floating:
        return nu
    R = robot.split(q)[0][:3, :3]
    return np.concatenate([R @ nu[:3], R @ nu[3:6], nu[6:]])


def test_the_order_of_joints_is_theirs(case: Case) -> None:
    robot, _, to = case
    assert sorted(to.joint_names) == sorted(robot.joint_names)
    assert to.nv == robot.nv == len(to.nu(robot.neutral(), np.zeros(robot.nv)))


def test_poses_and_velocities_of_links(case: Case, rng: np.random.Generator) -> None:
    robot, peer, to = case
    q, nu, _ = state(robot, rng)
    for link in robot.link_names[::5]:
        assert relative_error(peer.pose(to.q(q), link), robot.frame_pose(q, link)) < TOLERANCE
        expected = robot.frame_velocity(q, mixed(robot, q, nu), link, "mixed")
        assert relative_error(peer.velocity(to.q(q), to.nu(q, nu), link), expected) < TOLERANCE


def test_energy_and_mass_matrix(case: Case, rng: np.random.Generator) -> None:
    robot, peer, to = case
    q, nu, _ = state(robot, rng)
    M = peer.mass_matrix(to.q(q))
    assert relative_error(peer.kinetic_energy(to.q(q), to.nu(q, nu)), robot.kinetic_energy(q, nu)) < TOLERANCE
    assert relative_error(to.matrix(q, robot.mass_matrix(q)), M) < TOLERANCE
    assert relative_error(to.from_matrix(to.q(q), M), robot.mass_matrix(q)) < TOLERANCE
    assert relative_error(to.T(q).T @ M @ to.T(q), robot.mass_matrix(q)) < TOLERANCE


def test_inverse_dynamics_bias_and_gravity(case: Case, rng: np.random.Generator) -> None:
    """Accelerations there, generalized forces back, and the other way round."""
    robot, peer, to = case
    q, nu, dnu = state(robot, rng)
    there = to.q(q), to.nu(q, nu)
    tau = robot.inverse_dynamics(q, nu, dnu)
    theirs = peer.inverse_dynamics(*there, to.dnu(q, nu, dnu))
    assert relative_error(to.tau(q, tau), theirs) < TOLERANCE
    assert relative_error(to.from_tau(to.q(q), theirs), tau) < TOLERANCE
    assert relative_error(to.from_tau(to.q(q), peer.gravity(to.q(q))), robot.gravity_torque(q)) < TOLERANCE
    # No acceleration there is one here: their bias has the rate of T in it.
    none = to.from_dnu(*there, np.zeros(to.nv))
    bias = peer.inverse_dynamics(*there, np.zeros(to.nv))
    assert relative_error(to.from_tau(to.q(q), bias), robot.inverse_dynamics(q, nu, none)) < TOLERANCE
    if robot.floating and to.convention.linear == "world":
        assert relative_error(to.from_tau(to.q(q), bias), robot.bias(q, nu)) > 1e-3


@pytest.mark.parametrize("library", ["pinocchio", "mujoco", "drake"])
@pytest.mark.parametrize("floating", [True, False])
def test_a_small_step_leads_to_the_same_state(library: str, floating: bool, rng: np.random.Generator) -> None:
    """One step of each library: the same up to the square of the step, a hundred times less than what a mistake makes."""
    robot, peer, to = pair(library, "quadruped", floating)
    q, nu, dnu = state(robot, rng)
    tau = robot.inverse_dynamics(q, nu, dnu)
    here = robot.integrate(q, STEP * nu), nu + STEP * dnu
    q_there, v_there = peer.step(to.q(q), to.nu(q, nu), to.tau(q, tau), STEP)
    q_back = to.from_q(q_there)
    bound = 100 * STEP**2
    assert np.abs(robot.difference(here[0], q_back)).max() < bound
    assert np.abs(here[1] - to.from_nu(q_there, v_there)).max() < bound
    assert np.abs(robot.difference(q, q_back)).max() > 100 * bound


@pytest.mark.parametrize("representation", ["body", "mixed", "inertial"])
@pytest.mark.parametrize("library", ["idyntree", "adam"])
def test_representations(library: str, representation: str, rng: np.random.Generator) -> None:
    """In each of their three representations, the derivative of the twist as acceleration."""
    robot = plain(fc.load("quadruped"))
    peer = LIBRARIES[library](urdf_text("quadruped"), True, representation=representation)
    to = peer.convert(robot, peer.joint_names, representation)
    q, nu, dnu = state(robot, rng)
    there = to.q(q), to.nu(q, nu), to.dnu(q, nu, dnu)
    assert relative_error(peer.mass_matrix(there[0]), to.matrix(q, robot.mass_matrix(q))) < TOLERANCE
    assert relative_error(peer.inverse_dynamics(*there), to.tau(q, robot.inverse_dynamics(q, nu, dnu))) < TOLERANCE


def test_another_base_in_idyntree(rng: np.random.Generator) -> None:
    robot = plain(fc.load("humanoid", base="head"))
    peer = Idyntree(urdf_text("humanoid"), True, base="head")
    to = converters.idyntree(robot, peer.joint_names)
    q, nu, dnu = state(robot, rng)
    theirs = peer.inverse_dynamics(to.q(q), to.nu(q, nu), to.dnu(q, nu, dnu))
    assert relative_error(to.from_tau(to.q(q), theirs), robot.inverse_dynamics(q, nu, dnu)) < TOLERANCE
