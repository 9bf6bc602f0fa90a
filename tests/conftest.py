"""Shared fixtures. A conftest in this folder also puts it on the path, so that tests can `import trees`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

from fallingcat.trace import program

settings.register_profile("fallingcat", derandomize=True, deadline=None, database=None)
settings.load_profile("fallingcat")

program.VERIFY_PASSES = True  # whatever a test traces is checked after every pass, not at the end only


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--attack-scale", type=float, default=1.0, help="times the cases that tests/attack runs (with -m sweep)")


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers in every run and for every test."""
    return np.random.default_rng(20240229)
