"""The iterative regulator: Riccati's solution of linear problems, gradients by differences, limits, swing-ups, turns."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import ilqr as method
from fallingcat.control.bounded import bounded_newton
from fallingcat.control.ilqr_problem import problem_of
from trees import Array


def gantry() -> fc.Robot:
    """Two sliders, one on the other: a linear system, whose mass matrix is constant."""
    b = fc.Builder("gantry")
    b.link("floor")
    b.link("bridge", mass=3.0)
    b.link("trolley", mass=1.0)
    b.joint("long", "prismatic", "floor", "bridge", axis=(1, 0, 0))
    b.joint("skew", "prismatic", "bridge", "trolley", axis=(0.6, 0.8, 0))
    return fc.load(b, floating=False, gravity=(0, 0, 0))


def pendulum() -> fc.Robot:
    b = fc.Builder("pendulum")
    b.link("wall")
    b.link("bar", mass=1.0, com=(0, 0, -0.5), inertia=(0.02, 0, 0, 0.02, 0, 1e-3))
    b.joint("hinge", "continuous", "wall", "bar", axis=(0, 1, 0))
    return fc.load(b, floating=False)


def satellite() -> fc.Robot:
    """A body in space with three wheels, off its centre of mass and along no axes of inertia: all that drives it."""
    b = fc.Builder("satellite")
    b.link("body", mass=5.0, com=(0.02, -0.01, 0.03), inertia=(0.10, 0.01, 0, 0.12, 0.02, 0.08))
    for name, axis, at in (("x", (1, 0, 0), (0.1, 0, 0)), ("y", (0, 1, 0), (0, 0.1, 0)), ("z", (0, 0.28, 0.96), (0, 0, 0.1))):
        b.link(f"wheel_{name}", mass=0.5, inertia=(0.004, 0, 0, 0.004, 0, 0.004))
        b.joint(f"spin_{name}", "continuous", "body", f"wheel_{name}", axis=axis, xyz=at)
    return fc.load(b, gravity=(0, 0, 0))


def drone() -> fc.Robot:
    """A plate with four thrusters, each leaning its own way, and a driven arm."""
    b = fc.Builder("drone")
    b.link("plate", mass=1.0, inertia=(0.02, 0, 0, 0.02, 0, 0.03))
    b.link("arm", mass=0.3, com=(0, 0, -0.15), inertia=(3e-3, 0, 0, 3e-3, 0, 3e-4))
    b.joint("shoulder", "revolute", "plate", "arm", axis=(0, 1, 0), xyz=(0.02, 0, -0.03))
    places = ((0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2))
    jets = [fc.thruster("plate", (0.2 * y, -0.1 * x, 1), point=(x, y, 0.03), moment_ratio=0.02 * x / y) for x, y in places]
    return fc.load(b).with_actuation([*jets, "shoulder"])


def some_weight(size: int, seed: int) -> Array:
    G = np.random.default_rng(seed).normal(size=(size, size))
    return G @ G.T / size + 0.1 * np.eye(size)


def total(robot: fc.Robot, q: Array, nu: Array, u: Array, dt: float, target: Any, weights: Any, how: str = "euler") -> Array:
    """The cost by its definition, of controls (..., T, m)."""
    Q, R, Q_final = weights
    made = robot.rollout(q, nu, u, dt, how)
    z = robot.state_minus(*target, made.q, made.nu)
    terms = ((z[..., :-1, :], Q), (u, R), (z[..., -1:, :], Q_final))
    return 0.5 * sum(np.einsum("...ti,ij,...tj->...", x, W, x) for x, W in terms)


def by_differences(cost: Any, u: Array, h: float = 1e-5) -> Array:
    """The gradient by controls: central differences of fourth order, all at once."""
    moves = np.eye(u.size).reshape(u.size, *u.shape)
    first, second = (cost(u + k * h * moves) - cost(u - k * h * moves) for k in (1, 2))
    return ((8.0 * first - second) / (12.0 * h)).reshape(u.shape)


def falls(found: fc.control.ilqr.OptimalControl) -> None:
    assert (np.diff(found.costs) < 0.0).all()
    assert found.cost == found.costs[-1]


# ---------------------------------------------------------------------------------------------------------------------
# Linear problems


def test_a_linear_problem_takes_one_iteration() -> None:
    """The recursion of Riccati, written down once more, gives the same controls and gains."""
    robot, T, dt = gantry(), 40, 0.05
    q, nu = np.array([0.7, -0.4]), np.array([-0.2, 0.5])
    goal, still = np.array([0.1, 0.2]), np.zeros(2)
    Q, R, P = some_weight(4, 0), some_weight(2, 1), some_weight(4, 2)
    guess = np.random.default_rng(3).normal(size=(T, 2))
    found = fc.ilqr(robot, q, nu, guess, dt, (goal, still), Q=Q, R=R, Q_final=P)
    assert (found.iterations, found.converged, len(found.costs)) == (1, True, 2)
    falls(found)

    M = robot.mass_matrix(q)
    B = np.vstack([dt**2 * np.linalg.inv(M), dt * np.linalg.inv(M)])
    A = np.block([[np.eye(2), dt * np.eye(2)], [np.zeros((2, 2)), np.eye(2)]])
    K = np.zeros((T, 2, 4))
    for k in reversed(range(T)):
        K[k] = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K[k])
    np.testing.assert_allclose(found.gains, -K, rtol=1e-9, atol=1e-9)
    x = np.concatenate([q - goal, nu])
    assert found.cost == pytest.approx(0.5 * x @ P @ x, rel=1e-9)
    for k in range(T):
        np.testing.assert_allclose(np.concatenate([found.trajectory.q[k] - goal, found.trajectory.nu[k]]), x, atol=1e-9)
        np.testing.assert_allclose(found.controls[k], -K[k] @ x, atol=1e-9)
        x = (A - B @ K[k]) @ x


def test_with_the_cost_of_all_time_at_the_end_it_is_dlqr() -> None:
    robot, still = gantry(), np.zeros(2)
    Q, R = some_weight(4, 4), some_weight(2, 5)
    K, P = fc.dlqr(*robot.discretize(still, still, still, 0.1, "rk4"), Q, R)
    found = fc.ilqr(robot, [0.3, 0.1], [0.0, -0.2], np.zeros((12, 2)), 0.1, (still, still), Q=Q, R=R, Q_final=P, method="rk4")
    assert found.iterations == 1
    np.testing.assert_allclose(found.gains, np.broadcast_to(-K, found.gains.shape), rtol=1e-9, atol=1e-9)
    z = np.concatenate([found.trajectory.q, found.trajectory.nu], axis=-1)
    np.testing.assert_allclose(found.controls, -z[:-1] @ K.T, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# Gradients, and what holds at the best motion


@pytest.mark.parametrize("how", ["euler", "rk4"])
def test_the_gradient(how: str) -> None:
    """Of the total cost by all controls, far from the target: adjoint of what the backward pass sees, against differences."""
    robot, T, dt = drone(), 8, 0.05
    rng = np.random.default_rng(0)
    q, nu = robot.random_configuration(1), 0.5 * robot.random_velocity(2)
    target = robot.state_plus(q, nu, rng.normal(size=2 * robot.nv) * ([1.0] * 3 + [1.3] * 3 + [1.0] * 8))
    u = 3.0 + rng.normal(size=(T, robot.m))
    weights = some_weight(2 * robot.nv, 1), some_weight(robot.m, 2), 5.0 * some_weight(2 * robot.nv, 3)
    problem = problem_of(robot, q, nu, u, dt, target, weights[0], weights[1], weights[2], how, None, None)
    motion = method._first(problem)
    assert motion.cost == pytest.approx(total(robot, q, nu, u, dt, target, weights, how), rel=1e-12)

    near = method._around(problem, motion)
    gradient, costate = np.empty_like(u), near.l_x[T]
    for k in reversed(range(T)):
        gradient[k] = near.l_u[k] + near.B[k].T @ costate
        costate = near.l_x[k] + near.A[k].T @ costate
    witness = by_differences(lambda v: total(robot, q, nu, v, dt, target, weights, how), u, 1e-4)
    np.testing.assert_allclose(gradient, witness, rtol=1e-6, atol=1e-8 * np.abs(witness).max())

    policy = method._backward(problem, motion, near, 0.0)
    h, ends = 1e-4, []
    for length in (h, -h):
        x, v, there = q, nu, np.empty_like(u)
        for k in range(T):
            there[k] = u[k] + length * policy.k[k] + policy.K[k] @ robot.state_minus(motion.q[k], motion.nu[k], x, v)
            x, v = robot.step(x, v, there[k], dt, how)
        ends.append(total(robot, q, nu, there, dt, target, weights, how))
    assert policy.slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)


def test_the_gradient_vanishes_at_the_best_motion_and_limits_push_back() -> None:
    """Karush, Kuhn and Tucker: no slope along free controls, none that leads inside along those at a limit."""
    robot, T, dt = drone(), 20, 0.05
    q, still = robot.neutral(), np.zeros(robot.nv)
    target = robot.state_plus(q, still, np.array([0.3, -0.2, 0.4, 0.3, 0.2, -0.5, 0.4] + [0.0] * robot.nv))
    hold = np.linalg.lstsq(robot.actuation, robot.gravity_torque(q), rcond=None)[0]
    guess = np.tile(hold, (T, 1))
    Q, R = np.diag([5.0] * 7 + [0.5] * 7), np.diag([0.05, 0.05, 0.05, 0.05, 1.0])
    weights = Q, R, 10.0 * Q
    limits = hold - [1.0, 1.5, 0.5, 1.0, 0.3], hold + [1.0, 0.5, 1.0, 1.5, 0.3]

    def cost(u: Array) -> Array:
        return total(robot, q, still, u, dt, target, weights)

    scale = np.abs(by_differences(cost, guess)).max()
    for low, high in ((np.full(5, -np.inf), np.full(5, np.inf)), limits):
        found = fc.ilqr(robot, q, still, guess, dt, target, Q=Q, R=R, Q_final=10.0 * Q, limits=(low, high), tolerance=1e-13)
        assert found.converged, found.reason
        falls(found)
        assert found.cost == pytest.approx(cost(found.controls), rel=1e-12)
        slope = by_differences(cost, found.controls) / scale
        at_low, at_high = found.controls == low, found.controls == high
        free = ~(at_low | at_high)
        assert np.abs(slope[free]).max() < 1e-5
        assert slope[at_low].min(initial=0.0) > -1e-5
        assert slope[at_high].max(initial=0.0) < 1e-5
        assert ((found.controls >= low) & (found.controls <= high)).all()
        held = (at_low & (slope > 1e-5)) | (at_high & (slope < -1e-5))
        assert (found.gains[held] == 0.0).all()
        assert np.abs(found.gains[free]).max(axis=-1).min() > 0.0
    assert 10 < held.sum() < found.controls.size - 10


def test_bounded_newton() -> None:
    """Against all choices of entries at their limits."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 4):
        for seed in range(25):
            H, g = some_weight(n, seed), 2.0 * rng.normal(size=n)
            lower, upper = -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)
            upper[rng.random(n) < 0.2] = np.inf
            best, least = np.zeros(n), np.inf
            for places in itertools.product("luf", repeat=n):
                k = np.array([{"l": a, "u": b, "f": 0.0}[p] for p, a, b in zip(places, lower, upper, strict=True)])
                f = np.array([p == "f" for p in places])
                if not np.isfinite(k).all():
                    continue
                k[f] = np.linalg.solve(H[np.ix_(f, f)], -(g + H @ k)[f])
                if ((k >= lower) & (k <= upper)).all() and g @ k + k @ H @ k / 2 < least:
                    best, least = k, g @ k + k @ H @ k / 2
            k, free = bounded_newton(H, g, lower, upper)
            np.testing.assert_allclose(k, best, atol=1e-9)
            assert ((k > lower) & (k < upper))[free].all() or np.abs((g + H @ k)[free]).max() < 1e-9


