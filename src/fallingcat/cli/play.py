"""`fallingcat play`: a page in which a robot's own dynamics runs, to be grabbed and thrown."""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

from rich.text import Text

from fallingcat import files
from fallingcat.apps.console import progress, stdout_console
from fallingcat.apps.report.states import read_state
from fallingcat.cli.options import add_robot, add_state, load_robot
from fallingcat.errors import InputError

STEPS = 40
"""Steps of the progress bar: about as many as meshes, functions and the plan report."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fallingcat play`."""
    add_robot(parser)
    add_state(parser)
    parser.add_argument("--html", metavar="FILE", help="where the page goes; otherwise a temporary file, opened in the browser")
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.epilog = "The page is one file that needs no network: send it to a friend."
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Load, compile, write, open."""
    from fallingcat.apps import play, view

    target = None if arguments.html is None else files.check(arguments.html)
    robot = load_robot(arguments)
    if not robot.nv or not robot.mass > 0.0:
        got = "no degree of freedom" if not robot.nv else "nothing that moves has mass"
        raise InputError("this robot cannot be played with", expected="something that moves and has mass", got=got)
    state = read_state(robot, arguments.state)
    with progress(STEPS) as step:
        page = play.page(robot, state.q, step)
    if target is None:
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", robot.name)[:40] or "robot"
        target = Path(tempfile.mkdtemp(prefix="fallingcat_")) / f"{name}.html"
    view.write(target, page)
    stdout_console().print(Text.assemble("written to ", (str(target), "bold")), soft_wrap=True)
    if arguments.open or arguments.html is None:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())
    return 0
