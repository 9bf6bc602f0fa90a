"""Packages that only some tests need: skipped where they are missing, an error where the environment promises them."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def extra(module: str) -> Any:
    """The module; without it the test is skipped, or fails where FALLINGCAT_CI names it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        if module.split(".")[0] in os.environ.get("FALLINGCAT_CI", "").split(","):
            raise
        pytest.skip(f"{module} is not installed", allow_module_level=True)
