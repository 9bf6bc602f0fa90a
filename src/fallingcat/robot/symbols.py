"""Arguments that hold real numbers, or inside a function that is traced (`fc.compile`) symbols beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.arrays.arguments import real_array, refuse_masked
from fallingcat.arrays.non_numpy import refuse_non_numpy
from fallingcat.trace.arrays import mixed, real


def real_or_symbols(name: str, value: Any) -> NDArray[Any]:
    """An array of float64, or of objects where there is a symbol in it; anything else is refused as `real_array` does."""
    if type(value) is not np.ndarray:
        refuse_non_numpy("", name, value)
        refuse_masked(name, value)
    try:
        found = mixed(value)
    except OverflowError:  # whole numbers beyond all floats
        found = None
    return real_array(name, value) if found is None else real(found)
