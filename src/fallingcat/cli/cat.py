"""`fallingcat cat`: drop a cat upside down, say how it lands, and write a page that shows it.

The work is in `fallingcat.apps.cat`; this module presents it.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from fallingcat.apps import figures
from fallingcat.apps.cat import Summary, drop, plan, summarize
from fallingcat.apps.cat.fall import check_height
from fallingcat.apps.cat.picture import draw, page
from fallingcat.apps.console import BAD, GOOD, STRONG, facts, progress, stdout_console
from fallingcat.apps.files import folder, show_written
from fallingcat.apps.view import write
from fallingcat.robot.robot import load

HEIGHT = 1.25
ROBOT = "cat"
STEPS = 34
"""Steps of the progress bar: about as many as plan and fall report."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fallingcat cat`."""
    parser.add_argument("--height", type=float, default=HEIGHT, metavar="M", help=f"metres that it falls (default: {HEIGHT})")
    parser.add_argument("--out", default="out/cat", metavar="DIR", help="where the page and the figure go (default: out/cat)")
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = "Exit status: 0 when it lands on its feet and no joint is asked too much, 1 otherwise."
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Plan, drop, write, print."""
    check_height(arguments.height)
    out = folder(arguments.out)
    robot = load(ROBOT)
    with progress(STEPS) as step:
        found = plan(robot, step)
        fall = drop(robot, found.gait, arguments.height, step)
        step("measuring")
        summary = summarize(found, fall)
        step("drawing")
        written = [write(out / "falling_cat.html", page(fall, summary))]
        if figures.available():
            written.append(draw(found, fall, summary, out / "falling_cat.png"))
    if arguments.json:
        print(json.dumps(as_json(summary, written), indent=2, allow_nan=False))
    else:
        show(summary, written, stdout_console())
    if arguments.open:
        import webbrowser

        webbrowser.open(written[0].resolve().as_uri())
    return 0 if summary.lands_on_its_feet and summary.within_limits else 1


def show(summary: Summary, written: list[Path], console: Console) -> None:
    """Print the summary."""
    s = summary
    feet = Text("on its feet", style=GOOD) if s.lands_on_its_feet else Text("not on its feet", style=BAD)
    but = "" if s.within_limits else ", but no cat can do that"
    console.print(Text.assemble(("The cat lands ", STRONG), feet, (but, BAD)))
    limits = Text("kept: angles, speeds, torques", style=GOOD)
    if not s.within_limits:
        limits = Text(f"exceeded: this gait needs {s.least_height:.2f} m", style=BAD)
    millimetres = ", ".join(f"{abs(1e3 * x):.1f}" for x in s.paws)
    half = f"each half up to {s.front_momentum:.2f} about the long axis"
    console.print(
        facts(
            [
                ("turned by", f"{s.turn:.2f}° in {s.seconds:.3f} s, falling {s.height:g} m"),
                ("area integral of the curvature", f"{s.estimated_turn:.2f}°, an estimate; the plan took {s.steps} Newton steps"),
                ("angular momentum", f"{s.momentum:.1e} kg m²/s at most, {half}"),
                ("simulation against geometry", f"{s.off_prediction:.1e} m or rad at most"),
                ("work of the torques", f"{s.work:.1f} J; the energy balance closes to {abs(s.energy_error):.0e} J"),
                ("fastest joint", _share(s.speed, "rad/s")),
                ("hardest worked joint", _share(s.torque, "N m")),
                ("limits", limits),
                ("least height", f"{s.least_height:.2f} m: speeds go with 1/T, torques with 1/T²"),
                ("at the touch", f"front {s.front_tilt:.2f}°, rear {s.rear_tilt:.2f}° from upright; paws at {millimetres} mm"),
            ]
        )
    )
    show_written(console, written)


def _share(most: Any, unit: str) -> str:
    return f"{most.joint}: {most.value:.3g} {unit}, {most.share:.0%} of its limit"


def as_json(summary: Summary, written: list[Path]) -> dict[str, Any]:
    """The numbers in plain types."""
    found = asdict(summary) | {"speed": summary.speed._asdict(), "torque": summary.torque._asdict()}
    verdict = {"lands_on_its_feet": summary.lands_on_its_feet, "within_limits": summary.within_limits}
    return found | verdict | {"written": [str(path) for path in written]}
