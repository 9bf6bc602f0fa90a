"""Paper 001: Echeandia and Wensing, Numerical methods to compute the Coriolis matrix and Christoffel symbols (2021).

Tables 1 to 3 and Figures 3 to 5 on mechanisms like the paper's, with the exponents of the growth beside the theory's, and the
paper's slips with the numbers that show them. `docs/papers/001.md` explains the method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from fallingcat.apps import figures
from fallingcat.apps.console import QUIET, STRONG, heading, progress, table
from fallingcat.apps.papers import Check, Measured, output
from fallingcat.apps.papers import paper001_numbers as N
from fallingcat.apps.papers.paper001_errata import measured_slips
from fallingcat.apps.papers.paper001_numbers import (
    BIPED,
    BRANCHED,
    MECHANISMS,
    QUADRUPED,
    SERIAL,
    SIZES_1,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    C,
    G,
    Growth,
    Symbolic,
)  # fmt: skip
from fallingcat.apps.papers.slips import Slip, show_slips, slip_checks

TITLE = "Echeandia and Wensing, Numerical methods to compute the Coriolis matrix and Christoffel symbols (2021)"

LADDER, LIMBS = (5, 10, 20, 30, 40, 60, 80, 100), (8, 12, 20, 32, 48)
FULL = {SERIAL: LADDER, BRANCHED: LADDER, BIPED: LIMBS, QUADRUPED: LIMBS}
QUICK = {SERIAL: LADDER[:6], BRANCHED: LADDER[:6], BIPED: LIMBS[:4], QUADRUPED: LIMBS[:4]}
"""Sizes whose times are measured."""
COUNTED = {SERIAL: LADDER, BRANCHED: LADDER}
COUNTED_QUICKLY = {SERIAL: (5, 20, 60, 70, 80, 90, 100), BRANCHED: (5, 20, 30, 40, 50, 60)}
"""Sizes whose operations are counted."""


def run(console: Console, out: Path, quick: bool = False) -> list[Check]:
    """Reproduce the paper."""
    sizes, counted, budget = (QUICK, COUNTED_QUICKLY, 0.01) if quick else (FULL, COUNTED, 0.25)
    steps = sum(map(len, sizes.values())) + sum(map(len, counted.values())) + 3 * len(SIZES_1) + 5
    with progress(steps) as step:
        errors = N.validity(step)
        grown = [N.growth(m, sizes[m], counted.get(m, ()), budget, step) for m in MECHANISMS]
        found = {(m.name, n): N.symbolic(m, n, step) for m in (BRANCHED, SERIAL) for n in SIZES_1[: 2 if quick else 3]}
        slips = measured_slips(step)
        checks = [*N.validity_checks(errors), *N.growth_checks(grown), *N.time_checks(grown)]
        worst = max(off for _, off in found.values())
        checks += [Check("symbolic: both ways to the symbols agree", worst, 1e-12), *slip_checks(slips, 1e-12)]

    symbolic = {key: ways for key, (ways, _) in found.items()}
    _show_validity(console, errors)
    _show_times(console, grown)
    _show_growth(console, grown)
    _show_symbolic(console, symbolic)
    _show_errata(console, slips)

    output.write(
        console, out, _numbers(errors, grown, symbolic, slips), checks,
        lambda: [
            _growth_figure(out / "figure3.png", "serial chain", grown[0]),
            _growth_figure(out / "figure4.png", "branching factor two", grown[1]),
            _limbs_figure(out / "figure5.png", grown[2:]),
        ],
    )  # fmt: skip
    return checks


def _numbers(errors: Any, grown: Sequence[Growth], symbolic: Any, slips: Sequence[Slip]) -> dict[str, Any]:
    return {
        "validity": errors,
        "growth": {
            g.mechanism.name: {"sizes": g.sizes, "microseconds": g.times, "microseconds of what is not zero": g.packed,
                               "counted": g.counted, "operations": g.operations, "exponents": _exponents(g),
                               "exponents of times": _exponents_of_times(g)}
            for g in grown
        },
        "symbolic": {f"{name}, {n}": {way: asdict(s) for way, s in ways.items()} for (name, n), ways in symbolic.items()},
        "errata": [asdict(Measured(s.number, s.where, s.printed, s.corrected)) for s in slips],
    }  # fmt: skip


def _exponents(g: Growth) -> dict[str, tuple[float, float]]:
    """Of the operations and of the theory, for mechanisms whose operations are counted."""
    return {what: g.exponent(what, g.counted, g.operations[what], g.mechanism.large) for what in (C, G) if g.counted}


def _exponents_of_times(g: Growth) -> dict[str, tuple[float, float]]:
    """The same of the times, and of the theory over the sizes that were timed."""
    return {what: g.exponent(what, g.sizes, g.work(what), N.LARGE) for what in (C, G) if g.counted}


# ---------------------------------------------------------------------------------------------------------------------
# In the terminal


def _show_validity(console: Console, errors: dict[str, list[float]]) -> None:
    heading(console, "Table 1", "largest error on serial chains of 5 / 10 / 15 bodies, over 20 random states")
    t = table("", "fallingcat", "paper")
    for name, values in errors.items():
        cells = [" / ".join(f"{x:.1e}" for x in row) for row in (values, TABLE_1.get(name, ()))]
        t.add_row(name, Text(cells[0], style=STRONG), cells[1])
    console.print(t)


def _show_times(console: Console, grown: Sequence[Growth]) -> None:
    heading(console, "Table 2", "microseconds of one call from Python; 20 joints, bipeds and quadrupeds on a floating base")
    t = table("", "C", "paper", "Γ", "paper", right=(1, 2, 3, 4))
    for g in grown:
        name, times = g.mechanism.name, g.at(20)
        matrix, symbols = TABLE_2[name]
        t.add_row(
            name, Text(f"{times[C]:.1f}", style=STRONG), f"{matrix:.0f}", Text(f"{times[G]:.1f}", style=STRONG), f"{symbols:.0f}"
        )
    console.print(t)


def _show_growth(console: Console, grown: Sequence[Growth]) -> None:
    note = "slopes in log-log plots; of N d and N d² over the same sizes"
    heading(console, "Figures 3 and 4, exponents", note)
    t = table("", "", "theory", "its slope", "operations", "time", right=(3, 4, 5))
    for g in grown:
        if not g.counted:
            continue
        for what, limit in zip((C, G), g.mechanism.growth, strict=True):
            fitted, theory = g.exponent(what, g.counted, g.operations[what], g.mechanism.large)
            slope = f"{g.exponent(what, g.sizes, g.work(what), N.LARGE)[0]:.2f}"
            t.add_row(
                g.mechanism.name, what, limit, f"{theory:.2f}", Text(f"{fitted:.2f}", style=STRONG), Text(slope, style=STRONG)
            )
    console.print(t)
    words = "The time of the branched Γ is that of the symbols that are not zero; clearing the N³ array around them comes on top."
    console.print(Text(words, style=QUIET))


def _show_symbolic(console: Console, symbolic: dict[tuple[str, int], dict[str, Symbolic]]) -> None:
    heading(console, "Table 3", "the symbols on symbols: planar mechanisms of 5 / 10 / 15 bodies, subexpressions shared")
    t = table("", "", "operations", "seconds", "paper (MATLAB)", right=(2, 3, 4))
    for name in dict.fromkeys(name for name, _ in symbolic):
        for way in (N.PARTIALS, N.ALGORITHM_2, N.TABLES):
            each = [symbolic[name, n][way] for n in SIZES_1 if (name, n) in symbolic]
            paper = " / ".join(f"{x:g}" for x in TABLE_3.get(way, ())) if name == BRANCHED.name else ""
            if name == SERIAL.name and way == N.ALGORITHM_2:
                paper = f"{60 * N.SERIAL_MINUTES:.0f} for 10"
            counts, seconds = (
                " / ".join(x) for x in zip(*((f"{s.operations:,}", f"{s.seconds:.2f}") for s in each), strict=True)
            )
            t.add_row(name, way, counts, Text(seconds, style=STRONG), paper)
    console.print(t)


def _show_errata(console: Console, slips: Sequence[Slip]) -> None:
    chain = " and ".join(f"{x:.0f}" for x in TABLE_2["serial chain"])
    lines = (
        ("Alg. 1, line 14", "", "`while i > 0` reads the axes of the world; it has to stop at p(i) = 0."),
        ("(31)", "", "Aᵢⱼ = ∂qᵢ/∂q̄ⱼ."),
        ("Sec. 6", f"{chain} µs", "are the times of the serial chain in Table 2, not of the biped."),
    )
    show_slips(console, [*(slip.line for slip in slips), *lines])


# ---------------------------------------------------------------------------------------------------------------------
# Figures

COLORS = {C: figures.FAMILY[0], G: figures.FAMILY[1]}


def _growth_figure(path: Path, title: str, g: Growth) -> Path:
    """Figures 3 and 4: times with a fitted line each and the paper's numbers for 20 joints, and operations."""
    with figures.drawing(path, 2, 11.0, 4.6) as (_, (left, right)):
        for what, name in ((C, "C"), (G, "Γ, what is not zero" if g.packed else "Γ")):
            left.loglog(g.sizes, g.work(what), "o-", color=COLORS[what], markersize=5, label=name)
            if sum(n >= N.LARGE for n in g.sizes) > 2:
                _fit(left, g.sizes, g.work(what), g.exponent(what, g.sizes, g.work(what), N.LARGE)[0], COLORS[what])
        if g.packed:
            left.loglog(g.sizes, g.times[G], "s:", color=figures.FAMILY[2], markersize=4, label="Γ, in an array of N³")
        for what, value in zip((C, G), TABLE_2[g.mechanism.name], strict=True):
            left.plot(20, value, "*", color=COLORS[what], markersize=13, markeredgecolor="white", label=f"{what}, paper (2021)")
        left.set_ylabel("microseconds, one call")
        left.set_title(f"(a) time, {title}", loc="left")
        for what, limit in zip((C, G), g.mechanism.growth, strict=True):
            counts = g.operations[what]
            right.loglog(g.counted, counts, "o-", color=COLORS[what], markersize=5, label=what)
            _fit(right, g.counted, counts, g.exponent(what, g.counted, counts, g.mechanism.large)[0], COLORS[what])
            terms = np.array([g.mechanism.terms(n)[what] for n in g.counted], dtype=float)
            scaled = terms * counts[-1] / terms[-1]
            right.loglog(g.counted, scaled, "--", color=figures.PAPER, linewidth=1.2, label=f"theory, {limit}")
        right.set_ylabel("operations")
        right.set_title("(b) operations", loc="left")
        for ax, sizes in ((left, g.sizes), (right, g.counted)):
            _finish(ax, sizes)
    return path


