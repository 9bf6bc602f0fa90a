"""`fallingcat export ROBOT FUNCTION... --out DIR`: functions of a robot for other programs and machines."""

from __future__ import annotations

import argparse
import json

from rich.text import Text

from fallingcat.apps.console import QUIET, STRONG, fitted, heading, stdout_console
from fallingcat.cli.options import add_robot, load_robot
from fallingcat.deploy.export import Export, export
from fallingcat.deploy.rate import shown
from fallingcat.text import printable


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fallingcat export`."""
    add_robot(parser)
    parser.add_argument(
        "functions", metavar="FUNCTION", nargs="+",
        help="as inverse_dynamics, frame_pose:tool, frame_jacobian:tool,representation=mixed, step:rk4",
    )  # fmt: skip
    parser.add_argument("--out", metavar="DIR", required=True, help="the folder to write to")
    parser.add_argument("--target", default="c", help="c (default), wasm, or an LLVM triple such as aarch64-linux-gnu")
    parser.add_argument("--cpu", default="", help="the processor of an object file, as LLVM calls it")
    parser.add_argument("--precision", default="double", help="double (default) or float")
    parser.add_argument("--name", default=None, help="of files and functions, instead of the robot's")
    parser.add_argument("--rate", action="store_true", help="measure how long a call takes here, and say it in the header")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Load, export, say what was written."""
    robot = load_robot(arguments)
    done = export(
        robot, arguments.functions, arguments.out, arguments.target, arguments.precision, arguments.cpu, arguments.rate,
        arguments.name,
    )  # fmt: skip
    if arguments.json:
        print(json.dumps(as_json(done), indent=2))
    else:
        show(done)
    return 0


def as_json(done: Export) -> dict[str, object]:
    """What was written, in plain types."""
    functions = [
        {"name": f.name, "operations": f.operations, "workspace": f.workspace, "seconds": f.seconds} for f in done.functions
    ]
    return {"files": [str(path) for path in done.files], "functions": functions, "code_size": done.code_size}


def show(done: Export) -> None:
    """A table of functions, and where the files are."""
    console = stdout_console()
    lines = []
    for f in done.functions:
        line = {
            "function": Text(f.name, style=STRONG),
            "operations": Text(f"{f.operations:,}"),
            "workspace": Text(f"{f.workspace:,}"),
        }
        if f.seconds is not None:
            line["a call here"] = Text(shown(f.seconds))
        lines.append(line)
    console.print(fitted(lines, console.width, right=("operations", "workspace", "a call here")))
    if done.code_size is not None:
        console.print(Text(f"{done.code_size:,} bytes of code and constants", style=QUIET))
    heading(console, "Written")
    for path in done.files:
        console.print(Text(printable(str(path), limit=4096)), soft_wrap=True)
