"""The papers behind the library, reproduced: one module each, with their tables, figures and corrections.

A module has `TITLE`, and `run(console, out, quick)` that prints what it finds, draws its figures into the folder `out`, writes
its numbers there as `numbers.json` (both by `output.write`), and returns its checks. To add a paper, write the module and one row
in `PAPERS`, and say in `claims.py` what the paper prints beside which of the numbers. `errata.toml` has what papers get wrong.
"""

from __future__ import annotations

import importlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from rich.console import Console

PAPERS = {"000": "paper000", "001": "paper001", "002": "paper002", "003": "paper003", "004": "paper004"}
"""Number of a paper -> its module."""
NUMBERS = "numbers.json"
"""The file that a paper writes its numbers to."""


@dataclass(frozen=True)
class Check:
    """A statement or an erratum of a paper, checked by a number that was computed in this run."""

    what: str
    value: float
    bound: float
    at_least: bool = False
    """The bound is a lower one."""

    @property
    def passed(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def as_json(self) -> dict[str, Any]:
        """In plain types, with the verdict."""
        return asdict(self) | {"passed": self.passed}


@dataclass(frozen=True)
class Measured:
    """The errors of a formula as printed and as corrected, in this run."""

    number: str
    """The number of the erratum in `errata.toml`; empty if the printed formula is right."""
    where: str
    printed: float | None
    """The error as printed; None if the printed formula does not have the right shape, or is right."""
    corrected: float


class Paper(Protocol):
    """What a module of this folder offers."""

    TITLE: str

    def run(self, console: Console, out: Path, quick: bool = False) -> list[Check]: ...


def paper(number: str) -> Paper:
    """The module of a paper."""
    return cast(Paper, importlib.import_module(f"fallingcat.apps.papers.{PAPERS[number]}"))


def write_numbers(path: Path, found: dict[str, Any]) -> Path:
    """`numbers.json`, whole or not at all."""
    from fallingcat.apps import view

    return view.write(path, json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False))
