"""Other generalized coordinates or speeds for the equations of motion (paper 001, Sec. 3.3; paper 004, Lemma 3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.errors import InputError

Array = NDArray[np.float64]


class EquationsOfMotion(NamedTuple):
    """M dnu + C nu + g = tau."""

    M: Array
    """(..., nv, nv)"""
    C: Array
    """(..., nv, nv), with M_rate - 2 C skew."""
    g: Array
    """(..., nv)"""


def change_coordinates(M: ArrayLike, C: ArrayLike, g: ArrayLike, A: ArrayLike, A_rate: ArrayLike) -> EquationsOfMotion:
    """M, C, g for new velocities w, where nu = A w (paper 001, eq. 32-34):

        A^T M A,   A^T C A + A^T M A_rate,   A^T g;   forces change as A^T tau (35).

    A (..., nv, k) is dq/dqbar for new coordinates (31), or d nu/d w for generalized speeds (Remark 4); A_rate is its
    rate along the motion. A C with M_rate - 2 C skew stays one (Prop. 3), the Christoffel-consistent C stays the
    Christoffel-consistent one (Theorem 1). With fewer columns than rows A restricts the motion to nu = A w.
    """
    values = {"M": M, "C": C, "g": g, "A": A, "A_rate": A_rate}
    arrays = {name: np.asarray(value, dtype=float) for name, value in values.items()}
    size = arrays["g"].shape[-1] if arrays["g"].ndim else 0
    k = arrays["A"].shape[-1] if arrays["A"].ndim >= 2 else size
    shapes: dict[str, tuple[int, ...]] = {"M": (size, size), "C": (size, size), "g": (size,), "A": (size, k), "A_rate": (size, k)}
    for name, shape in shapes.items():
        _check(name, arrays[name], shape)
    At = np.swapaxes(arrays["A"], -1, -2)
    AtM = At @ arrays["M"]
    C_new = At @ arrays["C"] @ arrays["A"] + AtM @ arrays["A_rate"]
    return EquationsOfMotion(AtM @ arrays["A"], C_new, (At @ arrays["g"][..., None])[..., 0])


def _check(name: str, value: Any, shape: tuple[int, ...]) -> None:
    if value.shape[-len(shape) :] != shape:
        expected = "(..., " + ", ".join(map(str, shape)) + ")"
        raise InputError(f"change_coordinates: {name} does not fit", expected=expected, got=f"shape {value.shape}")
