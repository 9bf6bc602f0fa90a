"""Inverse kinematics: reachable poses are reached, limits kept, and what cannot be reached is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.spatial.transform

import fallingcat as fc
from fallingcat.control import inverse_kinematics as method
from spread import first
from trees import ALL, Array, random_tree


def postures(robot: fc.Robot, count: int, seed: int = 0) -> Array:
    """Configurations within limits, with the base at the origin."""
    low, high = np.clip(robot.position_limits, -2.5, 2.5).T
    q = np.tile(robot.neutral(), (count, 1))
    q[:, robot.nq - robot.n :] = np.random.default_rng(seed).uniform(low, high, size=(count, robot.n))
    return q


def off(robot: fc.Robot, q: Array, frame: str, H: Array) -> Array:
    """Distance and angle between a frame and a pose, by another library."""
    G = robot.frame_pose(q, frame)
    turn = scipy.spatial.transform.Rotation.from_matrix(np.swapaxes(H[..., :3, :3], -1, -2) @ G[..., :3, :3])
    return np.hypot(np.linalg.norm(G[..., :3, 3] - H[..., :3, 3], axis=-1), turn.magnitude())


def within(robot: fc.Robot, q: Array) -> bool:
    low, high = robot.position_limits.T
    return bool(((q[..., robot.nq - robot.n :] >= low) & (q[..., robot.nq - robot.n :] <= high)).all())


@pytest.mark.parametrize(("name", "frame", "share"), [("spacearm", "hand", 0.95), ("humanoid", "left_palm", 0.6)])
def test_random_reachable_poses(name: str, frame: str, share: float) -> None:
    """From the neutral configuration to most of them, from near by to nearly all; all that says so is there, within limits."""
    robot = fc.load(name, floating=False)
    goal = postures(robot, 60)
    H = robot.frame_pose(goal, frame)
    far = fc.inverse_kinematics(robot, {frame: H}, robot.neutral())
    near = fc.inverse_kinematics(robot, {frame: H}, robot.integrate(goal, 0.1 * np.random.default_rng(1).normal(size=goal.shape)))
    assert far.converged.mean() >= share
    assert near.converged.mean() >= 0.98
    for found in (far, near):
        assert within(robot, found.q)
        error = off(robot, found.q, frame, H)
        assert error[found.converged].max() < 2e-9
        assert np.abs(error - found.residual).max() < 1e-7
        assert error[~found.converged].min(initial=1.0) > 1e-9


def test_several_frames_of_a_floating_robot() -> None:
    """Both soles in their places, a hand at a position; the base follows."""
    robot = fc.load("humanoid")
    goal = robot.integrate(
        postures(robot, 10), 0.3 * np.random.default_rng(1).normal(size=(10, robot.nv)) * ([1.0] * 6 + [0.0] * robot.n)
    )
    frames = ("left_sole", "right_sole", "left_palm")
    left, right, palm = (robot.frame_pose(goal, frame) for frame in frames)
    start = robot.integrate(goal, 0.05 * np.random.default_rng(2).normal(size=(10, robot.nv)))
    found = fc.inverse_kinematics(robot, {"left_sole": left, "right_sole": right, "left_palm": palm[:, :3, 3]}, start)
    assert found.converged.all()
    assert off(robot, found.q, "left_sole", left).max() < 2e-9
    assert off(robot, found.q, "right_sole", right).max() < 2e-9
    assert np.abs(robot.frame_pose(found.q, "left_palm")[:, :3, 3] - palm[:, :3, 3]).max() < 2e-9


@pytest.mark.parametrize("seed", first(2, range(4)))
def test_joints_of_every_type(seed: int) -> None:
    robot = fc.load(random_tree(seed, joints=8, types=ALL, mimic=0.2))
    rng = np.random.default_rng(seed)
    goal = robot.random_configuration(rng)
    frames = [robot.frame_names[-1], robot.frame_names[2]]
    poses = {frame: robot.frame_pose(goal, frame) for frame in frames}
    found = fc.inverse_kinematics(robot, poses, robot.integrate(goal, 0.1 * rng.normal(size=robot.nv)), limits=False)
    assert found.q.shape == (robot.nq,)
    assert found.converged
    assert max(off(robot, found.q, frame, H) for frame, H in poses.items()) < 2e-9


def test_convergence_is_quadratic() -> None:
    """The order that four errors in a row show, on a redundant arm: solutions are not isolated."""
    robot = fc.load("spacearm", floating=False)
    goal = postures(robot, 1, seed=3)[0]
    H = robot.frame_pose(goal, "hand")
    start = robot.integrate(goal, 0.1 * np.random.default_rng(0).normal(size=robot.nv))
    errors = [float(off(robot, start, "hand", H))]
    for count in (1, 2, 3, 4):
        found = fc.inverse_kinematics(robot, {"hand": H}, start, max_iterations=count, tolerance=1e-14)
        errors.append(float(found.residual))
    shrunk = np.diff(np.log(errors[1:]))
    assert (shrunk[1:] / shrunk[:-1] > 1.9).all(), errors


def test_the_derivative_of_the_error() -> None:
    """Central differences on the group, also at rotations far from the target; the logarithm against scipy's."""
    robot = fc.load("spacearm")
    rng = np.random.default_rng(0)
    q = np.stack([robot.random_configuration(rng) for _ in range(8)])
    problem = method._Problem.of(robot, {"hand": robot.frame_pose(q[::-1], "hand")}, False, None, True).spread((8,))
    posture = method._Posture(q[::-1].copy(), 0.0)
    _, J = problem.error(q, posture)
    h = 1e-6
    for k, e in enumerate(np.eye(robot.nv)):
        slope = (problem.error(robot.integrate(q, h * e), posture)[0] - problem.error(robot.integrate(q, -h * e), posture)[0]) / (
            2 * h
        )
        assert np.abs(slope - J[:, :, k]).max() < 1e-7
    R = scipy.spatial.transform.Rotation.random(200, random_state=1)
    w = R.as_rotvec() * np.concatenate([np.linspace(0.0, 1.0, 150), np.full(50, 1e-9)])[:, None]
    turned = scipy.spatial.transform.Rotation.from_rotvec(w).as_matrix()
    assert np.abs(method.rotation_vector(turned) - w).max() < 1e-13
    half = scipy.spatial.transform.Rotation.from_rotvec([[np.pi - 1e-9, 0.0, 0.0], [0.0, np.pi, 0.0]]).as_matrix()
    assert np.abs(np.linalg.norm(method.rotation_vector(half), axis=1) - np.pi).max() < 2e-9


