"""Listed dot products: what they compute, what is left out, how they print, and what a block is to an algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import scalar
from fallingcat.apps.papers.paper001_numbers import BRANCHED, SERIAL
from fallingcat.functions import task as make_task
from fallingcat.scalar import Dots
from fallingcat.task import Input, Output, Task
from fallingcat.trace import Program, interpret, trace
from fallingcat.trace.dots import DotTable
from fallingcat.trace.expr import Block

JOBS = (Dots(0, 0, 3, 0, 1), Dots(3, 1, 4, 4, 1), Dots(6, 2, 2, 10, 5), Dots(1, 4, 1, 9, 1))
"""Into 20 places, the last with a step; 3, 8, 11 and others stay zero."""


def table(jobs: tuple[Dots, ...] = JOBS, add: bool = False, slab: int = 0, zero: tuple[int, ...] = (), size: int = 20) -> Task:
    """Nine numbers and a matrix of 3 x 5, some columns of which are known to be zero."""

    def evaluate(a: Any, b: Any) -> Any:
        B = [[0.0 if k in zero else b[5 * m + k] for k in range(5)] for m in range(3)]
        return scalar.dots(list(a), B, jobs, size, slab, add)

    return Task("table", (Input("a", 9), Input("b", 15)), (Output("c", (size,)),), evaluate)


def expected(a: Any, b: Any, jobs: tuple[Dots, ...], zero: tuple[int, ...] = (), size: int = 20) -> Any:
    """Sums of all jobs, by NumPy."""
    B = np.array(b).reshape(3, 5)
    B[:, list(zero)] = 0.0
    out = np.zeros(size)
    for job in jobs:
        for c in range(job.columns):
            out[job.place + c * job.step] += a[job.left : job.left + 3] @ B[:, job.right + c]
    return out


def the_table(program: Program) -> DotTable:
    (op,) = [op for op, _ in program.instructions if isinstance(op, DotTable)]
    return op


MEETING = (*JOBS, Dots(2, 0, 5, 0, 1), Dots(5, 0, 5, 10, 2))
"""Some of them write where others have written."""


@pytest.mark.parametrize("zero", [(), (1,), (0, 2, 4)])
@pytest.mark.parametrize(("jobs", "add"), [(JOBS, False), (JOBS, True), (MEETING, True)], ids=["apart", "adding", "meeting"])
def test_the_numbers(jobs: tuple[Dots, ...], add: bool, zero: tuple[int, ...], rng: np.random.Generator) -> None:
    """Traced and interpreted, and on plain numbers."""
    made = table(jobs, add, 0, zero)
    a, b = rng.normal(size=9), rng.normal(size=15)
    witness = expected(a, b, jobs, zero)
    np.testing.assert_allclose(interpret(trace(made), [a, b])[0], witness, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(made.evaluate(a.tolist(), b.tolist()), witness, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(made.evaluate((a + 0j).tolist(), b.tolist()), witness, rtol=1e-13, atol=1e-14)


def test_many_jobs_are_one_instruction() -> None:
    program = trace(table())
    assert program.counts() == {"dottable": 1, "pack": 2}
    assert program.operations == 2 * 3 * sum(job.columns for job in JOBS)
    assert program.results == ((),)  # the block is the output


def test_columns_of_zeros_cost_nothing() -> None:
    """Jobs are cut where columns are known to be zero; nothing else is written."""
    op = the_table(trace(table(zero=(2,))))
    assert {(job.left, job.right, job.columns, job.place) for job in op.jobs} == {
        (0, 0, 2, 0), (3, 1, 1, 4), (3, 3, 2, 6), (6, 3, 1, 15), (1, 4, 1, 9),
    }  # fmt: skip
    assert op.has_gaps
    program = trace(table(zero=tuple(range(5))))
    assert program.operations == 9 + 15 - 1  # nothing but the sum that notices inputs that are no numbers
    assert interpret(program, [np.ones(9), np.ones(15)]) == [[0.0] * 20]


def test_jobs_go_slab_by_slab() -> None:
    jobs = (Dots(0, 0, 5, 15, 1), Dots(1, 0, 5, 0, 1), Dots(2, 0, 5, 10, 1), Dots(3, 0, 5, 5, 1))
    op = the_table(trace(table(jobs, slab=5)))
    assert [job.place for job in op.jobs] == [0, 5, 10, 15]
    assert not op.has_gaps


def test_tables_that_differ_print_differently() -> None:
    """The text is the key of a user's function in the cache."""
    moved = (Dots(0, 0, 3, 1, 1), *JOBS[1:])
    texts = [str(trace(made)) for made in (
        table(), table(moved), table(add=True), table(slab=10, jobs=JOBS[:2]), table(slab=20, jobs=JOBS[:2]),
    )]  # fmt: skip
    assert len(set(texts)) == len(texts)
    assert "4 rows of dot products of 3 into 20" in texts[0]
    assert str(trace(table())) == texts[0]


