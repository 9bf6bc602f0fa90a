"""Functions compiled before they are needed, several at a time.

Other processes compile and save the code in the cache, where this one then finds it. Without a cache, with one processor, or
if no process can be started, this process compiles one function after the other.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from fallingcat.choices import check_choice
from fallingcat.codegen import cache
from fallingcat.control.march import METHODS
from fallingcat.errors import InputError
from fallingcat.text import shown

Job = tuple[str, dict[str, Any]]
"""The name of a function and its options."""

_WORKER = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
robot, jobs = pickle.load(sys.stdin.buffer)
for name, options, single, batch in jobs:
    robot.kernel(name, **options).prepare(single, batch)
    print(name, flush=True)
"""


STEP = ("forward_dynamics", "integrate")
COMPOSED = {
    "frame_pose": ("pose_of_place",), "state_plus": ("integrate",), "state_minus": ("difference",),
    "step": STEP, "rollout": STEP, "simulate": STEP,
}  # fmt: skip
"""Methods that are no compiled function of their own, and the functions that they call."""


def as_jobs(functions: Any) -> list[Job]:
    """Names, or (name, options) pairs, as jobs; anything else is refused."""
    if not isinstance(functions, Iterable):
        raise InputError("compile: no functions", expected="a list of names, or of (name, options)", got=shown(functions))
    jobs: list[Job] = []
    for job in functions:
        name, options = (job, {}) if isinstance(job, str) else job if isinstance(job, tuple) and len(job) == 2 else (None, None)
        if not isinstance(name, str) or not isinstance(options, Mapping):
            raise InputError("compile: not a function", expected="a name, or (name, options)", got=shown(job))
        jobs.append((name, dict(options)))
    return jobs


def jobs_of(robot: Any, functions: Any) -> list[Job]:
    """The compiled functions that the methods with these names call, each once."""
    jobs: list[Job] = []
    for name, options in as_jobs(functions):
        jobs += [made for made in _behind(robot, name, options) if made not in jobs]
    return jobs


def _behind(robot: Any, name: str, options: dict[str, Any]) -> list[Job]:
    """The compiled functions behind a method, and their options."""
    names: tuple[str, ...] = COMPOSED.get(name, (name,))
    if name == "frame_pose":
        robot.kernel(name, **options)  # raises if there is no such frame
        options = {}
    elif name in ("step", "rollout"):
        check_choice("method", options.pop("method", "euler"), METHODS)
    elif name == "discretize":
        method = options.pop("method", "zoh")
        check_choice("method", method, ("zoh", *METHODS))
        names = ("linearize",) if method == "zoh" else (*STEP, "forward_dynamics_derivatives", "integrate_derivatives")
    driven = robot._actuation is not None and (name == "linearize" or name == "discretize" or names == STEP)
    inputs = {"inputs": "u"} if driven else {}
    return [(n, options | (inputs if n not in ("integrate", "integrate_derivatives") else {})) for n in names]


def compile_ahead(robot: Any, jobs: Sequence[Job], single: bool, batch: bool, progress: bool) -> None:
    """Compile all functions; when this returns, their kernels have the code."""
    kernels = [robot.kernel(name, **options) for name, options in jobs]  # raises first if one does not exist
    missing = [k for k, kernel in enumerate(kernels) if not kernel.is_compiled(single, batch)]
    workers = min(processors(), len(missing))
    with _bar(len(missing), progress) as step:
        if workers > 1 and cache.usable():
            _in_processes(robot, [[(*jobs[k], single, batch) for k in missing[w::workers]] for w in range(workers)], step)
        for kernel in kernels:
            ready = kernel.is_compiled(single, batch)
            kernel.prepare(single, batch)
            if not ready:
                step(kernel.task.name)


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(robot: Any, shares: Sequence[Sequence[Any]], step: Callable[[str], None]) -> None:
    """Compile each share of the work in a process; functions that they fail to compile are left to this process."""
    done: SimpleQueue[str] = SimpleQueue()
    started: list[subprocess.Popen[bytes]] = []
    try:
        for share in shares:
            started.append(_start(pickle.dumps(sys.path) + pickle.dumps((robot, share))))
        readers = [threading.Thread(target=_read, args=(process, done), daemon=True) for process in started]
        for reader in readers:
            reader.start()
        while any(reader.is_alive() for reader in readers) or not done.empty():
            with contextlib.suppress(Empty):
                step(done.get(timeout=0.1))
    except (OSError, pickle.PicklingError, AttributeError, TypeError):  # no more processes, or a robot that cannot be pickled
        return
    finally:
        for process in started:  # also after an interrupt
            process.kill()
            process.wait()


def _start(work: bytes) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _WORKER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | {"FALLINGCAT_QUIET": "1"},
    )  # fmt: skip
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin:
        process.stdin.write(work)
    return process


def _read(process: subprocess.Popen[bytes], done: SimpleQueue[str]) -> None:
    """Put the lines of a process's output, names of compiled functions, into a queue."""
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            done.put(line.decode().strip())


@contextlib.contextmanager
def _bar(total: int, progress: bool) -> Iterator[Callable[[str], None]]:
    """A progress bar on a terminal, removed at the end."""
    if not progress or total < 2 or sys.stderr is None or not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task("", total=total)
        yield lambda what: bar.update(line, advance=1, description=f"{what} is ready")
