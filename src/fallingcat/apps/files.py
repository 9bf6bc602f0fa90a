"""Files that commands write: the folder they go to, and a word in the terminal on where they are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from fallingcat.apps import figures
from fallingcat.apps.console import DOUBT, heading
from fallingcat.errors import InputError
from fallingcat.text import printable


def folder(name: str | Path) -> Path:
    """The folder of `--out`, made if need be; refused at once, not after all is computed."""
    path = Path(name)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write to {str(name)!r}", got=error.strerror or str(error), hint="choose another --out"
        ) from error
    return path


def show_written(console: Console, paths: Iterable[Path]) -> None:
    """List the files that were written, preceded by a hint on what figures need if there are none."""
    if not figures.available():
        console.print(Text(figures.MISSING, style=DOUBT))
    heading(console, "Written")
    for path in paths:
        console.print(Text(printable(str(path), limit=4096)), soft_wrap=True)
