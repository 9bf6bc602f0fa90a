"""Wrenches are run-time input: a set of frames compiles nothing, and every way to the same wrenches has the same bits."""

from __future__ import annotations

import inspect
import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from test_same_bits import Array, states

import fallingcat as fc
from fallingcat.codegen import cpython, kernel, native
from fallingcat.codegen.spread import plainly, spread
from fallingcat.functions import FUNCTIONS

AXES = ("body", "mixed", "inertial")
TAKE_WRENCHES = (
    "inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
    "gravity_torque_derivatives", "forward_dynamics_parameter_derivatives", "linearize",
    "inverse_dynamics_geometric_derivatives", "forward_dynamics_geometric_derivatives",
)  # fmt: skip


def call(robot: fc.Robot, name: str, q: Array, nu: Array, dnu: Array, wrenches: Any) -> Any:
    values = (q,) if name == "gravity_torque_derivatives" else (q, nu, dnu)
    return getattr(robot, name)(*values, wrenches=wrenches)


def test_these_are_all_that_take_wrenches() -> None:
    methods = {name: getattr(fc.Robot, name, None) for name in FUNCTIONS}
    assert sorted(n for n, f in methods.items() if f and "wrenches" in inspect.signature(f).parameters) == sorted(TAKE_WRENCHES)


