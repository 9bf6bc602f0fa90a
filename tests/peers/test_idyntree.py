"""Against iDynTree, in all three representations of the base's velocity (paper 004).

Its Coriolis matrix is left out: it is not one of a moving base. iDynTree is not among the test dependencies; these tests
run where it is installed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from libraries import Idyntree, urdf_text
from representations import TOLERANCE, Case, biases_and_gravities, mass_matrices, momentum_at_the_centre

import fallingcat as fc
from fallingcat import converters
from trees import REPRESENTATIONS, Array, plain, relative_error, state

pytest.importorskip("idyntree.swig", reason="pip install idyntree")


@cache
def pair(name: str, base: str | None, representation: str) -> Case:
    robot = plain(fc.load(name, base=base))
    peer = Idyntree(urdf_text(name), True, base, representation)
    return robot, peer, converters.idyntree(robot, peer.joint_names, "body"), representation


ROBOTS = [("cat", None), ("humanoid", None), ("humanoid", "left_hip")]


@pytest.fixture(params=[(*robot, r) for robot in ROBOTS for r in REPRESENTATIONS], ids=lambda c: "-".join(map(str, c)))
def case(request: pytest.FixtureRequest) -> Case:
    return pair(*request.param)


def test_mass_matrix(case: Case, rng: np.random.Generator) -> None:
    assert relative_error(*mass_matrices(case, rng)) < TOLERANCE


def test_bias_and_gravity(case: Case, rng: np.random.Generator) -> None:
    bias, gravity = biases_and_gravities(case, rng)
    assert relative_error(*bias) < TOLERANCE
    assert relative_error(*gravity) < TOLERANCE


def test_inverse_and_forward_dynamics(case: Case, rng: np.random.Generator) -> None:
    robot, peer, order, representation = case
    q, nu, dnu = state(robot, rng)
    tau = peer.inverse_dynamics(order.q(q), order.nu(q, nu), order.nu(q, dnu))
    ours = robot.inverse_dynamics(q, nu, dnu, representation=representation)
    assert relative_error(order.tau(q, ours), tau) < TOLERANCE
    back = robot.forward_dynamics(q, nu, order.from_tau(order.q(q), tau), representation=representation)
    assert relative_error(back, dnu) < 1e-9


def test_jacobians_and_velocities_of_links(case: Case, rng: np.random.Generator) -> None:
    robot, peer, order, representation = case
    q, nu, _ = state(robot, rng)
    for link in rng.choice(robot.link_names, size=4, replace=False):
        J = peer.matrix("getFrameFreeFloatingJacobian", 6, order.q(q), str(link))
        assert relative_error(order.jacobian(q, robot.frame_jacobian(q, str(link), representation)), J) < TOLERANCE
        v = peer.velocity(order.q(q), order.nu(q, nu), str(link))
        assert relative_error(robot.frame_velocity(q, nu, str(link), representation), v) < TOLERANCE


def test_acceleration_of_links(case: Case, rng: np.random.Generator) -> None:
    """dJ/dt nu, which iDynTree calls the bias acceleration."""
    robot, peer, order, representation = case
    q, nu, _ = state(robot, rng)
    peer.at(order.q(q), order.nu(q, nu))
    for link in rng.choice(robot.link_names, size=3, replace=False):
        bias = peer.kindyn.getFrameBiasAcc(str(link)).toNumPy()
        ours = robot.frame_jacobian_rate(q, nu, str(link), representation) @ nu
        assert relative_error(ours, bias) < TOLERANCE


def body(robot: fc.Robot, q: Array, representation: str) -> Array:
    """The matrix from nu with the base twist in this representation to nu with a body-fixed one."""
    return np.linalg.inv(converters.idyntree(robot, None, representation).T(q))


def test_centre_of_mass(case: Case, rng: np.random.Generator) -> None:
    """Its Jacobian gives the velocity in world axes in the mixed representation."""
    robot, peer, order, representation = case
    q, _, _ = state(robot, rng)
    peer.at(order.q(q))
    assert relative_error(robot.center_of_mass(q), peer.kindyn.getCenterOfMassPosition().toNumPy()) < TOLERANCE
    if representation == "mixed":
        J = peer.matrix("getCenterOfMassJacobian", 3, order.q(q))
        ours = robot.center_of_mass_jacobian(q) @ body(robot, q, representation)
        assert relative_error(order.jacobian(q, ours), J) < TOLERANCE


@pytest.mark.parametrize(("name", "base"), ROBOTS)
def test_centroidal_momentum(name: str, base: str | None, rng: np.random.Generator) -> None:
    robot, peer, order, _ = pair(name, base, "mixed")
    q, nu, _ = state(robot, rng)
    A = peer.matrix("getCentroidalTotalMomentumJacobian", 6, order.q(q))
    ours = momentum_at_the_centre(robot, q)
    peer.at(order.q(q), order.nu(q, nu))
    assert relative_error(order.jacobian(q, ours), A) < TOLERANCE
    assert relative_error(ours @ nu, peer.kindyn.getCentroidalTotalMomentum().toNumPy()) < TOLERANCE


@pytest.mark.parametrize(("name", "base"), ROBOTS)
def test_centroidal_functions(name: str, base: str | None, rng: np.random.Generator) -> None:
    robot, peer, _, _ = pair(name, base, "mixed")
    to = converters.idyntree(robot, peer.joint_names)
    q, nu, _ = state(robot, rng)
    A = peer.matrix("getCentroidalTotalMomentumJacobian", 6, to.q(q))
    assert relative_error(robot.centroidal_momentum_matrix(q), to.from_jacobian(to.q(q), A)) < TOLERANCE
    peer.at(to.q(q), to.nu(q, nu))
    assert relative_error(robot.centroidal_momentum(q, nu), peer.kindyn.getCentroidalTotalMomentum().toNumPy()) < TOLERANCE
    average = peer.kindyn.getCentroidalAverageVelocity().toNumPy()
    assert relative_error(robot.average_velocity(q, nu), average) < TOLERANCE
    inertia = peer.kindyn.getCentroidalRobotLockedInertia().asMatrix().toNumPy()
    assert relative_error(robot.centroidal_inertia(q), inertia) < TOLERANCE
