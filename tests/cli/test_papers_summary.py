"""The summary of the papers: a table of errata that names real tests, and a page of verdicts that a browser can show."""

from __future__ import annotations

import ast
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fallingcat.apps import figures
from fallingcat.apps.papers import PAPERS, Check, Measured, claims, write_numbers
from fallingcat.apps.papers.errata import KINDS, Erratum, errata, markdown, of_paper
from fallingcat.apps.papers.summary import Result
from fallingcat.apps.papers.summary_page import page
from fallingcat.cli import papers
from fallingcat.cli.main import main
from view.browser import open_page

ROOT = Path(__file__).resolve().parents[2]
VOID = {"meta", "link", "img", "br", "wbr"}

# ---------------------------------------------------------------------------------------------------------------------
# Errata


def test_every_erratum_names_tests_that_exist() -> None:
    """Functions at the top of a file, found without importing it."""
    known: dict[str, set[str]] = {}
    for e in errata():
        assert e.tests
        for test in e.tests:
            file, _, name = test.partition("[")[0].partition("::")
            if file not in known:
                tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
                known[file] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert name.startswith("test_")
            assert name in known[file], test
            assert "[" not in test or test.endswith(f"[{e.number}]")


def test_the_errata_are_complete_and_numbered() -> None:
    """Numbers run without a gap; what is evaluated as printed is far off, and what is corrected is not."""
    counts = {number: len(of_paper(number)) for number in PAPERS}
    assert counts == {"000": 12, "001": 14, "002": 5, "003": 22, "004": 19}
    expected = [f"{int(number)}.{k}" for number, count in counts.items() for k in range(1, count + 1)]
    assert [e.number for e in errata()] == expected
    for e in errata():
        assert e.kind in KINDS
        assert e.printed
        assert e.holds.endswith((".", ")"))
        if isinstance(e.as_printed, float):
            assert e.as_printed > 0.05
        assert e.corrected is None or e.corrected < 1e-12
    # 44 are off by a number, 13 do not run or have no right shape, the rest are slips in words, lost text, or withdrawn
    assert sum(isinstance(e.as_printed, float) for e in errata()) == 44
    assert sum(e.fails for e in errata()) == 57
    in_words = {"1.10", "1.14", "2.4", "2.5", "3.22", "4.19"}
    assert {e.number for e in errata() if e.kind == "error" and not e.fails} == in_words
    assert all(not e.fails for e in errata() if e.kind == "withdrawn")


def test_the_documentation_is_made_of_the_same_table() -> None:
    assert (ROOT / "docs" / "errata.md").read_text(encoding="utf-8") == markdown()


def test_errors_of_a_run_stand_in_for_those_of_the_table() -> None:
    """By number, the largest of several; by place where a run knows no number; nothing else changes."""
    measured = [
        {"number": "4.1", "where": "x", "printed": 0.5, "corrected": 1e-14},
        {"number": "4.1", "where": "y", "printed": 0.7, "corrected": 1e-15},
        {"where": "(37)", "printed": None, "corrected": 0.0},
    ]
    before, after = (({e.number: e for e in of_paper("004", m)}) for m in ((), measured))
    assert (after["4.1"].as_printed, after["4.1"].corrected) == (0.7, 1e-14)
    assert (after["4.9"].as_printed, after["4.9"].corrected) == (before["4.9"].as_printed, 0.0)
    assert after["4.2"] == before["4.2"]


# ---------------------------------------------------------------------------------------------------------------------
# A real run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Paper 003, once: where it wrote, and what it printed as JSON."""
    out = tmp_path_factory.mktemp("papers")
    with pytest.MonkeyPatch.context() as patch, (out / "stdout").open("w+", encoding="utf-8") as file:
        patch.setattr(sys, "stdout", file)
        assert main(["papers", "003", "--json", "--out", str(out)]) == 0
    return out, json.loads((out / "stdout").read_text(encoding="utf-8"))