@pytest.mark.parametrize("name", TAKE_WRENCHES)
def test_a_contact_set_switched_a_hundred_times_compiles_once(ball: fc.Robot, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every set of frames in several orders: one trace, one compilation for single states, in two parts if there is a core."""
    counts = {"trace": 0, "compile": 0}

    def counted(what: str, function: Any) -> Any:
        def run(*args: Any) -> Any:
            counts[what] += 1
            return function(*args)

        return run

    spread(np.zeros((0, 3)), np.zeros(6), 6)  # the loop that all robots share is there
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    monkeypatch.setattr(kernel, "trace", counted("trace", kernel.trace))
    monkeypatch.setattr(native, "compile_object", counted("compile", native.compile_object))
    robot = fc.load(ball.description)
    rng = np.random.default_rng(0)
    (q,), (nu,), (dnu,) = states(robot, 1)
    w = {frame: rng.normal(size=6) for frame in robot.frame_names}
    sets = [set_ for k in range(1, len(w) + 1) for set_ in combinations(w, k)]
    for k in range(100):
        frames = sets[k % len(sets)][:: -1 if k % 2 else 1]
        call(robot, name, q, nu, dnu, {frame: w[frame] for frame in frames})
    parts = 2 if name in ("forward_dynamics_derivatives", "linearize") else 1
    assert counts == {"trace": 1, "compile": parts}


@pytest.mark.parametrize("axes", AXES)
def test_the_loop_and_python_give_the_same_bits(ball: fc.Robot, axes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    frames = ball.frame_names
    w = rng.normal(size=(5, len(frames), 6)) * 10.0 ** rng.integers(-8, 8, size=(5, len(frames), 6))
    w[1, 2, 3], w[2, 0, 0] = np.inf, np.nan
    point = None if axes == "inertial" else rng.normal(size=(len(frames), 3))
    found = ball._on_bodies("x", fc.Wrenches(frames, w, axes, point))
    one = [ball._on_bodies("x", fc.Wrenches(frames, row, axes, point)) for row in w]
    monkeypatch.setattr(cpython, "fast_calls_possible", lambda: False)
    plain = ball._on_bodies("x", fc.Wrenches(frames, w, axes, point))
    assert found is not None
    assert plain is not None
    assert np.isfinite(found.values[0]).all()
    assert np.abs(found.values[0]).max() > 0.0
    np.testing.assert_array_equal(found.values.view(np.int64), plain.values.view(np.int64))
    np.testing.assert_array_equal(found.values, np.array([x.values for x in one if x is not None]))


def test_every_form_of_the_same_wrenches(ball: fc.Robot) -> None:
    """Strides, other numbers, lists, batch axes that broadcast, `out`."""
    rng = np.random.default_rng(3)
    q, nu, dnu = states(ball, 4)
    w = rng.integers(-9, 9, size=(4, 6)).astype(float)
    rows = zip(q, nu, dnu, w, strict=True)
    expected = np.array([ball.inverse_dynamics(*state, {"hand": push, "ball": push}) for *state, push in rows])
    forms: list[Any] = [
        {"hand": w, "ball": w}, {"ball": w, "hand": w.astype(np.float32)}, {"hand": w.tolist(), "ball": w.astype(int)},
        {"hand": np.asfortranarray(w), "ball": np.repeat(w, 2, axis=0)[::2]},
        fc.Wrenches(["hand", "ball"], np.stack([w, w], axis=1)), fc.Wrenches(["ball", "hand"], np.stack([w, w], axis=1).tolist()),
    ]  # fmt: skip
    for form in forms:
        np.testing.assert_array_equal(ball.inverse_dynamics(q, nu, dnu, form), expected)
    out = np.empty((4, ball.nv))
    assert ball.inverse_dynamics(q, nu, dnu, forms[0], out=out) is out
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(ball.inverse_dynamics(q[0], nu[0], dnu[0], forms[0])[0], expected[0])
    np.testing.assert_array_equal(ball.inverse_dynamics(q[0], nu[0], dnu[0], {}), ball.inverse_dynamics(q[0], nu[0], dnu[0]))


def test_batches_that_do_not_fit_are_refused_with_names(ball: fc.Robot) -> None:
    q, nu, dnu = states(ball, 4)
    with pytest.raises(fc.InputError, match=r"wrenches\['ball'\] \(3, 6\)"):
        ball.inverse_dynamics(q, nu, dnu, {"hand": np.zeros((2, 6)), "ball": np.zeros((3, 6))})
    with pytest.raises(fc.InputError, match=r"wrenches \(3, "):
        ball.inverse_dynamics(q, nu, dnu, {"hand": np.zeros((3, 6))})


@pytest.mark.parametrize("axes", AXES)
def test_wrenches_in_own_functions(ball: fc.Robot, axes: str) -> None:
    """Inside a traced function wrenches of symbols, in any axes, give what they give outside."""
    rng = np.random.default_rng(5)
    (q,), (nu,), (dnu,) = states(ball, 1)
    w = rng.normal(size=12)
    f = fc.compile(
        lambda r, q, nu, dnu, w: r.inverse_dynamics(q, nu, dnu, fc.Wrenches(["hand", "ball"], w.reshape(2, 6), axes)), ball, w=12
    )
    expected = ball.inverse_dynamics(q, nu, dnu, fc.Wrenches(["hand", "ball"], w.reshape(2, 6), axes))
    np.testing.assert_allclose(f(q, nu, dnu, w), expected, rtol=1e-12, atol=1e-12)


def test_tables_of_many_points_do_not_pile_up(ball: fc.Robot) -> None:
    (q,), (nu,), (dnu,) = states(ball, 1)
    for k in range(1100):
        ball.inverse_dynamics(q, nu, dnu, fc.Wrenches("hand", np.ones(6), point=(0.0, 0.0, float(k))))
    assert len(ball._tables) <= 1024


def test_no_lines_give_zeros() -> None:
    values = np.ones((2, 6))
    np.testing.assert_array_equal(spread(np.zeros((0, 3)), values, 4), plainly(np.zeros((0, 3)), values, 4))


# ---------------------------------------------------------------------------------------------------------------------
# What does not fit


def test_wrenches_stay_as_they_were_checked(ball: fc.Robot) -> None:
    """Another array in place of the one that was checked would be read past its end."""
    (q,), (nu,), (dnu,) = states(ball, 1)
    W = fc.Wrenches("hand", np.ones(6))
    for name, value in (("values", np.ones((1, 1))), ("key", ((), "body", None)), ("frames", ("hand",) * 9), ("other", 1.0)):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(W, name, value)
    with pytest.raises(AttributeError, match="stays"):
        del W.values
    again = pickle.loads(pickle.dumps(W))
    np.testing.assert_array_equal(ball.inverse_dynamics(q, nu, dnu, again), ball.inverse_dynamics(q, nu, dnu, W))


@pytest.mark.parametrize("shape", [(1, 1), (0, 6), (3, 5), (6, 1), (2, 6), (6,), ()])
def test_values_of_another_shape_are_refused_however_they_got_there(ball: fc.Robot, shape: tuple[int, ...]) -> None:
    """Python lets nobody be stopped from writing to `__dict__`; one wrench is expected."""
    (q,), (nu,), (dnu,) = states(ball, 1)
    W = fc.Wrenches("hand", np.ones(6))
    W.__dict__["values"] = np.ones(shape)
    with pytest.raises(fc.InputError):
        ball.inverse_dynamics(q, nu, dnu, W)


@pytest.mark.parametrize("native", [True, False])
def test_a_table_that_points_beside_its_rows_is_refused(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native:
        monkeypatch.setattr(cpython, "fast_calls_possible", lambda: False)
    table = np.array([(2.0, 0.0, 1.0), (3.0, 5.0, 2.0)])
    np.testing.assert_array_equal(spread(table, np.arange(6.0), 3), [0.0, 0.0, 15.0])
    for width, size in ((5, 3), (1, 3), (0, 3), (6, 2), (6, 0)):
        for shape in ((width,), (2, width)):
            with pytest.raises(fc.InputError, match="has indices out of range"):
                spread(table, np.ones(shape), size)


def test_wrenches_that_are_none(ball: fc.Robot) -> None:
    (q,), (nu,), (dnu,) = states(ball, 1)
    w = np.ones(6)
    odd = [np.ma.masked_array(w, mask=True), w.astype(complex), w.astype(object), np.zeros(6, "M8[s]"), np.zeros(6, "U8")]
    for values in (*odd, [[1.0], [1.0, 2.0]], None, "abc", np.ones(5), 1.0):
        with pytest.raises(fc.InputError):
            ball.inverse_dynamics(q, nu, dnu, fc.Wrenches("hand", values))
        with pytest.raises(fc.InputError):
            ball.inverse_dynamics(q, nu, dnu, {"hand": values})
        with pytest.raises(fc.InputError):
            ball.inverse_dynamics(q, nu, dnu, {"ball": w, "hand": values})  # dtypes that have none in common
    for axes in (["body"], np.array(["body", "mixed"]), None, {}, "mixde"):
        with pytest.raises(fc.InputError, match="unknown axes"):
            fc.Wrenches("hand", w, axes=axes)  # type: ignore[arg-type]
    for point in (np.ma.masked_array(np.ones(3), mask=True), np.ones(3, complex), "abc", [[1.0], [1.0, 2.0]], np.ones(2)):
        with pytest.raises(fc.InputError, match="wrenches: point"):
            fc.Wrenches("hand", w, point=point)
    for frames in (None, 3, ["hand", 3], [["hand"]]):
        with pytest.raises(fc.InputError, match="frames are not names"):
            fc.Wrenches(frames, np.ones((2, 6)))  # type: ignore[arg-type]


def test_names_of_wrenches_are_shown_without_control_characters() -> None:
    text = repr(fc.Wrenches(["foot\x1b[31m", "toe\n"], np.ones((2, 6))))
    assert text.isprintable()
    assert "foot" in text
