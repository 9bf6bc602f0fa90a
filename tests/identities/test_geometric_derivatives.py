"""Derivatives by where joints sit, against a complex step through the placements of the model and against rebuilt robots.

The first witness runs the dynamics and kinematics themselves on a model whose placements are complex numbers. The second
changes the description as its author would, joint by joint, and takes differences; it knows nothing of bodies and models.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from test_derivatives import TIGHT, on_bodies, solved, some_wrenches

import fallingcat as fc
from fallingcat.algorithms import aba, kinematics, rnea
from fallingcat.functions import task
from fallingcat.model.description import Pose
from fallingcat.model.joints import Representation
from fallingcat.model.model import Model
from fallingcat.model.placed import Placed
from fallingcat.spatial import se3
from fallingcat.spatial.vec3 import add, mat, matmul, matvec
from trees import (
    ALL,
    REPRESENTATIONS,
    STEP,
    Array,
    floating,
    load,
    random_tree,
    relative_error,
    representations,
    seeds,
    slope,
    state,
    trees,
    vee,
)

few = settings(max_examples=10)


def displaced(model: Model, i: int, e: list[Any]) -> Model:
    """The model with the placement H of joint i moved to H L exp(e) L^-1, L from the axes of its link to the joint's."""
    body = model.bodies[i]
    L = mat(model.frame(body.name).pose.rotation)
    R, p = se3.exp((matvec(L, (e[0], e[1], e[2])), matvec(L, (e[3], e[4], e[5]))))
    H = body.pose
    pose = Pose(matmul(H.rotation, R), add(H.position, matvec(H.rotation, p)))
    return dataclasses.replace(model, bodies=(*model.bodies[:i], dataclasses.replace(body, pose=pose), *model.bodies[i + 1 :]))


def by_placements(function: Any, model: Model, *rest: Any) -> Array:
    """The derivative of function(model, *rest), column by column."""
    steps = [[complex(0.0, STEP * x) for x in e] for e in np.eye(6)]
    columns = [slope(function(displaced(model, i, e), *rest)) for i in range(len(model.bodies)) for e in steps]
    return np.stack(columns, axis=-1)


def twist(H: Array, dH: Array, representation: Representation) -> Array:
    """The displacement of a frame from the change of its pose."""
    R, p, W, v = H[:3, :3], H[:3, 3], vee(dH[:3, :3] @ H[:3, :3].T), dH[:3, 3]
    if representation == "body":
        return np.concatenate([R.T @ v, R.T @ W])
    return np.concatenate([v if representation == "mixed" else v - np.cross(W, p), W])


@few
@given(trees(max_joints=5), floating, seeds, representations)
def test_dynamics(builder: fc.Builder, floating: bool, seed: int, representation: Representation) -> None:
    """Every joint type, any base, joints that follow others, wrenches that bodies carry, joint dynamics."""
    robot = load(builder, floating, seed, joint_dynamics=True)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    wrenches = some_wrenches(robot, rng)
    model, f = robot.model.in_representation(representation), on_bodies(robot, wrenches)
    ours = robot.inverse_dynamics_geometric_derivatives(q, nu, dnu, wrenches, representation)
    assert ours.shape == (robot.nv, 6 * len(robot.body_names))
    assert relative_error(ours, by_placements(rnea.inverse_dynamics, model, q, nu, dnu, f)) < TIGHT
    tau = robot.inverse_dynamics(q, nu, dnu, wrenches, representation)
    ours = robot.forward_dynamics_geometric_derivatives(q, nu, tau, wrenches, representation)
    bound = solved(robot.mass_matrix(q, representation))
    assert relative_error(ours, by_placements(aba.forward_dynamics, model, q, nu, tau, f)) < bound


@pytest.mark.parametrize("axes", ["mixed", "inertial"])
@few
@given(trees(max_joints=5), floating, seeds)
def test_wrenches_that_the_world_holds(axes: str, builder: fc.Builder, floating: bool, seed: int) -> None:
    """They do not follow the bodies that a placement displaces."""
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    frames = [str(x) for x in rng.choice(robot.link_names, size=min(3, len(robot.link_names)), replace=False)]
    wrenches = fc.Wrenches(frames, rng.normal(size=(len(frames), 6)), axes)
    found = robot._on_bodies("inverse_dynamics", wrenches)
    assert found is not None
    vectors = (q, nu, dnu, list(found.values))

    def torques(model: Model) -> Any:
        return task(model, "inverse_dynamics", wrenches=found.axes).evaluate(*vectors)

    ours = robot.inverse_dynamics_geometric_derivatives(q, nu, dnu, wrenches)
    assert relative_error(ours, by_placements(torques, robot.model)) < TIGHT


