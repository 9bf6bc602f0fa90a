"""What is in the papers and where it is: `docs/equations/*.toml` -> `docs/equation_map.md` (python docs/tools/equation_map.py).

`papers()` reads the rows. `missing`, `unknown` and `lost` say what is wrong with them; a test demands that they find nothing.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "equations"
SOURCES, TESTS = ROOT / "src" / "fallingcat", ROOT / "tests"

HEAD = """# Where every equation is

One row for every equation, table, algorithm, figure, definition, property and theorem that has a number in one of the papers:
the functions that compute it and the tests that fail when it is wrong, or why nothing computes it. Source files are relative to
`src/fallingcat/`, tests to `tests/`. This page is made of `docs/equations/*.toml` (`python docs/tools/equation_map.py`); a test
fails when a row is missing or names something that does not exist, and `pytest tests/mutants -m sweep` changes the source
behind every row, a sign, an index, a factor or the whole result at a time, and demands that a test of that row fails:
hundreds of changes, of which none survives. `python -m tests.mutants --most 1000` tries all that are known; `equivalent` in
the rows names those that change no result.
"""


@dataclass(frozen=True)
class Row:
    """Some items of a paper that are computed, and tested, in one place."""

    paper: str
    items: tuple[str, ...]
    """Every one by itself: `(7)`, `Table 5`."""
    written: tuple[str, ...]
    """As the file has them: `(7)-(9)`."""
    what: str
    source: tuple[str, ...]
    """file::function, relative to src/fallingcat"""
    test: tuple[str, ...]
    """file::test, relative to tests"""
    background: str
    equivalent: tuple[str, ...] = ()
    """Changes of the source that change no result."""


@dataclass(frozen=True)
class Paper:
    number: str
    title: str
    contents: tuple[str, ...]
    rows: tuple[Row, ...]


def expand(entries: Iterable[str]) -> Iterator[str]:
    """`(7)-(9)`, `(17a)-(17c)`, `Table 1-3` and `Remark IV.1-IV.2`, one by one."""
    for entry in entries:
        if found := re.fullmatch(r"\((\d+)([a-z])\)-\(\1([a-z])\)", entry):
            number, first, last = found.groups()
            yield from (f"({number}{chr(c)})" for c in range(ord(first), ord(last) + 1))
        elif found := re.fullmatch(r"\((\d+)\)-\((\d+)\)", entry):
            yield from (f"({k})" for k in range(int(found[1]), int(found[2]) + 1))
        elif found := re.fullmatch(r"(.* (?:[IVX]+\.)?)(\d+)-(?:[IVX]+\.)?(\d+)", entry):
            yield from (f"{found[1]}{k}" for k in range(int(found[2]), int(found[3]) + 1))
        else:
            yield entry


@cache
def papers() -> tuple[Paper, ...]:
    return tuple(_paper(path) for path in sorted(FOLDER.glob("*.toml")))


def _paper(path: Path) -> Paper:
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = []
    for row in found["row"]:
        written = (*row["items"], *row.get("places", ()))
        source, test, background = (row.get(key, ()) for key in ("source", "test", "background"))
        items, same = tuple(expand(row["items"])), tuple(row.get("equivalent", ()))
        rows.append(Row(path.stem, items, written, row["what"], tuple(source), tuple(test), background or "", same))
    return Paper(path.stem, found["title"], tuple(expand(found["contents"])), tuple(rows))


# ---------------------------------------------------------------------------------------------------------------------
# What is wrong with the rows


def missing(paper: Paper) -> list[str]:
    """Items without a row."""
    there = {item for row in paper.rows for item in row.items}
    return [item for item in paper.contents if item not in there]


def unknown(paper: Paper) -> list[str]:
    """Items of rows that the paper does not have, and rows that neither name a source and a test nor say why not."""
    wrong = [item for row in paper.rows for item in row.items if item not in set(paper.contents)]
    wrong += [
        f"{row.written}: a source and a test, or a reason" for row in paper.rows if bool(row.background) == bool(row.source)
    ]
    return wrong + [f"{row.written}: no test" for row in paper.rows if row.source and not row.test]


def lost(paper: Paper) -> list[str]:
    """Sources and tests that are not there."""
    wrong = []
    for row in paper.rows:
        for folder, names in ((SOURCES, row.source), (TESTS, row.test)):
            wrong += [f"{row.written}: {name}" for name in names if not _is_there(folder, name)]
    return wrong


def _is_there(folder: Path, name: str) -> bool:
    """A function of a file; all cases of a parametrized test, never one of them, of which the file says nothing."""
    file, _, function = name.partition("::")
    return (folder / file).is_file() and function in functions(folder / file)


@cache
def functions(path: Path) -> frozenset[str]:
    """Functions and methods of a file, found without importing it."""

    def within(body: list[ast.stmt], prefix: str) -> Iterator[str]:
        for node in body:
            if isinstance(node, ast.FunctionDef):
                yield prefix + node.name
            elif isinstance(node, ast.ClassDef):
                yield from within(node.body, f"{prefix}{node.name}.")

    return frozenset(within(ast.parse(path.read_text(encoding="utf-8")).body, ""))


# ---------------------------------------------------------------------------------------------------------------------
# The page


def markdown() -> str:
    """`docs/equation_map.md`."""
    lines = [HEAD]
    for paper in papers():
        computed = {item for row in paper.rows if row.source for item in row.items}
        lines += [f"## {paper.number}", "", f"{paper.title}. [Its page](papers/{paper.number}.md).", ""]
        lines += [
            f"{len(paper.contents)} numbered items: {len(computed)} computed, {len(paper.contents) - len(computed)} background.",
            "",
        ]
        lines += [*table(paper), ""]
    return "\n".join(lines)


def table(paper: Paper) -> list[str]:
    """The rows of a paper."""
    return ["| | what | source | test |", "|---|---|---|---|", *(_line(row) for row in paper.rows)]


def _line(row: Row) -> str:
    where = ", ".join(row.written)
    if row.background:
        return f"| {where} | {row.what} | *{row.background}* | |"
    return f"| {where} | {row.what} | {_names(row.source)} | {_names(row.test)} |"


def _names(names: Iterable[str]) -> str:
    return "<br>".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    (ROOT / "docs" / "equation_map.md").write_text(markdown(), encoding="utf-8")
