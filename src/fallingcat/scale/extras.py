"""Packages that files and clusters need, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from fallingcat.errors import FallingCatError


def need(module: str, what: str) -> Any:
    """Import a module; if it is missing, the error says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise FallingCatError(f"{what} needs {module.partition('.')[0]}: pip install 'fallingcat[dask]'") from None
