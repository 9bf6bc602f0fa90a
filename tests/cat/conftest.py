"""The cat, its plan and its fall, made once for all tests here."""

from __future__ import annotations

import pytest

import fallingcat as fc
from fallingcat.apps.cat import Fall, Plan, drop, plan


@pytest.fixture(scope="session")
def cat() -> fc.Robot:
    return fc.load("cat")


@pytest.fixture(scope="session")
def found(cat: fc.Robot) -> Plan:
    return plan(cat)


@pytest.fixture(scope="session")
def fall(cat: fc.Robot, found: Plan) -> Fall:
    return drop(cat, found.gait, 1.25)
