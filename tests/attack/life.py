"""The life of a process: signals, forks, finalizers, interrupts, memory, and its end. A case is one process."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import gc
import mmap
import os
import pickle
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np

import fallingcat as fc

from . import endings, interrupts
from .problem import ProblemError
from .subjects import ARM, parts

TIME_LIMIT = 1200.0


def setup(counts: Counter[str]) -> None:
    return None


def case(state: None, index: int, random: Random, counts: Counter[str]) -> None:
    name = list(SCENES)[index % len(SCENES)]
    SCENES[name](random, counts)
    counts[name] += 1


def _check(result: Any, expected: bytes, what: str) -> None:
    if np.asarray(result).tobytes() != expected:
        raise ProblemError("wrong numbers", what)


# ---------------------------------------------------------------------------------------------------------------------
# The garbage collector


class Farewell:
    """Calls the robot when it goes, in the cycle it goes with."""

    said: ClassVar[list[bytes]] = []

    def __init__(self, robot: fc.Robot, q: Any) -> None:
        self.robot, self.q, self.me = robot, q, self
        robot.friend = self  # type: ignore[attr-defined]

    def __del__(self) -> None:
        Farewell.said.append(np.asarray(self.robot.gravity_torque(self.q)).tobytes())
        Farewell.said.append(np.asarray(self.robot.gravity_torque(np.array([self.q, self.q]))[1]).tobytes())


def _suspended(robot: fc.Robot, q: Any) -> Any:
    try:
        yield robot.gravity_torque(q)
        yield None
    finally:
        Farewell.said.append(np.asarray(robot.gravity_torque(q)).tobytes())


def _walking(robot: fc.Robot, q: Any) -> Any:
    generator = _suspended(robot, q)
    next(generator)
    robot.generator = generator  # type: ignore[attr-defined]
    return generator


def finalizers(random: Random, counts: Counter[str]) -> None:
    """Objects that call the robot while the collector frees both, in every order."""
    q = fc.load(ARM).random_configuration(1)
    expected = fc.load(ARM).gravity_torque(q).tobytes()
    for _ in range(30):
        robot = fc.load(ARM)
        things: list[Any] = []
        # The collector calls finalizers by age, so the code must be older than them, and younger.
        steps = [
            lambda robot=robot: robot.gravity_torque(q), lambda robot=robot: robot.gravity_torque(np.array([q, q])),
            lambda robot=robot: Farewell(robot, q), lambda robot=robot: _walking(robot, q),
            lambda robot=robot: robot.gravity_torque,
        ]  # fmt: skip
        random.shuffle(steps)
        for step in steps:
            things.append(step())
            if random.random() < 0.5:
                gc.collect(random.randrange(3))
        things.append(robot)
        random.shuffle(things)
        del robot, steps, step
        while things:
            things.pop()
            if random.random() < 0.2:
                gc.collect(random.randrange(3))
        gc.collect()
        counts["finalizers"] += 1
    if len(Farewell.said) < 60 or set(Farewell.said) != {expected}:
        raise ProblemError("wrong numbers", f"finalizers saw {len(set(Farewell.said))} results in {len(Farewell.said)} calls")


def made_again(random: Random, counts: Counter[str]) -> None:
    """Robots made again in place, emptied, copied; methods that outlive their robot."""
    q = fc.load(ARM).random_configuration(1)
    many = np.array([q] * 40)
    expected, expected_many = fc.load(ARM).gravity_torque(q).tobytes(), fc.load(ARM).gravity_torque(many).tobytes()
    for _ in range(30):
        robot = fc.load(ARM)
        robot.gravity_torque(q)
        robot.gravity_torque(many)
        methods = [robot.gravity_torque, robot.kernel("gravity_torque").entry, robot.kernel("gravity_torque")]
        random.shuffle(methods)
        del methods[random.randrange(4) :]  # what is left must do without the others
        way = random.randrange(6)
        if way == 0:
            robot.__init__(robot.description)  # type: ignore[misc]
        elif way == 1:
            robot.__dict__.update(fc.load(ARM).__dict__)
        elif way == 2:
            robot = copy.deepcopy(robot)
        elif way == 3:
            robot = pickle.loads(pickle.dumps(robot))
        elif way == 4:
            for method in methods:
                if hasattr(method, "__self__"):
                    method.__module__ = random.choice(("mine", "", None))
        else:
            for name in [name for name in robot.__dict__ if name.startswith("_")]:
                if isinstance(robot.__dict__[name], dict):
                    robot.__dict__[name] = {}  # whatever it remembers
            robot.__dict__["_options"] = fc.load(ARM).__dict__["_options"]
        gc.collect()
        _check(robot.gravity_torque(q), expected, f"made again, way {way}")
        _check(robot.gravity_torque(many), expected_many, f"made again, way {way}, many")
        del robot
        gc.collect()
        for method in methods:
            _check(method(q), expected, "a method that outlives its robot")
            _check(method(many), expected_many, "a method that outlives its robot, many")
        counts["robots made again"] += 1


# ---------------------------------------------------------------------------------------------------------------------
# Memory


def far_apart(random: Random, counts: Counter[str]) -> None:
    """Code and data land where there is room: small gaps here, the rest more than two gigabytes away."""
    q = fc.load(ARM).random_configuration(1)
    nu = q[1:]
    kept: list[mmap.mmap] = []
    seen: dict[str, set[bytes]] = {}
    for pages in random.sample((1, 2, 3, 4, 6, 8, 12, 16), 6):
        maps = [mmap.mmap(-1, mmap.PAGESIZE * pages) for _ in range(400)]
        kept.append(mmap.mmap(-1, 3 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)))
        for m in maps[::2]:
            m.close()
        kept += maps[1::2]
        robot = fc.load(ARM)
        for name, values in (
            ("potential_energy", (q,)), ("mass_matrix", (q,)), ("bias", (q, nu)), ("inverse_dynamics_derivatives", (q, nu, nu)),
            ("forward_dynamics_derivatives", (q, nu, nu)), ("christoffel_symbols", (q,)),
        ):  # fmt: skip
            one = np.asarray(parts(getattr(robot, name)(*values))[0])
            many = np.asarray(parts(getattr(robot, name)(*(np.array([v, v]) for v in values)))[0])
            seen.setdefault(name, set()).update((one.tobytes(), many[1].tobytes()))
            counts["functions with code far apart"] += 2
    if any(len(results) != 1 for results in seen.values()):
        raise ProblemError("wrong numbers", "other bits in other places")


def little_memory(random: Random, counts: Counter[str]) -> None:
    """Batches in a process that may not have much more memory than it has: a MemoryError, or the right numbers."""
    import resource

    robot = fc.load(ARM)
    q = np.array([robot.random_configuration(k) for k in range(50)])
    expected = robot.mass_matrix(q)
    robot.mass_matrix(q[0])
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * mmap.PAGESIZE
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), hard))
    try:
        for _ in range(100):
            repeat = random.choice((1, 10, 100, 1000, 4000, 20000))
            try:
                result = robot.mass_matrix(np.tile(q, (repeat, 1)))
            except MemoryError:
                counts["calls without memory"] += 1
            else:
                _check(result[-50:], expected.tobytes(), f"{repeat} times, with little memory")
                del result
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    _check(robot.mass_matrix(q), expected.tobytes(), "after there was little memory")


def deep_stack(random: Random, counts: Counter[str]) -> None:
    """Calls where hardly any frame is left: a RecursionError, or the right numbers; and afterwards the right numbers."""
    robot = fc.load(ARM)
    q = robot.random_configuration(1)
    many = np.array([q] * 30)
    expected = fc.load(ARM).bias(q, robot.random_velocity(2)).tobytes()

    def descend() -> None:
        with contextlib.suppress(RecursionError):
            descend()
        try:
            robot.bias(many, robot.random_velocity(2))
            _check(robot.bias(q, robot.random_velocity(2)), expected, "near the end of the stack")
        except (RecursionError, ctypes.ArgumentError):  # the latter is what ctypes makes of the former
            counts["calls without a stack"] += 1

    for _ in range(3):
        descend()
        robot = fc.load(ARM)
    _check(robot.bias(q, robot.random_velocity(2)), expected, "after the end of the stack")


# ---------------------------------------------------------------------------------------------------------------------


def endings_of_processes(random: Random, counts: Counter[str]) -> None:
    """Processes that end in every way, with code, threads, results and finalizers alive."""
    for name, text in endings.SCRIPTS.items():
        command = [sys.executable, "-X", "faulthandler", "-c", endings.BEGIN + text]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        except subprocess.TimeoutExpired as error:
            raise ProblemError("hangs", f"a process that ends with {name}: {(error.stderr or b'')[-2000:]!r}") from error
        counts["processes ended"] += 1
        wanted = 3 if "exit status 3" in name else 0
        if done.returncode != wanted or "done" not in done.stdout or "Traceback" in done.stderr:
            raise ProblemError("crashes", f"a process that ends with {name}: status {done.returncode}: {done.stderr[-2000:]}")


SCENES: dict[str, Callable[[Random, Counter[str]], None]] = {
    "finalizers in cycles": finalizers,
    "robots made again in place": made_again,
    "deep stacks": deep_stack,
    "ends of processes": endings_of_processes,
}
if hasattr(signal, "setitimer"):
    SCENES |= {
        "signals during calls": interrupts.calls_in_handlers,
        "signals during compiles": interrupts.first_calls_in_handlers,
        "exceptions from handlers": interrupts.exceptions_from_handlers,
    }
if hasattr(os, "fork"):
    SCENES |= {"forks": interrupts.forks, "memory far apart": far_apart}
if sys.platform == "linux":  # where the memory of a process can be read and limited
    SCENES |= {"little memory": little_memory}
