"""Errata that need no reference of their own: what is printed against what the papers say elsewhere, and text that is lost."""

from __future__ import annotations

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.algorithms import configuration
from fallingcat.algorithms.kinematics import joint_kinematics
from fallingcat.apps.papers.paper002_numbers import DFD, DID, FD, ID, ID_LOOP, SUBJECTS, growth
from fallingcat.model.model import WORLD
from fallingcat.reference import paper000 as P
from trees import ONE_AXIS, Array, plain, random_tree, relative_error, state

TIGHT = 1e-12


def test_0_12_the_bias_wrench_does_not_know_accelerations(rng: np.random.Generator) -> None:
    """(58) of paper 000: b^vp is the same for any accelerations. Prop. 1: the rate of H is H v^, by a complex step."""
    robot = plain(fc.load(random_tree(3, joints=6, types=ONE_AXIS, mimic=0.0)))
    system = P.System.of(robot)
    q, nu, _ = state(robot, rng)
    H, s = robot.split(q)
    here = H, s, nu[:6], nu[6:]
    first, second = (P.table4(system, *here, rng.normal(size=6), rng.normal(size=robot.n)) for _ in range(2))
    assert np.array_equal(first.b_vp[0], second.b_vp[0])
    assert relative_error(first.tau, second.tau) > 0.1

    h = 1e-20
    moved = configuration.integrate(robot.model, [complex(x) for x in q], [complex(0.0, h * x) for x in nu])
    hat = np.zeros((4, 4))
    hat[:3, :3], hat[:3, 3] = P.hat(nu[3:6]), nu[:3]
    assert relative_error([x.imag / h for x in moved[:3]], (H @ hat)[:3, 3]) < TIGHT
    with pytest.raises(ValueError, match="matmul"):
        H @ nu[:6]  # as printed


@pytest.mark.parametrize("floating", [False, True])
def test_2_3_the_backward_pass(floating: bool, rng: np.random.Generator) -> None:
    """Algorithm 1 of paper 002 with tau_i = S_i^T f_i and f_parent += X_i^T f_i is inverse dynamics; without it, not."""
    robot = plain(fc.load(random_tree(5, joints=6, types=ONE_AXIS, mimic=0.0), floating=floating))
    q, nu, dnu = state(robot, rng)
    expected = robot.inverse_dynamics(q, nu, dnu)
    assert relative_error(newton_euler(robot, q, nu, dnu, carried=True), expected) < TIGHT
    assert relative_error(newton_euler(robot, q, nu, dnu, carried=False), expected) > 0.1


def newton_euler(robot: fc.Robot, q: Array, nu: Array, dnu: Array, carried: bool) -> Array:
    """Algorithm 1 with dense matrices; `carried`: with its last line."""
    model = robot.model
    X, S = joint_kinematics(model, q.tolist())
    matrix = {i: np.array(X[i].matrix(), dtype=float) for i, _ in model.base_to_tip()}
    axes = {i: np.array([s.entries() for s in S[i].columns], dtype=float).T for i in matrix}
    v, a = {WORLD: np.zeros(6)}, {WORLD: np.array([*(-g for g in model.gravity), 0.0, 0.0, 0.0])}
    f = {WORLD: np.zeros(6)}
    for i, p in model.base_to_tip():
        at, I = list(model.dofs(i)), np.array(model.bodies[i].inertia.matrix(), dtype=float)
        vJ = axes[i] @ nu[at]
        v[i] = matrix[i] @ v[p] + vJ
        a[i] = matrix[i] @ a[p] + axes[i] @ dnu[at] + P.ad(v[i]) @ vJ
        f[i] = I @ a[i] - P.ad(v[i]).T @ I @ v[i]
    tau = np.empty(model.nv)
    for i, p in model.tip_to_base():
        tau[list(model.dofs(i))] = axes[i].T @ f[i]
        if carried:
            f[p] = f[p] + matrix[i].T @ f[i]
    return tau


def test_2_5_text_against_table() -> None:
    """What the text of paper 002 says of Table I does not fit it, and operations grow faster than the number of bodies."""
    paper = [s.times for s in SUBJECTS]
    differences = [t[ID_LOOP] / t[DID] for t in paper]
    assert [round(x, 1) for x in differences] == [6.4, 12.6, 27.1]
    assert min(differences) < 7.0  # "from 7
    assert max(differences) > 26.0  # to 26", and in the conclusion
    assert max(differences) < 0.7 * 40.0  # "about 40"
    forward = [t[DFD] / t[FD] for t in paper]
    assert [round(x, 1) for x in forward] == [3.2, 3.3, 4.6]
    assert max(forward) > 4.0  # "at most 4"
    assert [round(t[DID] / t[ID]) for t in paper] == [3, 3, 3]  # which is right
    operations = growth(lambda what: None)
    chain, arms = operations["one chain"], operations["arms of four joints"]
    assert chain[2] / chain[1] > 2.5
    assert arms[2] / arms[1] == pytest.approx(2.0, abs=0.05)
