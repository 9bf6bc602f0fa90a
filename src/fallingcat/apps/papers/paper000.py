"""Paper 000: Bos, Traversaro, Pucci and Saccon, Efficient geometric linearization of moving-base rigid robot dynamics.

The validation of Sec. 5 with errors (86)-(91) and Figure 5, the four requirements of Table 1, the paper's slips with the
numbers that show them, and what the paper leaves open: Euler angles near their singularity, and the cost.
`docs/papers/000.md` explains the method.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from fallingcat.apps import figures
from fallingcat.apps.console import GOOD, QUIET, STRONG, heading, progress, table
from fallingcat.apps.papers import Check, Measured, output
from fallingcat.apps.papers import paper000_numbers as N
from fallingcat.apps.papers import paper000_tables as T
from fallingcat.apps.papers.paper000_checks import all_checks
from fallingcat.apps.papers.paper000_numbers import (
    ANGLES,
    AUTOMATIC,
    BATCHED,
    CENTRAL,
    DELTA,
    DELTAS,
    FORWARD,
    OURS,
    PRINTED,
    Cost,
)
from fallingcat.apps.papers.slips import show_slips
from fallingcat.robot.robot import load

TITLE = "Bos, Traversaro, Pucci, Saccon, Efficient geometric linearization of moving-base rigid robot dynamics"

Array = NDArray[np.float64]
DRAWS, FEW = 100, 20
"""Numbers of random robots: for the paper's table, and for computations that take longer."""
ROBOTS = ("tree9", "quadruped", "humanoid")


def run(console: Console, out: Path, quick: bool = False) -> list[Check]:
    """Reproduce the paper."""
    count, few = (12, 4) if quick else (DRAWS, FEW)
    robots = ROBOTS[:1] if quick else ROBOTS
    with progress(count + len(DELTAS) + len(robots) + 7) as step:
        draws = []
        for seed in range(count):
            step("drawing robots")
            draws.append(N.draw(seed))
        step("finite differences")
        errors = N.errors(draws, DELTA)
        curves = {name: np.zeros((len(DELTAS), 2)) for name in PRINTED}
        for k, delta in enumerate(DELTAS):
            step("Figure 5")
            for name, pair in N.errors(draws[:few], float(delta)).items():
                curves[name][k] = pair
        step("errata")
        printed = T.printed_table5(draws[:few])
        step("complex step")
        step_error = N.exactness(draws[:few])
        step("tables")
        tables_error = T.table_error(draws[:few])
        tables = T.measured(draws[:few])
        near = N.singularity(step)
        costs = {name: N.cost(name, 0.01 if quick else 0.25, step) for name in robots}
        averages = {name: curve[:, 1] for name, curve in curves.items()}
        checks = all_checks(errors, averages, printed, step_error, tables_error, near, costs, step)

    _show_errors(console, errors, count)
    _show_requirements(console, checks)
    _show_errata(console, printed, tables)
    _show_euler(console, near)
    _show_costs(console, costs)

    found = {
        "draws": count,
        "errors": {name: {"max": pair[0], "average": pair[1], "paper": PRINTED[name]} for name, pair in errors.items()},
        "figure 5": {"delta": DELTAS.tolist(), **{name: curve.tolist() for name, curve in curves.items()}},
        "euler": {"angle": ANGLES.tolist(), "euler": near.euler.tolist(), "ours": near.ours.tolist()},
        "costs": {name: asdict(c) for name, c in costs.items()},
        "table 5 as printed": asdict(printed),
        "tables": [asdict(m) for m in tables if not m.number],
        "errata": [asdict(m) for m in tables if m.number],
    }
    output.write(
        console, out, found, checks,
        lambda: [
            _figure_4(out / "figure4.png"),
            _figure_5(curves, out / "figure5.png"),
            _figure_euler(near, costs, out / "singularity.png"),
        ],
    )  # fmt: skip
    return checks


# ---------------------------------------------------------------------------------------------------------------------
# In the terminal


def _show_errors(console: Console, errors: N.Errors, count: int) -> None:
    note = f"forward differences at 1e-6 against the linearization, {count} random robots and states"
    heading(console, "Errors (86)-(91)", note)
    t = table("", "largest", "paper", "average", "paper", right=(1, 2, 3, 4))
    for name, (largest, average) in errors.items():
        cells = [Text(f"{x:.2e}", style=STRONG) for x in (largest, average)]
        t.add_row(name, cells[0], f"{PRINTED[name][0]:.2e}", cells[1], f"{PRINTED[name][1]:.2e}")
    console.print(t)
    ratios = {name: PRINTED[name][1] / average for name, (_, average) in errors.items()}
    others = [x for name, x in ratios.items() if name != "D2 FD"]
    words = f"The paper's averages are {min(others):.0f} to {max(others):.0f} times these, but {ratios['D2 FD']:.0f} times "
    console.print(Text(words + "for D2 FD: more than differences of this step explain.", style=QUIET))


