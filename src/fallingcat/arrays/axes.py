"""The common batch axes of arguments."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fallingcat.errors import InputError

MAX_AXES = 32 if int(np.__version__.partition(".")[0]) >= 2 else 28
"""Largest number of batch axes: NumPy broadcasts at most 32, and up to version 1 the axes of a result count among them."""


def common_axes(where: str, shapes: Mapping[str, tuple[int, ...]], core: int = 1) -> tuple[int, ...]:
    """The common batch shape of named arguments whose last `core` axes are core axes; an error names those that do not fit."""
    for name, shape in shapes.items():
        if len(shape) - core > MAX_AXES:
            raise InputError(
                f"{where}: {name} has too many batch axes", expected=f"at most {MAX_AXES}", got=str(len(shape) - core),
                hint="reshape the states into fewer axes",
            )  # fmt: skip
    leading = {shape[: len(shape) - core] for shape in shapes.values()}
    try:
        return leading.pop() if len(leading) == 1 else np.broadcast_shapes(*leading)
    except ValueError:
        words = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(
            f"{where}: batch axes do not fit together", expected="leading axes that broadcast", got=words,
            hint="all axes but the last are batch axes" if core == 1 else "",
        ) from None  # fmt: skip
