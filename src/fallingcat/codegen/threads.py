"""How many threads batches may use, and the threads themselves."""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from fallingcat.errors import InputError

_count: int | None = None


def set_threads(count: int) -> None:
    """Use `count` threads for batches from now on. The results do not depend on it, to the last bit."""
    global _count
    _count = _checked(count, "fc.set_threads")


def threads() -> int:
    """The number of threads batches use: what was set, else FALLINGCAT_THREADS, else 1."""
    global _count
    if _count is None:
        text = os.environ.get("FALLINGCAT_THREADS", "").strip()
        _count = _checked(text, "FALLINGCAT_THREADS") if text else 1
    return _count


def _checked(value: object, name: str) -> int:
    try:
        count = int(str(value))
    except ValueError:
        count = 0
    if not 1 <= count <= 1024 or isinstance(value, (bool, float)):
        raise InputError(f"{name} does not fit", expected="a whole number from 1 to 1024", got=repr(value))
    return count


class _Job:
    """A function for a thread to call. `done` is set at its end; a job that was cancelled before it started is skipped."""

    __slots__ = ("_over", "_work", "cancelled", "done", "error", "result", "started")

    def __init__(self, work: Callable[[], Any], over: SimpleQueue[None]) -> None:
        self._work, self._over = work, over
        self.result: Any = None
        self.error: BaseException | None = None
        self.started = self.cancelled = self.done = False

    def run(self) -> None:
        self.started = True  # before the test: either the canceller sees `started`, or this thread sees `cancelled`
        try:
            if not self.cancelled:
                self.result = self._work()
        except BaseException as error:
            self.error = error
        self.done = True
        self._over.put(None)


class _Workers:
    """Threads that wait for jobs. They share only a queue with other code, so that a signal handler or a finalizer that starts
    jobs cannot wait for a lock that the interrupted code holds."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.jobs: SimpleQueue[_Job] = SimpleQueue()
        self.count = 0

    def grow(self, count: int) -> bool:
        """Start threads up to `count`; False if there is none at all, as when the interpreter ends or the system has no more."""
        while self.count < count:
            try:
                _thread.start_new_thread(self._work, ())
            except RuntimeError:
                break
            self.count += 1
        return self.count > 0

    def _work(self) -> None:
        while True:
            self.jobs.get().run()


_workers = _Workers()


def run_all(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """Call all functions, the first here and the others in threads, and return their results. When this returns or raises, even
    by an interrupt, none of them runs any more. If no thread can be started, as at the end of a process, all are called here."""
    workers = _of_this_process()
    if not workers.grow(len(works) - 1):
        return [work() for work in works]
    over: SimpleQueue[None] = SimpleQueue()
    jobs = [_Job(work, over) for work in works[1:]]
    try:
        for job in jobs:
            workers.jobs.put(job)
        results = [works[0]()]
    except BaseException:
        for job in jobs:
            job.cancelled = True
        _wait([job for job in jobs if job.started], over)
        raise
    _wait(jobs, over)
    for job in jobs:
        if job.error is not None:
            raise job.error
        results.append(job.result)
    return results


def _wait(jobs: Sequence[_Job], over: SimpleQueue[None]) -> None:
    """Wait until all jobs are done. An interrupt is raised only then: until then the jobs write into the caller's arrays."""
    interrupt: BaseException | None = None
    while not all(job.done for job in jobs):
        try:
            over.get(timeout=0.1)
        except Empty:
            pass
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


def _of_this_process() -> _Workers:
    """The threads of this process; a forked child gets new ones, because its parent's threads do not exist there."""
    global _workers
    if _workers.process != os.getpid():
        _workers = _Workers()
    return _workers
