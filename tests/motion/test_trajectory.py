"""Trajectories: splines on the group of configurations, against differences and against motions that are known."""

from __future__ import annotations

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.motion import group
from robots import every_joint, rates, wave


@pytest.fixture(scope="module")
def robot() -> fc.Robot:
    return every_joint()


@pytest.fixture(scope="module")
def uneven(robot: fc.Robot) -> fc.Trajectory:
    t = np.linspace(0.0, 2.0, 21) + 0.02 * np.sin(np.arange(21.0))
    return fc.Trajectory.from_samples(robot, t, wave(robot, 1).at(t))


def test_local_rates_undo_velocity(robot: fc.Robot, rng: np.random.Generator) -> None:
    x, dx, ddx = rng.uniform(-1.0, 1.0, size=(3, 7, robot.nv))
    nu, dnu = group.velocity(robot.model, x, dx, ddx)
    for found, given in zip(group.local_rates(robot.model, x, nu, dnu), (dx, ddx), strict=True):
        np.testing.assert_allclose(found, given, atol=1e-12)


def test_velocity_of_local_coordinates_by_differences(robot: fc.Robot, rng: np.random.Generator) -> None:
    """nu and dnu of integrate(q0, x(t)), with turns up to a half, for every type of joint."""
    q0, (a, b, c) = robot.random_configuration(rng), rng.uniform(-0.9, 0.9, size=(3, robot.nv))

    def at(t: np.ndarray) -> np.ndarray:
        return robot.integrate(q0, a + t[..., None] * b + t[..., None] ** 2 / 2.0 * c)

    def nu(t: np.ndarray) -> np.ndarray:
        t = t[..., None]
        return group.velocity(robot.model, a + t * b + t**2 / 2.0 * c, b + t * c, c + 0.0 * t)[0]

    t, h = np.array([0.0, 0.3]), 1e-3
    np.testing.assert_allclose(nu(t), rates(robot, at, t, h), atol=1e-9)
    _, dnu = group.velocity(robot.model, a + t[:, None] * b + t[:, None] ** 2 / 2.0 * c, b + t[:, None] * c, c + 0.0 * t[:, None])
    np.testing.assert_allclose(dnu, (8.0 * (nu(t + h) - nu(t - h)) - nu(t + 2 * h) + nu(t - 2 * h)) / (12.0 * h), atol=1e-9)


def test_the_samples_are_met_to_the_last_bit(uneven: fc.Trajectory) -> None:
    again = uneven.resample(uneven.t)
    for name in ("t", "q", "nu", "dnu"):
        np.testing.assert_array_equal(getattr(again, name), getattr(uneven, name))


def test_nu_and_dnu_are_derivatives_of_the_interpolant(uneven: fc.Trajectory) -> None:
    """Inside intervals, in the body-fixed sense, for quaternions, spherical, planar and all other joints."""
    robot, h = uneven.robot, 1e-3
    t = np.array([0.113, 0.9511, 1.777])
    found = uneven.resample(t)
    np.testing.assert_allclose(found.nu, rates(robot, lambda x: uneven.resample(x).q, t, h), atol=1e-8)
    ahead, behind = (uneven.resample(t + side * h / 10).nu for side in (1.0, -1.0))
    np.testing.assert_allclose(found.dnu, (ahead - behind) / (h / 5), rtol=1e-5, atol=1e-5)


def test_two_derivatives_are_continuous(uneven: fc.Trajectory) -> None:
    """Just before and just after a sample the states are those of the sample."""
    t, e = uneven.t[1:-1], 1e-9
    for side in (-e, e):
        near = uneven.resample(t + side)
        assert np.abs(uneven.robot.difference(uneven[1:-1].q, near.q)).max() < 1e-7
        assert np.abs(near.nu - uneven.nu[1:-1]).max() < 1e-6
        assert np.abs(near.dnu - uneven.dnu[1:-1]).max() < 1e-5


def test_orders_of_convergence(robot: fc.Robot) -> None:
    """Half the distance of the samples: a 32nd of the error of q, a 16th of that of nu, an eighth of that of dnu, or better."""
    motion = wave(robot, 2, size=0.5)
    dense, h = np.linspace(0.0, 2.0, 301), 1e-3
    q, nu = motion.at(dense), rates(robot, motion.at, dense, h)
    dnu = (rates(robot, motion.at, dense + h, h) - rates(robot, motion.at, dense - h, h)) / (2 * h)
    errors = []
    for count in (41, 81):
        t = np.linspace(0.0, 2.0, count)
        found = fc.Trajectory.from_samples(robot, t, motion.at(t)).resample(dense)
        errors.append([np.abs(x).max() for x in (robot.difference(q, found.q), nu - found.nu, dnu - found.dnu)])
    ratios = np.array(errors[0]) / np.array(errors[1])
    assert ratios[0] > 25.0
    assert ratios[1] > 13.0
    assert ratios[2] > 6.5
    assert errors[1][0] < 1e-4


