"""A call keeps nothing: no memory, no references, no robots."""

from __future__ import annotations

import gc
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shared import PAIR, Pair

import fallingcat as fc
from fallingcat.codegen import Kernel


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
