"""Robots whose mass matrix is always singular: refused by every function that inverts it, in every representation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.algorithms.singular import is_singular
from fallingcat.errors import SingularError
from trees import random_tree

OFF = (0.1, 0.2, 0.3)


def point() -> fc.Builder:
    """One point mass beside its frame."""
    b = fc.Builder("point")
    b.link("body", mass=1.0, com=OFF)
    return b


def rod() -> fc.Builder:
    """No inertia about one axis."""
    b = fc.Builder("rod")
    b.link("body", mass=1.0, com=OFF, inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.0))
    return b


def two_points() -> fc.Builder:
    """Two point masses that slide apart: nothing resists a turn about their line."""
    b = fc.Builder("two points")
    b.link("body", mass=1.0, com=OFF)
    b.link("other", mass=2.0, com=(0.3, 0.0, 0.1))
    b.joint("slide", "prismatic", "body", "other", axis=(0, 0, 1), lower=-1.0, upper=1.0)
    return b


def on_the_axis() -> fc.Builder:
    """A base whose only mass is a point on the axis of its joint."""
    b = fc.Builder("on the axis")
    b.link("body", mass=1.0, com=OFF)
    b.link("arm", mass=2.0, com=(0.3, 0.0, 0.1), inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    b.joint("hinge", "revolute", "body", "arm", axis=(0, 0, 1), xyz=OFF, lower=-1.0, upper=1.0)
    return b


@pytest.mark.parametrize("make", [point, rod, two_points, on_the_axis])
def test_every_function_and_representation_refuses(make: Callable[[], fc.Builder]) -> None:
    robot = fc.load(make())
    q, x = robot.random_configuration(1), np.ones(robot.nv)
    calls: list[Callable[[], object]] = [
        lambda: robot.forward_dynamics(q, x, x, representation="body"),
        lambda: robot.forward_dynamics(q, x, x, representation="mixed"),
        lambda: robot.forward_dynamics(q, x, x, representation="inertial"),
        lambda: robot.inverse_mass_matrix(q),
        lambda: robot.forward_dynamics_derivatives(q, x, x),
        lambda: robot.forward_dynamics_parameter_derivatives(q, x, x),
        lambda: robot.linearize(q, x, x),
        lambda: robot.reduced_forward_dynamics(q, x, x),
        lambda: robot.step(q, x, x, 0.01),
        lambda: robot.discretize(q, x, x, 0.01),
    ]
    for call in calls:
        with pytest.raises(SingularError, match="singular"):
            call()
    assert np.isfinite(robot.inverse_dynamics(q, x, x)).all()


@pytest.mark.parametrize("seed", range(20))
def test_healthy_trees_pass(seed: int) -> None:
    rng = np.random.default_rng(seed)
    types = ["revolute", "prismatic", "spherical", "planar", "universal", "floating"]
    for floating in (True, False):
        assert not is_singular(fc.load(random_tree(rng, 7, types, mimic=0.3 * (seed % 2)), floating=floating).model)


def test_a_frame_far_from_its_mass_is_no_singularity() -> None:
    """A kilometre between them takes six digits, not all."""
    b = fc.Builder("far")
    b.link("body", mass=1.0, com=(1000.0, 0.0, 0.0), inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    assert not is_singular(fc.load(b).model)


def test_an_armature_is_an_inertia() -> None:
    b = fc.Builder("idle")
    b.link("frame")
    b.link("bob", mass=1.0)
    b.joint("hinge", "revolute", "frame", "bob", axis=(0, 1, 0), armature=0.1)
    assert not is_singular(fc.load(b, floating=False, joint_dynamics=True).model)
