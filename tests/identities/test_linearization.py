"""The linearization on the group of states (paper 000) against differences of the group and a complex step.

Two witnesses. The first knows nothing but the group and the dynamics: perturbed and unperturbed motions are advanced a little,
and what separates them is read off with `state_minus`. The second, to rounding, is a complex step through the source of the
dynamics, with ad(v) as the rate of Ad(exp(t v)).
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import aba, configuration
from fallingcat.algorithms.kinematics import body_forces, joint_kinematics
from fallingcat.spatial import Motion, Transform
from spread import one_in
from trees import (
    ALL,
    GRAVITY,
    REPRESENTATIONS,
    STEP,
    TIGHT,
    Array,
    Plain,
    body_velocity,
    condition,
    moved,
    plain,
    random_tree,
    relative_error,
    slope,
    state,
    stepped,
    trees,
)

few = settings(max_examples=10)
floating = st.booleans()
seeds = st.integers(0, 10_000)


def bound(robot: fc.Robot, q: Array) -> float:
    """Of what was multiplied by M^-1; up to a condition of 100 it is that of everything else."""
    return TIGHT * max(1.0, condition(robot.mass_matrix(q)) / 100.0)


def torques(robot: fc.Robot, q: Array, nu: Array, dnu: Array, velocity: str) -> Array:
    """Torques of an acceleration of order one."""
    return np.array(robot.inverse_dynamics(q, body_velocity(robot, q, nu, velocity), dnu))


# ---------------------------------------------------------------------------------------------------------------------
# The first witness: nothing but the group


def rates(robot: fc.Robot, q: Array, nu: Array, tau: Array, velocity: str) -> Array:
    """(body-fixed velocity, rate of nu) of a state whose base twist is in any representation."""
    body = body_velocity(robot, q, nu, velocity)
    a = np.array(robot.forward_dynamics(q, body, tau))
    if velocity != "body" and robot.floating:
        H, _ = robot.split(q)
        R, p = H[:3, :3], H[:3, 3]
        beside = np.cross(p, R @ a[3:6]) if velocity == "inertial" else R @ np.cross(body[3:6], body[:3])
        a[:3], a[3:6] = R @ a[:3] + beside, R @ a[3:6]
    return np.concatenate([body, a])


def separation(robot: fc.Robot, q: Array, nu: Array, tau: Array, velocity: str, z: Array, u: Array, t: float) -> Array:
    """What separates the perturbed motion from the unperturbed one after a short time, to first order in it."""
    ends = []
    for state_, torque in (((q, nu), tau), (robot.state_plus(q, nu, z), tau + u)):
        k = rates(robot, *state_, torque, velocity)
        ends += robot.state_plus(*state_, t * k)
    return np.array(robot.state_minus(*ends))


def differenced(robot: fc.Robot, q: Array, nu: Array, tau: Array, velocity: str) -> tuple[Array, Array]:
    """A and B by central differences in the perturbation and in time."""
    h, nv = 1e-4, robot.nv
    still, at_rest = np.zeros(2 * nv), np.zeros(nv)

    def mixed(z: Array, u: Array) -> Array:
        signs = ((1, 1), (-1, -1), (1, -1), (-1, 1))
        total = sum(a * b * separation(robot, q, nu, tau, velocity, a * h * z, a * h * u, b * h) for a, b in signs)
        return np.asarray(total) / (4 * h * h)

    A = np.array([mixed(e, at_rest) for e in np.eye(2 * nv)]).T
    B = np.array([mixed(still, e) for e in np.eye(nv)[nv - robot.n :]]).reshape(robot.n, 2 * nv).T
    return A, B


@pytest.mark.parametrize(("type_", "velocity"), one_in(3, ALL, REPRESENTATIONS))
def test_against_differences_of_the_group(type_: str, velocity: str) -> None:
    """Every block of A and B, for every joint type, without any formula of the paper."""
    robot = plain(fc.load(random_tree(11, joints=2, types=(type_,), fixed=0.0), gravity=GRAVITY))
    q, nu, dnu = state(robot, np.random.default_rng(2))
    tau = torques(robot, q, nu, dnu, velocity)
    L = robot.linearize(q, nu, tau, representation=velocity)
    A, B = differenced(robot, q, nu, tau, velocity)
    nv = robot.nv
    for rows in (slice(0, 6), slice(6, nv), slice(nv, nv + 6), slice(nv + 6, 2 * nv)):
        for columns in (slice(0, 6), slice(6, nv), slice(nv, nv + 6), slice(nv + 6, 2 * nv)):
            assert relative_error(L.A[rows, columns], A[rows, columns]) < 2e-6
        assert relative_error(L.B[rows], B[rows]) < 2e-6


def test_the_bracket_is_seen() -> None:
    """The first witness would notice a missing -ad(v), and a spherical joint's own."""
    robot = plain(fc.load(random_tree(11, joints=2, types=("spherical",), fixed=0.0), gravity=GRAVITY))
    q, nu, dnu = state(robot, np.random.default_rng(2))
    tau = torques(robot, q, nu, dnu, "body")
    A, _ = differenced(robot, q, nu, tau, "body")
    assert np.abs(A[:6, :6]).max() > 0.5
    assert np.abs(A[6:9, 6:9]).max() > 0.5


