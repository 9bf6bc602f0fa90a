"""What a call accepts, what it refuses and how, and that it neither writes where it must not nor leaks."""

from __future__ import annotations

import gc
import itertools
import math
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import fallingcat as fc
from fallingcat.arguments import QUATERNION_TOLERANCE
from fallingcat.compile import Kernel
from fallingcat.functions import FUNCTIONS, task
from fallingcat.task import Input, Output, Task

Array = NDArray[np.float64]


@pytest.fixture
def state(ball: fc.Robot, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    return ball.random_configuration(rng), rng.normal(size=ball.nv), rng.normal(size=ball.nv)


@pytest.fixture
def batch(ball: fc.Robot, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    q = np.array([ball.random_configuration(rng) for _ in range(6)])
    return q, rng.normal(size=(6, ball.nv)), rng.normal(size=(6, ball.nv))


def refused(call: Callable[[], Any], *words: str) -> None:
    """The call raises an InputError that has these words in it."""
    with pytest.raises(fc.InputError) as caught:
        call()
    for word in words:
        assert word in str(caught.value), str(caught.value)


# ---------------------------------------------------------------------------------------------------------------------
# Shapes and dtypes


def test_wrong_lengths_are_refused(ball: fc.Robot, state: Any) -> None:
    q, nu, dnu = state
    for size in (0, 1, ball.nq - 2, ball.nq + 1):
        short = np.ones(size)
        refused(lambda short=short: ball.inverse_dynamics(short, nu, dnu), "q has the wrong shape", "(..., 13)", f"({size},)")
    refused(lambda: ball.inverse_dynamics(q, nu, dnu[:-1]), "dnu has the wrong shape", "expected: (..., 11)", "got: (10,)")


def test_a_velocity_in_place_of_a_configuration_is_recognised(ball: fc.Robot, state: Any) -> None:
    _, nu, dnu = state
    refused(lambda: ball.inverse_dynamics(nu, nu, dnu), "quaternion", "robot.neutral()")


def test_a_number_is_no_vector(ball: fc.Robot, pendulum: fc.Robot, state: Any) -> None:
    q, _, dnu = state
    refused(lambda: ball.inverse_dynamics(q, 1.0, dnu), "nu has the wrong shape", "got: ()")
    refused(lambda: ball.inverse_dynamics(q, np.array(1.0), dnu), "nu has the wrong shape")
    refused(lambda: pendulum.mass_matrix(0.0), "q has the wrong shape", "(..., 1)")


def test_batch_axes_must_fit_together(ball: fc.Robot, batch: Any) -> None:
    q, nu, dnu = batch
    refused(lambda: ball.inverse_dynamics(q, nu[:5], dnu), "batch axes", "nu (5, 11)")


@pytest.mark.parametrize(
    "bad",
    [None, "abc", [["a"]], {"q": 1}, [[1.0], [1.0, 2.0]], np.array([object()] * 13), b"abc", np.ones(13, dtype=complex),
     np.array(["2020-01-01"] * 13, dtype="M8[D]"), object()],
    ids=lambda x: f"{type(x).__name__} {getattr(x, 'dtype', '')}",
)  # fmt: skip
def test_what_is_not_a_real_array_is_refused(ball: fc.Robot, state: Any, bad: Any) -> None:
    q, nu, dnu = state
    refused(lambda: ball.inverse_dynamics(bad, nu, dnu), "inverse_dynamics: q", "expected: ", "got: ")
    refused(lambda: ball.inverse_dynamics(q[None], nu, bad), "inverse_dynamics: dnu", "expected: ", "got: ")


def test_complex_numbers_are_pointed_elsewhere(ball: fc.Robot, state: Any) -> None:
    q, nu, dnu = state
    refused(lambda: ball.inverse_dynamics(q, nu + 0j, dnu), "hint", "fallingcat.algorithms")


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "i4", "u2", "i8", "?", ">f8", ">f4", ">i4", np.longdouble])
def test_other_real_dtypes_are_converted(ball: fc.Robot, batch: Any, dtype: Any) -> None:
    q, nu, dnu = batch
    other = (3.0 * nu).astype(dtype)
    expected = ball.inverse_dynamics(q, other.astype(float), dnu)
    assert ball.inverse_dynamics(q, other, dnu).tobytes() == expected.tobytes()
    assert ball.inverse_dynamics(q[0], other[0], dnu[0]).tobytes() == expected[0].tobytes()
    assert ball.inverse_dynamics(q[0], other[0], dnu[0]).dtype == np.float64


