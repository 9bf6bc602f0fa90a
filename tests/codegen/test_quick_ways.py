"""The quick ways into compiled code, and that nothing else is made on the way."""

from __future__ import annotations

import functools
import inspect
import pydoc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.codegen import Kernel
from fallingcat.functions import FUNCTIONS, task


def test_a_method_taken_before_its_first_call_is_the_same_one(ball: fc.Robot) -> None:
    """What a loop holds on to runs the compiled code as well."""
    robot = fc.load(ball.description)
    taken = robot.inverse_dynamics
    listed, partial = [robot.inverse_dynamics], functools.partial(robot.inverse_dynamics, ball.neutral())
    assert type(taken) is type(len)
    q, nu, dnu = ball.random_configuration(1), ball.random_velocity(2), ball.random_velocity(3)
    expected = taken(q, nu, dnu)
    assert robot.inverse_dynamics is taken is listed[0] is partial.func
    assert taken(q.tolist(), nu, dnu=dnu).tobytes() == expected.tobytes()
    with pytest.raises(fc.InputError, match="far from unit length"):
        taken(2.0 * q, nu, dnu)
    with pytest.raises(fc.FrameError, match="by its name"):
        robot.frame_pose(q, ["a"])


def no_python(robot: fc.Robot, name: str) -> Callable[..., Any]:
    """A method of the robot that fails where anything but machine code is run."""
    function = getattr(robot, name)
    function.__self__.function, function.__self__.kernel = None, None
    return function


def test_names_and_outputs_need_no_python(ball: fc.Robot) -> None:
    robot = fc.load(ball.description)
    q, nu, dnu = ball.random_configuration(1), ball.random_velocity(2), ball.random_velocity(3)
    expected = robot.inverse_dynamics(q, nu, dnu)
    f = no_python(robot, "inverse_dynamics")
    out = np.empty(robot.nv)
    assert f(q, nu, dnu=dnu).tobytes() == f(dnu=dnu, q=q, nu=nu).tobytes() == expected.tobytes()
    assert f(q, nu, dnu, out=out) is out
    assert out.tobytes() == expected.tobytes()
    assert f(out=out, nu=nu, dnu=dnu, q=q) is out
    assert f(q, nu, dnu, out=None).tobytes() == f(out=None, nu=nu, dnu=dnu, q=q).tobytes() == expected.tobytes()
    assert functools.partial(f, q, dnu=dnu)(nu=nu).tobytes() == expected.tobytes()
    before = robot.coriolis_terms(q, nu)
    copies = type(before)(*(x.copy() for x in before))
    g = no_python(robot, "coriolis_terms")
    again = g(nu=nu, q=q, out=before)
    assert type(again) is type(before)
    assert all(x is y and x.tobytes() == z.tobytes() for x, y, z in zip(again, before, copies, strict=True))
    assert g(q, nu, out=tuple(before)).M is before.M
    assert g(q, nu, out=None).M.tobytes() == copies.M.tobytes()


def test_calls_that_only_ever_have_an_output_need_no_python(ball: fc.Robot) -> None:
    """A loop that reuses its arrays from the first call on runs the code for one state, not that for batches."""
    robot = fc.load(ball.description)
    q, nu, dnu = ball.random_configuration(1), ball.random_velocity(2), ball.random_velocity(3)
    expected, terms = ball.inverse_dynamics(q, nu, dnu), ball.coriolis_terms(q, nu)
    for name, values, results in (("inverse_dynamics", (q, nu, dnu), (expected,)), ("coriolis_terms", (q, nu), tuple(terms))):
        strided = tuple(np.zeros((*x.shape, 2))[..., 0] for x in results)
        out = tuple(np.empty_like(x) for x in results)
        for given in (strided, out):
            getattr(robot, name)(*values, out=given if len(given) > 1 else given[0])
            assert digest(given) == digest(results)
        f = no_python(robot, name)
        for x in out:
            x[...] = 0.0
        f(*values, out=out if len(out) > 1 else out[0])
        assert digest(out) == digest(results)
        assert robot.kernel(name)._batch is None
    J = np.empty((6, robot.nv))
    for _ in range(2):
        assert robot.frame_jacobian(q, robot.frame_names[-1], out=J) is J
    (found,) = robot.frame_jacobian.__self__.calls.values()
    assert type(found.call) is type(len)
    alias = dnu.copy()
    assert fc.load(ball.description).inverse_dynamics(q, nu, alias, out=alias).tobytes() == expected.tobytes()