def whole(use: Callable[[Any], Any], shape: tuple[int, ...]) -> Program:
    """The program of something made of the block of `JOBS`."""
    made = table()
    return trace(Task("f", made.inputs, (Output("y", shape),), lambda a, b: use(made.evaluate(a, b))))


def test_entries_are_made_when_asked_for(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=9), rng.normal(size=15)
    c = expected(a, b, JOBS)
    for use, shape, value in (
        (lambda x: x[5], (), c[5]),
        (lambda x: x[-1] + 2.0 * x[4], (), c[-1] + 2.0 * c[4]),
        (lambda x: list(x), (20,), c),
        (lambda x: x.shaped((4, 5))[1], (5,), c[5:10]),
        (lambda x: x.shaped((4, 5)), (4, 5), c),
        (lambda x: [row[0] * row[4] for row in x.shaped((4, 5))], (4,), c[::5] * c[4::5]),
        (lambda x: x.shaped((2, 2, 5))[1][0][2], (), c[12]),
    ):
        np.testing.assert_allclose(interpret(whole(use, shape), [a, b])[0], np.ravel(value), rtol=1e-13, atol=1e-14)


def test_a_block_is_a_sequence() -> None:
    seen: list[Block] = []
    whole(lambda x: seen.append(x) or x, (20,))
    block = seen[0].shaped((4, 5))
    assert (len(seen[0]), len(block), len(block[0])) == (20, 4, 5)
    for k in (4, -5):
        with pytest.raises(IndexError):
            block[k]
    with pytest.raises(fc.TraceError, match="take its entries"):
        scalar.sin(block)


def test_a_block_on_the_left_stays_a_block(rng: np.random.Generator) -> None:
    """Products of products, as the symbols need them."""
    again = (Dots(0, 0, 5, 0, 1), Dots(4, 1, 2, 5, 1))

    def evaluate(a: Any, b: Any) -> Any:
        B = [list(b[5 * m : 5 * m + 5]) for m in range(3)]
        return scalar.dots(scalar.dots(list(a), B, JOBS, 20), B, again, 8)

    program = trace(Task("f", (Input("a", 9), Input("b", 15)), (Output("c", (8,)),), evaluate))
    assert program.counts() == {"dottable": 2, "pack": 2}
    a, b = rng.normal(size=9), rng.normal(size=15)
    np.testing.assert_allclose(interpret(program, [a, b])[0], expected(expected(a, b, JOBS), b, again, size=8), rtol=1e-13)


@pytest.mark.parametrize("add", [False, True])
def test_what_is_no_number_goes_in_and_none_comes_out(add: bool) -> None:
    """Also through inputs that no job reads: here the column that is replaced by zeros."""
    program = trace(table(add=add, zero=(0,)))
    assert all(map(math.isfinite, interpret(program, [np.ones(9), np.ones(15)])[0]))
    for k in range(9 + 15):
        for bad in (math.nan, math.inf):
            x = np.ones(24)
            x[k] = bad
            assert not all(map(math.isfinite, interpret(program, [x[:9], x[9:]])[0])), k


def test_programs_of_symbols_grow_with_the_robot_not_with_its_cube() -> None:
    """Twice the joints, about twice the instructions; the rest is tables."""
    for mechanism in (SERIAL, BRANCHED):
        lengths = []
        for n in (10, 20, 40):
            program = trace(make_task(mechanism.robot(n).model, "christoffel_symbols"))
            assert program.counts()["dottable"] == 2
            lengths.append(len(program.instructions))
        assert 1.8 < lengths[1] / lengths[0] < 2.3
        assert 1.8 < lengths[2] / lengths[1] < 2.3


def test_a_short_dot_product_may_stand_at_the_end() -> None:
    """A job with fewer terms than the others reads no further than its own."""
    made = table((Dots(0, 0, 5, 0, 1), Dots(8, 2, 1, 7, 1, 1)))
    a, b = np.arange(1.0, 10.0), np.arange(15.0)
    (flat,) = interpret(trace(made), (a, b))
    assert flat[7] == a[8] * b[2]
