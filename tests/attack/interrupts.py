"""What comes in the middle: signals whose handlers call, signals whose handlers raise, and forks."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter
from random import Random
from typing import Any

import numpy as np

import fallingcat as fc

from .problem import ProblemError, words
from .subjects import ARM

CHILD_SECONDS = 30.0


class _StopError(Exception):
    """Raised by a handler, as Ctrl-C would."""


def _state() -> tuple[Any, Any]:
    robot = fc.load(ARM)
    return robot.random_configuration(1), np.array([robot.random_configuration(k) for k in range(60)])


def _check(result: Any, expected: bytes, what: str) -> None:
    if np.asarray(result).tobytes() != expected:
        raise ProblemError("wrong numbers", what)


class _Timer:
    """A handler called a hundred times a second, and what it met."""

    def __init__(self, work: Any) -> None:
        self.count, self.problems, self._work, self._busy = 0, [], work, False  # type: ignore[var-annotated]

    def _handle(self, number: int, frame: Any) -> None:
        if self._busy:  # handlers inside handlers only end with the stack
            return
        self._busy = True
        self.count += 1
        try:
            self._work(self.count)
        except Exception as error:
            self.problems.append(words(error))
        finally:
            self._busy = False

    def __enter__(self) -> _Timer:
        signal.signal(signal.SIGALRM, self._handle)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        return self

    def __exit__(self, *_: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        if self.problems:
            raise ProblemError("undocumented exceptions", f"in a handler: {self.problems[0]}")


def calls_in_handlers(random: Random, counts: Counter[str]) -> None:
    """Batches in a handler while batches run; both hold their results."""
    q, many = _state()
    robot = fc.load(ARM)
    expected, expected_many = robot.mass_matrix(q).tobytes(), robot.mass_matrix(many).tobytes()
    held: list[Any] = []

    def work(count: int) -> None:
        held.append(robot.mass_matrix(many))
        held.append(robot.mass_matrix(many[: 30 + count % 20]))
        robot.mass_matrix(q)
        if len(held) > 20:
            del held[: random.randrange(20)]

    with _Timer(work) as timer:
        end = time.monotonic() + 4.0
        while time.monotonic() < end:
            mine = [robot.mass_matrix(many) for _ in range(random.randrange(1, 20))]
            _check(robot.mass_matrix(q), expected, "one state, with signals")
            for result in (*mine, *[h for h in held if len(h) == 60]):
                _check(result, expected_many, "a result that is held, with signals")
    counts["signals handled"] += timer.count


def first_calls_in_handlers(random: Random, counts: Counter[str]) -> None:
    """First calls in a handler while first calls are being made: of the same function and of others."""
    os.environ["FALLINGCAT_CACHE"] = "off"
    q, many = _state()
    names = ("gravity_torque", "mass_matrix", "center_of_mass", "potential_energy")
    expected = {name: np.asarray(getattr(fc.load(ARM), name)(q)).tobytes() for name in names}
    robots = [fc.load(ARM)]

    def work(count: int) -> None:
        name = random.choice(names)
        if count % 10 == 0:
            _check(getattr(fc.load(ARM), name)(q), expected[name], "a first call in a handler")
        elif count % 3 == 0:
            _check(getattr(robots[-1], name)(q), expected[name], "the same first call in a handler")
            getattr(robots[-1], name)(many)

    with _Timer(work) as timer:
        for _ in range(6):
            robots.append(fc.load(ARM))
            for name in names:
                _check(getattr(robots[-1], name)(q), expected[name], "a first call, with signals")
                getattr(robots[-1], name)(many)
    counts["signals handled"] += timer.count


def exceptions_from_handlers(random: Random, counts: Counter[str]) -> None:
    """Handlers that raise at any moment; whatever was going on, the next call is right and nothing waits for ever."""
    os.environ["FALLINGCAT_CACHE"] = "off"
    q, many = _state()
    expected, expected_many = fc.load(ARM).gravity_torque(q).tobytes(), fc.load(ARM).gravity_torque(many).tobytes()

    def stop(number: int, frame: Any) -> None:
        raise _StopError

    signal.signal(signal.SIGALRM, stop)
    robot = fc.load(ARM)
    for k in range(60):
        if k % 3 == 0:
            robot = fc.load(ARM)
        try:
            signal.setitimer(signal.ITIMER_REAL, random.choice((1e-4, 1e-3, 1e-2, 3e-2)))
            end = time.monotonic() + 0.05
            while time.monotonic() < end:
                robot.gravity_torque(many)
                robot.gravity_torque(q)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        except _StopError:
            counts["calls interrupted"] += 1
        _check(robot.gravity_torque(q), expected, "after an interrupt")
        _check(robot.gravity_torque(many), expected_many, "after an interrupt, many")


# ---------------------------------------------------------------------------------------------------------------------
# Forks


def forks(random: Random, counts: Counter[str]) -> None:
    """Forks while threads compile, call and hold the memory of results; the children call and compile, too."""
    os.environ["FALLINGCAT_CACHE"] = "off"
    fc.set_threads(2)
    q, many = _state()
    large = np.tile(many, (5, 1))
    warm = fc.load(ARM)
    expected, expected_many = warm.mass_matrix(q).tobytes(), warm.mass_matrix(large).tobytes()
    finished = threading.Event()
    problems: list[str] = []

    def busy(compiles: bool) -> None:
        robot = warm
        while not finished.is_set():
            try:
                if compiles:
                    robot = fc.load(ARM)
                    robot.gravity_torque(q)
                _check(robot.mass_matrix(large), expected_many, "in a thread of the parent")
            except Exception as error:
                problems.append(words(error))
                return

    workers = [threading.Thread(target=busy, args=(k == 0,), daemon=True) for k in range(3)]
    for worker in workers:
        worker.start()
    try:
        for k in range(20):
            time.sleep(random.choice((0.0, 0.001, 0.01)))
            _child(warm, q, large, expected, expected_many, compiles=k % 4 == 0)
            counts["forks"] += 1
    finally:
        finished.set()
        for worker in workers:
            worker.join()
    if problems:
        raise ProblemError("other problems", f"beside forks: {problems[0]}")


def _child(warm: fc.Robot, q: Any, large: Any, expected: bytes, expected_many: bytes, compiles: bool) -> None:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            _check(warm.mass_matrix(large), expected_many, "many, in a child")
            _check(warm.mass_matrix(q), expected, "one, in a child")
            if compiles:
                _check(fc.load(ARM).mass_matrix(q), expected, "compiled in a child")
            status = 0
        except BaseException as error:
            sys.stderr.write(words(error) + "\n")
        finally:
            os._exit(status)
    end = time.monotonic() + CHILD_SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if status:
                raise ProblemError("crashes", f"a child ends with {os.waitstatus_to_exitcode(status)}")
            return
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise ProblemError("hangs", "a forked child")
