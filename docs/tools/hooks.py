"""What the pages of the documentation take from the rest of the project, when the site is built.

`<!-- gallery -->` becomes the examples with their figures and source, `<!-- bench -->` the numbers of `bench/latest.json`,
`<!-- starts -->` the times of first calls. In the reference, "paper 002" becomes a link; papers are put into the navigation.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
THUMBNAILS = ROOT / "docs" / "assets" / "examples"
BENCH = ROOT / "bench" / "latest.json"
NOT_MEASURED = (
    "*Nothing was measured in this checkout: `python -m bench` writes `bench/latest.json`, from which this table is made.*\n"
)
PAPER = re.compile(r"\b([Pp]aper )(00\d)\b(?![^<]*</a>)")


def on_config(config: Any, **_: Any) -> Any:
    """The navigation has a page for every paper that has one, under its own title."""
    papers = next(entry["Papers"] for entry in config["nav"] if "Papers" in entry)
    if not any(str(entry).startswith("papers/") for entry in papers):
        papers[:0] = [f"papers/{path.name}" for path in sorted((ROOT / "docs" / "papers").glob("*.md"))]
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill the places that a page leaves for generated text."""
    for place, make in (("gallery", gallery), ("bench", bench_tables), ("starts", start_table), ("machine", machine)):
        mark = f"<!-- {place} -->"
        if mark in markdown:
            markdown = markdown.replace(mark, make())
    return markdown


def on_page_content(html: str, page: Any, files: Any, **_: Any) -> str:
    """Docstrings name papers by their numbers; lead there, where there is a page."""
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
    """One table per robot, and bars for the functions that the peer has, too."""
    data = _measured()
    if data is None:
        return NOT_MEASURED
    robots = list(dict.fromkeys(row["robot"] for row in data["rows"]))
    return "\n".join(_robot(name, [row for row in data["rows"] if row["robot"] == name]) for name in robots)


def _robot(name: str, rows: list[dict[str, Any]]) -> str:
    lines = [f"### {name}", "", _bars(rows), ""]
    lines += [
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


def _bars(rows: list[dict[str, Any]]) -> str:
    """Times as lengths; the longest is the peer's slowest."""
    shown = [row for row in rows if row["peer"] is not None]
    if not shown:
        return ""
    longest = max(row["peer"] for row in shown)
    parts = ['<div class="bars">']
    for row in shown:
        parts.append(f"<b><code>{row['function']}</code></b>")
        for words, kind in (("Pinocchio", "peer"), ("one call", "one"), ("batch", "batch")):
            width = max(0.3, 80.0 * row[kind] / longest)
            parts.append(f'<em>{words}</em><span><i class="{kind}" style="width:{width:.2f}%"></i>{row[kind]:.3g} µs</span>')
    return "".join([*parts, "</div>"])


def start_table() -> str:
    """How long a new process takes from its start to its first result."""
    data = _measured()
    if data is None or not data.get("starts"):
        return NOT_MEASURED
    lines = ["| robot | function | nothing cached, s | from the cache, s |", "|---|---|--:|--:|"]
    lines += [f"| {s['robot']} | `{s['function']}` | {s['cold']:.2f} | {s['warm']:.2f} |" for s in data["starts"]]
    return "\n".join(lines) + "\n"