def test_what_cannot_be_reached() -> None:
    """Too far away: no error, the arm stretched out toward it, `converged` False; others of the batch are not disturbed."""
    robot = fc.load("spacearm", floating=False)
    H = robot.frame_pose(postures(robot, 2), "hand")
    H[1, :3, 3] = 50.0, 0.0, 0.0
    found = fc.inverse_kinematics(robot, {"hand": H}, robot.integrate(postures(robot, 2), np.full(robot.nv, 0.05)))
    assert found.converged.tolist() == [True, False]
    assert 40.0 < found.residual[1] < 50.0
    alone = fc.inverse_kinematics(robot, {"hand": H[0]}, robot.integrate(postures(robot, 2)[0], np.full(robot.nv, 0.05)))
    assert np.abs(alone.q - found.q[0]).max() < 1e-12
    point = fc.inverse_kinematics(robot, {"hand": [50.0, 0.0, 0.0]}, robot.neutral(), max_iterations=300)
    assert not point.converged
    reach = robot.frame_pose(point.q, "hand")[:3, 3]
    J = robot.frame_jacobian(point.q, "hand", "mixed")[:3]
    inside = np.abs(point.q - np.clip(point.q, *(robot.position_limits.T + [[1e-9], [-1e-9]]))) == 0.0
    assert np.abs(J.T @ (reach - [50.0, 0.0, 0.0]))[inside].max() < 0.05  # nothing brings it nearer