def test_own_functions_with_outputs_and_batches(ball: fc.Robot) -> None:
    """Each runs the code that it needs, and no other is made."""
    q, nu = ball.random_configuration(1), ball.random_velocity(2)
    f = fc.compile(lambda r, q, nu: r.mass_matrix(q) @ nu, ball)
    out = np.empty(ball.nv)
    assert f(q, nu, out=out) is out
    assert f.kernel.entry_made
    assert f.kernel._batch is None
    g = fc.compile(lambda r, q, nu: r.mass_matrix(q) @ nu, ball)
    assert g(q[None], nu[None])[0].tobytes() == out.tobytes() == f(q, nu).tobytes()
    assert not g.kernel.entry_made


def test_odd_names_and_outputs_go_to_python(ball: fc.Robot) -> None:
    robot = fc.load(ball.description)
    q, nu, dnu = ball.random_configuration(1), ball.random_velocity(2), ball.random_velocity(3)
    expected = robot.inverse_dynamics(q, nu, dnu)
    f = robot.inverse_dynamics
    for call in (
        lambda: f(q, nu), lambda: f(q, nu, dnu, dnu=dnu), lambda: f(q, nu, acceleration=dnu), lambda: f(nu, nu=nu, dnu=dnu, q=q),
        lambda: f(q, nu, dnu, None, "body", None), lambda: f(q=q, nu=nu), lambda: f(),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call()
    short, single = np.empty(robot.nv - 1), np.empty(robot.nv, dtype=np.float32)
    for out in (short, single, np.empty((1, robot.nv)), [0.0] * robot.nv, (), "out"):
        with pytest.raises(fc.InputError, match="out"):
            f(q, nu, dnu, out=out)
    odd = "".join(["d", "nu"])  # a name that is equal, not the same object
    assert f(q, nu, **{odd: dnu}).tobytes() == expected.tobytes()
    strided = np.zeros(2 * robot.nv)[::2]
    assert f(q, nu, dnu, out=strided) is strided
    assert strided.tobytes() == expected.tobytes()
    own = dnu.copy()
    assert f(q, nu, own, out=own) is own  # an output that is an argument too
    assert own.tobytes() == expected.tobytes()
    assert f(q, nu, dnu, out=None).tobytes() == expected.tobytes()
    terms = robot.coriolis_terms(q, nu)
    with pytest.raises(fc.InputError, match="share memory"):
        robot.coriolis_terms(q, nu, out=(terms.C, terms.C, terms.M))
    with pytest.raises(fc.InputError, match="a tuple of 3 arrays"):
        robot.coriolis_terms(q, nu, out=(terms.C, terms.M))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if hasattr(fc.Robot, name)])
def test_methods_and_the_table_agree_on_names(name: str) -> None:
    """Names given in a call are compared with those of the table in machine code, with those of the method in Python."""
    inputs = [n for n, _ in FUNCTIONS[name].inputs]
    assert list(inspect.signature(getattr(fc.Robot, name)).parameters)[1 : 1 + len(inputs)] == inputs


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if hasattr(fc.Robot, name)])
def test_help_is_that_of_the_method(ball: fc.Robot, name: str) -> None:
    def plain(signature: inspect.Signature) -> list[tuple[Any, ...]]:
        return [(p.name, p.kind, p.default) for p in signature.parameters.values()]

    method, function = getattr(fc.Robot, name), getattr(ball, name)
    assert plain(inspect.signature(function)) == plain(inspect.signature(method))[1:]
    assert inspect.getdoc(function) == inspect.getdoc(method)
    assert (function.__name__, function.__module__) == (name, method.__module__)


def test_help_after_a_call(ball: fc.Robot) -> None:
    robot = fc.load(ball.description)
    before = pydoc.render_doc(robot.mass_matrix), inspect.signature(robot.mass_matrix)
    robot.mass_matrix(robot.neutral())
    robot.mass_matrix(robot.neutral()[None])
    assert (pydoc.render_doc(robot.mass_matrix), inspect.signature(robot.mass_matrix)) == before
    assert "representation='body'" in before[0]
    partial = functools.partial(robot.mass_matrix, representation="mixed")
    assert "q" in inspect.signature(partial).parameters


