"""No function costs more operations than it did: see `counts.py`, and `python -m tests.trace.counts --write`."""

from __future__ import annotations

import pytest
from counts import LARGE, LARGE_SETS, SETS, SMALL, SMALL_SETS, cases, counts, known, label, load

from fallingcat.functions import BEHIND, FUNCTIONS

HOW = "write the new counts down with: python -m tests.trace.counts --write"


def check(name: str) -> None:
    found, before = counts(name), known()[name]
    assert set(found) == set(before), HOW
    rose = {key: f"{before[key]} -> {n}" for key, n in found.items() if n > before[key]}
    assert not rose, f"operations of {name} rose: {rose}; if this must be, {HOW}"
    fell = {key: f"{before[key]} -> {n}" for key, n in found.items() if n < before[key]}
    assert not fell, f"operations of {name} fell: {fell}; {HOW}"


@pytest.mark.parametrize("name", [*SMALL, *SMALL_SETS])
def test_small_robots(name: str) -> None:
    check(name)


@pytest.mark.sweep
@pytest.mark.parametrize("name", [*LARGE, *LARGE_SETS])
def test_large_robots(name: str) -> None:
    check(name)


def test_every_function_is_counted() -> None:
    model = load(SMALL[0])
    assert {name for name, _ in cases(model)} == set(FUNCTIONS | BEHIND)
    labels = [label(name, options) for name, options in cases(model)]
    assert len(labels) == len(set(labels))
    assert set(known()) == {*SMALL, *LARGE, *SETS}
