"""Writes the results of a paper: its numbers and its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from fallingcat.apps import bench as benchmark
from fallingcat.apps import figures
from fallingcat.apps.files import show_written
from fallingcat.apps.papers import NUMBERS, Check, write_numbers


def write(
    console: Console, out: Path, found: dict[str, Any], checks: Sequence[Check], draw: Callable[[], Sequence[Path]]
) -> None:
    """Write what was found, with versions and checks, draw the figures if matplotlib is there, and say where all of it is."""
    numbers = {"versions": benchmark.versions(), **found, "checks": [check.as_json() for check in checks]}
    written = [write_numbers(out / NUMBERS, numbers)]
    if figures.available():
        written += draw()
    show_written(console, written)
