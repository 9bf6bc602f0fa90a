"""`fallingcat cat`: the summary, its files, and what it does when something is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.apps import figures
from fallingcat.apps.cat import Plan
from fallingcat.apps.cat import fall as fall_module
from fallingcat.apps.cat.gait import Gait
from fallingcat.cli import cat as command
from fallingcat.cli.main import main

COEFFICIENTS = (
    -0.758275782, -1.895048842, 0.113592315, -1.130202885, 0.394162267, 0.882482358, 0.421105044, -0.434755482, 0.550959576,
    0.401699004, 0.107204334, 0.11232543,
)  # fmt: skip
"""Of a gait that `plan` found: here nothing is searched, that is for tests/cat."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A known plan, and coarser steps."""
    joints = fc.load("cat").joint_names
    known = Gait(joints, np.array(COEFFICIENTS))
    plan = Plan(known, known, (1.0,), (0.0,), np.array([-np.pi, 0.0, 0.0]))
    monkeypatch.setattr(command, "plan", lambda robot, progress: plan)
    monkeypatch.setattr(fall_module, "STEPS", 500)


def test_summary_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "folder"
    assert main(["cat", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    for words in ("lands on its feet", "turned by", "180.0", "angular momentum", "curvature", "least height", "falling_cat.html"):
        assert words in text
    assert sorted(path.name for path in out.iterdir()) == ["falling_cat.html", "falling_cat.png"]
    png = (out / "falling_cat.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 50_000


def test_the_page_needs_nothing_beside_itself(tmp_path: Path) -> None:
    assert main(["cat", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "falling_cat.html").read_text(encoding="utf-8")
    assert "The falling cat" in page
    assert page.count("<svg") >= 2
    assert "<canvas" in page
    links = set(re.findall(r"https?://[^\s\"'<>)]+", page))
    assert links <= {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"\b(src|href)=[\"'](?!data:|#)", page)


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cat", "--json", "--height", "1.5", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["lands_on_its_feet"]
    assert found["within_limits"]
    assert abs(found["turn"] - 180.0) < 0.1
    assert found["height"] == 1.5
    assert found["torque"]["share"] < 1.0
    assert len(found["paws"]) == 4


def test_from_too_low(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cat", "--height", "0.5", "--out", str(tmp_path)]) == 1
    assert "exceeded: this gait needs 1." in capsys.readouterr().out


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(figures, "available", lambda: False)
    assert main(["cat", "--out", str(tmp_path)]) == 0
    assert "pip install" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["falling_cat.html"]


def test_interrupted_it_leaves_no_half_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """While the figure is drawn: the page is whole, the figure is not there."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fallingcat.apps.cat.picture._momenta", interrupt)
    assert main(["cat", "--out", str(tmp_path)]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["falling_cat.html"]


def test_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(figures, "available", lambda: False)
    assert main(["cat", "--open", "--out", str(tmp_path)]) == 0
    assert opened == [(tmp_path / "falling_cat.html").as_uri()]


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--height", "0"], "out of range"), (["--height", "nan"], "out of range"), (["--out", "/dev/null/x"], "cannot write")],
)
def test_mistakes(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cat", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
