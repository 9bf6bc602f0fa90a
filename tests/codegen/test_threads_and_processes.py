"""Many threads, forked and spawned processes, pickles: the same numbers, and nobody waits for ever."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.codegen import Kernel, native
from fallingcat.codegen import threads as thread_module
from fallingcat.codegen.threads import threads
from fallingcat.functions import task

SOURCE = str(Path(fc.__file__).resolve().parents[1])


def states(robot: fc.Robot, count: int, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    q = np.array([robot.random_configuration(rng) for _ in range(count)])
    return q, rng.normal(size=(count, robot.nv)), rng.normal(size=(count, robot.nv))


def height(r: Any, q: Any) -> Any:
    return r.center_of_mass(q)[2]


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


def python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": SOURCE} | environment, capture_output=True, text=True,
        check=False, timeout=600,
    )  # fmt: skip


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
    done = python(AT_THE_END.replace("sys.argv[1]", repr(when)))
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
    assert python(script, FALLINGCAT_THREADS="3").stdout == "3\n"
    assert python(script, FALLINGCAT_THREADS="").stdout == "1\n"
    done = python(script, FALLINGCAT_THREADS="three")
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
# Processes


def in_child(work: Callable[[], None]) -> None:
    """Run in a forked child, which must end well and soon."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    for _ in range(6000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.05)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    pytest.fail("the child hangs")


forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
# Python warns that a fork in a process with threads may deadlock; that it does not is what is tested.
may_fork = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@forking
@may_fork
@pytest.mark.usefixtures("keep_threads")
def test_after_a_fork(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels made before it, kernels made after it, and threads, which the child must make anew."""
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    fc.set_threads(2)
    values = states(ball, 1000)
    expected = ball.inverse_dynamics(*values).tobytes()
    masses = Kernel(task(ball.model, "mass_matrix"))(values[0]).tobytes()

    def work() -> None:
        assert ball.inverse_dynamics(*values).tobytes() == expected
        assert ball.inverse_dynamics(*(v[0] for v in values)).tobytes() == expected[: 8 * ball.nv]
        assert fc.load(ball.description).mass_matrix(values[0]).tobytes() == masses

    in_child(work)
    in_child(lambda: in_child(work))
    work()


@forking
@may_fork
def test_a_fork_while_another_thread_compiles(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child has no such thread; it must not wait for its locks."""
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    robot = fc.load(ball.description)
    values = states(ball, 3)
    expected = ball.forward_dynamics(*values).tobytes()
    compiling = threading.Event()
    original = native.compile_object

    def slow(text: str) -> bytes:
        compiling.set()
        time.sleep(0.3)
        return original(text)

    monkeypatch.setattr(native, "compile_object", slow)
    worker = threading.Thread(target=lambda: robot.forward_dynamics(*values))
    worker.start()
    compiling.wait()

    def work() -> None:
        assert robot.forward_dynamics(*values).tobytes() == expected
        assert fc.load(ball.description).forward_dynamics(*(v[0] for v in values)).tobytes() == expected[: 8 * ball.nv]

    in_child(work)
    worker.join()


def remote(robot: fc.Robot, function: Callable[..., Any], values: Any) -> tuple[bytes, bytes]:
    return robot.inverse_dynamics(*values).tobytes(), function(*values).tobytes()


@forking
@may_fork
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools_of_processes(ball: fc.Robot, method: str) -> None:
    values = states(ball, 20)
    ball.inverse_dynamics(*(v[0] for v in values))  # from here on the method is a built-in function
    expected = ball.inverse_dynamics(*values).tobytes()
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = pool.starmap_async(remote, [(ball, ball.inverse_dynamics, values)] * 4).get(timeout=600)
    assert results == [(expected, expected)] * 4


# ---------------------------------------------------------------------------------------------------------------------
# Pickles


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_everything_can_be_pickled(ball: fc.Robot, protocol: int) -> None:
    robot = fc.load(ball.description, joints=["hinge"], gravity=(0.0, 0.0, -1.62))
    values = states(robot, 3)
    expected = robot.inverse_dynamics(*values).tobytes()

    def again(x: Any) -> Any:
        return pickle.loads(pickle.dumps(x, protocol=protocol))

    before = again(robot.inverse_dynamics)
    robot.inverse_dynamics(*(v[0] for v in values))
    things = [again(robot).inverse_dynamics, before, again(robot.inverse_dynamics), again(robot.kernel("inverse_dynamics"))]
    assert [f(*values).tobytes() for f in things] == [expected] * len(things)
    own = fc.compile(height, robot)
    assert again(own)(values[0]).tobytes() == own(values[0]).tobytes()
    assert again(own)(values[0][0]) == own(values[0][0]) == pytest.approx(robot.center_of_mass(values[0][0])[2])


def test_arrays_from_pickles_are_fine_arguments(ball: fc.Robot) -> None:
    """Their dtype is equal to float64 without being the same object."""
    values = [v[0] for v in states(ball, 1)]
    expected = ball.inverse_dynamics(*values).tobytes()
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        moved = pickle.loads(pickle.dumps(values, protocol=protocol))
        assert ball.inverse_dynamics(*moved).tobytes() == expected


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
    expected = python(CHILD, FALLINGCAT_CACHE="off").stdout
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
            done = python(CHILD, FALLINGCAT_CACHE=str(folder))
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
