"""Frames are chosen at run time: another frame compiles nothing, and a robot with one compiled function knows all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_same_bits import states

import fallingcat as fc
from fallingcat.codegen import native
from fallingcat.robot.frames import ROWS


def test_every_frame_compiles_once(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    compile_object = native.compile_object

    def counted(text: str) -> bytes:
        compiled.append(text)
        return compile_object(text)

    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    monkeypatch.setattr(native, "compile_object", counted)
    robot = fc.load(ball.description)
    q = robot.neutral()
    poses = [robot.frame_pose(q, frame) for frame in robot.frame_names]
    assert len(poses) > 5
    assert len(compiled) == 1
    sets: list[Any] = [None, ["arm"], ["ball", "arm"], list(robot.frame_names)]
    for frames in sets:
        robot.frame_poses(q, frames)
    assert len(compiled) == 2


def test_poses_of_states_and_batches(ball: fc.Robot) -> None:
    """One state and a row of a batch, one frame and all frames: the same bits for a frame, the same numbers for all."""
    q, nu, _ = states(ball, 3 * ROWS + 1)
    every = ball.frame_poses(q)
    for frame in ball.frame_names:
        many = ball.frame_pose(q, frame)
        np.testing.assert_array_equal(many[5], ball.frame_pose(q[5], frame))
        np.testing.assert_allclose(many, every[:, ball.frame_names.index(frame)], rtol=0, atol=1e-13)
        np.testing.assert_allclose(many[:9], ball.kernel("frame_pose", frame=frame)(q[:9]), rtol=0, atol=1e-13)
    frames = ["ball", "hinge"]
    where = [ball.frame_names.index(frame) for frame in frames]
    np.testing.assert_array_equal(ball.frame_poses(q, frames), every[:, where])
    np.testing.assert_array_equal(ball.frame_jacobians(q[:, None], frames)[:, 0], ball.frame_jacobians(q)[:, where])
    np.testing.assert_array_equal(ball.frame_velocities(q, nu[0], frames), ball.frame_velocities(q, nu[0])[:, where])


def test_a_coordinate_that_is_no_number_is_seen_by_what_it_moves(ball: fc.Robot) -> None:
    q = ball.neutral()
    q[7] = np.nan  # the hinge
    assert np.isnan(ball.frame_pose(q, "hand")).any()
    assert np.isfinite(ball.frame_pose(q, "body")).all()
    assert np.isfinite(ball.frame_pose(q, "ball")).all()


def test_frames_in_own_functions(ball: fc.Robot) -> None:
    """Inside a traced function a frame is a constant: the program is that of the frame alone."""
    (q,), (nu,), _ = states(ball, 1)
    f = fc.compile(lambda r, q: r.frame_pose(q, "hand"), ball)
    np.testing.assert_allclose(f(q), ball.frame_pose(q, "hand"), rtol=0, atol=1e-14)
    assert f.kernel.operations == ball.kernel("frame_pose", frame="hand").operations
    g = fc.compile(lambda r, q, nu: r.frame_velocities(q, nu, ["hand", "ball"]), ball)
    np.testing.assert_allclose(g(q, nu), ball.frame_velocities(q, nu, ["hand", "ball"]), rtol=0, atol=1e-13)
