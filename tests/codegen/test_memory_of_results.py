"""Results live in memory that is used again, and only once nobody can see them any more."""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from processes import prints

import fallingcat as fc
from fallingcat.arrays.memory import KEPT, LIMIT, RESULTS, SMALL, Memory


def address(a: np.ndarray) -> int:
    return int(a.__array_interface__["data"][0])


@pytest.fixture
def memory() -> Memory:
    return Memory()


BIG = (SMALL // 8, 3)


def test_memory_nobody_holds_is_used_again(memory: Memory) -> None:
    first = memory.empty(BIG)
    where = address(first)
    second = memory.empty(BIG)
    assert address(second) != where
    del first
    assert address(memory.empty(BIG)) == where


@pytest.mark.parametrize(
    "hold",
    [
        lambda a: a,
        lambda a: a[5],
        lambda a: a.T[1:],
        lambda a: a.reshape(-1)[3:4],
        lambda a: np.broadcast_to(a[:1], (7, 3)),
        lambda a: np.asarray(a).view(np.int64),
        lambda a: memoryview(a),
        lambda a: memoryview(a)[1:],
        lambda a: iter(a),
        lambda a: a.flat,
        lambda a: a.ctypes,
        lambda a: np.frombuffer(a),
        lambda a: a.sum,
    ],
)
def test_whatever_still_sees_it_keeps_it(memory: Memory, hold: Callable[[Any], Any]) -> None:
    a = memory.empty(BIG)
    where = address(a)
    held = hold(a)
    del a
    taken = [memory.empty(BIG) for _ in range(5)]
    assert where not in map(address, taken)
    del held
    gc.collect()
    assert address(memory.empty(BIG)) == where


def test_small_and_huge_arrays_are_not_kept(memory: Memory) -> None:
    assert memory.empty((SMALL // 8 - 1,)).base is None
    assert memory.empty((LIMIT // 8 + 1,)).base is None
    assert memory.kept == 0
    assert memory.empty((0, 5)).shape == (0, 5)


def test_what_is_kept_is_bounded() -> None:
    memory = Memory(limit=10 * SMALL)
    held = [memory.empty((SMALL // 8 + k,)) for k in range(40)]
    for k, a in enumerate(held):
        a[...] = k
    assert all((a == k).all() for k, a in enumerate(held))
    assert memory.kept == 0
    del a, held
    assert SMALL <= memory.kept <= 10 * SMALL
    many = Memory()
    held = [many.empty(BIG) for _ in range(3 * KEPT)]
    assert len({address(a) for a in held}) == 3 * KEPT
    size = held[0].nbytes
    del held
    assert many.kept == KEPT * size


def test_results_start_at_a_cache_line(memory: Memory) -> None:
    held = [memory.empty((SMALL // 8 + k,)) for k in range(20)]
    assert all(address(a) % 64 == 0 for a in held)


@pytest.mark.parametrize("walk", [lambda a: a.base, lambda a: a.base[3:], lambda a: [a.base, a]], ids=["base", "view", "cycle"])
def test_the_array_behind_a_result_counts_too(memory: Memory, walk: Callable[[Any], Any]) -> None:
    """Also when it is the collector that ends it: a finalizer of the same cycle still sees the numbers."""

    class Last:
        def __del__(self) -> None:
            taken.append(memory.empty(BIG))
            taken[-1][...] = -1.0
            seen.append(float(np.ravel(self.held[0] if isinstance(self.held, list) else self.held)[0]))

    taken: list[Any] = []
    seen: list[float] = []
    a = memory.empty(BIG)
    a[...] = 5.0
    last: Any = Last()
    last.held, last.itself = walk(a), last
    del a, last
    gc.collect()
    assert seen == [5.0]


def test_threads_never_share_it(memory: Memory) -> None:
    start = threading.Barrier(8)

    def work(mark: int) -> None:
        choose = random.Random(mark)
        held: list[tuple[np.ndarray, int]] = []
        start.wait()
        for k in range(2000):
            a = memory.empty(BIG)
            a[::100] = 1000 * mark + k % 1000
            held.append((a, 1000 * mark + k % 1000))
            if choose.random() < 0.7:
                b, expected = held.pop(choose.randrange(len(held)))
                assert (b[::100] == expected).all()
            if len(held) > 3:
                del held[0]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


TRACED = """
import sys, threading

def look(frame, event, arg):
    # The library's functions only: on Python 3.12 a look at a module breaks its comprehensions, NumPy's among them.
    if "fallingcat" in frame.f_code.co_filename and frame.f_code.co_name != "<module>":
        frame.f_locals  # Python 3.11 keeps what it finds there as long as the frame
    return look

sys.settrace(look)  # while the library is imported
import random
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import fallingcat as fc
sys.settrace(None)

if sys.argv[1]:
    getattr(sys, sys.argv[1])(look)
    getattr(threading, sys.argv[1])(look)
robot = fc.load("tree9")
rng = np.random.default_rng(0)
states = [np.array([robot.random_configuration(rng) for _ in range(40)]) for _ in range(4)]
expected = [robot.mass_matrix(Q).copy() for Q in states]

def work(seed):
    choose = random.Random(seed)
    held = []
    for _ in range(200):
        k = choose.randrange(4)
        held.append((k, robot.mass_matrix(states[k])))
        j, M = held.pop(choose.randrange(len(held))) if len(held) > 5 else held[0]
        assert np.array_equal(M, expected[j])

with ThreadPoolExecutor(4) as pool:
    list(pool.map(work, range(4)))
print("done")
"""


@pytest.mark.parametrize("how", ["settrace", "setprofile", ""])
def test_tracers_and_threads(how: str) -> None:
    """A debugger or a profiler that looks at every frame changes nothing of what is held."""
    prints("done", TRACED, how)


def test_a_loop_over_batches_computes_in_place(ball: fc.Robot) -> None:
    rng = np.random.default_rng(1)
    q = np.array([ball.random_configuration(rng) for _ in range(1000)])
    before = ball.mass_matrix(q)
    where, copy = address(before), before.copy()
    again = ball.mass_matrix(q[::-1])
    assert address(again) != where
    np.testing.assert_array_equal(before, copy)
    np.testing.assert_array_equal(again[::-1], copy)
    del before, again
    seen = {address(ball.mass_matrix(q)) for _ in range(20)}
    assert len(seen) == 1
    assert RESULTS.kept <= LIMIT
