"""Wrenches in any axes, at any point: turned to the frame by its pose and by hand, they are wrenches as any other.

Derivatives hold a wrench fixed in its axes: a complex step through the dynamics, with the pose of the frame stepped too.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import aba, kinematics, rnea
from fallingcat.algorithms.kinematics import body_forces
from fallingcat.model.model import Model
from trees import ALL, TIGHT, Array, Plain, condition, derivative, floating, load, relative_error, seeds, state, trees

AXES = ("body", "mixed", "inertial")
few = settings(max_examples=12)
any_axes = st.sampled_from(AXES)


def cross(a: Any, b: Any) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def turned(H: Any, w: Any, axes: str, point: Any) -> list[Any]:
    """A wrench in the coordinates of its frame, about the frame's origin, given the pose of the frame; on any scalar."""
    f, n = list(w[:3]), list(w[3:])
    if axes == "inertial":
        n = [a - b for a, b in zip(n, cross([row[3] for row in H[:3]], f), strict=True)]
    if axes != "body":
        f, n = ([sum(H[i][j] * x[i] for i in range(3)) for j in range(3)] for x in (f, n))
    return [*f, *(a + b for a, b in zip(n, cross(point, f), strict=True))]


def some(robot: fc.Robot, rng: np.random.Generator, axes: str) -> fc.Wrenches:
    """On up to four frames, some of them on one body and some on the ground."""
    names = [str(x) for x in rng.choice(robot.frame_names, size=min(4, len(robot.frame_names)), replace=False)]
    point = None if axes == "inertial" else rng.normal(size=(len(names), 3))
    return fc.Wrenches(names, rng.normal(size=(len(names), 6)), axes, point)


def by_hand(model: Model, q: Any, wrenches: fc.Wrenches) -> Any:
    """What algorithms take, from poses that follow q."""
    points = wrenches.points or ((0.0, 0.0, 0.0),) * len(wrenches.frames)
    found = {}
    for frame, w, point in zip(wrenches.frames, wrenches.values, points, strict=True):
        found[frame] = turned(kinematics.frame_pose(model, q, frame), w, wrenches.axes, point)
    return body_forces(model, found)


def inverse(model: Model, q: Any, nu: Any, dnu: Any, wrenches: fc.Wrenches) -> Any:
    return rnea.inverse_dynamics(model, q, nu, dnu, by_hand(model, q, wrenches))


def forward(model: Model, q: Any, nu: Any, tau: Any, wrenches: fc.Wrenches) -> Any:
    return aba.forward_dynamics(model, q, nu, tau, by_hand(model, q, wrenches))


def along_q(function: Any, model: Model, q: Array, *rest: Any) -> Array:
    return np.array([derivative(function, model, q, e, *rest) for e in np.eye(model.nv)]).T


@few
@given(trees(types=ALL), floating, seeds, any_axes)
def test_values_and_derivatives_in_any_axes(builder: fc.Builder, floating: bool, seed: int, axes: str) -> None:
    """Every joint type, any base, mimics: inverse and forward dynamics and what is made of their derivatives."""
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    w = some(robot, rng, axes)
    tau = robot.inverse_dynamics(q, nu, dnu, w)
    assert relative_error(tau, inverse(robot.model, q, nu, dnu, w)) < TIGHT
    M = robot.mass_matrix(q)
    bound = TIGHT * max(1.0, condition(M) / 10.0)
    assert relative_error(robot.forward_dynamics(q, nu, tau, w), dnu) < bound

    ID = robot.inverse_dynamics_derivatives(q, nu, dnu, w)
    assert relative_error(ID.dtau_dq, along_q(inverse, robot.model, q, nu, dnu, w)) < TIGHT
    still = np.zeros(robot.nv)
    assert relative_error(robot.gravity_torque_derivatives(q, w), along_q(inverse, robot.model, q, still, still, w)) < TIGHT
    FD = robot.forward_dynamics_derivatives(q, nu, tau, w)
    by_q = along_q(forward, robot.model, q, nu, tau, w)
    assert relative_error(FD.ddnu_dq, by_q) < bound
    assert relative_error(robot.linearize(q, nu, tau, wrenches=w).A[robot.nv :, : robot.nv], by_q) < bound


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("velocity", ["mixed", "inertial"])
def test_linearizations_of_other_velocities_hold_wrenches_too(axes: str, velocity: str) -> None:
    """Along A z, the rates of perturbed states differ from those of the state as they should, by differences."""
    robot = load(fc.load("spacearm").description, True)
    rng = np.random.default_rng(2)
    q, nu, tau = robot.random_configuration(rng), 0.3 * robot.random_velocity(rng), rng.normal(size=robot.nv)
    w = some(robot, rng, axes)
    A = robot.linearize(q, nu, tau, w, velocity).A

    def rate(z: Array) -> Array:
        """The rate of the joint velocities of a perturbed state, whose base twist is that of the linearization."""
        moved, faster = robot.integrate(q, z[: robot.nv]), nu + z[robot.nv :]
        R, p = moved_pose(robot, moved)
        lin, ang = faster[:3], faster[3:6]
        lin = lin if velocity == "mixed" else lin - np.cross(p, ang)
        return robot.forward_dynamics(moved, np.r_[R.T @ lin, R.T @ ang, faster[6:]], tau, w)[6:]

    h = 1e-6
    columns = [(rate(h * e) - rate(-h * e)) / (2 * h) for e in np.eye(2 * robot.nv)]
    assert relative_error(A[robot.nv + 6 :], np.array(columns).T) < 1e-7


