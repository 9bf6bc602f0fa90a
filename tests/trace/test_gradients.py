"""Derivatives of programs: every function of the table against a complex step through its source."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from bench.robots import robot_file
from hypothesis import given, settings

import fallingcat as fc
import trees
from fallingcat import scalar
from fallingcat.algorithms import configuration
from fallingcat.codegen import Kernel
from fallingcat.functions import BEHIND, FUNCTIONS, moving_axes
from fallingcat.scalar import Dots
from fallingcat.task import Input, Output, Task
from fallingcat.trace import interpret
from fallingcat.trace.blocks import Product
from fallingcat.trace.dots import DotTable

TOLERANCE = 1e-10


def cases(robot: fc.Robot) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every function that this robot has, with options that each function needs, and wrenches where it takes them."""
    for name, function in (FUNCTIONS | BEHIND).items():
        if (function.floating_only and not robot.floating) or name == "actuation_matrix":
            continue
        if function.constant_axes and moving_axes(robot.model):
            continue
        options: dict[str, Any] = {}
        if "frame" in function.options:
            options["frame"] = robot.frame_names[-1]
        if "base" in function.options:
            options["base"] = robot.link_names[-1]
        yield name, options
        if function.wrenches:
            yield name, options | {"wrenches": "mixed"}
        if function.any_representation and robot.floating:
            yield name, options | {"representation": "inertial"}


def arguments(robot: fc.Robot, task: Task, rng: np.random.Generator) -> list[Any]:
    return [robot.random_configuration(rng) if i.tangents else rng.normal(size=i.size) for i in task.inputs]


def tangents(task: Task, rng: np.random.Generator) -> list[Any]:
    return [rng.normal(size=i.size if i.tangents is None else i.tangents.size) for i in task.inputs]


def complex_step(task: Task, values: list[Any], dots: list[Any]) -> list[Any]:
    """The derivative of every output along tangents, flat."""
    moved = [
        [complex(x, trees.STEP * r) for x, r in zip(v, v * 0 + d if i.tangents is None else i.tangents.rate(v, d), strict=True)]
        for i, v, d in zip(task.inputs, values, dots, strict=True)
    ]  # fmt: skip
    return [np.array([complex(x).imag for x in flat]) / trees.STEP for flat in task.flat(moved)]


def check_derivatives(robot: fc.Robot, name: str, options: dict[str, Any], seed: int, run: Any) -> None:
    """J v, v^T J and ambient v^T J. `run` computes a task for arguments, flat."""
    rng = np.random.default_rng(seed)
    kernel = robot.kernel(name, **options)
    task = kernel.task
    values, dots = arguments(robot, task, rng), tangents(task, rng)
    bars = [rng.normal(size=o.size) for o in task.outputs]
    expected = complex_step(task, values, dots)
    size = max([1.0, *(np.abs(x).max() for x in expected if x.size)])
    got = run(kernel.jvp(), [*values, *dots])
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=TOLERANCE * size, rtol=0, err_msg=f"jvp of {name} {options}")
    rates = [d if i.tangents is None else np.array(i.tangents.rate(v, d)) for i, v, d in zip(task.inputs, values, dots)]
    total = sum(b @ x for b, x in zip(bars, expected, strict=True))
    scale = size * max(1.0, np.sqrt(sum(b.size for b in bars)))
    for ambient, along in ((False, dots), (True, rates)):
        pulled = run(kernel.vjp(ambient), [*values, *bars])
        assert [len(x) for x in pulled] == [len(x) for x in along]
        scale = max(scale, *(np.abs(x).max() for x in map(np.asarray, pulled) if len(x)), 1.0)
        paired = sum(np.asarray(x) @ d for x, d in zip(pulled, along, strict=True))
        assert abs(paired - total) <= TOLERANCE * scale, f"vjp of {name} {options}, ambient {ambient}"


def on_floats(kernel: Kernel, values: list[Any]) -> list[Any]:
    return kernel.task.flat([list(map(float, v)) for v in values])


def compiled(kernel: Kernel, values: list[Any]) -> list[Any]:
    found = kernel(*values)
    return [np.asarray(x).reshape(-1) for x in (found if kernel.task.results is not None else (found,))]