def test_somebodys_own_class_is_asked(ball: fc.Robot) -> None:
    class Mine(fc.Robot):
        def mass_matrix(self, q: Any, *more: Any, **options: Any) -> Any:
            return 2.0 * super().mass_matrix(q, *more, **options)

    robot = Mine(ball.description)
    q = ball.neutral()
    for _ in range(3):
        assert (robot.mass_matrix(q) == 2.0 * ball.mass_matrix(q)).all()
    assert type(robot.gravity_torque) is type(len)


def test_one_state_needs_no_code_for_batches(ball: fc.Robot) -> None:
    kernel = Kernel(task(ball.model, "mass_matrix"))
    q = ball.neutral()
    assert kernel(q).tobytes() == kernel(q.tolist()).tobytes()
    assert kernel._batch is None


def test_a_plain_batch_is_one_native_call(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contiguous arrays are neither converted nor checked in Python, with `out=` and without."""
    kernel = Kernel(task(ball.model, "inverse_dynamics"))
    q = np.array([ball.random_configuration(k) for k in range(5)])
    nu = np.array([ball.random_velocity(k) for k in range(5)])
    expected = kernel(q.tolist(), nu, nu)
    monkeypatch.setattr(sys.modules[Kernel.__module__], "prepare", None)
    assert kernel(q, nu, nu).tobytes() == expected.tobytes()
    out = np.zeros_like(nu)
    assert kernel(q, nu, nu, out=out) is out
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda q, nu, out: (q[:, :-1], nu, out),
        lambda q, nu, out: (q[:3], nu, out),
        lambda q, nu, out: (q, nu[:0], out),
        lambda q, nu, out: (q, nu, out[:3]),
        lambda q, nu, out: (q, nu, out[..., :-1]),
        lambda q, nu, out: (q, nu, out.astype(np.float32)),
        lambda q, nu, out: (q, nu, out.astype(">f8")),
        lambda q, nu, out: (q, nu, (out, out)),
        lambda q, nu, out: (q, nu, ()),
        lambda q, nu, out: (q, nu, out.tolist()),
        lambda q, nu, out: (q, "nu", out),
        lambda q, nu, out: (q, nu),
    ],
)
def test_what_is_not_plain_is_refused_with_words(ball: fc.Robot, spoil: Callable[..., tuple[Any, ...]]) -> None:
    kernel = Kernel(task(ball.model, "inverse_dynamics"))
    q = np.array([ball.random_configuration(k) for k in range(5)])
    nu = np.array([ball.random_velocity(k) for k in range(5)])
    q, nu, *out = spoil(q, nu, np.zeros((5, ball.nv)))
    with pytest.raises(fc.InputError, match="expected"):
        kernel(*([q, nu, nu] if out else [q, nu]), out=out[0] if out else None)


BROADCAST = [(0,), (1,), (2,), (0, 1), (1, 2)]


@pytest.mark.parametrize("single", BROADCAST)
def test_one_vector_for_a_whole_batch(ball: fc.Robot, single: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes the native way, too, and is the batch of copies to the last bit; its quaternion is looked at."""
    kernel, rng = Kernel(task(ball.model, "inverse_dynamics")), np.random.default_rng(5)
    batch = [
        np.array([ball.random_configuration(rng) for _ in range(5)]),
        rng.normal(size=(5, ball.nv)),
        rng.normal(size=(5, ball.nv)),
    ]
    expected = kernel(*[np.repeat(x[:1], 5, axis=0) if k in single else x for k, x in enumerate(batch)])
    values = [x[0] if k in single else x for k, x in enumerate(batch)]
    monkeypatch.setattr("fallingcat.codegen.kernel.prepare", None)
    assert kernel(*values).tobytes() == expected.tobytes()
    out = np.full_like(expected, np.nan)
    assert kernel(*values, out=out) is out
    assert out.tobytes() == expected.tobytes()
    monkeypatch.undo()
    for wrong in (values[single[0]][:-1], np.append(values[single[0]], 0.0), np.array(1.0)):
        with pytest.raises(fc.InputError):
            kernel(*[wrong if k == single[0] else x for k, x in enumerate(values)])
    with pytest.raises(fc.InputError, match="out"):  # one state has no results for five
        kernel(*[x[0] for x in batch], out=out)
    with pytest.raises(fc.InputError, match="far from unit length"):
        kernel(2.0 * batch[0][0], *batch[1:])
    shared = np.concatenate(
        [expected.ravel(), batch[1][0]]
    )  # the vector overlaps the results: it is read before they are written
    tail = shared[-ball.nv - 1 : -1]
    copy = tail.copy()
    view = shared[: expected.size].reshape(expected.shape)
    assert kernel(batch[0], tail, batch[2], out=view).tobytes() == kernel(batch[0], copy, batch[2]).tobytes()


OPTIONS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("frame_pose", ("tip",), {}),
    ("frame_pose", (), {"frame": "tip"}),
    ("frame_jacobian", ("tip", "mixed"), {}),
    ("frame_velocity", ("tip",), {"representation": "inertial"}),
    ("mass_matrix", ("mixed",), {}),
    ("inverse_dynamics", (None, "inertial"), {}),
    ("coriolis_matrix", (), {"factorization": "body"}),
    ("linearize", (), {"representation": "mixed"}),
    ("equations_of_motion", (), {"base": "centroidal"}),
    ("base_change", ("tip",), {}),
]


