"""All chunks of a job: one after the other in this process, or as tasks of a Dask cluster.

A chunk that fails does not stop the others; a full disk or a lost scheduler stops the job. Missing chunks are reported one
by one at the end, and `--resume` computes them.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import queue
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fallingcat import __version__
from fallingcat.arrays.shared_objects import SharedObject, identity
from fallingcat.errors import FallingCatError, InputError
from fallingcat.scale.extras import need
from fallingcat.scale.job import Job, do_chunk
from fallingcat.scale.ledger import NAME, Ledger, versions

Tell = Callable[[int, str], None]
"""A callback that is told how many chunks have just been done, and a message."""

IN_FLIGHT = 4
"""Tasks per thread of the cluster that are submitted at a time, so that the scheduler's memory does not grow with the job."""
RETRIES = 1
PATIENCE = 20.0
"""Seconds without an answer after which the connection to the scheduler counts as lost."""
QUIET_WORKERS = {"distributed.worker.daemon": True, "distributed.worker.profile.enabled": False}
"""Settings of workers that we start: they end with the job, and their statistical profiler is off."""
LEAST_MEMORY = 1 << 26
"""Smallest memory of a worker that is accepted, in bytes; less than a process needs that has imported Dask."""
COMPARED = ("fallingcat", "numpy", "llvmlite", "machine")
"""The entries of `versions` on which the bits of states and results may depend."""
FATAL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@dataclass
class Outcome:
    """The result of a job: the chunks that failed, and whether it was stopped."""

    failed: dict[int, str] = field(default_factory=dict)
    stopped: str = ""
    """Why no more chunks were begun; empty if the job was not stopped."""


def run_here(job: Job, ledger: Ledger, tell: Tell) -> Outcome:
    """Run the chunks of a job in this process."""
    outcome = Outcome()
    for number in _missing(job, ledger):
        try:
            entry = job.do(number)
        except (OSError, ValueError, MemoryError, RuntimeError) as error:
            _note(outcome, number, error)
            if outcome.stopped:
                break
            continue
        ledger.enter(entry)
        tell(1, "")
    return outcome


def _missing(job: Job, ledger: Ledger) -> Iterator[int]:
    return (number for number in range(job.chunks) if number not in ledger.done)


def _note(outcome: Outcome, number: int, error: BaseException) -> None:
    words = " ".join(str(error).split())[:300]
    if type(error).__name__ == "KilledWorker":
        words = "the workers that computed it died, one after the other; out of memory, most often: a smaller --chunk needs less"
    outcome.failed[number] = f"{type(error).__name__}: {words}" if words else type(error).__name__
    if isinstance(error, OSError) and error.errno in FATAL:
        outcome.stopped = f"{error.strerror or error}"


# ---------------------------------------------------------------------------------------------------------------------
# Dask


def check_words(address: str | None, memory: str) -> None:
    """Refuse, before anything begins, an invalid address or size of memory."""
    if address is not None:
        _check_address(address)
    elif memory != "auto":
        try:
            size = need("dask.utils", "a job on several processes").parse_bytes(memory)
        except ValueError:
            size = 0
        if size < LEAST_MEMORY:
            expected = f"a size of {LEAST_MEMORY >> 20} MiB or more, as in 512MB, or auto"
            raise InputError("--memory does not fit", expected=expected, got=repr(memory))


def _check_address(address: str) -> None:
    scheme, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    expected = "a scheduler's address, as in tcp://10.0.0.1:8786"
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise InputError("--scheduler is not an address", expected=expected, got=repr(address))
    if scheme in ("", "tcp", "tls"):
        try:
            socket.getaddrinfo(host.strip("[]"), int(port))
        except (OSError, UnicodeError) as error:
            words = error.strerror if isinstance(error, OSError) else str(error)
            raise InputError(f"--scheduler: unknown host {host!r}", expected=expected, got=str(words)) from None


