"""The reduced Euler-Lagrange equations (paper 003, corrected) against sums over bodies, the full dynamics and complex steps.

The sums (reference/paper003.py) are the paper's, with dense 6 x 6 matrices; tests/reference/test_paper003.py compares them with
witnesses of their own, erratum by erratum. Everything runs in Python on random trees with every type of joint and any link as
base, and on spacearm, cat and talos.
"""

from __future__ import annotations

import numpy as np
import pytest
from bases import TOLERANCE, close, field_robot
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import reduced
from fallingcat.reference.paper000 import ad
from fallingcat.reference.paper003 import Bodies, adt
from trees import (
    GRAVITY,
    Array,
    Plain,
    derivative,
    load,
    moved,
    plain,
    random_tree,
    relative_error,
    seeds,
    slope,
    state,
    stepped,
    trees,
)

ROBOTS = ("spacearm", "cat", "talos")
OF_Q = ("locked_inertia", "mechanical_connection", "shape_inertia", "curvature")
OF_NU = ("locked_velocity", "momentum_map", "split_velocity", "reduced_dynamics")

few = settings(max_examples=10)


def named(name: str) -> Plain:
    return field_robot(name) if name == "talos" else plain(fc.load(name, gravity=GRAVITY))


# ---------------------------------------------------------------------------------------------------------------------
# Every term


def check_terms(robot: Plain, q: Array, nu: Array) -> None:
    """(17), (18), (27), (45) and D_shape, D_locked of Theorem 1, corrected, against the sums; and the functions of one term."""
    b = Bodies.of(robot.model, q.tolist())
    r = nu[6:]
    mu = nu[:6] + b.A_l @ r
    R = robot.reduced_dynamics(q, nu)
    expected = {
        "Lambda_b": b.Lambda_b, "Lambda_q": b.Lambda_q, "A_l": b.A_l, "P": b.P(r), "S": b.S(mu), "Gamma_q": b.Gamma_q(r),
        "B_2": b.B_2(mu), "C_b": b.C_b(mu), "D_shape": b.D_q(r), "D_locked": b.D_mu(mu), "mu": mu,
    }  # fmt: skip
    assert set(expected) == set(R._fields)
    off = {name: relative_error(getattr(R, name), x) for name, x in expected.items()}
    assert {name: x for name, x in off.items() if not x < TOLERANCE} == {}
    close(robot.locked_inertia(q), b.Lambda_b)
    close(robot.mechanical_connection(q), b.A_l)
    close(robot.shape_inertia(q), b.Lambda_q)
    close(robot.locked_velocity(q, nu), mu)
    for matrix in (R.Lambda_b, R.Lambda_q, R.P):
        close(matrix, matrix.T)
    for matrix in (R.C_b, R.B_2, R.D_locked):  # to the last bit
        assert np.array_equal(matrix, -matrix.T)


@few
@given(trees(max_joints=6), seeds)
def test_terms(builder: fc.Builder, seed: int) -> None:
    robot = load(builder, True, seed)
    check_terms(robot, *state(robot, np.random.default_rng(seed))[:2])


@pytest.mark.parametrize("name", ROBOTS)
def test_terms_of_robots(name: str, rng: np.random.Generator) -> None:
    robot = named(name)
    check_terms(robot, *state(robot, rng)[:2])


def check_rates(robot: Plain, q: Array, nu: Array) -> None:
    """Complex steps through the library's own inertias: P, S and Gamma_q are their derivatives (Def. 4, Def. 5, Property 4)."""
    R = robot.reduced_dynamics(q, nu)
    still = np.zeros(6)
    along = np.concatenate([still, nu[6:]])
    close(R.P, derivative(reduced.locked_inertia, robot.model, q, along))
    close(R.Gamma_q + R.Gamma_q.T, derivative(reduced.shape_inertia, robot.model, q, along))
    slopes = [derivative(reduced.locked_inertia, robot.model, q, [*still, *e]) for e in np.eye(robot.n)]
    close(R.S.T @ R.mu, [0.5 * R.mu @ x @ R.mu for x in slopes])
    # Property 5, corrected (3.5): both are the derivative of the locked inertia along r, halved
    close(R.S @ nu[6:], 0.5 * R.P @ R.mu)


@few
@given(trees(max_joints=5), seeds)
def test_rates(builder: fc.Builder, seed: int) -> None:
    robot = load(builder, True, seed)
    check_rates(robot, *state(robot, np.random.default_rng(seed))[:2])


@pytest.mark.parametrize("name", ["spacearm", "cat"])
def test_rates_of_robots(name: str, rng: np.random.Generator) -> None:
    robot = named(name)
    check_rates(robot, *state(robot, rng)[:2])


