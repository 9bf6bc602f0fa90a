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
    """Work for a thread. It is over when `done` is set; one that was cancelled before it started is never begun."""

    __slots__ = ("_over", "_work", "cancelled", "done", "error", "result", "started")

    def __init__(self, work: Callable[[], Any], over: SimpleQueue[None]) -> None:
        self._work, self._over = work, over
        self.result: Any = None
        self.error: BaseException | None = None
        self.started = self.cancelled = self.done = False

    def run(self) -> None:
        self.started = True  # before the question: who cancels sees that it has started, or this sees that it was cancelled
        try:
            if not self.cancelled:
                self.result = self._work()
        except BaseException as error:
            self.error = error
        self.done = True
        self._over.put(None)


class _Workers:
    """Threads that wait for jobs. A queue is all they share with others: a signal handler or a finalizer that has work of its
    own finds no lock that the code it interrupts might hold."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.jobs: SimpleQueue[_Job] = SimpleQueue()
        self.count = 0

    def grow(self, count: int) -> bool:
        """At least `count` threads; False if there is none, because the interpreter is ending or the system has no more."""
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
    """What the functions return. The first is called here, the others by threads; nothing of it runs any more when this is left,
    also when an interrupt ends it. Where no thread can be started, at the end of a process for example, all are called here."""
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
    """Until all are done. An interrupt has to wait for that too: until then they write into the caller's arrays."""
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
    """The threads of a parent do not exist in a forked child."""
    global _workers
    if _workers.process != os.getpid():
        _workers = _Workers()
    return _workers
