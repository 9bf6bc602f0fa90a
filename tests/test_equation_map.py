"""The map from the papers to the code is whole: a row for everything that has a number, and nothing in it that is not there."""

from __future__ import annotations

import runpy
from types import SimpleNamespace

import pytest

from test_quality import ROOT

MAP = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "tools" / "equation_map.py"), run_name="equation_map"))
EQUATIONS = {"000": 91, "001": 74, "002": 26, "003": 54, "004": 45}
"""The last number of each paper."""
NAMED = {"000": 21, "001": 25, "002": 7, "003": 20, "004": 10}
"""How many tables, figures, algorithms, definitions, properties, lemmas and theorems each has."""


@pytest.mark.parametrize("paper", MAP.papers(), ids=lambda paper: paper.number)
def test_every_numbered_item_has_a_row_that_leads_somewhere(paper: SimpleNamespace) -> None:
    assert MAP.missing(paper) == []
    assert MAP.unknown(paper) == []
    assert MAP.lost(paper) == []


def test_the_contents_are_those_of_the_papers() -> None:
    """Equations are numbered without a gap up to the last one; 290 in all."""
    for paper in MAP.papers():
        numbers = {int(item[1:-1].rstrip("abcde")) for item in paper.contents if item.startswith("(")}
        assert numbers == set(range(1, EQUATIONS[paper.number] + 1))
        assert len(set(paper.contents)) == len(paper.contents)
        assert sum(not item.startswith("(") for item in paper.contents) == NAMED[paper.number]
    assert sum(EQUATIONS.values()) == 290


def test_what_is_missing_or_wrong_is_seen() -> None:
    """The checks above can fail: without a row, with an item that the paper lacks, with a source or test that is not there."""
    paper = MAP.papers()[0]
    row = next(row for row in paper.rows if row.source)
    assert MAP.missing(MAP.Paper(paper.number, "", paper.contents, ())) == list(paper.contents)
    for wrong in (
        MAP.Row("000", ("(1000)",), ("(1000)",), "", row.source, row.test, ""),
        MAP.Row("000", row.items, row.written, "", row.source, row.test, "and a reason"),
        MAP.Row("000", row.items, row.written, "", row.source, (), ""),
        MAP.Row("000", row.items, row.written, "", (), (), ""),
    ):
        assert MAP.unknown(MAP.Paper("000", "", paper.contents, (wrong,))) != []
    for source, test in (
        (("algorithms/rnea.py::no_such",), row.test),
        (("no/such.py::f",), row.test),
        (row.source, ("test_docs.py::f",)),
        (row.source, ("test_equation_map.py::test_ranges[no such case]",)),
    ):
        there = MAP.Row("000", row.items, row.written, "", source, test, "")
        assert len(MAP.lost(MAP.Paper("000", "", paper.contents, (there,)))) == 1


def test_ranges() -> None:
    written = ["(1)-(3)", "(6a)", "(17a)-(17c)", "Table 1-2", "Table I", "Remark IV.1-IV.2", "Def. 3.1"]
    expected = ["(1)", "(2)", "(3)", "(6a)", "(17a)", "(17b)", "(17c)", "Table 1", "Table 2", "Table I"]
    assert list(MAP.expand(written)) == [*expected, "Remark IV.1", "Remark IV.2", "Def. 3.1"]


def test_the_page_is_made_of_the_rows() -> None:
    assert (ROOT / "docs" / "equation_map.md").read_text(encoding="utf-8") == MAP.markdown()