def test_json(run: tuple[Path, dict[str, Any]]) -> None:
    out, found = run
    assert found["passed"] is True
    assert found["quick"] is True
    assert found["page"] == str(out / "index.html")
    (one,) = found["papers"]
    assert one["number"] == "003"
    assert {claim["where"] for claim in one["claims"]} >= {"Figure 1", "Figure 2", "Sec. V-1", "Sec. V-3"}
    assert all(claim["verdict"] in claims.VERDICTS for claim in one["claims"])
    assert one["verdicts"].get("fails", 0) == 0
    assert sum(one["verdicts"].values()) == len(one["claims"])
    assert [e["number"] for e in one["errata"]] == [f"3.{k}" for k in range(1, 23)]
    assert all(check["passed"] for check in one["checks"])
    assert [Path(path).name for path in one["figures"]] == list(claims.FIGURES["003"])


def test_the_page_of_a_run(run: tuple[Path, dict[str, Any]]) -> None:
    """Well-formed, whole, without any address; a browser shows all of it and says nothing."""
    out, found = run
    html = (out / "index.html").read_text(encoding="utf-8")
    assert_well_formed(html)
    for claim in found["papers"][0]["claims"]:
        assert claim["verdict"] in html
    for e in found["papers"][0]["errata"]:
        assert f"<td>{e['number']}</td>" in html
    assert html.count('src="data:image/png;base64,') == 4
    picture = out / "page.png"
    seen = open_page(out / "index.html", width=390, picture=picture)
    assert seen.console == ()
    assert seen.dom.count('class="chip') == html.count('class="chip')
    assert picture.stat().st_size > 30_000


def assert_well_formed(html: str) -> None:
    """Every element is closed where it should be, no name is used twice, and nothing is fetched."""
    open_: list[str] = []
    names: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            given = dict(attributes)
            names.extend(filter(None, [given.get("id")]))
            for name in ("src", "href", "srcset", "action", "data"):
                value = given.get(name)
                assert value is None or value.startswith(("data:", "#")), value
            if tag not in VOID:
                open_.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert open_
            assert open_.pop() == tag

    Reader(convert_charrefs=True).feed(html)
    assert open_ == []
    assert len(names) == len(set(names))
    without_pictures = re.sub(r"base64,[A-Za-z0-9+/=]*", "", html)
    assert re.search(r"//\w|url\(|@import", without_pictures) is None
    assert "Content-Security-Policy" in html


