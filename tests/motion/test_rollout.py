"""Rollouts: the same bits as a loop of steps, for one robot and many, open loop and fed back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control.march import METHODS
from robots import every_joint
from trees import Array

DT = 1e-3
SHAPES = ((), (5,), (2, 3))


def states(robot: fc.Robot, shape: tuple[int, ...], seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return robot.integrate(robot.neutral(), rng.normal(size=(*shape, robot.nv))), 0.5 * rng.normal(size=(*shape, robot.nv))


def forces(robot: fc.Robot, controls: Array) -> Array:
    """Generalized forces of joint torques."""
    return np.concatenate([np.zeros((*controls.shape[:-1], robot.nv - robot.n)), controls], axis=-1)


def loop(robot: fc.Robot, q: Array, nu: Array, controls: Array, method: str, **options: Any) -> tuple[Array, Array]:
    """States of a loop over `robot.step`, the first one included: (..., steps + 1, nq), (..., steps + 1, nv)."""
    Q, V = [q], [nu]
    for k in range(controls.shape[-2]):
        q, nu = robot.step(q, nu, controls[..., k, :], DT, method, **options)
        Q.append(q)
        V.append(nu)
    return np.stack(Q, axis=-2), np.stack(V, axis=-2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("floating", [True, False])
def test_the_bits_of_a_loop_of_steps(method: str, shape: tuple[int, ...], floating: bool) -> None:
    """Joints of every type; all states, and every third; accelerations are those of the forward dynamics in the states."""
    robot = every_joint(floating)
    q, nu = states(robot, shape)
    controls = np.random.default_rng(1).normal(size=(*shape, 7, robot.nv))
    Q, V = loop(robot, q, nu, controls, method)
    for every in (1, 3, 7):
        traj = robot.rollout(q, nu, controls, DT, method, every=every)
        kept = slice(0, None, every)
        assert traj.q.shape == (*shape, 7 // every + 1, robot.nq)
        assert np.array_equal(traj.t, DT * (every * np.arange(7 // every + 1)))
        assert np.array_equal(traj.q, Q[..., kept, :])
        assert np.array_equal(traj.nu, V[..., kept, :])
        held = np.concatenate([controls, controls[..., -1:, :]], axis=-2)[..., kept, :]
        assert np.array_equal(traj.dnu, robot.forward_dynamics(traj.q, traj.nu, held))


@pytest.mark.parametrize("method", METHODS)
def test_a_robot_alone_and_among_others(method: str) -> None:
    """One of many robots moves to the same bits by itself; states, controls and wrenches broadcast against each other."""
    robot = fc.load("humanoid")
    q, nu = states(robot, (6,))
    controls = np.random.default_rng(1).normal(size=(6, 5, robot.n))
    hand = robot.frame_names[-1]
    push = {hand: np.random.default_rng(2).normal(size=(6, 6))}
    many = robot.rollout(q, nu, controls, DT, method, wrenches=push)
    for k in range(6):
        alone = robot.rollout(q[k], nu[k], controls[k], DT, method, wrenches={hand: push[hand][k]})
        assert np.array_equal(many.q[k], alone.q)
        assert np.array_equal(many.nu[k], alone.nu)
        assert np.array_equal(many.dnu[k], alone.dnu)
    Q, V = loop(robot, q, nu, controls, method, wrenches=push)
    assert np.array_equal(many.q, Q)
    assert np.array_equal(many.nu, V)
    same = robot.rollout(q[0], nu, controls[0], DT, method, wrenches={hand: push[hand][0]})
    assert same.q.shape == (6, 6, robot.nq)
    assert np.array_equal(same.q[3], robot.rollout(q[0], nu[3], controls[0], DT, method, wrenches={hand: push[hand][0]}).q)


def test_steps_in_place_are_the_methods_with_derivatives() -> None:
    """`discretize` differentiates the methods over symbols; the steps of numbers are the same functions."""
    robot = every_joint()
    q, nu = states(robot, ())
    tau = np.random.default_rng(1).normal(size=robot.nv)
    for method in METHODS:
        traced = fc.compile(lambda r, q, nu, tau, m=method: np.concatenate(r.step(q, nu, tau, 0.01, m)), robot)
        there = np.concatenate(robot.step(q, nu, tau, 0.01, method))
        assert np.abs(traced(q, nu, tau) - there).max() < 1e-13 * np.abs(there).max()


def test_inputs_of_the_robot() -> None:
    """m inputs, as in `step`: thrusters that turn with their frames."""
    robot = fc.load("spacearm").with_actuation([fc.thruster("hand", (1.0, 0.0, 0.0)), "joint1", fc.wrench_input("base")])
    q, nu = states(robot, (3,))
    u = np.random.default_rng(1).normal(size=(3, 4, robot.m))
    traj = robot.rollout(q, nu, u, DT, "rk4")
    Q, V = loop(robot, q, nu, u, "rk4")
    assert np.array_equal(traj.q, Q)
    assert np.array_equal(traj.nu, V)
    fed = robot.rollout(q, nu, lambda q, nu, t: u[..., round(t / DT) if t < 3.5 * DT else 3, :], DT, "rk4", steps=4)
    assert np.array_equal(fed.q, Q)
    assert np.array_equal(fed.dnu, traj.dnu)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("every", [1, 2])
def test_feedback(shape: tuple[int, ...], every: int) -> None:
    """A Python function, the same compiled, and a loop by hand; also with the time among its arguments."""
    robot = fc.load("cat")
    q, nu = states(robot, shape)
    free = robot.nq - robot.n

    def spring(q: Array, nu: Array, t: float) -> Array:
        return -0.02 * q[..., free:] - 1e-4 * nu[..., 6:] + 0.01 * t

    compiled = fc.compile(lambda r, q, nu, t: -0.02 * q[free:] - 1e-4 * nu[6:] + 0.01 * t[0], robot, t=1)
    Q, V, a, b = [q], [nu], q, nu
    for k in range(6):
        a, b = robot.step(a, b, spring(a, b, k * DT), DT)
        Q.append(a)
        V.append(b)
    traj = robot.rollout(q, nu, spring, DT, steps=6, every=every)
    assert np.array_equal(traj.q, np.stack(Q, axis=-2)[..., ::every, :])
    assert np.array_equal(traj.nu, np.stack(V, axis=-2)[..., ::every, :])
    last = forces(robot, spring(a, b, 6 * DT))
    assert np.array_equal(traj.dnu[..., -1, :], robot.forward_dynamics(a, b, last))
    fast = robot.rollout(q, nu, compiled, DT, steps=6, every=every)
    assert np.abs(fast.q - traj.q).max() < 1e-14
    assert np.abs(fast.dnu - traj.dnu).max() < 1e-10
    still = robot.rollout(q, nu, fc.compile(lambda r, nu: -1e-4 * nu[6:], robot), DT, steps=2)
    assert np.array_equal(still.q, robot.rollout(q, nu, lambda q, nu, t: -1e-4 * nu[..., 6:], DT, steps=2).q)


def test_a_feedback_may_not_write_to_the_state() -> None:
    robot = fc.load("cat")

    def spoils(q: Array, nu: Array, t: float) -> Array:
        nu[...] = 0.0
        return np.zeros(robot.n)

    with pytest.raises(ValueError, match="read-only"):
        robot.rollout(*states(robot, ()), spoils, DT, steps=3)


def test_energy_of_a_passive_motion() -> None:
    """A witness without steps: without torques, energy and momentum stay."""
    robot = fc.load("cat", gravity=(0.0, 0.0, 0.0))
    q, nu = states(robot, (2,))
    traj = robot.rollout(q, nu, np.zeros((200, robot.n)), DT, "rk4", every=50)
    energy, momentum = robot.kinetic_energy(traj.q, traj.nu), robot.momentum_map(traj.q, traj.nu)
    assert np.abs(energy / energy[:, :1] - 1.0).max() < 1e-7
    assert np.abs(momentum - momentum[:, :1]).max() < 1e-7


def test_trajectories_of_many_robots(tmp_path: Path) -> None:
    """They are cut, resampled, saved and loaded; a table holds one motion and says so."""
    robot = fc.load("cat")
    traj = robot.rollout(*states(robot, (2, 3)), np.zeros((10, robot.n)), DT, "rk4")
    again = fc.Trajectory.load(robot, traj.save(tmp_path / "many.npz"))
    assert np.array_equal(again.q, traj.q)
    assert np.array_equal(again.dnu, traj.dnu)
    assert np.array_equal(again.t, traj.t)
    fine = traj.resample(np.linspace(0.0, traj.t[-1], 21))
    assert np.array_equal(fine.q[..., ::2, :].shape, traj.q.shape)
    alone = fc.Trajectory(robot, traj.t, traj.q[1, 2], traj.nu[1, 2], traj.dnu[1, 2]).resample(fine.t)
    assert np.abs(alone.q - fine.q[1, 2]).max() < 1e-14
    between = robot.rollout(traj.q[..., 0, :], traj.nu[..., 0, :], np.zeros((20, robot.n)), DT / 2, "rk4")
    assert np.abs(robot.difference(between.q, fine.q)).max() < 1e-9  # the spline goes where steps of half the length go
    assert traj[2:5].q.shape == (2, 3, 3, robot.nq)
    assert traj.between(0.0015, 0.0085).q.shape == (2, 3, 9, robot.nq)
    assert traj.holonomy.shape == (2, 3, 4, 4)
    for ending in ("csv", "parquet"):
        with pytest.raises(fc.InputError, match="holds one motion"):
            traj.save(tmp_path / f"many.{ending}")


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


def test_bad_arguments_are_refused() -> None:
    robot = fc.load("cat")
    q, nu = states(robot, ())
    u = np.zeros((5, robot.n))
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((q, nu, u[0], DT), {}, "controls have the wrong shape"),
        ((q, nu, np.zeros((5, 3)), DT), {}, "torques have the wrong shape"),
        ((q, nu, np.full((5, robot.n), "x"), DT), {}, "real numbers"),
        ((q, nu, u, 0.0), {}, "dt is not a time"),
        ((q, nu, u, [DT, DT]), {}, "dt is not a time"),
        ((q, nu, u, np.nan), {}, "dt is not a time"),
        ((q, nu, u, DT, "midpoints"), {}, "method"),
        ((q, nu, u, DT), {"every": 0}, "every is not a number of steps"),
        ((q, nu, u, DT), {"every": 6}, "no state would be kept"),
        ((q, nu, u, DT), {"steps": 6}, "fewer controls than steps"),
        ((q, nu, lambda q, nu, t: u[0], DT), {}, "does not say how many steps"),
        ((q, nu, lambda q, nu, t: u[0], DT), {"steps": 2.5}, "steps is not a number"),
        ((q, nu, lambda q, nu, t: "torque", DT), {"steps": 2}, "feedback returns does not fit"),
        ((q, nu, lambda q, nu, t: u[0, :4], DT), {"steps": 2}, "torques have the wrong shape"),
        ((q, nu, lambda q, nu, t: u[0, : robot.n if t == 0.0 else 4], DT), {"steps": 2}, "feedback returns does not fit"),
        ((q, nu, fc.compile(lambda r, q, x: q[7:], robot, x=3), DT), {"steps": 2}, "something else than the state"),
        ((q, nu, fc.compile(lambda r, q: q[0], robot), DT), {"steps": 2}, "returns no vector"),
        ((q, nu[:-1], u, DT), {}, "nu has the wrong shape"),
        ((2.0 * q + 1.0, nu, u, DT), {}, "unit length"),
        ((np.stack([q, q]), nu, np.zeros((3, 5, robot.n)), DT), {}, "do not fit together"),
        ((q, nu, np.full((5, robot.n), np.nan), DT), {}, "not finite from 0.001 s on|not finite from 0 s on"),
    ]
    for arguments, options, words in cases:
        with pytest.raises(fc.InputError, match=words):
            robot.rollout(*arguments, **options)


def test_motions_cannot_be_traced() -> None:
    robot = fc.load("cat")
    with pytest.raises(fc.TraceError, match=r"a loop over step"):
        fc.compile(lambda r, q, nu: r.rollout(q, nu, np.zeros((3, r.n)), DT).q[-1], robot)
    with pytest.raises(fc.TraceError, match="steps depend on numbers"):
        fc.compile(lambda r, q, nu: r.simulate(q, nu, 0.1).q[-1], robot)


def test_a_motion_that_explodes_says_when_and_whose() -> None:
    robot = fc.load("cat")
    q, nu = states(robot, (3,))
    controls = np.zeros((3, 5, robot.n))
    controls[1, 2] = np.nan
    with pytest.raises(fc.InputError, match=r"not finite from 0.002 s on, of 1 robots of 3, first of \[1\]"):
        robot.rollout(q, nu, controls, DT)


def test_wrenches_over_time_are_not_taken_for_robots() -> None:
    robot = fc.load("spacearm")
    q, nu = states(robot, ())
    over_time = {"hand": np.zeros((4, 6))}
    with pytest.raises(fc.InputError, match=r"rollout: wrenches have more axes.*\(6,\).*step in a loop"):
        robot.rollout(q, nu, np.zeros((4, robot.n)), DT, wrenches=over_time)
    with pytest.raises(fc.InputError, match="simulate: wrenches have more axes"):
        robot.simulate(q, nu, DT, wrenches=over_time)
    assert robot.rollout(q, nu, np.zeros((4, 3, robot.n)), DT, wrenches=over_time).q.shape == (4, 4, robot.nq)
