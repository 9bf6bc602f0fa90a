"""How many threads batches may use, and the threads themselves."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from fallingcat.errors import InputError

_lock = threading.Lock()
_count: int | None = None
_pool: tuple[int, int, ThreadPoolExecutor] | None = None


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


def pool(count: int) -> ThreadPoolExecutor:
    """A pool of at least `count` threads, made anew in a forked child, where the parent's threads do not exist."""
    global _pool
    with _lock:
        if _pool is None or _pool[0] != os.getpid() or _pool[1] < count:
            _pool = (os.getpid(), count, ThreadPoolExecutor(count, thread_name_prefix="fallingcat"))
        return _pool[2]


def start(workers: int, work: Callable[..., bool], *arguments: Any) -> Callable[[], bool]:
    """Begin work in another thread; what is returned waits for its result.

    Where no thread can begin any more, because the interpreter is ending or the system refuses, this thread does it at once.
    """
    result: Future[bool] = Future()
    taken = threading.Lock()

    def once() -> None:
        if not taken.acquire(blocking=False):
            return
        try:
            result.set_result(work(*arguments))
        except BaseException as error:
            result.set_exception(error)

    try:
        pool(workers).submit(once)
    except RuntimeError:  # it may stand in the queue all the same: whoever comes first does it
        once()
    return result.result


def _after_fork() -> None:
    global _lock, _pool
    _lock, _pool = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
