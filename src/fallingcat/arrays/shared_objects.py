"""Objects that the tasks of a graph share: each process unpickles one once, and caches it for the next graph.

A robot that is received twice is the one in the cache, with its compiled code. A scheduler passes on the bytes and builds no
robots.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import Any

from fallingcat.errors import InputError

KEPT = 16
"""Largest number of objects in the cache of a process; the oldest is dropped."""

_cached: OrderedDict[str, Any] = OrderedDict()


class SharedObject:
    """An object under a token that identifies its content, unpickled where it is needed."""

    __slots__ = ("_content", "_value", "token", "version")

    def __init__(self, token: str, value: Any, version: str, content: bytes = b"") -> None:
        self.token, self.version = token, version
        self._value, self._content = value, content

    @property
    def value(self) -> Any:
        """The object itself, unpickled or from the cache of this process."""
        if self._value is None:
            self._value = _received(self.token, self.version, self._content)
        return self._value

    def __dask_tokenize__(self) -> Any:
        return self.token

    def __reduce__(self) -> Any:
        if not self._content:
            import cloudpickle  # comes with Dask, and pickles functions that are defined in a notebook

            self._content = cloudpickle.dumps(self._value)
        return SharedObject, (self.token, None, self.version, self._content)


def _received(token: str, version: str, content: bytes) -> Any:
    from fallingcat import __version__

    if version != __version__:
        raise InputError(
            "this worker has another version of fallingcat than the program that asks", expected=version, got=__version__,
            hint="install the same version on all workers: results would not be the same to the last bit",
        )  # fmt: skip
    value = _cached.get(token)
    if value is None:
        value = _cached.setdefault(token, pickle.loads(content))
        while len(_cached) > KEPT:
            _cached.popitem(last=False)
    return value


def identity(shared: SharedObject) -> SharedObject:
    """The Dask task that returns the object: the tasks that depend on it share one copy per process."""
    return shared