def _show_requirements(console: Console, checks: list[Check]) -> None:
    heading(console, "Table 1", "the four requirements, as numbers")
    words = {
        "MB": "moving base", "SF": "singularity-free orientation", "RF": "recursive, along the tree",
        "ED": "exact derivatives",
    }  # fmt: skip
    t = table("", "", "", "measured", right=(3,))
    for key, meaning in words.items():
        check = next(c for c in checks if c.what.startswith(f"({key})"))
        t.add_row(Text("✓" if check.passed else "✗", style=GOOD if check.passed else "red"), key, meaning, f"{check.value:.2g}")
    console.print(t)


def _show_errata(console: Console, printed: T.Printed, tables: list[Measured]) -> None:
    def off(number: str, where: str) -> Text:
        m = next(m for m in tables if (m.number, m.where) == (number, where))
        return Text(f"{'shape' if m.printed is None else f'{m.printed:.2g}'} → {m.corrected:.0e}", style=STRONG)

    lines = (
        ("Table 5, line 1", off("0.1", "Table 5"),
         "Differentiates with the inertial twist held fixed, while D1 FD of (22), (42) and (82) holds the body-fixed one: set it "
         f"to zero. Against (82), D1 FD is off by {printed.body:.2f} on average; with the inertial twist fixed there, the "
         f"printed table agrees to {printed.inertial:.0e}."),
        ("Tables 4, 5", off("0.3", "Table 4"), "Return [τ; τ_b]; Tables 6-8 and the text use [τ_b; τ]."),
        ("Table 4, line 6", off("0.4", "Table 4"), "The gravitational acceleration is minus that of free fall."),
        ("Table 6, line 47", off("0.5", "Table 6"), "The joint acceleration is the i-th one, a number."),
        ("Table 9, lines 1-5", off("0.6", "Table 9"), "The base's articulated inertia is never set: singular for one branch."),
    )  # fmt: skip
    show_slips(console, lines, "as printed → corrected; each has a test in tests/reference/test_paper000.py")


def _show_euler(console: Console, near: N.Singularity) -> None:
    heading(console, "Euler angles", "error of A, linearized exactly in roll, pitch and yaw, then brought to the tangent space")
    t = table("radians from gimbal lock", "Euler angles", "ours", right=(0, 1, 2))
    for k in range(0, len(ANGLES), 4):
        t.add_row(f"{ANGLES[k]:.0e}", f"{near.euler[k]:.1e}", Text(f"{near.ours[k]:.1e}", style=STRONG))
    t.add_row("0", "no derivative", Text(f"{near.anywhere:.1e}", style=STRONG))
    console.print(t)


def _show_costs(console: Console, costs: dict[str, Cost]) -> None:
    heading(console, "Cost of A and B", "operations, and microseconds of one call from Python")
    names = [f"{name} ({c.dof} dof)" for name, c in costs.items()]
    t = table("", *names, right=range(1, len(names) + 1))
    for way in (OURS, FORWARD, CENTRAL, AUTOMATIC):
        cells = [f"{c.operations[way]:,}" for c in costs.values()]
        t.add_row(f"operations, {way}", *(Text(cell, style=STRONG if way == OURS else "") for cell in cells))
    for way in (OURS, FORWARD, BATCHED):
        cells = [f"{c.microseconds[way]:.1f}" for c in costs.values()]
        t.add_row(f"µs, {way}", *(Text(cell, style=STRONG if way == OURS else "") for cell in cells))
    console.print(t)


# ---------------------------------------------------------------------------------------------------------------------
# Figures


KINDS = {"revolute": "#3a7d44", "prismatic": "#c2452d", "helical": "#2f6fb3"}
"""Colours of joints, as in the paper."""


def _figure_4(path: Path) -> Path:
    """The tree of the validation, with all joints at zero and at 0.3; letters are the axes of the joints."""
    robot = load("tree9")
    with figures.drawing(path, 2, 11.0, 5.2) as (figure, axes):
        for ax, at, title in ((axes[0], 0.0, "(a) all joints at 0"), (axes[1], 0.3, "(b) all joints at 0.3 rad or m")):
            q = robot.neutral()
            q[7:] = at
            where = {link: _projected(robot.frame_pose(q, link)[:3, 3]) for link in robot.link_names}
            for joint in robot.description.joints:
                a, b = where[joint.parent], where[joint.child]
                ax.plot([a[0], b[0]], [a[1], b[1]], color=figures.PAPER, linewidth=2.5, zorder=1)
            for link, (x, y, depth) in where.items():
                kind = next((k for k in KINDS if link.startswith(k)), "base")
                color, size = KINDS.get(kind, "#e3b505"), 560 if kind == "base" else 230
                ax.scatter(x, y, s=size, color=color, edgecolor="white", linewidth=1.2, zorder=2.0 + depth)
                axis = link.split("_")[1] if kind != "base" else ""
                ax.annotate(axis, (x, y), ha="center", va="center", fontsize=9, color="white", zorder=3.0 + depth)
            ax.set_title(title, loc="left")
            ax.set_aspect("equal", adjustable="datalim")
            ax.axis("off")
            ax.margins(0.12)
        for kind, color in {"base": "#e3b505", **KINDS}.items():
            axes[0].scatter([], [], s=70, color=color, label=kind)
        figure.legend(loc="outside lower center", ncols=4)
    return path


