"""The base that follows from the shape: its momentum is as asked for, the dynamics agree, small loops obey the area integral."""

from __future__ import annotations

import numpy as np
import pytest

import fallingcat as fc
from robots import every_joint, rates

T = np.linspace(0.0, 1.0, 31)
MOMENTUM = np.array([3.0, -2.0, 1.0, 0.5, 0.8, -0.6])


def loop(robot: fc.Robot, size: float, t: np.ndarray = T, seed: int = 3) -> np.ndarray:
    """A closed path of shapes without symmetry, through joints of any type."""
    rng = np.random.default_rng(seed)
    first = robot.neutral()
    first[7:] = robot.random_configuration(rng)[7:]
    a, b = size * rng.normal(size=(2, robot.n))
    x = 2.0 * np.pi * t[:, None]
    dx = np.zeros((len(t), robot.nv))
    dx[:, 6:] = a * (np.cos(x) - 1.0) + b * np.sin(x) + 0.5 * (a - b) * np.sin(2.0 * x)
    return robot.integrate(first, dx)[:, 7:]


def start(robot: fc.Robot, shapes: np.ndarray, seed: int = 5) -> np.ndarray:
    q = robot.random_configuration(seed)
    q[7:] = shapes[0]
    return q


@pytest.mark.parametrize("momentum", [0.0, MOMENTUM], ids=["none", "some"])
def test_the_momentum_is_what_was_asked_for(momentum: np.ndarray) -> None:
    robot = every_joint()
    shapes = loop(robot, 0.2)
    traj = robot.reconstruct(start(robot, shapes), shapes, T, momentum)
    found = robot.momentum_map(traj.q, traj.nu)
    np.testing.assert_allclose(found, np.broadcast_to(momentum, found.shape), atol=1e-11 * robot.mass)
    np.testing.assert_array_equal(traj.q[:, 7:], shapes)
    np.testing.assert_array_equal(traj.q[0], start(robot, shapes))


@pytest.mark.parametrize("momentum", [0.0, MOMENTUM], ids=["none", "some"])
def test_the_velocities_are_those_of_the_motion(momentum: np.ndarray) -> None:
    """Along a path known at all times, nu is the derivative of q and dnu that of nu, and no wrench acts on the base."""
    robot = fc.load("spacearm", gravity=(1.0, -2.0, -9.0))
    a, b = np.random.default_rng(2).normal(size=(2, robot.n))

    def path(t: np.ndarray) -> tuple[np.ndarray, ...]:
        t = t[:, None]
        return a * np.sin(2 * t) + b * t, 2 * a * np.cos(2 * t) + b, -4 * a * np.sin(2 * t)

    h = 1e-3
    t = np.arange(401) * h
    q0 = robot.random_configuration(1)
    q0[7:] = 0.0
    traj = robot.reconstruct(q0, path, t, momentum)

    def at(x: np.ndarray) -> np.ndarray:
        return traj.q[np.rint(x / h).astype(int)]

    k = np.array([50, 200, 333])
    np.testing.assert_allclose(traj.nu[k], rates(robot, at, t[k], h), atol=1e-6)
    differences = (8 * (traj.nu[k + 1] - traj.nu[k - 1]) - traj.nu[k + 2] + traj.nu[k - 2]) / (12 * h)
    np.testing.assert_allclose(traj.dnu[k], differences, atol=1e-6)
    weightless = fc.load("spacearm", gravity=(0.0, 0.0, 0.0))
    assert np.abs(weightless.inverse_dynamics(traj.q, traj.nu, traj.dnu)[:, :6]).max() < 1e-9


def test_the_tolerance_is_kept() -> None:
    """Few samples or many of the same smooth path, without and with momentum: the same end."""
    robot = fc.load("spacearm", gravity=(0, 0, 0))
    a = np.random.default_rng(2).normal(size=robot.n)

    def path(t: np.ndarray) -> tuple[np.ndarray, ...]:
        t = t[:, None]
        return a * np.sin(2 * t), 2 * a * np.cos(2 * t), -4 * a * np.sin(2 * t)

    for momentum in (0.0, MOMENTUM):
        few, many = (robot.reconstruct(robot.neutral(), path, np.linspace(0.0, 2.0, k), momentum) for k in (9, 50))
        np.testing.assert_allclose(few.q[-1], many.q[-1], atol=1e-9)