def test_limits() -> None:
    """A target that only a forbidden posture reaches: met without limits, not with them, and never beyond them."""
    robot = fc.load("humanoid", floating=False)
    elbow = robot.joint_names.index("left_elbow")
    low, high = robot.position_limits[elbow]
    goal = postures(robot, 1)[0]
    goal[elbow] = high + 0.5
    frames = {name: robot.frame_pose(goal, name) for name in robot.link_names[1:]}  # all links: the posture is given
    free = fc.inverse_kinematics(robot, frames, robot.neutral(), limits=False)
    assert free.converged
    assert abs(free.q[elbow] - goal[elbow]) < 1e-8
    kept = fc.inverse_kinematics(robot, frames, robot.neutral())
    assert not kept.converged
    assert within(robot, kept.q)
    assert low <= kept.q[elbow] <= high
    outside = fc.inverse_kinematics(robot, {"head": robot.frame_pose(robot.neutral(), "head")}, goal)
    assert within(robot, outside.q)


def test_chosen_joints() -> None:
    robot = fc.load("humanoid")
    q = robot.neutral()
    arm = [
        name
        for name in robot.joint_names
        if name.startswith("left") and ("shoulder" in name or "elbow" in name or "wrist" in name)
    ]
    goal = q.copy()
    for name in arm:
        goal[7 + robot.joint_names.index(name)] = np.mean(robot.position_limits[robot.joint_names.index(name)])
    H = robot.frame_pose(goal, "left_palm")
    found = fc.inverse_kinematics(robot, {"left_palm": H}, q, joints=arm, move_base=False)
    assert found.converged
    others = [7 + k for k, name in enumerate(robot.joint_names) if name not in arm]
    assert np.array_equal(found.q[others], q[others])
    assert np.abs(found.q[:7] - q[:7]).max() < 1e-15


def test_posture() -> None:
    """Of many solutions the one near a posture, and still the target itself."""
    robot = fc.load("spacearm", floating=False)
    goal = postures(robot, 20, seed=5)
    H = robot.frame_pose(goal, "hand")
    start = robot.integrate(goal, 0.3 * np.random.default_rng(1).normal(size=goal.shape))
    plain = fc.inverse_kinematics(robot, {"hand": H}, start)
    shaped = fc.inverse_kinematics(robot, {"hand": H}, start, posture=goal)
    both = plain.converged & shaped.converged
    assert both.sum() >= 18
    assert off(robot, shaped.q, "hand", H)[both].max() < 2e-9
    distance = [np.linalg.norm(robot.difference(goal, found.q), axis=-1)[both] for found in (plain, shaped)]
    assert np.median(distance[1]) < 1e-3 * np.median(distance[0])


def test_shapes() -> None:
    robot = fc.load("spacearm", floating=False)
    H = robot.frame_pose(postures(robot, 3), "hand")
    found = fc.inverse_kinematics(robot, {"hand": H[:, None]}, postures(robot, 4, seed=2))
    assert found.q.shape == (3, 4, robot.nq)
    assert found.residual.shape == found.iterations.shape == found.converged.shape == (3, 4)
    assert found.converged.any(axis=1).all()


def test_bad_arguments_are_refused() -> None:
    robot = fc.load("spacearm")
    q, H = robot.neutral(), np.eye(4)
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        (({}, q), {}, "targets do not fit"),
        ((H, q), {}, "targets do not fit"),
        (({"hnd": H}, q), {}, "no frame 'hnd'"),
        (({"hand": np.eye(3)[0, :2]}, q), {}, "wrong shape"),
        (({"hand": 2.0 * H}, q), {}, "is not a pose"),
        (({"hand": np.diag([1.0, 1.0, -1.0, 1.0])}, q), {}, "is not a pose"),
        (({"hand": np.full(3, np.nan)}, q), {}, "real numbers"),
        (({"hand": H}, q[:-1]), {}, "q0 has the wrong shape"),
        (({"hand": H}, 0.0 * q), {}, "unit length"),
        (({"hand": H}, q), {"joints": ["elbow"]}, "no joint 'elbow'"),
        (({"hand": H}, q), {"tolerance": 0.0}, "tolerance does not fit"),
        (({"hand": H}, q), {"max_iterations": 1.5}, "max_iterations does not fit"),
        (({"hand": H}, q), {"posture": q[:3]}, "posture has the wrong shape"),
        (({"hand": np.stack([H, H])}, np.stack([q, q, q])), {}, "do not fit together"),
    ]
    for arguments, options, words in cases:
        with pytest.raises(fc.FallingCatError, match=words):
            fc.inverse_kinematics(robot, *arguments, **options)