def test_lists_and_tuples(ball: fc.Robot, batch: Any) -> None:
    expected = ball.inverse_dynamics(*batch)
    assert ball.inverse_dynamics(*(v.tolist() for v in batch)).tobytes() == expected.tobytes()
    assert ball.inverse_dynamics(*(tuple(v[0]) for v in batch)).tobytes() == expected[0].tobytes()


# ---------------------------------------------------------------------------------------------------------------------
# Memory of other kinds


def strided(v: Array) -> Array:
    wide = np.full((*v.shape[:-1], 2 * v.shape[-1]), np.nan)
    wide[..., ::2] = v
    return wide[..., ::2]


def misaligned(v: Array) -> Array:
    raw = np.empty(v.nbytes + 1, dtype=np.uint8)[1:]
    result = raw.view(np.float64).reshape(v.shape)
    result[...] = v
    assert not result.flags.aligned
    return result


def readonly(v: Array) -> Array:
    v = v.copy()
    v.flags.writeable = False
    return v


KINDS: dict[str, Callable[[Array], Any]] = {
    "strided": strided,
    "Fortran": np.asfortranarray,
    "negative stride of entries": lambda v: v[..., ::-1].copy()[..., ::-1],
    "negative stride of rows": lambda v: v[::-1].copy()[::-1],
    "a transposed batch": lambda v: np.ascontiguousarray(np.moveaxis(v, -1, 0)).swapaxes(0, -1) if v.ndim == 2 else v,
    "misaligned": misaligned,
    "read-only": readonly,
    "memmap-like subclass": lambda v: v.view(np.recarray) if v.ndim == 1 else v.view(np.matrix),
    "dtype with metadata": lambda v: v.astype(np.dtype(np.float64, metadata={"unit": "rad"})),
    "__array__": lambda v: Holder(v),
}


class Holder:
    def __init__(self, v: Array) -> None:
        self.v = v

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.v


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_memory(ball: fc.Robot, batch: Any, kind: str) -> None:
    expected = ball.inverse_dynamics(*batch)
    for k in range(3):  # one argument of this kind, then all of them
        values = [KINDS[kind](v) if j == k else v for j, v in enumerate(batch)]
        assert ball.inverse_dynamics(*values).tobytes() == expected.tobytes()
        single = [KINDS[kind](v[0]) if j == k else v[0] for j, v in enumerate(batch)]
        assert ball.inverse_dynamics(*single).tobytes() == expected[0].tobytes()
    assert ball.inverse_dynamics(*map(KINDS[kind], batch)).tobytes() == expected.tobytes()


def test_memory_mapped_files(ball: fc.Robot, batch: Any, tmp_path: Path) -> None:
    mapped = []
    for k, v in enumerate(batch):
        np.save(tmp_path / f"{k}.npy", v)
        mapped.append(np.load(tmp_path / f"{k}.npy", mmap_mode="r"))
    expected = ball.inverse_dynamics(*batch)
    assert ball.inverse_dynamics(*mapped).tobytes() == expected.tobytes()
    assert ball.inverse_dynamics(*(m[2] for m in mapped)).tobytes() == expected[2].tobytes()


