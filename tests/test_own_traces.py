"""fc.compile: the arguments of a user's function, that it is run once, and that symbols stay within their trace."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import scalar
from fallingcat.codegen import cache
from fallingcat.scalar import Dots
from fallingcat.task import Input, Output, Task
from fallingcat.trace import trace


@pytest.fixture(scope="module")
def robot() -> fc.Robot:
    return fc.load("spacearm", joints=["joint2"])


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


@pytest.mark.parametrize("size", [True, np.True_, 2.0, np.float64(3.0), -1, 0, "3", None, [3], (3,)])
def test_lengths_that_are_none(robot: fc.Robot, size: Any) -> None:
    with pytest.raises(fc.InputError, match=r"target cannot have this length; expected: a whole number, 1 or more; got: "):
        fc.compile(lambda r, q, target: q, robot, target=size)


@pytest.mark.parametrize("size", [10**7, 10**12, 10**30])
def test_lengths_that_no_trace_ends_with(robot: fc.Robot, size: int) -> None:
    with pytest.raises(fc.InputError, match=r"target is too long; expected: 1000000 numbers at most"):
        fc.compile(lambda r, q, target: q, robot, target=size)


@pytest.mark.parametrize("size", [3, np.int64(3), np.uint8(3)])
def test_lengths_of_every_whole_kind(robot: fc.Robot, size: Any) -> None:
    f = fc.compile(lambda r, q, target: target[2], robot, target=size)
    assert f(robot.neutral(), [1.0, 2.0, 3.0]) == 3.0


def test_a_robot_without_joints_may_have_a_vector_of_none() -> None:
    drone = fc.load("spacearm", joints=[])
    f = fc.compile(lambda r, q, u: r.center_of_mass(q), drone, u=drone.n)
    q = drone.random_configuration(0)
    np.testing.assert_allclose(f(q, []), drone.center_of_mass(q), rtol=1e-12)


def test_calls_by_name(robot: fc.Robot) -> None:
    f = fc.compile(lambda r, q, nu: r.bias(q, nu), robot)
    q, nu = robot.random_configuration(0), robot.random_velocity(1)
    expected = f(q, nu).tobytes()
    assert f(q=q, nu=nu).tobytes() == expected
    assert f(nu=nu, q=q).tobytes() == expected
    assert f(q, nu=nu).tobytes() == expected
    assert f(nu=np.stack([nu, nu]), q=q)[1].tobytes() == expected
    out = np.empty(robot.nv)
    assert f(nu=nu, q=q, out=out) is out
    assert out.tobytes() == expected


@pytest.mark.parametrize(
    ("positions", "names", "words"),
    [
        (1, ["mu"], r"no argument 'mu'; expected: q, nu; hint: did you mean 'nu'\?"),
        (1, ["q"], "q is given twice"),
        (2, ["nu"], "nu is given twice"),
        (1, [], r"wrong number of arguments; expected: 2 \(q, nu\); got: 1; hint: nu missing"),
        (0, ["nu"], "wrong number of arguments.*hint: q missing"),
        (3, [], r"wrong number of arguments; expected: 2 \(q, nu\); got: 3"),
    ],
)
def test_calls_that_do_not_fit(robot: fc.Robot, positions: int, names: list[str], words: str) -> None:
    def drift(r: Any, q: Any, nu: Any) -> Any:
        return r.bias(q, nu)

    f = fc.compile(drift, robot)
    q, nu = robot.neutral(), np.zeros(robot.nv)
    with pytest.raises(fc.InputError, match="drift: " + words):
        f(*[q, nu, nu][:positions], **dict.fromkeys(names, nu))


def test_defaults_are_fixed(robot: fc.Robot) -> None:
    """An argument with a default is an option of the function, whatever it is called, unless it gets a length."""

    def scaled(r: Any, q: Any, gain: Any = 2.0, nu: Any = None, *, frame: str = "link7", power: int = 2) -> Any:
        height = r.frame_pose(q, frame)[2, 3] ** power
        return gain * height if nu is None else gain * height + nu[0]

    q, nu = robot.random_configuration(0), robot.random_velocity(1)
    height = robot.frame_pose(q, "link7")[2, 3]
    f = fc.compile(scaled, robot)
    assert f(q) == pytest.approx(2.0 * height**2, rel=1e-12)
    with pytest.raises(fc.InputError, match=r"wrong number of arguments; expected: 1 \(q\); got: 2"):
        f(q, nu)
    with pytest.raises(fc.InputError, match="no argument 'gain'"):
        f(q, gain=3.0)
    assert fc.compile(scaled, robot, nu=robot.nv)(q, nu) == pytest.approx(2.0 * height**2 + nu[0], rel=1e-12)
    other = functools.partial(scaled, gain=3.0, frame="link3", power=1)
    assert fc.compile(other, robot)(q) == pytest.approx(3.0 * robot.frame_pose(q, "link3")[2, 3], rel=1e-12)


def test_a_default_with_a_length_is_what_a_call_may_leave_out(robot: fc.Robot) -> None:
    def miss(r: Any, q: Any, target: Any = (1.0, 2.0, 3.0), *, weight: Any = (2.0,)) -> Any:
        return weight[0] * (r.center_of_mass(q) - target)

    q = robot.random_configuration(0)
    c, one = robot.center_of_mass(q), np.ones(3)
    f = fc.compile(miss, robot, target=3, weight=1)
    np.testing.assert_allclose(f(q), 2.0 * (c - [1.0, 2.0, 3.0]), rtol=1e-12)
    np.testing.assert_allclose(f(q, one), 2.0 * (c - 1.0), rtol=1e-12)
    np.testing.assert_allclose(f(q, weight=[5.0]), 5.0 * (c - [1.0, 2.0, 3.0]), rtol=1e-12)
    np.testing.assert_allclose(f(q, one, [5.0]), 5.0 * (c - 1.0), rtol=1e-12)


def test_arguments_by_name_or_by_position_only(robot: fc.Robot) -> None:
    def mixture(r: Any, q: Any, gain: Any = 3.0, target: Any = None, /, *, nu: Any) -> Any:
        return gain * q[0] + target[0] - nu[0]

    f = fc.compile(mixture, robot, target=1)
    q, nu = robot.random_configuration(0), robot.random_velocity(1)
    assert f(q, [7.0], nu) == pytest.approx(3.0 * q[0] + 7.0 - nu[0], rel=1e-14)
    assert f(nu=nu, q=q, target=[7.0]) == f(q, [7.0], nu)


def test_anything_that_can_be_called(robot: fc.Robot) -> None:
    class Height:
        """How high."""

        def __call__(self, r: Any, q: Any) -> Any:
            return r.center_of_mass(q)[2]

    q = robot.random_configuration(0)
    f = fc.compile(Height(), robot)
    assert f(q) == pytest.approx(robot.center_of_mass(q)[2], rel=1e-12)
    assert f.__doc__ == "How high."


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda r, *vectors: 1.0, r"\*vectors has no length"),
        (lambda r, q, **more: 1.0, r"\*\*more has no length"),
        (lambda r, q, out: 1.0, "cannot be called 'out'"),
        (lambda r, gain=1.0: gain, "arguments after the robot"),
        (lambda: 1.0, "arguments after the robot"),
        (3, "unknown arguments of this function; expected: a function"),
    ],
)
def test_functions_whose_arguments_cannot_be_known(robot: fc.Robot, function: Any, words: str) -> None:
    with pytest.raises(fc.InputError, match=words):
        fc.compile(function, robot)


def test_what_is_no_robot() -> None:
    with pytest.raises(fc.InputError, match=r"not a robot.*got: str.*fc\.load"):
        fc.compile(lambda r, q: q, "cat")  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------------------------
# One trace


def test_a_function_is_run_once(robot: fc.Robot) -> None:
    runs = []

    def height(r: Any, q: Any) -> Any:
        runs.append(1)
        return r.center_of_mass(q)[2]

    f = fc.compile(height, robot)
    q = robot.random_configuration(0)
    assert (f(q), f(np.stack([q, q]))[1], f.kernel.operations > 0, f.kernel.program.name) == (f(q), f(q), True, "height")
    assert len(runs) == 1


def test_a_function_that_changes_is_what_it_was(robot: fc.Robot) -> None:
    """The result's shape and the program come from the same run."""
    lengths = iter((2, 3, 4))
    f = fc.compile(lambda r, q: q[: next(lengths)], robot)
    q = robot.random_configuration(0)
    assert f(q).tolist() == q[:2].tolist()
    assert f(np.stack([q, q])).shape == (2, 2)


