"""Joints as products of simple motions: the poses that a page computes are those of the kinematics, for every joint type."""

from __future__ import annotations

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.apps.view.chain import chain, poses
from fallingcat.apps.view.dofs import dofs, followers
from fallingcat.apps.view.scene import body_poses
from fallingcat.robot.robot import Robot
from trees import random_tree


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("floating", [True, False])
def test_chain_at_the_state(seed: int, floating: bool) -> None:
    """Also seen from another base, where joints go backward."""
    builder = random_tree(seed, joints=9)
    for base in (None, f"link{seed % 4 + 1}"):
        robot = fc.load(builder, floating=floating, base=base)
        q = robot.random_configuration(seed)
        found = chain(robot, q)
        x = np.array([slider.value for slider in found.sliders])
        assert np.allclose(poses(found, x), body_poses(robot, q), atol=2e-4)  # places have five digits


@pytest.mark.parametrize("seed", range(5))
def test_sliders_move_joints(seed: int) -> None:
    """A slider of a joint with one coordinate is that coordinate; mimic joints follow, and so do all bodies beyond."""
    robot = fc.load(random_tree(seed, joints=8, types=("revolute", "prismatic", "helical", "cylindrical", "universal", "planar")))
    q = robot.random_configuration(seed)
    found = chain(robot, q)
    x = np.array([slider.value for slider in found.sliders])
    moved = q.copy()
    moved[7:] += np.random.default_rng(seed).normal(size=robot.nq - 7)
    x[6:] += moved[7:] - q[7:]
    assert np.allclose(poses(found, x), body_poses(robot, moved), atol=5e-4)
    assert not np.allclose(poses(found, x), body_poses(robot, q), atol=1e-2)


def test_ranges() -> None:
    """Limits where there are some, a turn or a metre where there are none or as good as none."""
    inertia = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
    builder = fc.Builder("ranges")
    builder.link("a", mass=1.0, inertia=inertia)
    kinds = ("revolute", {"lower": -0.5, "upper": 0.7}), ("continuous", {}), ("prismatic", {"lower": 0.0, "upper": 1e9})
    for k, (kind, limits) in enumerate((*kinds, ("revolute", {"lower": 2.0, "upper": 2.0}))):
        builder.link(f"l{k}", mass=1.0, inertia=inertia)
        builder.joint(f"j{k}", kind, "a", f"l{k}", **limits)  # type: ignore[arg-type]
    made = dofs(fc.load(builder).model)
    assert [(d.low, d.high, d.limited) for d in made[:2]] == [(-0.5, 0.7, True), (-np.pi, np.pi, False)]
    assert (made[2].low, made[2].high, made[2].unit) == (0.0, 2.0, "m")
    assert made[3].low < 2.0 < made[3].high


def test_followers_name_what_they_follow() -> None:
    robot = fc.load(random_tree(3, joints=8, types=("revolute", "prismatic"), mimic=0.6))
    q = robot.random_configuration(0)
    followed = followers(robot.model)
    assert followed
    names = {body.joint_name: body for body in robot.model.bodies}
    for f in followed:
        assert names[f.name].mimics
        assert f.at == names[f.name].nu_at
    assert len(dofs(robot.model)) == robot.n
    assert isinstance(robot, Robot)
    assert len(q) == robot.nq
