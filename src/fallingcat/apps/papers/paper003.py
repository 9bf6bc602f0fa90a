"""Paper 003: Mishra et al., On the dynamics of floating-base robots: linking the recursive formulation to the reduced
Euler-Lagrange equations.

Every equation as printed and as corrected, the space robot of Sec. V-1 with Figure 2, the curvature functions and the loops of
Sec. V-3. `docs/papers/003.md` explains the method, `docs/falling_cat.md` what the curvature does for a cat.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from fallingcat.apps import figures
from fallingcat.apps.console import QUIET, STRONG, heading, progress, table
from fallingcat.apps.papers import Check, output
from fallingcat.apps.papers import paper003_numbers as N
from fallingcat.apps.papers import space_robot as space
from fallingcat.apps.papers.space_robot import CONTROLLERS, REDUCED, TRANSFORMED, Comparison, Flight

TITLE = "Mishra et al., On the dynamics of floating-base robots: linking the recursive formulation to the reduced equations"

ROBOTS = ("spacearm", "cat", "tree9")
MARKS = {TRANSFORMED: "τ̄", REDUCED: "τ"}


def run(console: Console, out: Path, quick: bool = False) -> list[Check]:
    """Reproduce the paper."""
    sizes = N.SIZES[:5] if quick else N.SIZES
    dt, points = (2e-3, 31) if quick else (1e-3, 121)
    shapes = 60 if quick else 400
    circles = N.LARGE[3::4] if quick else N.LARGE
    with progress(2 * len(ROBOTS) + len(CONTROLLERS) + 2 * len(sizes) + len(circles) + 2) as step:
        found, terms = N.verdicts(ROBOTS, step), N.library_errors(ROBOTS, step)
        robot = space.space_robot()
        flights = {}
        for controller in CONTROLLERS:
            step(f"space robot, {controller}")
            flights[controller] = space.fly(robot, controller, dt)
        flown = space.compare(flights)
        step(f"space robot, {shapes} random shapes")
        ratios = space.peak_ratios(robot, space.random_shapes(robot, shapes), 2.0 * dt)
        step("curvature functions")
        field = N.curvature_map(robot, points)
        plane, loops = N.in_the_plane(robot, sizes, step), N.in_space(robot, sizes, step)
        large = N.in_the_plane(robot, circles, step)
        checks = list(N.checks(found, terms, flown, ratios, plane, loops))

    _show_verdicts(console, found)
    _show_terms(console, terms)
    _show_flight(console, flights, flown)
    _show_shapes(console, flown, ratios)
    _show_loops(console, plane, loops)

    output.write(
        console, out, _numbers(found, terms, flown, ratios, plane, loops), checks,
        lambda: [
            _figure_2(flights, out / "figure2.png"),
            _figure_shapes(flown, ratios, out / "shapes.png"),
            _figure_curvature(field, out / "curvature.png"),
            _figure_loops(large, plane, loops, out / "displacement.png"),
        ],
    )  # fmt: skip
    return checks


def _numbers(
    found: N.Verdicts, terms: dict[str, float], flown: Comparison, ratios: N.Array, plane: N.Loops, loops: N.Loops
) -> dict[str, Any]:  # fmt: skip
    def as_lists(x: N.Loops) -> dict[str, Any]:
        return {"sizes": x.sizes.tolist(), "displacement": x.exact.tolist(), "area integral": x.estimate.tolist()}

    return {
        "as printed": [asdict(v) | {"printed": v.printed if np.isfinite(v.printed) else None} for v in found.wrong],
        "holds": found.holds,
        "library": terms,
        "space robot": asdict(flown),
        "peak ratio over shapes": sorted(float(x) for x in ratios),
        "loops in a plane": as_lists(plane),
        "loops in space": as_lists(loops),
    }


# ---------------------------------------------------------------------------------------------------------------------
# In the terminal


def _show_verdicts(console: Console, found: N.Verdicts) -> None:
    note = f"worst of {', '.join(ROBOTS)}, relative; witnesses are the full dynamics and complex steps"
    heading(console, "What the paper gets wrong", note)
    t = table("where", "as printed", "corrected", "what", right=(1, 2))
    t.columns[3].no_wrap = False
    for v in found.wrong:
        printed = f"{v.printed:.2f}" if np.isfinite(v.printed) else "no fit"
        t.add_row(v.where, Text(printed, style="red"), Text(f"{v.corrected:.0e}", style=STRONG), v.what)
    console.print(t)
    words = f"{len(found.holds)} further equations hold as printed, the worst to {max(found.holds.values()):.0e}."
    console.print(Text(words, style=QUIET))


def _show_terms(console: Console, terms: dict[str, float]) -> None:
    heading(console, "The library", "recursions against the paper's sums over bodies; curvature against complex steps")
    t = table(*terms, right=range(len(terms)))
    t.add_row(*(Text(f"{x:.0e}", style=STRONG) for x in terms.values()))
    console.print(t)


def _show_flight(console: Console, flights: dict[str, Flight], c: Comparison) -> None:
    words = "arm on a base of 3.5 kg, 12°/s about y, hit by (5, 5, 5) N m from 0.51 to 0.55 s; shape and gains are ours"
    heading(console, "Sec. V-1, the space robot", words)
    joints = " ".join(str(j + 1) for j in space.busiest(flights))
    t = table("", "", right=(1,))
    t.add_row("joints with the highest torques (paper: 2 4 6)", joints)
    for name in CONTROLLERS:
        t.add_row(f"peak of {MARKS[name]} after the hit, {name}", Text(f"{c.peaks[name]:.3f} N m", style=STRONG))
    t.add_row("τ̄ and τ apart: before the hit", f"{c.before:.0e} N m")
    t.add_row("  in the transient", f"{c.transient:.3f} N m")
    t.add_row("  at the end", f"{c.end:.0e} N m")
    t.add_row("τ̄ − τ − B₂ r, with τ̄ from the full Coriolis matrix", f"{c.identity:.0e} N m")
    t.add_row("power of B₂ r", f"{c.power:.0e} W")
    t.add_row("Sec. V-2, mixed term against −½⟨μₑ, μₑ⟩_P, as printed", Text(f"{c.mixed[0]:.2f}", style="red"))
    t.add_row("  against +½⟨μₑ, μₑ⟩_P", Text(f"{c.mixed[1]:.0e}", style=STRONG))
    console.print(t)
    before, after = c.levels
    words = f"Both hold the shape. The torque that stays is {before:.3f} N m before the hit and {after:.3f} N m after it: "
    console.print(Text(words + "the hit brought momentum.", style=QUIET))


def _show_shapes(console: Console, flown: Comparison, ratios: N.Array) -> None:
    """Print how the result for the shape of the figure compares with those for other shapes."""
    five, median, most = np.percentile(ratios, (5, 50, 95))
    above = float(np.mean(ratios >= flown.ratio))
    words = (
        f"Peak of τ̄ over peak of τ: {flown.ratio:.2f} for the shape of the figure, which was chosen; over {len(ratios)} "
        f"random shapes the median is {median:.2f}, 90 % are between {five:.2f} and {most:.2f}, and {above:.0%} are as "
        "high as in the figure."
    )
    console.print(Text(words))


def _show_loops(console: Console, plane: N.Loops, loops: N.Loops) -> None:
    heading(console, "Sec. V-3, closed loops", "displacement of the base and what the area integral misses, |(m; rad)|")
    t = table("radius", "plane", "misses", "its rotation", "all joints", "misses", right=range(6))
    for k, size in enumerate(plane.sizes):
        turn = abs(plane.exact - plane.estimate)[k, N.COMPONENTS["pitch"]]
        cells = [np.linalg.norm(plane.exact[k]), plane.misses[k], turn, np.linalg.norm(loops.exact[k]), loops.misses[k]]
        t.add_row(f"{size:g}", *(f"{x:.1e}" for x in cells))
    orders = [*plane.order(), *loops.order()]
    powers = [f"{x:.2f}" for x in orders]
    t.add_row("power", *(Text(x, style=STRONG) for x in (powers[0], powers[1], "", powers[2], powers[3])))
    console.print(t)
    console.print(Text("In a plane rotations commute: there the area integral gives them exactly, at any size.", style=QUIET))


# ---------------------------------------------------------------------------------------------------------------------
# Figures


def _figure_2(flights: dict[str, Flight], path: Path) -> Path:
    """The paper's Figure 2: decoupling torques above, shape velocities below."""
    with figures.drawing(path, 1, 8.6, 7.0, rows=2) as (_, (torques, velocities)):
        for color, j in zip(figures.FAMILY, space.busiest(flights), strict=False):
            f, g = flights[TRANSFORMED], flights[REDUCED]
            torques.plot(f.t, f.decoupling[:, j], "--", color=color, linewidth=1.5)
            torques.plot(g.t, g.decoupling[:, j], color=color, linewidth=1.9, label=f"joint {j + 1}")
            velocities.plot(f.t, f.shape_velocity[:, j], "--", color=color, linewidth=1.5)
            velocities.plot(g.t, g.shape_velocity[:, j], color=color, linewidth=1.9)
        for ax in (torques, velocities):
            ax.axvspan(space.START, space.END, color=figures.PAPER, alpha=0.35, linewidth=0.0)
            ax.set_xlim(0.0, space.SECONDS)
        torques.plot([], [], color=figures.QUIET, label="τ, reduced equations (16)")
        torques.plot([], [], "--", color=figures.QUIET, label="τ̄, transformed equations (20)")
        torques.legend(ncols=2, loc="upper right")
        torques.set_ylabel("decoupling torque, N m")
        velocities.set_ylabel("shape velocity, rad/s")
        velocities.set_xlabel("seconds")
        place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "color": figures.QUIET}
        torques.annotate("hit", (space.START, 0.03), (-4, 0), ha="right", **place)
        torques.tick_params(labelbottom=False)
        torques.set_title("A hit on the base of a spinning space robot", loc="left")
    return path