def test_the_motion_is_that_of_the_dynamics() -> None:
    """Torques that make the shape move so, put into the full dynamics, move the base so."""
    robot = fc.load("spacearm", gravity=(0, 0, 0))
    dt = 2e-3
    t = np.arange(251) * dt
    shapes = 0.4 * np.sin(3.0 * t[:, None] + np.arange(robot.n)) - 0.4 * np.sin(np.arange(robot.n))
    traj = robot.reconstruct(robot.neutral(), shapes, t, MOMENTUM)
    middle = traj.resample(t[:-1] + dt / 2)
    tau = robot.inverse_dynamics(middle.q, middle.nu, middle.dnu)
    assert np.abs(tau[:, :6]).max() < 1e-3
    q, nu = traj.q[0], traj.nu[0]
    for k in range(len(tau)):
        q, nu = robot.step(q, nu, tau[k, 6:], dt, "rk4")
    np.testing.assert_allclose(robot.difference(q, traj.q[-1])[:6], np.zeros(6), atol=1e-5)


@pytest.mark.parametrize("name", ["spacearm", "cat", "every joint"])
def test_small_loops_move_the_base_by_the_area_integral(name: str) -> None:
    """Half the size, an eighth of the difference, in all six components; a wrong sign or factor would leave a quarter."""
    robot = every_joint() if name == "every joint" else fc.load(name)
    misses = []
    for size in (0.02, 0.01):
        shapes = loop(robot, size, np.linspace(0.0, 1.0, 81))
        t = np.linspace(0.0, 1.0, 81)
        traj = robot.reconstruct(start(robot, shapes), shapes, t)
        moved = robot.difference(traj.q[0], traj.q[-1])[:6]
        estimate = robot.area_estimate(shapes, t)
        misses.append(np.linalg.norm(moved - estimate))
        assert misses[-1] < 0.3 * np.linalg.norm(moved)
    assert 6.0 < misses[0] / misses[1] < 10.0


def test_holonomy_is_the_pose_of_the_end_seen_from_the_start() -> None:
    """It depends on the path alone: neither on where it starts nor on its pace."""
    robot = fc.load("cat")
    shapes = loop(robot, 0.3)
    first = robot.reconstruct(start(robot, shapes, 5), shapes, T)
    H = robot.split(first.q)[0]
    np.testing.assert_allclose(H[0] @ first.holonomy, H[-1], atol=1e-12)
    slow = robot.reconstruct(start(robot, shapes, 6), shapes, 7.0 * T)
    np.testing.assert_allclose(slow.holonomy, first.holonomy, atol=1e-8)
    assert np.abs(first.holonomy - np.eye(4)).max() > 0.01


def test_what_is_refused() -> None:
    robot = fc.load("spacearm")
    shapes = loop(robot, 0.1)
    q0 = start(robot, shapes)
    fixed = fc.load("spacearm", floating=False)
    with pytest.raises(fc.InputError, match="floating=True"):
        fixed.reconstruct(fixed.neutral(), shapes, T)
    with pytest.raises(fc.InputError, match=r"expected: \(31, 7\)"):
        robot.reconstruct(q0, shapes[:-1], T)
    with pytest.raises(fc.InputError, match="not the first shape"):
        robot.reconstruct(q0 + np.eye(robot.nq)[-1], shapes, T)
    with pytest.raises(fc.InputError, match="momentum does not fit"):
        robot.reconstruct(q0, shapes, T, 1.0)
    with pytest.raises(fc.InputError, match="momentum does not fit"):
        robot.reconstruct(q0, shapes, T, np.zeros(3))
    with pytest.raises(fc.InputError, match="function of shapes"):
        robot.reconstruct(q0, lambda t: (shapes, shapes), T)
    with pytest.raises(fc.InputError, match="not closed"):
        robot.area_estimate(shapes[:20], T[:20])
    with pytest.raises(fc.InputError, match="two times"):
        robot.reconstruct(q0, shapes[:1], T[:1])
    for wrong in ("shapes", [[1.0, 2.0], [3.0]], 1j * shapes, None, lambda t: None, lambda t: ("s", "ds", "dds")):
        for call in (lambda x: robot.reconstruct(q0, x, T), lambda x: robot.area_estimate(x, T)):
            with pytest.raises(fc.InputError, match=r"shapes (does not|is not an array)"):
                call(wrong)
    with pytest.raises(fc.InputError, match="momentum does not hold real numbers"):
        robot.reconstruct(q0, shapes, T, "none")  # type: ignore[arg-type]
    for tolerance in (0.0, -1.0, np.nan, "fine", None):
        with pytest.raises(fc.InputError, match="tolerance does not fit; expected: a positive number"):
            robot.reconstruct(q0, shapes, T, tolerance=tolerance)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["reconstruct", "area_estimate"])
def test_not_inside_a_traced_function(name: str) -> None:
    with pytest.raises(fc.TraceError, match=f"{name} cannot be used inside"):
        fc.compile(lambda r, q: getattr(r, name)(q, T), fc.load("spacearm"))
