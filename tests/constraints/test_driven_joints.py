"""Joints whose motion is prescribed (paper 002, the drift sigma_J(t, q) below eq. 5): hybrid dynamics by constraints on joints.

`robot.constraints(fc.joint(name), ...)` with `reference=(None, None, acceleration)` gives the accelerations of the free joints
and the torques of the driven ones. The witnesses are the equations of motion cut in two, and a pendulum on a pivot that shakes.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from trees import ALL, Array, condition, floating, load, places, random_tree, relative_error, seeds, state, trees

few = settings(max_examples=10)


def cut_in_two(robot: fc.Robot, q: Array, nu: Array, tau: Array, driven: Array, dnu_driven: Array) -> tuple[Array, Array]:
    """dnu and tau from M dnu + h = tau, where dnu is known of some degrees of freedom and tau of the others."""
    M, h = robot.mass_matrix(q), robot.bias(q, nu)
    free = ~driven
    dnu = np.zeros(robot.nv)
    dnu[driven] = dnu_driven
    dnu[free] = np.linalg.solve(M[np.ix_(free, free)], tau[free] - h[free] - M[np.ix_(free, driven)] @ dnu_driven)
    return dnu, M @ dnu + h


def check(robot: fc.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, nu, tau = state(robot, rng)
    where = places(robot)
    names = [str(x) for x in rng.choice(robot.joint_names, size=rng.integers(1, len(robot.joint_names) + 1), replace=False)]
    c = robot.constraints(*[fc.joint(name) for name in names])
    prescribed = rng.normal(size=c.m)
    dnu, forces = c.forward_dynamics(q, nu, tau, reference=(None, None, prescribed))
    driven = np.zeros(robot.nv, dtype=bool)
    order = np.concatenate([np.arange(robot.nv)[where[name][1]] for name in names])
    driven[order] = True
    wanted = np.zeros(robot.nv)
    wanted[order] = prescribed
    expected, torques = cut_in_two(robot, q, nu, tau, driven, wanted[driven])
    bound = 1e-12 * max(1.0, condition(robot.mass_matrix(q)) / 10.0)
    assert relative_error(dnu, expected) < bound
    total = tau.copy()
    total[order] += forces
    assert relative_error(total, torques) < bound
    assert relative_error(robot.inverse_dynamics(q, nu, dnu), total) < bound


@few
@given(trees(), floating, seeds)
def test_hybrid_dynamics(builder: fc.Builder, floating: bool, seed: int) -> None:
    """Some joints' accelerations are given, and the other joints' torques: every joint type, any base."""
    check(load(builder, floating, seed), seed)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("type_", ALL)
def test_one_joint_type_at_a_time(type_: str, floating: bool) -> None:
    check(load(random_tree(11, joints=3, types=(type_,)), floating), 3)


def pendulum() -> fc.Robot:
    """A pendulum of length 0.7 m and no extent, turning about x, on a carriage that slides along z."""
    builder = fc.Builder("shaken")
    builder.link("world")
    builder.link("carriage", mass=2.0, inertia=[0.1, 0.0, 0.0, 0.1, 0.0, 0.1])
    builder.link("bob", mass=0.3, com=[0.0, 0.0, -0.7], inertia=[1e-9, 0.0, 0.0, 1e-9, 0.0, 1e-9])
    builder.joint("lift", "prismatic", "world", "carriage", axis=[0, 0, 1])
    builder.joint("swing", "revolute", "carriage", "bob", axis=[1, 0, 0])
    return fc.load(builder, floating=False)


def test_a_pendulum_on_a_pivot_that_shakes() -> None:
    """The swing with sigma_J: l phi'' = -(g + y'') sin phi, for y(t) = A sin(w t); the drive carries both."""
    robot = pendulum()
    c = robot.constraints(fc.joint("lift"))
    A, w, l, g = 0.05, 30.0, 0.7, 9.81
    rng = np.random.default_rng(1)
    t, phi, rate = rng.uniform(0.0, 1.0, size=20), rng.uniform(-3.0, 3.0, size=20), rng.normal(size=20)
    y, dy, ddy = A * np.sin(w * t), A * w * np.cos(w * t), -A * w * w * np.sin(w * t)
    q, nu = np.stack([y, phi], axis=-1), np.stack([dy, rate], axis=-1)
    dnu, forces = c.forward_dynamics(q, nu, np.zeros(2), reference=(None, None, ddy[:, None]))
    assert relative_error(dnu[:, 0], ddy) < 1e-12
    swing = -(g + ddy) * np.sin(phi) / l
    assert relative_error(dnu[:, 1], swing) < 1e-6  # the bob has a little inertia of its own: 1e-9 of 0.147 kg m^2
    lift = 2.0 * (ddy + g) + 0.3 * (ddy + g + l * (swing * np.sin(phi) + rate**2 * np.cos(phi)))
    assert relative_error(forces[:, 0], lift) < 1e-6


def test_the_twist_of_a_joint_that_depends_on_time() -> None:
    """(5) and (6) with sigma_J: both joints together are one whose map depends on time, v_J = S phi' + sigma(t, phi)."""
    robot = pendulum()
    A, w, t, phi, rate, acceleration = 0.05, 30.0, 0.4, 0.8, -1.3, 2.1

    def moving(t: float, phi: float) -> Array:
        return np.array([A * np.sin(w * t), phi])

    dy, ddy = A * w * np.cos(w * t), -A * w * w * np.sin(w * t)
    q, nu, dnu = moving(t, phi), np.array([dy, rate]), np.array([ddy, acceleration])
    S = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    up = np.array([0.0, np.sin(phi), np.cos(phi)])  # z of the world in the axes of the bob
    sigma = np.concatenate([dy * up, np.zeros(3)])
    assert relative_error(robot.frame_velocity(q, nu, "bob"), S * rate + sigma) < 1e-14
    sigma_rate = np.concatenate([ddy * up + dy * rate * np.array([0.0, np.cos(phi), -np.sin(phi)]), np.zeros(3)])
    assert relative_error(robot.frame_acceleration(q, nu, dnu, "bob"), S * acceleration + sigma_rate) < 1e-14
    h = 1e-6
    there, back = (robot.frame_pose(moving(t + s, phi + s * rate), "bob") for s in (h, -h))
    V = np.linalg.solve(robot.frame_pose(q, "bob"), (there - back) / (2 * h))
    assert relative_error(V[:3, 3], sigma[:3]) < 1e-8
