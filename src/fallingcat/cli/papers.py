"""`fallingcat papers [NUMBER | all]`: the tables and figures of the papers, recomputed here and now, and what they get wrong."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

from rich.console import Console
from rich.text import Text

from fallingcat.apps import figures, view
from fallingcat.apps.console import QUIET, stdout_console, table
from fallingcat.apps.files import folder
from fallingcat.apps.papers import PAPERS, paper
from fallingcat.apps.papers import summary_terminal as terminal
from fallingcat.apps.papers.errata import of_paper
from fallingcat.apps.papers.summary import Result, as_json, reproduce
from fallingcat.apps.papers.summary_page import page
from fallingcat.errors import InputError

ALL = "all"
PAGE = "index.html"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fallingcat papers`."""
    parser.add_argument("paper", metavar="NUMBER", nargs="?", help="a paper, or 'all'; without it, the list of papers")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help=f"where figures, numbers and {PAGE} go (default: out/papers, for one paper out/papers/NUMBER)",
    )
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument("--quick", action="store_true", help="few draws, small sizes and rough times: minutes (default)")
    pace.add_argument("--full", action="store_true", help="as many draws and sizes as the papers, times measured with care")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = (
        f"Writes the figures, the numbers as JSON, and {PAGE}: every table and figure with what is printed, what was found and a "
        "verdict, and the errata, each with its test. Exit status: 0 when every check holds, 1 when one does not, 2 when the "
        "command is wrong."
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.paper is None:
        _list(arguments.json)
        return 0
    if arguments.paper.isdecimal():
        arguments.paper = arguments.paper.zfill(3)
    if arguments.paper != ALL and arguments.paper not in PAPERS:
        raise InputError(f"no paper {arguments.paper!r}", expected=", ".join([*PAPERS, ALL]))
    several, quick = arguments.paper == ALL, not arguments.full
    home = Path(arguments.out or Path("out", "papers", *([] if several else [arguments.paper])))
    numbers = list(PAPERS) if several else [arguments.paper]
    folders = {number: folder(home / number if several else home) for number in numbers}
    console = stdout_console()
    results = [_one(number, folder, console, quick, arguments.json, several) for number, folder in folders.items()]
    written = view.write(home / PAGE, page(results, quick))
    if arguments.json:
        print(json.dumps(as_json(results, quick) | {"page": str(written)}, indent=2, allow_nan=False))
    else:
        _end(console, results, written)
    return 1 if any(r.failed for r in results) else 0


def _one(number: str, folder: Path, console: Console, quick: bool, silent: bool, several: bool) -> Result:
    """Run a paper and show it: all of its output if it is the only one, its summary if there are several."""
    module = paper(number)
    if not silent:
        console.print(Text(f"Paper {number}: {module.TITLE}", style="bold"))
    quiet = Console(file=io.StringIO(), width=console.width)
    result = reproduce(number, module, quiet if silent or several else console, folder, quick)
    if not silent:
        terminal.show_claims(console, result.claims)
        terminal.show_errata(console, result.errata)
        if several and not result.failed:
            console.print(terminal.held(result.checks), end="\n\n")
        else:
            terminal.show_checks(console, result.checks)
    return result


def _end(console: Console, results: list[Result], written: Path) -> None:
    if len(results) > 1:
        terminal.show_overview(console, results)
    if not figures.available():
        console.print(Text(figures.MISSING, style="yellow"))
    console.print(Text.assemble("\nwritten to ", (str(written), "bold")), soft_wrap=True)


def _list(in_json: bool) -> None:
    rows = [(number, paper(number).TITLE, of_paper(number)) for number in PAPERS]
    if in_json:
        print(json.dumps([{"number": n, "title": title, "errata": len(errata)} for n, title, errata in rows], indent=2))
        return
    console = stdout_console()
    t = table("", "paper", "errata", right=(2,))
    t.columns[1].no_wrap = False
    for n, title, errata in rows:
        t.add_row(Text(n, style="bold"), Text(title), str(len(errata)))
    console.print(t)
    console.print(Text("\n'fallingcat papers NUMBER' reproduces one, 'fallingcat papers all' reproduces them all.", style=QUIET))
