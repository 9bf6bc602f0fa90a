"""Memory for results, used again once nobody holds it any more.

Fresh memory costs a page fault for every four kilobytes, which can take longer than computing what goes into them. A loop
that drops its last results gets their memory back instead. Whether a result is still held is known by counting references:
every view of it, and every view of a view, holds the one array that owns the memory.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALL = 1 << 14
"""Bytes below which the C library has memory at hand."""

LIMIT = 1 << 26
"""Bytes that are kept at most; a larger result comes from the system and goes back to it."""

KEPT = 16
"""Arrays of one shape that are looked after; who holds more results than this gets fresh ones."""


def _claim(owners: Sequence[Array], free: int) -> Array | None:
    """A view of the first array that nobody else holds. Two threads that reach for one both see it taken."""
    for owner in owners:
        mine = owner[...]
        if sys.getrefcount(owner) == free:
            return mine
    return None


class Memory:
    """Arrays that have been results, by their shape."""

    def __init__(self, limit: int = LIMIT) -> None:
        counted = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
        self._limit = limit if counted else 0
        self._owners: dict[tuple[int, ...], list[Array]] = {}
        self._lock = threading.Lock()
        # how many references an array has that nobody holds differs among versions of Python
        self._free = next(n for n in range(2, 10) if _claim([np.empty(1)], n) is not None) if counted else 0

    def renew_lock(self) -> None:
        """A new lock, for a process that has only one thread."""
        self._lock = threading.Lock()

    @property
    def kept(self) -> int:
        """Bytes that are looked after, in use or not."""
        return sum(owner.nbytes for owners in self._owners.values() for owner in owners)

    def empty(self, shape: tuple[int, ...]) -> Array:
        """An array of that shape with anything in it."""
        owners = self._owners.get(shape)
        found = None if owners is None else _claim(owners, self._free)
        return self._new(shape) if found is None else found

    def _new(self, shape: tuple[int, ...]) -> Array:
        owner = np.empty(shape)
        if not SMALL <= owner.nbytes <= self._limit:
            return owner
        with self._lock:
            owners = self._owners.setdefault(shape, [])
            owners.append(owner)
            if len(owners) > KEPT:
                del owners[0]
            while self.kept > self._limit:
                self._forget()
        return owner[...]

    def _forget(self) -> None:
        """Look no longer after one of the oldest; who holds it keeps it."""
        shape = next(iter(self._owners))
        del self._owners[shape][0]
        if not self._owners[shape]:
            del self._owners[shape]


RESULTS = Memory()
"""What all kernels share."""

if hasattr(os, "register_at_fork"):  # another thread of the parent may hold the lock, and does not exist in the child
    os.register_at_fork(after_in_child=RESULTS.renew_lock)