# ---------------------------------------------------------------------------------------------------------------------
# Motions


def test_a_weak_pendulum_swings_up() -> None:
    """Its motor has less than half of the torque that would hold it out, and uses all of it."""
    robot, still = pendulum(), np.zeros(1)
    strongest = 0.45 * float(robot.gravity_torque([np.pi / 2])[0])
    weights = {"Q": np.diag([0.1, 0.01]), "R": [[0.1]], "Q_final": np.diag([100.0, 10.0])}
    options: dict[str, Any] = {"limits": (-strongest, strongest), "method": "midpoint", "tolerance": 1e-5}
    found = fc.ilqr(robot, [0.0], still, np.zeros((60, 1)), 0.05, ([np.pi], still), **weights, **options)
    assert found.converged, found.reason
    falls(found)
    assert np.abs(found.controls).max() == strongest
    assert abs(found.trajectory.q[-1, 0] - np.pi) < 0.02
    assert abs(found.trajectory.nu[-1, 0]) < 0.05
    assert found.trajectory.q.min() < -0.3  # it has to swing back first
    np.testing.assert_array_equal(found.trajectory.t, 0.05 * np.arange(61))
    again = robot.rollout([0.0], still, found.controls, 0.05, "midpoint")
    np.testing.assert_array_equal(found.trajectory.q, again.q)


