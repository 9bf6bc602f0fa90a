"""How a fall looks: a figure, and a page that plays it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps import figures, view
from fallingcat.apps.cat.fall import Fall
from fallingcat.apps.cat.gait import circle
from fallingcat.apps.cat.holonomy import curvature, halfway
from fallingcat.apps.cat.momentum import angular_momentum
from fallingcat.apps.cat.plan import Plan
from fallingcat.apps.cat.summary import FRONT_HALF, Summary, tilts
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

FRAMES = 160
SLOW = 0.1
"""The playback speed of the page, relative to real time."""
REACH, POINTS = 1.55, 45
"""The map of the curvature: its range of waist bends, rad, and its number of points per side."""


def page(fall: Fall, summary: Summary) -> str:
    """A self-contained page with the fall in slow motion and its curves."""
    k = frames(fall)
    degrees = np.degrees(tilts(fall)[k])
    spin = momenta(fall)[k, :, 0]
    tilt = view.svg.lines(
        fall.t[k],
        {"front half": degrees[:, 0], "rear half": degrees[:, 1]},
        ylabel="from upright, degrees",
        cursor=True,
        words="angles between the up axes of the two halves and the vertical",
    )
    momentum = view.svg.lines(
        fall.t[k],
        {"front half": spin[:, 0], "rear half": spin[:, 1], "together": spin.sum(axis=1)},
        ylabel="angular momentum about x, kg m²/s",
        cursor=True,
        words="angular momenta about the long axis: equal and opposite",
    )
    words = (
        f"Dropped upside down from {summary.height:g} m, with no angular momentum. There is nothing to push against, and yet "
        f"the cat is on its feet after {summary.seconds:.2f} s: it bends its waist around through all directions, and the "
        f"curvature of the mechanical connection turns that loop of shapes into a turn of the body by {summary.turn:.1f}°.\n\n"
        f"The plan comes from geometry alone; what plays here is the full dynamics under the torques of a controller. Its "
        f"angular momentum stays below {power_of_ten(summary.momentum)} kg m²/s, while each half has up to "
        f"{summary.front_momentum:.2f} about the long axis."
    )
    return view.animation_page(
        fall.robot, fall.q[k], fall.t[k], title="The falling cat", words=words, figures_svg=[tilt, momentum],
        ground=0.0, follow=True, speed=SLOW,
    )  # fmt: skip


def power_of_ten(x: float) -> str:
    """The next larger power of ten, in a few characters."""
    exponent = int(np.ceil(np.log10(max(x, 1e-300))))
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def frames(fall: Fall) -> NDArray[np.intp]:
    """The indices of the states that are shown."""
    return np.unique(np.linspace(0, len(fall.t) - 1, FRAMES).round().astype(np.intp))


def momenta(fall: Fall) -> Array:
    """Angular momenta of the front and rear half about the centre of mass, in the world, (k + 1, 2, 3)."""
    front = angular_momentum(fall.robot, fall.q, fall.nu, FRONT_HALF)
    return np.stack([front, angular_momentum(fall.robot, fall.q, fall.nu) - front], axis=1)


# ---------------------------------------------------------------------------------------------------------------------
# The figure


def draw(plan: Plan, fall: Fall, summary: Summary, path: Path) -> Path:
    """Orientation against time; the loop of the waist over the curvature that it encloses; the momenta of the halves."""
    with figures.drawing(path, 3, 15.5, 4.7, widths=(1.15, 1.1, 1.0)) as (figure, axes):
        _orientation(axes[0], fall, summary)
        _loop(figure, axes[1], plan, fall, summary)
        _momenta(axes[2], fall, summary)
    return path


def _orientation(ax: Any, fall: Fall, summary: Summary) -> None:
    degrees = np.degrees(tilts(fall))
    ax.plot(fall.t, degrees[:, 0], color=figures.FAMILY[1], linewidth=2.2, label="front half")
    ax.plot(fall.t, degrees[:, 1], color=figures.OURS, linewidth=2.2, label="rear half")
    ax.plot(fall.t, degrees[:, 2], color=figures.QUIET, linewidth=1.4, linestyle="--", label="halfway between them")
    ax.set_yticks([0, 45, 90, 135, 180], ["on its feet", "45°", "90°", "135°", "upside down"])
    ax.set_xlim(0.0, fall.t[-1])
    ax.set_xlabel("seconds since the drop")
    ax.set_title(f"Up axis against the vertical: {summary.turn:.1f}° in {summary.seconds:.2f} s", loc="left")
    ax.legend(loc="lower left")


def _loop(figure: Any, ax: Any, plan: Plan, fall: Fall, summary: Summary) -> None:
    robot = fall.robot
    bend, side = (robot.joint_names.index(name) for name in ("waist_bend", "waist_side"))
    values = np.linspace(-REACH, REACH, POINTS)
    grid = np.meshgrid(values, values)
    field = np.abs(curvature_map(robot, grid[0], grid[1]))
    image = ax.pcolormesh(*(np.degrees(g) for g in grid), field, cmap="YlGnBu", vmin=0.0, shading="gouraud")
    figure.colorbar(image, ax=ax, shrink=0.85, label="turn about the long axis per area, rad/rad²")
    s = np.degrees(plan.gait.at(np.linspace(0.0, 1.0, 400)).s)
    ax.plot(s[:, side], s[:, bend], color=figures.FAMILY[1], linewidth=2.4)
    for k in (90, 200, 310):
        arrow = {"arrowstyle": "-|>", "color": figures.FAMILY[1], "mutation_scale": 18}
        ax.annotate("", s[k + 4, [side, bend]], s[k, [side, bend]], arrowprops=arrow)
    ax.plot(0.0, 0.0, "o", color=figures.FAMILY[1], markersize=7)
    ax.annotate("straight", (0.0, 0.0), (7.0, 2.0), textcoords="offset points", color="white")
    ax.set_aspect("equal")
    ax.grid(visible=False)
    ax.set_xlabel("waist to the side, degrees")
    ax.set_ylabel("waist, belly-in to backward, degrees")
    ax.set_title(f"Curvature, and the loop: its integral is {summary.estimated_turn:.1f}°", loc="left")


def curvature_map(robot: Robot, side: Array, bend: Array) -> Array:
    """The long-axis component of the curvature over the bends of the tucked cat's waist, halfway between the halves."""
    i, j = (robot.joint_names.index(name) for name in ("waist_bend", "waist_side"))
    s = np.broadcast_to(circle(robot, 0.0).at(np.array(0.5)).s, (*side.shape, robot.n)).copy()
    s[..., i], s[..., j] = bend, side
    R = halfway(robot, s, "rear")
    return np.asarray(np.einsum("...a,...a->...", R[..., :, 0], curvature(robot, s)[..., :, i, j]))


def _momenta(ax: Any, fall: Fall, summary: Summary) -> None:
    spin = momenta(fall)[..., 0]
    ax.plot(fall.t, spin[:, 0], color=figures.FAMILY[1], linewidth=2.2, label="front half")
    ax.plot(fall.t, spin[:, 1], color=figures.OURS, linewidth=2.2, label="rear half")
    ax.plot(fall.t, spin.sum(axis=1), color="black", linewidth=1.4, label=f"together: below {power_of_ten(summary.momentum)}")
    ax.set_xlim(0.0, fall.t[-1])
    ax.set_ylim(1.1 * spin.min(), 1.75 * spin.max())  # room for the legend
    ax.set_xlabel("seconds since the drop")
    ax.set_title("Angular momentum about x, kg m²/s", loc="left")
    ax.legend(loc="upper right")
