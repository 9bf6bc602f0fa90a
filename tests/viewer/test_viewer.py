"""The viewer without a browser: what it is told it shows, and its sliders move what they should."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from fallingcat.apps.view.scene import body_poses
from fallingcat.apps.view.shape import position_and_quaternion
from fallingcat.apps.viewer import Viewer
from fallingcat.apps.viewer.details import details
from fallingcat.apps.viewer.panel import _angles_of, _quaternion_of
from fallingcat.errors import FrameError, InputError
from trees import random_tree

pytestmark = pytest.mark.viewer
extra("viser")
PORT = 18431


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    with Viewer(fc.load("cat"), port=PORT) as made:
        yield made


def shown_pose(viewer: Viewer, body: str) -> Any:
    """Position and quaternion x y z w of a body's node."""
    index = [b.name for b in viewer.robot.model.bodies].index(body)
    node = viewer._solids._nodes[index]
    return np.concatenate([node.position, np.array(node.wxyz)[[1, 2, 3, 0]]])


def slide(viewer: Viewer, joint: str, value: float) -> None:
    """As a hand would."""
    k = viewer.robot.joint_names.index(joint)
    slider = viewer._panel._sliders[k]
    slider.value = value
    viewer._panel._slid(SimpleNamespace(client=object(), target=slider), k)


def test_a_configuration_is_shown(viewer: Viewer) -> None:
    robot = viewer.robot
    q = robot.random_configuration(1)
    viewer.q = q
    for body in robot.model.bodies:
        H = robot.frame_pose(q, body.name)
        x = shown_pose(viewer, body.name)
        assert np.allclose(x[:3], H[:3, 3], atol=1e-12)
        a, b, c, w = x[3:]
        assert np.allclose(H[:3, 0], [1 - 2 * (b * b + c * c), 2 * (a * b + c * w), 2 * (a * c - b * w)], atol=1e-9)
    values = [slider.value for slider in viewer._panel._sliders]
    assert np.allclose(values, np.clip(q[7:], *robot.position_limits.T), atol=1e-9)
    q[7] = 99.0
    assert viewer.q[7] != 99.0


def test_a_slider_moves_its_link_and_what_hangs_on_it(viewer: Viewer) -> None:
    before = {name: shown_pose(viewer, name) for name in ("head", "rear", "front_left_upper_leg", "front_left_lower_leg")}
    slide(viewer, "front_left_shoulder", 0.4)
    after = {name: shown_pose(viewer, name) for name in before}
    moved = {name for name in before if not np.allclose(before[name], after[name])}
    assert moved == {"front_left_upper_leg", "front_left_lower_leg"}
    H = viewer.robot.frame_pose(viewer.q, "front_left_lower_leg")
    assert np.allclose(after["front_left_lower_leg"][:3], H[:3, 3])


def test_every_joint_type_has_sliders_and_mimics_follow() -> None:
    robot = fc.load(random_tree(5, joints=9, mimic=0.5))
    with Viewer(robot, port=PORT) as viewer:
        viewer.q = robot.random_configuration(8)
        shown = [np.concatenate([node.position, np.array(node.wxyz)[[1, 2, 3, 0]]]) for node in viewer._solids._nodes]
        expected = position_and_quaternion(body_poses(robot, viewer.q))
        signs = np.sign(np.sum(np.array(shown)[:, 3:] * expected[:, 3:], axis=1, keepdims=True))
        assert np.allclose(np.array(shown)[:, :3], expected[:, :3], atol=1e-9)
        assert np.allclose(np.array(shown)[:, 3:] * signs, expected[:, 3:], atol=1e-9)
        assert len(viewer._panel._sliders) == robot.n
        followed = viewer._panel._followers
        assert len(viewer._panel._following) == len(followed) > 0
        x = np.clip(0.3, *[np.array([getattr(s, end) for s in viewer._panel._sliders]) for end in ("min", "max")])
        viewer.q = robot.integrate(robot.neutral(), np.concatenate([np.zeros(6), x]))
        assert np.allclose([s.value for s in viewer._panel._sliders], x, atol=1e-9)
        master = {dof.at: k for k, dof in enumerate(viewer._panel._dofs)}
        for body, slider in zip(followed, viewer._panel._following, strict=True):
            assert slider.value == pytest.approx(body.multiplier * x[master[body.at]] + body.offset, abs=1e-9)


