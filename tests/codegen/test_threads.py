"""Many threads: the same numbers, and none waits for ever."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import run
from states import states

import fallingcat as fc
from fallingcat.codegen import Kernel, native
from fallingcat.codegen import threads as thread_module
from fallingcat.codegen.threads import threads
from fallingcat.functions import task

# ---------------------------------------------------------------------------------------------------------------------
# The number of threads


@pytest.mark.usefixtures("keep_threads")
@pytest.mark.parametrize("bad", [0, -1, 1025, 1.0, 2.5, True, "many", "", None, [2], float("nan")], ids=repr)
def test_a_number_of_threads_that_is_none(bad: Any) -> None:
    fc.set_threads(3)
    with pytest.raises(fc.InputError, match="whole number from 1 to 1024"):
        fc.set_threads(bad)
    assert threads() == 3


@pytest.mark.usefixtures("keep_threads")
@pytest.mark.parametrize("good", [1, 2, 1024, np.int64(5)])
def test_a_number_of_threads(good: Any) -> None:
    fc.set_threads(good)
    assert threads() == good


AT_THE_END = """
import atexit, sys
import numpy as np
import fallingcat as fc

b = fc.Builder("pendulum")
b.link("frame")
b.link("bob", mass=2.0, com=(0.0, 0.0, -0.5), inertia=(0.01, 0, 0, 0.01, 0, 0.01))
b.joint("hinge", "revolute", "frame", "bob", axis=(0, 1, 0))
robot, Q = fc.load(b, floating=False), np.zeros((1000, 1))
fc.set_threads(4)
if sys.argv[1] == "used before":
    robot.mass_matrix(Q)
atexit.register(lambda: print(round(robot.mass_matrix(Q).sum(), 9)))
"""


@pytest.mark.parametrize("when", ["used before", "never used"])
def test_a_batch_at_the_end_of_the_process(when: str) -> None:
    """No thread can begin there any more."""
    done = run(AT_THE_END, when)
    assert (done.stdout, done.stderr) == ("510.0\n", "")


def test_where_no_thread_can_be_started_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(thread_module, "_workers", thread_module._Workers())
    monkeypatch.setattr(thread_module._thread, "start_new_thread", refuse)
    assert thread_module.run_all([lambda: 1, lambda: 2, lambda: 3]) == [1, 2, 3]


def test_an_error_in_a_thread_is_raised_when_all_have_ended() -> None:
    ended: list[int] = []

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        thread_module.run_all([lambda: ended.append(1), fail, lambda: ended.append(2)])
    assert sorted(ended) == [1, 2]
    with pytest.raises(ZeroDivisionError):
        thread_module.run_all([fail, lambda: ended.append(3)])


def test_the_environment_chooses_the_number() -> None:
    script = "from fallingcat.codegen.threads import threads; print(threads())"
    assert run(script, FALLINGCAT_THREADS="3").stdout == "3\n"
    assert run(script, FALLINGCAT_THREADS="").stdout == "1\n"
    done = run(script, FALLINGCAT_THREADS="three")
    assert "FALLINGCAT_THREADS does not fit" in done.stderr
    assert "'three'" in done.stderr


@pytest.mark.usefixtures("keep_threads")
def test_batches_really_use_the_threads(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(task(ball.model, "inverse_dynamics"))
    values = states(ball, 1000)
    expected = kernel(*values).tobytes()
    seen: dict[int, list[tuple[int, int]]] = {}
    batch = kernel._native_batch()
    run = batch.run

    def watched(start: int, stop: int, *rest: Any) -> bool:
        seen.setdefault(threading.get_ident(), []).append((start, stop))
        time.sleep(0.02)  # let every thread have its share
        return run(start, stop, *rest)

    monkeypatch.setattr(batch, "run", watched)
    fc.set_threads(3)
    assert kernel(*values).tobytes() == expected
    assert len(seen) == 3
    pieces = sorted(piece for mine in seen.values() for piece in mine)
    assert [a for a, _ in pieces] == [0, *(b for _, b in pieces[:-1])]
    assert pieces[-1][1] == 1000


@pytest.mark.usefixtures("keep_threads")
def test_a_bad_quaternion_is_found_by_any_thread(ball: fc.Robot) -> None:
    fc.set_threads(4)
    for row in (0, 400, 999):
        q, nu, dnu = states(ball, 1000)
        q[row, 3:7] *= 2.0
        with pytest.raises(fc.InputError, match="far from unit length"):
            ball.inverse_dynamics(q, nu, dnu)


def test_other_threads_run_during_a_batch(ball: fc.Robot) -> None:
    """A batch that takes a while in a thread; this one, which needs the interpreter, goes on meanwhile.

    Were the interpreter held, no tick would ever fall inside. On a busy machine few may, so longer batches get their chance.
    """
    q, nu, tau = states(ball, 4000)
    ball.forward_dynamics(q, nu[0], tau[0])
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        found = [ticks_during_a_batch(ball, np.tile(q, (repeat, 1)), nu[0], tau[0]) for repeat in (25, 100, 400)]
    finally:
        sys.setswitchinterval(before)
    assert max(found) >= 5


def ticks_during_a_batch(robot: fc.Robot, q: np.ndarray, nu: np.ndarray, tau: np.ndarray) -> int:
    """How often this thread gets its turn while another is in the middle of a batch."""
    out = np.zeros((len(q), robot.nv))
    times: list[float] = []

    def batch() -> None:
        times.append(time.perf_counter())
        robot.forward_dynamics(q, nu, tau, out=out)
        times.append(time.perf_counter())

    worker = threading.Thread(target=batch)
    ticks = []
    worker.start()
    while worker.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    worker.join()
    begin, end = times
    return sum(begin + 0.2 * (end - begin) < t < end - 0.2 * (end - begin) for t in ticks)


# ---------------------------------------------------------------------------------------------------------------------
# Many threads at once


def hammer(calls: list[tuple[Callable[[], Any], bytes]], seconds: float, least: int, count: int = 8) -> None:
    """Threads that make random calls and compare every result: for a while, and each of them at least so many calls."""
    end = time.monotonic() + seconds
    start = threading.Barrier(count)

    def work(seed: int) -> None:
        choose = random.Random(seed)
        start.wait()
        made = 0
        while made < least or time.monotonic() < end:
            call, expected = choose.choice(calls)
            assert np.asarray(call()).tobytes() == expected
            made += 1

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))


def calls_of(robot: fc.Robot) -> list[tuple[Callable[[], Any], bytes]]:
    """Single and batched calls of new kernels, with the results of kernels made one after the other."""
    values = states(robot, 150)
    calls: list[tuple[Callable[[], Any], bytes]] = []
    for name, count in (("inverse_dynamics", 3), ("mass_matrix", 1), ("kinetic_energy", 2), ("integrate", 2)):
        expected = Kernel(task(robot.model, name))(*values[:count])
        method = getattr(robot, name)
        calls.append((lambda name=name, count=count: getattr(robot, name)(*values[:count]), expected.tobytes()))
        calls.append((lambda method=method, count=count: method(*(v[7] for v in values[:count])), expected[7].tobytes()))
        single = [np.array([v[9] for v in values[:count][k : k + 1]])[0] for k in range(count)]
        calls.append((lambda name=name, single=single: getattr(robot, name)(*single), expected[9].tobytes()))
    return calls


@pytest.mark.usefixtures("keep_threads")
def test_eight_threads_at_once(ball: fc.Robot) -> None:
    """On a robot whose kernels do not exist yet: the first calls race to make them."""
    fc.set_threads(2)
    hammer(calls_of(fc.load(ball.description)), seconds=2.0, least=20)


def test_a_kernel_is_compiled_once(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    compiled = []
    original = native.compile_object
    monkeypatch.setattr(native, "compile_object", lambda text: (compiled.append(1), original(text))[1])
    robot = fc.load(ball.description)
    q, nu, dnu = (v[0] for v in states(ball, 1))
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda k: robot.inverse_dynamics(q, nu, dnu).tobytes(), range(16)))
        many = list(pool.map(lambda k: robot.inverse_dynamics(q[None], nu, dnu).tobytes(), range(16)))
    assert set(results + many) == {results[0]}
    assert len(compiled) == 2


# ---------------------------------------------------------------------------------------------------------------------
# One minute of everything at once

CHILD = """
import sys
import numpy as np
import fallingcat as fc

