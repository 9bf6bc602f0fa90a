"""The commands as in a pipe, whatever runs the tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest-xdist tells its workers a width."""
    monkeypatch.delenv("COLUMNS", raising=False)
