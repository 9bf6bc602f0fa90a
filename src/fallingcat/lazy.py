"""Attributes computed when first asked for, without a lock: that of Python 3.11's `functools.cached_property` outlives a fork
with no thread left to release it. Two threads may compute the same value; both get an equal one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801
    """A property whose value is stored in the instance when it is first computed."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        if instance is None:
            return self  # type: ignore[return-value]
        value = self._function(instance)
        instance.__dict__[self._name] = value
        return value