def test_a_satellite_turns_and_its_feedback_brings_it_back() -> None:
    """By its wheels alone, over the place where its quaternion changes sign, the short way; then from a state that is off."""
    robot, T, dt = satellite(), 40, 0.1
    nv, still = robot.nv, np.zeros(robot.nv)
    q, goal = robot.neutral(), robot.neutral()
    axis = np.array([0.48, -0.6, 0.64])
    q[3:7], goal[3:7] = [*np.sin(1.35) * axis, np.cos(1.35)], [*np.sin(-0.9) * axis, np.cos(-0.9)]  # 2.7 and -1.8 rad
    weight = np.diag([0.0] * 3 + [1.0] * 3 + [0.0] * 6 + [1.0] * 3 + [0.0] * 3)
    options: dict[str, Any] = {"Q": 0.02 * weight, "R": np.eye(3), "Q_final": 50.0 * weight}
    found = fc.ilqr(robot, q, still, np.zeros((T, 3)), dt, (goal, still), **options)
    assert found.converged, found.reason
    falls(found)
    ways = np.array([robot.difference(goal, x)[3:6] for x in found.trajectory.q])
    assert np.linalg.norm(ways[0]) == pytest.approx(2 * np.pi - 4.5, abs=1e-12)
    assert np.linalg.norm(ways[-1]) < 0.02
    assert (np.diff(np.linalg.norm(ways, axis=1)) < 0.0).all()  # no detour
    cosine = found.trajectory.q[:, 6]
    assert cosine[0] > 0.0
    assert goal[6] > 0.0
    assert found.trajectory.q[-1, 3:7] @ goal[3:7] < -0.99  # the same attitude, by the opposite quaternion
    momentum = robot.centroidal_momentum(found.trajectory.q, found.trajectory.nu)
    assert np.abs(momentum).max() < 0.02  # wheels can give none, up to the error of a step

    off = np.zeros(2 * nv)
    off[3:6], off[nv + 3 : nv + 6] = (0.2, -0.1, 0.15), (0.05, 0.1, -0.05)
    start = robot.state_plus(q, still, off)
    best, costs = found.trajectory, {}
    for sign in (0.0, 1.0):
        x, v, controls = start.q, start.nu, np.empty((T, 3))
        for k in range(T):
            controls[k] = found.controls[k] + sign * found.gains[k] @ robot.state_minus(best.q[k], best.nu[k], x, v)
            x, v = robot.step(x, v, controls[k], dt)
        costs[sign] = float(total(robot, *start, controls, dt, (goal, still), tuple(options.values())))
    again = fc.ilqr(robot, *start, found.controls, dt, (goal, still), **options)
    assert costs[1.0] < 0.2 * costs[0.0]
    assert again.cost < costs[1.0] < 1.1 * again.cost  # nearly as good as the best


