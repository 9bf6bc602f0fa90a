"""Compiled functions against the source they were traced from, run on Python floats."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import eager
from fallingcat.codegen import Kernel
from fallingcat.functions import FUNCTIONS, moving_axes, task
from fallingcat.trace import interpret
from trees import ALL, random_tree, relative_error

TOLERANCE = 1e-12

# Small trees, by seed, that together have every type of joint, with fixed joints and a mimic among them.
SMALL = {
    28: ("revolute", "prismatic", "spherical"),
    67: ("continuous", "helical", "planar"),
    32: ("cylindrical", "universal", "floating"),
}


def robot_of(seed: int) -> fc.Robot:
    return fc.load(random_tree(seed, joints=3, types=SMALL[seed]), joint_dynamics=seed % 2 == 1)


def options_of(robot: fc.Robot, name: str, seed: int) -> dict[str, Any]:
    """A frame far out and one of the three representations, where the function wants them."""
    values = {
        "frame": robot.link_names[-1],
        "representation": ("body", "mixed", "inertial")[seed % 3],
        "target_representation": ("inertial", "mixed", "body")[seed % 3],
        "source": ("body", "inertial", "mixed")[seed % 3],
        "target": ("inertial", "mixed", "body")[seed % 3],
        "factorization": ("christoffel", "body")[seed % 2],
        "base": base_of(robot, seed),
        "group": ("tangent", "product")[seed % 2],
    }
    function = FUNCTIONS[name]
    options = (*function.options, "representation") if function.any_representation else function.options
    return {option: values[option] for option in options}


def base_of(robot: fc.Robot, seed: int) -> Any:
    """A link; two of them; or the centroid, where the representation is the mixed one."""
    link, other = robot.link_names[-1], robot.link_names[0]
    centre = "centroidal" if seed % 3 == 1 else ("center_of_mass", link)
    return (link, (link, other), centre)[seed // 2 % 3]


def inputs_of(robot: fc.Robot, made: Any, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    values = []
    for spec in made.inputs:
        if spec.size == robot.nq and spec.name.startswith("q"):
            values.append(np.array([robot.random_configuration(rng) for _ in range(count)]))
        else:
            values.append(rng.normal(size=(count, spec.size)))
    return values


def parts(result: Any) -> list[np.ndarray]:
    """The arrays of a result, be it one or several."""
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


def compare(kernel: Kernel, values: list[np.ndarray], name: str) -> None:
    """A batch of compiled results with the eager ones, state by state and array by array."""
    expected = eager.run(kernel.task, values)
    got = kernel(*values)
    assert type(got) is type(expected)
    for a, b in zip(parts(got), parts(expected), strict=True):
        assert a.shape == b.shape
        for k in range(len(b)):
            assert relative_error(a[k], b[k]) < TOLERANCE, name


def test_the_trees_have_every_type_of_joint() -> None:
    joints = [joint for seed in SMALL for joint in robot_of(seed).description.joints]
    assert {joint.type for joint in joints} >= {*ALL, "fixed"}
    assert any(joint.mimic for joint in joints)


# Every function on one of the trees, the trees in turn; with `sweep`, every function on every tree.
EACH = [
    pytest.param(name, seed, marks=[] if (k + m) % len(SMALL) == 0 else [pytest.mark.sweep])
    for k, name in enumerate(FUNCTIONS)
    for m, seed in enumerate(SMALL)
]


@pytest.mark.parametrize(("name", "seed"), EACH)
def test_compiled_is_eager(name: str, seed: int, rng: np.random.Generator) -> None:
    robot = robot_of(seed)
    if FUNCTIONS[name].constant_axes and moving_axes(robot.model):
        robot = fc.load(random_tree(seed, joints=3, types=[t for t in SMALL[seed] if t != "universal"]), joint_dynamics=True)
    made = task(robot.model, name, **options_of(robot, name, seed))
    values = inputs_of(robot, made, rng, 6)
    kernel = Kernel(made)
    compare(kernel, values, name)
    first = parts(kernel.entry(*(v[0] for v in values)))
    assert [p.tobytes() for p in first] == [p[0].tobytes() for p in parts(kernel(*values))]


@pytest.mark.parametrize("type_", ALL)
def test_each_type_of_joint_by_itself(type_: str, rng: np.random.Generator) -> None:
    """One joint of a type, so that a failure names it; also at zero, where series take over from formulas."""
    robot = fc.load(random_tree(7, joints=1, types=(type_,), fixed=0.0), floating=False)
    for name in ("inverse_dynamics", "integrate", "difference"):
        made = task(robot.model, name)
        values = inputs_of(robot, made, rng, 3)
        for v, spec in zip(values, made.inputs, strict=True):
            v[1] = robot.neutral() if spec.name.startswith("q") else 0.0
            v[2] = robot.neutral() if spec.name.startswith("q") else 1e-9
        compare(Kernel(made), values, name)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_with_wrenches(ball: fc.Robot, name: str, rng: np.random.Generator) -> None:
    values = inputs_of(ball, task(ball.model, name), rng, 5)
    wrenches = {frame: rng.normal(size=(5, 6)) for frame in ("hand", "ball")}
    forces = ball._on_bodies(name, wrenches)
    assert forces is not None
    expected = eager.run(task(ball.model, name, "body"), (*values, forces.values))
    got = getattr(ball, name)(*values, wrenches)
    for k in range(5):
        assert relative_error(got[k], expected[k]) < TOLERANCE
    assert relative_error(got[0], getattr(ball, name)(*(v[0] for v in values[:3]))) > 1e-3  # they do something


def test_compiled_is_what_the_program_says(ball: fc.Robot, rng: np.random.Generator) -> None:
    """The interpreter rounds like the machine, sines apart: agreement far below the tolerance of the rest."""
    kernel = ball.kernel("inverse_dynamics")
    values = inputs_of(ball, kernel.task, rng, 3)
    for row in zip(*values, strict=True):
        (flat,) = interpret(kernel.program, row)
        np.testing.assert_allclose(kernel.entry(*row), flat, rtol=1e-13, atol=1e-13)


def compare_to_exact(kernel: Kernel, values: list[np.ndarray], name: str) -> None:
    """As `compare`, but where a function itself loses more digits, as eager and compiled both do: 40 digits are the judge."""
    got, eagerly = parts(kernel(*values)), parts(eager.run(kernel.task, values))
    for k in range(len(values[0])):
        errors = [relative_error(a[k], b[k]) for a, b in zip(got, eagerly, strict=True)]
        if max(errors) < TOLERANCE:
            continue
        with mpmath.workdps(40):
            exact = kernel.task.flat([[mpmath.mpf(x) for x in v[k].tolist()] for v in values])
            exactly = [np.array([float(x) for x in flat]) for flat in exact]
        for a, b, x in zip(got, eagerly, exactly, strict=True):
            lost = relative_error(b[k].ravel(), x)
            assert lost < 1e-9, name  # or the comparison says nothing
            assert relative_error(a[k].ravel(), x) < max(TOLERANCE, 5.0 * lost), name


@pytest.mark.sweep
@pytest.mark.parametrize("seed", [100, 101, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(102, 112))])
def test_compiled_is_eager_on_more_trees(seed: int, rng: np.random.Generator) -> None:
    robot = fc.load(random_tree(seed, joints=8), floating=seed % 3 > 0, joint_dynamics=seed % 2 == 1)
    for name in FUNCTIONS:
        if FUNCTIONS[name].floating_only and not robot.floating:
            continue
        if FUNCTIONS[name].constant_axes and moving_axes(robot.model):
            continue
        made = task(robot.model, name, **options_of(robot, name, seed))
        values = inputs_of(robot, made, rng, 5)
        compare_to_exact(Kernel(made), values, name)
