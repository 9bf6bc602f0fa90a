"""Paper 004: Traversaro, Pucci and Nori, On the base frame choice in free-floating mechanical systems.

Every lemma, theorem and remark on a humanoid for ten bases and its centroid, what stays the same whatever the base, the block
structure of the mass matrix and the gravity torques of each, and the paper's slips with the numbers that show them.
`docs/papers/004.md` explains the method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from fallingcat.algorithms.base_twist import CENTROIDAL
from fallingcat.apps import figures
from fallingcat.apps.console import QUIET, STRONG, heading, progress, table
from fallingcat.apps.papers import Check, output
from fallingcat.apps.papers import paper004_numbers as N
from fallingcat.apps.papers.paper004_errata import measured_slips
from fallingcat.apps.papers.paper004_numbers import CENTROID, View
from fallingcat.apps.papers.slips import Slip, show_slips, slip_checks
from fallingcat.robot.robot import Robot

TITLE = "Traversaro, Pucci and Nori, On the base frame choice in free-floating mechanical systems"

Array = NDArray[np.float64]
ROUNDING = 1e-13
"""Entries below it, relative to the diagonal, are drawn as the zeros they are."""


def run(console: Console, out: Path, quick: bool = False) -> list[Check]:
    """Reproduce the paper; quickly, with one representation of velocities for each base."""
    s = N.subject()
    bases = {**s.bases, CENTROID: CENTROIDAL}
    with progress(len(bases) + 2) as step:
        views = []
        for k, (name, base) in enumerate(bases.items()):
            step(f"seen from: {name}")
            views.append(N.view(s, name, base, N.REPRESENTATIONS[k % 3 : k % 3 + 1] if quick else N.REPRESENTATIONS))
        step("centroidal quantities")
        checks = [*N.lemmas(s), *N.view_checks(views)]
        step("errata")
        wrong = measured_slips(s, str(s.bases["left sole"]))
        checks += slip_checks(wrong, 1e-11)

    _show_invariants(console, s.robot, views)
    _show_structure(console, views)
    _show_errata(console, wrong)

    output.write(
        console, out, _numbers(s.robot, views, wrong), checks,
        lambda: [_figure_bases(out / "bases.png", s.robot, views), _figure_gravity(out / "gravity.png", s.robot, views)],
    )  # fmt: skip
    return checks


def _numbers(robot: Robot, views: Sequence[View], wrong: Sequence[Slip]) -> dict[str, Any]:
    return {
        "robot": {"name": robot.name, "degrees of freedom": robot.nv, "mass": robot.mass},
        "bases": {
            v.name: {
                "energy": v.energy, "power": v.power, "smallest eigenvalue": v.smallest, "coupling": v.coupling,
                "joints that feel the pelvis": v.joints_with_torque, "errors": v.errors,
            }
            for v in views
        },
        "errata": [asdict(slip) for slip in wrong],
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# In the terminal


def _show_invariants(console: Console, robot: Robot, views: Sequence[View]) -> None:
    note = f"{robot.name}, {robot.nv} degrees of freedom, in one random state"
    heading(console, "What no base changes", note)
    t = table("base", "kinetic energy, J", "power, W", "skew: M' − 2C", "M anew", "C anew", right=(1, 2, 3, 4, 5))
    for v in views:
        anew = [f"{v.errors[name]:.0e}" if name in v.errors else "" for name in ("M anew", "C anew")]
        t.add_row(Text(v.name), f"{v.energy:.11f}", f"{v.power:.10f}", f"{v.errors['skew']:.0e}", *anew)
    console.print(t)
    words = "Errors: relative, worst of body-fixed, mixed and inertial twist; anew: against the robot assembled with this base."
    console.print(Text(words, style=QUIET))


def _show_structure(console: Console, views: Sequence[View]) -> None:
    heading(console, "What a base changes", "mixed representation")
    t = table("base", "coupling of base and joints", "joints that feel a wrench on the pelvis", "largest gravity torque, N m",
              right=(1, 2, 3))  # fmt: skip
    for v in views:
        cells = f"{v.coupling:.2f}" if v.coupling else "0", f"{v.joints_with_torque}", f"{np.abs(v.gravity[6:]).max():.1f}"
        t.add_row(Text(v.name), *(Text(cell, style=STRONG if v.name == CENTROID else "") for cell in cells))
    console.print(t)
    console.print(Text("Coupling: the largest |M_ij| / √(M_ii M_jj) between base and joints.", style=QUIET))


def _show_errata(console: Console, wrong: Sequence[Slip]) -> None:
    lines = (
        ("(29), (40), (38)", "shape", "Zeros are n × 6, n × 6 and (3 + n) × 3."),
        ("(11), (23)", "dots", "R' = ω^ R and M ν' (not ν)."),
    )
    show_slips(console, [*(slip.line for slip in wrong), *lines])


# ---------------------------------------------------------------------------------------------------------------------
# Figures


def branches(robot: Robot) -> list[int]:
    """Where in nu a new limb starts: a joint that does not hang on the one before it."""
    by_place = {body.nu_at: (i, body.parent) for i, body in enumerate(robot.model.bodies) if not body.mimics}
    joints = sorted(place for place in by_place if place >= 6)
    return [b for a, b in pairwise(joints) if by_place[b][1] != by_place[a][0]]


def _figure_bases(path: Path, robot: Robot, views: Sequence[View]) -> Path:
    """The mass matrix from every base, without units, and how strongly base and joints are coupled."""
    import matplotlib as mpl
    from matplotlib.colors import LogNorm

    colors = mpl.colormaps["viridis_r"].with_extremes(bad="#f1f2f4")
    columns = 4
    rows = -(-(len(views) + 1) // columns)
    with figures.drawing(path, columns, 13.0, 3.2 * rows, rows=rows) as (figure, axes):
        for ax, v in zip(axes, views, strict=False):
            d = np.sqrt(np.diag(v.M))
            shown = np.abs(v.M / np.outer(d, d))
            image = ax.imshow(np.where(shown > ROUNDING, shown, np.nan), norm=LogNorm(vmin=1e-4, vmax=1.0), cmap=colors)
            _limbs(ax, robot, v.name == CENTROID)
            ax.set_title(v.name, loc="left", color=figures.FAMILY[1] if v.name == CENTROID else "black")
        bars = axes[len(views)]
        names = [v.name for v in views][::-1]
        bars.barh(names, [v.coupling for v in views][::-1], color=[figures.FAMILY[1]] + [figures.OURS] * (len(views) - 1))
        bars.set_xlim(0.0, 1.0)
        bars.set_box_aspect(1.0)
        bars.set_title("coupling of base and joints", loc="left")
        bars.grid(visible=False, axis="y")
        bars.tick_params(axis="y", length=0)
        bars.annotate("exactly 0", (0.0, 0), (5, 0), textcoords="offset points", va="center", color=figures.FAMILY[1], fontsize=9)
        for ax in axes[len(views) + 1 :]:
            ax.set_axis_off()
        label = "|M$_{ij}$| / √(M$_{ii}$ M$_{jj}$), grey: zero"
        figure.colorbar(image, ax=axes, shrink=0.5, aspect=40, label=label, extend="min")
    return path


def _limbs(ax: Any, robot: Robot, strong: bool) -> None:
    """Lines between base and joints, and thin ones between limbs; names on the base's part."""
    n = robot.nv
    for at in branches(robot):
        for line in (ax.axhline, ax.axvline):
            line(at - 0.5, color="white", linewidth=0.5)
    for at, width in ((3, 0.8), (6, 1.6)):
        for line in (ax.axhline, ax.axvline):
            line(at - 0.5, color=figures.FAMILY[1] if strong else "black", linewidth=width)
    ax.set_xticks([1, 4, (6 + n) / 2], ["v", "ω", "joints"])
    ax.set_yticks([1, 4, (6 + n) / 2], ["v", "ω", "joints"])
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)