@pytest.mark.parametrize("stride", [2, 3, -1])
def test_one_entry_with_any_stride(pendulum: fc.Robot, stride: int) -> None:
    """An array of one entry is contiguous whatever its stride."""
    q = np.linspace(0.1, 0.9, 7)[3::stride][:1]
    expected = pendulum.gravity_torque(np.array([q[0]]))
    for _ in range(3):
        assert pendulum.gravity_torque(q).tobytes() == expected.tobytes()
    assert expected[0] == pytest.approx(2.0 * 9.81 * 0.5 * math.sin(q[0]))


def test_inputs_are_not_changed(ball: fc.Robot, batch: Any) -> None:
    """Quaternions are normalised inside, not in the caller's array."""
    q, nu, dnu = batch
    q[:, 3:7] *= 1.003
    before = [v.copy() for v in batch]
    ball.inverse_dynamics(q, nu, dnu)
    ball.inverse_dynamics(q[0], nu[0], dnu[0])
    ball.integrate(q, nu)
    assert all((a == b).all() for a, b in zip(before, batch, strict=True))


# ---------------------------------------------------------------------------------------------------------------------
# Batches at the edge


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_empty_batches(ball: fc.Robot, shape: tuple[int, ...]) -> None:
    q, nu = np.zeros((*shape, ball.nq)), np.zeros((*shape, ball.nv))
    assert ball.inverse_dynamics(q, nu, nu).shape == (*shape, ball.nv)
    assert ball.mass_matrix(q).shape == (*shape, ball.nv, ball.nv)
    assert ball.kinetic_energy(q, nu).shape == shape
    assert ball.inverse_dynamics(q, nu[..., :1, :] if len(shape) == 1 else nu, np.zeros(ball.nv)).shape == (*shape, ball.nv)


def test_many_axes(pendulum: fc.Robot) -> None:
    q = np.linspace(-1.0, 1.0, 2**6).reshape((2,) * 6 + (1,))
    g = pendulum.gravity_torque(q)
    assert g.shape == q.shape
    np.testing.assert_allclose(g, 9.81 * np.sin(q), rtol=1e-14)


def test_a_robot_without_joints(ball: fc.Robot) -> None:
    """A free body, and a body welded to the world, which has no coordinates at all."""
    free = fc.load(ball.description, joints=[])
    a = free.base_acceleration(free.neutral(), np.zeros(6), np.zeros(0))
    assert np.isfinite(a).all()
    welded = fc.load(ball.description, joints=[], floating=False)
    nothing = np.zeros(0)
    for empty in (nothing, np.zeros(6)[6:], np.zeros(6)[6::2], []):
        assert welded.mass_matrix(empty).shape == (0, 0)
        assert welded.kinetic_energy(empty, nothing) == 0.0
    assert welded.inverse_dynamics(np.zeros((4, 0)), nothing, nothing).shape == (4, 0)
    assert welded.kinetic_energy(np.zeros((4, 0)), nothing).tolist() == [0.0] * 4
    assert isinstance(welded.potential_energy(nothing), float)


def test_a_number_comes_out_as_a_float(ball: fc.Robot, state: Any) -> None:
    q, nu, _ = state
    for _ in range(2):  # the Python path and the fast one
        assert type(ball.kinetic_energy(q, nu)) is float
        assert type(ball.kinetic_energy(q.tolist(), nu=nu)) is float
    out = np.empty(())
    assert ball.kinetic_energy(q, nu, out=out) is out
    assert out == ball.kinetic_energy(q, nu)
    assert ball.kinetic_energy(q[None], nu).shape == (1,)


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


def test_keywords_and_positions(ball: fc.Robot, state: Any) -> None:
    q, nu, dnu = state
    expected = ball.inverse_dynamics(q, nu, dnu)
    assert (ball.inverse_dynamics(dnu=dnu, nu=nu, q=q) == expected).all()
    for call in (
        lambda: ball.inverse_dynamics(q, nu),
        lambda: ball.inverse_dynamics(),
        lambda: ball.inverse_dynamics(q, nu, dnu, None, "body", None),
        lambda: ball.inverse_dynamics(q, nu, dnu, torque=nu),
        lambda: ball.inverse_dynamics(q, nu, dnu, q=q),
    ):
        with pytest.raises(TypeError, match="inverse_dynamics"):
            call()


