"""Threads that call, hold results and look at them again, under a tracer or profiler that gives way at the worst moments.

A case is one process. The library is imported in it, with the tracer on in half of the cases.
"""

from __future__ import annotations

import random as chance
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from .problem import ProblemError, words

SECONDS = 10.0
THREADS = 6
HOLD = 12
"""Results that a thread keeps at once: together, more of one shape than the library looks after."""
PLACES = ("memory.py", "kernel.py", "runner.py", "methods.py", "constraints.py", "arguments.py", "threads.py")
"""Where giving way to another thread may hurt."""


def setup(counts: Counter[str]) -> None:
    return None


def _gives_way(frame: Any) -> None:
    if frame.f_code.co_filename.endswith(PLACES) and chance.random() < 0.2:
        time.sleep(0.0)


def _profile(frame: Any, event: str, argument: Any) -> None:
    _gives_way(frame)


def _trace(frame: Any, event: str, argument: Any) -> Any:
    _gives_way(frame)
    return _trace


def _debugger(frame: Any, event: str, argument: Any) -> Any:
    """Reads the variables, which on some Pythons keeps references to them."""
    if frame.f_code.co_filename.endswith(PLACES):
        list(frame.f_locals.items())
    _gives_way(frame)
    return _debugger


def _set(kind: str) -> None:
    if kind == "profile":
        threading.setprofile(_profile)
        sys.setprofile(_profile)
    elif kind in ("trace", "debugger"):
        tracer = _trace if kind == "trace" else _debugger
        threading.settrace(tracer)
        sys.settrace(tracer)


KINDS = ("profile", "trace", "debugger", "none")


def case(state: None, index: int, random: Random, counts: Counter[str]) -> None:
    kind = KINDS[index % len(KINDS)]
    early = (index // len(KINDS)) % 2 == 0
    if early:
        _set(kind)
    calls = _calls(random)
    _set(kind)
    sys.setswitchinterval(1e-5)
    start = time.monotonic()
    problems: list[ProblemError] = []
    made: list[int] = []
    workers = [threading.Thread(target=_work, args=(calls, seed, start + SECONDS, problems, made)) for seed in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    threading.setprofile(None)
    threading.settrace(None)  # type: ignore[arg-type]
    sys.setprofile(None)
    sys.settrace(None)
    counts["thread-seconds"] += round(THREADS * (time.monotonic() - start))
    counts["thread-seconds with a tracer"] += round(THREADS * (time.monotonic() - start)) if kind != "none" else 0
    counts["results held and compared"] += sum(made)
    if problems:
        raise ProblemError(problems[0].kind, f"{kind}, {'early' if early else 'late'}: {len(problems)} times: {problems[0].text}")


Call = tuple[str, Callable[[], Any], bytes]


def _calls(random: Random) -> list[Call]:
    """Single states and batches of many sizes, with the bytes they must give."""
    import numpy as np

    import fallingcat as fc

    from .subjects import ARM

    fc.set_threads(random.choice((1, 1, 2)))
    robot, other = fc.load(ARM), fc.load(ARM)
    rng = np.random.default_rng(random.randrange(1 << 30))
    q = np.array([robot.random_configuration(rng) for _ in range(400)])
    nu = rng.normal(size=(400, robot.nv))
    calls: list[Call] = []
    sizes = random.choice(((60,), (40, 41), (None, 3, 40, 41, 60, 90, 133, 400)))
    for size in sizes:
        at: Any = 7 if size is None else slice(0, size)
        for name, values in (
            ("mass_matrix", (q[at],)), ("coriolis_matrix", (q[at], nu[at])), ("mass_matrix_rate", (q[at], nu[at])),
            ("inverse_dynamics", (q[at], nu[at], nu[at])),
        ):  # fmt: skip
            expected = np.array(getattr(robot, name)(*values)).tobytes()
            for r in (robot, other):
                calls.append((f"{name} of {size}", lambda r=r, name=name, values=values: getattr(r, name)(*values), expected))
    return calls


def _work(calls: list[Call], seed: int, end: float, problems: list[ProblemError], made: list[int]) -> None:
    """Calls until the time is over; what comes back is kept for a while and must not change."""
    choose = Random(seed)
    held: list[tuple[str, Any, bytes]] = []
    count = 0
    try:
        while time.monotonic() < end:
            name, call, expected = choose.choice(calls)
            result = call()
            if result.tobytes() != expected:
                raise ProblemError("wrong numbers", f"{name}: another result")
            held.append((name, result, expected))
            del result
            if len(held) > HOLD:
                what, old, before = held.pop(choose.randrange(len(held)))
                if old.tobytes() != before:
                    raise ProblemError("wrong numbers", f"{what}: overwritten while it was held")
                count += 1
                del old
            if choose.random() < 0.05:
                held.clear()
    except ProblemError as problem:
        problems.append(problem)
    except Exception as error:
        problems.append(ProblemError("undocumented exceptions", words(error)))
    made.append(count)