@given(tree=trees.trees(max_joints=4), floating=trees.floating, seed=trees.seeds)
@settings(max_examples=4, deadline=None)
def test_every_function_of_random_trees(tree: fc.Builder, floating: bool, seed: int) -> None:
    robot = trees.load(tree, floating, seed)
    for name, options in cases(robot):
        check_derivatives(robot, name, options, seed, on_floats)


@pytest.mark.parametrize(
    "name", ["inverse_dynamics", "forward_dynamics", "inverse_mass_matrix", "christoffel_symbols", "difference"]
)
def test_compiled_as_on_floats(name: str) -> None:
    """One of each kind: plain, with divisions, with products of blocks, with tables of dot products, with choices."""
    robot = fc.load("cat")
    check_derivatives(robot, name, {}, 1, compiled)


@pytest.mark.sweep
@pytest.mark.parametrize("robot_name", ["cat", "quadruped"])
def test_every_function_compiled(robot_name: str) -> None:
    """Tensors, other axes and wrenches without machine code: theirs takes minutes to compile, and is made as the others."""
    robot = fc.load(robot_name)
    for name, options in cases(robot):
        large = max(len(shape) for _, shape in (FUNCTIONS | BEHIND)[name].outputs) > 2
        varied = not options.keys().isdisjoint(("wrenches", "representation"))
        check_derivatives(robot, name, options, 2, on_floats if large or varied else compiled)


@pytest.mark.sweep
def test_every_function_of_a_humanoid() -> None:
    """talos_reduced, 38 degrees of freedom: one tangent and one cotangent each, without machine code; of the dynamics with it."""
    robot = fc.load(robot_file("talos_reduced"))
    for name, options in cases(robot):
        check_derivatives(robot, name, options, 2, on_floats)
    for name in ("inverse_dynamics", "forward_dynamics"):
        check_derivatives(robot, name, {}, 3, compiled)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(6))
def test_every_function_of_more_random_trees(seed: int) -> None:
    robot = trees.load(trees.random_tree(seed, 7), seed % 3 != 0, seed, joint_dynamics=seed % 4 == 1)
    for name, options in cases(robot):
        check_derivatives(robot, name, options, seed, on_floats)


@given(tree=trees.trees(max_joints=6), floating=trees.floating, seed=trees.seeds)
@settings(max_examples=12, deadline=None)
def test_rates_of_coordinates_are_the_slope_of_integrate(tree: fc.Builder, floating: bool, seed: int) -> None:
    robot = trees.load(tree, floating, seed)
    rng = np.random.default_rng(seed)
    q, nu, _ = trees.state(robot, rng)
    expected = trees.slope(trees.moved(robot.model, q, nu))
    np.testing.assert_allclose(configuration.rate(robot.model, q, nu), expected, atol=1e-14)


# ---------------------------------------------------------------------------------------------------------------------
# Programs


def test_gradients_take_a_few_times_the_operations() -> None:
    robot = fc.load("quadruped")
    for name in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy"):
        kernel = robot.kernel(name)
        assert kernel.vjp().operations < 2.8 * kernel.operations, name
        assert kernel.jvp().operations < 2.8 * kernel.operations, name


def test_loops_stay_loops() -> None:
    """Derivatives of products of blocks, and of tables of dot products, are the same: as much stays in loops."""
    robot = fc.load("cat")
    for name, op in (("forward_dynamics_derivatives", Product), ("christoffel_symbols", DotTable)):
        kernel = robot.kernel(name)
        for program in (kernel.vjp().program, kernel.jvp().program):
            inside = sum(x.flops for x, _ in program.instructions if isinstance(x, op))
            before = sum(x.flops for x, _ in kernel.program.instructions if isinstance(x, op))
            assert inside > before > 0, name


DOTS = {
    "plain": ([Dots(0, 0, 3, 0, 1), Dots(1, 1, 2, 4, 1)], False, 0),
    "steps": ([Dots(0, 0, 3, 0, 2), Dots(2, 1, 2, 1, 4)], False, 0),
    "fewer terms": ([Dots(0, 0, 3, 0, 1), Dots(4, 1, 2, 4, 1, 1), Dots(3, 0, 1, 7, 1, 2)], False, 0),
    "adding": ([Dots(0, 0, 3, 0, 1), Dots(1, 0, 3, 2, 1), Dots(2, 1, 2, 1, 3, 2)], True, 0),
    "mirrored": ([Dots(0, 0, 3, 0, 1), Dots(1, 1, 2, 4, 1), Dots(2, 2, 1, 8, 1)], False, 3),
}