@pytest.mark.parametrize(("name", "by_position", "named"), OPTIONS)
def test_options_lead_to_the_same_function_again(
    ball: fc.Robot, name: str, by_position: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """After the first call the method is not run again, if all it does is to run a compiled function."""
    robot, rng = fc.load(ball.description), np.random.default_rng(6)
    tip = robot.frame_names[-1]
    by_position, named = (
        tuple(tip if x == "tip" else x for x in by_position),
        {k: tip if x == "tip" else x for k, x in named.items()},
    )
    size = {"nq": lambda: robot.random_configuration(rng), "nv": lambda: rng.normal(size=robot.nv)}
    inputs = [(str(n), size[str(s)]) for n, s in FUNCTIONS[name].inputs]
    states = [tuple(make() for _, make in inputs) for _ in range(3)]
    function, usual = getattr(robot, name), getattr(fc.load(ball.description), name)
    function(*states[0], *by_position, **named)
    method = function.__self__
    (found,) = method.calls.values()
    assert (found is None) == (name == "base_change")  # its result is more than two arrays
    if found is None:
        return
    run, method.function = method.function, None
    for state in states:
        assert digest(function(*state, *by_position, **named)) == digest(usual(*state, *by_position, **named))
    batch = tuple(np.stack(x) for x in zip(*states, strict=True))
    many = function(*batch, *by_position, **named)
    assert digest(many) == digest(usual(*batch, *by_position, **named))
    out = tuple(np.empty_like(x) for x in many) if isinstance(many, tuple) else np.empty_like(many)
    assert digest(function(*batch, *by_position, **named, out=out)) == digest(out) == digest(many)
    method.function = run
    with pytest.raises(fc.InputError, match=name):  # in the words of the method
        function(*(x[:-1] for x in states[0]), *by_position, **named)


def digest(result: Any) -> list[bytes]:
    return [x.tobytes() for x in (result if isinstance(result, tuple) else (result,))]


def test_a_batch_first_and_then_one_state(ball: fc.Robot) -> None:
    """What is remembered becomes the quickest there is."""
    robot = fc.load(ball.description)
    q = robot.random_configuration(1)
    for _ in range(3):
        robot.frame_jacobian(q[None], robot.frame_names[-1])
    (found,) = robot.frame_jacobian.__self__.calls.values()
    assert type(found.call) is Kernel
    for _ in range(3):
        robot.frame_jacobian(q, robot.frame_names[-1])
    (found,) = robot.frame_jacobian.__self__.calls.values()
    assert type(found.call) is type(len)


def test_odd_options_are_the_methods_business(ball: fc.Robot) -> None:
    robot = fc.load(ball.description)
    q = robot.random_configuration(1)
    for odd in (np.array(["tip"]), ["tip"], memoryview(bytearray(b"tip")), 3, None, "no such frame"):
        for _ in range(2):
            with pytest.raises(fc.FallingCatError, match="frame"):
                robot.frame_pose(q, odd)
    with pytest.raises(TypeError, match="frames"):
        robot.frame_pose(q, frames="tip")
    assert robot.frame_pose.__self__.calls == {}
