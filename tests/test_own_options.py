"""Inside a function that `fc.compile` traces, the methods are those of `Robot`: options, defaults, checks and words."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.choices import REPRESENTATIONS
from fallingcat.functions import FUNCTIONS
from fallingcat.robot.formulas import Formulas
from fallingcat.trace import interpret

OPTIONS: dict[str, tuple[Any, ...]] = {
    "representation": REPRESENTATIONS,
    "target_representation": (None, "inertial"),
    "source": REPRESENTATIONS,
    "target": ("mixed", "inertial", "body"),
    "factorization": ("christoffel", "body"),
    "base": (None, "link7", ("center_of_mass", "link7")),
    "wrenches": (None, "none", "one", "two"),
    "method": ("euler", "midpoint", "rk4"),
    "group": ("product", "tangent"),
    "frame": ("link7",),
    "frames": (None, ("link7", "joint4")),
}
"""Of every option of a method, the values that are tried."""
COMPOSED = (
    "step",
    "discretize",
    "state_plus",
    "state_minus",
    "configuration",
    "split",
    "neutral",
    "actuation_matrix",
    "base_configuration",
)
METHODS = (*FUNCTIONS, *COMPOSED)
FLOATING_ONLY = {"base_configuration", *(name for name in FUNCTIONS if FUNCTIONS[name].floating_only)}
"""What a fixed base refuses."""


@pytest.fixture(scope="module")
def robot() -> fc.Robot:
    return fc.load("spacearm", joints=["joint2"])


@pytest.fixture(scope="module")
def welded() -> fc.Robot:
    return fc.load("spacearm", joints=["joint2", "joint4"], floating=False)


def values_of(robot: fc.Robot, name: str, tau: str = "nv") -> dict[str, Any]:
    """Something to call a method with, by the names of its arguments."""
    rng = np.random.default_rng(5)
    q, q1 = robot.random_configuration(rng), robot.random_configuration(rng)
    nu, nu1, dnu, dx, w = rng.normal(size=(5, robot.nv))
    lengths = {"nv": robot.nv, "n": robot.n}
    everything = {
        "q": q, "q0": q, "q1": q1, "nu": nu, "nu0": nu, "nu1": nu1, "dnu": dnu, "dx": dx, "w": w,
        "tau": rng.normal(size=lengths[tau]), "ddr": rng.normal(size=robot.n), "r": rng.normal(size=robot.n),
        "mu": rng.normal(size=6), "z": rng.normal(size=2 * robot.nv), "dt": np.array(1e-2),
        "a": rng.normal(size=6), "tau0": rng.normal(size=robot.n),
        "H": robot.split(q)[0], "s": robot.split(q)[1],
    }  # fmt: skip
    names = inspect.signature(getattr(fc.Robot, name)).parameters
    return {x: everything[x] for x in names if x in everything}


def options_of(name: str, every: bool) -> Iterator[dict[str, Any]]:
    """Combinations of the options of a method: all, or each value once."""
    names = [x for x in inspect.signature(getattr(fc.Robot, name)).parameters if x in OPTIONS]
    choices = [OPTIONS[x][1:] if (name, x) == ("base_change", "base") else OPTIONS[x] for x in names]
    if every:
        combinations = list(itertools.product(*choices))
    else:
        longest = max(map(len, choices), default=1)
        combinations = [tuple(values[min(k, len(values) - 1)] for values in choices) for k in range(longest)]
    return (dict(zip(names, values, strict=True)) for values in combinations)


def with_wrenches(options: dict[str, Any], forces: Any) -> dict[str, Any]:
    frames = {"none": (), "one": ("link7",), "two": ("link3", "link7")}
    which = options.get("wrenches")
    return options if which is None else options | {"wrenches": dict(zip(frames[which], forces, strict=False))}


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def compare(found: Any, expected: Any, what: Any) -> None:
    assert len(parts(found)) == len(parts(expected))
    for a, b in zip(parts(found), parts(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        tolerance = 1e-12 * max(1.0, float(np.abs(b).max(initial=0.0)))
        np.testing.assert_allclose(np.asarray(a, dtype=float), b, rtol=0.0, atol=tolerance, err_msg=str(what))


def agree(robot: fc.Robot, name: str, every: bool, run: Callable[[Any, list[Any]], Any]) -> int:
    """A method on numbers outside of a trace, on numbers within, and on symbols, for combinations of its options."""
    forces = np.random.default_rng(6).normal(size=(2, 6))
    values = values_of(robot, name)
    sizes = {x: v.size for x, v in values.items()}
    count = 0
    for options in options_of(name, every):
        expected = getattr(robot, name)(*values.values(), **with_wrenches(options, forces))
        compare(getattr(Formulas(robot), name)(*values.values(), **with_wrenches(options, forces)), expected, (name, options))
        count += 1
        if not values:
            continue

        def inside(r: Any, x: Any, f: Any, name: str = name, options: dict[str, Any] = options) -> Any:
            cuts = np.cumsum(list(sizes.values()))[:-1]
            given = [a.reshape(v.shape)[()] for a, v in zip(np.split(x, cuts), values.values(), strict=True)]
            result = getattr(r, name)(*given, **with_wrenches(options, f.reshape(2, 6)))
            return np.concatenate([np.asarray(part, dtype=object).ravel() for part in parts(result)])

        f = fc.compile(inside, robot, x=sum(sizes.values()), f=12)
        found = run(f, [np.concatenate([np.ravel(v) for v in values.values()]), forces.ravel()])
        compare(found, np.concatenate([np.ravel(part) for part in parts(expected)]), (name, options))
    return count


def interpreted(f: Any, values: list[Any]) -> Any:
    return np.array(interpret(f.kernel.program, [v.tolist() for v in values])[0])


def compiled(f: Any, values: list[Any]) -> Any:
    return f(*values)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_the_robots(robot: fc.Robot, name: str) -> None:
    assert agree(robot, name, every=False, run=interpreted)


@pytest.mark.sweep
@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_the_robots_with_every_option(robot: fc.Robot, name: str) -> None:
    assert agree(robot, name, every=True, run=compiled)


@pytest.mark.sweep
@pytest.mark.parametrize("name", [x for x in METHODS if x not in FLOATING_ONLY])
def test_every_method_is_that_of_a_welded_robot(welded: fc.Robot, name: str) -> None:
    assert agree(welded, name, every=True, run=compiled)


@pytest.mark.parametrize("name", sorted(FLOATING_ONLY))
def test_a_welded_robot_refuses_what_needs_a_floating_base(welded: fc.Robot, name: str) -> None:
    values, options = values_of(welded, name), list(options_of(name, every=False))[-1]  # the last one changes the base
    for robot in (welded, Formulas(welded)):
        with pytest.raises(fc.InputError, match="needs a floating base"):
            getattr(robot, name)(*values.values(), **options)


def test_methods_have_every_option_that_is_tried() -> None:
    """A renamed option would silently be tried no more."""
    found = {x for name in METHODS for x in inspect.signature(getattr(fc.Robot, name)).parameters}
    assert set(OPTIONS) <= found
    known = {*OPTIONS, "self", "out", *(x for name in METHODS for x in values_of(fc.load("cat"), name))}
    assert found <= known


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


def test_options_by_position(robot: fc.Robot) -> None:
    v = values_of(robot, "inverse_dynamics")
    q, nu, dnu = v.values()
    w = {"link7": np.arange(6.0)}
    inside = {
        "mass_matrix": lambda r, q, nu, dnu: r.mass_matrix(q, "mixed"),
        "inverse_dynamics": lambda r, q, nu, dnu: r.inverse_dynamics(q, nu, dnu, w, "inertial"),
        "coriolis_matrix": lambda r, q, nu, dnu: r.coriolis_matrix(q, nu, "body", "mixed"),
        "linearize": lambda r, q, nu, dnu: r.linearize(q, nu, dnu, w, "inertial").A,
        "frame_jacobian": lambda r, q, nu, dnu: r.frame_jacobian(q, "link7", "mixed"),
        "by name": lambda r, q, nu, dnu: r.inverse_dynamics(dnu=dnu, nu=nu, q=q, wrenches=w, representation="mixed"),
    }
    for what, function in inside.items():
        compare(interpreted(fc.compile(function, robot), [q, nu, dnu]), np.ravel(function(robot, q, nu, dnu)), what)


@pytest.mark.parametrize("name", ["linearize", "step", "discretize"])
def test_torques_of_the_joints_alone(robot: fc.Robot, name: str) -> None:
    q, nu, tau, *_ = values_of(robot, name, tau="n").values()
    options = {} if name == "linearize" else {"dt": 0.01, "method": "euler"}

    def first(r: Any, q: Any, nu: Any, u: Any) -> Any:
        return getattr(r, name)(q, nu, u, **options)[0]

    f = fc.compile(first, robot, u=robot.n)
    compare(interpreted(f, [q, nu, tau]), np.ravel(first(robot, q, nu, tau)), name)


def test_several_states_within_one_function(robot: fc.Robot) -> None:
    """Leading axes are batch axes here too, and broadcast."""
    rng = np.random.default_rng(1)
    q, nu = robot.random_configuration(rng), rng.normal(size=robot.nv)

    def many(r: Any, q: Any, nu: Any) -> Any:
        both = np.stack([r.integrate(q, nu), q])
        return r.frame_velocity(both[:, None], np.stack([nu, 2.0 * nu, -nu]), "link7")

    expected = many(robot, q, nu)
    assert expected.shape == (2, 3, 6)
    compare(interpreted(fc.compile(many, robot), [q, nu]), expected.ravel(), "many")


def test_a_step_with_a_time_that_is_an_argument(robot: fc.Robot) -> None:
    q, nu, tau, _ = values_of(robot, "step").values()

    def after(r: Any, q: Any, nu: Any, tau: Any, dt: Any) -> Any:
        step = r.step(q, nu, tau, dt[0], "rk4", {"link7": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]})
        step.nu[0] = step.nu[0] + 0.0  # an array of its own
        return np.concatenate([step.q, step.nu])

    expected = robot.step(q, nu, tau, 0.02, "rk4", {"link7": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]})
    f = fc.compile(after, robot, dt=1)
    compare(f(q, nu, tau, [0.02]), np.concatenate(expected), "step")


def test_what_a_change_of_base_does(robot: fc.Robot) -> None:
    q, nu, tau, *_ = values_of(robot, "step").values()
    J = np.random.default_rng(2).normal(size=(3, robot.nv))

    def everything(r: Any, q: Any, nu: Any, tau: Any) -> Any:
        change = r.base_change(q, nu, "link7")
        own = r.equations_of_motion(q, nu)
        found = [change.inverse, change.inverse_rate, change.velocity(nu), change.acceleration(nu, tau), change.force(tau)]
        found += [change.jacobian(J), *change.equations(*own), *fc.change_coordinates(*own, *change)]
        return np.concatenate([np.ravel(x) for x in found])

    expected = everything(robot, q, nu, tau)
    compare(interpreted(fc.compile(everything, robot), [q, nu, tau]), expected, "base change")
    X = robot.base_change(q, nu, "link7")
    np.testing.assert_allclose(X.inverse, np.linalg.inv(X.T), rtol=0.0, atol=1e-13)


def test_a_robot_with_another_base_within_a_function(robot: fc.Robot) -> None:
    q = robot.random_configuration(3)
    f = fc.compile(lambda r, q: r.with_base("link7").center_of_mass(q), robot)
    compare(interpreted(f, [q]), robot.with_base("link7").center_of_mass(q), "with_base")


def test_what_a_robot_is(robot: fc.Robot) -> None:
    def facts(r: Any, q: Any) -> Any:
        assert r.frame_names == robot.frame_names
        assert r.floating
        return [r.mass, r.nq, r.nv, r.n, *r.gravity, *r.actuation.ravel(), *r.position_limits.ravel(), *r.neutral()]

    f = fc.compile(facts, robot)
    assert f(robot.neutral()).tolist() == np.array(facts(robot, None), dtype=float).tolist()


def test_numbers_within_a_function_stay_numbers(robot: fc.Robot) -> None:
    """NumPy's functions of numbers work on them; what is known is folded."""

    def shifted(r: Any, q: Any) -> Any:
        found = r.discretize(r.neutral(), np.zeros(r.nv), np.zeros(r.n), 0.01)
        return np.exp(np.linalg.norm(found.A)) * q[0]

    A = robot.discretize(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.n), 0.01).A
    q = robot.random_configuration(4)
    assert fc.compile(shifted, robot)(q) == pytest.approx(np.exp(np.linalg.norm(A)) * q[0], rel=1e-12)


