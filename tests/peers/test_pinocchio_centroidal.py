"""The centroid against Pinocchio on robots from the field: ccrba, dccrba and the derivatives of the centroidal dynamics.

With nu_pin = G nu (see `test_pinocchio`), matrices are A_pin G. Where joints follow others Pinocchio moves them on their own,
and G sums their columns.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from test_pinocchio import Peer, peer, states, urdf

import fallingcat as fc
from trees import Array, relative_error

TOLERANCE = 1e-10
ROBOTS = [
    ("talos", True), ("icub", True), ("g1", True), ("hyq", True), ("anymal", True), ("centauro", True), ("tiago", True),
    ("pr2", True), ("borinot", True), ("hector", True), ("panda", False), ("ur5", True), ("baxter", False), ("talos", False),
]  # fmt: skip


@pytest.fixture(params=ROBOTS, ids=lambda p: f"{p[0]}-{'floating' if p[1] else 'fixed'}")
def pair(request: pytest.FixtureRequest) -> Peer:
    return peer(*request.param)


def arguments(pair: Peer, q: Array, *velocities: Array) -> tuple[object, ...]:
    return pair.model, pair.data, pair.q_pin(q), *(pair.G @ v for v in velocities)


def same(ours: object, theirs: Array) -> None:
    assert relative_error(ours, theirs) < TOLERANCE


def test_momentum(pair: Peer) -> None:
    """ccrba: matrix, inertia and momentum; the average velocity and that of the centre of mass."""
    for q, nu, _ in states(pair):
        A = pin.ccrba(*arguments(pair, q, nu)) @ pair.G
        same(pair.robot.centroidal_momentum_matrix(q), A)
        same(pair.robot.centroidal_inertia(q), pair.data.Ig.matrix())
        same(pair.robot.centroidal_momentum(q, nu), pair.data.hg.vector)
        average = pair.robot.average_velocity(q, nu)
        same(average, np.linalg.solve(pair.data.Ig.matrix(), pair.data.hg.vector))
        pin.centerOfMass(*arguments(pair, q, nu))
        same(average[:3], pair.data.vcom[0])


def test_rates(pair: Peer) -> None:
    """dccrba, and the rate of the momentum."""
    for q, nu, dnu in states(pair):
        pin.dccrba(*arguments(pair, q, nu))
        same(pair.robot.centroidal_momentum_matrix_rate(q, nu), pair.data.dAg @ pair.G)
        pin.computeCentroidalMomentumTimeVariation(*arguments(pair, q, nu, dnu))
        same(pair.robot.centroidal_momentum_rate(q, nu, dnu), pair.data.dhg.vector)


def test_derivatives(pair: Peer) -> None:
    """computeCentroidalDynamicsDerivatives: dh/dq, and the derivatives of dh/dt by q, nu and dnu."""
    for q, nu, dnu in states(pair):
        results = pin.computeCentroidalDynamicsDerivatives(*arguments(pair, q, nu, dnu))
        dh_dq, drate_dq, drate_dv, drate_da = (np.array(x) @ pair.G for x in results)
        D = pair.robot.centroidal_momentum_derivatives(q, nu)
        same(D.dh_dq, dh_dq)
        same(D.dh_dnu, drate_da)
        R = pair.robot.centroidal_momentum_rate_derivatives(q, nu, dnu)
        same(R.dh_rate_dq, drate_dq)
        same(R.dh_rate_dnu, drate_dv)
        same(R.dh_rate_ddnu, drate_da)


def test_compiled() -> None:
    """What users run: a batch, and single states."""
    pair = peer("hyq", True)
    robot = fc.load(urdf("hyq"))
    some = states(pair)
    Q, NU, DNU = (np.array(x) for x in zip(*some, strict=True))
    A, rate = robot.centroidal_momentum_matrix(Q), robot.centroidal_momentum_matrix_rate(Q, NU)
    D = robot.centroidal_momentum_rate_derivatives(Q, NU, DNU)
    for k, (q, nu, dnu) in enumerate(some):
        same(A[k], np.array(pin.ccrba(*arguments(pair, q, nu))) @ pair.G)
        pin.dccrba(*arguments(pair, q, nu))
        same(rate[k], pair.data.dAg @ pair.G)
        same(robot.centroidal_momentum_matrix_rate(q, nu), pair.data.dAg @ pair.G)
        _, *theirs = (np.array(x) @ pair.G for x in pin.computeCentroidalDynamicsDerivatives(*arguments(pair, q, nu, dnu)))
        for x, y in zip(D, theirs, strict=True):
            same(x[k], y)
