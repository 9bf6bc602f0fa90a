"""Pages and figures: nothing from outside, nothing unescaped, files whole or not at all."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import files
from fallingcat.apps import view
from fallingcat.apps.view import svg

HOSTILE = '</script><script>alert("x")</script>&\u202e'
SVG = "{http://www.w3.org/2000/svg}"


def elements(text: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(text).iter(SVG + tag))


# Pages


def test_a_page_asks_for_nothing() -> None:
    robot = fc.load("cat")
    html = view.animation_page(robot, [robot.neutral()] * 2, [0.0, 1.0], "Cat", "One.\n\nTwo.")
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", html)) - {"http://www.w3.org/2000/svg"}
    assert addresses == set()
    assert not re.search(r"<(link|script|img|iframe)[^>]*\s(src|href)=[\"'](?!data:)", html)
    assert "default-src 'none'" in html
    assert html.count("<p>One.</p>") == html.count("<p>Two.</p>") == 1


def test_texts_are_escaped() -> None:
    scene: dict[str, Any] = {"bodies": [{"name": HOSTILE}], "shapes": [], "bounds": [[0, 0, 0], [1, 1, 1]]}
    body = view.section(HOSTILE, view.drawing(scene, caption=HOSTILE), HOSTILE) + view.figure("", HOSTILE)
    body += view.table([HOSTILE], [[view.text(HOSTILE)]])
    body += svg.bars([HOSTILE], [1.0]) + svg.heat_map([[1.0]], [HOSTILE], words=HOSTILE)
    html = view.page(HOSTILE, body, HOSTILE, HOSTILE)
    assert "alert(" in html
    assert "<script>alert" not in html
    assert html.count("</script>") == 2  # the data of the drawing, and the renderer


def test_a_page_without_a_drawing_has_no_script() -> None:
    assert "<script" not in view.page("plain", "<p>nothing to turn</p>")


def test_writing_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "page.html"
    view.write(target, "old")
    assert target.stat().st_mode & 0o777 == 0o666 & ~_umask()

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        view.write(target, "new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(fc.FallingCatError, match=r"cannot write .*page\.html"):
        view.write(tmp_path / "file" / "page.html", "")


def test_folders_are_made(tmp_path: Path) -> None:
    assert view.write(tmp_path / "new" / "folder" / "page.html", "x").read_text() == "x"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Figures


@pytest.mark.parametrize("shape", [(1, 1), (6, 3), (21, 21), (140, 140)])
@pytest.mark.parametrize("signed", [False, True])
def test_a_heat_map_covers_what_is_not_zero(shape: tuple[int, int], signed: bool) -> None:
    rng = np.random.default_rng(0)
    M = rng.normal(size=shape) * (rng.random(shape) < 0.3)
    M[0, 0] = 2.0
    paths = [p for p in elements(svg.heat_map(M, signed=signed), "path") if re.fullmatch("[hnp][1-8]", p.get("class") or "")]
    drawn = np.zeros(shape)
    for path in paths:
        for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)v1H\1z", path.get("d") or ""):
            level = int((path.get("class") or "")[1])
            drawn[int(y), int(x) : int(x) + int(width)] += -level if (path.get("class") or "")[0] == "n" else level
    assert np.array_equal(drawn != 0, M != 0)
    if signed:
        assert np.array_equal(np.sign(drawn), np.sign(M))
    order = np.argsort(np.abs(M), axis=None)
    assert np.all(np.diff(np.abs(drawn).ravel()[order]) >= 0)  # the larger, the stronger the shade


def test_eigenvalues_are_counted_where_they_lie() -> None:
    dots = elements(svg.complex_plane([0, 0, 0, 1 + 2j, 1 - 2j, -3]), "circle")
    titles = sorted(title.text or "" for dot in dots for title in dot)
    assert titles == ["-3 +0i, 1 times", "0 +0i, 3 times", "1 +2i, 1 times", "1 -2i, 1 times"]
    right = next(d for d in dots if "1 +2i" in (d[0].text or ""))
    left = next(d for d in dots if "-3 +0i" in (d[0].text or ""))
    assert float(right.get("cx") or 0) > float(left.get("cx") or 0)
    assert float(right.get("cy") or 0) < float(left.get("cy") or 0)


def test_bars_are_as_long_as_their_values() -> None:
    bars = elements(svg.bars(["a", "b", "c"], [1.0, 4.0, 2.0], "kg"), "rect")
    widths = [float(bar.get("width") or 0) for bar in bars]
    assert widths == pytest.approx([widths[0], widths[0] / 2, widths[0] / 4], rel=1e-4)
    assert len(elements(svg.bars([str(k) for k in range(90)], [1.0] * 90), "rect")) == 24


def test_lines_go_through_their_points() -> None:
    t = np.linspace(0.0, 2.0, 2001)
    text = svg.lines(t, {"up": t, "down": -t}, cursor=True)
    up, down = (p.get("d") or "" for p in elements(text, "path") if "curve" in (p.get("class") or ""))
    assert len(up.split("L")) == svg.MOST_POINTS
    first, last = ([float(x) for x in point.split()] for point in (up[1:].split("L")[0], up.split("L")[-1]))
    assert last[0] > first[0]
    assert last[1] < first[1]
    assert down != up


@pytest.mark.parametrize("values", [[], [0.0], [0.0, 0.0]])
def test_figures_of_nothing(values: list[float]) -> None:
    for text in (
        svg.bars(["x"] * len(values), values),
        svg.complex_plane(values),
        svg.heat_map(np.diag(values) if values else np.zeros((0, 0))),
    ):
        ElementTree.fromstring(text)


def test_ticks_are_round() -> None:
    assert svg.ticks(0.0, 1.0) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert all(3 <= len(svg.ticks(-x, x)) <= 11 for x in np.logspace(-9, 9, 50))


@pytest.mark.parametrize("columns", [1, 6, 40])
@pytest.mark.parametrize("signed", [True, False])
def test_the_key_of_a_heat_map_is_no_wider_than_the_map(columns: int, signed: bool) -> None:
    """Where the map is wide enough for a key, and its numbers stand apart."""
    shown = svg.heat_map(np.full((8, columns), 1e-3), [f"joint{k}" for k in range(8)], columns=["x"] * columns, signed=signed)
    (group,) = elements(shown, "g")
    left, cell = (float(re.findall(r"[\d.]+", group.get("transform") or "")[k]) for k in (0, 2))
    ends = [float(rect.get("x") or 0) + float(rect.get("width") or 0) for rect in elements(shown, "rect")]
    assert max(ends) <= left + max(columns * cell, svg.KEY)
    ticks = [t for t in elements(shown, "text") if t.get("class") == "tick"]
    spans = [(float(t.get("x") or 0), 4.8 * len(t.text or "")) for t in ticks]
    assert len(spans) >= 4
    assert all(b - a >= (u + v) / 2 for (a, u), (b, v) in pairwise(spans))
