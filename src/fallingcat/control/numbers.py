"""Checks of numbers that are options of iterations: tolerances and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from fallingcat.errors import InputError
from fallingcat.text import shown


def positive(where: str, name: str, value: Any) -> float:
    """A finite number above zero; `where` is the function that takes it."""
    if isinstance(value, (int, float, np.floating)) and 0.0 < value < np.inf:
        return float(value)
    raise InputError(f"{where}: {name} does not fit", expected="a positive number", got=shown(value))


def whole(where: str, name: str, value: Any) -> int:
    """A whole number, 1 or more."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1:
        return int(value)
    raise InputError(f"{where}: {name} does not fit", expected="a whole number, 1 or more", got=shown(value))
