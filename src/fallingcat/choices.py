"""Checks of options that are words or booleans, and of a floating base, with the same error messages everywhere."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from fallingcat.errors import InputError
from fallingcat.text import shown

REPRESENTATIONS = ("body", "mixed", "inertial")
"""Representations of a twist (paper 004, eq. 10)."""
NO_HASH = (TypeError, ValueError)
"""What hashing raises for a value that cannot be looked up: an array, a list, a memory view that can be written to."""
GROUPS = ("product", "tangent")
"""Groups of states: velocities simply add (paper 000, eq. 17), or they are transformed by the displacement of q."""


def check_choice(name: str, value: Any, known: Collection[str]) -> None:
    """Refuse a value that is not one of the known words; also arrays, whose comparison with a word is an array."""
    if not isinstance(value, str) or value not in known:
        words = [repr(word) for word in known]
        raise InputError(f"unknown {name}", expected=f"{', '.join(words[:-1])} or {words[-1]}", got=shown(value))


def check_representation(value: Any) -> None:
    """Refuse a value that is no representation of a twist."""
    check_choice("representation", value, REPRESENTATIONS)


def check_truth(name: str, value: Any) -> None:
    """Refuse a value that is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is not a boolean", expected="True or False", got=shown(value))


def check_floating(who: str, floating: bool) -> None:
    """Refuse a robot with a fixed base."""
    if not floating:
        raise InputError(f"{who} needs a floating base", got="a fixed base", hint="load with floating=True")


def several_names(option: str, value: Any) -> tuple[str, ...]:
    """The names in a sequence, as a tuple; a single string is refused, as it would be taken for a sequence of letters."""
    try:
        if not isinstance(value, str):
            return tuple(value)
        hint = f"{option}=[{shown(value)}]"
    except TypeError:
        hint = ""
    raise InputError(f"{option} does not fit", expected="a sequence of names", got=shown(value), hint=hint)