def _figure_gravity(path: Path, robot: Robot, views: Sequence[View]) -> Path:
    """Joint torques against gravity, base by base: what motors feel when the base is what is held."""
    from matplotlib.colors import SymLogNorm

    torques = np.array([v.gravity[6:] for v in views])
    torques = np.where(np.abs(torques) > 1e-9, torques, 0.0)
    with figures.drawing(path, 1, 13.0, 4.8) as (figure, (ax,)):
        norm = SymLogNorm(linthresh=1.0, vmin=-1000.0, vmax=1000.0)
        image = ax.imshow(torques, cmap="RdBu_r", norm=norm, aspect="auto")
        ax.set_yticks(range(len(views)), [v.name for v in views])
        ax.get_yticklabels()[-1].set_color(figures.FAMILY[1])
        ax.set_xticks(range(robot.n), [name.removesuffix("_joint") for name in robot.joint_names], rotation=90, fontsize=8)
        ax.tick_params(length=0)
        ax.grid(visible=False)
        for k in range(1, len(views)):
            ax.axhline(k - 0.5, color="white", linewidth=1.5)
        for at in branches(robot):
            ax.axvline(at - 6.5, color=figures.QUIET, linewidth=0.6)
        ax.set_title("Joint torques of gravity, N m: what motors hold when the base is held", loc="left")
        figure.colorbar(image, ax=ax, pad=0.01, ticks=[-1000, -100, -10, -1, 0, 1, 10, 100, 1000], format="%d")
    return path
