"""What the pages of the documentation take from the rest of the project, when the site is built.

`<!-- gallery -->` becomes the examples with their figures and source, `<!-- bench -->` the numbers of `bench/latest.json`,
`<!-- starts -->` the times of first calls, `<!-- errata 003 -->` and `<!-- map 003 -->` what a paper gets wrong and where its
equations are. Formulas become MathML. In the reference, "paper 002" becomes a link; papers are put into the navigation.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import math
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
THUMBNAILS = ROOT / "docs" / "assets" / "examples"
BENCH = ROOT / "bench" / "latest.json"
NOT_MEASURED = (
    "*Nothing was measured in this checkout: `python -m bench` writes `bench/latest.json`, from which this table is made.*\n"
)
OF_A_PAPER = re.compile(r"<!-- (errata|map) (00\d) -->")
PAPER = re.compile(r"\b([Pp]aper )(00\d)\b(?![^<]*</a>)")


def _tool(name: str) -> Any:
    """Another file of this folder."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def on_config(config: Any, **_: Any) -> Any:
    """The navigation has a page for every paper that has one, under its own title."""
    papers = next(entry["Papers"] for entry in config["nav"] if "Papers" in entry)
    if not any(str(entry).startswith("papers/") for entry in papers):
        papers[:0] = [f"papers/{path.name}" for path in sorted((ROOT / "docs" / "papers").glob("*.md"))]
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill the places that a page leaves for generated text."""
    for place, make in (
        ("gallery", gallery),
        ("bench", bench_tables),
        ("starts", start_table),
        ("machine", machine),
        ("roofline", roofline),
    ):
        mark = f"<!-- {place} -->"
        if mark in markdown:
            markdown = markdown.replace(mark, make())
    return OF_A_PAPER.sub(lambda found: {"errata": errata_table, "map": map_table}[found[1]](found[2]), markdown)


def on_page_content(html: str, page: Any, files: Any, **_: Any) -> str:
    """Formulas as MathML. Docstrings name papers by their numbers; lead there, where there is a page."""
    html = _tool("mathematics").typeset(html)
    if not page.file.src_uri.startswith("api/"):
        return html
    there = {f.src_uri for f in files}

    def link(found: re.Match[str]) -> str:
        if f"papers/{found[2]}.md" not in there:
            return found[0]
        return f'<a href="../papers/{found[2]}.html">{found[1]}{found[2]}</a>'

    return PAPER.sub(link, html)


# ---------------------------------------------------------------------------------------------------------------------
# Examples


def gallery() -> str:
    """Every example: what it says of itself, its figure, its source."""
    return "\n".join(_example(path) for path in sorted(EXAMPLES.glob("[0-9]*.py")))


def _example(path: Path) -> str:
    source = path.read_text(encoding="utf-8")
    words = (ast.get_docstring(ast.parse(source)) or "").splitlines()
    safe = "\n".join(line if line.startswith("    ") else line.replace("<", "&lt;") for line in words)
    first, _, rest = safe.partition("\n\n")
    title = path.stem[3:].replace("_", " ").capitalize().replace("lqr", "LQR")
    parts = [f"## {path.stem[:2]} {title}", " ".join(first.split()), rest]
    picture = THUMBNAILS / f"{path.stem[3:]}.png"
    if picture.exists():
        parts.append(f"![What the example draws](assets/examples/{picture.name}){{: .figure loading=lazy }}")
    code = "\n".join(f"    {line}".rstrip() for line in source.rstrip().splitlines())
    parts.append(f'??? example "examples/{path.name}"\n\n    ```python\n{code}\n    ```')
    return "\n\n".join(part for part in parts if part) + "\n"


# ---------------------------------------------------------------------------------------------------------------------
# Papers


def errata_table(number: str) -> str:
    """What a paper gets wrong; the page of errata has the tests."""
    from fallingcat.apps.papers.errata import counts, of_paper, safe

    found = of_paper(number)
    lines = [f"{counts(found)}. [The page of errata](../errata.md#{number}) has a test for each.", ""]
    lines += ["| | where | kind | printed | holds | off by |", "|---|---|---|---|---|---|"]
    for e in found:
        off = safe(e.off).replace(" ", "&nbsp;").replace("e-", "e&#8209;")  # on one line
        cells = (e.number, safe(e.where), e.kind, safe(e.printed), safe(e.holds), off)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def map_table(number: str) -> str:
    """Where the equations of a paper are."""
    equation_map = _tool("equation_map")
    paper = next(paper for paper in equation_map.papers() if paper.number == number)
    return "\n".join(["Sources are in `src/fallingcat/`, tests in `tests/`.", "", *equation_map.table(paper)])


# ---------------------------------------------------------------------------------------------------------------------
# Measurements


def _measured() -> dict[str, Any] | None:
    return json.loads(BENCH.read_text(encoding="utf-8")) if BENCH.exists() else None


def machine() -> str:
    """What it was measured with."""
    data = _measured()
    if data is None:
        return ""
    v = data["versions"]
    return f"{v['cpu']}; Python {v['python']}, NumPy {v['numpy']}, llvmlite {v['llvmlite']}, Pinocchio {v['pin']}"


def bench_tables() -> str:
    """A figure for the largest robot, one table of ratios for all, and every number in tables that are folded away."""
    data = _measured()
    if data is None:
        return NOT_MEASURED
    robots = list(dict.fromkeys(row["robot"] for row in data["rows"]))
    rows = {name: [row for row in data["rows"] if row["robot"] == name] for name in robots}
    folded = [f'??? note "{name}: all numbers"\n\n' + textwrap.indent(_robot(name, rows[name]), "    ") for name in robots]
    return "\n".join([_dots(robots[-1], rows[robots[-1]]), "", _ratios(rows), "", *folded])


def _ratios(rows: dict[str, list[dict[str, Any]]]) -> str:
    """How many times faster than the peer: one call, and one state of a batch."""
    functions = list(dict.fromkeys(row["function"] for each in rows.values() for row in each if row["peer"] is not None))
    lines = ["| times faster: one call, batch | " + " | ".join(rows) + " |", "|---|" + "--:|" * len(rows)]
    for function in functions:
        found = [next((row for row in each if row["function"] == function), None) for each in rows.values()]
        cells = ["" if r is None or r["peer"] is None else f"{_short(r['one_ratio'])}, {_short(r['batch_ratio'])}" for r in found]
        lines.append(f"| `{function}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _short(ratio: float) -> str:
    return f"{ratio:.1f}x" if ratio < 10 else f"{ratio:.0f}x"


def _robot(name: str, rows: list[dict[str, Any]]) -> str:
    lines = [
        "| function | operations | Pinocchio, µs | one call, µs | batch, µs a state | batch size |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        peer = "" if row["peer"] is None else f"{row['peer']:.2f}"
        one = f"{row['one']:.2f}{_ratio(row['one_ratio'])}"
        batch = f"{row['batch']:.3f}{_ratio(row['batch_ratio'])}"
        lines.append(f"| `{row['function']}` | {row['operations']:,} | {peer} | {one} | {batch} | {row['batch_size']:,} |")
    return "\n".join(lines) + "\n"


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f" ({ratio:.1f}x)" if ratio < 10 else f" ({ratio:.0f}x)"


LEFT, RIGHT, STEP = 250, 640, 19
"""Of the figure, in its own pixels: where the axis begins and ends, and the height of a line."""


def _dots(name: str, rows: list[dict[str, Any]]) -> str:
    """Times on a logarithmic axis: the peer's, one call's, one state's of a batch."""
    shown = sorted((row for row in rows if row["peer"] is not None), key=lambda row: row["peer"])
    if not shown:
        return ""
    values = [row[kind] for row in shown for kind in ("peer", "one", "batch")]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def x(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * (math.log10(value) - low) / (high - low)

    height = 30 + STEP * len(shown) + 30
    parts = [f'<svg class="dots" viewBox="0 0 {RIGHT + 20} {height}" role="img" aria-label="Times of {name}, microseconds">']
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts.append(f'<line class="grid" x1="{at:.1f}" y1="24" x2="{at:.1f}" y2="{height - 26}"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{height - 10}">{10.0**power:g} µs</text>')
    for k, (words, kind) in enumerate((("Pinocchio", "peer"), ("one call", "one"), ("one state of a batch", "batch"))):
        at = LEFT + 110 * k
        parts.append(f'<circle class="{kind}" cx="{at}" cy="10" r="4.5"/><text x="{at + 9}" y="14">{words}</text>')
    for k, row in enumerate(shown):
        y = 36 + STEP * k
        parts.append(f'<text class="name" x="{LEFT - 12}" y="{y + 4}">{row["function"]}</text>')
        parts.append(f'<line class="span" x1="{x(row["batch"]):.1f}" y1="{y}" x2="{x(row["peer"]):.1f}" y2="{y}"/>')
        parts += [f'<circle class="{kind}" cx="{x(row[kind]):.1f}" cy="{y}" r="4.5"/>' for kind in ("peer", "one", "batch")]
    return f"<figure>{''.join([*parts, '</svg>'])}<figcaption>{name}: one state, microseconds</figcaption></figure>\n"


def roofline() -> str:
    """Every function against what the core can do at most."""
    data = _measured()
    return NOT_MEASURED if data is None or not data.get("limits") else str(_tool("roofline").figure(data))


def start_table() -> str:
    """How long a new process takes from its start to its first result."""
    data = _measured()
    if data is None or not data.get("starts"):
        return NOT_MEASURED
    lines = ["| robot | function | nothing cached, s | from the cache, s |", "|---|---|--:|--:|"]
    lines += [f"| {s['robot']} | `{s['function']}` | {s['cold']:.2f} | {s['warm']:.2f} |" for s in data["starts"]]
    return "\n".join(lines) + "\n"
