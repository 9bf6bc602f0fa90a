"""Where a path of shapes leaves a robot without momentum, on several robots, against independent witnesses."""

from __future__ import annotations

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.apps.cat import circle
from fallingcat.apps.cat.gait import directions, terms
from fallingcat.apps.cat.holonomy import area_integral, curvature, halfway, holonomy, holonomy_gradient, log, rotation
from fallingcat.apps.cat.momentum import angular_momentum
from fallingcat.motion.reconstruction import Motion, Path, configurations, connection, reconstruct

X = np.linspace(0.0, 1.0, 101)


def loop(robot: fc.Robot, seed: int, size: float) -> Path:
    """A smooth closed path around nothing in particular, from and to a random shape, without any symmetry."""
    rng = np.random.default_rng(seed)
    first = robot.random_configuration(rng)[7:]
    a, b = rng.normal(size=(2, 2, robot.n))

    def path(x: np.ndarray) -> Motion:
        s, ds, dds = first + np.zeros((len(x), robot.n)), np.zeros((len(x), robot.n)), np.zeros((len(x), robot.n))
        for k in (1, 2):
            t = 2 * np.pi * k * x[:, None]
            s = s + size * (a[k - 1] * (np.cos(t) - 1) + b[k - 1] * np.sin(t))
            ds = ds + size * 2 * np.pi * k * (b[k - 1] * np.cos(t) - a[k - 1] * np.sin(t))
            dds = dds - size * (2 * np.pi * k) ** 2 * (a[k - 1] * np.cos(t) + b[k - 1] * np.sin(t))
        return Motion(s, ds, dds)

    return path


def test_rotations(rng: np.random.Generator) -> None:
    w = rng.normal(size=(200, 3))
    w *= rng.uniform(0.0, 3.1, size=(200, 1)) / np.linalg.norm(w, axis=1, keepdims=True)
    R = rotation(w)
    np.testing.assert_allclose(R @ np.swapaxes(R, -1, -2), np.broadcast_to(np.eye(3), R.shape), atol=1e-14)
    np.testing.assert_allclose(log(R), w, atol=1e-13)
    np.testing.assert_allclose(log(rotation(1e-9 * w)), 1e-9 * w, atol=1e-22)
    np.testing.assert_array_equal(rotation(np.zeros(3)), np.eye(3))


@pytest.mark.parametrize("name", ["cat", "spacearm"])
def test_the_connection_is_that_of_no_momentum(name: str, rng: np.random.Generator) -> None:
    """With the base velocity -A ds, the plain sum over all links has no angular momentum, and the centre of mass rests."""
    robot = fc.load(name)
    q = np.array([robot.random_configuration(rng) for _ in range(5)])
    ds = rng.normal(size=(5, robot.n))
    nu = np.concatenate([-np.einsum("kij,kj->ki", connection(robot, q[:, 7:]), ds), ds], axis=1)
    assert np.abs(angular_momentum(robot, q, nu)).max() < 1e-13
    assert np.abs(robot.center_of_mass_jacobian(q) @ nu[..., None]).max() < 1e-13


@pytest.mark.parametrize("name", ["cat", "spacearm"])
def test_the_plain_sum_against_the_mass_matrix(name: str, rng: np.random.Generator) -> None:
    """The first rows of M nu are the momentum about the base; moved to the centre of mass it is the plain sum."""
    robot = fc.load(name)
    q, nu = robot.random_configuration(rng), robot.random_velocity(rng)
    H = robot.split(q)[0]
    momentum = (robot.mass_matrix(q) @ nu)[:6]
    force, moment = H[:3, :3] @ momentum[:3], H[:3, :3] @ momentum[3:]
    about_center = moment - np.cross(robot.center_of_mass(q) - H[:3, 3], force)
    np.testing.assert_allclose(angular_momentum(robot, q, nu), about_center, atol=1e-13)


def test_the_reconstruction_is_of_fourth_order() -> None:
    robot = fc.load("spacearm")
    path = loop(robot, 4, 0.3)
    fine = holonomy(robot, path, 1600)
    coarse, half = (np.abs(holonomy(robot, path, k) - fine).max() for k in (50, 100))
    assert 13.0 < coarse / half < 19.0
    assert half < 1e-5