def test_the_number_of_arguments_of_a_kernel(ball: fc.Robot, state: Any) -> None:
    q, nu, _ = state
    kernel = ball.kernel("inverse_dynamics")
    refused(lambda: kernel(q, nu), "wrong number of arguments", "3 (q, nu, dnu)", "got: 2")


def test_wrenches(ball: fc.Robot, batch: Any, rng: np.random.Generator) -> None:
    q, nu, dnu = batch
    w = rng.normal(size=(6, 6))
    both = ball.inverse_dynamics(q, nu, dnu, {"hand": w, "ball": w[0]})
    each = ball.inverse_dynamics(q, nu, dnu, {"hand": w}) + ball.inverse_dynamics(q, nu, dnu, {"ball": w[0]})
    np.testing.assert_allclose(both, each - ball.inverse_dynamics(q, nu, dnu), atol=1e-12)
    single = ball.inverse_dynamics(q[0], nu[0], dnu[0], wrenches={"hand": w[0], "ball": w[0].tolist()})
    assert single.tobytes() == both[0].tobytes()
    refused(lambda: ball.inverse_dynamics(q, nu, dnu, {"hand": w[:, :5]}), "wrenches['hand']", "(..., 6)")
    refused(lambda: ball.inverse_dynamics(q, nu, dnu, {"hand": w[:4]}), "batch axes")
    for bad in (["hand"], w, "hand", 1.0):
        refused(lambda bad=bad: ball.inverse_dynamics(q, nu, dnu, bad), "wrenches is not a mapping", "got: ")
    with pytest.raises(fc.FrameError, match="hand"):
        ball.inverse_dynamics(q, nu, dnu, {"hnad": w})


def test_a_method_that_is_overridden_stays_overridden(ball: fc.Robot, state: Any) -> None:
    class Heavier(fc.Robot):
        def gravity_torque(self, q: Any, *, out: Any = None) -> Any:
            return 2.0 * super().gravity_torque(q)

    q, _, _ = state
    heavy = Heavier(ball.description)
    for _ in range(3):
        assert (heavy.gravity_torque(q) == 2.0 * ball.gravity_torque(q)).all()


# ---------------------------------------------------------------------------------------------------------------------
# out=


def test_out_is_filled_and_returned(ball: fc.Robot, batch: Any) -> None:
    expected = ball.mass_matrix(batch[0])
    for out in (
        np.full(expected.shape, np.nan),
        np.full(expected.shape, np.nan, order="F"),
        np.full((6, 11, 22), np.nan)[..., ::2],
        np.full((12, 11, 11), np.nan)[::-2],
        misaligned(expected * np.nan),
    ):
        assert ball.mass_matrix(batch[0], out=out) is out
        assert out.tobytes() == expected.tobytes()


def test_out_of_a_view_leaves_the_rest_alone(ball: fc.Robot, batch: Any) -> None:
    whole = np.full((8, ball.nv), 7.0)
    ball.inverse_dynamics(*batch, out=whole[1:7])
    assert (whole[[0, 7]] == 7.0).all()
    assert whole[1:7].tobytes() == ball.inverse_dynamics(*batch).tobytes()


@pytest.mark.parametrize("argument", [1, 2])
def test_out_may_be_an_argument(ball: fc.Robot, batch: Any, argument: int) -> None:
    expected = ball.inverse_dynamics(*batch)
    values = [v.copy() for v in batch]
    ball.inverse_dynamics(*values, out=values[argument])
    assert values[argument].tobytes() == expected.tobytes()
    single = [v[3].copy() for v in batch]
    ball.inverse_dynamics(*single, out=single[argument])
    assert single[argument].tobytes() == expected[3].tobytes()


