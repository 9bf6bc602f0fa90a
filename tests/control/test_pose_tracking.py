"""Feedback that leads a frame to a pose: the error's equation of motion, its Lyapunov function, and a hand that floats."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import fallingcat as fc

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def robot() -> fc.Robot:
    return fc.load("spacearm", gravity=(0, 0, 0))


def base(robot: fc.Robot, H: Array) -> Array:
    return robot.configuration(H, np.zeros(robot.n))


def test_the_equation_of_the_error(robot: fc.Robot, rng: np.random.Generator) -> None:
    """By differences along both motions: V_e is the twist of E = H_d^-1 H, and with the law dV_e/dt = -2 k V_e - k^2 g.

    H and H_d move with given body-fixed twists and accelerations; nothing of the dynamics takes part.
    """
    rates, h = rng.uniform(1.0, 3.0, size=6), 1e-5
    q, nu = robot.random_configuration(rng), robot.random_velocity(rng)
    H, V = robot.frame_pose(q, "hand"), robot.frame_velocity(q, nu, "hand")
    H_d = H @ robot.split(robot.integrate(robot.neutral(), np.concatenate([rng.normal(size=6), np.zeros(robot.n)])))[0]
    V_d, a_d = rng.normal(size=(2, 6))
    a = fc.track_pose(robot, q, nu, "hand", H_d, rates, V_d, a_d)

    def moved(pose: Array, twist: Array, rate: Array, t: float) -> Array:
        step = t * twist + 0.5 * t**2 * rate
        return robot.split(robot.integrate(base(robot, pose), np.concatenate([step, np.zeros(robot.n)])))[0]

    def apart(t: float) -> tuple[Array, Array]:
        """E, and its twist from the twists of both."""
        E = np.linalg.solve(moved(H_d, V_d, a_d, t), moved(H, V, a, t))
        R, o = E[:3, :3], E[:3, 3]
        x = V_d + t * a_d  # Ad(E^-1) x
        return E, V + t * a - np.concatenate([R.T @ (x[:3] + np.cross(x[3:], o)), R.T @ x[3:]])

    def energy(t: float) -> float:
        E, V_e = apart(t)
        e = robot.difference(robot.neutral(), base(robot, E))[:6]
        return 0.5 * float(V_e @ V_e + (rates * e) @ (rates * e))

    (before, _), (_, V_e), (after, _) = apart(-h), apart(0.0), apart(h)
    twist = robot.difference(base(robot, before), base(robot, after))[:6] / (2.0 * h)
    assert np.allclose(twist, V_e, atol=1e-7)
    assert (energy(h) - energy(-h)) / (2.0 * h) == pytest.approx(-2.0 * V_e @ (rates * V_e), rel=1e-6)


def test_on_the_pose(robot: fc.Robot, rng: np.random.Generator) -> None:
    """A frame that is where it should be, and moves as it should, accelerates as it should."""
    q, nu = robot.random_configuration(rng), robot.random_velocity(rng)
    H, V, a = robot.frame_pose(q, "hand"), robot.frame_velocity(q, nu, "hand"), rng.normal(size=6)
    assert np.allclose(fc.track_pose(robot, q, nu, "hand", H, 3.0, V, a), a, atol=1e-7)
    assert np.allclose(fc.track_pose(robot, q, nu, "hand", H, 3.0), -6.0 * V, atol=1e-7)  # a pose that rests


def test_a_hand_that_floats(robot: fc.Robot) -> None:
    """Tumbling, with torques held over a step: the error falls critically damped, the momentum stays."""
    q, nu = robot.neutral(), np.zeros(robot.nv)
    q[7:], nu[:6] = (-1.0, -1.8, 0.1, 1.6, 1.4, -0.6, -1.2), (0.02, 0.0, -0.01, 0.1, -0.15, 0.1)
    off = robot.integrate(robot.neutral(), [0.02, 0.02, 0.03, 0.2, 0.0, 0.1, *np.zeros(robot.n)])
    target, k, dt, errors = robot.frame_pose(q, "hand") @ robot.split(off)[0], 4.0, 0.002, []
    momentum = robot.momentum_map(q, nu)
    start = robot.frame_velocity(q, nu, "hand")
    for _ in range(750):
        errors.append(robot.difference(base(robot, target), base(robot, robot.frame_pose(q, "hand")))[:6])
        a = fc.track_pose(robot, q, nu, "hand", target, k)
        q, nu = robot.step(q, nu, robot.task_space_torque(q, nu, a, -3.0 * robot.shape_inertia(q) @ nu[6:], "hand"), dt, "rk4")
    e, t = np.array(errors), dt * np.arange(750)[:, None]
    expected = (e[0] + t * (start + k * e[0])) * np.exp(-k * t)  # of e'' + 2 k e' + k^2 e = 0, for small e
    assert np.abs(e - expected).max() < 0.02 * np.abs(e[0]).max()
    assert np.abs(e[-1]).max() < 0.03 * np.abs(e[0]).max()
    assert np.abs(robot.momentum_map(q, nu) - momentum).max() < 1e-8


def test_batches(robot: fc.Robot, rng: np.random.Generator) -> None:
    Q = np.array([robot.random_configuration(rng) for _ in range(3)])
    V, H, twist = rng.normal(size=(3, robot.nv)), robot.frame_pose(robot.neutral(), "hand"), rng.normal(size=(3, 6))
    together = fc.track_pose(robot, Q, V, "hand", H, 2.0, twist)
    for k in range(3):
        assert np.allclose(together[k], fc.track_pose(robot, Q[k], V[k], "hand", H, 2.0, twist[k]), atol=1e-12)


def test_errors(robot: fc.Robot) -> None:
    q, nu, H = robot.neutral(), np.zeros(robot.nv), np.eye(4)
    fixed = fc.load("spacearm", floating=False)
    with pytest.raises(fc.InputError, match="floating base"):
        fc.track_pose(fixed, fixed.neutral(), np.zeros(fixed.nv), "hand", H, 1.0)
    for rate in (0.0, [1.0, 2.0], "fast", np.nan):
        with pytest.raises(fc.InputError, match="rate"):
            fc.track_pose(robot, q, nu, "hand", H, rate)  # type: ignore[arg-type]
    with pytest.raises(fc.InputError, match="pose"):
        fc.track_pose(robot, q, nu, "hand", np.eye(3), 1.0)
    with pytest.raises(fc.InputError, match="pose"):
        fc.track_pose(robot, q, nu, "hand", 2.0 * np.eye(4), 1.0)
    with pytest.raises(fc.InputError, match="twist"):
        fc.track_pose(robot, q, nu, "hand", H, 1.0, np.zeros(3))
    with pytest.raises(fc.FrameError):
        fc.track_pose(robot, q, nu, "hnad", H, 1.0)