@pytest.mark.parametrize("kind", DOTS)
@pytest.mark.parametrize("whole", [True, False])
def test_tables_of_dot_products_of_every_kind(kind: str, whole: bool, rng: np.random.Generator) -> None:
    """As a result in one piece, and with something done to its entries."""
    jobs, add, side = DOTS[kind]

    def evaluate(a: Any, b: Any) -> Any:
        table = scalar.dots(list(a), [list(b[3 * k : 3 * k + 3]) for k in range(3)], jobs, 9, 0, add, side)
        return scalar.tensor(table, (9,)) if whole else [x * x for x in table]

    task = Task("table", (Input("a", 5), Input("b", 9)), (Output("y", (9,)),), evaluate)
    kernel = Kernel(task)
    a, b, da, db, y = (rng.normal(size=n) for n in (5, 9, 5, 9, 9))
    (slope,) = complex_step(task, [a, b], [da, db])
    for run in (on_floats, compiled, lambda k, v: interpret(k.program, v)):
        (pushed,) = run(kernel.jvp(), [a, b, da, db])
        np.testing.assert_allclose(pushed, slope, rtol=1e-13, atol=1e-14)
        a_bar, b_bar = run(kernel.vjp(), [a, b, y])
        np.testing.assert_allclose(np.dot(a_bar, da) + np.dot(b_bar, db), y @ slope, rtol=1e-12)
    batch = kernel.vjp()(np.stack([a] * 9), b, np.eye(9))  # every row of the Jacobian
    np.testing.assert_allclose(batch.a @ da + batch.b @ db, slope, rtol=1e-12, atol=1e-13)


def test_nothing_is_traced_to_know_the_code_again() -> None:
    """The key of a derivative is that of its function and what was done to it."""
    robot = fc.load("cat")
    kernel = robot.kernel("bias")
    made = [kernel, kernel.vjp(), kernel.vjp(ambient=True), kernel.jvp(), kernel.jvp(ambient=True), kernel.vjp().vjp()]
    assert len({k.task.key for k in made}) == len({k.key() for k in made}) == 6
    assert all(k.task.key and k._program is None for k in made)
    assert kernel.vjp() is kernel.vjp()


def test_pickled_derivatives(rng: np.random.Generator) -> None:
    robot = fc.load("spacearm", joints=["joint2", "joint4"])
    q, nu, y = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    for made, values in (
        (robot.kernel("bias").vjp(), (q, nu, y)),
        (robot.kernel("bias").vjp().jvp(ambient=True), (q, nu, y, q, nu, y)),
        (robot.vjp("bias"), (q, nu, y)),
        (robot.jvp("bias", ambient=True), (q, nu, q, nu)),
    ):
        again = pickle.loads(pickle.dumps(made))
        found, other = made(*values), again(*values)
        assert np.concatenate(list(found), axis=None).tobytes() == np.concatenate(list(other), axis=None).tobytes()
        copy = pickle.loads(pickle.dumps(found))
        assert type(copy) is type(found)


# ---------------------------------------------------------------------------------------------------------------------
# Edges


def derivative_of(f: Any, *x: float) -> tuple[list[float], list[float]]:
    """By reverse mode and by forward mode, of the program of a function of numbers."""
    spec = tuple(Input(f"x{k}", 1) for k in range(len(x)))
    kernel = Kernel(Task("f", spec, (Output("y", ()),), lambda *v: f(*(a[0] for a in v))))
    reverse = interpret(kernel.vjp().program, [*([a] for a in x), [1.0]])
    forward = [
        interpret(kernel.jvp().program, [*([a] for a in x), *([float(j == k)] for j in range(len(x)))]) for k in range(len(x))
    ]
    twice = interpret(kernel.vjp().vjp().program, [*([a] for a in x), [1.0], *[[1.0]] * len(x)])
    assert all(np.isfinite(twice).ravel())
    return [r[0] for r in reverse], [y[0][0] for y in forward]


def both(f: Any, *x: float) -> list[float]:
    reverse, forward = derivative_of(f, *x)
    np.testing.assert_allclose(reverse, forward, rtol=1e-15)
    return reverse


