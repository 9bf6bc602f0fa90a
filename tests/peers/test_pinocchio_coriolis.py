"""Coriolis matrices against Pinocchio's, on robots from the field.

With nu_pin = G nu (see `test_pinocchio`), C = G^T C_pin G, because G is constant. Pinocchio's is the Christoffel-consistent
factorization too; it has no symbols, so that its user would ask for C once for every unit velocity, as is done here.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from test_pinocchio import Peer, peer, states, symmetric, urdf

import fallingcat as fc
from trees import Array, body_velocity, relative_error

ROBOTS = ("panda", "ur5", "kinova", "baxter", "talos", "icub", "hyq", "anymal", "tiago", "borinot")
"""Arms, a two-armed robot with mimicking grippers, humanoids, quadrupeds, a mobile base, a flying arm."""
TOLERANCE = 1e-10


@pytest.fixture(params=[(n, f) for n in ROBOTS for f in (False, True)], ids=lambda p: f"{p[0]}-{'floating' if p[1] else 'fixed'}")
def pair(request: pytest.FixtureRequest) -> Peer:
    return peer(*request.param)


def coriolis(pair: Peer, q: Array, nu: Array) -> Array:
    C = pin.computeCoriolisMatrix(pair.model, pair.data, pair.q_pin(q), pair.G @ nu)
    return np.array(pair.G.T @ C @ pair.G)


def test_coriolis_matrix(pair: Peer) -> None:
    for q, nu, _ in states(pair, seed=21):
        assert relative_error(pair.robot.coriolis_matrix(q, nu), coriolis(pair, q, nu)) < TOLERANCE


def test_both_factorizations_give_its_bias(pair: Peer) -> None:
    q, nu, _ = states(pair, seed=22)[0]
    bias = pin.nonLinearEffects(pair.model, pair.data, pair.q_pin(q), pair.G @ nu)
    gravity = pin.computeGeneralizedGravity(pair.model, pair.data, pair.q_pin(q))
    expected = pair.G.T @ (bias - gravity)
    for factorization in ("christoffel", "body"):
        assert relative_error(pair.robot.coriolis_matrix(q, nu, factorization) @ nu, expected) < TOLERANCE


def test_rate_of_the_mass_matrix(pair: Peer) -> None:
    """Against a central difference of Pinocchio's mass matrix along its own integration."""
    q, nu, _ = states(pair, seed=23)[0]
    q_pin, v, h = pair.q_pin(q), pair.G @ nu, 1e-5

    def M(t: float) -> Array:
        return symmetric(pin.crba(pair.model, pair.data, pin.integrate(pair.model, q_pin, t * v)))

    slope = pair.G.T @ (M(h) - M(-h)) @ pair.G / (2 * h)
    assert relative_error(pair.robot.mass_matrix_rate(q, nu), slope) < 1e-7
    assert relative_error(pair.robot.coriolis_terms(q, nu).M, pair.G.T @ M(0.0) @ pair.G) < TOLERANCE


@pytest.mark.parametrize(("name", "floating"), [("panda", False), ("baxter", False), ("hyq", True), ("borinot", True)])
def test_symbols(name: str, floating: bool) -> None:
    """One unit velocity after the other."""
    pair = peer(name, floating)
    q, _, _ = states(pair, seed=24)[0]
    expected = np.stack([coriolis(pair, q, e) for e in np.eye(pair.robot.nv)], axis=-1)
    assert relative_error(pair.robot.christoffel_symbols(q), expected) < TOLERANCE


@pytest.mark.parametrize("representation", ["mixed", "inertial"])
def test_other_representations_are_valid(representation: str) -> None:
    """C nu in another twist of the base is Pinocchio's bias and the change of the base's axes."""
    pair = peer("hyq", True)
    robot = pair.robot
    q, w, _ = states(pair, seed=25)[0]
    nu = body_velocity(robot, q, w, representation)
    T = np.column_stack([body_velocity(robot, q, e, representation) for e in np.eye(robot.nv)])
    h = 1e-6
    T_rate = [
        np.column_stack([body_velocity(robot, robot.integrate(q, t * nu), e, representation) for e in np.eye(robot.nv)])
        for t in (h, -h)
    ]
    C, M = coriolis(pair, q, nu), symmetric(pin.crba(pair.model, pair.data, pair.q_pin(q)))
    expected = T.T @ C @ T + T.T @ pair.G.T @ M @ pair.G @ (T_rate[0] - T_rate[1]) / (2 * h)
    assert relative_error(robot.coriolis_matrix(q, w, representation=representation), expected) < 1e-8


@pytest.mark.parametrize(("name", "floating"), [("panda", False), ("hyq", True)])
def test_compiled(name: str, floating: bool) -> None:
    """What users run: one call, and a batch."""
    pair = peer(name, floating)
    robot = fc.load(urdf(name), floating=floating)
    Q, NU, _ = (np.array(x) for x in zip(*states(pair, seed=26), strict=True))
    batch, symbols = robot.coriolis_matrix(Q, NU), robot.christoffel_symbols(Q)
    for k in range(len(Q)):
        expected = coriolis(pair, Q[k], NU[k])
        assert relative_error(batch[k], expected) < TOLERANCE
        assert relative_error(robot.coriolis_matrix(Q[k], NU[k]), expected) < TOLERANCE
        assert relative_error(symbols[k] @ NU[k], expected) < TOLERANCE
