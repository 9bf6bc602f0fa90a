"""Against adam with its numpy back end, in all three representations of the base's velocity (paper 004).

adam is not among the test dependencies; these tests run where it is installed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from libraries import Adam, urdf_text
from representations import TOLERANCE, Case, biases_and_gravities, mass_matrices, momentum_at_the_centre

import fallingcat as fc
from fallingcat import converters
from trees import REPRESENTATIONS, plain, relative_error, state

pytest.importorskip("adam.numpy", reason="pip install adam-robotics")


@cache
def pair(name: str, representation: str) -> Case:
    robot = plain(fc.load(name))
    peer = Adam(urdf_text(name), True, representation)
    return robot, peer, converters.adam(robot, peer.joint_names, "body"), representation


CASES = [(name, representation) for name in ("cat", "humanoid") for representation in REPRESENTATIONS]


@pytest.fixture(params=CASES, ids="-".join)
def case(request: pytest.FixtureRequest) -> Case:
    return pair(*request.param)


def test_mass_matrix(case: Case, rng: np.random.Generator) -> None:
    assert relative_error(*mass_matrices(case, rng)) < TOLERANCE


def test_bias_and_gravity(case: Case, rng: np.random.Generator) -> None:
    bias, gravity = biases_and_gravities(case, rng)
    assert relative_error(*bias) < TOLERANCE
    assert relative_error(*gravity) < TOLERANCE


def test_forward_dynamics(case: Case, rng: np.random.Generator) -> None:
    """Its articulated bodies, with joint torques alone; they come from an acceleration of order one."""
    robot, peer, _, representation = case
    q, nu, _ = state(robot, rng)
    dnu = np.concatenate([robot.base_acceleration(q, nu, ddr := rng.normal(size=robot.n)), ddr])
    tau = robot.inverse_dynamics(q, nu, dnu)
    assert np.abs(tau[:6]).max() < 1e-9
    to = converters.adam(robot, peer.joint_names, representation)
    v = to.nu(q, nu)
    theirs = peer.kindyn.aba(*to.q(q), v[:6], v[6:], to.tau(q, tau)[6:])
    assert relative_error(to.from_dnu(to.q(q), v, theirs), dnu) < 1e-9


def test_jacobians_and_their_rates(case: Case, rng: np.random.Generator) -> None:
    """J, and dJ/dt nu: adam's matrix dJ/dt is another than the rate of its J, with the same product."""
    robot, peer, order, representation = case
    q, nu, _ = state(robot, rng)
    v = order.nu(q, nu)
    for link in rng.choice(robot.link_names, size=4, replace=False):
        J = peer.kindyn.jacobian(str(link), *order.q(q))
        J_rate = peer.kindyn.jacobian_dot(str(link), *order.q(q), v[:6], v[6:])
        assert relative_error(order.jacobian(q, robot.frame_jacobian(q, str(link), representation)), J) < TOLERANCE
        assert relative_error(robot.frame_jacobian_rate(q, nu, str(link), representation) @ nu, J_rate @ v) < TOLERANCE


def test_centre_of_mass(case: Case, rng: np.random.Generator) -> None:
    robot, peer, order, representation = case
    q, _, _ = state(robot, rng)
    assert relative_error(robot.center_of_mass(q), peer.kindyn.CoM_position(*order.q(q))) < TOLERANCE
    assert relative_error(robot.mass, peer.kindyn.get_total_mass()) < TOLERANCE
    if representation == "mixed":  # its Jacobian gives the velocity in world axes
        to = converters.adam(robot, peer.joint_names)
        J = to.from_jacobian(to.q(q), peer.kindyn.CoM_jacobian(*to.q(q)))
        assert relative_error(robot.center_of_mass_jacobian(q), J) < TOLERANCE


@pytest.mark.parametrize("name", ["cat", "humanoid"])
def test_centroidal_momentum(name: str, rng: np.random.Generator) -> None:
    """The base rows of the mixed mass matrix, with the moment about the centre of mass."""
    robot, peer, order, _ = pair(name, "mixed")
    q, _, _ = state(robot, rng)
    A = peer.kindyn.centroidal_momentum_matrix(*order.q(q))
    assert relative_error(order.jacobian(q, momentum_at_the_centre(robot, q)), A) < TOLERANCE
    assert relative_error(order.jacobian(q, robot.centroidal_momentum_matrix(q, "mixed")), A) < TOLERANCE
    to = converters.adam(robot, peer.joint_names)
    assert relative_error(robot.centroidal_momentum_matrix(q), to.from_jacobian(to.q(q), A)) < TOLERANCE
