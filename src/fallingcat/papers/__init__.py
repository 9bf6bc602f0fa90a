"""The papers behind the library, reproduced: one module each, with their tables, figures and corrections.

A module has `TITLE`, and `run(console, out, quick)` that prints what it finds, draws its figures into the folder `out`
and returns its checks. To add a paper, write the module and one row in `PAPERS`.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from rich.console import Console

PAPERS = {"000": "paper000", "001": "paper001", "002": "paper002", "004": "paper004"}
"""Number of a paper -> its module."""


@dataclass(frozen=True)
class Check:
    """Something a paper says, or gets wrong, as a number that was computed in this run."""

    what: str
    value: float
    bound: float
    at_least: bool = False
    """The bound is a lower one."""

    @property
    def passed(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound


class Paper(Protocol):
    """What a module of this folder offers."""

    TITLE: str

    def run(self, console: Console, out: Path, quick: bool = False) -> list[Check]: ...


def paper(number: str) -> Paper:
    """The module of a paper."""
    return cast(Paper, importlib.import_module(f"fallingcat.papers.{PAPERS[number]}"))