def test_the_reconstruction_keeps_the_centre_of_mass() -> None:
    """It starts anywhere, and moves the centre of mass nowhere."""
    robot = fc.load("spacearm")
    path = loop(robot, 5, 0.3)
    start = robot.random_configuration(6)
    start[7:] = path(X[:1]).s[0]
    q = reconstruct(robot, path, np.linspace(0.0, 1.0, 401), start)
    np.testing.assert_array_equal(q[0], start)
    assert np.ptp(robot.center_of_mass(q), axis=0).max() < 1e-7


@pytest.mark.parametrize(("name", "link"), [("spacearm", None), ("tree9", None), ("cat", None), ("cat", "rear")])
def test_small_loops_turn_by_the_area_integral_to_third_order(name: str, link: str | None) -> None:
    """Half the size, an eighth of the difference; a wrong sign or factor of the curvature would leave a quarter."""
    robot = fc.load(name)
    if robot.n > 9:  # at rest the cat's two frames agree, as the estimate in the middle one wants
        path_of = {size: shifted(robot, loop(robot, 7, size)) for size in (0.02, 0.01)}
    else:
        path_of = {size: loop(robot, 7, size) for size in (0.02, 0.01)}
    misses = {}
    for size, path in path_of.items():
        turned = log(holonomy(robot, path, 400)[:3, :3])
        estimate = area_integral(robot, path, link, intervals=100, layers=4)
        misses[size] = np.linalg.norm(turned - estimate)
        assert misses[size] < 0.2 * np.linalg.norm(turned)
    assert 6.5 < misses[0.02] / misses[0.01] < 9.5


def shifted(robot: fc.Robot, path: Path) -> Path:
    """The path moved so that it begins at the shape zero."""
    first = path(X[:1]).s

    def at(x: np.ndarray) -> Motion:
        motion = path(x)
        return Motion(motion.s - first, motion.ds, motion.dds)

    return at


def edge(a: np.ndarray, b: np.ndarray) -> Path:
    """The straight path from one shape to another."""

    def at(x: np.ndarray) -> Motion:
        ds = np.broadcast_to(b - a, (len(x), len(a)))
        return Motion(a + x[:, None] * (b - a), ds, 0.0 * ds)

    return at


def test_curvature_is_the_displacement_around_a_small_square(cat: fc.Robot, rng: np.random.Generator) -> None:
    """Four straight edges, nothing but the connection: the rotation is -B(x, y) times the area."""
    h, s = 2e-3, cat.random_configuration(rng)[7:]
    x, y = rng.normal(size=(2, cat.n))
    corners = [s - h * (x + y) / 2, s + h * (x - y) / 2, s + h * (x + y) / 2, s - h * (x - y) / 2]
    R = np.eye(3)
    for k in range(4):
        R = R @ holonomy(cat, edge(corners[k], corners[(k + 1) % 4]), 2)[:3, :3]
    expected = -np.einsum("aij,i,j->a", curvature(cat, s), x, y) * h**2
    np.testing.assert_allclose(log(R), expected, atol=10 * h * np.linalg.norm(expected))


def test_the_gradient_by_the_curvature(cat: fc.Robot, rng: np.random.Generator) -> None:
    """Against differences of the rotation that the gait leaves, in a random direction."""
    gait = circle(cat, 1.0)
    c, d = gait.coefficients + 0.1 * rng.normal(size=len(terms())), rng.normal(size=len(terms()))
    moved = directions(cat.joint_names, np.linspace(0.0, 1.0, 401)).s

    def path(c: np.ndarray) -> Path:
        return type(gait)(cat.joint_names, c).at

    R, J = holonomy_gradient(cat, path(c), moved, np.linspace(0.0, 1.0, 401))
    h = 1e-4
    ahead, behind = (holonomy(cat, path(c + side * h * d), 400)[:3, :3] for side in (1.0, -1.0))
    np.testing.assert_allclose(J @ d, log(ahead @ behind.T) / (2 * h), atol=2e-6)
    np.testing.assert_allclose(R, holonomy(cat, path(c), 400)[:3, :3], atol=1e-12)


def test_halfway_done_twice(cat: fc.Robot, rng: np.random.Generator) -> None:
    s = np.zeros((4, cat.n))
    s[:, 6:9] = rng.uniform(-0.9, 0.9, size=(4, 3))
    R = halfway(cat, s, "rear")
    np.testing.assert_allclose(R @ R, cat.frame_pose(configurations(cat, s), "rear")[:, :3, :3], atol=1e-14)
