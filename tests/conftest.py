"""Shared fixtures. A conftest in this folder also puts it on the path, so that tests can `import trees`."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from hypothesis import Phase, settings

from fallingcat.trace import program

# tests/mutants asks only whether a test fails, not for the smallest example
PHASES = (Phase.explicit, Phase.generate) if "FALLINGCAT_MUTANTS" in os.environ else tuple(Phase)
settings.register_profile("fallingcat", derandomize=True, deadline=None, database=None, phases=PHASES)
settings.load_profile("fallingcat")

program.VERIFY_PASSES = True  # whatever a test traces is checked after every pass, not at the end only


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--attack-scale", type=float, default=1.0, help="times the cases that tests/attack runs (with -m sweep)")
    parser.addoption(
        "--budget", type=float, default=float("inf"), help="seconds after which no test begins any more: it is skipped"
    )


START = time.monotonic()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.monotonic() - START > item.config.getoption("--budget"):
        pytest.skip("no time is left of --budget")


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers in every run and for every test."""
    return np.random.default_rng(20240229)
