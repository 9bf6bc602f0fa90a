"""`fallingcat papers NUMBER`: the tables and figures of a paper, recomputed here and now."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.text import Text

from fallingcat.cli.console import BAD, GOOD, QUIET, heading, stdout_console, table
from fallingcat.errors import InputError
from fallingcat.papers import PAPERS, Check, paper

ALL = "all"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", metavar="NUMBER", nargs="?", help="a paper, or 'all'; without it, the list of papers")
    parser.add_argument("--out", metavar="DIR", help="where figures and numbers go (default: out/papers/NUMBER)")
    parser.add_argument("--quick", action="store_true", help="measure times only roughly")
    parser.epilog = "Exit status: 0 when every check holds, 1 when one does not."
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    console = stdout_console()
    if arguments.paper is None:
        _list(console)
        return 0
    if arguments.paper != ALL and arguments.paper not in PAPERS:
        raise InputError(f"no paper {arguments.paper!r}", expected=", ".join([*PAPERS, ALL]))
    failed = 0
    for number in PAPERS if arguments.paper == ALL else (arguments.paper,):
        out = _folder(arguments.out, number, several=arguments.paper == ALL)
        module = paper(number)
        console.print(Text(f"Paper {number}: {module.TITLE}", style="bold"))
        checks = module.run(console, out, arguments.quick)
        _show(console, checks)
        failed += sum(not check.passed for check in checks)
    return 1 if failed else 0


def _list(console: Console) -> None:
    for number in PAPERS:
        console.print(Text(f"{number}  {paper(number).TITLE}"))


def _folder(wanted: str | None, number: str, several: bool) -> Path:
    folder = Path("out", "papers", number) if wanted is None else Path(wanted, number) if several else Path(wanted)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write to {str(folder)!r}", got=error.strerror or str(error), hint="choose another --out"
        ) from error
    return folder


def _show(console: Console, checks: list[Check]) -> None:
    heading(console, "Checks")
    t = table("", "", "measured", "", right=(2,))
    for check in checks:
        mark = Text("✓", style=GOOD) if check.passed else Text("✗", style=BAD)
        value = f"{check.value:.3g}" if check.value >= 0.01 else f"{check.value:.1e}" if check.value else "0"
        bound = f"{'≥' if check.at_least else '≤'} {check.bound:g}"
        t.add_row(mark, check.what, Text(value, style="" if check.passed else BAD), Text(bound, style=QUIET))
    console.print(t)
    failed = sum(not check.passed for check in checks)
    if failed:
        console.print(Text(f"{failed} of {len(checks)} checks fail", style=BAD))
    else:
        console.print(Text(f"all {len(checks)} checks hold", style=GOOD))
