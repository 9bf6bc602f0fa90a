"""Paper 002: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms (RSS 2018).

Table I and Figures 2 and 3 on robots of the same size as the paper's, with Pinocchio's times in the same run where it is
installed, and the paper's slips with the numbers that show them. `docs/papers/002.md` explains the method.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from fallingcat.apps import figures
from fallingcat.apps.console import QUIET, STRONG, fitted, heading, number, progress, table
from fallingcat.apps.papers import Check, Measured, output
from fallingcat.apps.papers import paper002_native as native
from fallingcat.apps.papers import paper002_numbers as N
from fallingcat.apps.papers.paper002_differences import STEPS, Rest, at_a_general_state, at_rest, rest_checks
from fallingcat.apps.papers.paper002_numbers import (
    CHOLESKY,
    DFD,
    DID,
    FD,
    FD_BATCH,
    FD_LOOP,
    ID,
    ID_BATCH,
    ID_LOOP,
    MINV,
    NUMPY,
    SUBJECTS,
    TABLE_1,
    Slips,
    Subject,
)  # fmt: skip
from fallingcat.apps.papers.slips import show_slips
from fallingcat.robot.robot import Robot, load

TITLE = "Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms (RSS 2018)"

Times = dict[str, float]


def run(console: Console, out: Path, quick: bool = False) -> list[Check]:
    """Reproduce the paper."""
    budget = 0.01 if quick else 0.25
    robots = {s.name: load(s.name, floating=s.floating) for s in SUBJECTS}
    with progress(len(SUBJECTS) * (len(TABLE_1) + 8) + 2 + len(native.REAL)) as step:
        through = {name: N.through_mass_matrix(robot, step) for name, robot in robots.items()}
        times = [N.measure(s, robots[s.name], through[s.name], budget, step) for s in SUBJECTS]
        peers = [N.measure_peer(s, budget, step) for s in SUBJECTS]
        counts = {name: N.operations(robot, through[name], step) for name, robot in robots.items()}
        growth = N.growth(step)
        compiled = [native.measure(real, budget, step, quick) for real in native.REAL]
        rest = {s.name: at_rest(s, step, compiled=not quick) for s in SUBJECTS}
        moving = at_a_general_state(robots["humanoid"], step)
        witnesses = {name: N.witness(robot, step) for name, robot in robots.items()}
        slips = {name: N.slips(robot, witnesses[name]) for name, robot in robots.items()}
        checks = [*N.exact(robots, witnesses), *N.inverse_checks(counts), *rest_checks(rest), *N.slip_checks(slips, growth)]
        checks += native.checks(compiled)

    for subject, ours, peer in zip(SUBJECTS, times, peers, strict=True):
        _show_times(console, subject, robots[subject.name], ours, peer, counts[subject.name])
    if not any(peers):
        console.print(Text("Pinocchio is not installed: pip install pin", style=QUIET))
    _show_ratios(console, times, peers, list(counts.values()))
    _show_native(console, compiled)
    _show_rest(console, rest)
    _show_errata(console, slips, rest, growth)

    robot_numbers = {
        s.name: {"dof": robots[s.name].nv, "ours": t, "pinocchio": p, "paper": s.times, "operations": counts[s.name]}
        for s, t, p in zip(SUBJECTS, times, peers, strict=True)
    }
    found = {
        "microseconds": robot_numbers,
        "compiled": {n.name: asdict(n) | {"differences / derivatives": _per(n)} for n in compiled},
        "operations of chains": growth,
        "at rest": {name: _rest_numbers(r) for name, r in rest.items()},
        "errata": [asdict(m) for m in _measured(slips, rest)],
    }
    output.write(
        console, out, found, checks,
        lambda: [_figure_2(times, peers, out / "figure2.png"), _figure_3(rest, moving, out / "figure3.png")],
    )  # fmt: skip
    return checks


def _per(n: native.Native) -> dict[str, Any]:
    """Ratios of Sec. V-A of one robot."""
    return {
        what: {"times": n.ratio(what), "operations": n.counted(what), "dual numbers / ours": n.automatic(what)}
        for what in native.AUTO
    }


def _rest_numbers(r: Rest) -> dict[str, float]:
    """The largest entries of what should be zero."""
    at = int(np.argmin(np.abs(np.log10(STEPS) + 8)))
    central = max(float(r.central[what].max()) for what in (ID, FD))
    return {"forward, h = 1e-8": float(r.forward[ID][at]), "central": central, "ours": r.ours, "off h Γ_jj": r.slope}


def _measured(slips: dict[str, Slips], rest: dict[str, Rest]) -> list[Measured]:
    """The errata that can be run, worst of all robots."""
    dropped, kept, sign, signed = (max(getattr(s, x) for s in slips.values()) for x in ("dropped", "kept", "sign", "signed"))
    return [
        Measured("2.1", "Sec. III-C5", dropped, kept),
        Measured("2.2", "(16b)", sign, signed),
        Measured("2.4", "Sec. V-B, Fig. 3", None, max(r.slope for r in rest.values())),
    ]


# ---------------------------------------------------------------------------------------------------------------------
# In the terminal


def _show_times(console: Console, subject: Subject, robot: Robot, ours: Times, peer: Times, counts: dict[str, int]) -> None:
    note = f"microseconds of one call from Python; {robot.nv} degrees of freedom, like the paper's {subject.like}"
    heading(console, f"Table I, {subject.name}", note)
    t = table("", "operations", "fallingcat", "Pinocchio", "paper (C++, 2018)", right=(1, 2, 3, 4))
    for name in (ID, DID, ID_LOOP, ID_BATCH, FD, DFD, FD_LOOP, FD_BATCH, MINV, CHOLESKY, NUMPY):
        cells = [f"{x[name]:.2f}" if name in x else "" for x in (ours, peer, subject.times)]
        t.add_row(name, f"{counts[name]:,}" if name in counts else "", Text(cells[0], style=STRONG), *cells[1:])
    console.print(t)


RATIOS = (
    ("derivatives of ID / ID", DID, ID, "3"),
    ("derivatives of FD / FD", DFD, FD, "at most 4 (*)"),
    ("M⁻¹: through M / dedicated", CHOLESKY, MINV, "up to 2"),
)


def _show_ratios(console: Console, times: list[Times], peers: list[Times], counts: list[dict[str, int]]) -> None:
    heading(console, "Ratios", "of times: " + " / ".join(s.name for s in SUBJECTS))
    lines = []
    for what, above, below, text in RATIOS:
        cells = [
            " / ".join(f"{x[above] / x[below]:.1f}" for x in source) if all(source) else ""
            for source in (times, peers, [s.times for s in SUBJECTS])
        ]
        line = {"": Text(what), "fallingcat": Text(cells[0], style=STRONG), "Pinocchio": Text(cells[1])}
        lines.append(line | {"paper's Table I": Text(cells[2]), "paper's text": Text(text, style=QUIET)})
    names = ("fallingcat", "Pinocchio", "paper's Table I")
    console.print(fitted(lines, console.width, right=names, drop=("paper's text", "Pinocchio")))
    console.print(Text("(*) The paper's text does not fit its own table.", style=QUIET))
    dedicated = " / ".join(f"{c[CHOLESKY] / c[MINV]:.1f}" for c in counts)
    console.print(Text(f"M⁻¹ in operations, through M / dedicated: {dedicated}. The dedicated algorithm pays on large robots."))


def _show_native(console: Console, found: list[native.Native]) -> None:
    """Sec. V-A1 and V-A2 with compiled code on both sides."""
    note = f"time of one state in a batch of {native.BATCH}, one thread: compiled code on both sides; in brackets, operations"
    heading(console, "Against differences and automatic differentiation", note)
    t = table(
        "", "dof", "differences / dID", "differences / dFD", "dual numbers / dID", "dual numbers / dFD", right=(1, 2, 3, 4, 5)
    )
    for n in found:
        cells = [(n.ratio(what), n.counted(what)) for what in native.AUTO] + [n.automatic(what) for what in native.AUTO]
        t.add_row(n.name, str(n.dof), *(f"{'' if x is None else f'{x:.1f} '}({y:.1f})" for x, y in cells))
    console.print(t)
    words = "Dual numbers run through the same source, all directions in one program, with common subexpressions shared."
    console.print(Text(words, style=QUIET))


def _show_rest(console: Console, rest: dict[str, Rest]) -> None:
    heading(console, "Figure 3", "largest entry of the derivatives with respect to ν, at rest without gravity: the truth is 0")
    t = table("", "forward, h = 1e-4", "forward, h = 1e-8", "central, any h", "fallingcat", right=(1, 2, 3, 4))
    at = [int(np.argmin(np.abs(np.log10(STEPS) - e))) for e in (-4, -8)]
    for name, r in rest.items():
        for what in (ID, FD):
            cells = [f"{r.forward[what][k]:.1e}" for k in at] + [number(float(r.central[what].max()), 2), number(r.ours, 2)]
            t.add_row(f"{name}, {what}", *cells[:-1], Text(cells[-1], style=STRONG))
    console.print(t)


def _show_errata(console: Console, slips: dict[str, Slips], rest: dict[str, Rest], growth: dict[str, list[int]]) -> None:
    """Slips of the paper, each with a number of this run."""
    dropped, kept = (max(getattr(s, part) for s in slips.values()) for part in ("dropped", "kept"))
    sign, signed = (max(getattr(s, part) for s in slips.values()) for part in ("sign", "signed"))
    paper = [s.times for s in SUBJECTS]
    ratio = [" / ".join(f"{t[a] / t[b]:.1f}" for t in paper) for a, b in ((ID_LOOP, DID), (DFD, FD))]
    chain, arms = (" → ".join(f"{x:,}" for x in growth[k]) for k in ("one chain", "arms of four joints"))
    lines = (
        ("Sec. III-C5", f"{dropped:.2f} → {kept:.0e}",
         "v × S is said to vanish. Only the joint's own part of v does; the parent's stays, and dID/dν needs it."),
        ("(16b)", f"{sign:.2f} → {signed:.0e}", "The sign is lost: dFD/dν = −M⁻¹ (∂C/∂ν ν + C)."),
        ("Sec. V-B, Fig. 3", f"{max(r.slope for r in rest.values()):.0e}",
         "Rounding is blamed for what is truncation: a forward difference at rest is h Γ_jj (the number: relative "
         "difference to that for all h from 1e-12 to 1), and a central one is 0."),
        ("Sec. V-A1, VI", ratio[0], "Finite differences / derivatives of ID in Table I; the text says 7 to 26, then about 40."),
        ("Sec. V-A1", ratio[1], "Derivatives of FD / FD in Table I; the text says at most 4."),
        ("Sec. VI", "O(N d)", "The cost is called linear in the bodies N. It is N times the depth d. Operations of dID for 8, "
         f"16, 32 joints: {chain} in one chain, {arms} in arms of four."),
    )  # fmt: skip
    show_slips(console, [(where, Text(value, style=STRONG), what) for where, value, what in lines])


# ---------------------------------------------------------------------------------------------------------------------
# Figures


def _figure_2(times: list[Times], peers: list[Times], path: Path) -> Path:
    """Times of derivatives and of the inverse mass matrix, logarithmic, as in the paper."""
    from matplotlib.patches import Patch

    sources = [("fallingcat", figures.OURS, times), ("Pinocchio", figures.PEER, peers)]
    sources.append(("paper (2018)", figures.PAPER, [s.times for s in SUBJECTS]))
    sources = [source for source in sources if all(source[2])]
    panels = (
        ("(a) derivatives of inverse dynamics", DID, ID_LOOP), ("(b) derivatives of forward dynamics", DFD, FD_LOOP),
        ("(c) inverse of the mass matrix", MINV, CHOLESKY),
    )  # fmt: skip
    width = 0.84 / (2 * len(sources))
    with figures.drawing(path, 3, 13.0, 4.6) as (figure, axes):
        for ax, (title, first, second) in zip(axes, panels, strict=True):
            for half, name in enumerate((first, second)):
                for k, (_, color, values) in enumerate(sources):
                    x = np.arange(len(SUBJECTS)) + (half * len(sources) + k - len(sources) + 0.5) * width + (half - 0.5) * 0.05
                    y = [v[name] for v in values]
                    face = {"color": color} if half == 0 else {"facecolor": "white", "edgecolor": color, "hatch": "////"}
                    ax.bar(x, y, width * 0.9, **face)
                    for a, b in zip(x, y, strict=True):
                        ax.annotate(
                            f"{b:.0f}" if b >= 10 else f"{b:.1f}", (a, b), (0, 2), textcoords="offset points", ha="center",
                            fontsize=6.5, color=figures.QUIET,
                        )  # fmt: skip
            ax.set_yscale("log")
            ax.set_title(title, loc="left")
            ax.set_xticks(range(len(SUBJECTS)), [f"{s.name}\n({s.like})" for s in SUBJECTS])
            ax.tick_params(axis="x", length=0)
            ax.grid(visible=False, axis="x")
        axes[0].set_ylabel("microseconds, one call")
        handles = [Patch(color=color, label=name) for name, color, _ in sources]
        handles.append(Patch(color=figures.QUIET, label="analytical (a, b), dedicated (c)"))
        hatched = "2N+1 finite differences (a, b), through M (c)"
        handles.append(Patch(facecolor="white", edgecolor=figures.QUIET, hatch="////", label=hatched))
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return path


def _figure_3(rest: dict[str, Rest], moving: dict[str, Any], path: Path) -> Path:
    """What finite differences make of zeros, why, and what they make of anything else."""
    import matplotlib as mpl
    from matplotlib.colors import LogNorm

    with figures.drawing(path, 3, 13.0, 4.6, widths=(1.15, 1.1, 1.25)) as (figure, axes):
        matrix = np.abs(rest["humanoid"].matrix)
        colors = mpl.colormaps["viridis_r"].with_extremes(under="#eceef0")
        shown = np.where(matrix > 0.0, matrix, np.nan)
        image = axes[0].imshow(shown, norm=LogNorm(vmin=1e-13, vmax=1e-7), cmap=colors)
        figure.colorbar(image, ax=axes[0], shrink=0.8, extend="min")
        axes[0].set_title("(a) ∂ID/∂ν at rest, by forward differences", loc="left")
        axes[0].set_xlabel("humanoid, h = 1e-8, no gravity: the truth is 0")
        axes[0].grid(visible=False)

        for color, (name, r) in zip(figures.FAMILY[1:], rest.items(), strict=False):
            axes[1].loglog(STEPS, r.forward[ID], color=color, label=f"{name}, ID")
            axes[1].loglog(STEPS, r.forward[FD], color=color, linestyle="--", label=f"{name}, FD")
        low, _ = axes[1].get_ylim()
        axes[1].set_ylim(low / 1e3, 1e6)
        axes[1].axhline(low / 30.0, color=figures.OURS, linewidth=3)
        _label(axes[1], "fallingcat, and central differences: exactly 0", low / 30.0)
        axes[1].set_title("(b) the same against h: truncation, h Γⱼⱼ", loc="left")
        axes[1].set_ylabel("largest entry")

        for what, style in ((ID, "-"), (FD, "--")):
            m = moving[what]
            axes[2].loglog(STEPS, m["forward"], style, color=figures.FAMILY[1], label=f"forward differences, {what}")
            axes[2].loglog(STEPS, m["central"], style, color=figures.FAMILY[2], label=f"central differences, {what}")
            axes[2].axhline(m["ours"], linestyle=style, color=figures.OURS, linewidth=2)
            _label(axes[2], f"fallingcat, {what}", m["ours"])
        axes[2].set_ylim(1e-17, 1e6)
        axes[2].set_title("(c) at a random state of the humanoid", loc="left")
        axes[2].set_ylabel("error / largest entry")
        for ax in axes[1:]:
            ax.set_xlabel("step h")
            ax.legend(fontsize=7.5, columnspacing=1.0, ncols=2, loc="upper left")
    return path


def _label(ax: Any, words: str, height: float) -> None:
    """Words on a horizontal line."""
    ax.annotate(words, (1.0, height), (0, 4), textcoords="offset points", ha="right", fontsize=8, color=figures.OURS)
