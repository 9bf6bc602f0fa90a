"""`fallingcat papers`: one quick run of every paper, and the command around it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from reproduced import check_figures, reproduced

from fallingcat.apps import figures
from fallingcat.apps.papers import PAPERS, Check, paper
from fallingcat.apps.papers.paper002_numbers import SUBJECTS
from fallingcat.cli import papers
from fallingcat.cli.main import main
from fallingcat.errors import FallingCatError


@pytest.mark.sweep
@pytest.mark.long
def test_002(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One quick run: every check holds, every time of Table I is there, and the figures are drawn."""
    out, text, found = reproduced("002", 30, tmp_path, capsys)

    assert [found["microseconds"][s.name]["dof"] for s in SUBJECTS] == [7, 18, 36]
    for subject in SUBJECTS:
        numbers = found["microseconds"][subject.name]
        for row, time in subject.times.items():
            assert f"{time:.2f}" in text
            assert numbers["paper"][row] == time
            assert numbers["ours"][row] > 0.0
            assert numbers["pinocchio"][row] > 0.0
    for words in ("Figure 3", "What the paper gets wrong", "III-C5", "(16b)", "V-B", "O(N d)"):
        assert words in text

    check_figures(out, text, "figure2.png", "figure3.png", height=500)


def test_papers_of_the_list_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers"]) == 0
    text = capsys.readouterr().out
    for number in PAPERS:
        assert number in text
        assert paper(number).TITLE.split(",")[0] in text


def test_an_unknown_paper_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "999"]) == 2
    assert "no paper '999'" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["papers", "002", "--out", str(tmp_path / "file" / "below")]) == 2
    error = capsys.readouterr().err
    assert "cannot write" in error
    assert "Traceback" not in error


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A paper that only says where it is told to write, and whose checks pass and fail."""
    told: list[Path] = []

    def run(console: Any, out: Path, quick: bool) -> list[Check]:
        told.append(out)
        return [Check("small", 1e-3, 1e-2), Check("large", 1.0, 2.0, at_least=True)]

    monkeypatch.setattr(papers, "paper", lambda number: SimpleNamespace(TITLE="A title", run=run))
    return told


def test_a_check_that_fails_is_the_exit_status(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["papers", "002"]) == 1
    text = capsys.readouterr().out
    assert "✓  small" in text
    assert "✗  large" in text
    assert "1 of 2 checks fail" in text
    assert folders == [Path("out", "papers", "002")]
    assert folders[0].is_dir()


def test_all_papers_get_a_folder_each(folders: list[Path], tmp_path: Path) -> None:
    assert main(["papers", "all", "--out", str(tmp_path)]) == 1
    assert folders == [tmp_path / number for number in PAPERS]


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A figure says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not figures.available()
    with (
        pytest.raises(FallingCatError, match="pip install 'fallingcat\\[figures\\]'"),
        figures.drawing(tmp_path / "x.png", 1, 1, 1),
    ):
        pass
