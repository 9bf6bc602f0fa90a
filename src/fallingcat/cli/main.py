"""The command `fallingcat`.

To add a subcommand, write a module with `add(parser)`, which declares the arguments and sets the default
`run` to a function of the parsed arguments that returns the exit status, and one row in `COMMANDS`.
A module is imported only when its command is called, so that `fallingcat --help` stays quick.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import resources
from typing import NamedTuple, NoReturn

from fallingcat import __version__, interrupts
from fallingcat.errors import FallingCatError
from fallingcat.interrupts import INTERRUPTED
from fallingcat.suggest import closest
from fallingcat.text import printable

USAGE_ERROR = 2
BROKEN_PIPE = 141
"""The exit status that a shell reports for a closed pipe."""
INTERNAL_ERROR = 70
IO_ERROR = 74
"""The exit status if the output cannot be written or a file cannot be read."""


class Command(NamedTuple):
    """One row of the table of subcommands."""

    name: str
    summary: str
    add: Callable[[argparse.ArgumentParser], None]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status. An error of the user gives one message and never a traceback."""
    words = list(sys.argv[1:] if argv is None else argv)
    _never_fail_on_characters()
    try:
        interrupts.restore()
        status = _status(words)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("fallingcat: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()  # the reader has left
        return BROKEN_PIPE
    except OSError as error:  # a full disk, most often
        _forget_output()
        where = f" {str(error.filename)!r}" if error.filename else ""
        print(f"fallingcat: cannot read or write{where}: {error.strerror or error}", file=sys.stderr)
        return IO_ERROR
    except SystemExit as end:  # argparse ends with 0 or 2, rich with 1 when the reader has left
        if end.code == 1:
            return BROKEN_PIPE
        return end.code if isinstance(end.code, int) else USAGE_ERROR if end.code else 0
    except Exception as error:  # a bug: reported in one line, unless a traceback is asked for
        if os.environ.get("FALLINGCAT_DEBUG"):
            raise
        print(f"fallingcat: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print("this should not happen; FALLINGCAT_DEBUG=1 shows where it did", file=sys.stderr)
        return INTERNAL_ERROR


def _status(words: Sequence[str]) -> int:
    """The exit status of the command, or of the message that refuses it; writing either may fail (full disk, closed pipe)."""
    try:
        return _run(words)
    except FallingCatError as error:
        return _refuse(error, "--json" in words)


def _refuse(error: FallingCatError, as_json: bool) -> int:
    """Print an error on stderr, and as JSON on stdout if this was asked for."""
    if as_json:
        findings = [asdict(finding) for finding in getattr(error, "findings", ())]
        message = {"type": type(error).__name__, "message": str(error), "findings": findings}
        print(json.dumps({"error": message}, indent=2), flush=True)
    print(f"fallingcat: {error}", file=sys.stderr)
    return USAGE_ERROR


def _forget_output() -> None:
    """Drop what is still buffered, so that writing it cannot fail at exit."""
    with contextlib.suppress(io.UnsupportedOperation):  # a stream without a file descriptor has nothing to drop
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Parser(argparse.ArgumentParser):
    """An argument parser whose error messages show unknown arguments escaped and shortened."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message, limit=1000))


def _run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="fallingcat",
        description="Geometric dynamics of robots with nothing to hold on to.",
        epilog="'fallingcat COMMAND --help' explains a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fallingcat {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    # No option before the command takes a value, so the first word is the command.
    called = next((word for word in words if not word.startswith("-")), None)
    if called is not None and called not in (names := [command.name for command in COMMANDS]):
        parser.error(f"no command {called!r}; {closest(called, names)}")
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.summary, description=command.summary, allow_abbrev=False)
        if command.name == called:
            command.add(sub)
    arguments = parser.parse_args(words)
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return USAGE_ERROR
    status: int = arguments.run(arguments)
    return status


def _never_fail_on_characters() -> None:
    """A terminal that cannot show a character shows a question mark instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def module(name: str) -> Callable[[argparse.ArgumentParser], None]:
    """The `add` of a module, which is imported when its command is called."""

    def add(parser: argparse.ArgumentParser) -> None:
        importlib.import_module(f"fallingcat.cli.{name}").add(parser)

    return add


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a URDF, xacro, MJCF or SDF file, or the name of a bundled robot")
    parser.add_argument("--json", action="store_true", help="print JSON")
    where = "a folder in which packages and meshes are looked for; may be given several times"
    parser.add_argument("--package-dir", action="append", default=[], metavar="DIR", help=where)
    parser.epilog = "Exit status: 0 healthy (there may be notes), 1 with warnings, 2 with errors."

    def run(arguments: argparse.Namespace) -> int:
        from fallingcat.cli.doctor import doctor

        return doctor(arguments.file, as_json=arguments.json, package_dirs=arguments.package_dir)

    parser.set_defaults(run=run)


def _add_robots(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")

    parser.set_defaults(run=_list_robots)


def _list_robots(arguments: argparse.Namespace) -> int:
    from rich.text import Text

    from fallingcat.apps.console import fitted, stdout_console
    from fallingcat.model.sources import bundled_robots
    from fallingcat.robot.robot import load

    robots = [(name, load(name), _first_sentence(name)) for name in bundled_robots()]
    if arguments.json:
        rows = [{"name": name, "n": r.n, "mass": r.mass, "base": r.base, "summary": words} for name, r, words in robots]
        print(json.dumps(rows, indent=2))
        return 0
    console = stdout_console()
    lines = [
        {"robot": Text(name, style="bold"), "joint dof": Text(str(r.n)), "kg": Text(f"{r.mass:.4g}"), "": Text(words)}
        for name, r, words in robots
    ]
    console.print(fitted(lines, console.width, right=("joint dof", "kg"), fold=("",)))
    return 0


def _first_sentence(name: str) -> str:
    """The first sentence of the comment at the head of a bundled robot's file."""
    text = resources.files("fallingcat").joinpath("model", "robots", f"{name}.urdf").read_text(encoding="utf-8")
    comment = re.search(r"<!--\s*(.+?)(\.\s|-->)", text, re.DOTALL)
    return " ".join(comment.group(1).split()) if comment else ""


COMMANDS = (
    Command("report", "Describe a robot: its tree, masses, mass matrix, and a check of its dynamics.", module("report")),
    Command("doctor", "Say what is wrong with a robot description, with line and cure.", _add_doctor),
    Command("linearize", "Linearize a robot on its group of states: A, B, eigenvalues, controllability.", module("linearize")),
    Command("bench", "Time every function of a robot, beside Pinocchio where it is installed.", module("bench")),
    Command("export", "Write a robot's functions as C, as an object file, or as WebAssembly.", module("export")),
    Command("papers", "Reproduce the tables and figures of a paper, with its corrections.", module("papers")),
    Command("view", "Show a robot in the browser, with sliders, frames, momentum and a link's numbers.", module("view")),
    Command(
        "play",
        "Write a page in which a robot can be grabbed, thrown, kicked and dropped: its own dynamics, live.",
        module("play"),
    ),
    Command("cat", "Drop a cat upside down: it lands on its feet with no angular momentum.", module("cat")),
    Command("sample", "Random states of a robot into a file, as many as a disk holds.", module("sample")),
    Command("map", "Functions of a robot at all states of a file, chunk by chunk, here or on a cluster.", module("map")),
    Command("robots", "List the robots that come with the library.", _add_robots),
)
