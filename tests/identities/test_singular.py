"""Robots whose mass matrix is always singular: refused by every function that inverts it, in every representation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.algorithms import configuration
from fallingcat.algorithms.singular import is_singular, zero_inertia_joints
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
        lambda: robot.christoffel_symbols_second_kind(q),
        lambda: robot.christoffel_symbols_second_kind(q, "mixed"),
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


# ---------------------------------------------------------------------------------------------------------------------
# Robots that are singular in some configurations only


def gimbal(before: bool = False) -> fc.Builder:
    """A point mass on a massless universal joint: in line with the first axis nothing resists that axis."""
    b = fc.Builder("gimbal")
    b.link("stand")
    if before:  # another branch, whose joint comes first
        b.link("bob", mass=1.0, com=(0, 0, -1))
        b.joint("swing", "revolute", "stand", "bob", axis=(0, 1, 0))
    b.link("fork")
    b.link("rod", mass=2.0, com=(0, 0, 0.5))
    b.joint("first", "revolute", "stand", "fork", axis=(0, 0, 1))
    b.joint("second", "revolute", "fork", "rod", axis=(0, 1, 0))
    return b


INVERTING = {
    "forward_dynamics": 3, "forward_dynamics_derivatives": 3, "inverse_mass_matrix": 1, "linearize": 3,
    "forward_dynamics_parameter_derivatives": 3, "christoffel_symbols_second_kind": 1,
}  # fmt: skip


def first_entries(result: object) -> np.ndarray:
    return np.asarray(result[0] if isinstance(result, tuple) else result)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("name", INVERTING)
def test_one_state_raises_and_names_the_joint(name: str, before: bool) -> None:
    robot = fc.load(gimbal(before), floating=False)
    count = INVERTING[name]
    q, x = np.zeros(robot.nq), np.ones(robot.nv)
    method = getattr(robot, name)
    for arguments in ((q, x, x)[:count], [a.tolist() for a in (q, x, x)[:count]]):
        with pytest.raises(fc.SingularError, match="no inertia resists 'first'"):
            method(*arguments)
    with pytest.raises(fc.SingularError, match="'first'"):
        robot.kernel(name).eager(*(q, x, x)[:count])
    q[-1] = 0.3
    result = method(*(q, x, x)[:count])
    assert np.isfinite(first_entries(result)).all()
    q[-1] = 0.0
    if not isinstance(result, tuple):
        with pytest.raises(fc.SingularError, match="'first'"):
            method(*(q, x, x)[:count], out=result)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("name", INVERTING)
def test_a_batch_is_nan_there_with_one_warning(name: str, before: bool) -> None:
    robot = fc.load(gimbal(before), floating=False)
    count = INVERTING[name]
    Q = np.random.default_rng(0).uniform(0.2, 1.0, (7, robot.nq))
    Q[4, -1] = 0.0
    X = np.ones((7, robot.nv))
    kept = [getattr(robot, name)(q, *(X[0], X[0])[: count - 1]) for q in np.delete(Q, 4, 0)]
    for arguments in (
        (Q, X, X),
        (Q, X, X),
        (Q, X[0], X[0]),
    ):  # compiles, is quick, broadcasts
        with pytest.warns(fc.SingularWarning, match=r"\[4\].*'first'") as caught:
            result = first_entries(getattr(robot, name)(*arguments[:count]))
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert np.isnan(result[4].flat[0])
        assert np.array_equal(np.delete(result, 4, 0), [first_entries(r) for r in kept])


def docked() -> fc.Builder:
    """Two bodies joined by a massless gimbal, whose first and last axis are in line where its second angle is zero."""
    b = fc.Builder("docked")
    b.link("one", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0, 0, 0.2, 0, 0.25))
    b.link("ring")
    b.link("fork")
    b.link("two", mass=2.0, com=(0, 0.1, 0.3), inertia=(0.2, 0, 0, 0.3, 0, 0.25))
    b.joint("first", "revolute", "one", "ring", axis=(0, 0, 1))
    b.joint("second", "revolute", "ring", "fork", axis=(0, 1, 0))
    b.joint("third", "revolute", "fork", "two", axis=(0, 0, 1))
    return b


@pytest.mark.parametrize("name", [*INVERTING, "reduced_forward_dynamics"])
def test_between_two_free_bodies(name: str) -> None:
    """Also where the first entry of a result is zero for all healthy states, as it is of the symbols of a floating base."""
    robot = fc.load(docked(), floating=True)
    count = INVERTING.get(name, 3)
    Q = np.array([robot.random_configuration(k) for k in range(6)])
    Q[4, -3:] = 0.0
    x = np.ones(robot.nv)
    sizes = [i.size for i in robot.kernel(name).task.inputs]
    others = [x[:size] for size in sizes[1:count]]
    method = getattr(robot, name)
    with pytest.raises(fc.SingularError, match="'first'"):
        method(Q[4], *others)
    with pytest.warns(fc.SingularWarning, match=r"\[4\].*'first'"):
        result = first_entries(method(Q, *others))
    assert np.isnan(result[4].flat[0])
    for k in (0, 1, 2, 3, 5):
        assert np.array_equal(result[k], first_entries(method(Q[k], *others)))
        eager = first_entries(robot.kernel(name).eager(Q[k], *others))
        assert np.abs(result[k] - eager).max() < 1e-11 * max(1.0, np.abs(eager).max())


def test_nan_in_gives_nan_out_without_a_word() -> None:
    robot = fc.load(gimbal(), floating=False)
    assert np.isnan(robot.forward_dynamics([0.0, np.nan], [1.0, 1.0], [1.0, 1.0])).all()
    assert np.isnan(robot.forward_dynamics(np.full((3, 2), np.nan), [1.0, 1.0], [1.0, 1.0])).all()


def test_overflow_is_no_singularity() -> None:
    """Finite numbers can overflow where nothing is singular: NaN, as everywhere else."""
    robot = fc.load(gimbal(), floating=False)
    assert not np.isfinite(robot.forward_dynamics([0.0, 0.5], [1e200, 1e200], [0.0, 0.0])).all()


def test_the_doctor_warns_of_a_singular_neutral_configuration() -> None:
    found = [f for f in fc.diagnose(gimbal()) if "neutral configuration" in str(f)]
    assert len(found) == 1
    assert "'first'" in str(found[0])
    assert "forward dynamics impossible" in str(found[0])


@pytest.mark.parametrize("offset", [0.0, 0.3])
@pytest.mark.parametrize("where", ["beside", "beyond"])
def test_the_doctor_warns_of_robots_with_followers(where: str, offset: float) -> None:
    """A finger that follows another does not hide that a joint meets no inertia; turned off the axis, it is one."""
    b = gimbal()
    hand = "stand" if where == "beside" else "rod"
    inertia = 0.01 if where == "beside" else 0.0
    for finger in ("thumb", "index"):
        b.link(finger, mass=0.1, com=(0, 0, 0.2), inertia=(inertia, 0, 0, inertia, 0, inertia))
    b.joint("thumb", "revolute", hand, "thumb", axis=(1, 0, 0), xyz=(0, 0, 1))
    b.joint("index", "revolute", hand, "index", axis=(1, 0, 0), xyz=(0, 0, 1), mimic="thumb", offset=offset)
    found = [f for f in fc.diagnose(b) if "neutral configuration" in str(f)]
    robot = fc.load(b, floating=False)
    singular = is_singular_at(robot)
    assert singular == (where == "beside" or offset == 0.0)
    assert [("'first'" in str(f), "forward dynamics impossible" in str(f)) for f in found] == [(True, True)] * singular


def is_singular_at(robot: fc.Robot) -> bool:
    try:
        robot.inverse_mass_matrix(robot.neutral())
    except fc.SingularError:
        return True
    return False


def test_a_long_chain_is_not_taken_for_singular() -> None:
    """The further out the mass, the larger the bound of a pivot that does not grow with it."""
    b = fc.Builder("chain")
    b.link("link0", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.0, 0.0, 0.01, 0.0, 0.01))
    for k in range(400):
        b.link(f"link{k + 1}", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.0, 0.0, 0.01, 0.0, 0.01))
        b.joint(f"joint{k}", "revolute", f"link{k}", f"link{k + 1}", axis=(0, 1, 0), xyz=(1, 0, 0))
    model = fc.load(b).model
    assert zero_inertia_joints(model, configuration.neutral(model)) == []


# ---------------------------------------------------------------------------------------------------------------------
# What is made of these functions


@pytest.mark.parametrize("name", ["inverse_mass_matrix", "forward_dynamics"])
def test_derivatives_are_singular_where_the_function_is(name: str) -> None:
    """Products with derivatives raise for one state; in a batch they are NaN there, with a warning, and nowhere else."""
    robot = fc.load(gimbal(), floating=False)
    Q = np.array([[0.1, 0.4], [0.0, 0.0], [0.2, 0.7]])
    ones = [np.ones(2)] * 5
    seeds = {"vjp": [np.ones((2, 2))] if name == "inverse_mass_matrix" else ones[:3], "jvp": ones[: 2 * INVERTING[name] - 1]}
    for kind, others in seeds.items():
        derivative = getattr(robot, kind)(name)
        with pytest.raises(fc.SingularError, match="'first'"):
            derivative(Q[1], *others)
        with pytest.warns(fc.SingularWarning, match=r"\[1\].*'first'"):
            batch = first_entries(derivative(Q, *others))
        assert np.isnan(batch[1].flat[0])
        for k in (0, 2):
            assert np.array_equal(batch[k], first_entries(derivative(Q[k], *others)))


def test_own_functions_say_what_is_singular() -> None:
    robot = fc.load(gimbal(), floating=False)
    ours = fc.compile(lambda r, q, nu, tau: r.forward_dynamics(q, nu, tau), robot)
    x = np.ones(2)
    with pytest.raises(fc.SingularError, match="'first'"):
        ours(np.zeros(2), x, x)
    with pytest.raises(fc.SingularError, match="'first'"):
        ours.vjp(np.zeros(2), x, x, x)
    with pytest.warns(fc.SingularWarning, match=r"\[1\].*'first'"):
        found = ours(np.array([[0.1, 0.4], [0.0, 0.0]]), x, x)
    assert np.array_equal(np.isnan(found).any(axis=1), [False, True])
    height = fc.compile(lambda r, q: r.center_of_mass(q)[2], robot)
    assert height.kernel.task.explain is None


def test_a_rollout_names_the_joint() -> None:
    robot = fc.load(gimbal(), floating=False)
    q = np.array([[0.1, 0.4], [0.0, 0.0]])
    with pytest.warns(fc.SingularWarning), pytest.raises(fc.SingularError, match=r"rollout.*from 0 s on.*\[1\].*'first'"):
        robot.rollout(q, np.zeros(2), np.zeros((3, 2)), 1e-3)


@pytest.mark.parametrize("make", [point, rod, two_points, on_the_axis])
def test_a_singular_floating_base_is_named(make: Callable[[], fc.Builder]) -> None:
    """The doctor warns of it, and functions that divide by its inertia raise, for one state and for many: none has a result."""
    found = [f for f in fc.diagnose(make()) if "floating base" in str(f)]
    assert len(found) == 1
    assert "'body'" in str(found[0])
    robot = fc.load(make())
    q, x = robot.random_configuration(1), np.ones(robot.nv)
    for states in (q, np.stack([q, q])):
        with pytest.raises(fc.SingularError, match="at every configuration no inertia resists the floating base 'body'"):
            robot.forward_dynamics(states, x, x)
