"""Objects that many tasks need: each process gets one once, and keeps it for the next graph.

A robot that arrives twice is the robot that is there already, with its code. A scheduler passes on what it gets and builds no
robots.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import Any

from fallingcat.errors import InputError

KEPT = 16
"""Objects that a process keeps after the tasks that they came with."""

_here: OrderedDict[str, Any] = OrderedDict()


class Sent:
    """Something under a name that says what it is: equal names, equal things."""

    __slots__ = ("_content", "_value", "token", "version")

    def __init__(self, token: str, value: Any, version: str, content: bytes = b"") -> None:
        self.token, self.version = token, version
        self._value, self._content = value, content

    @property
    def value(self) -> Any:
        """The object, in the process that asks."""
        if self._value is None:
            self._value = _arrived(self.token, self.version, self._content)
        return self._value

    def __dask_tokenize__(self) -> Any:
        return self.token

    def __reduce__(self) -> Any:
        if not self._content:
            import cloudpickle  # comes with Dask; functions of a notebook travel, too

            self._content = cloudpickle.dumps(self._value)
        return Sent, (self.token, None, self.version, self._content)


def _arrived(token: str, version: str, content: bytes) -> Any:
    from fallingcat import __version__

    if version != __version__:
        raise InputError(
            "this worker has another version of fallingcat than the program that asks", expected=version, got=__version__,
            hint="install the same version on all workers: results would not be the same to the last bit",
        )  # fmt: skip
    value = _here.get(token)
    if value is None:
        value = _here.setdefault(token, pickle.loads(content))
        while len(_here) > KEPT:
            _here.popitem(last=False)
    return value


def itself(sent: Sent) -> Sent:
    """The task that holds it: on a cluster the tasks that depend on it share one copy in each process."""
    return sent
