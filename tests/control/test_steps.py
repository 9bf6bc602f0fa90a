"""Steps in time and their derivatives: order of convergence, differences of the step, and the flow of the linearization."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import fallingcat as fc
from spread import one_in
from trees import ALL, Array, plain, random_tree, relative_error, state

METHODS = {"euler": 1, "midpoint": 2, "rk4": 4}
"""The steps and their orders."""
GROUPS = ("revolute", "spherical", "planar", "floating")


def groups_robot(floating: bool = True, seed: int = 3) -> fc.Robot:
    """Joints on all kinds of groups, in one small tree."""
    return plain(fc.load(random_tree(seed, joints=3, types=GROUPS[1:], fixed=0.0, mimic=0.0), floating=floating))


def marched(robot: fc.Robot, q: Array, nu: Array, tau: Array, time: float, steps: int, method: str) -> tuple[Array, Array]:
    for _ in range(steps):
        q, nu = robot.step(q, nu, tau, time / steps, method)
    return q, nu


@pytest.mark.parametrize(("method", "floating"), one_in(2, METHODS, [True, False]))
def test_order_of_convergence(method: str, floating: bool) -> None:
    """Halving the step divides the error by 2^order, also on spherical, planar and free joints; against 128 fine steps."""
    robot = groups_robot(floating)
    q, nu, dnu = state(robot, np.random.default_rng(5))
    nu, tau, time = 0.5 * nu, robot.inverse_dynamics(q, 0.5 * nu, 0.5 * dnu), 0.1
    exact = marched(robot, q, nu, tau, time, 128, "rk4")
    errors = []
    for steps in (4, 8, 16, 32):
        errors.append(np.abs(robot.state_minus(*exact, *marched(robot, q, nu, tau, time, steps, method))).max())
    slopes = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.abs(slopes[-2:] - METHODS[method]).max() < 0.1


def test_long_motion_keeps_energy_and_group() -> None:
    """A free robot in vacuum: rk4 keeps energy and momentum, and quaternions stay of unit length by themselves."""
    robot = fc.load("spacearm", gravity=(0.0, 0.0, 0.0))
    rng = np.random.default_rng(1)
    q, nu = robot.random_configuration(rng), 0.5 * robot.random_velocity(rng)
    before = robot.kinetic_energy(q, nu)
    q, nu = marched(robot, q, nu, np.zeros(robot.n), 1.0, 1000, "rk4")
    assert abs(np.linalg.norm(q[3:7]) - 1.0) < 1e-12
    assert abs(robot.kinetic_energy(q, nu) / before - 1.0) < 1e-7


def test_a_thrown_brick_flies_on_a_parabola() -> None:
    """A closed form: the centre of mass falls, the brick turns about a principal axis."""
    builder = fc.Builder("brick")
    builder.link("brick", mass=2.0, inertia=(0.1, 0.0, 0.0, 0.2, 0.0, 0.25))
    robot = fc.load(builder)
    q, nu = robot.neutral(), np.array([1.0, 2.0, 3.0, 0.0, 0.0, 4.0])
    q, nu = marched(robot, q, nu, np.zeros(6), 0.5, 50, "rk4")
    assert relative_error(q[:3], [0.5, 1.0, 1.5 - 9.81 / 8]) < 1e-7
    assert relative_error(q[3:7], [0.0, 0.0, np.sin(1.0), np.cos(1.0)]) < 1e-12


# ---------------------------------------------------------------------------------------------------------------------
# Derivatives of the step


def differences_of_the_step(
    robot: fc.Robot, q: Array, nu: Array, tau: Array, dt: float, method: str, wrenches: Any = None
) -> tuple[Array, Array]:
    """A and B by central differences on the group."""
    h, nv = 1e-5, robot.nv
    end = robot.step(q, nu, tau, dt, method, wrenches)

    def after(z: Array, u: Array) -> Array:
        there = robot.step(*robot.state_plus(q, nu, z), tau + u, dt, method, wrenches)
        return np.array(robot.state_minus(*end, *there))

    still = np.zeros(nv)
    A = [(after(h * e, still) - after(-h * e, still)) / (2 * h) for e in np.eye(2 * nv)]
    B = [(after(np.zeros(2 * nv), h * e) - after(np.zeros(2 * nv), -h * e)) / (2 * h) for e in np.eye(nv)[nv - robot.n :]]
    return np.array(A).T, np.array(B).reshape(robot.n, 2 * nv).T


@pytest.mark.parametrize(("type_", "method"), one_in(3, ALL, METHODS))
def test_derivatives_of_the_step(type_: str, method: str) -> None:
    """Every joint type, external wrenches, a step long enough for the curvature of the group to count."""
    robot = plain(fc.load(random_tree(11, joints=2, types=(type_,), fixed=0.0)))
    q, nu, dnu = state(robot, np.random.default_rng(4))
    tau = robot.inverse_dynamics(q, nu, dnu)
    wrenches = {robot.link_names[-1]: np.array([1.0, -2.0, 0.5, 0.3, -0.2, 0.1])}
    D = robot.discretize(q, nu, tau, 0.1, method, wrenches)
    A, B = differences_of_the_step(robot, q, nu, tau, 0.1, method, wrenches)
    assert relative_error(D.A, A) < 1e-6
    assert relative_error(D.B, B) < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_of_many_steps_multiply(method: str) -> None:
    """The chain rule on the group: the product of the derivatives is the derivative of the whole motion."""
    robot = fc.load("tree9")
    q, nu, dnu = state(robot, np.random.default_rng(4))
    tau = robot.inverse_dynamics(q, nu, dnu)
    total, x = np.eye(2 * robot.nv), (q, nu)
    for _ in range(20):
        total = robot.discretize(*x, tau, 0.005, method).A @ total
        x = tuple(robot.step(*x, tau, 0.005, method))
    z = np.random.default_rng(6).normal(size=2 * robot.nv)
    ends = [marched(robot, *robot.state_plus(q, nu, s * 1e-6 * z), tau, 0.1, 20, method) for s in (1, -1)]
    sides = [robot.state_minus(*x, *end) for end in ends]
    difference = (np.asarray(sides[0]) - np.asarray(sides[1])) / 2e-6
    assert np.abs(total @ z - difference).max() < 1e-6 * np.abs(difference).max()


# ---------------------------------------------------------------------------------------------------------------------
# The flow of the linearization


def test_zoh_is_the_matrix_exponential(rng: np.random.Generator) -> None:
    """Against SciPy's exponential of [[A, B], [0, 0]] dt, for a batch of states and times."""
    robot = fc.load("tree9")
    Q = np.array([robot.random_configuration(rng) for _ in range(4)])
    V, tau, dt = rng.normal(size=(4, robot.nv)), rng.normal(size=(4, robot.n)), np.array([0.0, 1e-3, 0.05, 0.3])
    D = robot.discretize(Q, V, tau, dt)
    L = robot.linearize(Q, V, tau)
    m, n = 2 * robot.nv, robot.n
    for k in range(4):
        whole = np.zeros((m + n, m + n))
        whole[:m, :m], whole[:m, m:] = L.A[k], L.B[k]
        E = scipy.linalg.expm(whole * dt[k])
        scale = np.abs(E).max()
        assert np.abs(D.A[k] - E[:m, :m]).max() < 1e-12 * scale
        assert np.abs(D.B[k] - E[:m, m:]).max() < 1e-12 * scale