# ---------------------------------------------------------------------------------------------------------------------
# The second witness: complex step


def complex_rates(model: Any, q: Any, nu: Any, tau: Any, f: Any, velocity: str) -> list[Any]:
    if velocity == "body" or not model.floating:
        return [*nu, *aba.forward_dynamics(model, q, nu, tau, f)]
    X = joint_kinematics(model, q)[0][0]
    if velocity == "mixed":
        X = Transform(X.E, (0.0, 0.0, 0.0), X.a, X.b)
    v = X @ Motion.of(nu[:6], X.b)
    body = [*v.entries(), *nu[6:]]
    a = aba.forward_dynamics(model, q, body, tau, f)
    rate = Motion.of(a[:6], X.a)
    if velocity == "mixed":
        rate = rate + Motion((0.0, 0.0, 0.0), v.ang, X.a).cross(v)
    return [*body, *(X.inverse() @ rate).entries(), *a[6:]]


def stepped_through(
    robot: fc.Robot, q: Array, nu: Array, tau: Array, velocity: str, wrenches: dict[str, Array] | None = None
) -> tuple[Array, Array]:
    model, nv = robot.model, robot.nv
    f = body_forces(model, {k: list(w) for k, w in (wrenches or {}).items()})
    E = np.eye(nv)
    by_q = [slope(complex_rates(model, moved(model, q, e), list(nu), list(tau), f, velocity)) for e in E]
    by_nu = [slope(complex_rates(model, list(q), stepped(nu, e), list(tau), f, velocity)) for e in E]
    by_tau = [slope(complex_rates(model, list(q), list(nu), stepped(tau, e), f, velocity)) for e in E[nv - robot.n :]]
    A = np.array(by_q + by_nu).T
    body = body_velocity(robot, q, nu, velocity)
    A[:nv, :nv] += slope(configuration.integrate_derivatives(model, [complex(0.0, STEP * x) for x in body]).dq_dq)
    return A, np.array(by_tau).reshape(robot.n, 2 * nv).T


def check(robot: fc.Robot, q: Array, nu: Array, dnu: Array, velocity: str, wrenches: dict[str, Array] | None = None) -> float:
    tau = torques(robot, q, nu, dnu, velocity)
    L = robot.linearize(q, nu, tau, wrenches, velocity)
    A, B = stepped_through(robot, q, nu, tau, velocity, wrenches)
    limit = bound(robot, q)
    assert relative_error(L.A, A) < limit
    assert relative_error(L.B, B) < limit
    return relative_error(L.A, A)


@pytest.mark.parametrize("velocity", REPRESENTATIONS)
@pytest.mark.parametrize("base", ["floating", "fixed"])
@pytest.mark.parametrize("type_", ALL)
def test_against_a_complex_step(type_: str, base: str, velocity: str) -> None:
    """A branched robot of one joint type only, seen from its root and from the middle."""
    builder = random_tree(11, joints=3, types=(type_,), fixed=0.0)
    for link in ("link0", "link2"):
        robot = plain(fc.load(builder, floating=base == "floating", base=link, gravity=GRAVITY))
        check(robot, *state(robot, np.random.default_rng(2)), velocity)


@few
@given(trees(5), floating, seeds, st.sampled_from(REPRESENTATIONS))
def test_random_trees(builder: fc.Builder, floats: bool, seed: int, velocity: str) -> None:
    """Mixed joint types, joints that follow others, joint dynamics, external wrenches."""
    robot = plain(fc.load(builder, floating=floats, gravity=GRAVITY, joint_dynamics=True))
    rng = np.random.default_rng(seed)
    wrenches = {str(name): rng.normal(size=6) for name in rng.choice(robot.frame_names, size=2, replace=False)}
    check(robot, *state(robot, rng), velocity, wrenches)


