"""Arguments of real numbers which, inside a function that is traced by `fc.compile`, may contain symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.arrays.arguments import real_array, refuse_masked
from fallingcat.arrays.non_numpy import refuse_non_numpy
from fallingcat.trace.arrays import mixed, real


def real_or_symbols(name: str, value: Any) -> NDArray[Any]:
    """The argument as an array of float64, or of objects if it contains a symbol; others are refused as by `real_array`."""
    if type(value) is not np.ndarray:
        refuse_non_numpy("", name, value)
        refuse_masked(name, value)
    try:
        found = mixed(value)
    except OverflowError:  # integers too large for a float
        found = None
    return real_array(name, value) if found is None else real(found)