def test_zeros_that_were_symbols_are_still_arguments(robot: fc.Robot) -> None:
    """0 nu is known while tracing: an array of objects that holds numbers only."""
    q, nu = robot.random_configuration(4), robot.random_velocity(5)
    f = fc.compile(lambda r, q, nu: r.bias(q, 0.0 * nu), robot)
    compare(interpreted(f, [q, nu]), robot.gravity_torque(q), "bias")


# ---------------------------------------------------------------------------------------------------------------------
# Refusals


WRONG: dict[str, Callable[..., Any]] = {
    "representation": lambda r, q, nu: r.mass_matrix(q, representation="mixde"),
    "representation by position": lambda r, q, nu: r.bias(q, nu, "mixde"),
    "representation of a frame": lambda r, q, nu: r.frame_velocity(q, nu, "link7", "mixde"),
    "representation of equations": lambda r, q, nu: r.equations_of_motion(q, nu, None, "mixde"),
    "factorization": lambda r, q, nu: r.coriolis_matrix(q, nu, "mixed"),
    "velocity": lambda r, q, nu: r.linearize(q, nu, nu, None, "bdoy"),
    "frame": lambda r, q, nu: r.frame_pose(q, "link77"),
    "frame that is a number": lambda r, q, nu: r.frame_pose(q, 7),
    "base": lambda r, q, nu: r.base_change(q, nu, "link77"),
    "centroid": lambda r, q, nu: r.equations_of_motion(q, nu, "centroidal", "body"),
    "short vector": lambda r, q, nu: r.mass_matrix(q[:-1]),
    "long vector": lambda r, q, nu: r.inverse_dynamics(q, nu, np.concatenate([nu, nu])),
    "velocity for a configuration": lambda r, q, nu: r.mass_matrix(nu),
    "a single number": lambda r, q, nu: r.mass_matrix(q[0]),
    "None": lambda r, q, nu: r.bias(q, None),
    "batch axes": lambda r, q, nu: r.bias(np.stack([q, q]), np.stack([nu, nu, nu])),
    "quaternion": lambda r, q, nu: r.bias(2.0 * r.neutral(), nu),
    "wrenches are a list": lambda r, q, nu: r.inverse_dynamics(q, nu, nu, [nu[:6]]),
    "frame of a wrench": lambda r, q, nu: r.inverse_dynamics(q, nu, nu, {"link77": nu[:6]}),
    "short wrench": lambda r, q, nu: r.forward_dynamics(q, nu, nu, {"link7": nu[:5]}),
    "representation for wrenches": lambda r, q, nu: r.forward_dynamics(q, nu, nu, "mixed"),
    "torques": lambda r, q, nu: r.linearize(q, nu, nu[:3]),
    "method": lambda r, q, nu: r.step(q, nu, nu, 0.01, "rk5"),
    "time": lambda r, q, nu: r.step(q, nu, nu, np.nan),
    "time that is a word": lambda r, q, nu: r.discretize(q, nu, nu, "now", "euler"),
    "torques of a step": lambda r, q, nu: r.step(q, nu, nu[:3], 0.01),
    "wrenches of a step": lambda r, q, nu: r.step(q, nu, nu, 0.01, "euler", [1.0]),
    "frame of a step": lambda r, q, nu: r.step(q, nu, nu, 0.01, "euler", {"link77": nu[:6]}),
    "perturbation": lambda r, q, nu: r.state_plus(q, nu, nu),
    "pose": lambda r, q, nu: r.configuration(np.eye(3), q[7:]),
    "configuration": lambda r, q, nu: r.split(nu),
}