def _figure_shapes(flown: Comparison, ratios: N.Array, path: Path) -> Path:
    """How the peaks of the two controllers compare for other shapes of the arm."""
    edges = np.geomspace(min(0.8, float(ratios.min())), max(4.0, 1.05 * float(ratios.max())), 36)
    with figures.drawing(path, 1, 8.6, 3.6) as (_, (ax,)):
        ax.hist(ratios, bins=edges, color=figures.OURS, edgecolor="white", linewidth=0.6)
        ax.set_xscale("log")
        ax.set_xticks([0.8, 1.0, 1.5, 2.0, 3.0, 4.0], ["0.8", "1", "1.5", "2", "3", "4"])
        ax.minorticks_off()
        for x, words, color in (
            (float(np.median(ratios)), f"median {np.median(ratios):.2f}", figures.QUIET),
            (flown.ratio, f"the shape of Figure 2, {flown.ratio:.1f}", figures.FAMILY[1]),
        ):
            ax.axvline(x, color=color, linewidth=1.6)
            ax.annotate(words, (x, 0.93), (5, 0), xycoords=("data", "axes fraction"), textcoords="offset points", color=color)
        ax.set_xlabel("peak of τ̄ / peak of τ after the hit")
        ax.set_ylabel("shapes")
        ax.set_title(f"{len(ratios)} random shapes of the arm", loc="left")
    return path