@few
@given(trees(max_joints=6), seeds)
def test_inertia_derivatives_commute(builder: fc.Builder, seed: int) -> None:
    """(36a): S(x)^T y = S(y)^T x for any two locked velocities, and the mixed term of Sec. V-2 with its sign."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    A, r = robot.mechanical_connection(q), nu[6:]
    x, y = rng.normal(size=(2, 6))
    at = [robot.reduced_dynamics(q, np.concatenate([mu - A @ r, r])) for mu in (x, y)]
    close(at[0].S.T @ y, at[1].S.T @ x)
    e = x - y
    close(e @ (at[0].S - at[1].S) @ r, 0.5 * e @ at[0].P @ e)


# ---------------------------------------------------------------------------------------------------------------------
# Which term depends on what


def check_separation(robot: Plain, q: Array, nu: Array, rng: np.random.Generator) -> None:
    """D_shape does not see the locked velocity, D_locked does not see the shape velocity at a given locked velocity."""
    R, A = robot.reduced_dynamics(q, nu), robot.mechanical_connection(q)
    other = robot.reduced_dynamics(q, np.concatenate([rng.normal(size=6), nu[6:]]))
    assert np.array_equal(other.D_shape, R.D_shape)
    assert not np.array_equal(other.D_locked, R.D_locked)
    r = rng.normal(size=robot.n)
    other = robot.reduced_dynamics(q, np.concatenate([R.mu - A @ r, r]))
    close(other.D_locked, R.D_locked)
    assert not np.array_equal(other.D_shape, R.D_shape)
    # both are linear
    twice = robot.reduced_dynamics(q, 2.0 * nu)
    close(twice.D_shape, 2.0 * R.D_shape)
    close(twice.D_locked, 2.0 * R.D_locked)


@few
@given(trees(max_joints=6), seeds)
def test_separation(builder: fc.Builder, seed: int) -> None:
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    check_separation(robot, *state(robot, rng)[:2], rng)


@pytest.mark.parametrize("name", ROBOTS)
def test_separation_of_robots(name: str, rng: np.random.Generator) -> None:
    robot = named(name)
    check_separation(robot, *state(robot, rng)[:2], rng)


# ---------------------------------------------------------------------------------------------------------------------
# The equations of motion


def check_motion(robot: Plain, q: Array, nu: Array, tau: Array) -> None:
    """Theorem 1, corrected, is the full dynamics in other velocities; under gravity and a wrench on the base."""
    R, F = robot.reduced_dynamics(q, nu), tau - robot.gravity_torque(q)
    dnu = robot.forward_dynamics(q, nu, tau)
    scale = max(1.0, float(np.abs(dnu).max()))
    # the rate of mu along the motion, by a complex step through its own source
    expected = slope(reduced.locked_velocity(robot.model, moved(robot.model, q, nu), stepped(nu, dnu)))
    rates = robot.reduced_forward_dynamics(q, nu, tau)
    close(rates.mu_rate / scale, expected / scale)
    close(rates.ddr / scale, dnu[6:] / scale)
    xi, xi_rate = np.concatenate([R.mu, nu[6:]]), np.concatenate([expected, dnu[6:]])
    Lambda = np.block([[R.Lambda_b, np.zeros((6, robot.n))], [np.zeros((robot.n, 6)), R.Lambda_q]])
    forces = np.concatenate([F[:6], F[6:] - R.A_l.T @ F[:6]])
    close((Lambda @ xi_rate + R.D_shape @ xi) / scale, (R.D_locked @ xi + forces) / scale)
    # (12): the momentum obeys p' = ad_v^T p + F
    p = R.Lambda_b @ R.mu
    close((R.Lambda_b @ expected + R.P @ R.mu) / scale, (ad(nu[:6]).T @ p + F[:6]) / scale)
    # (23), Sec. V-1: what couples the shape to mu
    close(R.S.T @ R.mu - R.A_l.T @ adt(p) @ R.mu, R.D_locked[6:, :6] @ R.mu)


@few
@given(trees(max_joints=6), seeds)
def test_motion(builder: fc.Builder, seed: int) -> None:
    robot = load(builder, True, seed)
    check_motion(robot, *state(robot, np.random.default_rng(seed)))


@pytest.mark.parametrize("name", ROBOTS)
def test_motion_of_robots(name: str, rng: np.random.Generator) -> None:
    robot = named(name)
    check_motion(robot, *state(robot, rng))


def test_armature() -> None:
    """Rotors and friction count in the rates as they do in the full dynamics."""
    robot = load(random_tree(5, joints=5, mimic=0.0), True, 5, joint_dynamics=True)
    q, nu, tau = state(robot, np.random.default_rng(5))
    dnu = robot.forward_dynamics(q, nu, tau)
    close(robot.reduced_forward_dynamics(q, nu, tau).ddr, dnu[6:])
    close(robot.shape_inertia(q), robot.mass_matrix(q)[6:, 6:] - robot.mass_matrix(q)[6:, :6] @ robot.mechanical_connection(q))


# ---------------------------------------------------------------------------------------------------------------------
# Velocities


@few
@given(trees(max_joints=6), seeds)
def test_split(builder: fc.Builder, seed: int) -> None:
    """nu = vertical + horizontal, orthogonal in the kinetic energy; the horizontal part has no momentum (Sec. III-A)."""
    robot = load(builder, True, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    vertical, horizontal = robot.split_velocity(q, nu)
    mu, r = robot.locked_velocity(q, nu), nu[6:]
    M = robot.mass_matrix(q)
    close(vertical + horizontal, nu)
    close(vertical, [*mu, *np.zeros(robot.n)])
    assert np.array_equal(horizontal[6:], r)
    close((M @ horizontal)[:6], np.zeros(6))
    close(vertical @ M @ horizontal, 0.0)
    close(robot.kinetic_energy(q, nu), 0.5 * mu @ robot.locked_inertia(q) @ mu + 0.5 * r @ robot.shape_inertia(q) @ r)
    close(robot.base_velocity(q, r, mu), nu[:6])
    close(robot.base_velocity(q, r), horizontal[:6])  # nothing said of mu: no momentum
    close(robot.base_velocity(q, r=r, mu=mu), nu[:6])


@few
@given(trees(max_joints=6), seeds)
def test_generalized_jacobian(builder: fc.Builder, seed: int) -> None:
    """Without momentum, the twist of a link is that Jacobian times the shape velocity (15)."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    link = str(rng.choice(robot.link_names))
    horizontal = robot.split_velocity(q, nu).horizontal
    close(robot.generalized_jacobian(q, link) @ nu[6:], robot.frame_velocity(q, horizontal, link))


