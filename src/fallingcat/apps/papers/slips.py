"""Slips of the papers as runs measure them: how far off a formula is, as checks and in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.text import Text

from fallingcat.apps.console import STRONG, heading, table
from fallingcat.apps.papers import Check

Line = tuple[str, str | Text, str]
"""Where, a number, what."""


@dataclass(frozen=True)
class Slip:
    """Errors of a formula as printed and as corrected, relative to the largest entry (or to one); the largest over all robots."""

    number: str
    """The number of the erratum in `errata.toml`."""
    where: str
    printed: float
    """The error as printed; infinite if the two sides do not have the same shape."""
    corrected: float
    what: str

    @property
    def line(self) -> Line:
        return self.where, Text(f"{self.printed:.2f} → {self.corrected:.0e}", style=STRONG), self.what


def slip_checks(slips: Sequence[Slip], bound: float) -> Iterator[Check]:
    """What is printed is wrong, and what is corrected holds to the bound."""
    for slip in slips:
        if np.isfinite(slip.printed):
            yield Check(f"{slip.where} as printed is wrong", slip.printed, 0.05, at_least=True)
        yield Check(f"{slip.where} corrected", slip.corrected, bound)


def show_slips(
    console: Console, lines: Iterable[Line], note: str = "as printed → corrected, relative to the largest entry"
) -> None:
    """A table of slips, each with a number of this run or a word."""
    heading(console, "What the paper gets wrong", note)
    t = table("where", "number", "what")
    t.columns[2].no_wrap = False
    for line in lines:
        t.add_row(*line)
    console.print(t)