SQUARE_ROOT = np.sqrt(0.5)
ORIENTATIONS = {
    "upright": (0.0, 0.0, 0.0, 1.0),
    "pitch of 90 degrees: gimbal lock": (0.0, SQUARE_ROOT, 0.0, SQUARE_ROOT),
    "pitch of -90 degrees": (0.0, -SQUARE_ROOT, 0.0, SQUARE_ROOT),
    "upside down": (1.0, 0.0, 0.0, 0.0),
    "half a turn about z": (0.0, 0.0, 1.0, 0.0),
}


@pytest.mark.parametrize("velocity", REPRESENTATIONS)
def test_every_orientation_of_the_base(velocity: str, rng: np.random.Generator) -> None:
    """Gimbal lock, upside down, random: always the same precision, 1e-10 and better, because nothing is singular."""
    robot = fc.load("tree9")
    errors = {}
    turned = [*ORIENTATIONS.values(), *(robot.random_configuration(rng)[3:7] for _ in range(5))]
    for k, orientation in enumerate(turned):
        q, nu, dnu = state(robot, rng)
        q[3:7] = orientation
        tau = torques(robot, q, nu, dnu, velocity)
        A, B = stepped_through(robot, q, nu, tau, velocity)
        L = robot.linearize(q, nu, tau, representation=velocity)
        errors[k] = max(relative_error(L.A, A), relative_error(L.B, B))
    assert max(errors.values()) < 1e-10


# ---------------------------------------------------------------------------------------------------------------------
# Structure


def test_the_blocks(rng: np.random.Generator) -> None:
    """Eq. (42): [[-ad(v), 0, 1, 0], [0, 0, 0, 1], [D1 D2 D3 D4]] and [0; M^-1 S]."""
    robot = fc.load("tree9")
    q, nu, dnu = state(robot, rng)
    nv, n = robot.nv, robot.n
    tau = torques(robot, q, nu, dnu, "body")
    A, B = (np.asarray(x) for x in robot.linearize(q, nu, tau))
    V, W = (np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]]) for x in (nu[:3], nu[3:6]))
    ad = np.block([[W, V], [np.zeros((3, 3)), W]])
    np.testing.assert_array_equal(A[:6, :6], -ad)
    assert np.all(A[:6, 6:nv] == 0.0)
    assert np.all(A[6:nv, :nv] == 0.0)
    np.testing.assert_array_equal(A[:nv, nv:], np.eye(nv))
    FD = robot.forward_dynamics_derivatives(q, nu, tau)
    assert relative_error(A[nv:, :nv], FD.ddnu_dq) < TIGHT
    assert relative_error(A[nv:, nv:], FD.ddnu_dnu) < TIGHT
    assert np.all(B[:nv] == 0.0)
    assert B.shape == (2 * nv, n)
    assert relative_error(B[nv:], np.linalg.inv(robot.mass_matrix(q))[:, 6:]) < 1e-10


def test_closed_form_of_the_derivative_by_the_pose(rng: np.random.Generator) -> None:
    """D1 FD = [[0, (R^T g)^], [0, 0]] for the base and 0 for the joints, exactly: turning a robot turns gravity only."""
    robot = fc.load("humanoid", gravity=GRAVITY)
    q, nu, dnu = state(robot, rng)
    tau = torques(robot, q, nu, dnu, "body")
    D1 = np.asarray(robot.linearize(q, nu, tau).A)[robot.nv :, :6]
    H, _ = robot.split(q)
    x, y, z = H[:3, :3].T @ np.array(GRAVITY)
    expected = np.zeros((robot.nv, 6))
    expected[:3, 3:] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    assert np.abs(D1 - expected).max() < 1e-14
    assert np.all(D1[6:] == 0.0)


def test_inertial_is_the_same_system_in_other_coordinates(rng: np.random.Generator) -> None:
    """Erratum 0.2: blocks (1,1) = 0 and (1,3) = 0X_A, and the same eigenvalues along an equilibrium of the velocities."""
    robot = fc.load("tree9", gravity=(0.0, 0.0, 0.0))
    q = robot.random_configuration(rng)
    tau = np.zeros(robot.nv)
    still = np.zeros(robot.nv)
    body, inertial = (np.asarray(robot.linearize(q, still, tau, representation=v).A) for v in ("body", "inertial"))
    assert np.all(inertial[:6, :6] == 0.0)
    T = np.eye(2 * robot.nv)
    T[robot.nv : robot.nv + 6, robot.nv : robot.nv + 6] = np.linalg.inv(inertial[:6, robot.nv : robot.nv + 6])
    assert relative_error(np.linalg.inv(T) @ inertial @ T, body) < 1e-10


