"""Simulation to a tolerance: conserved quantities, another integrator, closed forms, and the order of the method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import fallingcat as fc
from fallingcat.control import simulate as method
from fallingcat.control.rollout import start
from robots import every_joint
from trees import Array


def states(robot: fc.Robot, shape: tuple[int, ...], size: float = 0.3, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return robot.integrate(robot.neutral(), size * rng.normal(size=(*shape, robot.nv))), rng.normal(size=(*shape, robot.nv))


def arm() -> fc.Robot:
    return fc.load("spacearm", floating=False)


def test_the_coefficients_are_those_of_a_method_of_fifth_order() -> None:
    """Nodes are sums of rows; quadrature conditions of both steps of the pair, to fifth and to fourth order."""
    nodes = np.array([0.0, *method.NODES])
    for node, row in zip(method.NODES, method.STAGES, strict=True):
        assert abs(sum(row) - node) < 1e-14
    fifth = np.array([*method.STAGES[-1], 0.0])
    fourth = fifth - np.array(method.ERROR)
    for power in range(5):
        assert abs(fifth @ nodes**power - 1 / (power + 1)) < 1e-14
        if power < 4:
            assert abs(fourth @ nodes**power - 1 / (power + 1)) < 1e-14
    assert abs(fourth @ nodes**4 - 1 / 5) > 1e-4


@pytest.mark.parametrize("floating", [True, False])
def test_order_of_convergence(floating: bool) -> None:
    """Steps of a fixed length, on joints of every type: half the length, a 32nd of the error."""
    robot = every_joint(floating)
    q, nu = states(robot, ())
    nu, span = 0.3 * nu, 0.08
    flow = method._Flow(robot, start(robot, "simulate", q, nu, 1.0, None), None, 0.0, 1e-9)

    def march(steps: int) -> method.Point:
        x = flow.begin()
        for k in range(steps):
            x, _ = flow._attempt(x, span / steps, (k + 1) * span / steps)
        return x

    exact = march(64)
    errors = []
    for steps in (2, 4, 8):
        x = march(steps)
        errors.append(np.abs(robot.state_minus(exact.q, exact.nu, x.q, x.nu)).max())
    slopes = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert slopes[-1] > 4.7, (errors, slopes)


def test_free_flight_of_the_cat() -> None:
    """No torques: energy stays, and so does the momentum but for the weight, whose impulse is known."""
    robot = fc.load("cat")
    q, nu = states(robot, (3,))
    t = np.linspace(0.0, 1.0, 6)
    traj = robot.simulate(q, nu, t)
    energy = robot.kinetic_energy(traj.q, traj.nu) + robot.potential_energy(traj.q)
    assert np.abs(energy - energy[:, :1]).max() < 1e-9 * np.abs(energy).max()
    h = robot.centroidal_momentum(traj.q, traj.nu)
    weight = robot.mass * np.outer(t, robot.gravity)
    assert np.abs(h[..., :3] - h[:, :1, :3] - weight).max() < 1e-9
    assert np.abs(h[..., 3:] - h[:, :1, 3:]).max() < 1e-9
    still = fc.load("cat", gravity=(0.0, 0.0, 0.0))
    traj = still.simulate(q, nu, t)
    p = still.momentum_map(traj.q, traj.nu)
    assert np.abs(p - p[:, :1]).max() < 1e-9


def test_tolerances_are_kept() -> None:
    """A tighter tolerance comes nearer to the tightest, by about as much."""
    robot = fc.load("cat", gravity=(0.0, 0.0, 0.0))
    q, nu = states(robot, ())
    exact = robot.simulate(q, nu, [0.0, 0.5], rtol=1e-13)
    errors = []
    for rtol in (1e-4, 1e-7, 1e-10):
        found = robot.simulate(q, nu, [0.0, 0.5], rtol=rtol)
        errors.append(np.abs(robot.state_minus(exact.q[-1], exact.nu[-1], found.q[-1], found.nu[-1])).max())
        assert errors[-1] < 10.0 * rtol * (1.0 + np.abs(exact.nu).max())
    assert errors[0] > 30.0 * errors[1] > 900.0 * errors[2]


def test_against_scipy_on_a_fixed_arm() -> None:
    """An integrator of eighth order in minimal coordinates, under a controller that depends on all of its arguments."""
    robot = arm()
    q, nu = states(robot, ())
    stiff = np.linspace(3.0, 1.0, robot.n)

    def controller(q: Array, nu: Array, t: float) -> Array:
        return -stiff * q - 0.5 * nu + 0.3 * np.sin(5.0 * t)

    def rate(t: float, x: Array) -> Array:
        a = robot.forward_dynamics(x[: robot.n], x[robot.n :], controller(x[: robot.n], x[robot.n :], t))
        return np.concatenate([x[robot.n :], a])

    t = np.array([0.0, 0.1, 0.35, 1.0])
    there = scipy.integrate.solve_ivp(rate, (0.0, 1.0), np.concatenate([q, nu]), "DOP853", t, rtol=1e-12, atol=1e-13).y.T
    traj = robot.simulate(q, nu, t, controller, rtol=1e-10)
    assert np.abs(np.concatenate([traj.q, traj.nu], axis=1) - there).max() < 1e-8
    last = controller(traj.q[-1], traj.nu[-1], 1.0)
    assert np.abs(traj.dnu[-1] - robot.forward_dynamics(traj.q[-1], traj.nu[-1], last)).max() < 1e-9
    compiled = fc.compile(lambda r, q, nu: -1.0 * q - 0.5 * nu, robot)
    fast = robot.simulate(q, nu, t, compiled)
    assert np.abs(fast.q - robot.simulate(q, nu, t, lambda q, nu, t: -1.0 * q - 0.5 * nu).q).max() < 1e-12


@pytest.mark.parametrize("floating", [True, False])
def test_against_small_steps_on_joints_of_every_type(floating: bool) -> None:
    robot = every_joint(floating)
    q, nu = states(robot, ())
    nu = 0.3 * nu
    push = {robot.frame_names[-1]: np.array([0.3, -0.2, 0.1, 0.02, 0.05, -0.03])}
    fine = robot.rollout(q, nu, np.zeros((2000, robot.nv)), 5e-5, "rk4", every=1000, wrenches=push)
    traj = robot.simulate(q, nu, fine.t, rtol=1e-11, wrenches=push)
    error = robot.state_minus(fine.q, fine.nu, traj.q, traj.nu)
    assert np.abs(error).max() < 1e-8 * (1.0 + np.abs(fine.nu).max())


def test_a_symmetric_top_turns_many_times() -> None:
    """A closed form (Euler): spinning fast about the axis of symmetry, in steps that its turns limit."""
    builder = fc.Builder("top")
    builder.link("top", mass=1.0, inertia=(0.2, 0.0, 0.0, 0.2, 0.0, 0.3))
    robot = fc.load(builder, gravity=(0.0, 0.0, 0.0))
    nu = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 20.0])
    traj = robot.simulate(robot.neutral(), nu, [0.0, 1.0, 3.0])
    rate = (0.3 - 0.2) / 0.2 * 20.0
    for t, w in zip(traj.t, traj.nu[:, 3:], strict=True):
        assert np.abs(w - [np.cos(rate * t), np.sin(rate * t), 20.0]).max() < 1e-7
    spin = robot.simulate(robot.neutral(), [0.0, 0.0, 0.0, 0.0, 0.0, 20.0], [0.0, 3.0])
    assert abs(abs(spin.q[-1, 6]) - abs(np.cos(30.0))) < 1e-10


def test_times_and_shapes() -> None:
    robot = arm()
    q, nu = states(robot, (2, 3))
    traj = robot.simulate(q, nu, np.array([1.0, 1.1, 1.5]))
    assert traj.q.shape == (2, 3, 3, robot.nq)
    assert np.array_equal(traj.t, [1.0, 1.1, 1.5])
    assert np.array_equal(traj.q[..., 0, :], q)
    alone = robot.simulate(q[1, 2], nu[1, 2], [0.0, 0.1, 0.5])
    assert np.abs(traj.q[1, 2] - alone.q).max() < 1e-8
    steps = robot.simulate(q[0, 0], nu[0, 0], 0.5)
    assert steps.t[0] == 0.0
    assert steps.t[-1] == 0.5
    assert len(steps) > 5
    again = robot.simulate(q[0, 0], nu[0, 0], steps.t)
    assert np.abs(again.q - steps.q).max() < 1e-8


def test_bad_arguments_are_refused() -> None:
    robot = arm()
    q, nu = states(robot, ())
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((q, nu, -1.0), {}, "times do not increase"),
        ((q, nu, [0.0, 0.2, 0.1]), {}, "times do not increase"),
        ((q, nu, 1.0), {"rtol": 0.0}, "rtol does not fit"),
        ((q, nu, 1.0), {"rtol": "tight"}, "rtol does not fit"),
        ((q, nu, 1.0, 3.0), {}, "cannot be called"),
        ((q, nu, 1.0, lambda q, nu, t: q[:3]), {}, "torques have the wrong shape"),
        ((q[:3], nu, 1.0), {}, "q has the wrong shape"),
        ((np.full(robot.nq, np.nan), nu, 1.0), {}, "not finite|cannot go on"),
    ]
    for arguments, options, words in cases:
        with pytest.raises(fc.FallingCatError, match=words):
            robot.simulate(*arguments, **options)


def test_what_cannot_be_followed_is_refused() -> None:
    """Torques that grow without bound within the time."""
    robot = arm()
    q, nu = states(robot, ())
    with pytest.raises(fc.FallingCatError, match=r"cannot go on at 0\.[45]"):
        robot.simulate(q, nu, 1.0, lambda q, nu, t: np.full(robot.n, 1.0 / (0.5 - t) if t < 0.5 else np.nan))