@contextlib.contextmanager
def cluster(address: str | None, workers: int, memory: str) -> Iterator[Any]:
    """A client of a running scheduler, or of a cluster of processes on this machine that ends with it."""
    distributed = need("distributed", "a job on several processes")
    _quiet()
    if address is not None:
        try:
            client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            hint = "dask scheduler starts one and prints its address"
            raise InputError(f"no scheduler answers at {address!r}", got=str(error) or type(error).__name__, hint=hint) from None
        with contextlib.closing(client):
            yield client
        return
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "memory_limit": memory}
    with (
        need("dask", "a job on several processes").config.set(QUIET_WORKERS),
        distributed.LocalCluster(host="127.0.0.1", dashboard_address=None, silence_logs=50, **options) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield client


def _quiet() -> None:
    """Silence Dask's own tracebacks: errors are reported in the outcome."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def check_workers(client: Any, job: Job, source: str | None) -> int:
    """The number of threads of all workers; refused unless they have the same library and see the files."""
    deadline = time.monotonic() + PATIENCE
    while not client.scheduler_info(n_workers=-1)["workers"]:
        if time.monotonic() > deadline:
            raise InputError("the scheduler has no workers", hint="dask worker ADDRESS starts one")
        time.sleep(0.2)
    paths = [str(Path(job.target.path).resolve() / NAME), *([] if source is None else [str(Path(source).resolve())])]
    try:
        found = client.run(_look_around, paths, on_error="return")
    except (OSError, RuntimeError) as error:
        raise FallingCatError(f"the workers do not answer: {error}") from None
    for worker, answer in found.items():
        if isinstance(answer, BaseException):
            hint = f"pip install fallingcat=={__version__} there"
            raise InputError(f"worker {worker} cannot run this", got=f"{type(answer).__name__}: {answer}", hint=hint)
        there, unseen = answer
        for name in COMPARED:
            if there[name] != versions()[name]:
                what = "is another kind of machine" if name == "machine" else f"has another version of {name}"
                raise InputError(f"worker {worker} {what}", expected=versions()[name], got=there[name])
        if unseen:
            hint = "workers read and write files themselves: put them where all machines see them"
            raise InputError(f"worker {worker} does not see {unseen[0]!r}", hint=hint)
    return sum(int(w["nthreads"]) for w in client.scheduler_info(n_workers=-1)["workers"].values())


def _look_around(paths: list[str]) -> tuple[dict[str, str], list[str]]:
    return versions(), [path for path in paths if not os.path.exists(path)]


def run_on(client: Any, threads: int, job: Job, ledger: Ledger, tell: Tell) -> Outcome:
    """Run the chunks of a job as tasks of a cluster. Workers read and write; the client keeps the ledger."""
    from distributed.comm import CommClosedError

    outcome = Outcome()
    token = hashlib.sha256(f"{job.target.path} {os.getpid()} {time.time_ns()}".encode()).hexdigest()[:32]
    node = client.submit(identity, SharedObject(token, job, __version__), key=f"fallingcat-job-{token}")
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    missing, lost_at = _missing(job, ledger), 0.0
    running: dict[str, Any] = {}
    while True:
        while not outcome.stopped and len(running) < IN_FLIGHT * max(1, threads):
            number = next(missing, None)
            if number is None:
                break
            task = client.submit(do_chunk, node, number, key=f"fallingcat-{token}-{number}", retries=RETRIES, pure=False)
            running[task.key] = (number, task)
            task.add_done_callback(ended.put)
        if not running:
            return outcome
        try:
            task = ended.get(timeout=0.5)
        except queue.Empty:
            lost_at = 0.0 if client.status == "running" else lost_at or time.monotonic()
            if lost_at and time.monotonic() - lost_at > PATIENCE:
                return _scheduler_lost(outcome, running)
            continue
        if task.key in running:
            number, _ = running.pop(task.key)
            if task.cancelled():
                return _scheduler_lost(outcome, running | {task.key: (number, task)})
            try:
                _take(outcome, number, task, ledger, tell)
            except CommClosedError:  # while the result was fetched
                return _scheduler_lost(outcome, running | {task.key: (number, task)})


def _take(outcome: Outcome, number: int, task: Any, ledger: Ledger, tell: Tell) -> None:
    """Enter what a task has returned into the ledger, or its error into the outcome."""
    error = task.exception()
    if error is None:
        ledger.enter(task.result())
        tell(1, "")
        return
    _note(outcome, number, error)
    tell(0, f"chunk {number}: {outcome.failed[number]}")


def _scheduler_lost(outcome: Outcome, running: dict[str, Any]) -> Outcome:
    outcome.stopped = "the scheduler is lost"
    for number, _ in running.values():
        outcome.failed.setdefault(number, "it was under way when the scheduler was lost")
    return outcome
