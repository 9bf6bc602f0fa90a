"""The commands as in a pipe, whatever runs the tests."""

from __future__ import annotations

import pytest
from terminals import TERMINAL

from fallingcat.apps.report import checks, timings


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest-xdist tells its workers a width."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in TERMINAL:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports that are quick: the library has its own tests of its identities."""
    monkeypatch.setattr(timings, "BUDGET", {"main": 1e-4, "all": 1e-4})
    monkeypatch.setattr(checks, "RANDOM_STATES", 1)
