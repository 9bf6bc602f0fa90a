"""The summary in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rich.console import Console
from rich.text import Text

from fallingcat.apps.console import BAD, DOUBT, GOOD, QUIET, STRONG, heading, table
from fallingcat.apps.papers import Check
from fallingcat.apps.papers.claims import Claim, Verdict
from fallingcat.apps.papers.errata import Erratum, counts, short
from fallingcat.apps.papers.summary import Result

STYLES: dict[Verdict, str] = {
    "holds": GOOD, "corrected": "cyan", "not reproduced": DOUBT, "not reproducible": DOUBT, "timing": "magenta",
    "illustration": QUIET, "fails": BAD,
}  # fmt: skip


def show_claims(console: Console, claims: Sequence[Claim]) -> None:
    """What is printed, what was found, and the verdict."""
    heading(console, "Tables and figures")
    t = table("", "", "printed", "ours", "verdict")
    for column in t.columns[1:4]:
        column.no_wrap, column.overflow = False, "fold"
    again = [False, *(a.where == b.where for a, b in pairwise(claims))]
    for claim, same in zip(claims, again, strict=True):
        t.add_row(
            Text("" if same else claim.where), Text(claim.what), Text(claim.printed), Text(claim.ours, style=STRONG),
            Text(claim.verdict, style=STYLES[claim.verdict]),
        )  # fmt: skip
    console.print(t)


def show_errata(console: Console, errata: Sequence[Erratum]) -> None:
    """Each with the test that shows it."""
    if not errata:
        return
    heading(console, "Errata", f"{counts(errata)}; off by: as printed → corrected")
    t = table("", "where", "off by", "what holds, and its test in tests/")
    t.columns[1].no_wrap = t.columns[3].no_wrap = False
    t.columns[3].overflow = "fold"
    t.columns[1].max_width = 24
    for e in errata:
        what = Text(e.holds)
        for test in e.tests:
            what.append("\n" + short(test), style=QUIET)
        t.add_row(Text(e.number), Text(e.where), Text(e.off, style=STRONG), what)
    console.print(t)


def show_checks(console: Console, checks: Sequence[Check]) -> None:
    """Print all checks with what was measured."""
    heading(console, "Checks")
    t = table("", "", "measured", "", right=(2,))
    for check in checks:
        mark = Text("✓", style=GOOD) if check.passed else Text("✗", style=BAD)
        value = f"{check.value:.3g}" if check.value >= 0.01 else f"{check.value:.1e}" if check.value else "0"
        bound = f"{'≥' if check.at_least else '≤'} {check.bound:g}"
        t.add_row(mark, Text(check.what), Text(value, style="" if check.passed else BAD), Text(bound, style=QUIET))
    console.print(t)
    console.print(held(checks))


def held(checks: Sequence[Check]) -> Text:
    """One line about all checks."""
    failed = sum(not check.passed for check in checks)
    if failed:
        return Text(f"{failed} of {len(checks)} checks fail", style=BAD)
    return Text(f"all {len(checks)} checks hold", style=GOOD)


def show_overview(console: Console, results: Sequence[Result]) -> None:
    """Print one line for each paper."""
    heading(console, "All papers")
    names: list[Verdict] = [v for v in STYLES if any(v in r.verdicts for r in results)]
    t = table("", *names, "errata", "fail as printed", "checks", "seconds", right=range(1, len(names) + 5))
    for r in results:
        cells = [Text(str(r.verdicts.get(v, "")), style=STYLES[v]) for v in names]
        checks = Text(f"{len(r.checks) - r.failed}/{len(r.checks)}", style=BAD if r.failed else GOOD)
        fails = str(sum(e.fails for e in r.errata))
        t.add_row(Text(r.number, style=STRONG), *cells, str(len(r.errata)), fails, checks, f"{r.seconds:.0f}")
    console.print(t)
