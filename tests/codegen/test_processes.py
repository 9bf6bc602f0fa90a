"""Forked and spawned processes, pickles: the same numbers, and no child waits for ever."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from states import states

import fallingcat as fc
from fallingcat.codegen import Kernel, native
from fallingcat.functions import task


def height(r: Any, q: Any) -> Any:
    return r.center_of_mass(q)[2]


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
