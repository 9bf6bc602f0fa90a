"""The pages in a real browser: scripts run without a word, the robot is seen, the player plays."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from browser import open_page

import fallingcat as fc
from fallingcat.apps import view
from fallingcat.cli.main import main

READY = "document.querySelector('[data-view=ready]')"

INTERFERE = """<script>
const slider = document.querySelector(".player input"), button = document.querySelector(".player button");
const said = [button.getAttribute("aria-label")];
button.click();
said.push(button.getAttribute("aria-label"));
slider.value = 0.5; slider.dispatchEvent(new Event("input"));
said.push(document.querySelector(".player output").textContent, document.querySelector(".cursor").getAttribute("transform"));
const canvas = document.querySelector("canvas");
for (const key of ["ArrowLeft", "ArrowUp", "+", "-", "0"]) canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: 40, cancelable: true }));
canvas.dispatchEvent(new MouseEvent("dblclick"));
document.body.dataset.said = said.join("|");
const at = { pointerType: "mouse", clientX: 0, clientY: 0 }, box = canvas.getBoundingClientRect();
at.clientX = box.left + box.width / 2; at.clientY = box.top + box.height * 0.43;
canvas.dispatchEvent(new PointerEvent("pointermove", at));
</script></body>"""


def orange(picture: Path) -> float:
    """The share of pixels in the colour of the cat."""
    imread = pytest.importorskip("matplotlib.image").imread
    red, green, blue = np.moveaxis(imread(picture)[..., :3], -1, 0)
    return float(np.mean((red > 0.6) & (green < 0.72 * red) & (blue < 0.4 * red)))


def test_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, picture = tmp_path / "cat.html", tmp_path / "cat.png"
    assert main(["report", "cat", "--html", str(page), "--timings", "none"]) == 0
    capsys.readouterr()
    seen = open_page(page, until=READY, picture=picture)
    assert seen.console == ()
    assert seen.attribute("data-error") == []
    assert seen.attribute("data-view") == ["ready"]
    assert 0.01 < orange(picture) < 0.5
    assert 'class="player"' not in seen.dom  # it does not move


def test_animation(tmp_path: Path) -> None:
    robot = fc.load("cat")
    times = np.linspace(1.0, 2.0, 21)
    qs = np.array([robot.integrate(robot.neutral(), t * np.eye(robot.nv)[14]) for t in times])
    plot = view.svg.lines(times, {"twist": qs[:, -7]}, cursor=True)
    page, picture = tmp_path / "motion.html", tmp_path / "motion.png"
    html = view.animation_page(robot, qs, times, "A twist", "Of the waist.", [plot], ground=False, follow=True)
    view.write(page, html.replace("</body>", INTERFERE))
    seen = open_page(page, until=f"{READY} && document.querySelector('p.name').textContent", width=390, picture=picture)
    assert 0.01 < orange(picture) < 0.5
    assert seen.console == ()
    assert seen.attribute("data-view") == ["ready"]
    before, after, time, cursor = seen.attribute("data-said")[0].split("|")
    assert (before, after, time) == ("pause", "play", "1.50 s")
    name = re.search(r'<p class="name">([^<]*)</p>', seen.dom)
    assert name is not None
    assert re.fullmatch(r"(front|rear|spine_a|spine_b), [\d.]+ kg", name.group(1)), name.group(1)  # what is in the middle
    start, end = float(seen.attribute("data-x0")[0]), float(seen.attribute("data-x1")[0])
    assert float(cursor.split("(")[1].split()[0]) == pytest.approx((start + end) / 2)


def test_what_goes_wrong_is_said(tmp_path: Path) -> None:
    """Without WebGL there is a sentence; a script that fails and an access to the network would be noticed."""
    page = tmp_path / "bad.html"
    robot = fc.load("tree9")
    body = view.drawing(view.scene(robot, robot.neutral())) + "<img src='https://example.org/x.png'>"
    html = view.page("tree9", body).replace("</body>", "<script>nonsense()</script></body>")
    page.write_text(html, encoding="utf-8")
    seen = open_page(page, "--disable-3d-apis", until="document.querySelector('[data-view=unsupported]')")
    assert seen.attribute("data-view") == ["unsupported"]
    assert "does not offer WebGL 2" in seen.dom
    assert seen.attribute("data-error") == ["Uncaught ReferenceError: nonsense is not defined"]
    console = "\n".join(seen.console)
    assert "nonsense is not defined" in console
    assert "Content Security Policy" in console