FACTOR = 2.0


def stretched(r: Any, q: Any) -> Any:
    return FACTOR * q[0]


def test_a_compiled_function_can_be_pickled(robot: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    f = fc.compile(stretched, robot)
    q = robot.random_configuration(0)
    copy = pickle.loads(pickle.dumps(f))
    assert copy(q) == f(q) == 2.0 * q[0]
    assert copy.sizes == f.sizes
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert f(q) == 2.0 * q[0]
    assert pickle.loads(pickle.dumps(f.kernel))(q) == pytest.approx(3.0 * q[0])


def test_the_program_is_the_key_of_the_cache(robot: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal programs share their code, whatever function they come from; others do not."""
    keys = []
    monkeypatch.setattr(cache, "key", lambda text, original=cache.key: keys.append(original(text)) or keys[-1])
    q = robot.random_configuration(0)

    def make(factor: float, way: int) -> Any:
        def f(r: Any, q: Any) -> Any:
            return factor * q[0] if way else q[0] * factor

        return fc.compile(f, robot)(q)

    assert (make(2.0, 0), make(2.0, 1), make(3.0, 0)) == (2.0 * q[0], 2.0 * q[0], 3.0 * q[0])
    assert keys[0] == keys[1] != keys[2]


# ---------------------------------------------------------------------------------------------------------------------
# Symbols of another trace

FOREIGN = "used while another was traced"


def test_a_function_that_remembers_is_refused(robot: fc.Robot) -> None:
    memory: dict[str, Any] = {}

    def inertia(r: Any, q: Any) -> Any:
        if "M" not in memory:
            memory["M"] = r.mass_matrix(q)
        return memory["M"]

    fc.compile(inertia, robot)
    with pytest.raises(fc.TraceError, match=FOREIGN):
        fc.compile(inertia, robot)
    with pytest.raises(fc.TraceError, match=FOREIGN):
        fc.compile(lambda r, q: memory["M"] @ q[1:], robot)


def test_a_function_within_a_function(robot: fc.Robot) -> None:
    with pytest.raises(fc.TraceError, match=FOREIGN):
        fc.compile(lambda r, q: fc.compile(lambda r, nu: nu[0] + q[0], robot)(np.zeros(r.nv)), robot)


def old() -> Any:
    """A symbol of a trace that is over."""
    kept = []
    trace(Task("old", (Input("x", 3),), (Output("y", ()),), lambda x: kept.append(x) or x[0]))
    return kept[0]


JOBS = [Dots(0, 0, 2, 0, 1)]
MEETINGS: dict[str, Callable[[Any, Any], Any]] = {
    "result": lambda x, old: old[0],
    "add": lambda x, old: x[0] + old[0],
    "add from the right": lambda x, old: old[0] + x[0],
    "sub": lambda x, old: x[0] - old[0],
    "mul": lambda x, old: x[0] * old[0],
    "div": lambda x, old: x[0] / old[0],
    "neg": lambda x, old: -old[0],
    "sin": lambda x, old: scalar.sin(old[0]),
    "abs": lambda x, old: abs(old[0]),
    "power": lambda x, old: old[0] ** 2,
    "atan2": lambda x, old: scalar.atan2(x[0], old[0]),
    "where_less": lambda x, old: scalar.where_less(x[0], 0.0, 1.0, old[0]),
    "matmul": lambda x, old: scalar.matmul([list(x)], [[y] for y in old])[0][0],
    "big matmul": lambda x, old: scalar.matmul([list(x)] * 8, [[y] * 8 for y in old])[0][0],
    "dots": lambda x, old: scalar.dots(list(x), [[y, y] for y in old], JOBS, 2)[0],
    "dots of numbers": lambda x, old: scalar.dots([1.0, 2.0, 3.0], [[x[0], y] for y in old], JOBS, 2)[0],
    "block": lambda x, old: scalar.dots(scalar.dots(list(x), [[y, y] for y in x], JOBS, 2), [[old[0]]], JOBS[:0], 1)[0],
    "array": lambda x, old: np.array(x, dtype=object) @ np.array(old, dtype=object),
}


@pytest.mark.parametrize("meeting", MEETINGS)
def test_symbols_of_another_trace_are_refused(meeting: str) -> None:
    kept = old()
    with pytest.raises(fc.TraceError, match=FOREIGN):
        trace(Task("new", (Input("x", 3),), (Output("y", ()),), lambda x: MEETINGS[meeting](x, kept)))


def test_a_whole_tensor_of_another_trace_is_refused() -> None:
    kept = []

    def tensor(x: Any) -> Any:
        if not kept:
            kept.append(scalar.dots(list(x), [[y, y] for y in x], JOBS, 2))
        return kept[0]

    task = Task("tensor", (Input("x", 3),), (Output("y", (2,)),), tensor)
    trace(task)
    with pytest.raises(fc.TraceError, match=FOREIGN):
        trace(task)