def _figure_curvature(field: N.Map, path: Path) -> Path:
    """Curvature functions over two joints, with some of the circles whose displacements are in the other figure."""
    with figures.drawing(path, len(field.values), 13.2, 3.9) as (figure, axes):
        units = {"x": "m/rad²", "z": "m/rad²", "pitch": "rad/rad²"}
        angle = np.linspace(0.0, 2.0 * np.pi, 100)
        for ax, (name, values) in zip(axes, field.values.items(), strict=True):
            top = float(np.abs(values).max())
            image = ax.pcolormesh(
                field.first, field.second, values, cmap="RdBu_r", vmin=-top, vmax=top, shading="gouraud", rasterized=True
            )
            ax.contour(field.first, field.second, values, levels=[0.0], colors=figures.QUIET, linewidths=0.9, linestyles=":")
            for size in (0.2, 0.4, 0.8):
                ax.plot(N.CENTRE[0] + size * np.cos(angle), N.CENTRE[1] + size * np.sin(angle), color="black", linewidth=1.2)
            figure.colorbar(image, ax=ax, label=units[name])
            ax.set_title(f"displacement in {name} per area" if name != "pitch" else "rotation per area", loc="left")
            ax.set_xlabel(f"{N.PLANE[0]}, rad")
            ax.grid(visible=False)
        axes[0].set_ylabel(f"{N.PLANE[1]}, rad")
    return path


def _figure_loops(large: N.Loops, plane: N.Loops, loops: N.Loops, path: Path) -> Path:
    """Where loops leave the base, by the reconstruction and by the area integral, and how the two part."""
    with figures.drawing(path, 2, 11.5, 4.5) as (_, (left, right)):
        for color, (name, k) in zip(figures.FAMILY, N.COMPONENTS.items(), strict=False):
            unit = "rad" if name == "pitch" else "m"
            left.plot(large.sizes, large.exact[:, k], "o-", color=color, markersize=4, label=f"{name}, {unit}")
            left.plot(large.sizes, large.estimate[:, k], "--", color=color, linewidth=1.4)
        left.plot([], [], "--", color=figures.QUIET, label="area integral")
        left.set_title("(a) where circles in the plane leave the base", loc="left")
        left.set_xlabel("radius ε, rad")
        left.legend(loc="lower left")
        for color, name, x in ((figures.OURS, "plane", plane), (figures.FAMILY[1], "all joints", loops)):
            size = np.linalg.norm(x.exact, axis=1)
            right.loglog(x.sizes, size, "o-", color=color, markersize=4, label=f"displacement, {name}")
            right.loglog(x.sizes, x.misses, "s--", color=color, markersize=4, label=f"miss of the area integral, {name}")
            for values, power in zip((size, x.misses), x.order(), strict=True):
                place = {"textcoords": "offset points", "color": color, "annotation_clip": False}
                right.annotate(f"$\\varepsilon^{{{power:.2f}}}$", (x.sizes[-1], values[-1]), (7, -4), **place)
        right.set_title("(b) orders", loc="left")
        right.set_xlabel("radius ε, rad")
        right.margins(x=0.12)
        right.legend(fontsize=8.5, loc="upper left")
    return path
