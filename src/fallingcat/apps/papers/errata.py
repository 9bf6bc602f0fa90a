"""The errata of the papers: `errata.toml` as a table, its counts, and the page of the documentation that is made of it.

`python -m fallingcat.apps.papers.errata` prints `docs/errata.md`.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from fallingcat.apps.papers import PAPERS, paper

KINDS = {
    "error": "what is printed is false",
    "omission": "something is missing, and the obvious guess is wrong",
    "copy": "typesetting of the copy of the text at hand, not of the paper, as far as one can tell without its authors",
    "withdrawn": "it was listed here, and the paper is right",
}
"""What the kinds of errata mean."""


@dataclass(frozen=True)
class Erratum:
    """One finding; `errata.toml` explains the fields."""

    number: str
    where: str
    kind: str
    printed: str
    holds: str
    tests: tuple[str, ...]
    as_printed: float | str = ""
    """Error as printed, or why there is none."""
    corrected: float | None = None

    @property
    def paper(self) -> str:
        return f"{int(self.number.split('.')[0]):03d}"

    @property
    def fails(self) -> bool:
        """What is printed was evaluated, or could not be, and does not hold."""
        return bool(self.as_printed)

    @property
    def off(self) -> str:
        """The errors as printed → corrected, in words."""
        first = self.as_printed if isinstance(self.as_printed, str) else amount(self.as_printed)
        second = "" if self.corrected is None else f"{self.corrected:.0e}" if self.corrected else "0"
        return f"{first} → {second}".strip() if second else first


def amount(x: float) -> str:
    """An error that is not small, with two digits."""
    return f"{x:.0f}" if x >= 10.0 else f"{x:.2g}"


@cache
def errata() -> tuple[Erratum, ...]:
    """All errata, in the order of the papers."""
    rows = tomllib.loads(resources.files("fallingcat").joinpath("apps", "papers", "errata.toml").read_text(encoding="utf-8"))
    return tuple(_erratum(row) for row in rows["erratum"])


def _erratum(row: dict[str, Any]) -> Erratum:
    off = [*row.pop("off", []), None, None][:2]
    return Erratum(**row | {"tests": tuple(row["tests"])}, as_printed=off[0] or "", corrected=off[1])


def of_paper(number: str, measured: Iterable[Mapping[str, Any]] = ()) -> list[Erratum]:
    """Errata of a paper, with the errors of a run where it measured them.

    measured: entries of its `numbers.json` with `printed` and `corrected`, found by `number`, or by `where` if there is none.
    """
    found: dict[str, tuple[float | None, float]] = {}
    for m in measured:
        key = m.get("number") or m["where"]
        printed, corrected = found.get(key, (None, 0.0))
        most = max((x for x in (printed, m["printed"]) if x is not None), default=None)
        found[key] = most, max(corrected, m["corrected"])
    result = []
    for e in errata():
        if e.paper == number:
            this = found.get(e.number) or found.get(e.where)
            if this is not None:
                e = replace(e, as_printed=e.as_printed if this[0] is None else this[0], corrected=this[1])
            result.append(e)
    return result


def counts(chosen: Sequence[Erratum]) -> str:
    """How many, and of which kinds, in words."""
    kinds = Counter(e.kind for e in chosen)
    parts = [f"{kinds[kind]} {kind}" for kind in KINDS if kinds[kind]]
    fails = sum(e.fails for e in chosen)
    return f"{len(chosen)} entries ({', '.join(parts)}); {fails} were run as printed and fail"


# ---------------------------------------------------------------------------------------------------------------------
# The page of the documentation


def markdown() -> str:
    """`docs/errata.md`."""
    lines = [
        "# Errata of the papers",
        "",
        "What does not hold as printed, found by running it against independent witnesses. Each finding has a test, which would",
        "fail if the printed formula were right or the corrected one were not. The findings are kept in",
        "`src/fallingcat/apps/papers/errata.toml`, from which this page is made (`python -m fallingcat.apps.papers.errata`);",
        "`fallingcat papers` shows them beside the numbers of your own run.",
        "",
        f"{counts(errata())}.",
        "The others are numbers quoted wrongly, text that is garbled where one reading only makes sense, or withdrawn. We had no",
        "more than the text of the papers: what may be a fault of that copy is told apart from errors of the papers.",
        "",
        "| kind | |",
        "|---|---|",
        *(f"| {kind} | {meaning} |" for kind, meaning in KINDS.items()),
        "",
        "*off by*: the largest difference, as printed → corrected, relative to the largest entry or to one, worst of the robots",
        "of `fallingcat papers`.",
    ]
    for number in PAPERS:
        lines += ["", f"## {number}", "", f"{paper(number).TITLE}."]
        for e in of_paper(number):
            lines += ["", *_entry(e)]
    return "\n".join(lines) + "\n"


def _entry(e: Erratum) -> list[str]:
    off = f", {'off by ' if isinstance(e.as_printed, float) else ''}{e.off}" if e.off else ""
    return [
        f"### {e.number} {safe(e.where)}",
        "",
        f"- *{e.kind}*{off}",
        f"- printed: {safe(e.printed)}",
        f"- holds: {safe(e.holds)}",
        f"- test: {', '.join(f'`{test}`' for test in e.tests)}",
    ]


def short(test: str) -> str:
    """A test without the folder that all are in."""
    return test.removeprefix("tests/")


def safe(words: str) -> str:
    """Text in which nothing is markup."""
    for mark in "\\*_[":
        words = words.replace(mark, "\\" + mark)
    return words.replace("<", "&lt;")


if __name__ == "__main__":
    print(markdown(), end="")
