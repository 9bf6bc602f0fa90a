"""Reports on terminals of any width: nothing is cut, and trees keep their shape."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fallingcat as fc
from fallingcat.cli.main import main

UNTIMED = ("--timings", "none")
pytestmark = pytest.mark.usefixtures("plain_terminal", "in_a_hurry")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_report_fits_the_terminal(width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["report", "tree9", "--fixed", "--state", "random"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= width


def shown(width: int, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(words) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    return out


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("words", [["report", "cat", "--state", "random", *UNTIMED], ["linearize", "cat"], ["robots"]])
def test_no_width_cuts_numbers_or_names(
    width: int, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a wide terminal shows, a narrow one shows too, on more lines."""
    wide, narrow = (shown(k, words, capsys, monkeypatch) for k in (250, width))
    assert not re.search(r"\S…|…\S", narrow)  # between two limits there are blanks
    numbers = set(re.findall(r"-?\d+\.\d+(?:e-?\d+)?", wide))
    if words[0] == "report":  # what columns are left out for: the share of the mass, and the bounds of the checks
        assert len(numbers) > 100
        names = (*fc.load("cat").joint_names, *fc.load("cat").link_names)
        assert [name for name in names if name not in narrow and width >= 80] == []
        matrix = [line for line in narrow.splitlines() if re.search(r"[█▓▒░·]{21,}", line)]
        assert len(matrix) == 21
    if words[0] == "robots":
        assert set(wide.split()) <= set(narrow.split())
    assert {x for x in numbers if x not in narrow} == set()


@pytest.mark.parametrize("fixed", [[], ["--fixed"]])
def test_long_names_and_deep_trees_keep_their_shape(
    fixed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a line has no room for a link and its joint, each has a line of its own, in its place of the tree."""
    b = fc.Builder("tall")
    names = [f"segment_{k}_of_the_right_shoulder_link" for k in range(9)]
    for k, name in enumerate(names):
        b.link(name, mass=1.0 + k / 8, com=(0.01, -0.02123, 0.0312345), inertia=(0.0123456, 0, 0, 0.0234567, 0, 0.0298765))
        if k:
            b.joint(f"segment_{k}_of_the_right_shoulder_joint", "revolute", names[k - 1], name, lower=-2.53, upper=2.88)
    path = fc.load(b).to_urdf(tmp_path / "tall.urdf")
    lines = shown(80, ["report", str(path), *fixed, *UNTIMED], capsys, monkeypatch).splitlines()
    tree = lines[next(k for k, line in enumerate(lines) if line.startswith("link")) :]
    depths = [next(line.index(name) for line in tree if name in line) for name in names]
    assert depths == sorted(set(depths))
    joints = [f"segment_{k}_of_the_right_shoulder_joint" for k in range(1, 9)]
    found = [next(line for line in tree if name in line) for name in joints]
    assert all("-2.53 … 2.88" in line for line in found)
    assert [line.index(name) for line, name in zip(found, joints, strict=True)] == [depth + 2 for depth in depths[1:]]
    inertias = lines[next(k for k, line in enumerate(lines) if line.startswith("Inertias")) :]
    assert [name for name in names if not any(line.startswith(f"{name} ") for line in inertias)] == names[:1] * bool(fixed)