def check_centroid(robot: Plain, q: Array, nu: Array) -> None:
    """mu = X v_G, Lambda_b = X^-T I_G X^-1 and Lambda_q the block of the joints of the centroidal equations (paper 004, 43)."""
    H, _ = robot.split(q)
    R, c = H[:3, :3], H[:3, :3].T @ (robot.center_of_mass(q) - H[:3, 3])
    zero = np.zeros((3, 3))
    hat = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
    X = np.block([[R.T, hat @ R.T], [zero, R.T]])  # from the centroid, in the world's axes, to the base
    close(robot.locked_velocity(q, nu), X @ robot.average_velocity(q, nu))
    close(np.linalg.inv(X).T @ robot.centroidal_inertia(q) @ np.linalg.inv(X), robot.locked_inertia(q))
    close(X.T @ robot.locked_inertia(q) @ robot.locked_velocity(q, nu), robot.centroidal_momentum(q, nu))
    close(robot.equations_of_motion(q, nu, "centroidal").M[6:, 6:], robot.shape_inertia(q))
    # the momentum map is that momentum about the world's origin
    h, center = robot.centroidal_momentum(q, nu), robot.center_of_mass(q)
    close(robot.momentum_map(q, nu), [*h[:3], *(h[3:] + np.cross(center, h[:3]))])


@few
@given(trees(max_joints=6), seeds)
def test_centroid(builder: fc.Builder, seed: int) -> None:
    robot = load(builder, True, seed)
    check_centroid(robot, *state(robot, np.random.default_rng(seed))[:2])


@pytest.mark.parametrize("name", ROBOTS)
def test_centroid_of_robots(name: str, rng: np.random.Generator) -> None:
    robot = named(name)
    check_centroid(robot, *state(robot, rng)[:2])


@few
@given(trees(max_joints=6), seeds)
def test_symmetry(builder: fc.Builder, seed: int) -> None:
    """The pose of the base changes nothing but the momentum map."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    elsewhere = q.copy()
    elsewhere[:7] = robot.random_configuration(rng)[:7]
    for x, y in zip(robot.reduced_dynamics(elsewhere, nu), robot.reduced_dynamics(q, nu), strict=True):
        assert np.array_equal(x, y)
    # Def. 2: J = Ad^-T p
    H, _ = robot.split(q)
    R, o = H[:3, :3], H[:3, 3]
    p = (robot.mass_matrix(q) @ nu)[:6]
    close(robot.momentum_map(q, nu), [*(R @ p[:3]), *(R @ p[3:] + np.cross(o, R @ p[:3]))])


# ---------------------------------------------------------------------------------------------------------------------
# Free flight


def flight(robot: fc.Robot, steps: int, seconds: float = 0.5) -> tuple[Array, Array]:
    """A flight under joint torques that pay no heed to the base."""
    rng = np.random.default_rng(3)
    q, nu = robot.random_configuration(rng), 0.5 * robot.random_velocity(rng)
    tau, dt = 0.5 * rng.normal(size=robot.n), seconds / steps
    Q, V = [q], [nu]
    for k in range(steps):
        q, nu = robot.step(q, nu, np.cos(6.0 * (k + 0.5) * dt) * tau, dt, "rk4")
        Q.append(q)
        V.append(nu)
    return np.array(Q), np.array(V)


def test_momentum_is_conserved_in_flight() -> None:
    """Without gravity the momentum map stays, up to the integrator's error of fourth order; the locked velocity does not."""
    robot = fc.load("spacearm", gravity=(0, 0, 0))
    off = []
    for steps in (200, 400):
        Q, V = flight(robot, steps)
        J = robot.momentum_map(Q, V)
        off.append(np.abs(J - J[0]).max() / np.abs(J[0]).max())
    assert off[1] < 1e-6
    assert 10.0 < off[0] / off[1] < 22.0
    mu = robot.locked_velocity(Q, V)
    assert np.abs(mu - mu[0]).max() > 0.1 * np.abs(mu[0]).max()


