"""Figures: one style for all papers, and matplotlib only where a figure is drawn."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fallingcat import files
from fallingcat.errors import FallingCatError

MISSING = "the figures need matplotlib: pip install 'fallingcat[figures]'"

OURS, PEER, PAPER, QUIET = "#0b6e8f", "#e08a1e", "#9aa0a6", "#5f6368"
"""Colours: this library, Pinocchio, the numbers of a paper, and auxiliary lines."""
FAMILY = (OURS, "#c2452d", "#6a4c93", "#3a7d44")
"""Colours of curves that stand side by side."""

_STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e5e8",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "hatch.linewidth": 1.2,
    "figure.dpi": 100,
    "savefig.dpi": 150,
}


def available() -> bool:
    """Is matplotlib installed?"""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def drawing(
    path: Path, columns: int, width: float, height: float, widths: Sequence[float] | None = None, rows: int = 1
) -> Iterator[Any]:
    """A figure with axes side by side, row after row, written as PNG at the end; no window, no global state.

    Yields (figure, axes).
    """
    if not available():
        raise FallingCatError(MISSING)
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, gridspec_kw={"width_ratios": widths or [1] * columns})
        yield figure, list(axes.flat)
        _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    files.write(path, drawn.getvalue())
