"""Scenes and motions: shapes where the links are, bodies where they should be, numbers that come back."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.apps import view
from fallingcat.apps.view.scene import body_poses, bounds, shapes_of
from fallingcat.apps.view.skeleton import mass_colour
from fallingcat.arrays import eager
from fallingcat.functions import task
from trees import random_tree

Array = Any


def pose_matrix(x: Array) -> Array:
    """From position and quaternion x y z w, written down apart from the library."""
    a, b, c, w = x[3:]
    S = np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = np.eye(3) + 2 * w * S + 2 * S @ S, x[:3]
    return H


def frame_pose(robot: fc.Robot, q: Array, frame: str) -> Array:
    """On floats: nothing is compiled for a test of pictures."""
    return eager.run(task(robot.model, "frame_pose", frame=frame), (q,))


def unpack(text: str) -> Array:
    return np.frombuffer(base64.b64decode(text), dtype="<f4").astype(float)


@pytest.mark.parametrize("name", fc.robots())
def test_primitives_are_where_their_links_are(name: str) -> None:
    robot = fc.load(name)
    q = robot.random_configuration(0)
    scene = view.scene(robot, q)
    assert json.loads(json.dumps(scene)) == scene
    assert not scene["skeleton"]
    visuals = [(link.name, visual) for link in robot.description.links for visual in link.visuals]
    assert len(visuals) == len(scene["shapes"])
    for (link, visual), shape in zip(visuals, scene["shapes"], strict=True):
        H = np.eye(4)
        H[:3, :3], H[:3, 3] = visual.pose.rotation, visual.pose.position
        drawn = pose_matrix(scene["bodies"][shape["body"]]["pose"]) @ pose_matrix(shape["pose"])
        assert np.allclose(drawn, frame_pose(robot, q, link) @ H, atol=2e-4)
        assert shape["rgba"] == pytest.approx(visual.rgba, rel=1e-4)
        assert shape["size"] == pytest.approx(visual.size * 3 if visual.shape == "sphere" else visual.size, rel=1e-4)


def test_everything_lies_within_the_bounds() -> None:
    robot = fc.load("humanoid")
    q = robot.random_configuration(1)
    shapes, poses = shapes_of(robot)[0], body_poses(robot, q)
    low, high = bounds(shapes, poses[None])
    rng = np.random.default_rng(0)
    touched = np.zeros((2, 3))
    for s in shapes:
        x = rng.uniform(-1, 1, size=(2000, 3))
        if s.kind == "ellipsoid":
            x /= np.linalg.norm(x, axis=1, keepdims=True)
        H = poses[s.body] @ s.pose
        points = x * s.half @ H[:3, :3].T + H[:3, 3]
        assert np.all(points >= low - 1e-9)
        assert np.all(points <= high + 1e-9)
        touched = np.maximum(touched, [(points.min(axis=0) < low + 0.03), (points.max(axis=0) > high - 0.03)])
    assert touched.all()


@pytest.mark.parametrize("floating", [True, False])
def test_a_robot_without_shapes_is_a_skeleton(floating: bool) -> None:
    robot = fc.load(random_tree(3, joints=8), floating=floating)
    q = robot.random_configuration(0)
    scene = view.scene(robot, q)
    assert scene["skeleton"]
    drawn = {shape["body"] for shape in scene["shapes"]}
    assert drawn >= set(range(len(robot.model.bodies)))
    assert np.all(np.isfinite([x for s in scene["shapes"] for x in (*s["pose"], *s["size"])]))


def test_beside_shapes_nothing_stands_for_links_without_mass() -> None:
    """Several joints of one MJCF body are links between which there is nothing, and the world is no part of the robot."""
    moves = '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>'
    ball = '<geom size="0.1"/>'
    body = f'<body name="a" pos="0 0 1">{moves}{ball}<body name="b" pos="0 0 1"><joint/>%s</body></body>'
    shapes, bare = shapes_of(fc.load(f"<mujoco><worldbody>{body % ball}</worldbody></mujoco>"))
    assert bare == []
    assert [shape.kind for shape in shapes] == ["ellipsoid", "ellipsoid"]
    heavy = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    robot = fc.load(f"<mujoco><worldbody>{body % heavy}</worldbody></mujoco>")
    assert [robot.model.bodies[i].name for i in shapes_of(robot)[1]] == ["b"]


def test_an_ellipsoid_has_the_inertia_of_its_body() -> None:
    """A uniform ellipsoid: the shape is found from the inertia that the shape has."""
    a = np.array([0.11, 0.07, 0.05])
    mass = 4 / 3 * np.pi * a.prod() * 1000
    moments = mass / 5 * (np.sum(a**2) - a**2)
    inertia = f'<inertia ixx="{moments[0]}" iyy="{moments[1]}" izz="{moments[2]}"/>'
    inertial = f'<inertial><origin xyz="0.1 0.2 0.3"/><mass value="{mass}"/>{inertia}</inertial>'
    robot = fc.load(f'<robot name="egg"><link name="egg">{inertial}</link></robot>')
    egg = next(s for s in view.scene(robot, robot.neutral())["shapes"] if s["rgba"][3] < 1)
    assert sorted(egg["size"]) == pytest.approx(sorted(a), rel=1e-4)
    assert egg["pose"][:3] == pytest.approx([0.1, 0.2, 0.3])
    R = pose_matrix(egg["pose"])[:3, :3]
    assert np.allclose(R @ np.diag(np.square(egg["size"])) @ R.T, np.diag(a**2), atol=1e-6)


def test_colours_of_mass_change_all_the_way() -> None:
    colours = [mass_colour(x) for x in np.linspace(0, 1, 9)]
    brightness = [sum(c) for c in colours]
    assert all(a > b for a, b in pairwise(brightness))
    assert mass_colour(7.0) == colours[-1]


def test_a_motion_comes_back() -> None:
    robot = fc.load("spacearm")
    rng = np.random.default_rng(0)
    qs = np.array([robot.random_configuration(rng) for _ in range(30)])
    times = np.sort(rng.uniform(5, 6, size=30))
    motion = view.animation(robot, qs, times)
    assert json.loads(json.dumps(motion)) == motion
    assert motion["start"] + unpack(motion["times"]) == pytest.approx(times, abs=1e-6)
    poses = unpack(motion["poses"]).reshape(30, -1, 7)
    for k, body in enumerate(motion["bodies"]):
        expected = frame_pose(robot, qs, robot.model.bodies[body].name)
        assert np.allclose([pose_matrix(x) for x in poses[:, k]], expected, atol=1e-6)
    assert np.all(np.sum(poses[1:, :, 3:] * poses[:-1, :, 3:], axis=-1) >= -1e-6)  # the short way round


def test_only_what_moves_is_written() -> None:
    robot = fc.load("cat")
    qs = np.array([robot.integrate(robot.neutral(), t * np.eye(robot.nv)[-1]) for t in np.linspace(0, 1, 5)])
    moving = view.animation(robot, qs, np.arange(5.0))["bodies"]
    assert [robot.model.bodies[k].name for k in moving] == ["tail_tip"]


@pytest.mark.parametrize(
    ("qs", "times"),
    [((3, 22), [0.0, 1.0]), ((3, 21), [0.0, 1.0, 2.0]), ((22,), [0.0]), ((0, 22), []), ((3, 22), [0.0, 1.0, 1.0])],
)
def test_a_motion_that_does_not_fit_is_refused(qs: tuple[int, ...], times: list[float]) -> None:
    robot = fc.load("cat")
    q = np.broadcast_to(np.resize(robot.neutral(), qs[-1]), qs)
    with pytest.raises(fc.InputError):
        view.animation(robot, q, times)
