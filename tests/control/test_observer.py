"""The observer of the locked velocity: simulated flights, its Lyapunov function, and forces that it is told of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fallingcat as fc

Array = NDArray[np.float64]
Wrench = Callable[[float], Array]

TUMBLE = np.array([0.05, -0.03, 0.02, 0.3, -0.5, 0.4])


def fly(robot: fc.Robot, dt: float, seconds: float, wrench: Wrench | None = None, seed: int = 1) -> tuple[Array, Array]:
    """A tumbling robot that waves its arm, by the full dynamics."""
    q, nu, bent = robot.neutral(), np.zeros(robot.nv), np.random.default_rng(seed).uniform(-1.0, 1.0, size=robot.n)
    q[7:], nu[:6] = bent, TUMBLE
    stiffness, flown = 30.0 * np.diag(robot.shape_inertia(q)), [(q, nu)]
    for t in dt * np.arange(round(seconds / dt)):
        off = q[7:] - bent - 0.6 * (np.sin(1.5 * t + np.arange(robot.n)) - np.sin(np.arange(robot.n)))
        force = np.zeros(6) if wrench is None else wrench(t)
        q, nu = robot.step(q, nu, np.concatenate([force, -stiffness * (off + 0.3 * nu[6:])]), dt, "rk4")
        flown.append((q, nu))
    Q, V = zip(*flown, strict=True)
    return np.array(Q), np.array(V)


def observe(observer: Any, q: Array, nu: Array, dt: float, wrench: Wrench | None = None) -> Array:
    found = [observer.mu]
    for k in range(1, len(q)):
        force = None if wrench is None else wrench(dt * (k - 1))
        found.append(observer.update(q[k], nu[k, 6:], dt, force))
    return np.array(found)


@pytest.fixture(scope="module")
def robot() -> fc.Robot:
    return fc.load("spacearm", gravity=(0, 0, 0))


@pytest.fixture(scope="module")
def flight(robot: fc.Robot) -> tuple[Array, Array]:
    return fly(robot, 0.002, 4.0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_finds_the_locked_velocity(robot: fc.Robot, seed: int) -> None:
    """From rest and a pose that is half a radian and a decimetre off, by six orders of magnitude within seconds."""
    q, nu = fly(robot, 0.002, 4.0, seed=seed)
    observer = fc.LockedVelocityObserver(robot, q[0], nu[0, 6:], rate=12.0)
    observer.pose = robot.integrate(q[0], np.concatenate([[0.1, 0.0, -0.1, 0.0, 0.5, 0.0], np.zeros(robot.n)]))
    mu = robot.locked_velocity(q, nu)
    error = np.linalg.norm(observe(observer, q, nu, 0.002) - mu, axis=1)
    assert error[0] > 0.5
    assert error[-1] < 2e-6
    assert np.abs(observer.nu - nu[-1]).max() < 5e-6


def test_what_is_left_is_of_second_order(robot: fc.Robot) -> None:
    """Started right, only the prediction errs, and its error falls with the square of the step."""
    left, (fine, speeds) = [], fly(robot, 0.002, 0.8)
    for dt in (0.032, 0.016):
        q, nu = fine[:: round(dt / 0.002)], speeds[:: round(dt / 0.002)]
        mu = robot.locked_velocity(q, nu)
        observer = fc.LockedVelocityObserver(robot, q[0], nu[0, 6:], rate=6.0, mu=mu[0])
        assert np.allclose(observer.mu, mu[0], atol=1e-12)
        left.append(np.abs(observe(observer, q, nu, dt) - mu).max())
    assert left[1] < 1e-4
    assert 3.4 < left[0] / left[1] < 4.6


def test_the_lyapunov_function_falls(robot: fc.Robot, flight: tuple[Array, Array]) -> None:
    """V = k^2 |e|^2 / 2 + <h - h', Q^-1 (h - h')> / 2 never rises while it is above the error of the steps."""
    q, nu = flight
    k = 3.0
    observer = fc.LockedVelocityObserver(robot, q[0], nu[0, 6:], rate=k)
    observer.pose = robot.integrate(q[0], np.concatenate([[0.3, -0.2, 0.1, 0.8, 1.0, -0.6], np.zeros(robot.n)]))
    J = np.linalg.det(robot.centroidal_inertia(q[0])[3:, 3:]) ** (1 / 3)
    Q = np.repeat([robot.mass, J], 3) ** 2
    V = []
    for i in range(len(q)):
        if i:
            observer.update(q[i], nu[i, 6:], 0.002)
        e = robot.difference(observer.pose, np.concatenate([q[i, :7], observer.pose[7:]]))[:6]
        h = robot.centroidal_momentum(q[i], nu[i]) - observer.momentum
        V.append(0.5 * k**2 * e @ e + 0.5 * h @ (h / Q))
    V_ = np.array(V)
    assert (np.diff(V_)[V_[1:] > 1e-6] < 0.0).all()
    assert V_[-1] < 1e-3 * V_[0]


@pytest.mark.parametrize("rate", [1e3, 1e5])
def test_no_rate_is_too_high(robot: fc.Robot, flight: tuple[Array, Array], rate: float) -> None:
    """Then both poles are at zero: the estimate is that of two poses, and errs as a difference does."""
    q, nu = flight
    mu = robot.locked_velocity(q, nu)
    found = observe(fc.LockedVelocityObserver(robot, q[0], nu[0, 6:], rate=rate), q[:500], nu[:500], 0.002)
    assert np.abs(found[20:] - mu[20:500]).max() < 0.02


def push(t: float) -> Array:
    return np.array([2.0, -1.0, 0.5, 0.3, 0.2, -0.4]) if 0.2 <= t < 0.6 else np.zeros(6)


def test_known_forces(robot: fc.Robot) -> None:
    """A wrench on the base that it is told of leaves no mark, gravity neither; one that it is not told of does."""
    q, nu = fly(robot, 0.002, 0.8, push)
    mu = robot.locked_velocity(q, nu)
    told, untold = (
        observe(fc.LockedVelocityObserver(robot, q[0], nu[0, 6:], rate=6.0, mu=mu[0]), q, nu, 0.002, w) for w in (push, None)
    )
    assert np.abs(told - mu).max() < 1e-4
    assert np.abs(untold - mu).max() > 0.02
    falling = fc.load("spacearm", gravity=(1.0, -2.0, -9.0))
    q, nu = fly(falling, 0.002, 0.4)
    mu = falling.locked_velocity(q, nu)
    found = observe(fc.LockedVelocityObserver(falling, q[0], nu[0, 6:], rate=6.0, mu=mu[0]), q, nu, 0.002)
    assert np.abs(found - mu).max() < 1e-4


def test_many_at_once(robot: fc.Robot) -> None:
    flights = [fly(robot, 0.005, 0.5, seed=seed) for seed in (1, 2)]
    q, nu = (np.stack(x, axis=1) for x in zip(*flights, strict=True))
    observer = fc.LockedVelocityObserver(robot, q[0], nu[0, :, 6:], rate=5.0)
    both = np.array([observer.mu, *(observer.update(q[k], nu[k, :, 6:], 0.005) for k in range(1, len(q)))])
    for j, (q1, nu1) in enumerate(flights):
        alone = observe(fc.LockedVelocityObserver(robot, q1[0], nu1[0, 6:], rate=5.0), q1, nu1, 0.005)
        assert np.abs(both[:, j] - alone).max() < 1e-12


def test_errors(robot: fc.Robot) -> None:
    q, r = robot.neutral(), np.zeros(robot.n)
    fixed = fc.load("spacearm", floating=False)
    with pytest.raises(fc.InputError, match="floating base"):
        fc.LockedVelocityObserver(fixed, fixed.neutral(), r, rate=1.0)
    for rate in (0.0, -1.0, np.nan, "fast"):
        with pytest.raises(fc.InputError, match="rate"):
            fc.LockedVelocityObserver(robot, q, r, rate=rate)  # type: ignore[arg-type]
    with pytest.raises(fc.InputError, match=r"r .*7"):
        fc.LockedVelocityObserver(robot, q, np.zeros(robot.nv), rate=1.0)
    observer = fc.LockedVelocityObserver(robot, q, r, rate=1.0)
    for dt in (0.0, -0.1, np.inf):
        with pytest.raises(fc.InputError, match="dt"):
            observer.update(q, r, dt)
    with pytest.raises(fc.InputError, match="wrench"):
        observer.update(q, r, 0.1, np.zeros(3))
    with pytest.raises(fc.InputError, match="q "):
        observer.update(q[:-1], r, 0.1)
    for lost in ((np.full_like(q, np.nan), r), (q, np.full_like(r, np.inf))):
        with pytest.raises(fc.InputError, match="finite numbers"):
            observer.update(*lost, 0.1)
    assert np.array_equal(observer.mu, np.zeros(6))  # nothing happened