def test_a_square_root_at_zero_has_no_slope() -> None:
    assert both(lambda x, y: scalar.sqrt(x * x + y * y), 0.0, 0.0) == [0.0, 0.0]
    np.testing.assert_allclose(both(lambda x, y: scalar.sqrt(x * x + y * y), 3.0, 4.0), [0.6, 0.8], rtol=1e-15)
    assert both(scalar.sqrt, 1e-200) == [0.5 / 1e-100]


def test_an_arc_tangent_at_the_origin_has_no_slope() -> None:
    assert both(scalar.atan2, 0.0, 0.0) == [0.0, 0.0]
    np.testing.assert_allclose(both(scalar.atan2, 3.0, 4.0), [0.16, -0.12], rtol=1e-15)


def test_what_is_not_chosen_does_not_spoil_what_is() -> None:
    """Divisions by zero and roots of negative numbers on the other side of a choice."""
    sinc = lambda x: scalar.where_less(x * x, 1e-8, 1.0 - x * x / 6.0, scalar.sin(x) / x)  # noqa: E731
    assert both(sinc, 0.0) == [0.0]
    np.testing.assert_allclose(both(sinc, 2.0), [np.cos(2.0) / 2.0 - np.sin(2.0) / 4.0], rtol=1e-14)
    root = lambda x: scalar.where_less(x, 0.0, 2.0 * x, scalar.sqrt(x) * scalar.sqrt(x))  # noqa: E731
    assert both(root, -3.0) == [2.0]
    np.testing.assert_allclose(both(root, 3.0), [1.0], rtol=1e-15)
    nested = lambda x, y: scalar.where_less(x, y, x, scalar.where_less(0.0, x - y, y / (x - y), 1.0))  # noqa: E731
    assert both(nested, 1.0, 1.0) == [0.0, 0.0]
    np.testing.assert_allclose(both(nested, 3.0, 1.0), [-0.25, 0.75], rtol=1e-15)


def test_not_a_number_in_is_not_a_number_out(rng: np.random.Generator) -> None:
    """Also where the derivative does not depend on it: the base's position has no part in inverse dynamics."""
    robot = fc.load("cat")
    q, nu, dnu = trees.state(robot, rng)
    y = rng.normal(size=robot.nv)
    for place, at in ((0, 1), (0, 4), (0, 12), (1, 3), (2, 9), (3, 2)):
        values = [q.copy(), nu.copy(), dnu.copy(), y.copy()]
        values[place][at] = np.nan
        assert np.isnan(np.concatenate(robot.vjp("inverse_dynamics")(*values))).any()


# ---------------------------------------------------------------------------------------------------------------------
# What users call


@pytest.fixture(scope="module")
def robot() -> fc.Robot:
    return fc.load("spacearm", joints=["joint1", "joint2", "joint4"])


def test_vjp_and_jvp_of_a_batch_are_the_analytical_derivatives(robot: fc.Robot, rng: np.random.Generator) -> None:
    q = np.array([robot.random_configuration(rng) for _ in range(6)]).reshape(2, 3, -1)
    nu, dnu, y, *d = rng.normal(size=(6, 2, 3, robot.nv))
    D = robot.inverse_dynamics_derivatives(q, nu, dnu)
    pulled = robot.vjp("inverse_dynamics")(q, nu, dnu, y)
    assert pulled._fields == ("q", "nu", "dnu")
    for bar, J in zip(pulled, D, strict=True):
        np.testing.assert_allclose(bar, np.einsum("...i,...ij->...j", y, J), rtol=1e-11, atol=1e-11)
    pushed = robot.jvp("inverse_dynamics")(q, nu, dnu, *d)
    expected = sum(np.einsum("...ij,...j->...i", J, x) for J, x in zip(D, d, strict=True))
    np.testing.assert_allclose(pushed, expected, rtol=1e-11, atol=1e-11)
    outs = tuple(np.empty((2, 3, robot.nv)) for _ in range(3))
    robot.vjp("inverse_dynamics")(q, nu, dnu, tau_bar=y, out=outs)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(outs, pulled, strict=True))