def test_a_motion_that_can_be_followed_is_found() -> None:
    """A trajectory as target, with the controls that made it as reference: nothing is left to pay."""
    robot, T, dt = satellite(), 15, 0.1
    q, nu = robot.random_configuration(0), 0.3 * robot.random_velocity(1)
    known = 0.05 * np.random.default_rng(2).normal(size=(T, robot.m))
    target = robot.rollout(q, nu, known, dt, "midpoint")
    options: dict[str, Any] = {"Q": np.eye(2 * robot.nv), "R": np.eye(robot.m), "reference": known, "method": "midpoint"}
    there = fc.ilqr(robot, q, nu, known, dt, target, **options)
    assert there.cost < 1e-28
    assert (there.iterations, there.converged) == (0, True)
    found = fc.ilqr(robot, q, nu, np.zeros((T, robot.m)), dt, (target.q, target.nu), **options)
    assert found.converged, found.reason
    assert found.cost < 1e-15 * found.costs[0]
    np.testing.assert_allclose(found.controls, known, atol=1e-8)


def test_generalized_forces() -> None:
    """(T, nv) are forces on all coordinates, as in a rollout: those of a robot with all of them as inputs."""
    robot = satellite()
    q, still = robot.neutral(), np.zeros(robot.nv)
    goal = robot.integrate(q, np.full(robot.nv, 0.3))
    options: dict[str, Any] = {"Q": np.eye(2 * robot.nv), "R": np.eye(robot.nv), "max_iterations": 4}
    found = fc.ilqr(robot, q, still, np.zeros((6, robot.nv)), 0.1, (goal, still), **options)
    driven = robot.with_actuation(np.eye(robot.nv))
    same = fc.ilqr(driven, q, still, np.zeros((6, robot.nv)), 0.1, (goal, still), **options)
    np.testing.assert_array_equal(found.controls, same.controls)
    assert found.trajectory.robot is robot
    assert np.abs(found.controls[:, :6]).min() > 0.0


