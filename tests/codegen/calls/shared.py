"""What the tests of calls share: a refusal with its words, and a task with two results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import fallingcat as fc
from fallingcat.task import Input, Output, Task
from trees import Array


def refused(call: Callable[[], Any], *words: str) -> None:
    """The call raises an InputError that has these words in it."""
    with pytest.raises(fc.InputError) as caught:
        call()
    for word in words:
        assert word in str(caught.value), str(caught.value)


class Pair(NamedTuple):
    total: Array
    number: float


PAIR = Task(
    "pair", (Input("x", 3), Input("y", 3)), (Output("total", (3,)), Output("number", ())),
    lambda x, y: Pair([a + b for a, b in zip(x, y, strict=True)], x[0] * y[0]), results=Pair,
)  # fmt: skip
