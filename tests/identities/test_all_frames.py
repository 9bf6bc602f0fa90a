"""All frames at once: one by one they are what the functions of single frames say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.arrays import eager
from fallingcat.functions import task
from trees import ALL, TIGHT, floating, load, relative_error, representations, seeds, state, trees


@settings(max_examples=10)
@given(trees(types=ALL), floating, seeds, representations)
def test_every_frame_of_a_tree(builder: fc.Builder, floating: bool, seed: int, representation: Any) -> None:
    robot = load(builder, floating, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    poses = robot.frame_poses(q)
    twists = robot.frame_velocities(q, nu, representation=representation)
    jacobians = robot.frame_jacobians(q, representation=representation)
    assert len(poses) == len(twists) == len(jacobians) == len(robot.frame_names)
    for k, frame in enumerate(robot.frame_names):
        one = eager.run(task(robot.model, "frame_pose", frame=frame), (q,))
        assert relative_error(poses[k], one) < TIGHT
        assert relative_error(robot.frame_pose(q, frame), one) < TIGHT
        assert relative_error(twists[k], robot.frame_velocity(q, nu, frame, representation)) < TIGHT
        assert relative_error(jacobians[k], robot.frame_jacobian(q, frame, representation)) < TIGHT


def test_some_frames_of_any_batch() -> None:
    """In the order they are given in, repeated if they are; with `out`; and far more states than are computed at a time."""
    robot = load(fc.load("spacearm").description, True)
    rng = np.random.default_rng(0)
    frames = ["hand", robot.base, "hand", robot.frame_names[-1]]
    where = [robot.frame_names.index(frame) for frame in frames]
    q = np.array([robot.random_configuration(rng) for _ in range(6)]).reshape(2, 3, robot.nq)
    nu = rng.normal(size=(3, robot.nv))
    for found, whole in (
        (robot.frame_poses(q, frames), robot.frame_poses(q)[:, :, where]),
        (robot.frame_poses(q[0, 0], iter(frames)), robot.frame_poses(q[0, 0])[where]),
        (robot.frame_velocities(q, nu, frames, "mixed"), robot.frame_velocities(q, nu, None, "mixed")[:, :, where]),
        (robot.frame_jacobians(q, frames), robot.frame_jacobians(q)[:, :, where]),
        (robot.frame_poses(q, []), np.zeros((2, 3, 0, 4, 4))),
    ):
        np.testing.assert_array_equal(found, whole)
    out = np.empty((2, 3, 4, 6))
    assert robot.frame_velocities(q, nu, frames, out=out) is out
    np.testing.assert_array_equal(out, robot.frame_velocities(q, nu, frames))


def test_what_is_no_list_of_frames_is_refused() -> None:
    robot = load(fc.load("cat").description, True)
    q = robot.neutral()
    cases: list[tuple[Any, type[Exception], list[str]]] = [
        (lambda: robot.frame_poses(q, "head"), fc.InputError, ["frames", "['head']"]),
        (lambda: robot.frame_poses(q, 3), fc.InputError, ["frames", "3"]),  # type: ignore[arg-type]
        (lambda: robot.frame_poses(q, ["head", "hed"]), fc.FrameError, ["'hed'", "did you mean 'head'"]),
        (lambda: robot.frame_poses(q, [["head"]]), fc.FrameError, ["no frame ['head']"]),  # type: ignore[list-item]
        (lambda: robot.frame_jacobians(q, ["head"], "local"), fc.InputError, ["unknown representation"]),  # type: ignore[arg-type]
        (lambda: robot.frame_poses(q[1:], ["head"]), fc.InputError, ["frame_poses: q has the wrong shape"]),
        (lambda: robot.frame_pose(q[1:], "head"), fc.InputError, ["frame_pose: q has the wrong shape"]),
        (lambda: robot.frame_poses(q, ["head"], out=np.empty((2, 4, 4))), fc.InputError, ["out", "(1, 4, 4)"]),
    ]
    for call, kind, words in cases:
        with pytest.raises(kind) as error:
            call()
        for word in words:
            assert word in str(error.value)