def test_all_methods_agree_to_their_order() -> None:
    """At an equilibrium the linearization is constant along the motion, so that the flow is what the steps approach."""
    robot = plain(fc.load(random_tree(3, joints=3, types=GROUPS[:2], fixed=0.0, mimic=0.0), floating=False))
    q = robot.random_configuration(0)
    tau = robot.gravity_torque(q)
    still = np.zeros(robot.nv)
    for method, order in (("euler", 2), ("midpoint", 3), ("rk4", 5)):
        errors = []
        for dt in (0.04, 0.02):
            exact, ours = robot.discretize(q, still, tau, dt), robot.discretize(q, still, tau, dt, method)
            errors.append(max(np.abs(exact.A - ours.A).max(), np.abs(exact.B - ours.B).max()))
        assert np.log2(errors[0] / errors[1]) > order - 0.5


# ---------------------------------------------------------------------------------------------------------------------
# Calls


@pytest.fixture(params=["spacearm", "fixed"])
def robot(request: pytest.FixtureRequest) -> fc.Robot:
    return fc.load("spacearm", floating=request.param != "fixed")


def test_batches(robot: fc.Robot, rng: np.random.Generator) -> None:
    """Batches broadcast, also over time, and give what single states give; n torques mean no wrench on the base."""
    Q = np.array([robot.random_configuration(rng) for _ in range(3)])
    V, U, dt = rng.normal(size=(2, 1, robot.nv)), rng.normal(size=robot.n), np.array([0.01, 0.02, 0.03])
    tau = np.concatenate([np.zeros(robot.nv - robot.n), U])
    for method in METHODS:
        X, D = robot.step(Q, V, U, dt, method), robot.discretize(Q, V, U, dt, method)
        assert X.q.shape == (2, 3, robot.nq)
        assert D.B.shape == (2, 3, 2 * robot.nv, robot.n)
        for i, k in np.ndindex(2, 3):
            x, d = (f(Q[k], V[i, 0], tau, dt[k], method) for f in (robot.step, robot.discretize))
            for many, one in zip((X.q, X.nu, D.A, D.B), (*x, *d), strict=True):
                assert relative_error(one, many[i, k]) < 1e-12
    z = rng.normal(size=(2, 3, 2 * robot.nv))
    moved = robot.state_plus(Q, V, z)
    assert moved.q.shape == (2, 3, robot.nq)
    assert robot.state_minus(Q, V, *moved).shape == z.shape