def test_cotangents_come_in_the_shape_of_results(robot: fc.Robot, rng: np.random.Generator) -> None:
    q, nu, _ = trees.state(robot, rng)
    S = rng.normal(size=(robot.nv, robot.nv))
    (bar,) = robot.vjp("mass_matrix")(q, S)
    assert (bar == robot.kernel("mass_matrix").vjp()(q, S.ravel()).q).all()
    np.testing.assert_allclose(robot.vjp("kinetic_energy")(q, nu, 1.0).nu, robot.mass_matrix(q) @ nu, rtol=1e-13, atol=1e-13)
    batch = robot.vjp("kinetic_energy")(np.stack([q] * 4), nu, np.arange(4.0))
    np.testing.assert_allclose(batch.nu, np.outer(np.arange(4.0), robot.mass_matrix(q) @ nu), rtol=1e-13, atol=1e-13)
    with pytest.raises(fc.InputError, match=r"mass_matrix_vjp: M_bar has the wrong shape; expected: \(..., 9, 9\)"):
        robot.vjp("mass_matrix")(q, S[1:])
    for derivative in (robot.vjp, robot.jvp):
        with pytest.raises(fc.InputError, match="ambient is not a boolean; expected: True or False; got: 'no'"):
            derivative("mass_matrix", ambient="no")  # type: ignore[arg-type]
    with pytest.raises(fc.InputError, match="wrong number of arguments"):
        robot.vjp("mass_matrix")(q)
    with pytest.raises(fc.InputError, match="far from unit length"):
        robot.vjp("mass_matrix")(2.0 * q, S)
    with pytest.raises(fc.InputError, match=r"no function 'mas_matrix'.*mass_matrix"):
        robot.vjp("mas_matrix")


def test_wrenches_have_their_cotangents_on_frames(robot: fc.Robot, rng: np.random.Generator) -> None:
    q, nu, dnu = trees.state(robot, rng)
    y, frames = rng.normal(size=robot.nv), robot.frame_names[-2:]
    w = {frame: rng.normal(size=6) for frame in frames}
    bars = robot.vjp("inverse_dynamics")(q, nu, dnu, y, wrenches=w)
    for frame in frames:
        np.testing.assert_allclose(bars.wrenches[frame], -robot.frame_jacobian(q, frame) @ y, rtol=1e-12, atol=1e-12)
    D = robot.inverse_dynamics_derivatives(q, nu, dnu, w)
    np.testing.assert_allclose(bars.q, y @ D.dtau_dq, rtol=1e-11, atol=1e-11)
    assert robot.vjp("inverse_dynamics")(q, nu, dnu, y, wrenches={})._fields == ("q", "nu", "dnu")


def test_ambient_cotangents_are_tangent_to_the_sphere(robot: fc.Robot, rng: np.random.Generator) -> None:
    """Also of a function that takes quaternions as plain numbers; at any length within the tolerance."""
    q = robot.random_configuration(rng)
    q[3:7] *= 1.005
    f = fc.compile(lambda r, q: q[3] * q[6] + q[4] + r.potential_energy(q), robot)
    bar = f.kernel.vjp(ambient=True)(q, np.ones(1)).q
    assert abs(bar[3:7] @ q[3:7]) < 1e-14
    nu = rng.normal(size=robot.nv)
    rate = np.array(configuration.rate(robot.model, q, nu))
    assert abs(rate[3:7] @ q[3:7]) < 1e-15
    np.testing.assert_allclose(bar @ rate, f.vjp(q, 1.0).q @ nu, rtol=1e-13)