def moved_pose(robot: fc.Robot, q: Array) -> tuple[Array, Array]:
    H, _ = robot.split(q)
    return H[:3, :3], H[:3, 3]


@few
@given(trees(), floating, seeds, any_axes)
def test_steps_hold_wrenches_in_their_axes(builder: fc.Builder, floating: bool, seed: int, axes: str) -> None:
    """The derivative of a step is the difference of two steps."""
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, nu, tau = state(robot, rng)
    w, dt, h = some(robot, rng, axes), 1e-2, 1e-6
    A = robot.discretize(q, nu, tau, dt, "euler", w).A
    z = rng.normal(size=2 * robot.nv)
    ends = [robot.step(*robot.state_plus(q, nu, s * h * z), tau, dt, "euler", w) for s in (1, -1)]
    middle = robot.step(q, nu, tau, dt, "euler", w)
    ahead, behind = (robot.state_minus(*middle, *end) for end in ends)
    assert relative_error(A @ z, (ahead - behind) / (2 * h)) < 1e-6 * max(1.0, condition(robot.mass_matrix(q)) / 100.0)


def test_a_dictionary_an_array_and_a_point() -> None:
    """The same wrenches in every form: a dictionary, an array over frames, one frame, at a point, and in batches."""
    robot = load(fc.load("quadruped").description, True)
    rng = np.random.default_rng(4)
    q, nu, dnu = state(robot, rng)
    frames = robot.link_names[2:6]
    w = rng.normal(size=(3, 4, 6))
    by_name = {frame: w[:, k] for k, frame in enumerate(frames)}
    expected = robot.inverse_dynamics(q, nu, dnu, by_name)
    assert expected.shape == (3, robot.nv)
    np.testing.assert_array_equal(robot.inverse_dynamics(q, nu, dnu, fc.Wrenches(frames, w)), expected)
    one = fc.Wrenches(frames[0], w[:, 0])
    np.testing.assert_array_equal(
        robot.inverse_dynamics(q, nu, dnu, one), robot.inverse_dynamics(q, nu, dnu, {frames[0]: w[:, 0]})
    )
    point, f = rng.normal(size=3), rng.normal(size=3)
    pushed = robot.inverse_dynamics(q, nu, dnu, fc.Wrenches(frames[0], np.r_[f, 0.0, 0.0, 0.0], point=point))
    same = robot.inverse_dynamics(q, nu, dnu, {frames[0]: np.r_[f, np.cross(point, f)]})
    assert relative_error(pushed, same) < TIGHT


def test_sums_do_not_depend_on_the_order_of_a_dictionary() -> None:
    """Three wrenches of very different size on one body: every order gives the same bits."""
    b = fc.Builder("plate")
    b.link("plate", mass=1.0, inertia=(0.1, 0, 0, 0.1, 0, 0.2))
    for k in range(3):
        b.link(f"corner{k}")
        b.joint(f"weld{k}", "fixed", "plate", f"corner{k}", xyz=(0.1 * k, 0.3, 0.7), rpy=(0.3 * k, 0.1, 0.2))
    robot = load(b, True)
    rng = np.random.default_rng(0)
    q, nu, dnu = state(robot, rng)
    w = {f"corner{k}": 10.0 ** (8 * k) * rng.normal(size=6) for k in range(3)}
    orders = [dict(w.items()), dict(reversed(w.items())), {k: w[k] for k in ("corner1", "corner2", "corner0")}]
    results = [robot.inverse_dynamics(q, nu, dnu, order) for order in orders]
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


def test_what_cannot_be_a_wrench_is_refused() -> None:
    robot = Plain(fc.load("cat").description)
    q, nu = robot.neutral(), np.zeros(robot.nv)
    w = np.zeros((2, 6))
    cases: list[tuple[Any, type[Exception], list[str]]] = [
        (lambda: fc.Wrenches(["head"], w), fc.InputError, ["(..., 1, 6)", "(2, 6)"]),
        (lambda: fc.Wrenches("head", np.zeros(5)), fc.InputError, ["(..., 6)", "(5,)"]),
        (lambda: fc.Wrenches("head", np.zeros(6), axes="world"), fc.InputError, ["'inertial'", "'world'"]),
        (lambda: fc.Wrenches("head", np.zeros(6), point=[1.0, 2.0]), fc.InputError, ["point", "(3,)"]),
        (lambda: fc.Wrenches("head", np.zeros(6), "inertial", [0, 0, 1]), fc.InputError, ["point", "mixed"]),
        (lambda: fc.Wrenches(3, np.zeros(6)), fc.InputError, ["frames", "int"]),  # type: ignore[arg-type]
        (lambda: robot.inverse_dynamics(q, nu, nu, fc.Wrenches("tail fin", np.zeros(6))), fc.FrameError, ["tail fin"]),
        (lambda: robot.inverse_dynamics(q, nu, nu, fc.Wrenches("head", ["a"] * 6)), fc.InputError, ["wrenches['head']"]),
        (lambda: robot.kernel("mass_matrix", wrenches="body"), fc.InputError, ["takes no wrenches"]),
        (lambda: robot.kernel("bias_", wrenches="body"), fc.InputError, ["no function"]),
        (lambda: robot.kernel("inverse_dynamics", wrenches=("head",)), fc.InputError, ["axes", "'body'"]),
    ]
    for call, kind, words in cases:
        with pytest.raises(kind) as error:
            call()
        for word in words:
            assert word in str(error.value)
