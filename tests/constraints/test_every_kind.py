"""Every kind of constraint on a fixed and a floating robot: compiled derivatives against differences of compiled values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mechanisms import closed, four_bar, lagrangian

import fallingcat as fc
from spread import one_in
from trees import Array, load, relative_error


def arm(floating: bool) -> fc.Robot:
    """Six joints of two types with axes along nothing in particular, in two branches."""
    rng = np.random.default_rng(5)
    b = fc.Builder("arm")
    names = ["trunk", "upper", "lower", "hand", "thigh", "shin", "foot"]
    for name in names:
        m, c = rng.uniform(0.5, 2.0), rng.normal(size=3) * 0.2
        a, d, e = rng.uniform(0.05, 0.1, 3)
        b.link(name, mass=m, com=c, inertia=(d + e, 0.0, 0.0, a + e, 0.0, a + d))
    for parent, child in (
        ("trunk", "upper"),
        ("upper", "lower"),
        ("lower", "hand"),
        ("trunk", "thigh"),
        ("thigh", "shin"),
        ("shin", "foot"),
    ):
        kind = "prismatic" if child == "shin" else "revolute"
        b.joint(f"to {child}", kind, parent, child, axis=rng.normal(size=3), xyz=rng.normal(size=3) * 0.4)
    return fc.load(b, floating=floating)


@pytest.fixture(scope="module")
def robot(request: pytest.FixtureRequest) -> fc.Robot:
    return arm(bool(request.param))


def product_of_places(r: Any, q: Any) -> Any:
    """Rows of one's own: not linear in anything."""
    H = r.frame_pose(q, frame="hand")
    return [H[2, 3] * H[0, 3] - 0.01, H[0, 0] * H[1, 3] + q[-1]]


POSE = np.array([[0.0, -1.0, 0.0, 0.1], [1.0, 0.0, 0.0, 0.2], [0.0, 0.0, 1.0, -0.1], [0.0, 0.0, 0.0, 1.0]])
KINDS: dict[str, fc.Constraint] = {
    "point": fc.point("hand", point=(0.1, 0.2, 0.3)),
    "directions": fc.point("hand", directions=[[0, 0, 1], [1, 1, 0]]),
    "surface": fc.surface("hand"),
    "point_to_point": fc.point_to_point("foot", "hand", point_a=(0.1, 0.0, 0.2)),
    "weld": fc.weld("foot", "hand", "home"),
    "hinge": fc.hinge("foot", "hand", (0, 1, 1), "home"),
    "hinge on the world": fc.hinge("hand", "world", (0, 1, 1), "home"),
    "slider": fc.slider("foot", "hand", (1, 0, 1), "home"),
    "distance": fc.distance("foot", "hand"),
    "distance to the world": fc.distance("hand", "world", 1.5),
    "joint": fc.joint("to lower"),
    "coupling": fc.coupling("to lower", "to thigh", (0.1, 0.5, -0.2, 0.3)),
    "rolling": fc.rolling("hand", 0.3, normal=(0.1, 0.2, 1.0)),
    "rows": fc.rows(product_of_places),
}  # fmt: skip


def differences(function: Callable[[Array], Array], n: int, h: float = 1e-4) -> Array:
    """The derivative of a function of n numbers at zero, by differences of the fourth order."""
    e = np.eye(n) * h
    return np.swapaxes(8 * (function(e) - function(-e)) - (function(2 * e) - function(-2 * e)), 0, 1) / (12 * h)


def together(results: Any) -> Array:
    return np.concatenate(results, -1)


@pytest.mark.parametrize(("kind", "robot"), one_in(4, KINDS, [True, False]), indirect=["robot"])
def test_derivatives_of_the_dynamics(robot: fc.Robot, kind: str) -> None:
    rng = np.random.default_rng(1)
    q, nu, tau = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    home = robot.integrate(q, 0.1 * rng.normal(size=robot.nv))
    c = robot.constraints(KINDS[kind], kp=5.0, kd=2.0, damping=0.01, home=home)
    reference = tuple(rng.normal(size=(3, c.m)))
    F = lambda q, nu, tau: together(c.forward_dynamics(q, nu, tau, reference=reference))  # noqa: E731
    D = c.forward_dynamics_derivatives(q, nu, tau, reference=reference)
    n = robot.nv
    assert (
        relative_error(np.vstack([D.ddnu_dq, D.dforces_dq]), differences(lambda e: F(robot.integrate(q, e), nu, tau), n)) < 1e-7
    )
    assert relative_error(np.vstack([D.ddnu_dnu, D.dforces_dnu]), differences(lambda e: F(q, nu + e, tau), n)) < 1e-7
    assert relative_error(np.vstack([D.ddnu_dtau, D.dforces_dtau]), differences(lambda e: F(q, nu, tau + e), n)) < 1e-7


@pytest.mark.parametrize(("kind", "robot"), one_in(4, KINDS, [True, False]), indirect=["robot"])
def test_derivatives_of_impacts(robot: fc.Robot, kind: str) -> None:
    rng = np.random.default_rng(2)
    q, nu = robot.random_configuration(rng), rng.normal(size=robot.nv)
    c = robot.constraints(KINDS[kind], home=q)

    def F(q: Array, nu: Array) -> Array:
        hit, J = c.impulse(q, nu, 0.3), c.jacobian(q)
        least = J @ np.linalg.pinv(J, rcond=1e-9)  # forces of least norm without the rounding that differences would enlarge
        return together((hit.nu, (least @ hit.impulses[..., None])[..., 0]))

    D = c.impulse_derivatives(q, nu, 0.3)
    n = robot.nv
    assert relative_error(np.vstack([D.dnu_dq, D.dimpulses_dq]), differences(lambda e: F(robot.integrate(q, e), nu), n)) < 1e-7
    assert relative_error(np.vstack([D.dnu_dnu, D.dimpulses_dnu]), differences(lambda e: F(q, nu + e), n)) < 1e-7