def test_out_may_overlap_an_argument(ball: fc.Robot, batch: Any) -> None:
    q, nu, _ = batch
    expected = ball.integrate(q, nu)
    shared = np.zeros((7, ball.nq))
    shared[:6] = q
    ball.integrate(shared[:6], nu, out=shared[1:])
    assert shared[1:].tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "bad",
    [np.empty((6, 11), dtype=np.float32), np.empty((6, 11), dtype=">f8"), np.empty((6, 11), dtype=complex), np.empty((5, 11)),
     np.empty(11), np.empty((1, 6, 11)), [0.0] * 11, "out", 1.0, np.empty((6, 11)).tolist(), ()],
    ids=lambda x: f"{type(x).__name__} {getattr(x, 'dtype', '')} {np.shape(x)}",
)  # fmt: skip
def test_out_that_does_not_fit_is_refused(ball: fc.Robot, batch: Any, bad: Any) -> None:
    refused(lambda: ball.inverse_dynamics(*batch, out=bad), "out", "expected: ", "got: ")


def test_read_only_out_is_refused(ball: fc.Robot, batch: Any) -> None:
    out = readonly(np.zeros((6, 11)))
    refused(lambda: ball.inverse_dynamics(*batch, out=out), "read-only")
    assert (out == 0.0).all()


# ---------------------------------------------------------------------------------------------------------------------
# Quaternions and numbers that are none


def test_quaternions_far_from_unit_length_are_refused(ball: fc.Robot, batch: Any) -> None:
    for at, factor, row in itertools.product((3, 9), (0.0, 0.5, 0.98, 1.02, 3.0, 1e200), (0, 5)):
        q, nu, dnu = (v.copy() for v in batch)
        q[row, at : at + 4] *= factor
        words = (f"q[..., {at}:{at + 4}]", "far from unit length", "x y z w")
        refused(lambda q=q, nu=nu, dnu=dnu: ball.inverse_dynamics(q, nu, dnu), *words)
        refused(lambda q=q, nu=nu, dnu=dnu, row=row: ball.inverse_dynamics(q[row], nu[row], dnu[row]), *words)
        refused(lambda q=q, nu=nu, dnu=dnu: ball.inverse_dynamics(q.astype(np.longdouble), nu, dnu), *words)
        refused(lambda q=q, nu=nu, dnu=dnu: ball.inverse_dynamics(q, nu, dnu, out=np.empty((6, 11))), *words)


@pytest.mark.parametrize("factor", [0.9901, 0.999999, 1.000001, 1.0099])
def test_quaternions_slightly_off_are_normalised(ball: fc.Robot, batch: Any, factor: float) -> None:
    q, nu, dnu = batch
    expected = ball.inverse_dynamics(q, nu, dnu)
    off = q.copy()
    off[:, 3:7] *= factor
    off[:, 9:13] *= factor
    np.testing.assert_allclose(ball.inverse_dynamics(off, nu, dnu), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ball.inverse_dynamics(off[0], nu[0], dnu[0]), expected[0], rtol=1e-12, atol=1e-12)