@few
@given(trees(max_joints=5), floating, seeds, representations)
def test_frames(builder: fc.Builder, floating: bool, seed: int, representation: Representation) -> None:
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, frame = robot.random_configuration(rng), str(rng.choice(robot.frame_names))
    slopes = by_placements(lambda model: kinematics.frame_pose(model, q, frame), robot.model)
    H = robot.frame_pose(q, frame)
    expected = np.array([twist(H, slopes[:, :, k], representation) for k in range(slopes.shape[-1])]).T
    assert relative_error(robot.frame_pose_geometric_derivatives(q, frame, representation), expected) < TIGHT


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("type_", ALL)
def test_robots_that_are_built_again(type_: str, floating: bool) -> None:
    """The <origin> of a joint moved by H exp(e), in the description: differences of torques, accelerations and poses."""
    description = fc.load(random_tree(7, joints=3, types=(type_,))).description
    robot = load(description, floating)
    q, nu, dnu = state(robot, np.random.default_rng(3))
    tau, tip, h = robot.inverse_dynamics(q, nu, dnu), robot.link_names[-1], 1e-6
    found = (
        robot.inverse_dynamics_geometric_derivatives(q, nu, dnu),
        robot.forward_dynamics_geometric_derivatives(q, nu, tau),
        robot.frame_pose_geometric_derivatives(q, tip),
    )
    H = robot.frame_pose(q, tip)
    bodies = {body.joint_name: i for i, body in enumerate(robot.model.bodies)}
    for joint in (j for j in description.joints if j.name in bodies):
        for k, e in enumerate(np.eye(6)):
            ends = []
            for step in (-h, h):
                moved = Placed.of(joint.pose) @ Placed(*se3.exp((tuple(step * e[:3]), tuple(step * e[3:]))))
                joints = [dataclasses.replace(j, pose=Pose(moved.R, moved.p)) if j is joint else j for j in description.joints]
                other = load(dataclasses.replace(description, joints=tuple(joints)), floating)
                ends.append((other.inverse_dynamics(q, nu, dnu), other.forward_dynamics(q, nu, tau), other.frame_pose(q, tip)))
            dtau, ddnu, dH = ((b - a) / (2 * h) for a, b in zip(*ends, strict=True))
            for ours, expected in zip(found, (dtau, ddnu, twist(H, dH, "body")), strict=True):
                column = ours[:, 6 * bodies[joint.name] + k]
                assert np.abs(column - expected).max() < 1e-7 * max(1.0, np.abs(ours).max())


def test_what_is_known_of_it() -> None:
    """Moving the world under a floating robot changes nothing but gravity; joints that do not carry a frame do not move it."""
    robot = load(random_tree(5, joints=5), True)
    q, nu, dnu = state(robot, np.random.default_rng(6))
    world = robot.inverse_dynamics_geometric_derivatives(q, nu, dnu)[:, :6]
    assert np.all(world[:, :3] == 0.0)
    assert np.abs(world[:, 3:]).max() > 1.0
    weightless = load(random_tree(5, joints=5), True, gravity=(0.0, 0.0, 0.0))
    assert np.all(weightless.inverse_dynamics_geometric_derivatives(q, nu, dnu)[:, :6] == 0.0)
    J = robot.frame_pose_geometric_derivatives(q, robot.base)
    assert np.all(J[:, 6:] == 0.0)
    inertial = robot.frame_pose_geometric_derivatives(q, robot.link_names[-1], REPRESENTATIONS[2])
    assert relative_error(inertial[:, :6], np.eye(6)) < TIGHT


def test_compiled_in_batches() -> None:
    robot = fc.load("spacearm")
    rng = np.random.default_rng(0)
    Q = np.stack([robot.random_configuration(rng) for _ in range(3)])
    V, A = rng.normal(size=(2, 3, robot.nv))
    many = robot.inverse_dynamics_geometric_derivatives(Q, V, A)
    assert many.shape == (3, robot.nv, 6 * len(robot.body_names))
    assert np.array_equal(many[1], robot.inverse_dynamics_geometric_derivatives(Q[1], V[1], A[1]))
    tip = robot.link_names[-1]
    assert robot.frame_pose_geometric_derivatives(Q, tip).shape == (3, 6, 6 * len(robot.body_names))
