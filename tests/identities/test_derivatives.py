"""Derivatives of the dynamics (paper 002) against a complex step through the source of the dynamics themselves.

The witnesses run `inverse_dynamics`, `forward_dynamics` and the kinematics on complex numbers: they share no formula with
the derivatives, and their own error is that of one evaluation. Everything here runs in Python on random trees.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import aba, kinematics, rnea
from fallingcat.algorithms.kinematics import body_forces
from fallingcat.apps.papers.paper002_numbers import printed_derivatives
from fallingcat.model import joints as J
from fallingcat.model.joints import Representation
from fallingcat.model.model import Model
from fallingcat.spatial import Inertia
from spread import first
from trees import (
    ALL,
    ONE_AXIS,
    TIGHT,
    Array,
    condition,
    derivative,
    floating,
    hat,
    load,
    random_tree,
    relative_error,
    seeds,
    slope,
    state,
    stepped,
    trees,
)

CHAIN = ("revolute", "prismatic", "helical", "cylindrical", "spherical")
"""Joints with constant axes, one or several: what the paper implements."""

few = settings(max_examples=15)


def some_wrenches(robot: fc.Robot, rng: np.random.Generator) -> dict[str, Array]:
    names = rng.choice(robot.frame_names, size=min(3, len(robot.frame_names)), replace=False)
    return {str(name): rng.normal(size=6) for name in names}


def on_bodies(robot: fc.Robot, wrenches: dict[str, Array] | None) -> Any:
    """The same wrenches as the algorithms take them."""
    return body_forces(robot.model, {k: list(w) for k, w in (wrenches or {}).items()})


def along_q(function: Callable[..., Any], model: Model, q: Array, *rest: Any) -> Array:
    """The derivative of function(model, q, *rest) with respect to q, column by column: body-fixed displacements."""
    return np.array([derivative(function, model, q, e, *rest) for e in np.eye(model.nv)]).T


def along(function: Callable[[Any], Any], x: Array) -> Array:
    """The derivative of function(x) with respect to a plain vector."""
    return np.array([slope(function(stepped(x, e))) for e in np.eye(len(x))]).T


def slopes(function: Callable[..., Any], model: Model, q: Array, x: Array, y: Array, *rest: Any) -> tuple[Array, Array, Array]:
    """The derivatives of function(model, q, x, y, *rest) with respect to q, x and y."""
    by_x = along(lambda x: function(model, q, x, y, *rest), x)
    by_y = along(lambda y: function(model, q, x, y, *rest), y)
    return along_q(function, model, q, x, y, *rest), by_x, by_y


def solved(M: Array) -> float:
    """The bound for what was multiplied by M^-1; up to a condition of 100 it is that of everything else."""
    return TIGHT * max(1.0, condition(M) / 100.0)


# ---------------------------------------------------------------------------------------------------------------------
# Inverse dynamics


def check_inverse(robot: fc.Robot, q: Array, nu: Array, dnu: Array, wrenches: dict[str, Array] | None = None) -> None:
    ours = robot.inverse_dynamics_derivatives(q, nu, dnu, wrenches)
    by_q, by_nu, by_dnu = slopes(rnea.inverse_dynamics, robot.model, q, nu, dnu, on_bodies(robot, wrenches))
    assert relative_error(ours.dtau_dq, by_q) < TIGHT
    assert relative_error(ours.dtau_dnu, by_nu) < TIGHT
    assert relative_error(ours.M, by_dnu) < TIGHT
    assert relative_error(ours.M, robot.mass_matrix(q)) < TIGHT
    assert relative_error(ours.M, np.transpose(ours.M)) < TIGHT


@few
@given(trees(), floating, seeds)
def test_inverse_dynamics(builder: fc.Builder, floating: bool, seed: int) -> None:
    """Paper 002, (10a) and (10b): every joint type, any base, joints that follow others, a floating joint inside."""
    robot = load(builder, floating, seed)
    check_inverse(robot, *state(robot, np.random.default_rng(seed)))


@few
@given(trees(), floating, seeds)
def test_inverse_dynamics_with_wrenches_and_joint_dynamics(builder: fc.Builder, floating: bool, seed: int) -> None:
    """External wrenches enter dq, damping and friction dnu, armature M."""
    robot = load(builder, floating, seed, joint_dynamics=True)
    rng = np.random.default_rng(seed)
    check_inverse(robot, *state(robot, rng), some_wrenches(robot, rng))


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("type_", ALL)
def test_one_joint_type_at_a_time(type_: str, floating: bool) -> None:
    """A branched robot of one joint type only, seen from its root and from the middle."""
    builder = random_tree(11, joints=4, types=(type_,), fixed=0.0)
    for base in ("link0", "link2"):
        robot = load(builder, floating, base=base)
        rng = np.random.default_rng(2)
        q, nu, dnu = state(robot, rng)
        check_inverse(robot, q, nu, dnu, some_wrenches(robot, rng))
        check_forward(robot, q, nu, dnu)


@pytest.mark.parametrize("representation", first(1, ["mixed", "inertial"]))
@few
@given(trees(), seeds)
def test_other_representations(representation: Representation, builder: fc.Builder, seed: int) -> None:
    """The base twist in other axes, which are held while the base is displaced body-fixed; wrenches and friction included."""
    robot = load(builder, True, seed, joint_dynamics=True)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    wrenches = some_wrenches(robot, rng)
    seen = robot.model.in_representation(representation)
    ours = robot.inverse_dynamics_derivatives(q, nu, dnu, wrenches, representation)
    for found, expected in zip(ours, slopes(rnea.inverse_dynamics, seen, q, nu, dnu, on_bodies(robot, wrenches)), strict=True):
        assert relative_error(found, expected) < TIGHT
    tau = robot.inverse_dynamics(q, nu, dnu, wrenches, representation)
    bound = solved(robot.mass_matrix(q, representation))
    ours = robot.forward_dynamics_derivatives(q, nu, tau, wrenches, representation)
    for found, expected in zip(ours, slopes(aba.forward_dynamics, seen, q, nu, tau, on_bodies(robot, wrenches)), strict=True):
        assert relative_error(found, expected) < bound


def test_the_trees_have_moving_axes() -> None:
    """The test above does reach joints whose axes move in the body: universal, and joints seen from their other side."""
    kinds = set()
    for type_ in ALL:
        robot = fc.load(random_tree(11, joints=4, types=(type_,), fixed=0.0), base="link2")
        moving = [b.joint for b in robot.model.bodies if b.joint.axes_move]
        kinds |= {type(joint.forward) if isinstance(joint, J.Reversed) else type(joint) for joint in moving}
    assert {J.Universal, J.Spherical, J.FreeFlyer, J.Planar} <= kinds


# ---------------------------------------------------------------------------------------------------------------------
# Forward dynamics


def check_forward(robot: fc.Robot, q: Array, nu: Array, dnu: Array, wrenches: dict[str, Array] | None = None) -> None:
    """Torques come from an acceleration of order one, so that the derivatives are of the size of M^-1 dID."""
    tau = robot.inverse_dynamics(q, nu, dnu, wrenches)
    ours = robot.forward_dynamics_derivatives(q, nu, tau, wrenches)
    bound = solved(robot.mass_matrix(q))
    by_q, by_nu, by_tau = slopes(aba.forward_dynamics, robot.model, q, nu, tau, on_bodies(robot, wrenches))
    assert relative_error(ours.ddnu_dq, by_q) < bound
    assert relative_error(ours.ddnu_dnu, by_nu) < bound
    assert relative_error(ours.Minv, by_tau) < bound
    assert relative_error(ours.Minv, np.transpose(ours.Minv)) < TIGHT


@few
@given(trees(), floating, seeds)
def test_forward_dynamics(builder: fc.Builder, floating: bool, seed: int) -> None:
    """Paper 002, (17) and (24)."""
    robot = load(builder, floating, seed)
    check_forward(robot, *state(robot, np.random.default_rng(seed)))


@few
@given(trees(), floating, seeds)
def test_forward_dynamics_with_wrenches_and_joint_dynamics(builder: fc.Builder, floating: bool, seed: int) -> None:
    robot = load(builder, floating, seed, joint_dynamics=True)
    rng = np.random.default_rng(seed)
    check_forward(robot, *state(robot, rng), some_wrenches(robot, rng))


@few
@given(trees(mimic=0.0), floating, seeds)
def test_inverse_and_forward_derivatives_are_linked(builder: fc.Builder, floating: bool, seed: int) -> None:
    """Paper 002, (21)-(24): dID/du + M dFD/du = 0 at the accelerations of the forward dynamics."""
    robot = load(builder, floating, seed)
    q, nu, dnu = state(robot, np.random.default_rng(seed))
    tau = robot.inverse_dynamics(q, nu, dnu)
    ID = robot.inverse_dynamics_derivatives(q, nu, robot.forward_dynamics(q, nu, tau))
    FD = robot.forward_dynamics_derivatives(q, nu, tau)
    bound = solved(ID.M)
    assert relative_error(ID.M @ FD.ddnu_dq, -ID.dtau_dq) < bound
    assert relative_error(ID.M @ FD.ddnu_dnu, -ID.dtau_dnu) < bound


@few
@given(trees(), seeds)
def test_columns_of_a_floating_base(builder: fc.Builder, seed: int) -> None:
    """A robot that is moved as a whole only sees gravity turn, and a uniform velocity it does not see at all.

    dFD/d(base) = [[0, (R^T g)^], [0, 0]] and dFD/d(base velocity) = [-w^; 0]: exactly these numbers and exact zeros, and
    they are what the complex step finds.
    """
    robot = load(builder, True, seed)
    rng = np.random.default_rng(seed)
    q, nu, tau = state(robot, rng)
    FD = robot.forward_dynamics_derivatives(q, nu, tau)
    R = robot.split(q)[0][:3, :3]
    expected_q, expected_nu = np.zeros((robot.nv, 6)), np.zeros((robot.nv, 3))
    expected_q[:3, 3:] = hat(R.T @ robot.gravity)
    expected_nu[:3] = -hat(nu[3:6])
    assert relative_error(FD.ddnu_dq[:, :6], expected_q) < 1e-14
    assert np.array_equal(FD.ddnu_dnu[:, :3], expected_nu)
    assert np.array_equal(FD.ddnu_dq[:, :3], np.zeros((robot.nv, 3)))
    assert np.array_equal(FD.ddnu_dq[3:, 3:6], np.zeros((robot.nv - 3, 3)))
    bound = solved(robot.mass_matrix(q)) * max(1.0, float(np.abs(tau).max() * np.abs(FD.Minv).max()))
    assert relative_error(along_q(aba.forward_dynamics, robot.model, q, nu, tau)[:, :6], expected_q) < bound


# ---------------------------------------------------------------------------------------------------------------------
# Frames and static torques


@few
@given(trees(), floating, seeds)
def test_frame_velocity(builder: fc.Builder, floating: bool, seed: int) -> None:
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    for frame in rng.choice(robot.frame_names, size=min(3, len(robot.frame_names)), replace=False):

        def velocity(model: Model, q: Any, nu: Any, frame: str = str(frame)) -> Any:
            return kinematics.frame_velocity(model, q, nu, frame, "body")

        ours = robot.frame_velocity_derivatives(q, nu, str(frame))
        assert relative_error(ours.dv_dq, along_q(velocity, robot.model, q, nu)) < TIGHT
        assert relative_error(ours.dv_dnu, along(lambda x, v=velocity: v(robot.model, q, x), nu)) < TIGHT
        assert relative_error(ours.dv_dnu, robot.frame_jacobian(q, str(frame))) < TIGHT


@few
@given(trees(), floating, seeds)
def test_frame_acceleration(builder: fc.Builder, floating: bool, seed: int) -> None:
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    for frame in rng.choice(robot.frame_names, size=min(3, len(robot.frame_names)), replace=False):

        def acceleration(model: Model, q: Any, nu: Any, dnu: Any, frame: str = str(frame)) -> Any:
            return kinematics.frame_acceleration(model, q, nu, dnu, frame, "body")

        ours = robot.frame_acceleration_derivatives(q, nu, dnu, str(frame))
        by_q, by_nu, by_dnu = slopes(acceleration, robot.model, q, nu, dnu)
        assert relative_error(ours.da_dq, by_q) < TIGHT
        assert relative_error(ours.da_dnu, by_nu) < TIGHT
        assert relative_error(ours.da_ddnu, by_dnu) < TIGHT


@few
@given(trees(), floating, seeds, st.booleans())
def test_gravity_torque(builder: fc.Builder, floating: bool, seed: int, pushed: bool) -> None:
    """The torque that holds the robot still against gravity and wrenches."""
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, _, _ = state(robot, rng)
    wrenches = some_wrenches(robot, rng) if pushed else {}
    still = np.zeros(robot.nv)
    expected = along_q(rnea.inverse_dynamics, robot.model, q, still, still, on_bodies(robot, wrenches))
    assert relative_error(robot.gravity_torque_derivatives(q, wrenches), expected) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Inertial parameters


def with_parameters(model: Model, parameters: list[Any]) -> Model:
    """The same tree with other masses, first moments and rotational inertias: any scalars."""
    pieces = [Inertia.of(parameters[10 * i : 10 * i + 10], i) for i in range(len(model.bodies))]
    bodies = tuple(dataclasses.replace(b, inertia=I) for b, I in zip(model.bodies, pieces, strict=True))
    return dataclasses.replace(model, bodies=bodies)


@few
@given(trees(), floating, seeds)
def test_regressor(builder: fc.Builder, floating: bool, seed: int) -> None:
    """tau = Y pi, and every column of Y is what one parameter does, also where joints follow each other."""
    robot = load(builder, floating, seed)
    q, nu, dnu = state(robot, np.random.default_rng(seed))
    Y, parameters = robot.inverse_dynamics_regressor(q, nu, dnu), robot.inertial_parameters
    assert Y.shape == (robot.nv, 10 * len(robot.body_names))
    assert relative_error(Y @ parameters, robot.inverse_dynamics(q, nu, dnu)) < TIGHT
    witness = along(lambda x: rnea.inverse_dynamics(with_parameters(robot.model, x), q, nu, dnu), parameters)
    assert relative_error(Y, witness) < TIGHT


@few
@given(trees(max_joints=5), floating, seeds)
def test_forward_dynamics_parameters(builder: fc.Builder, floating: bool, seed: int) -> None:
    """d dnu / d pi, with wrenches and with damping, friction and armature in the joints."""
    robot = load(builder, floating, seed, joint_dynamics=True)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    wrenches = some_wrenches(robot, rng)
    tau = robot.inverse_dynamics(q, nu, dnu, wrenches)
    f, parameters = on_bodies(robot, wrenches), robot.inertial_parameters
    witness = along(lambda x: aba.forward_dynamics(with_parameters(robot.model, x), q, nu, tau, f), parameters)
    ours = robot.forward_dynamics_parameter_derivatives(q, nu, tau, wrenches)
    assert relative_error(ours, witness) < solved(robot.mass_matrix(q))


# ---------------------------------------------------------------------------------------------------------------------
# What paper 002 shows, and what it gets wrong


@few
@given(trees(), floating, seeds)
def test_exact_zeros_at_rest_without_gravity(builder: fc.Builder, floating: bool, seed: int) -> None:
    """Fig. 3: no velocity, no acceleration, no gravity, any configuration. Not small: zero."""
    robot = load(builder, floating, seed, gravity=(0.0, 0.0, 0.0))
    q, _, _ = state(robot, np.random.default_rng(seed))
    still = np.zeros(robot.nv)
    for found in (robot.inverse_dynamics_derivatives(q, still, still), robot.forward_dynamics_derivatives(q, still, still)):
        assert np.all(found[0] == 0.0)
        assert np.all(found[1] == 0.0)
    assert np.all(robot.gravity_torque_derivatives(q) == 0.0)


@pytest.mark.parametrize("floating", [False, True])
def test_erratum_1_the_term_that_does_not_vanish(floating: bool) -> None:
    """Sec. III-C5 drops v x S. The algorithms of the paper with it agree with ours; without it dID/dnu is wrong."""
    worst = 0.0
    for seed in range(5):
        robot = load(random_tree(seed, joints=6, types=CHAIN, mimic=0.0), floating)
        q, nu, dnu = state(robot, np.random.default_rng(seed))
        ours = robot.inverse_dynamics_derivatives(q, nu, dnu)
        dq, dnu_ = printed_derivatives(robot.model, q, nu, dnu, keep=True)
        assert relative_error(dq, ours.dtau_dq) < TIGHT
        assert relative_error(dnu_, ours.dtau_dnu) < TIGHT
        dq, dnu_ = printed_derivatives(robot.model, q, nu, dnu, keep=False)
        assert relative_error(dq, ours.dtau_dq) < TIGHT  # the slip concerns velocities alone
        worst = max(worst, relative_error(dnu_, ours.dtau_dnu))
    assert worst > 0.1


@few
@given(trees(mimic=0.0, min_joints=2), floating, seeds)
def test_erratum_2_the_sign_of_the_velocity_derivative(builder: fc.Builder, floating: bool, seed: int) -> None:
    """(16b) lacks a minus: dFD/dnu = -M^-1 (dC/dnu nu + C), so that as printed it is off by twice itself."""
    robot = load(builder, floating, seed)
    q, nu, tau = state(robot, np.random.default_rng(seed))
    dnu = robot.forward_dynamics(q, nu, tau)
    FD = robot.forward_dynamics_derivatives(q, nu, tau)
    printed = robot.inverse_mass_matrix(q) @ robot.inverse_dynamics_derivatives(q, nu, dnu).dtau_dnu  # (dC/dnu nu + C) is dID/dnu
    scale = np.abs(FD.ddnu_dnu).max()
    assert np.abs(printed - FD.ddnu_dnu).max() == pytest.approx(2.0 * scale, rel=1e-9)


@few
@given(trees(types=(*ONE_AXIS, "universal", "spherical")), floating, seeds)
def test_erratum_4_the_residual_is_truncation(builder: fc.Builder, floating: bool, seed: int) -> None:
    """At rest without gravity, ID is quadratic in nu: a forward difference gives h Gamma_jj, a central one exactly zero.

    Were it rounding, as the paper says of Fig. 3, it would grow like 1/h. Gamma_jj is what the velocity e_j alone needs.
    """
    robot = load(builder, floating, seed, gravity=(0.0, 0.0, 0.0))
    q, _, _ = state(robot, np.random.default_rng(seed))
    still = np.zeros(robot.nv)
    for j in range(robot.nv):
        e = np.eye(robot.nv)[j]
        gamma = robot.bias(q, e)
        for h in (1e-2, 1e-5, 1e-8):
            up, down = robot.inverse_dynamics(q, h * e, still), robot.inverse_dynamics(q, -h * e, still)
            assert relative_error(up / h / h, gamma) < TIGHT
            assert np.array_equal(up, down)