def _projected(x: Array) -> Array:
    """A point in the drawing, from above, where no two bodies hide each other: to the right, upwards, towards the reader."""
    turn, lift = np.radians(220.0), np.radians(60.0)
    right = np.array([-np.sin(turn), np.cos(turn), 0.0])
    near = np.array([np.cos(turn) * np.cos(lift), np.sin(turn) * np.cos(lift), np.sin(lift)])
    return np.array([x @ right, x @ np.cross(near, right), 0.1 * float(x @ near)])


def _figure_5(curves: dict[str, Array], path: Path) -> Path:
    """Errors of finite differences against their step, as in the paper, with the paper's own values at 1e-6."""
    with figures.drawing(path, 2, 11.5, 4.6) as (_, axes):
        for which, (ax, title) in enumerate(zip(axes, ("(a) largest error (86)", "(b) average error (87)"), strict=True)):
            for color, (name, curve) in zip(figures.FAMILY, curves.items(), strict=True):
                ax.loglog(DELTAS, curve[:, which], color=color, marker="o", markersize=3.5, linewidth=1.8, label=name)
                star = {"marker": "*", "markersize": 13, "linestyle": "", "markeredgecolor": "white"}
                ax.plot(DELTA, PRINTED[name][which], color=color, **star)
            middle = np.sqrt(curves["D3 FD"][:, which] * curves["D4 FD"][:, which])
            at = int(np.argmin(np.abs(np.log10(DELTAS) + 3)))
            guide = DELTAS[at - 2 : at + 2]
            ax.plot(guide, 0.12 * middle[at] * guide / DELTAS[at], color=figures.QUIET, linewidth=1.0)
            ax.annotate("slope 1", (guide[2], 0.12 * middle[at]), (6, -9), textcoords="offset points", color=figures.QUIET)
            ax.set_title(title, loc="left")
            ax.set_xlabel("step δ of the differences")
        axes[0].set_ylabel("error, relative to the average entry")
        axes[0].plot([], [], color=figures.QUIET, marker="*", markersize=12, linestyle="", label="paper, (88)-(91)")
        axes[0].legend(loc="lower left")
    return path


def _figure_euler(near: N.Singularity, costs: dict[str, Cost], path: Path) -> Path:
    """Euler angles near gimbal lock, and what A and B cost."""
    with figures.drawing(path, 2, 11.5, 4.6, widths=(1.2, 1.0)) as (_, axes):
        left, right = axes
        left.loglog(ANGLES, near.euler, color=figures.FAMILY[1], marker="o", markersize=3.5, linewidth=1.8, label="Euler angles")
        left.loglog(ANGLES, near.ours, color=figures.OURS, marker="o", markersize=3.5, linewidth=1.8, label="on the group")
        left.axhline(1e-12, color=figures.QUIET, linewidth=0.9, linestyle="--")
        left.invert_xaxis()
        left.set_xlabel("distance of the pitch from 90°, rad")
        left.set_ylabel("error of A, relative to its largest entry")
        left.set_title("(a) towards gimbal lock", loc="left")
        left.legend(loc="upper left")
        ways = (OURS, AUTOMATIC, FORWARD, CENTRAL)
        colors = {OURS: figures.OURS, AUTOMATIC: figures.FAMILY[2], FORWARD: figures.PEER, CENTRAL: figures.PAPER}
        width = 0.84 / len(ways)
        for k, way in enumerate(ways):
            x = np.arange(len(costs)) + (k - (len(ways) - 1) / 2) * width
            right.bar(x, [c.operations[way] for c in costs.values()], width * 0.92, color=colors[way], label=way)
        right.set_yscale("log")
        right.set_xticks(range(len(costs)), [f"{name}\n{c.dof} dof" for name, c in costs.items()])
        right.tick_params(axis="x", length=0)
        right.grid(visible=False, axis="x")
        right.set_title("(b) operations for A and B", loc="left")
        right.legend(loc="upper left")
        right.set_ylim(top=right.get_ylim()[1] * 12)
    return path
