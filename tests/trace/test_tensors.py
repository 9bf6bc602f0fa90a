"""Tensors of dot products by index: plain loops say the same, traced or not, and neighbours become runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fallingcat.task import Input, Output, Task
from fallingcat.tensors import Triple, tensor_of_dots
from fallingcat.trace import interpret, trace
from fallingcat.trace.dots import DotTable
from trees import Array

SIZE, VECTORS, INNER, WIDTH, LENGTH, RIGHT = 3, 4, 6, 5, 2, 3
PAIRS = [(0, 1), (2, 0), (3, 1), (1, 1)]
ALONG_THE_LAST = [Triple(0, 3, k, (2, 0, k)) for k in range(3)]
ALONG_THE_MIDDLE = [Triple(1, 0, k, (1, k, 2)) for k in range(3)]
SCATTERED = [Triple(3, 2, 2, (0, 0, 0)), Triple(2, 1, 0, (0, 2, 1))]
EXTRA = [((2, 0, 1), 0), ((0, 1, 1), 1)]
"""Places, and which number is added there."""


def split(x: Any) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Vectors, matrices, right columns and extra numbers from one flat vector."""
    x = list(x)

    def take(rows: int, columns: int) -> list[Any]:
        found = [x[i * columns : (i + 1) * columns] for i in range(rows)]
        del x[: rows * columns]
        return found

    return take(VECTORS, INNER), [take(INNER, WIDTH) for _ in range(2)], take(RIGHT, LENGTH), take(1, 2)[0]


def by_loops(x: Array, triples: list[Triple], extra: bool) -> Array:
    vectors, matrices, right, values = split(x)
    out = np.zeros((SIZE,) * 3)
    for pair, part, k, place in triples:
        row, t = PAIRS[pair]
        left = np.array(vectors[row]) @ np.array(matrices[t])
        out[place] += left[part : part + LENGTH] @ np.array(right[k])
    for place, number in EXTRA if extra else []:
        out[place] += values[number]
    return out


def tensor(x: Any, triples: list[Triple], extra: bool) -> Any:
    vectors, matrices, right, values = split(x)
    more = [(place, values[number]) for place, number in EXTRA] if extra else []
    return tensor_of_dots(vectors, matrices, PAIRS, right, triples, SIZE, more)


@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("meeting", [False, True])
def test_against_loops(extra: bool, meeting: bool, rng: np.random.Generator) -> None:
    triples = [*ALONG_THE_LAST, *ALONG_THE_MIDDLE, *SCATTERED, *(ALONG_THE_LAST[1:2] if meeting else [])]
    x = rng.normal(size=VECTORS * INNER + 2 * INNER * WIDTH + RIGHT * LENGTH + 2)
    expected = by_loops(x, triples, extra)
    np.testing.assert_allclose(tensor(x.tolist(), triples, extra), expected, rtol=1e-13, atol=1e-14)
    task = Task("f", (Input("x", len(x)),), (Output("y", (SIZE,) * 3),), lambda x: tensor(x, triples, extra))
    (flat,) = interpret(trace(task), [x.tolist()])
    np.testing.assert_allclose(np.reshape(flat, (SIZE,) * 3), expected, rtol=1e-13, atol=1e-14)


def test_neighbours_are_one_run() -> None:
    triples = [*ALONG_THE_LAST, *ALONG_THE_MIDDLE, *SCATTERED]
    size = VECTORS * INNER + 2 * INNER * WIDTH + RIGHT * LENGTH + 2
    task = Task("f", (Input("x", size),), (Output("y", (SIZE,) * 3),), lambda x: tensor(x, triples, False))
    *_, table = [op for op, _ in trace(task).instructions if isinstance(op, DotTable)]
    assert sorted((job.columns, job.step) for job in table.jobs) == [(1, 1), (1, 1), (3, 1), (3, 3)]
    assert not table.add


def test_no_pairs() -> None:
    """A robot of one joint has none, and may still have terms of its own."""
    x = [1.0] * (VECTORS * INNER + 2 * INNER * WIDTH + RIGHT * LENGTH) + [0.25, 0.5]

    def alone(x: Any) -> Any:
        vectors, matrices, right, values = split(x)
        return tensor_of_dots(vectors, matrices, [], right, [], SIZE, [((0, 1, 2), values[1])])

    expected = np.zeros((SIZE,) * 3)
    expected[0, 1, 2] = 0.5
    assert np.array_equal(alone(x), expected)
    task = Task("f", (Input("x", len(x)),), (Output("y", (SIZE,) * 3),), alone)
    (flat,) = interpret(trace(task), [x])
    assert np.array_equal(np.reshape(flat, (SIZE,) * 3), expected)


def test_nothing_at_all() -> None:
    assert tensor_of_dots([], [], [], [], [], 2) == [[[0.0, 0.0]] * 2] * 2
    assert tensor_of_dots([], [], [], [], [], 0) == []