# ---------------------------------------------------------------------------------------------------------------------
# Along a motion


def rate_of_perturbations(c: fc.Constraints, q: Array, nu: Array, tau: Array, y: Array, h: float = 1e-4) -> tuple[Array, Array]:
    """How perturbations y of a state on the constraints change along its motion, and y itself: by differences alone.

    Both states move for a short time, and what lies between them is read off in a basis of the null space of J there, the
    one that has turned least from that of `linearize`.
    """
    robot = c.robot
    L = c.linearize(q, nu, tau)
    k = L.A.shape[0] // 2
    Z = L.basis[: robot.nv, :k]

    def later(q: Array, nu: Array, t: float) -> tuple[Array, Array]:
        half = nu + t / 2 * c.forward_dynamics(q, nu, tau).dnu
        return robot.integrate(q, t * half), nu + t * c.forward_dynamics(robot.integrate(q, t / 2 * nu), half, tau).dnu

    def read(t: float) -> Array:
        q_t, nu_t = later(q, nu, t)
        N = np.linalg.svd(c.jacobian(q_t))[2][robot.nv - k :].T
        u, _, vh = np.linalg.svd(N.T @ Z)
        Z_t = N @ u @ vh
        found = []
        for s in (h, -h):
            z = s * L.basis @ y
            moved = c.project(robot.integrate(q, z[: robot.nv]), nu + z[robot.nv :], tolerance=1e-13)
            q_s, nu_s = later(moved.q, moved.nu, t)
            found.append(np.concatenate([Z_t.T @ robot.difference(q_t, q_s), Z_t.T @ (nu_s - nu_t)]))
        return (found[0] - found[1]) / (2 * h)

    return (read(h) - read(-h)) / (2 * h), read(0.0)


@pytest.mark.parametrize(("kind", "robot"), one_in(4, KINDS, [True, False]), indirect=["robot"])
def test_linearization_along_a_motion(robot: fc.Robot, kind: str) -> None:
    rng = np.random.default_rng(3)
    c = robot.constraints(KINDS[kind], home=robot.random_configuration(rng))
    q, nu = c.project(robot.integrate(c.options["home"], 0.1 * rng.normal(size=robot.nv)), rng.normal(size=robot.nv))
    tau = rng.normal(size=robot.nv)
    L = c.linearize(q, nu, tau)
    assert np.abs(c.jacobian(q) @ L.basis[: robot.nv, : len(L.A) // 2]).max(initial=0.0) < 1e-12
    if kind == "rolling":  # velocities alone are bound: states that are allowed are no manifold
        return
    rate, y = rate_of_perturbations(c, q, nu, tau, rng.normal(size=len(L.A)))
    assert len(L.A) == 2 * (robot.nv - c.rank(q))
    assert relative_error(L.A @ y, rate) < 1e-5


def test_a_quadruped_that_moves_on_its_feet() -> None:
    robot, rng = fc.load("quadruped"), np.random.default_rng(4)
    feet = [name for name in robot.link_names if name.endswith("_foot")]
    q = robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv))
    c = robot.constraints(*[fc.point(f) for f in feet]).held_at(q)
    nu, tau = c.project(q, rng.normal(size=robot.nv)).nu, rng.normal(size=robot.nv)
    L = c.linearize(q, nu, tau)
    rate, y = rate_of_perturbations(c, q, nu, tau, rng.normal(size=len(L.A)))
    assert relative_error(L.A @ y, rate) < 1e-5


def test_the_four_bar_at_speed_is_the_one_written_by_hand() -> None:
    """In the length s of the path of its joints, s'' = f(s, s'), differentiated by the crank angle: ds = |dq/dtheta| dtheta."""
    robot = load(four_bar(), False, gravity=(0, 0, -9.81))
    c = robot.constraints()
    theta, speed, h = 0.7, 3.0, 1e-3
    path = lambda t: float(np.linalg.norm((closed(t + 1e-5) - closed(t - 1e-5)) / 2e-5))  # noqa: E731

    def acceleration(t: float, rate: float) -> float:
        """s'' at a crank angle and a speed along the path."""
        (M, _), (M1, V1), (M0, V0) = lagrangian(t), lagrangian(t + h), lagrangian(t - h)
        crank = rate / path(t)
        turning = (-0.5 * (M1 - M0) / (2 * h) * crank**2 - (V1 - V0) / (2 * h)) / M
        return path(t) * turning + (path(t + h) - path(t - h)) / (2 * h) * crank**2

    q, along = closed(theta), speed * path(theta)
    L = c.linearize(q, along * tangent_of(theta), np.zeros(3))
    by_s = (acceleration(theta + h, along) - acceleration(theta - h, along)) / (2 * h) / path(theta)
    by_rate = (acceleration(theta, along + h) - acceleration(theta, along - h)) / (2 * h)
    assert np.allclose(L.A, [[0.0, 1.0], [by_s, by_rate]], rtol=1e-4, atol=1e-4)


def tangent_of(theta: float, h: float = 1e-5) -> Array:
    along = closed(theta + h) - closed(theta - h)
    return np.asarray(along / np.linalg.norm(along))
