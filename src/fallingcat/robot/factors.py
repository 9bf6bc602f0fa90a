"""User-defined factors B(v, I) of the velocity products of one body (paper 001, Def. 4), and their checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fallingcat.algorithms.coriolis import FACTORS
from fallingcat.choices import check_choice
from fallingcat.errors import InputError
from fallingcat.spatial import Inertia, Motion
from fallingcat.text import shown

TOLERANCE = 1e-9
"""Largest difference of B(v, I) v from v x* (I v), relative to the largest entry, or to one."""


@dataclass(frozen=True)
class UserFactor:
    """A user-defined factor for algorithms: takes lists of any scalar, which it passes to the function as arrays of objects."""

    function: Callable[..., Any]

    def __call__(self, v: Sequence[Any], I: Sequence[Sequence[Any]]) -> list[list[Any]]:
        B = np.asarray(self.function(np.array(v, dtype=object), np.array(I, dtype=object)), dtype=object)
        if B.shape != (6, 6):
            raise InputError("factorization: B(v, I) does not fit", expected="a 6 x 6 matrix", got=f"shape {B.shape}")
        rows: list[list[Any]] = B.tolist()
        return rows


def checked_factorization(value: Any) -> Any:
    """The factorization: one of its names, or a function B(v, I) that was checked to be a factor of velocity products."""
    if isinstance(value, UserFactor):
        return value
    if not callable(value):
        check_choice("factorization", value, FACTORS)
        return value
    if type(value).__hash__ is None:  # it must be hashable, as a key of compiled functions
        raise InputError("factorization: B is not hashable", expected="a function", got=shown(value))
    return _checked_once(value)


@lru_cache(maxsize=256)
def _checked_once(function: Callable[..., Any]) -> UserFactor:
    """The factor of a user's function, checked once per function on three random bodies and twists."""
    factor, rng = UserFactor(function), np.random.default_rng(0)
    for _ in range(3):
        half, v = rng.normal(size=(3, 3)), Motion.of(rng.normal(size=6).tolist(), 0)
        moments = (half @ half.T)[np.triu_indices(3)]
        inertia = Inertia.from_com(rng.uniform(0.5, 2.0), tuple(rng.normal(size=3).tolist()), tuple(moments.tolist()), 0)
        _check_product(factor, v, inertia)
    return factor


def _check_product(factor: UserFactor, v: Motion, inertia: Inertia) -> None:
    expected = np.array(v.cross(inertia @ v).entries())
    try:
        found = np.array(factor(v.entries(), inertia.matrix()), dtype=np.float64) @ np.array(v.entries())
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError("factorization: B(v, I) does not fit", expected="a 6 x 6 matrix of numbers", got=str(error)) from error
    distance = float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))
    if not distance < TOLERANCE:
        raise InputError(
            "factorization: B(v, I) v is not the velocity product of a body",
            expected="v x* (I v), for every twist v and 6 x 6 inertia I, (linear; angular)",
            got=f"a difference of {distance:.1e}",
        )