def _fit(ax: Any, sizes: Sequence[int], values: Sequence[float], exponent: float, color: str) -> None:
    """The exponent, beside the last point."""
    words = f"$N^{{{exponent:.2f}}}$"
    ax.annotate(words, (sizes[-1], values[-1]), (7, -3), textcoords="offset points", color=color, annotation_clip=False)


def _finish(ax: Any, sizes: Sequence[int]) -> None:
    ax.set_xlabel("joints")
    shown = [n for n in sizes if n not in (30, 80)]
    ax.set_xticks(shown, [str(n) for n in shown])
    ax.minorticks_off()
    ax.margins(x=0.12)
    ax.legend(fontsize=8.5, loc="upper left")


def _limbs_figure(path: Path, grown: Sequence[Growth]) -> Path:
    """Figure 5: bipeds and quadrupeds."""
    with figures.drawing(path, 2, 11.0, 4.6) as (_, axes):
        panels = zip(axes, ((C, "(a) Coriolis matrix"), (G, "(b) Christoffel symbols")), strict=True)
        for column, (ax, (what, title)) in enumerate(panels):
            for color, g in zip(figures.FAMILY[1:], grown, strict=False):
                name = g.mechanism.name
                ax.plot(g.sizes, g.times[what], "o-", color=color, markersize=5, label=name)
                paper = TABLE_2[name][column]
                ax.plot(20, paper, "*", color=color, markersize=13, markeredgecolor="white", label=f"{name}, paper (2021)")
            ax.set_title(title, loc="left")
            ax.set_ylabel("microseconds, one call")
            ax.set_xlabel("joints, beside the floating base")
            ax.set_xticks(grown[0].sizes)
            ax.set_ylim(0.0, 1.4 * ax.get_ylim()[1])
            ax.legend(fontsize=8.5, loc="upper left")
    return path
