"""Parameters that are spread over the runs: some in every run, all of them in the sweeps."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest


def one_in(count: int, *values: Iterable[Any]) -> list[Any]:
    """All combinations of values, of which the default run takes one in `count`, each value in turn; the others are sweeps."""
    numbered = product(*(list(enumerate(each)) for each in values))
    return [_spread(sum(k for k, _ in chosen) % count == 0, *(x for _, x in chosen)) for chosen in numbered]


def first(count: int, values: Iterable[Any]) -> list[Any]:
    """The default run takes the first ones; the others are sweeps."""
    return [_spread(k < count, x) for k, x in enumerate(values)]


def _spread(in_every_run: bool, *values: Any) -> Any:
    return pytest.param(*values, marks=[] if in_every_run else [pytest.mark.sweep])