def test_without_a_line_search_the_regularisation_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And where no step is ever good enough, it ends and says so."""
    robot, still = pendulum(), np.zeros(1)
    options: dict[str, Any] = {"Q": np.diag([0.1, 0.01]), "R": [[0.1]], "Q_final": np.diag([1e3, 1e2]), "limits": (-2.2, 2.2)}

    def swing() -> Any:
        return fc.ilqr(robot, [0.0], still, np.zeros((60, 1)), 0.05, ([np.pi], still), tolerance=1e-3, **options)

    monkeypatch.setattr(method, "STEP_LENGTHS", np.ones(1))
    found = swing()
    assert found.converged, found.reason
    assert found.iterations > len(found.costs)  # some steps were not taken
    falls(found)
    assert abs(found.trajectory.q[-1, 0] - np.pi) < 0.02
    monkeypatch.setattr(method, "LEAST_GAIN", 2.0)
    none = swing()
    assert (none.converged, len(none.costs)) == (False, 1)
    assert 5 < none.iterations < 30
    assert "no step makes the cost smaller" in none.reason
    np.testing.assert_array_equal(none.controls, 0.0)


def test_an_early_end_is_told() -> None:
    robot, still = pendulum(), np.zeros(1)
    options: dict[str, Any] = {"Q": np.eye(2), "R": np.eye(1)}
    found = fc.ilqr(robot, [0.0], still, np.zeros((30, 1)), 0.05, ([np.pi], still), max_iterations=2, **options)
    assert (found.iterations, found.converged, len(found.costs)) == (2, False, 3)
    assert "max_iterations" in found.reason


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


def test_bad_input() -> None:
    robot = satellite()
    q, nu, u = robot.neutral(), np.zeros(9), np.zeros((5, 3))
    good: dict[str, Any] = {"q": q, "nu": nu, "controls": u, "dt": 0.1, "target": (q, nu), "Q": np.eye(18), "R": np.eye(3)}
    fc.ilqr(robot, **good)
    later = fc.Trajectory.from_samples(robot, 0.2 * np.arange(6), np.tile(q, (6, 1)))
    skew, indefinite = np.eye(18), np.diag([-1.0] + [1.0] * 17)
    skew[0, 1] = 1.0
    cases: list[tuple[str, Any, str]] = [
        ("q", q[:-1], "ilqr: q has the wrong shape"),
        ("q", np.tile(q, (2, 1)), "ilqr: q has the wrong shape"),
        ("q", 0.5 * q, "unit length"),
        ("q", np.full(robot.nq, np.nan), "ilqr: q is not finite"),
        ("nu", np.zeros(8), "ilqr: nu has the wrong shape"),
        ("nu", np.full(9, np.inf), "ilqr: nu is not finite"),
        ("nu", np.full(9, 1e200), "not finite"),
        ("nu", np.full(9, 1e160), "not finite"),
        ("controls", np.zeros((5, 4)), r"controls have the wrong shape; expected: \(steps, 3\)"),
        ("controls", np.zeros((0, 3)), "controls have the wrong shape"),
        ("controls", np.zeros((2, 5, 3)), "controls have the wrong shape"),
        ("controls", np.full((5, 3), np.nan), "controls is not finite"),
        ("controls", lambda q, nu, t: u[0], "controls"),
        ("dt", 0.0, "ilqr: dt is not a time"),
        ("dt", -0.1, "ilqr: dt is not a time"),
        ("dt", np.nan, "ilqr: dt is not a time"),
        ("method", "zoh", "unknown method"),
        ("target", q, "target does not fit"),
        ("target", None, "target does not fit"),
        ("target", (q, nu[:3]), "the target's nu has the wrong shape"),
        ("target", (np.tile(q, (5, 1)), nu), "the target's q has the wrong shape"),
        ("target", (np.zeros(robot.nq), nu), "unit length"),
        ("target", later, "times of the target"),
        ("target", later[:5], "wrong shape"),
        ("Q", np.eye(9), "ilqr: Q has the wrong shape"),
        ("Q", skew, "ilqr: Q is not symmetric"),
        ("Q", indefinite, "ilqr: Q is not positive semidefinite"),
        ("Q", np.full((18, 18), np.nan), "ilqr: Q is not finite"),
        ("Q_final", indefinite, "ilqr: Q_final is not positive semidefinite"),
        ("Q_final", np.eye(3), "ilqr: Q_final has the wrong shape"),
        ("R", np.eye(2), "ilqr: R has the wrong shape"),
        ("R", np.diag([1.0, 1.0, 0.0]), "ilqr: R is not positive definite"),
        ("R", 1.0, "ilqr: R is not a matrix"),
        ("limits", 3.0, "limits do not fit"),
        ("limits", (-1.0, 0.0, 1.0), "limits do not fit"),
        ("limits", (np.zeros(2), 1.0), "the lower limit has the wrong shape"),
        ("limits", (-1.0, np.nan), "the upper limit is not finite"),
        ("limits", (1.0, -1.0), "lower limits exceed"),
        ("limits", (0.5, 1.0), r"controls are outside of the limits; .*controls\[0, 0\] = 0 with limits 0.5 and 1"),
        ("reference", np.zeros(4), "reference has the wrong shape"),
        ("reference", np.full(3, np.nan), "reference is not finite"),
        ("tolerance", 0.0, "tolerance does not fit"),
        ("max_iterations", 0, "max_iterations does not fit"),
        ("max_iterations", 2.5, "max_iterations does not fit"),
    ]
    for name, value, words in cases:
        with pytest.raises(fc.FallingCatError, match=words):
            fc.ilqr(robot, **(good | {name: value}))
