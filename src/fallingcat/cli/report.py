"""`fallingcat report`: what a robot is, and whether its dynamics agree with themselves."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fallingcat import files
from fallingcat.apps.report.measure import Report, measure, steps
from fallingcat.apps.report.plain import as_json
from fallingcat.apps.report.states import read_state
from fallingcat.cli.options import add_robot, add_state, load_robot
from fallingcat.errors import InputError
from fallingcat.model.doctor import diagnose


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fallingcat report`."""
    add_robot(parser)
    add_state(parser)
    parser.add_argument(
        "--timings", metavar="WHICH", default="main",
        help="main (default): time four main functions; all: every function, which takes minutes the first time; none",
    )  # fmt: skip
    parser.add_argument("--html", metavar="FILE", help="write a page with figures and a drawing that can be turned")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = "Exit status: 0 when every check holds, 1 when one fails, 2 when the robot cannot be loaded."
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Load, measure, write, print."""
    from fallingcat.apps import console

    if arguments.timings not in ("none", "main", "all"):
        raise InputError("unknown --timings", expected="none, main or all", got=repr(arguments.timings))
    target = _target(arguments.html)
    robot = load_robot(arguments)
    state = read_state(robot, arguments.state)
    with console.progress(steps(robot, arguments.timings)) as step:
        report = measure(robot, state, diagnose(arguments.robot, meshes=False), step, arguments.timings)
    if target is not None:
        _write(report, target)
    if arguments.json:
        print(json.dumps(as_json(report), indent=2, allow_nan=False))
    elif target is not None:
        _say_written(report, target)
    else:
        _show(report)
    return 0 if all(check.passed is not False for check in report.checks) else 1


def _target(name: str | None) -> Path | None:
    """The path of the page; refused at once, before anything is computed."""
    if name is None:
        return None
    if name == "-":
        raise InputError("--html cannot be written", expected="a file", got="'-'", hint="/dev/stdout is where output goes")
    return files.check(name)


def _write(report: Report, target: Path) -> None:
    from fallingcat.apps import view
    from fallingcat.apps.report.page import page

    view.write(target, page(report))


def _show(report: Report) -> None:
    from fallingcat.apps.console import stdout_console
    from fallingcat.apps.report.terminal import show

    show(report, stdout_console())


def _say_written(report: Report, target: Path) -> None:
    from rich.console import Console
    from rich.text import Text

    from fallingcat.apps.console import stdout_console
    from fallingcat.apps.report.terminal import summary

    # A page that is itself the output stays whole.
    console = Console(stderr=True, highlight=False) if files.stream(target) == 1 else stdout_console()
    console.print(summary(report))
    console.print(Text.assemble("written to ", (str(target), "bold")), soft_wrap=True)
