"""One state, a row of a batch, any lane width, any number of threads, warm or cold: the same bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fallingcat as fc
from fallingcat import scalar
from fallingcat.codegen import Kernel, cpython, native
from fallingcat.codegen.kernel import MIN_ROWS_PER_THREAD
from fallingcat.functions import task
from fallingcat.task import Input, Output, Task
from fallingcat.trace import interpret, trace

Array = NDArray[np.float64]
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "integrate", "kinetic_energy", "inverse_dynamics_derivatives")


def states(robot: fc.Robot, count: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(count)
    q = np.array([robot.random_configuration(rng) for _ in range(count)])
    q[::3, 7] *= 1e5  # some angles beyond the range of the vector sine
    return q, rng.normal(size=(count, robot.nv)), rng.normal(size=(count, robot.nv))


@cache
def usual_kernel(robot: fc.Robot, name: str) -> Kernel:
    return Kernel(task(robot.model, name))


def arguments(robot: fc.Robot, name: str, count: int) -> tuple[Array, ...]:
    return states(robot, count)[: len(task(robot.model, name).inputs)]


def one_by_one(kernel: Kernel, values: tuple[Array, ...]) -> Array:
    return flat(kernel, [kernel.entry(*row) for row in zip(*values, strict=True)])


def flat(kernel: Kernel, results: Any) -> Array:
    """A row of numbers per state; the results of a function with several side by side."""
    if kernel.task.results is None:
        return np.reshape(results, (len(results), -1))
    columns = zip(*results, strict=True) if isinstance(results, list) else results
    return np.hstack([np.reshape(column, (len(column), -1)) for column in map(np.array, columns)])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("count", range(1, 10))
def test_every_row_of_a_batch_is_the_single_result(ball: fc.Robot, name: str, count: int) -> None:
    """Batches of 1 to 9 rows: full vectors and every remainder, each state in each position."""
    kernel = usual_kernel(ball, name)
    values = arguments(ball, name, count)
    expected = one_by_one(kernel, values)
    for shift in range(min(count, 8)):
        rolled = flat(kernel, kernel(*(np.roll(v, shift, axis=0) for v in values)))
        assert np.roll(rolled, -shift, axis=0).tobytes() == expected.tobytes()


def test_the_shape_of_the_batch_does_not_matter(ball: fc.Robot) -> None:
    values = states(ball, 30)
    expected = ball.inverse_dynamics(*values)
    shaped = ball.inverse_dynamics(*(v.reshape(5, 1, 6, -1) for v in values))
    assert shaped.shape == (5, 1, 6, ball.nv)
    assert shaped.tobytes() == expected.tobytes()


def test_a_broadcast_argument_is_a_repeated_one(ball: fc.Robot) -> None:
    q, nu, dnu = states(ball, 13)
    expected = ball.inverse_dynamics(q, np.repeat(nu[:1], 13, axis=0), dnu)
    assert ball.inverse_dynamics(q, nu[0], dnu).tobytes() == expected.tobytes()
    assert ball.inverse_dynamics(q, nu[:1], dnu).tobytes() == expected.tobytes()
    outer = ball.inverse_dynamics(q[:, None], nu[0], dnu[None])
    assert outer[np.arange(13), np.arange(13)].tobytes() == expected.tobytes()


@pytest.mark.usefixtures("keep_threads")
@pytest.mark.parametrize("count", [2 * MIN_ROWS_PER_THREAD, 3 * MIN_ROWS_PER_THREAD + 1, 1000, 1003])
def test_any_number_of_threads(ball: fc.Robot, count: int) -> None:
    values = states(ball, count)
    results = set()
    for threads in (1, 2, 3, 7):
        fc.set_threads(threads)
        results.add(ball.inverse_dynamics(*values).tobytes())
    assert len(results) == 1


@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("name", ["inverse_dynamics", "integrate", "inverse_dynamics_derivatives"])
def test_any_lane_width(ball: fc.Robot, name: str, width: int, with_lanes: Callable[[int], None]) -> None:
    """Also widths this machine has no registers for: LLVM splits or joins them."""
    values = arguments(ball, name, 21)
    usual = one_by_one(usual_kernel(ball, name), values)
    with_lanes(width)
    kernel = Kernel(task(ball.model, name))
    assert flat(kernel, kernel(*values)).tobytes() == usual.tobytes()
    assert one_by_one(kernel, values).tobytes() == usual.tobytes()


def matmul_task(rows: int, inner: int, columns: int) -> Task:
    """A B with a known zero in every other column of B, so that there are two products, or rests that are written out."""

    def evaluate(a: Any, b: Any) -> Any:
        A = [a[i * inner : (i + 1) * inner] for i in range(rows)]
        B = [[0.0 if k == 1 and j % 2 else b[k * columns + j] for j in range(columns)] for k in range(inner)]
        return scalar.matmul(A, B, rows % 2 == 1)

    return Task("matmul", (Input("a", rows * inner), Input("b", inner * columns)), (Output("c", (rows, columns)),), evaluate)


@pytest.mark.parametrize("sizes", [(12, 6, 6), (7, 5, 13), (17, 4, 9), (6, 12, 22), (35, 3, 3)])
def test_products_of_blocks(sizes: tuple[int, int, int], with_lanes: Callable[[int], None], rng: np.random.Generator) -> None:
    """Products are nothing but fused multiply-adds in a given order: interpreted, single and batched, bit by bit."""
    made = matmul_task(*sizes)
    values = tuple(rng.normal(size=(5, i.size)) for i in made.inputs)
    program = trace(made)
    assert "product" in program.counts()
    judge = np.array([interpret(program, row)[0] for row in zip(*values, strict=True)])
    for width in (2, 4, 8):
        with_lanes(width)
        kernel = Kernel(made)
        assert flat(kernel, kernel(*values)).tobytes() == judge.tobytes()
        assert one_by_one(kernel, values).tobytes() == judge.tobytes()
    A, B = values[0][0].reshape(sizes[:2]), values[1][0].reshape(sizes[1:])
    B[1, 1::2] = 0.0
    np.testing.assert_allclose(np.reshape(judge[0], (sizes[0], -1)), (-1) ** sizes[0] * A @ B, rtol=1e-12, atol=1e-13)


def test_warm_and_cold(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    values = states(ball, 11)
    made = task(ball.model, "inverse_dynamics")

    def both() -> tuple[bytes, bytes]:
        kernel = Kernel(made)
        return one_by_one(kernel, values).tobytes(), kernel(*values).tobytes()

    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    uncached = both()
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path / "cache"))
    cold = both()
    compiled: list[Any] = []
    monkeypatch.setattr(native, "compile_object", compiled.append)
    warm = both()
    assert not compiled
    assert {uncached[0], *uncached, *cold, *warm} == {uncached[0]}


def test_every_way_into_a_function(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positional, keyword, out=, list, float32-free conversions, without fast calls: one set of bits."""
    q, nu, dnu = (v[0] for v in states(ball, 1))
    expected = ball.inverse_dynamics(q, nu, dnu).tobytes()
    out = np.empty(ball.nv)
    ways = [
        lambda: ball.inverse_dynamics(q, nu, dnu=dnu),
        lambda: ball.inverse_dynamics(q=q, nu=nu, dnu=dnu),
        lambda: ball.inverse_dynamics(q, nu, dnu, out=out),
        lambda: ball.inverse_dynamics(q.tolist(), tuple(nu), dnu),
        lambda: ball.inverse_dynamics(q.astype(">f8"), nu.astype(np.longdouble), dnu),
        lambda: ball.inverse_dynamics(q, nu, dnu, None),
        lambda: ball.inverse_dynamics(q, nu, dnu, {}),
        lambda: ball.kernel("inverse_dynamics")(q, nu, dnu),
        lambda: ball.kernel("inverse_dynamics").entry(q, nu, dnu),
    ]
    assert [way().tobytes() for way in ways] == [expected] * len(ways)
    monkeypatch.setattr(cpython, "fast_calls_possible", lambda: False)
    slow = fc.load(ball.description)
    assert slow.inverse_dynamics(q, nu, dnu).tobytes() == expected
    assert slow.inverse_dynamics(q[None], nu, dnu)[0].tobytes() == expected
    assert not slow.kernel("inverse_dynamics").entry_made
