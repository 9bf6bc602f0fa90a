"""Did you mean: the nearest known names, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from fallingcat.text import printable


def closest(name: object, known: Iterable[str]) -> str:
    """A phrase that offers the names nearest to a wrong one."""
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    if near:
        return "did you mean " + " or ".join(repr(n) for n in near) + "?"
    if not names:
        return "there are none"
    shown = ", ".join(map(printable, names[:6])) + (", ..." if len(names) > 6 else "")
    return f"there are: {shown}"