@pytest.mark.parametrize("what", WRONG)
def test_the_same_words_as_outside(robot: fc.Robot, what: str) -> None:
    q, nu = robot.random_configuration(7), robot.random_velocity(8)
    with pytest.raises(fc.FallingCatError) as outside:
        WRONG[what](robot, q, nu)
    with pytest.raises(type(outside.value)) as inside:
        fc.compile(WRONG[what], robot)
    assert type(inside.value) is type(outside.value)
    assert str(inside.value) == str(outside.value)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda r, q: r.mass_matrix(q, frame="link7"), "unexpected keyword argument 'frame'"),
        (lambda r, q: r.mass_matrix(), "missing 1 required positional argument: 'q'"),
        (lambda r, q: r.mass_matrix(q, "body", "mixed", "inertial"), "positional arguments"),
        (lambda r, q: r.random_configuration(0), "random_configuration cannot be used inside"),
        (lambda r, q: r.random_velocity(0), "random_velocity cannot be used inside"),
        (lambda r, q: r.kernel("mass_matrix")(q), r"kernel cannot be used inside.*mass_matrix\(\.\.\.\) itself"),
        (lambda r, q: r.discretize(q, 0.0 * q[1:], q[1:], 0.1).A, "zoh' cannot be traced.*'euler', 'midpoint' or 'rk4'"),
        (lambda r, q: r.discretize(r.neutral(), np.zeros(r.nv), np.zeros(r.nv), q[0]).A, "zoh' cannot be traced"),
    ],
)
def test_what_cannot_be_inside_says_so(robot: fc.Robot, function: Any, words: str) -> None:
    with pytest.raises(fc.TraceError, match=words):
        fc.compile(function, robot)


@pytest.mark.parametrize("name", ["mass_matrix", "step", "state_minus"])
def test_results_go_nowhere_else_inside(robot: fc.Robot, name: str) -> None:
    values = values_of(robot, name).values()
    with pytest.raises(fc.InputError, match=f"{name}: out cannot be given inside"):
        getattr(Formulas(robot), name)(*values, out=np.empty(3))


def test_rows_of_the_table_without_a_method(robot: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that a user put there."""
    monkeypatch.setitem(FUNCTIONS, "somebodys", FUNCTIONS["frame_velocity"])
    q, nu = robot.random_configuration(7), robot.random_velocity(8)
    f = fc.compile(lambda r, q, nu: r.somebodys(q, nu, frame="link7", representation="mixed"), robot)
    compare(interpreted(f, [q, nu]), robot.frame_velocity(q, nu, "link7", "mixed"), "somebodys")
    with pytest.raises(fc.InputError, match="unknown representation"):
        fc.compile(lambda r, q, nu: r.somebodys(q, nu, frame="link7", representation="mixde"), robot)
