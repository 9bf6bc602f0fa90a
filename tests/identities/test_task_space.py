"""Task-space dynamics of a floating robot against the full dynamics, complex steps, and Gauss' principle."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from bases import TOLERANCE, close
from hypothesis import assume, given, settings
from test_reduced import named

import fallingcat as fc
from fallingcat.algorithms import reduced, task_space
from fallingcat.algorithms.dense import Matrix
from trees import Array, Plain, derivative, load, random_tree, seeds, state, trees

few = settings(max_examples=10)


def bound(J: Array, L: Array) -> float:
    """For what was divided by J Lambda_q^-1 J^T, scaled to a unit diagonal."""
    G = J @ np.linalg.solve(L, J.T)
    d = np.sqrt(np.diag(G))
    return TOLERANCE * max(1.0, float(np.linalg.cond(G / np.outer(d, d))) / 1000.0) * max(1.0, np.linalg.cond(L) / 1000.0)


def check(robot: Plain, q: Array, nu: Array, tau: Array, frame: str) -> None:
    """(1)-(3) of algorithms/task_space.py, from the full dynamics."""
    T, L, r = robot.task_space_dynamics(q, nu, frame), robot.shape_inertia(q), nu[6:]
    J = robot.generalized_jacobian(q, frame)
    tolerance = bound(J, L)
    close(T.J, J)
    close(T.J_rate, derivative(reduced.generalized_jacobian, robot.model, q, nu, frame))
    expected = np.linalg.inv(J @ np.linalg.solve(L, J.T))
    close(T.Lambda_x, expected, tolerance)
    close(T.J @ T.Jbar, np.eye(6), tolerance)
    close(T.Jbar, np.linalg.solve(L, J.T) @ expected, tolerance)
    along = derivative(lambda *x: task_space.task_space_dynamics(*x).Lambda_x, robot.model, q, nu, nu.tolist(), frame)
    close(T.Gamma_x + T.Gamma_x.T, along, tolerance)
    # y' along the motion: the twist of the frame less that of the locked robot
    full = np.concatenate([np.zeros(6), tau])
    dnu = robot.forward_dynamics(q, nu, full)
    y_rate = T.J @ dnu[6:] + T.J_rate @ r
    right = T.Jbar.T @ (tau - robot.decoupling_torques(q, nu).complete)
    scale = max(1.0, float(np.abs(dnu).max()))
    close((T.Lambda_x @ y_rate + T.h_x) / scale, right / scale, tolerance)
    # without motion to spare, h_x is Gamma_x y
    inside = T.Jbar @ (T.J @ r)
    horizontal = np.concatenate([-robot.mechanical_connection(q) @ inside, inside])
    again = robot.task_space_dynamics(q, horizontal, frame)
    close(again.h_x, again.Gamma_x @ (again.J @ inside), tolerance)


@few
@given(trees(max_joints=7, min_joints=4), seeds)
def test_dynamics(builder: fc.Builder, seed: int) -> None:
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, tau = state(robot, rng)
    frame = str(rng.choice(robot.link_names))
    assume(np.linalg.matrix_rank(robot.generalized_jacobian(q, frame), 1e-3) == 6)
    check(robot, q, nu, tau[6:], frame)


@pytest.mark.parametrize(("name", "frame"), [("spacearm", "hand"), ("cat", "head"), ("talos", "gripper_left_base_link")])
def test_dynamics_of_robots(name: str, frame: str, rng: np.random.Generator) -> None:
    robot = named(name)
    q, nu, tau = state(robot, rng)
    check(robot, q, nu, tau[6:], frame)


@few
@given(trees(max_joints=7, min_joints=4), seeds)
def test_torque(builder: fc.Builder, seed: int) -> None:
    """The frame accelerates as it is told, under gravity and friction; among all torques that do it these are nearest to tau0."""
    robot, rng = load(builder, True, seed, joint_dynamics=True), np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    frame, a, tau0 = str(rng.choice(robot.link_names)), rng.normal(size=6), rng.normal(size=robot.n)
    J, Linv = robot.generalized_jacobian(q, frame), robot.inverse_mass_matrix(q)[6:, 6:]
    assume(np.linalg.matrix_rank(J, 1e-3) == 6)
    tau = robot.task_space_torque(q, nu, a, tau0, frame)
    dnu = robot.forward_dynamics(q, nu, np.concatenate([np.zeros(6), tau]))
    scale = max(1.0, float(np.abs(dnu).max()), float(np.abs(tau).max()))
    tolerance = bound(J, np.linalg.inv(Linv))
    close(robot.frame_acceleration(q, nu, dnu, frame) / scale, a / scale, tolerance)
    # Gauss: the change is orthogonal, in Lambda_q^-1, to every torque that does nothing to the frame
    _, _, Vt = np.linalg.svd(J @ Linv)
    close((tau - tau0) @ Linv @ Vt[6:].T / scale, np.zeros(robot.n - 6), tolerance)


def test_few_joints() -> None:
    """Four joints cannot give all six accelerations: they give the linear ones, and as much of the rest as they can."""
    robot = load(random_tree(3, joints=4, types=("revolute",), mimic=0.0, fixed=0.0), True, 0)
    rng = np.random.default_rng(3)
    q, nu, _ = state(robot, rng)
    frame = max(robot.link_names, key=lambda link: np.linalg.matrix_rank(robot.generalized_jacobian(q, link), 1e-6))
    rank = np.linalg.matrix_rank(robot.generalized_jacobian(q, frame), 1e-6)
    a, T = rng.normal(size=6), robot.task_space_dynamics(q, nu, frame)
    tau = robot.task_space_torque(q, nu, a, np.zeros(robot.n), frame)
    found = robot.frame_acceleration(q, nu, robot.forward_dynamics(q, nu, np.concatenate([np.zeros(6), tau])), frame)
    assert 0 < rank < 6
    close(found[:rank], a[:rank], 1e-9)
    assert np.array_equal(T.Lambda_x[rank:], np.zeros((6 - rank, 6)))
    assert np.linalg.matrix_rank(T.Lambda_x) == rank


def test_rows_that_nearly_depend_on_each_other(rng: np.random.Generator) -> None:
    """Against fifty digits: errors grow with the condition of the rows, not with its square, as those of inverting G do."""
    for size in (1e-2, 1e-3, 1e-4):
        J, B = rng.normal(size=(6, 8)), rng.normal(size=(8, 8))
        J[4] = J[0] - 2.0 * J[2] + size * rng.normal(size=8)
        W = B @ B.T + np.eye(8)
        rows = task_space.orthogonal_rows(Matrix(J.tolist()), Matrix(W.tolist()))
        with mpmath.workdps(50):
            over = mpmath.matrix(J.tolist()) * mpmath.matrix(W.tolist())
            inverse = (over * mpmath.matrix(J.tolist()).T) ** -1
            exact = [np.array(x.tolist(), dtype=float) for x in (inverse, inverse * over)]
        found = [np.array(rows.inverse()), np.array([rows.lower_solved(column) for column in rows.Z.T]).T]
        condition = np.sqrt(np.linalg.cond(J @ W @ J.T))
        assert condition > 1e2
        for x, y in zip(found, exact, strict=True):
            assert np.abs(x - y).max() < 1e-14 * condition * np.abs(y).max()


def test_the_base_is_a_frame_like_others(rng: np.random.Generator) -> None:
    """The arm turns its base as it is told."""
    robot = fc.load("spacearm", gravity=(0, 0, 0))
    q, nu = robot.random_configuration(rng), robot.random_velocity(rng)
    a = rng.normal(size=6)
    tau = robot.task_space_torque(q, nu, a, np.zeros(robot.n), "base")
    assert np.allclose(robot.forward_dynamics(q, nu, np.concatenate([np.zeros(6), tau]))[:6], a, atol=1e-7)


def test_batches(rng: np.random.Generator) -> None:
    robot = fc.load("spacearm")
    Q = np.array([robot.random_configuration(rng) for _ in range(5)])
    V, a, tau0 = rng.normal(size=(5, robot.nv)), rng.normal(size=6), rng.normal(size=(5, robot.n))
    all_at_once = robot.task_space_dynamics(Q, V, "hand")
    torques = robot.task_space_torque(Q, V, a, tau0, "hand")
    for k in range(5):
        close(torques[k], robot.task_space_torque(Q[k], V[k], a, tau0[k], "hand"))
        for x, y in zip(all_at_once, robot.task_space_dynamics(Q[k], V[k], "hand"), strict=True):
            close(x[k], y, 1e-10)


def test_errors() -> None:
    fixed, robot = fc.load("spacearm", floating=False), fc.load("spacearm")
    with pytest.raises(fc.InputError, match="floating base"):
        fixed.task_space_dynamics(fixed.neutral(), np.zeros(fixed.nv), "hand")
    with pytest.raises(fc.FrameError, match="hand"):
        robot.task_space_dynamics(robot.neutral(), np.zeros(robot.nv), "hnad")
    with pytest.raises(fc.InputError, match="tau0"):
        robot.task_space_torque(robot.neutral(), np.zeros(robot.nv), np.zeros(6), np.zeros(robot.nv), "hand")
