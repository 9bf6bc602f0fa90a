"""Linear-quadratic regulators against scipy's solvers, which use another method (Schur), and by what makes them optimal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import fallingcat as fc
from trees import Array

SOLVERS: dict[str, tuple[Any, Any]] = {
    "lqr": (fc.lqr, scipy.linalg.solve_continuous_are), "dlqr": (fc.dlqr, scipy.linalg.solve_discrete_are),
}  # fmt: skip


def relative(a: Array, b: Array) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


def system(name: str, robot: fc.Robot, q: Array, tau: Array) -> tuple[Array, Array]:
    nu = np.zeros(robot.nv)
    return robot.linearize(q, nu, tau) if name == "lqr" else robot.discretize(q, nu, tau, 0.01)


def drone() -> fc.Robot:
    b = fc.Builder("drone")
    b.link("body", mass=1.0, inertia=(0.02, 0.0, 0.0, 0.02, 0.0, 0.03))
    b.link("arm", mass=0.2, com=(0.0, 0.0, -0.1), inertia=(1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-4))
    b.joint("hinge", "revolute", "body", "arm", axis=(0, 1, 0))
    for k, (x, y) in enumerate(((0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2))):
        b.link(f"rotor{k}", mass=0.05, inertia=(1e-5, 0.0, 0.0, 1e-5, 0.0, 1e-5))
        b.joint(f"mount{k}", "fixed", "body", f"rotor{k}", xyz=(x, y, 0))
    rotors = [fc.thruster(f"rotor{k}", (0, 0, 1), moment_ratio=0.02 * (-1) ** k) for k in range(4)]
    return fc.load(b).with_actuation([*rotors, "hinge"])


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("which", ["humanoid", "cat", "spacearm", "quadruped"])
def test_robots(name: str, which: str) -> None:
    """Robots with a fixed base in a random posture, held against gravity: unstable ones among them."""
    ours, theirs = SOLVERS[name]
    robot = fc.load(which, floating=False)
    q = robot.random_configuration(0)
    A, B = system(name, robot, q, robot.gravity_torque(q))
    Q, R = np.eye(2 * robot.nv), np.diag(np.linspace(0.5, 2.0, robot.m))
    K, P = ours(A, B, Q, R)
    wanted = theirs(A, B, Q, R)
    assert relative(P, wanted) < 1e-10
    gain = np.linalg.solve(R, B.T @ wanted)
    if name == "dlqr":
        gain = np.linalg.solve(R + B.T @ wanted @ B, B.T @ wanted @ A)
    assert relative(K, gain) < 1e-9


@pytest.mark.parametrize("name", SOLVERS)
def test_a_drone(name: str) -> None:
    """A free base with rotors."""
    ours, theirs = SOLVERS[name]
    robot = drone()
    q = robot.neutral()
    trim = np.linalg.lstsq(robot.actuation, robot.gravity_torque(q), rcond=None)[0]
    A, B = system(name, robot, q, trim)
    Q, R = np.eye(2 * robot.nv), np.eye(robot.m)
    K, P = ours(A, B, Q, R)
    assert relative(P, theirs(A, B, Q, R)) < 1e-10
    modes = np.linalg.eigvals(A - B @ K)
    assert (modes.real.max() < 0.0) if name == "lqr" else (np.abs(modes).max() < 1.0)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("seed", range(5))
def test_random_systems_in_batches(name: str, seed: int) -> None:
    """Leading axes of all arguments broadcast; every system alone gives the same."""
    ours, theirs = SOLVERS[name]
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(3, 1, 6, 6)), rng.normal(size=(4, 6, 2))
    C, D = rng.normal(size=(6, 6)), rng.normal(size=(3, 1, 2, 2))
    Q, R = C @ C.T, D @ np.swapaxes(D, -1, -2) + 0.1 * np.eye(2)
    K, P = ours(A, B, Q, R)
    assert K.shape == (3, 4, 2, 6)
    assert P.shape == (3, 4, 6, 6)
    for i in range(3):
        for j in range(4):
            assert relative(P[i, j], theirs(A[i, 0], B[j], Q, R[i, 0])) < 1e-9
            assert relative(P[i, j], ours(A[i, 0], B[j], Q, R[i, 0]).P) < 1e-11


def test_no_other_gain_is_cheaper() -> None:
    """A witness without an equation of Riccati: the cost of a gain by simulation is least at K, and z^T P z there."""
    A, B = np.array([[1.1, 0.3], [0.0, 0.9]]), np.array([[0.0], [1.0]])
    Q, R = np.diag([1.0, 0.5]), np.array([[0.2]])
    K, P = fc.dlqr(A, B, Q, R)
    start = np.array([1.0, -0.5])

    def cost(gain: Array) -> float:
        z, total = start, 0.0
        for _ in range(2000):
            u = -gain @ z
            total += z @ Q @ z + u @ R @ u
            z = A @ z + B @ u
        return float(total)

    assert abs(cost(K) - start @ P @ start) < 1e-12
    for change in np.random.default_rng(0).normal(size=(20, 1, 2)):
        assert cost(K + 1e-3 * change) > cost(K)


def test_double_integrator() -> None:
    """A closed form: K = (1, sqrt(3)) for unit weights."""
    K, P = fc.lqr([[0, 1], [0, 0]], [[0], [1]], np.eye(2), [[1]])
    assert np.abs(K - [[1.0, np.sqrt(3.0)]]).max() < 1e-14
    assert np.abs(P - [[np.sqrt(3.0), 1.0], [1.0, np.sqrt(3.0)]]).max() < 1e-14


def test_what_has_no_regulator_is_refused() -> None:
    one, two = np.eye(1), np.eye(2)
    A = np.diag([1.0, -2.0])
    reached = np.array([[1.0], [0.0]])
    for solve, grows in ((fc.lqr, A), (fc.dlqr, np.diag([1.5, 0.5]))):
        assert np.isfinite(solve(grows, reached, two, one).K).all()
        with pytest.raises(fc.InputError, match="not stabilizable"):
            solve(grows, reached[::-1], two, one)
        with pytest.raises(fc.InputError, match=r"at \[1\] is not stabilizable"):
            solve(grows, np.stack([reached, reached[::-1]]), two, one)
    with pytest.raises(fc.InputError, match="costs nothing"):
        fc.lqr(np.array([[0.0, 1.0], [-1.0, 0.0]]), reached, np.zeros((2, 2)), one)
    robot = fc.load("humanoid")
    still = np.zeros(robot.nv)
    with pytest.raises(fc.InputError, match="not stabilizable"):  # nothing to hold on to
        fc.lqr(*robot.linearize(robot.neutral(), still, still), np.eye(2 * robot.nv), np.eye(robot.m))


def test_bad_arguments_are_refused() -> None:
    A, B, Q, R = np.diag([1.0, 2.0]), np.ones((2, 1)), np.eye(2), np.eye(1)
    cases: list[tuple[tuple[Any, ...], str]] = [
        ((A[0], B, Q, R), "A is not a matrix"),
        (("A", B, Q, R), "A does not hold real numbers"),
        ((1j * A, B, Q, R), "A does not hold real numbers"),
        ((A[:1], B, Q, R), "A has the wrong shape"),
        ((A, B.T, Q, R), "B has the wrong shape"),
        ((A, B, np.eye(3), R), "Q has the wrong shape"),
        ((A, B, Q, np.eye(2)), "R has the wrong shape"),
        ((A, B, Q, np.zeros((1, 1))), "R is not positive definite"),
        ((A, B, Q, -R), "R is not positive definite"),
        ((A, B, -Q, R), "Q is not positive semidefinite"),
        ((A, B, [[1.0, 0.5], [0.0, 1.0]], R), "Q is not symmetric"),
        ((np.nan * A, B, Q, R), "A is not finite"),
        ((np.stack([A, A]), np.stack([B, B, B]), Q, R), "do not fit together"),
    ]
    for solve in (fc.lqr, fc.dlqr):
        for arguments, words in cases:
            with pytest.raises(fc.InputError, match=words):
                solve(*arguments)
