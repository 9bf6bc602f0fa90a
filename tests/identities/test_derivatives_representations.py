"""Derivatives with the base twist in every representation, against a complex step through what they are derivatives of.

The witness is the function itself, for a model whose base is a joint with the twist of that representation: `q` is displaced
body-fixed, `nu` and `dnu` stay the numbers that they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from test_derivatives import TIGHT, on_bodies, solved, some_wrenches, with_parameters

import fallingcat as fc
from fallingcat.algorithms import aba, centroidal, kinematics, rnea
from fallingcat.algorithms.kinematics import body_forces
from fallingcat.model.joints import Representation
from trees import REPRESENTATIONS, Array, derivative, floating, load, relative_error, seeds, slope, state, stepped, trees

few = settings(max_examples=10)
every_representation = pytest.mark.parametrize("representation", REPRESENTATIONS)


def slopes(function: Callable[..., Any], robot: fc.Robot, representation: Representation, q: Array, *vectors: Any) -> list[Array]:
    """The derivatives of function(model, q, *vectors) by q, along body-fixed displacements, and by each vector."""
    model, rows = robot.model.in_representation(representation), np.eye(robot.nv)
    found = [np.array([derivative(function, model, q, e, *vectors) for e in rows]).T]
    for k, vector in enumerate(vectors):
        moved = ([*vectors[:k], stepped(vector, e), *vectors[k + 1 :]] for e in rows)
        found.append(np.array([slope(function(model, q, *values)) for values in moved]).T)
    return found


def check(found: Sequence[Any], expected: Sequence[Array], bound: float = TIGHT) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert relative_error(ours, theirs) < bound


@every_representation
@few
@given(trees(), floating, seeds)
def test_frames(representation: Representation, builder: fc.Builder, floating: bool, seed: int) -> None:
    """Twists and accelerations of frames: the representation is that of the frame's twist and of the base's."""
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    frame = str(rng.choice(robot.frame_names))

    def velocity(model: Any, q: Any, nu: Any) -> Any:
        return kinematics.frame_velocity(model, q, nu, frame, representation)

    def acceleration(model: Any, q: Any, nu: Any, dnu: Any) -> Any:
        return kinematics.frame_acceleration(model, q, nu, dnu, frame, representation)

    dv = robot.frame_velocity_derivatives(q, nu, frame, representation)
    check(dv, slopes(velocity, robot, representation, q, nu))
    assert relative_error(dv.dv_dnu, robot.frame_jacobian(q, frame, representation)) < TIGHT
    da = robot.frame_acceleration_derivatives(q, nu, dnu, frame, representation)
    check(da, slopes(acceleration, robot, representation, q, nu, dnu))


@every_representation
@few
@given(trees(), floating, seeds)
def test_static_torques(representation: Representation, builder: fc.Builder, floating: bool, seed: int) -> None:
    """The torque that holds the robot still, its base wrench in the representation."""
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, wrenches, still = robot.random_configuration(rng), some_wrenches(robot, rng), [0.0] * robot.nv
    forces = body_forces(robot.model, {k: list(w) for k, w in wrenches.items()})

    def torque(model: Any, q: Any) -> Any:
        return rnea.inverse_dynamics(model, q, still, still, forces)

    check([robot.gravity_torque_derivatives(q, wrenches, representation)], slopes(torque, robot, representation, q))


@every_representation
@few
@given(trees(), floating, seeds)
def test_centroidal_momentum(representation: Representation, builder: fc.Builder, floating: bool, seed: int) -> None:
    """The momentum itself is in the axes of the world; the representation is that of nu and dnu."""
    robot = load(builder, floating, seed)
    q, nu, dnu = state(robot, np.random.default_rng(seed))
    found = robot.centroidal_momentum_derivatives(q, nu, representation)
    check(found, slopes(centroidal.centroidal_momentum, robot, representation, q, nu))
    assert relative_error(found.dh_dnu, robot.centroidal_momentum_matrix(q, representation)) < TIGHT
    rates = robot.centroidal_momentum_rate_derivatives(q, nu, dnu, representation)
    check(rates, slopes(centroidal.centroidal_momentum_rate, robot, representation, q, nu, dnu))


@every_representation
@few
@given(trees(max_joints=5), floating, seeds)
def test_inertial_parameters(representation: Representation, builder: fc.Builder, floating: bool, seed: int) -> None:
    """Rows of the base are its wrench, or the rate of its twist, in the representation; also of the inverse mass matrix."""
    robot = load(builder, floating, seed, joint_dynamics=True)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    wrenches, parameters = some_wrenches(robot, rng), robot.inertial_parameters
    tau = robot.inverse_dynamics(q, nu, dnu, wrenches, representation)
    model, f, M = robot.model.in_representation(representation), on_bodies(robot, wrenches), robot.mass_matrix(q, representation)

    def by_parameters(function: Callable[..., Any], *rest: Any) -> Array:
        moved = (with_parameters(model, stepped(parameters, e)) for e in np.eye(len(parameters)))
        return np.array([slope(function(m, q, nu, *rest)) for m in moved]).T

    Y = robot.inverse_dynamics_regressor(q, nu, dnu, representation)
    assert relative_error(Y, by_parameters(rnea.inverse_dynamics, dnu)) < TIGHT
    ours = robot.forward_dynamics_parameter_derivatives(q, nu, tau, wrenches, representation)
    assert relative_error(ours, by_parameters(aba.forward_dynamics, tau, f)) < solved(M)
    assert relative_error(robot.inverse_mass_matrix(q, representation) @ M, np.eye(robot.nv)) < solved(M)