# ---------------------------------------------------------------------------------------------------------------------
# The command around runs


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Papers that do nothing but what the test says."""
    doing: dict[str, Any] = {"checks": [Check("small", 1e-3, 1e-2)], "do": lambda out: None, "quick": []}

    def run(console: Any, out: Path, quick: bool) -> list[Check]:
        console.print("details")
        doing["quick"].append(quick)
        doing["do"](out)
        return list(doing["checks"])

    monkeypatch.setattr(papers, "paper", lambda number: SimpleNamespace(TITLE="A <b>title</b>", run=run))
    return doing


def test_all(pretend: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder each, one page, one line a paper at the end; details of single papers stay out."""
    assert main(["papers", "all", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert pretend["quick"] == [True] * len(PAPERS)
    assert sorted(p.name for p in tmp_path.iterdir()) == [*PAPERS, "index.html"]
    assert "details" not in text
    assert "All papers" in text
    joined = "".join(text.split())  # long names go over several lines
    assert all(test.removeprefix("tests/") in joined for e in errata() for test in e.tests)
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert_well_formed(html)
    assert "<b>title" not in html
    assert "72 entries (44 error, 4 omission, 20 copy, 4 withdrawn); 57 were run as printed and fail" in html


def test_full_and_quick(pretend: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "001", "--full", "--out", str(tmp_path)]) == 0
    assert "details" in capsys.readouterr().out
    assert main(["papers", "001", "--quick", "--out", str(tmp_path)]) == 0
    assert pretend["quick"] == [False, True]
    assert main(["papers", "001", "--quick", "--full"]) == 2
    assert "not allowed with" in capsys.readouterr().err


def test_a_check_that_fails(pretend: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status, the terminal and the page say so."""
    pretend["checks"].append(Check("large", 1.0, 2.0, at_least=True))
    assert main(["papers", "all", "--out", str(tmp_path)]) == 1
    assert "✗  large" in capsys.readouterr().out
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "5 of 10 checks fail" in html
    assert 'class="chip fails"' in html
    assert main(["papers", "000", "--json", "--out", str(tmp_path)]) == 1
    assert json.loads(capsys.readouterr().out)["passed"] is False


def test_interrupted(pretend: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C in the second paper: no page, and an older one stays as it was."""
    (tmp_path / "index.html").write_text("old", encoding="utf-8")

    def stop(out: Path) -> None:
        if out.name == "001":
            raise KeyboardInterrupt

    pretend["do"] = stop
    assert main(["papers", "all", "--out", str(tmp_path)]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert (tmp_path / "index.html").read_text(encoding="utf-8") == "old"
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [tmp_path / "index.html"]


def test_a_figure_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    def half(self: Figure, file: Any, **options: Any) -> None:
        file.write(b"\x89PNG")
        raise KeyboardInterrupt

    path = tmp_path / "x.png"
    with figures.drawing(path, 1, 1, 1):
        pass
    whole = path.read_bytes()
    monkeypatch.setattr(Figure, "savefig", half)
    with pytest.raises(KeyboardInterrupt), figures.drawing(path, 1, 1, 1):
        pass
    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


def test_figures_of_another_run_do_not_count(pretend: dict[str, Any], tmp_path: Path) -> None:
    """A folder that was used before, or holds pictures of its own."""
    (tmp_path / "mine.png").write_bytes(b"old")
    pretend["do"] = lambda out: (out / "new.png").write_bytes(b"new")
    assert main(["papers", "002", "--out", str(tmp_path)]) == 0
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert html.count("<img") == 1
    assert "<figcaption>new</figcaption>" in html
    assert (tmp_path / "mine.png").read_bytes() == b"old"


def test_without_matplotlib(
    pretend: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables only, and what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["papers", "000", "--out", str(tmp_path)]) == 0
    assert "pip install 'fallingcat[figures]'" in capsys.readouterr().out
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "pip install &#x27;fallingcat[figures]&#x27;" in html
    assert "<img" not in html


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers"]) == 0
    assert "papers all" in capsys.readouterr().out
    assert main(["papers", "--json"]) == 0
    assert [row["number"] for row in json.loads(capsys.readouterr().out)] == list(PAPERS)


def test_numbers_are_json_or_nothing(tmp_path: Path) -> None:
    path = write_numbers(tmp_path / "numbers.json", {"x": 1.0})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_numbers(path, {"x": float("inf")})
    assert json.loads(path.read_text(encoding="utf-8")) == {"x": 1.0}
    assert list(tmp_path.iterdir()) == [path]


def test_hostile_words_in_a_page() -> None:
    """Whatever a check, claim or erratum says is text."""
    words = "<script>alert(1)</script>"
    claim = claims.Claim(words, words, words, words, "holds", words)
    e = Erratum("9.1", words, "error", words, words, (words,))
    html = page([Result("009", words, [Check(words, 1.0, 2.0)], [claim], [e])], quick=True)
    assert "<script>alert" not in html
    assert_well_formed(html)


def test_verdicts_can_fail() -> None:
    """A table of paper 000 that is off is not called right."""
    found = {"tables": [{"where": f"Table {k}", "corrected": 1.0} for k in (7, 8)], "errata": []}
    found["errors"] = {"D1 FD": {"max": 1e-5, "average": 1e-6, "paper": (1e-5, 1e-6)}}
    found["euler"] = {"euler": [1e-3], "angle": [1e-8]}
    found["costs"] = {"x": {"operations": {"linearize": 1, "forward differences": 9, "automatic differentiation": 3}}}
    measured = [{"number": n, "where": "", "printed": 1.0, "corrected": 0.1} for n in ("0.1", "0.3", "0.4", "0.5", "0.6")]
    checks = [Check("(MB) x", 1.0, 0.1), Check("Fig. 5, truncation", 0.0, 1.0), Check("Fig. 5, rounding", 2.0, 1.0)]
    rows: dict[str, str] = {}
    for c in claims.claims("000", found, checks, of_paper("000", measured)):
        rows[c.where] = "fails" if "fails" in (c.verdict, rows.get(c.where)) else c.verdict
    assert {rows[name] for name in ("Table 1", "Table 4", "Table 5", "Table 6", "Table 7", "Table 9", "Figure 5")} == {"fails"}
    assert Measured("", "x", None, 0.0).printed is None