def test_a_uniform_turn_is_exact_past_many_half_turns() -> None:
    """Four samples a turn: the sign of the quaternion jumps now and then, the velocity stays."""
    robot = fc.load("cat")
    nu = np.zeros(robot.nv)
    nu[:6] = 0.3, -0.2, 0.1, 2.0, 1.0, -1.5
    t = np.arange(40) * 0.1
    q = robot.integrate(robot.random_configuration(1), t[:, None] * nu)
    q[::3, 3:7] *= -1.0
    found = fc.Trajectory.from_samples(robot, t, q).resample(np.linspace(0.0, 3.9, 97))
    np.testing.assert_allclose(found.nu, np.broadcast_to(nu, found.nu.shape), atol=2e-3)
    assert np.abs(found.dnu).max() < 2e-2
    expected = robot.integrate(q[0], found.t[:, None] * nu)
    assert np.abs(robot.difference(expected, found.q)).max() < 1e-4


def test_given_velocities_are_kept(robot: fc.Robot) -> None:
    t = np.linspace(0.0, 1.0, 30)
    motion = wave(robot, 3)
    nu = rates(robot, motion.at, t, 1e-3)
    found = fc.Trajectory.from_samples(robot, t, motion.at(t), nu)
    np.testing.assert_array_equal(found.nu, nu)
    plain = fc.Trajectory.from_samples(robot, t, motion.at(t))
    np.testing.assert_allclose(found.dnu, plain.dnu, atol=0.05 * np.abs(plain.dnu).max())


def test_parts(uneven: fc.Trajectory) -> None:
    part = uneven[3:9]
    assert len(part) == 6
    np.testing.assert_array_equal(part.q, uneven.q[3:9])
    np.testing.assert_array_equal(uneven[::2].t, uneven.t[::2])
    cut = uneven.between(0.55, 1.25)
    assert (cut.t[0], cut.t[-1]) == (0.55, 1.25)
    np.testing.assert_array_equal(cut.t[1:-1], [x for x in uneven.t if 0.55 < x < 1.25])
    np.testing.assert_array_equal(cut.q[0], uneven.resample([0.55]).q[0])
    middle = [0.7123]
    np.testing.assert_allclose(cut.resample(middle).nu, uneven.resample(middle).nu, atol=1e-12)
    assert "21 times" in repr(uneven)


def test_several_motions_at_once(robot: fc.Robot) -> None:
    """Leading axes are motions of their own."""
    t = np.linspace(0.0, 1.0, 12)
    q = np.stack([wave(robot, seed).at(t) for seed in (4, 5, 6)])
    both = fc.Trajectory.from_samples(robot, t, q).resample([0.21, 0.5])
    assert both.nu.shape == (3, 2, robot.nv)
    for k in range(3):
        one = fc.Trajectory.from_samples(robot, t, q[k]).resample([0.21, 0.5])
        np.testing.assert_allclose(both.dnu[k], one.dnu, atol=1e-10)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_samples(count: int) -> None:
    robot = fc.load("spacearm", floating=False)
    t = np.arange(float(count))
    traj = fc.Trajectory.from_samples(robot, t, np.outer(t, np.arange(robot.nq)))
    expected = np.zeros(robot.nv) if count == 1 else np.arange(robot.nv)
    np.testing.assert_allclose(traj.nu, np.broadcast_to(expected, traj.nu.shape), atol=1e-12)
    np.testing.assert_allclose(traj.dnu, 0.0 * traj.nu, atol=1e-12)
    assert traj.resample([0.0]).q.shape == (1, robot.nq)


def test_what_is_refused(robot: fc.Robot, uneven: fc.Trajectory) -> None:
    t, q = uneven.t, np.array(uneven.q)
    with pytest.raises(fc.InputError, match="do not increase"):
        fc.Trajectory.from_samples(robot, t[::-1], q)
    with pytest.raises(fc.InputError, match=rf"expected: \(\.\.\., 21, {robot.nq}\)"):
        fc.Trajectory.from_samples(robot, t, q[:-1])
    q[4, 0] = np.nan
    with pytest.raises(fc.InputError, match="sample 4"):
        fc.Trajectory.from_samples(robot, t, q)
    q[4, 0], q[4, 3:7] = 0.0, 0.0
    with pytest.raises(fc.InputError, match="quaternion"):
        fc.Trajectory.from_samples(robot, t, q)
    with pytest.raises(fc.InputError, match="times outside of the trajectory"):
        uneven.resample([0.0, 2.5])
    with pytest.raises(fc.InputError, match="a slice"):
        uneven[3]
    with pytest.raises(fc.InputError, match="no increasing times"):
        uneven[5:5]
    with pytest.raises(fc.InputError, match="not before the end"):
        uneven.between(1.0, 0.5)
    with pytest.raises(ValueError, match="read-only"):
        uneven.q[0] = 0.0
