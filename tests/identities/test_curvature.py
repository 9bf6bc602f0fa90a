"""The curvature of the mechanical connection (paper 003, Lemma 3, corrected) against complex steps of the connection.

Random trees have every type of joint, any link as base, and joints that follow others; velocities of spherical, planar and free
joints do not commute, which the exterior derivative has to know. A closed loop of shapes is the last witness.
"""

from __future__ import annotations

import numpy as np
import pytest
from bases import TOLERANCE, close, field_robot, rerooted
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms.curvature import curvature
from fallingcat.motion.reconstruction import Motion, configurations, reconstruct
from fallingcat.reference.paper000 import ad
from fallingcat.reference.paper003 import Bodies
from trees import ON_R, Array, Plain, derivative, load, plain, random_tree, seeds, state, trees

ROBOTS = ("spacearm", "cat", "talos")

few = settings(max_examples=10)


def named(name: str) -> Plain:
    return field_robot(name) if name == "talos" else plain(fc.load(name))


def check_closed_form(robot: Plain, q: Array, nu: Array) -> None:
    """Definition in (14), errata 3.9 and 3.10; antisymmetric to the last bit."""
    b = Bodies.of(robot.model, q.tolist())
    B = robot.curvature(q)
    close(B, b.curvature)
    assert np.array_equal(B, -np.swapaxes(B, 1, 2))
    r = nu[6:]
    B_l = np.einsum("aij,i->aj", B, r)
    close(B_l, -np.linalg.solve(b.Lambda_b, b.calB(r).T))  # (38), (39)
    R = robot.reduced_dynamics(q, nu)
    close(B_l.T @ R.Lambda_b @ R.mu, 2.0 * R.B_2 @ r)  # (40)


@few
@given(trees(max_joints=5), seeds)
def test_closed_form(builder: fc.Builder, seed: int) -> None:
    robot = load(builder, True, seed)
    check_closed_form(robot, *state(robot, np.random.default_rng(seed))[:2])


@pytest.mark.parametrize("name", ROBOTS)
def test_closed_form_of_robots(name: str, rng: np.random.Generator) -> None:
    robot = named(name)
    check_closed_form(robot, *state(robot, rng)[:2])


def test_coordinates() -> None:
    """For joints on R the definition has no third term: B_ij = d_i A_j - d_j A_i - [A_i, A_j], by differences."""
    robot = load(random_tree(4, joints=5, types=ON_R), True, 4)
    q, _, _ = state(robot, np.random.default_rng(4))
    A, h = robot.mechanical_connection(q), 1e-5

    def slope(e: Array) -> Array:
        dx = np.concatenate([np.zeros(6), h * e])
        return (robot.mechanical_connection(robot.integrate(q, dx)) - robot.mechanical_connection(robot.integrate(q, -dx))) / (
            2 * h
        )

    dA = np.stack([slope(e) for e in np.eye(robot.n)], axis=1)
    brackets = np.stack([ad(a) @ A for a in A.T], axis=1)
    close(robot.curvature(q), dA - np.swapaxes(dA, 1, 2) - brackets, 1e-8)


@few
@given(trees(max_joints=4, types=ON_R), seeds)
def test_bianchi(builder: fc.Builder, seed: int) -> None:
    """The covariant derivative of the curvature vanishes: d_i B_jk - [A_i, B_jk], summed over cyclic i, j, k, is zero."""
    robot = load(builder, True, seed)
    q, _, _ = state(robot, np.random.default_rng(seed))
    B, A = robot.curvature(q), robot.mechanical_connection(q)
    steps = [derivative(curvature, robot.model, q, [*np.zeros(6), *e]) for e in np.eye(robot.n)]
    D = np.stack([dB - np.einsum("ab,bjk->ajk", ad(a), B) for dB, a in zip(steps, A.T, strict=True)], axis=1)
    cyclic = D + np.einsum("aijk->ajki", D) + np.einsum("aijk->akij", D)
    assert np.abs(cyclic).max() < TOLERANCE * max(1.0, float(np.abs(D).max()))


@few
@given(trees(max_joints=5), seeds)
def test_another_base(builder: fc.Builder, seed: int) -> None:
    """The connection depends on the base, the curvature only turns along: B' = Ad(g^-1) B, with g the pose of the new base."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, _, _ = state(robot, rng)
    link = str(rng.choice(robot.link_names))
    other, q_other = rerooted(robot, q, link)
    X = robot.frame_jacobian(q, link)[:, :6]  # from twists of the base to those of the link
    close(other.curvature(q_other), np.einsum("ab,bij->aij", X, robot.curvature(q)))


def test_one_joint_has_none(rng: np.random.Generator) -> None:
    robot = load(random_tree(1, joints=1, types=("revolute",)), True, 1)
    assert np.array_equal(robot.curvature(robot.random_configuration(rng)), np.zeros((6, 1, 1)))


# ---------------------------------------------------------------------------------------------------------------------
# Closed loops


class Loop:
    """An ellipse of shapes in a random plane, from and to a random shape."""

    def __init__(self, robot: fc.Robot, seed: int, size: float) -> None:
        rng = np.random.default_rng(seed)
        self.first = robot.random_configuration(rng)[7:]
        self.x, self.y = size * rng.normal(size=(2, robot.n)) / np.sqrt(robot.n)

    def __call__(self, t: Array) -> Motion:
        angle = 2.0 * np.pi * t[:, None]
        c, s, rate = np.cos(angle), np.sin(angle), 2.0 * np.pi
        at = self.first + self.x * (c - 1.0) + self.y * s
        return Motion(at, rate * (self.y * c - self.x * s), -(rate**2) * (self.x * c + self.y * s))

    def area(self, robot: fc.Robot) -> Array:
        """-integral of B over the ellipse, (6,), by Gauss points along the radius and equal steps around."""
        nodes, weights = np.polynomial.legendre.leggauss(5)
        angles = 2.0 * np.pi * np.arange(24) / 24
        total = np.zeros(6)
        for radius, weight in zip((nodes + 1.0) / 2.0, weights / 2.0, strict=True):
            s = self.first - self.x + radius * (np.cos(angles)[:, None] * self.x + np.sin(angles)[:, None] * self.y)
            B = np.einsum("kaij,i,j->ka", robot.curvature(configurations(robot, s)), self.x, self.y)
            total -= weight * radius * 2.0 * np.pi * B.mean(axis=0)
        return total


@pytest.mark.parametrize("name", ["spacearm", "cat", "tree9"])
def test_a_loop_displaces_the_base_by_the_integral_of_the_curvature(name: str) -> None:
    """To third order, in translation and rotation: half the size, an eighth of the difference.

    A wrong sign or factor of the curvature would leave a quarter.
    """
    robot = fc.load(name)
    t = np.linspace(0.0, 1.0, 301)
    misses = []
    for size in (0.02, 0.01):
        path = Loop(robot, 2, size)
        q = reconstruct(robot, path, t)
        displacement = robot.difference(q[0], q[-1])[:6]
        estimate = path.area(robot)
        for part in (slice(0, 3), slice(3, 6)):
            assert np.linalg.norm(displacement[part] - estimate[part]) < 0.2 * np.linalg.norm(displacement[part])
        misses.append(np.linalg.norm(displacement - estimate))
    assert 7.0 < misses[0] / misses[1] < 9.0
