"""Memory for results, recycled once no reference to it is left.

Fresh memory costs a page fault for every four kilobytes, which can take longer than computing what goes into them. A loop
that drops its last results gets their memory back instead.

No reference counts are read. What a user gets is a view of an array that has a weak
reference: every view of it, every view of a view, every buffer keeps that array alive, and when it dies the weak reference
puts itself into a queue. This happens inside the interpreter, without a lock and without a line of Python, so that threads,
tracers, signal handlers and finalizers can neither interrupt it nor wait for it. The watched array is an exact ndarray, which
the garbage collector does not track, so that the weak reference never fires before the array is deallocated.
"""

from __future__ import annotations

import ctypes
import math
import weakref
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALL = 1 << 14
"""Bytes below which memory is not recycled here, as the C library serves such allocations from its own pool."""

LIMIT = 1 << 26
"""Largest amount of free memory in the pool, in bytes; larger results are allocated by the system and returned to it."""

KEPT = 16
"""Largest number of free blocks of one size in the pool."""

ALIGNMENT = 64
"""Alignment in bytes: a cache line."""


class _Watch(weakref.ref[Array]):
    """A weak reference to the base array that all views of a result keep alive, together with that array's memory."""

    __slots__ = ("memory",)
    memory: ctypes.Array[ctypes.c_char]


class Memory:
    """A pool of the memory of earlier results, by size."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._watches: dict[int, _Watch] = {}
        self._ended: deque[_Watch] = deque()
        self._unused: dict[int, list[Any]] = {}

    @property
    def kept(self) -> int:
        """Bytes in the pool that are not in use."""
        self._reclaim(0)
        return sum(size * len(pieces) for size, pieces in list(self._unused.items()))

    def give_back(self) -> None:
        """Return all memory that is not in use to the system."""
        self._reclaim(0)
        self._unused.clear()

    def empty(self, shape: tuple[int, ...]) -> Array:
        """An uninitialized array of that shape."""
        size = 8 * math.prod(shape)
        if not SMALL <= size <= self._limit:
            return np.empty(shape)
        memory: Any = self._reclaim(size) if self._ended else None
        if memory is None:
            memory = self._take_unused(size)
        if memory is None:
            memory = (ctypes.c_char * (size + ALIGNMENT))()
        watched = np.ndarray(shape, np.float64, memory, -ctypes.addressof(memory) % ALIGNMENT)
        result = watched.view()
        if result.base is watched:  # else views refer to an array without a weak reference: such memory is not recycled
            watch = _Watch(watched, self._ended.append)
            watch.memory = memory
            self._watches[id(watch)] = watch
        return result

    def _reclaim(self, size: int) -> Any:
        """Move the memory of deallocated results to the pool, but return one block of that size, if any. An interrupt may drop
        some of it."""
        found = None
        while self._ended:
            try:
                watch = self._ended.popleft()
            except IndexError:  # another thread was quicker
                break
            self._watches.pop(id(watch), None)
            memory = getattr(watch, "memory", None)
            if found is None and memory is not None and len(memory) == size + ALIGNMENT:
                found = memory
            elif memory is not None:
                self._keep(memory)
        return found

    def _take_unused(self, size: int) -> Any:
        pieces = self._unused.get(size)
        try:
            return pieces.pop() if pieces else None
        except IndexError:  # another thread was quicker
            return None

    def _keep(self, memory: Any) -> None:
        size = len(memory) - ALIGNMENT
        pieces = self._unused.pop(size, None) or []  # taken out, to be the last one in the order of use
        pieces.append(memory)
        del pieces[:-KEPT]
        self._unused[size] = pieces
        unused = sum(size * len(pieces) for size, pieces in list(self._unused.items()))
        while unused > self._limit and self._unused:
            oldest = next(iter(self._unused))
            unused -= oldest * len(self._unused.pop(oldest, ()))


RESULTS = Memory()
"""The pool of all kernels."""