def test_at_the_very_border_every_way_decides_alike(rng: np.random.Generator, ball: fc.Robot) -> None:
    """A single call, a batch and the Python path round the length alike: none may refuse what another takes."""
    free = fc.load(ball.description, joints=[])
    decisions = set()
    for edge in (1.0 - QUATERNION_TOLERANCE, 1.0 + QUATERNION_TOLERANCE):
        for _ in range(1500):
            q = free.neutral()
            turn = rng.normal(size=4)
            q[3:7] = turn * (edge / np.linalg.norm(turn))
            outcomes = []
            for way in (free.mass_matrix, lambda q: free.mass_matrix(q[None])[0], lambda q: free.mass_matrix(q.tolist())):
                try:
                    outcomes.append(way(q).tobytes())
                except fc.InputError:
                    outcomes.append(b"refused")
            assert len(set(outcomes)) == 1
            decisions.add(outcomes[0] == b"refused")
    assert decisions == {True, False}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_goes_in_and_none_comes_out(ball: fc.Robot, bad: float, rng: np.random.Generator) -> None:
    """Every entry of every argument of every function."""
    robot = fc.load(ball.description, joints=["hinge"])
    for name, function in FUNCTIONS.items():
        options = {"frame": "hand", "representation": "mixed", "velocity": "inertial", "factorization": "body", "base": "hand"}
        made = task(robot.model, name, **{o: options[o] for o in function.options})
        kernel = Kernel(made)
        values = [robot.random_configuration(rng) if i.quaternions else rng.normal(size=i.size) for i in made.inputs]
        good = kernel.entry(*values)
        for j, spec in enumerate(made.inputs):
            for entry in range(spec.size):
                spoilt = [v.copy() for v in values]
                spoilt[j][entry] = bad
                with np.errstate(all="raise"):
                    result = kernel.entry(*spoilt)
                assert not all_finite(result), (name, spec.name, entry)
        rows = [np.stack([v] * 5) for v in values]
        rows[-1][2, 0] = bad
        batch = kernel(*rows)
        for part, one in zip(parts(batch), parts(good), strict=True):
            for row in (0, 1, 3, 4):  # the neighbours in the same vector do not notice
                assert np.asarray(part[row]).tobytes() == np.asarray(one).tobytes()
        assert not all_finite([part[2] for part in parts(batch)]), name


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def all_finite(result: Any) -> bool:
    return all(np.isfinite(part).all() for part in (result if isinstance(result, (tuple, list)) else [result]))


def test_huge_numbers_neither_hang_nor_raise(ball: fc.Robot, state: Any) -> None:
    q, nu, dnu = (v.copy() for v in state)
    q[7], nu[:], dnu[:] = 1e300, 1e300, -1e300
    assert ball.inverse_dynamics(q, nu, dnu).shape == (ball.nv,)


# ---------------------------------------------------------------------------------------------------------------------
# Leaks


class Pair(NamedTuple):
    total: Array
    number: float


PAIR = Task(
    "pair", (Input("x", 3), Input("y", 3)), (Output("total", (3,)), Output("number", ())),
    lambda x, y: Pair([a + b for a, b in zip(x, y, strict=True)], x[0] * y[0]), results=Pair,
)  # fmt: skip


def test_several_results_come_in_their_named_tuple() -> None:
    kernel = Kernel(PAIR)
    x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    for result in (kernel(x, y), kernel.entry(x, y), kernel.entry(x.tolist(), y)):
        assert type(result) is Pair
        assert result.total.tolist() == [5.0, 7.0, 9.0]
        assert type(result.number) is float
        assert result.number == 4.0
        assert repr(result).startswith("Pair(total=array(")
    many = kernel(np.stack([x, x]), y)
    assert type(many) is Pair
    assert many.number.tolist() == [4.0, 4.0]
    outs = (np.empty(3), np.empty(()))
    assert kernel(x, y, out=outs).total is outs[0]
    assert outs[1] == 4.0
    refused(lambda: kernel(x, y, out=outs[0]), "a tuple of 2 arrays (total, number)")


def test_results_are_seen_by_the_garbage_collector() -> None:
    entry = Kernel(PAIR).entry
    results = [entry(np.ones(3), np.ones(3)) for _ in range(100)]
    gc.collect()
    assert all(r.total.tolist() == [2.0] * 3 for r in results)


def grown(call: Callable[[], Any], count: int) -> int:
    """Bytes that remain allocated per run of many calls, at best of three runs."""
    best = sys.maxsize
    for _ in range(3):
        call()
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(count):
            call()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        best = min(best, after - before)
    return best


def test_no_call_leaks(ball: fc.Robot, state: Any, batch: Any) -> None:
    q, nu, dnu = state
    pair = Kernel(PAIR).entry
    three = np.ones(3)
    bad = q * 2.0

    def error() -> None:
        with pytest.raises(fc.InputError):
            ball.inverse_dynamics(bad, nu, dnu)

    calls: list[tuple[Callable[[], Any], int]] = [
        (lambda: ball.inverse_dynamics(q, nu, dnu), 10000),
        (lambda: ball.kinetic_energy(q, nu), 10000),
        (lambda: pair(three, three), 10000),
        (lambda: ball.inverse_dynamics(q, nu, dnu=dnu), 500),
        (lambda: ball.inverse_dynamics(*batch), 500),
        (lambda: ball.inverse_dynamics(batch[0], nu, dnu.tolist()), 300),
        (error, 100),
    ]
    for call, count in calls:
        assert grown(call, count) < 3000 + count