# ---------------------------------------------------------------------------------------------------------------------
# Calls


def test_batches_and_joint_torques(rng: np.random.Generator) -> None:
    """Time-varying linearization: one call for a trajectory; n torques mean no wrench on the base; every way to call."""
    robot = fc.load("spacearm")
    Q = np.array([robot.random_configuration(rng) for _ in range(7)])
    V, U = rng.normal(size=(7, robot.nv)), rng.normal(size=(7, robot.n))
    tau = np.concatenate([np.zeros((7, 6)), U], axis=1)
    for velocity in REPRESENTATIONS:
        many = robot.linearize(Q, V, U, representation=velocity)
        assert many.A.shape == (7, 2 * robot.nv, 2 * robot.nv)
        assert many.B.shape == (7, 2 * robot.nv, robot.n)
        for k in range(7):
            for one in (
                robot.linearize(Q[k], V[k], tau[k], None, velocity),
                robot.linearize(Q[k], V[k], U[k], representation=velocity),
                robot.linearize(Q[k].tolist(), V[k], U[k], representation=velocity),
            ):
                assert relative_error(one.A, many.A[k]) < TIGHT
                assert relative_error(one.B, many.B[k]) < TIGHT
    out = (np.empty_like(many.A), np.empty_like(many.B))
    robot.linearize(Q, V, tau, representation="inertial", out=out)
    np.testing.assert_array_equal(out[0], many.A)


def test_mistakes_are_refused(rng: np.random.Generator) -> None:
    robot = fc.load("spacearm")
    q, nu, _ = state(robot, rng)
    with pytest.raises(fc.InputError, match="unknown representation"):
        robot.linearize(q, nu, nu, representation="spatial")
    with pytest.raises(fc.InputError, match="tau has the wrong shape"):
        robot.linearize(q, nu, nu[:3])
    with pytest.raises(fc.InputError, match="tau"):
        robot.linearize(q, nu, None)  # type: ignore[arg-type]
    with pytest.raises(fc.InputError, match="tau"):
        robot.linearize(q, nu, [[1.0], [1.0, 2.0]])  # type: ignore[list-item]


@few
@given(trees(5), floating, seeds)
def test_derivatives_of_integrate(builder: fc.Builder, floats: bool, seed: int) -> None:
    """Ad(exp(-dx)) and the right Jacobian, by central differences of the group."""
    robot: Plain = plain(fc.load(builder, floating=floats))
    rng = np.random.default_rng(seed)
    q, dx = robot.random_configuration(rng), rng.normal(size=robot.nv)
    D = robot.integrate_derivatives(dx)
    end, h = robot.integrate(q, dx), 1e-5
    by_q, by_dx = [], []
    for e in h * np.eye(robot.nv):
        sides = [robot.difference(end, robot.integrate(robot.integrate(q, s * e), dx)) for s in (1, -1)]
        by_q.append((sides[0] - sides[1]) / (2 * h))
        sides = [robot.difference(end, robot.integrate(q, dx + s * e)) for s in (1, -1)]
        by_dx.append((sides[0] - sides[1]) / (2 * h))
    assert relative_error(D.dq_dq, np.array(by_q).T) < 1e-8
    assert relative_error(D.dq_ddx, np.array(by_dx).T) < 1e-8


@few
@given(trees(5), floating, seeds)
def test_plus_and_minus_undo_each_other(builder: fc.Builder, floats: bool, seed: int) -> None:
    """On the group of eq. (17), for perturbations short of half a turn."""
    robot = plain(fc.load(builder, floating=floats))
    rng = np.random.default_rng(seed)
    q, nu = robot.random_configuration(rng), robot.random_velocity(rng)
    z = rng.uniform(-1.0, 1.0, size=2 * robot.nv)
    end = robot.state_plus(q, nu, z)
    assert relative_error(robot.state_minus(q, nu, *end), z) < TIGHT
    back = robot.state_plus(*end, np.asarray(robot.state_minus(*end, q, nu)))
    assert relative_error(robot.state_minus(q, nu, *back), np.zeros(2 * robot.nv)) < TIGHT