def test_momentum_under_gravity() -> None:
    """Its linear part changes by the weight, its angular part by the weight's moment about the world's origin."""
    robot = fc.load("spacearm", gravity=GRAVITY)
    Q, V = flight(robot, 400)
    dt = 0.5 / 400
    J = robot.momentum_map(Q, V)
    weight = robot.mass * np.array(GRAVITY)
    close(J[-1, :3] - J[0, :3], 0.5 * weight, 1e-7)
    moments = np.cross(robot.center_of_mass(Q), weight)
    simpson = dt / 3.0 * (moments[0] + moments[-1] + 4.0 * moments[1:-1:2].sum(axis=0) + 2.0 * moments[2:-1:2].sum(axis=0))
    close(J[-1, 3:] - J[0, 3:], simpson, 1e-7)


# ---------------------------------------------------------------------------------------------------------------------
# What users run


def test_compiled(rng: np.random.Generator) -> None:
    """Batches into `out`, single states, and the same in Python."""
    robot = fc.load("spacearm")
    eager = plain(robot)
    Q = np.array([robot.random_configuration(rng) for _ in range(5)])
    V = rng.normal(size=(5, robot.nv))
    all_at_once = robot.reduced_dynamics(Q, V)
    out = tuple(np.full_like(x, np.nan) for x in all_at_once)
    robot.reduced_dynamics(Q, V, out=out)
    for k in range(5):
        for name, expected in eager.reduced_dynamics(Q[k], V[k])._asdict().items():
            close(getattr(all_at_once, name)[k], expected)
            assert np.array_equal(out[all_at_once._fields.index(name)][k], getattr(all_at_once, name)[k])
    rates = robot.reduced_forward_dynamics(Q, V, np.zeros(robot.nv))
    assert rates.mu_rate.shape == (5, 6)
    assert rates.ddr.shape == (5, robot.n)


def test_one_rigid_body(rng: np.random.Generator) -> None:
    """Without joints there is no shape: mu is the twist, and the equations are Euler-Poincare's (2)."""
    robot = plain(fc.load(random_tree(0, joints=0)))
    q, nu, tau = state(robot, rng)
    R = robot.reduced_dynamics(q, nu)
    assert R.A_l.shape == R.S.shape == (6, 0)
    assert R.Lambda_q.shape == R.Gamma_q.shape == R.B_2.shape == (0, 0)
    assert robot.curvature(q).shape == (6, 0, 0)
    assert np.array_equal(R.mu, nu)
    close(R.D_locked, -R.C_b)
    close(robot.reduced_forward_dynamics(q, nu, tau).mu_rate, robot.forward_dynamics(q, nu, tau))


def test_errors(rng: np.random.Generator) -> None:
    fixed = fc.load("spacearm", floating=False)
    q, nu, tau = state(fixed, rng)
    calls = [(name, (q,)) for name in OF_Q] + [(name, (q, nu)) for name in OF_NU] + [("reduced_forward_dynamics", (q, nu, tau))]
    for name, values in calls:
        with pytest.raises(fc.InputError, match="floating=True"):
            getattr(fixed, name)(*values)
    with pytest.raises(fc.InputError, match="floating=True"):
        fixed.generalized_jacobian(q, "hand")
    with pytest.raises(fc.InputError, match="floating=True"):
        fixed.base_velocity(q, nu)
    robot = fc.load("spacearm")
    q, nu, tau = state(robot, rng)
    with pytest.raises(fc.InputError, match="nu has the wrong shape"):
        robot.reduced_dynamics(q, nu[6:])
    with pytest.raises(fc.InputError, match="mu has the wrong shape"):
        robot.base_velocity(q, nu[6:], nu)
    with pytest.raises(fc.FallingCatError, match="hnd"):
        robot.generalized_jacobian(q, "hnd")
