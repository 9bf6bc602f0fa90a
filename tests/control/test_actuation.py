"""Inputs that are not joint torques: what they do is J^T w of the frames they act on, and derivatives know that they move.

The witnesses are external wrenches, by the names of frames, and differences on the group of states.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.robot.formulas import Formulas
from trees import TIGHT, Array, Plain, condition, floating, load, plain, relative_error, seeds, state, trees


def drone() -> fc.Builder:
    """A plate with four rotors and an arm of two joints, with a gripper welded to its end."""
    b = fc.Builder("drone")
    b.link("plate", mass=1.2, com=(0.01, 0.0, 0.02), inertia=(0.02, 0, 0, 0.02, 0, 0.03))
    for k, (x, y) in enumerate(((0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2))):
        b.link(f"rotor{k}")
        b.joint(f"mount{k}", "fixed", "plate", f"rotor{k}", xyz=(x, y, 0.05), rpy=(0.1 * k, 0, 0.3))
    for name, parent, axis in (("upper", "plate", (0, 1, 0)), ("lower", "upper", (1, 0, 0))):
        b.link(name, mass=0.2, com=(0, 0, -0.1), inertia=(1e-3, 0, 0, 1e-3, 0, 5e-4))
        b.joint(f"to_{name}", "revolute", parent, name, axis=axis, xyz=(0, 0, -0.1))
    b.link("gripper")
    b.joint("wrist", "fixed", "lower", "gripper", xyz=(0, 0, -0.2), rpy=(0.4, 0.2, 0.1))
    return b


ROTORS = [fc.thruster(f"rotor{k}", (0, 0, 2.0), point=(0, 0, 0.01), moment_ratio=0.02 * (-1) ** k) for k in range(4)]
ON_THE_ARM = [*ROTORS, "to_lower", fc.thruster("gripper", (1.0, 0.5, 0.0)), fc.wrench_input("lower"), "to_upper"]


def wrenches_of(inputs: list[Any], u: Array) -> tuple[dict[str, Array], dict[str, float]]:
    """The wrenches on frames and the joint torques of inputs, by hand."""
    wrenches: dict[str, Array] = {}
    torques: dict[str, float] = {}
    at = 0
    for x in inputs:
        if isinstance(x, str):
            torques[x] = u[at]
            at += 1
        elif hasattr(x, "direction"):
            d = np.array(x.direction)
            wrenches[x.frame] = wrenches.get(x.frame, np.zeros(6)) + u[at] * np.r_[d, np.cross(x.point, d) + x.moment_ratio * d]
            at += 1
        else:
            wrenches[x.frame] = wrenches.get(x.frame, np.zeros(6)) + u[at : at + 6]
            at += 6
    assert at == len(u)
    return wrenches, torques


def by_hand(robot: fc.Robot, inputs: list[Any], q: Array, u: Array) -> Array:
    """S(q) u."""
    wrenches, torques = wrenches_of(inputs, u)
    tau = sum((robot.frame_jacobian(q, frame).T @ w for frame, w in wrenches.items()), np.zeros(robot.nv))
    for joint, x in torques.items():
        tau[robot.nv - robot.n + robot.joint_names.index(joint)] += x
    return np.asarray(tau)


def some_state(robot: fc.Robot, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng), robot.random_velocity(rng), rng.normal(size=robot.m)


def test_a_choice_of_joints_and_any_matrix() -> None:
    robot = fc.load(drone())
    chosen = robot.with_actuation(["to_lower"])
    np.testing.assert_array_equal(chosen.actuation, np.eye(8)[:, 7:])
    assert (chosen.m, robot.m) == (1, 2)
    S = np.random.default_rng(0).normal(size=(8, 3))
    np.testing.assert_array_equal(robot.with_actuation(S).actuation, S)
    np.testing.assert_array_equal(robot.with_actuation(S.tolist()).actuation, S)
    assert robot.with_actuation([]).actuation.shape == (8, 0)
    np.testing.assert_array_equal(robot.actuation, np.eye(8)[:, 6:])
    np.testing.assert_array_equal(robot.actuation_matrix([robot.neutral()] * 3), [np.eye(8)[:, 6:]] * 3)


def test_rotors_on_the_base_are_a_constant_matrix() -> None:
    robot = plain(fc.load(drone()).with_actuation([*ROTORS, "to_lower"]))
    q, _, u = some_state(robot)
    S = robot.actuation
    assert S.shape == (8, 5)
    assert relative_error(S @ u, by_hand(robot, [*ROTORS, "to_lower"], q, u)) < TIGHT
    np.testing.assert_allclose(robot.actuation_matrix(q), S, rtol=0, atol=1e-15)


@pytest.mark.parametrize("base", ["plate", "lower"])
@pytest.mark.parametrize("is_floating", [True, False])
def test_what_inputs_on_moving_links_do(base: str, is_floating: bool) -> None:
    """S(q) u is J^T w at every q, whatever the base; for a welded one only what can move has inputs."""
    inputs = ON_THE_ARM if is_floating else ["to_upper", fc.wrench_input("rotor1" if base == "lower" else "gripper")]
    robot = plain(fc.load(drone(), floating=is_floating, base=base).with_actuation(inputs))
    q, nu, u = some_state(robot)
    S = robot.actuation_matrix(q)
    assert S.shape == (robot.nv, robot.m)
    assert relative_error(S @ u, by_hand(robot, inputs, q, u)) < TIGHT
    with pytest.raises(fc.InputError, match=r"depends on q.*actuation_matrix"):
        _ = robot.actuation
    assert not hasattr(robot, "actuation")  # so that whoever lists the members of a robot is not stopped
    by_inputs, by_forces = (robot.step(q, nu, x, 1e-2, "rk4") for x in (u, by_hand(robot, inputs, q, u)))
    assert relative_error(robot.step(q, nu, u, 1e-9).nu, robot.step(q, nu, S @ u, 1e-9).nu) < TIGHT
    assert relative_error(by_inputs.nu, by_forces.nu) > 1e-9  # during a step they turn with their frames
    assert relative_error(robot.linearize(q, nu, u).B[robot.nv :], np.linalg.solve(robot.mass_matrix(q), S)) < 1e-10


@pytest.mark.parametrize("axes", [None, "body", "mixed", "inertial"])
@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_derivatives_know_that_inputs_move(axes: str | None, method: str) -> None:
    """A and B of a step by differences on the group, together with external wrenches in any axes."""
    robot = plain(fc.load(drone()).with_actuation(ON_THE_ARM))
    q, nu, u = some_state(robot, 1)
    w = None if axes is None else fc.Wrenches(["gripper", "plate"], np.random.default_rng(3).normal(size=(2, 6)), axes)
    D = robot.discretize(q, nu, u, 0.01, method, w)
    middle, h = robot.step(q, nu, u, 0.01, method, w), 1e-6
    for matrix, change in ((D.A, 0), (D.B, 1)):
        z = np.random.default_rng(4).normal(size=matrix.shape[1])
        ends = []
        for s in (h, -h):
            start, input_ = (robot.state_plus(q, nu, s * z), u) if change == 0 else ((q, nu), u + s * z)
            ends.append(robot.state_minus(*middle, *robot.step(*start, input_, 0.01, method, w)))
        assert relative_error(matrix @ z, (ends[0] - ends[1]) / (2 * h)) < 1e-7


@settings(max_examples=10)
@given(trees(min_joints=2), floating, seeds)
def test_linearizations_of_random_trees(builder: fc.Builder, floating: bool, seed: int) -> None:
    """A of inputs on frames is that of the same wrenches; B is M^-1 S; generalized forces of nv entries stay what they are."""
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    movable = [name for name, place in robot.model.frames if place.body >= 0]
    inputs: list[Any] = [fc.thruster(str(rng.choice(movable)), rng.normal(size=3), rng.normal(size=3), rng.normal())]
    inputs += [robot.joint_names[-1]] if body_dofs(robot) == 1 else []
    other = Plain(robot.description, base=robot.base, **(robot._options | {"inputs": tuple(inputs)}))
    u = rng.normal(size=other.m)
    wrenches, torques = wrenches_of(inputs, u)
    tau = by_hand(robot, [], q, np.zeros(0))
    if torques:
        tau = tau + other.actuation_matrix(q)[:, -1] * u[-1]
    L, same = other.linearize(q, nu, u), robot.linearize(q, nu, tau, wrenches=wrenches)
    bound = TIGHT * max(1.0, condition(robot.mass_matrix(q)) / 10.0)
    assert relative_error(L.A, same.A) < bound
    S = other.actuation_matrix(q)
    assert relative_error(S @ u, by_hand(robot, inputs[:1], q, u[:1]) + tau) < TIGHT
    assert relative_error(L.B[robot.nv :], robot.inverse_mass_matrix(q) @ S) < bound
    forces = rng.normal(size=robot.nv)
    if other.m != robot.nv:
        held = other.linearize(q, nu, forces)
        assert relative_error(held.A, robot.linearize(q, nu, forces).A) < bound
        assert relative_error(held.B, L.B) < bound


def body_dofs(robot: fc.Robot) -> int:
    return next(body.joint.nv for body in robot.model.bodies if body.joint_name == robot.joint_names[-1])


def test_inputs_stay_with_the_robot() -> None:
    """Pickles, other bases, own functions, batches."""
    robot = fc.load(drone()).with_actuation(ON_THE_ARM)
    q, nu, u = some_state(robot)
    again = pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(again.linearize(q, nu, u).B, robot.linearize(q, nu, u).B)
    other = robot.with_base("lower")
    q_other = other.configuration(robot.frame_pose(q, "lower"), robot.split(q)[1])
    change = robot.base_change(q, nu, "lower", "body")
    assert relative_error(change.force(robot.actuation_matrix(q) @ u), other.actuation_matrix(q_other) @ u) < 1e-10
    many = robot.linearize(np.stack([q, q]), nu, np.stack([u, 2 * u]))
    np.testing.assert_array_equal(many.A[0], robot.linearize(q, nu, u).A)
    B = fc.compile(lambda r, q, nu, u: r.linearize(q, nu, u).B, robot, u=robot.m)(q, nu, u)
    assert relative_error(B, robot.linearize(q, nu, u).B) < TIGHT
    S = Formulas(robot).actuation_matrix(q)
    assert relative_error(S, robot.actuation_matrix(q)) < TIGHT
    zoh = robot.discretize(q, nu, u, 1e-7)
    assert relative_error(zoh.B / 1e-7, robot.linearize(q, nu, u).B) < 1e-4
    joints = fc.load(drone()).with_actuation(np.eye(8)[:, 7:]).with_base("lower")
    np.testing.assert_array_equal(joints.actuation, np.eye(8)[:, 7:])


def test_what_cannot_be_inputs_is_refused() -> None:
    robot = fc.load(drone())
    q, nu = robot.neutral(), np.zeros(robot.nv)
    five = robot.with_actuation([*ROTORS, "to_lower"])
    cases: list[tuple[Any, type[Exception], list[str]]] = [
        (lambda: robot.with_actuation(["to_low"]), fc.InputError, ["'to_low'", "did you mean 'to_lower'"]),
        (lambda: robot.with_actuation(["wrist"]), fc.InputError, ["no movable joint 'wrist'"]),
        (lambda: robot.with_actuation(np.eye(7)), fc.InputError, ["8 rows", "(7, 7)"]),
        (lambda: robot.with_actuation(np.full((8, 1), np.nan)), fc.InputError, ["not finite"]),
        (lambda: robot.with_actuation(3.0), fc.InputError, ["8 rows", "shape ()"]),
        (lambda: robot.with_actuation(1j * np.eye(8)), fc.InputError, ["not inputs", "8 rows"]),
        (lambda: robot.with_actuation(None), fc.InputError, ["not inputs", "None"]),  # type: ignore[arg-type]
        (lambda: setattr(robot, "actuation", np.eye(8)), AttributeError, ["with_actuation"]),
        (lambda: robot.with_actuation([1.0, "to_lower"]), fc.InputError, ["not inputs"]),
        (lambda: robot.with_actuation([fc.thruster("rotr1", (0, 0, 1))]), fc.FrameError, ["rotr1", "did you mean"]),
        (lambda: fc.load(drone(), floating=False).with_actuation(ROTORS), fc.InputError, ["welded", "floating=True"]),
        (lambda: fc.thruster("rotor1", (0, 0, 0)), fc.InputError, ["direction"]),
        (lambda: fc.thruster("rotor1", (0, 1)), fc.InputError, ["direction", "three numbers"]),
        (lambda: fc.thruster("rotor1", (0, 0, 1), point="here"), fc.InputError, ["point"]),
        (lambda: fc.thruster("rotor1", (0, 0, 1), moment_ratio=np.inf), fc.InputError, ["moment_ratio"]),
        (lambda: fc.thruster("rotor1", (0, 0, 1), moment_ratio="big"), fc.InputError, ["moment_ratio"]),  # type: ignore[arg-type]
        (lambda: robot.with_actuation(np.eye(8)).with_base("lower"), fc.InputError, ["acts on the base", "with_actuation"]),
        (lambda: five.linearize(q, nu, np.zeros(4)), fc.InputError, ["linearize: tau", "(..., 5)", "(..., 8)", "(4,)"]),
        (lambda: five.step(q, nu, np.zeros(4), 0.1), fc.InputError, ["step: tau", "(..., 5)", "(4,)"]),
        (lambda: five.step(q, nu, "no", 0.1), fc.InputError, ["step: "]),
        (lambda: robot.kernel("linearize", inputs="u"), fc.InputError, ["no inputs of its own"]),
    ]
    for call, kind, words in cases:
        with pytest.raises(kind) as error:
            call()
        for word in words:
            assert word in str(error.value), (word, str(error.value))


def test_as_many_inputs_as_degrees_of_freedom_are_inputs() -> None:
    robot = plain(fc.load(drone()).with_actuation(2.0 * np.eye(8)))
    q, nu, u = some_state(robot)
    np.testing.assert_array_equal(robot.step(q, nu, u, 0.1).nu, plain(fc.load(drone())).step(q, nu, 2.0 * u, 0.1).nu)
