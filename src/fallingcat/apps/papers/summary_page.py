"""The summary as a self-contained page, with the figures inside."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from itertools import pairwise

from fallingcat.apps import figures, view
from fallingcat.apps.papers.claims import VERDICTS, Claim, Verdict
from fallingcat.apps.papers.errata import KINDS, Erratum, counts, short
from fallingcat.apps.papers.summary import Result
from fallingcat.apps.view import section, table, text

LONG = 1000
"""Largest number of characters of a sentence; longer ones are cut."""


def page(results: Sequence[Result], quick: bool) -> str:
    """The HTML of the whole summary."""
    titles = [r.number for r in results]
    links = "".join(f'<a href="#{name}">{name}</a>' for name in titles) + '<a href="#verdicts">Verdicts</a>'
    top = f"{_overview(results)}\n<nav>{links}</nav>\n{_contents(results)}"
    body = top + "".join(map(_paper, results)) + section("Verdicts", _legend())
    heading = "Five papers, reproduced" if len(results) > 1 else f"Paper {titles[0]}, reproduced"
    whole = view.page(heading, body, subtitle=_subtitle(results, quick))
    style = resources.files("fallingcat").joinpath("apps", "papers", "summary.css").read_text(encoding="utf-8")
    return whole.replace("</style>", f"{style}</style>", 1)


def _subtitle(results: Sequence[Result], quick: bool) -> str:
    checks, failed = sum(len(r.checks) for r in results), sum(r.failed for r in results)
    said = f"{failed} of {checks} checks fail" if failed else f"all {checks} checks hold"
    versions = next((r.versions for r in results if r.versions), {})
    where = ", ".join(f"{name} {versions[name]}" for name in ("python", "numpy", "cpu") if name in versions)
    pace = "quick run: times and sizes are rough, --full takes longer" if quick else "full run"
    return "; ".join(part for part in (said, where, pace) if part)


def _overview(results: Sequence[Result]) -> str:
    cards = []
    for r in results:
        fails = sum(e.fails for e in r.errata)
        errata = f"{len(r.errata)} errata, {fails} fail as printed" if r.errata else "no errata"
        checks = f"{r.failed} of {len(r.checks)} checks fail" if r.failed else f"{len(r.checks)} checks hold"
        cards.append(
            f'<a href="#{text(r.number)}"><b>{text(r.number)}</b><span class="title">{text(r.title)}</span>'
            f'<span class="chips">{_chips(r.verdicts)}</span><span class="foot">{errata}; {checks}</span></a>'
        )
    if len(results) > 1:
        cards.append(_together(results))
    return f'<div class="overview">{"".join(cards)}</div>'


def _contents(results: Sequence[Result]) -> str:
    """What is on the page, paper by paper."""
    rows = []
    for r in results:
        parts = {"figures": len(r.figures), "errata": len(r.errata), "checks": len(r.checks)}
        there = [("tables", "Tables and figures"), *((key, f"{count} {key}") for key, count in parts.items() if count)]
        links = " · ".join(f'<a href="#{text(r.number)}-{key}">{words}</a>' for key, words in there)
        rows.append(f'<dt><a href="#{text(r.number)}">{text(r.number)}</a></dt><dd>{text(r.title, LONG)}<br>{links}</dd>')
    return f'<details class="contents" open><summary>Contents</summary><dl>{"".join(rows)}</dl></details>\n'


def _together(results: Sequence[Result]) -> str:
    """A card like those of the papers, with the sums."""
    errata = [e for r in results for e in r.errata]
    verdicts: Counter[Verdict] = sum((Counter(r.verdicts) for r in results), Counter())
    checks, failed = sum(len(r.checks) for r in results), sum(r.failed for r in results)
    said = f"{failed} of {checks} checks fail" if failed else f"{checks} checks hold"
    return (
        f'<a href="#verdicts"><b>Together</b><span class="title">{text(counts(errata))}.</span>'
        f'<span class="chips">{_chips({v: verdicts[v] for v in VERDICTS if verdicts[v]})}</span>'
        f'<span class="foot">{len(errata)} errata, each with its test; {said}</span></a>'
    )


def _chips(verdicts: Mapping[Verdict, int]) -> str:
    return "".join(f'<span class="chip {_class(v)}">{count} {v}</span>' for v, count in verdicts.items())


def _class(name: str) -> str:
    return name.replace(" ", "-")


def _legend() -> str:
    rows = [f'<dt><span class="chip {_class(v)}">{v}</span></dt><dd>{text(meaning)}</dd>' for v, meaning in VERDICTS.items()]
    rows += [
        f'<dt><span class="chip kind {kind}">{kind}</span></dt><dd>of an erratum: {text(meaning)}</dd>'
        for kind, meaning in KINDS.items()
    ]
    return f'<dl class="legend">{"".join(rows)}</dl>'


# ---------------------------------------------------------------------------------------------------------------------
# One paper


def _paper(r: Result) -> str:
    head = f'<h3 id="{text(r.number)}-tables">Tables and figures</h3>'
    parts = [f'<div class="chips">{_chips(r.verdicts)}</div>', head, _claims(r.claims), _figures(r)]
    if r.errata:
        head = f'<h3 id="{text(r.number)}-errata">Errata</h3>'
        parts += [head, f'<p class="note">{text(counts(r.errata))}.</p>', _errata(r.errata)]
    parts.append(_checks(r))
    return section(r.number, "\n".join(parts), r.title)


def _named(names: Sequence[str], cells: Sequence[str]) -> list[str]:
    """Cells that say what they are where a table is too narrow for a head; `table` writes the <td> around them."""
    return [f'<span data-name="{name}">{cell}</span>' if name and cell else cell for name, cell in zip(names, cells, strict=True)]


def _breakable(name: str) -> str:
    """A name that may be broken where its words end."""
    return name.replace("::", "::<br>").replace("_", "_<wbr>")


def _numbers(words: str) -> str:
    """Text whose numbers are not broken at the minus of their exponents."""
    return re.sub(r"\d[\d.]*e-\d+", lambda found: f"<span class=whole>{found.group()}</span>", text(words))


def _claims(rows: Sequence[Claim]) -> str:
    heads = ["", "what", "printed", "ours", "verdict", ""]
    again = [False, *(a.where == b.where for a, b in pairwise(rows))]
    lines = []
    for claim, same in zip(rows, again, strict=True):
        chip = f'<span class="chip {_class(claim.verdict)}">{claim.verdict}</span>'
        note = text(claim.note, LONG)
        where = f'<span class="{"again" if same else "first"}">{text(claim.where)}</span>'
        cells = [where, text(claim.what, LONG), _numbers(claim.printed), _numbers(claim.ours), chip, note]
        lines.append(_named(["", "", "printed", "ours", "", ""], cells))
    return table(heads, lines, name="claims")


def _errata(rows: Iterable[Erratum]) -> str:
    lines = []
    for e in rows:
        first, arrow, second = e.off.partition(" → ")
        off = f"<i>{text(first)}</i> → <b>{text(second)}</b>" if arrow else text(first)
        where = f'{text(e.where)}<br><span class="chip kind {e.kind}">{e.kind}</span>'
        tests = "".join(f"<code>{_breakable(text(short(test)))}</code>" for test in e.tests)
        cells = [e.number, where, text(e.printed, LONG), text(e.holds, LONG), off, tests]
        lines.append(_named(["", "", "printed", "holds", "off by", "test"], cells))
    return table(["", "where", "printed", "holds", "off by", "test, in tests/"], lines, name="errata")


def _figures(r: Result) -> str:
    if not r.figures:
        return "" if figures.available() else f'<p class="note">{text(figures.MISSING)}</p>'
    shots = []
    for path, caption in r.figures.items():
        data = base64.b64encode(path.read_bytes()).decode("ascii")
        image = f'<img alt="{text(caption, LONG)}" src="data:image/png;base64,{data}">'
        shots.append(f"<figure>{image}<figcaption>{text(caption, LONG)}</figcaption></figure>")
    return f'<div class="shots" id="{text(r.number)}-figures">{"".join(shots)}</div>'


def _checks(r: Result) -> str:
    marks = {True: '<span class="good">✓</span>', False: '<span class="bad">✗</span>'}
    lines = []
    for c in r.checks:
        value = f"{c.value:.3g}" if c.value >= 0.01 else f"{c.value:.1e}" if c.value else "0"
        lines.append([marks[c.passed], text(c.what), value, f"{'≥' if c.at_least else '≤'} {c.bound:g}"])
    said = f"{r.failed} of {len(r.checks)} checks fail" if r.failed else f"All {len(r.checks)} checks, with what was measured"
    opened = " open" if r.failed else ""
    rows = table(["", "", "measured", "bound"], lines, right=(2,), name="checks")
    return f'<details{opened} id="{text(r.number)}-checks"><summary>{said}</summary>{rows}</details>'
