"""In the terminal: bars, tables and pictures that reports are drawn with.

Text from a robot's file is always `Text`, never markup, and control characters in it are escaped, so
that a name cannot garble the terminal. Into a pipe go the same characters without colour.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

Array = NDArray[np.float64]
Step = Callable[[str], None]
"""A callback that is told what is computed next."""

PIPE_WIDTH = 110
"""Width in columns if the output is no terminal and COLUMNS is not set."""

GOOD, BAD, DOUBT, QUIET, STRONG = "bold green", "bold red", "yellow", "dim", "bold"

# Shades from no coupling to full, and the colour of each.
_SHADES = (
    (0.0, "··", "grey50"),
    (0.1, "░░", "steel_blue"),
    (0.3, "▒▒", "dark_cyan"),
    (0.6, "▓▓", "dark_orange"),
    (2.0, "██", "orange_red1"),
)
SHADE_WORDS = ("0", "< 0.1", "< 0.3", "< 0.6", "to 1")

LARGEST_IN_NUMBERS = 12
"""Mass matrices up to this size are printed as numbers."""
MAX_CELLS = 44
"""Cells of a matrix picture per side at most; larger matrices are drawn in blocks."""


def stdout_console() -> Console:
    """Where reports go: as wide as the terminal, colourless in a pipe."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(highlight=False, width=width)


@contextmanager
def progress(total: int) -> Iterator[Step]:
    """A progress bar on stderr, removed at the end; none unless stdout and stderr are terminals."""
    if not (sys.stderr.isatty() and sys.stdout.isatty()):
        yield lambda what: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), BarColumn(bar_width=30), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        def step(what: str) -> None:
            bar.update(task, advance=1, description=what)

        yield step


def heading(console: Console, title: str, note: str = "") -> None:
    """A line that opens a section."""
    console.print()
    console.print(Text.assemble((title, "bold cyan"), ("  " + note if note else "", QUIET)))


def bar(share: float, width: int = 20) -> str:
    """A horizontal bar for a share of one, to an eighth of a character."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def number(x: float, digits: int = 4) -> str:
    """A number in few characters; zero is `0`."""
    return f"{x:.{digits}g}" if x else "0"


def table(*headers: str, right: Sequence[int] = ()) -> Table:
    """A table without lines; the columns named in `right` are aligned to the right."""
    t = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=QUIET)
    for k, header in enumerate(headers):
        t.add_column(header, justify="right" if k in right else "left", no_wrap=True, overflow="ellipsis")
    return t


LEAST = 12
"""The least width of a column, unless the table does not fit otherwise."""


def widths_of(lines: Sequence[dict[str, Text]]) -> dict[str, int]:
    """The widths of the columns of a table without wrapping."""
    return {name: max(len(name), *(line[name].cell_len for line in lines)) for name in lines[0]}


def fitted(
    lines: Sequence[dict[str, Text]], width: int, right: Sequence[str] = (), fold: Sequence[str] = (), drop: Sequence[str] = ()
) -> Table:
    """A table that fits, with nothing cut: first columns in `drop` are left out, then those in `fold` go on in the next line,
    then all others.

    Every line has one text for each column; the order of its keys is that of the columns.
    """
    widths = widths_of(lines)

    def excess() -> int:
        return sum(size + 2 for size in widths.values()) - width

    for name in drop:
        if excess() > 0:
            widths.pop(name, None)
    for least, foldable in ((LEAST, fold), (LEAST, tuple(widths)), (1, fold), (1, tuple(widths))):
        while excess() > 0 and (wide := [name for name in foldable if widths.get(name, 0) > least]):
            widths[max(wide, key=widths.__getitem__)] -= 1
    t = table(*widths, right=[k for k, name in enumerate(widths) if name in right])
    for column, size in zip(t.columns, widths.values(), strict=True):
        column.width, column.no_wrap, column.overflow = size, False, "fold"
    for line in lines:
        t.add_row(*(line[name] for name in widths))
    return t


def facts(pairs: Sequence[tuple[str, Any]]) -> Table:
    """Names and values, one pair a line."""
    t = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    t.add_column(style=QUIET, no_wrap=True)
    t.add_column(overflow="fold")
    for name, value in pairs:
        t.add_row(name, value if isinstance(value, Text) else Text(str(value)))
    return t


def number_matrix(M: Array, labels: Sequence[str]) -> Table:
    """A matrix as numbers, with a label to each row."""
    t = table("", "", *(str(k) for k in range(len(M))), right=range(2, len(M) + 2))
    for k, row in enumerate(M):
        cells = (
            Text("·", style=QUIET) if x == 0.0 else Text(f"{x:.3g}", style=STRONG if m == k else "") for m, x in enumerate(row)
        )
        t.add_row(Text(str(k), style=QUIET), Text(labels[k]), *cells)
    return t


def number_matrix_width(M: Array, labels: Sequence[str]) -> int:
    """Columns that `number_matrix` takes."""
    widths = [max(len(f"{x:.3g}") for x in column) + 2 for column in M.T]
    return 4 + max(map(len, labels)) + 2 + sum(widths)


def blocks(C: Array, most: int = MAX_CELLS) -> tuple[Array, int]:
    """The matrix with at most `most` rows, each cell the largest entry of a square block, and the side of the blocks."""
    side = -(-len(C) // most) if len(C) else 1
    cells = -(-len(C) // side)
    padded = np.zeros((cells * side, cells * side))
    padded[: len(C), : len(C)] = C
    return padded.reshape(cells, side, cells, side).max(axis=(1, 3)), side


def shaded_matrix(C: Array, labels: Sequence[str], width: int) -> Text:
    """A picture of a matrix with entries from 0 to 1, one shaded cell an entry (or block of entries), within a width."""
    room = width - max(map(len, labels)) - 2
    cell = 2 if 2 * min(len(C), MAX_CELLS) <= room else 1
    if len(C) <= min(MAX_CELLS, room // cell):
        cells, names = C, list(labels)
    else:
        cells, side = blocks(C, max(1, min(MAX_CELLS, (width - 2 * len(str(len(C))) - 3) // cell)))
        names = [f"{k * side}-{min((k + 1) * side, len(C)) - 1}" for k in range(len(cells))]
    edge = max(map(len, names))
    picture = Text(no_wrap=True)
    for k, row in enumerate(cells):
        picture.append("\n" if k else "")
        picture.append(f"{names[k]:>{edge}}  ", style=QUIET)
        for x in row:
            _, shade, style = next(s for s in _SHADES if x <= s[0])
            picture.append(shade[:cell], style=style)
    return picture


def shade_legend() -> Text:
    """What the shades of `shaded_matrix` mean."""
    legend = Text()
    for (_, shade, style), words in zip(_SHADES, SHADE_WORDS, strict=True):
        legend.append(shade, style=style)
        legend.append(f" {words}   ", style=QUIET)
    return legend