def test_what_does_not_fit_is_refused(viewer: Viewer) -> None:
    for bad in ([1.0, 2.0], np.full(viewer.robot.nq, np.nan), "x", np.zeros((3, viewer.robot.nq))):
        with pytest.raises(InputError, match="q "):
            viewer.q = bad
    with pytest.raises(InputError):
        viewer.q = np.zeros(viewer.robot.nq)  # no quaternion
    with pytest.raises(InputError, match="nu"):
        viewer.nu = np.zeros(3)
    with pytest.raises(FrameError):
        viewer.wrenches = {"wing": np.zeros(6)}
    with pytest.raises(FrameError):
        viewer.pick("wing")
    with pytest.raises(InputError, match="no motion"):
        viewer.play([1, 2, 3])  # type: ignore[arg-type]


def test_arrows_say_what_they_say(viewer: Viewer) -> None:
    """Twists are those of the links in the world, by differences of poses; the momentum is the robot's."""
    robot = viewer.robot
    q, nu = robot.random_configuration(2), 0.3 * robot.random_velocity(2)
    viewer.q = q
    viewer._arrows.on.update({"twists": True, "momentum": True})
    viewer.nu = nu
    points = viewer._arrows._arrow["momentum"].points
    h = robot.centroidal_momentum(q, nu)
    assert np.allclose(points[0, 1] - points[0, 0], h[:3] / robot.mass, atol=1e-5)
    poses = robot.frame_poses(q, [b.name for b in robot.model.bodies])
    later = robot.frame_poses(robot.integrate(q, 1e-6 * nu), [b.name for b in robot.model.bodies])
    arrows = viewer._arrows._twists(q, nu, robot.frame_poses(q))
    speeds = (later[:, :3, 3] - poses[:, :3, 3]) / 1e-6
    for k in range(len(poses)):
        assert np.allclose(arrows[2 * k][1], 0.3 * speeds[k], atol=1e-5)


def test_a_link_tells_its_numbers() -> None:
    robot = fc.load("cat")
    q = robot.random_configuration(3)
    text = details(robot, "front_left_lower_leg", q, np.zeros(robot.nv))
    link = next(link for link in robot.description.links if link.name == "front_left_lower_leg")
    assert link.inertial is not None
    assert f"mass {link.inertial.mass:.4g} kg" in text
    rows = re.findall(r"<tr><td[^>]*>([a-z][^<]*)</td>(.*?)</tr>", text)
    assert [name for name, _ in rows][-1] == "front_left_elbow"
    J = np.array([[float(x) for x in re.findall(r">(-?[\d.e+-]+)</td>", cells)] for _, cells in rows])
    step = 1e-6
    dx = np.zeros(robot.nv)
    dx[6 + robot.joint_names.index("front_left_elbow")] = step
    H0, H1 = (robot.frame_pose(x, link.name) for x in (q, robot.integrate(q, dx)))
    W = (H1[:3, :3] @ H0[:3, :3].T - np.eye(3)) / step
    assert np.allclose(J[-1, 3:], [W[2, 1], W[0, 2], W[1, 0]], atol=2e-3)
    assert "<script" not in details(fc.load(random_tree(1, name="<script>")), "link1", *_still(fc.load(random_tree(1))))


def _still(robot: fc.Robot) -> tuple[Any, Any]:
    return robot.neutral(), np.zeros(robot.nv)


def test_motions_are_played_and_recorded(viewer: Viewer, tmp_path: Path) -> None:
    robot = viewer.robot
    q0 = robot.neutral()
    q1 = robot.integrate(q0, 0.2 * np.ones(robot.nv))
    trajectory = fc.Trajectory.from_samples(robot, [0.0, 0.1, 0.2], [q0, robot.integrate(q0, 0.1 * np.ones(robot.nv)), q1])
    page = tmp_path / "motion.html"
    with viewer.record(page):
        viewer.play(trajectory)
    assert np.allclose(viewer.q, q1)
    assert 'class="view"' in page.read_text()
    assert '"animation":{' in page.read_text()
    viewer.play(trajectory, speed=0.01, wait=False)
    viewer.stop()
    assert threading.active_count() < 40
    assert "class=" in viewer.save(tmp_path / "still.html").read_text()


def test_angles_and_quaternions_are_each_others_inverse(rng: np.random.Generator) -> None:
    for angles in rng.uniform(-1.5, 1.5, size=(20, 3)):
        assert np.allclose(_angles_of(np.array(_quaternion_of(*angles))), angles)


def test_the_method_of_the_robot() -> None:
    with fc.load("tree9").view(port=PORT, open_browser=False) as viewer:
        assert viewer.url.startswith("http://localhost:")
        assert "iframe" in viewer._repr_html_()