fc.set_threads(2)
for name in ("spacearm", "tree9"):
    robot = fc.load(name)
    rng = np.random.default_rng(5)
    q = np.array([robot.random_configuration(rng) for _ in range(150)])
    nu = rng.normal(size=(150, robot.nv))
    print(robot.inverse_dynamics(q[3], nu[3], nu[4]).tobytes().hex(), robot.inverse_dynamics(q, nu, nu).tobytes().hex())
"""


@pytest.mark.sweep
@pytest.mark.usefixtures("keep_threads")
def test_one_minute_of_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads calling kernels of several robots, processes that share a cold cache, and somebody who breaks its files."""
    folder = tmp_path / "cache"
    expected = run(CHILD, FALLINGCAT_CACHE="off").stdout
    assert expected
    monkeypatch.setenv("FALLINGCAT_CACHE", str(folder))
    fc.set_threads(2)
    end = time.monotonic() + 60.0
    problems: list[str] = []
    broken: list[str] = []
    finished = threading.Event()

    def breaks() -> None:
        choose = random.Random(1)
        while not finished.is_set():
            for path in list(folder.glob("*.o")):
                try:
                    damage(path, choose)
                    broken.append(path.name)
                except FileNotFoundError:
                    pass
            time.sleep(0.02)

    def children() -> None:
        ended = 0
        while ended < 3 or time.monotonic() < end:
            done = run(CHILD, FALLINGCAT_CACHE=str(folder))
            if done.returncode or done.stdout != expected:
                problems.append(f"{done.returncode} {done.stderr[-2000:]}")
            ended += 1

    with ThreadPoolExecutor(3) as pool:
        pool.submit(breaks)
        workers = [pool.submit(children) for _ in range(2)]
        try:
            rounds = 0
            while rounds < 3 or time.monotonic() < end:
                robots = [fc.load(name) for name in ("spacearm", "tree9", "cat")]  # new kernels each time
                hammer([call for robot in robots for call in calls_of(robot)], seconds=5.0, least=10)
                rounds += 1
            for worker in workers:
                worker.result()
        finally:
            finished.set()
    assert problems == []
    assert len(broken) > 20


def damage(path: Path, choose: random.Random) -> None:
    """A file goes away, loses its end or has a byte changed in place, while others read it."""
    data = path.read_bytes()
    if choose.random() < 0.3:
        path.unlink()
    elif choose.random() < 0.5:
        with path.open("r+b") as file:
            file.truncate(choose.randrange(len(data) + 1))
    elif data:
        with path.open("r+b") as file:
            file.seek(choose.randrange(len(data)))
            file.write(bytes([choose.randrange(256)]))