def test_derivatives_of_your_own_function(robot: fc.Robot, rng: np.random.Generator) -> None:
    def work(r: Any, q: Any, nu: Any, target: Any) -> Any:
        reach = r.center_of_mass(q) - target
        return reach @ reach + r.kinetic_energy(q, nu)

    f = fc.compile(work, robot, target=3)
    q, nu, _ = trees.state(robot, rng)
    target = rng.normal(size=3)
    c, J, M = robot.center_of_mass(q), robot.center_of_mass_jacobian(q), robot.mass_matrix(q)
    slopes = f.jacobian(q, nu, target)
    assert slopes._fields == ("q", "nu", "target")
    energy_by_q = robot.vjp("kinetic_energy")(q, nu, 1.0).q
    np.testing.assert_allclose(slopes.q, 2.0 * J.T @ (c - target) + energy_by_q, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(slopes.nu, M @ nu, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(slopes.target, -2.0 * (c - target), rtol=1e-12)
    for x, y in zip(f.vjp(q, nu, target, 1.0), slopes, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)
    d = [rng.normal(size=x.size) for x in slopes]
    np.testing.assert_allclose(f.jvp(q, nu, target, *d), sum(x @ y for x, y in zip(slopes, d, strict=True)), rtol=1e-12)
    second = f.hessian(q, nu, target)
    np.testing.assert_allclose(second.dnu_dnu, M, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(second.dtarget_dtarget, 2.0 * np.eye(3), atol=1e-15)
    np.testing.assert_allclose(second.dtarget_dq, -2.0 * J, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(second.dq_dtarget, -2.0 * J.T, rtol=1e-12, atol=1e-12)
    for k in range(robot.nv):  # the derivative of the gradient, by complex step through its source
        moved = trees.moved(robot.model, q, np.eye(robot.nv)[k])
        gradient, _, _ = f.kernel.jacobian().task.flat([moved, list(nu), list(target)])
        np.testing.assert_allclose(second.dq_dq[:, k], trees.slope(gradient), atol=1e-10)
    with pytest.raises(fc.InputError, match="only a function with one number as its result has a hessian"):
        fc.compile(lambda r, q: r.center_of_mass(q), robot).hessian  # noqa: B018


def test_gradients_inside_of_your_own_function(robot: fc.Robot, rng: np.random.Generator) -> None:
    def f(r: Any, q: Any, nu: Any, dnu: Any) -> Any:
        bars = r.vjp("inverse_dynamics")(q, nu, dnu, nu)
        pulled = r.vjp("mass_matrix")(q, np.outer(nu, nu)).q + r.vjp("kinetic_energy")(q, nu, 2.0).q
        return np.concatenate([bars.q, bars.dnu, r.jvp("bias")(q, nu, dnu, nu), pulled])

    q, nu, dnu = trees.state(robot, rng)
    bars = robot.vjp("inverse_dynamics")(q, nu, dnu, nu)
    pulled = robot.vjp("mass_matrix")(q, np.outer(nu, nu)).q + robot.vjp("kinetic_energy")(q, nu, 2.0).q
    expected = np.concatenate([bars.q, bars.dnu, robot.jvp("bias")(q, nu, dnu, nu), pulled])
    np.testing.assert_allclose(fc.compile(f, robot)(q, nu, dnu), expected, rtol=1e-11, atol=1e-11)


def test_forward_mode_takes_fewer_operations_than_products_with_analytical_derivatives() -> None:
    """Why `jvp` never goes by way of the matrices: the tangent program alone is shorter, for every function that has both."""
    robot = fc.load("quadruped")
    for name in ("inverse_dynamics", "forward_dynamics", "gravity_torque", "centroidal_momentum", "centroidal_momentum_rate"):
        matrices = robot.kernel(f"{name}_derivatives")
        products = 2 * sum(o.size for o in matrices.task.outputs)
        assert robot.kernel(name).jvp().operations < matrices.operations + products, name


def test_the_jacobian_of_a_function_with_many_results_goes_forward(robot: fc.Robot, rng: np.random.Generator) -> None:
    q = robot.random_configuration(rng)
    f = fc.compile(lambda r, q: r.mass_matrix(q), robot)
    assert f.jacobian(q).shape == (robot.nv, robot.nv, robot.nv)
    np.testing.assert_allclose(f.jacobian(q), robot.mass_matrix_derivatives(q), rtol=1e-11, atol=1e-11)
    g = fc.compile(lambda r, q: r.center_of_mass(q), robot)
    np.testing.assert_allclose(g.jacobian(np.stack([q, q]))[1], robot.center_of_mass_jacobian(q), rtol=1e-12, atol=1e-12)


def test_the_symmetric_part_of_a_hessian_is_that_along_a_motion(robot: fc.Robot, rng: np.random.Generator) -> None:
    """On a group directions do not commute: the rest is their bracket, contracted with the gradient."""
    f = fc.compile(lambda r, q: r.center_of_mass(q) @ r.center_of_mass(q), robot)
    q, z = robot.random_configuration(rng), rng.normal(size=robot.nv)
    h = 1e-3
    along = np.array([f(robot.integrate(q, t * h * z)) for t in (-2, -1, 0, 1, 2)]) @ [-1, 16, -30, 16, -1] / (12 * h * h)
    np.testing.assert_allclose(z @ f.hessian(q) @ z, along, rtol=1e-6)
    x, y = rng.normal(size=(2, robot.nv))
    H = f.hessian(q)
    bracket = np.array(configuration.bracket(robot.model, x)) @ y
    np.testing.assert_allclose(y @ H @ x - x @ H @ y, f.jacobian(q) @ bracket, rtol=1e-10, atol=1e-10)