def test_references_are_given_back(ball: fc.Robot, state: Any) -> None:
    """No call keeps or loses a reference to its arguments, the array type or the dtype."""
    q, nu, dnu = state
    pair = Kernel(PAIR).entry
    three = np.ones(3)
    calls = [lambda: ball.inverse_dynamics(q, nu, dnu), lambda: ball.kinetic_energy(q, nu), lambda: pair(three, three)]
    watched = (q, nu, dnu, three, np.ndarray, np.dtype(np.float64), ball, Pair)
    for call in calls:
        call()
        before = [sys.getrefcount(x) for x in watched]
        for _ in range(100_000 // len(calls)):
            call()
        after = [sys.getrefcount(x) for x in watched]
        # a float64 descriptor may belong to arrays that others made in the meantime
        assert all(abs(a - b) <= 20 for a, b in zip(after, before, strict=True))


def test_robots_and_their_code_go_away(ball: fc.Robot, state: Any) -> None:
    """A robot is in a cycle with its fast calls; the collector must be able to break it, in any order."""
    q, nu, dnu = state
    alive = []
    for _ in range(20):
        robot = fc.load(ball.description)
        robot.inverse_dynamics(q, nu, dnu)
        robot.inverse_dynamics(q[None], nu, dnu)
        alive.append(weakref.ref(robot))
    del robot
    gc.collect()
    assert [w() for w in alive] == [None] * 20


def test_a_function_outlives_its_robot(ball: fc.Robot, state: Any) -> None:
    q, nu, dnu = state
    expected = ball.inverse_dynamics(q, nu, dnu)
    robot = fc.load(ball.description)
    robot.inverse_dynamics(q, nu, dnu)
    function = robot.inverse_dynamics
    del robot
    gc.collect()
    assert function(q, nu, dnu).tobytes() == expected.tobytes()
    assert function(q[None], nu, dnu)[0].tobytes() == expected.tobytes()


def test_outputs_that_share_memory_are_refused() -> None:
    """Each result needs memory of its own; views that interleave without sharing a number are fine."""
    robot = fc.load("tree9")
    nv = robot.nv
    q, nu = robot.random_configuration(0), robot.random_velocity(1)
    for values in ((q, nu, nu), (np.stack([q] * 3), nu, nu)):
        shape = (3, nv, nv) if np.ndim(values[0]) == 2 else (nv, nv)
        same, other = np.empty(shape), np.empty(shape)
        with pytest.raises(fc.InputError, match="dq and dnu share memory"):
            robot.inverse_dynamics_derivatives(*values, out=(same, same, other))
    pair = np.empty((nv, nv, 2))
    expected = robot.inverse_dynamics_derivatives(np.stack([q] * 3), nu, nu)
    got = robot.inverse_dynamics_derivatives(q, nu, nu, out=(pair[..., 0], pair[..., 1], np.empty((nv, nv))))
    assert np.array_equal(got.dq, expected.dq[0])
    assert np.array_equal(got.dnu, expected.dnu[0])


def test_a_singular_robot_is_named() -> None:
    builder = fc.Builder("points")
    builder.link("frame", mass=1.0)
    builder.link("bob", mass=1.0, com=(0.0, 0.0, -0.5))
    builder.joint("hinge", "revolute", "frame", "bob", axis=(0, 1, 0))
    robot = fc.load(builder)
    q, nu = robot.random_configuration(1), np.ones(robot.nv)
    with pytest.raises(fc.FallingCatError, match="singular"):
        robot.forward_dynamics(q, nu, nu)