def test_out(robot: fc.Robot, rng: np.random.Generator) -> None:
    """Results go where they are told to, also over the arguments themselves."""
    q, nu, _ = state(robot, rng)
    tau, z = np.zeros(robot.nv), rng.normal(size=2 * robot.nv) / 4
    for method in ("zoh", *METHODS):
        expected = robot.discretize(q, nu, tau, 0.01, method)
        out = (np.empty((2 * robot.nv, 2 * robot.nv)), np.empty((2 * robot.nv, robot.n)))
        assert robot.discretize(q, nu, tau, 0.01, method, out=out).A is out[0]
        np.testing.assert_array_equal(out[0], expected.A)
        np.testing.assert_array_equal(out[1], expected.B)
    to = robot.state_plus(q, nu, z)
    difference = np.empty(2 * robot.nv)
    assert robot.state_minus(q, nu, *to, out=difference) is difference
    assert relative_error(difference, z) < 1e-12
    expected_state = robot.step(q, nu, tau, 0.01)
    x = (q.copy(), nu.copy())
    robot.step(*x, tau, 0.01, out=x)
    np.testing.assert_array_equal(x[0], expected_state.q)
    np.testing.assert_array_equal(x[1], expected_state.nu)
    with pytest.raises(fc.InputError, match="out"):
        robot.step(q, nu, tau, 0.01, out=(np.empty(2), np.empty(3)))


def test_no_time_is_no_step(robot: fc.Robot, rng: np.random.Generator) -> None:
    q, nu, _ = state(robot, rng)
    for method in METHODS:
        x = robot.step(q, nu, np.zeros(robot.n), 0.0, method)
        assert np.abs(robot.state_minus(q, nu, *x)).max() < 1e-14
    for method in ("zoh", *METHODS):
        D = robot.discretize(q, nu, np.zeros(robot.n), 0.0, method)
        assert relative_error(D.A, np.eye(2 * robot.nv)) < 1e-15
        assert np.all(D.B == 0.0)


def test_mistakes_are_refused(robot: fc.Robot, rng: np.random.Generator) -> None:
    q, nu, tau = state(robot, rng)
    with pytest.raises(fc.InputError, match=r"unknown method.*'euler', 'midpoint' or 'rk4'"):
        robot.step(q, nu, tau, 0.1, "zoh")
    with pytest.raises(fc.InputError, match=r"unknown method.*'zoh'"):
        robot.discretize(q, nu, tau, 0.1, "tustin")
    for dt in (np.nan, np.inf, "soon", None):
        with pytest.raises(fc.InputError, match="dt is not a time"):
            robot.step(q, nu, tau, dt)  # type: ignore[arg-type]
    with pytest.raises(fc.InputError, match="tau has the wrong shape"):
        robot.step(q, nu, tau[:2], 0.1)
    with pytest.raises(fc.InputError, match="wrenches is not a mapping"):
        robot.step(q, nu, tau, 0.1, wrenches=np.zeros(6))  # type: ignore[arg-type]
    with pytest.raises(fc.FrameError):
        robot.discretize(q, nu, tau, 0.1, wrenches={"nowhere": np.zeros(6)})
    with pytest.raises(fc.InputError, match="z has the wrong shape"):
        robot.state_plus(q, nu, tau)
    with pytest.raises(fc.InputError, match="q1 has the wrong shape"):
        robot.state_minus(q, nu, nu[:3], nu)
