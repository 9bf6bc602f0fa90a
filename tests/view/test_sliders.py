"""Sliders of a page in a real browser: they move the links that they should, to where the kinematics says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from browser import open_page

import fallingcat as fc
from fallingcat.apps import view
from fallingcat.apps.view.scene import body_poses
from fallingcat.cli.main import main
from trees import random_tree

MOVE = """<script>
const wanted = %s, buttons = [...document.querySelectorAll(".tools button")];
for (const button of buttons) button.click();
for (const [k, value] of wanted) {
  const slider = document.querySelector(`[data-slider="${k}"]`);
  slider.value = value; slider.dispatchEvent(new Event("input"));
}
const figure = document.querySelector("figure.view"), later = setInterval(() => {
  if (!figure.poses) return;
  clearInterval(later);
  document.body.dataset.buttons = buttons.map((b) => b.textContent).join("|");
  document.body.dataset.hidden = document.querySelector(".panel").hidden;
  document.body.dataset.poses = JSON.stringify(figure.poses.map((M) => Array.from(M)));
}, 50);
</script></body>"""


@pytest.mark.parametrize("name", ["cat", "tree"])
def test_a_slider_moves_its_link(tmp_path: Path, name: str) -> None:
    robot = fc.load(name if name == "cat" else random_tree(4, joints=6, types=("revolute", "prismatic", "helical"), mimic=0.4))
    q = robot.neutral()
    q[7:] = np.clip(0.25, *robot.position_limits.T)
    page = tmp_path / "page.html"
    moves = [[6 + k, float(value)] for k, value in enumerate(q[7:])]
    view.write(page, view.still_page(robot, robot.neutral()).replace("</body>", MOVE % json.dumps(moves)))
    seen = open_page(page, until="document.body.dataset.poses")
    assert seen.console == ()
    assert seen.attribute("data-error") == []
    assert seen.attribute("data-buttons") == ["joints|frames|centre of mass"]
    assert seen.attribute("data-hidden") == ["false"]
    poses = np.array(json.loads(seen.attribute("data-poses")[0])).reshape(-1, 4, 4).swapaxes(1, 2)
    assert np.allclose(poses, body_poses(robot, q), atol=1e-3)
    assert not np.allclose(poses, body_poses(robot, robot.neutral()), atol=1e-2)


LIGHT = """<script>
const later = setInterval(() => {
  document.querySelector('tr[data-body="3"]').dispatchEvent(new PointerEvent("pointerenter"));
  document.body.dataset.lit = document.querySelectorAll(".lit").length;
  document.body.dataset.name = document.querySelector(".name").textContent;
  if (document.querySelector(".lit")) clearInterval(later);
}, 50);
</script></body>"""


def test_lines_of_the_tree_light_up_with_their_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    assert main(["report", "cat", "--html", str(page), "--timings", "none"]) == 0
    capsys.readouterr()
    page.write_text(page.read_text().replace("</body>", LIGHT))
    seen = open_page(page, until="document.body.dataset.lit > 0")
    assert seen.console == ()
    assert int(seen.attribute("data-lit")[0]) >= 2  # in the tree and in the table of masses
    assert seen.attribute("data-name") == [fc.load("cat").model.bodies[3].name]


def test_limits_are_marked_where_the_state_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = fc.load("quadruped")
    q = robot.neutral()
    low, high = robot.position_limits[0]
    q[7] = high + 0.2
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"q": q.tolist()}))
    page = tmp_path / "report.html"
    main(["report", "quadruped", "--html", str(page), "--timings", "none", "--state", str(state)])
    capsys.readouterr()
    html = page.read_text()
    assert html.count('class="range out"') == 1
    assert html.count('class="range"') == robot.n - 1
    assert np.isfinite(low)


MARK = """<script>
const slider = document.querySelector('[data-slider="6"]'), mark = document.querySelector('[data-range="6"]'), said = [];
const move = (x) => {
  slider.value = x; slider.dispatchEvent(new Event("input"));
  said.push(`${mark.className} ${mark.firstElementChild.style.left}`);
};
said.push(mark.className);
move(%g); move(slider.max);
const later = setInterval(() => {
  if (!document.querySelector("[data-view=ready]")) return;
  clearInterval(later); document.body.dataset.said = said.join("|");
}, 50);
</script></body>"""


def test_marks_turn_red_beyond_the_limits_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The state is beyond; its slider reaches that far, and the mark goes with it."""
    robot = fc.load("quadruped")
    q, state, page = robot.neutral(), tmp_path / "state.json", tmp_path / "report.html"
    low, high = robot.position_limits[0]
    q[7] = high + 0.2
    state.write_text(json.dumps({"q": q.tolist()}))
    main(["report", "quadruped", "--html", str(page), "--timings", "none", "--state", str(state)])
    capsys.readouterr()
    page.write_text(page.read_text().replace("</body>", MARK % ((low + high) / 2)))
    first, middle, beyond = open_page(page, until="document.body.dataset.said").attribute("data-said")[0].split("|")
    assert first == "range out"
    name, share = middle.split()
    assert name == "range"
    assert float(share.rstrip("%")) == pytest.approx(50.0, abs=0.1)
    assert beyond == "range out 100%"


def test_sliders_of_short_ways_show_their_digits(tmp_path: Path) -> None:
    b = fc.Builder()
    for name in "ab":
        b.link(name, 1.0, inertia=(1, 0, 0, 1, 0, 1))
    b.joint("finger", "prismatic", "a", "b", lower=0.0, upper=0.04)
    page, robot = tmp_path / "page.html", fc.load(b)
    view.write(page, view.still_page(robot, robot.neutral()).replace("</body>", MOVE % "[[6, 0.0125]]"))
    assert "<output>0.0125</output>" in open_page(page, until="document.body.dataset.poses").dom


OPEN = """<script>
document.querySelector(".tools button").click();
document.body.dataset.edge = document.querySelector(".panel").getBoundingClientRect().left;
</script></body>"""


def test_the_panel_of_sliders_does_not_cover_the_robot(tmp_path: Path) -> None:
    imread = pytest.importorskip("matplotlib.image").imread
    page, picture, robot = tmp_path / "page.html", tmp_path / "page.png", fc.load("cat")
    view.write(page, view.still_page(robot, robot.neutral()).replace("</body>", OPEN))
    seen = open_page(page, until="document.querySelector('[data-view=ready]')", picture=picture)
    red, green, blue = np.moveaxis(imread(picture)[..., :3], -1, 0)
    across = ((red > 0.6) & (green < 0.72 * red) & (blue < 0.4 * red)).sum(axis=0)
    edge = int(float(seen.attribute("data-edge")[0]))
    assert across[: edge - 10].sum() > 2000
    assert across[edge - 8 : edge].sum() == 0  # the cat ends before the panel begins


def test_the_address_is_told_while_the_viewer_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a file, too, where words wait in a buffer."""
    log, read = tmp_path / "log.txt", []

    class Waiting:
        url, missing = "http://localhost:8080", ()

        def __init__(self, *values: object, **options: object) -> None: ...

        def wait(self) -> None:
            read.append(log.read_text())

    monkeypatch.setattr("fallingcat.apps.viewer.Viewer", Waiting)
    with log.open("w") as out, monkeypatch.context() as inside:
        inside.setattr(sys, "stdout", out)
        assert main(["view", "tree9", "--no-open"]) == 0
    assert "http://localhost:8080" in read[0]


def test_view_writes_a_page_without_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "humanoid.html"
    assert main(["view", "humanoid", "--html", str(page)]) == 0
    assert str(page) in capsys.readouterr().out.replace("\n", "")
    assert 'class="view tall"' in page.read_text()
    assert main(["view", "humanoid", "--port", "0"]) == 2
    assert "--port is not a port" in capsys.readouterr().err


def test_without_viser_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    assert main(["view", "tree9", "--no-open"]) == 2
    assert "pip install 'fallingcat[view]'" in capsys.readouterr().err
    with pytest.raises(fc.FallingCatError, match="--html"):
        fc.load("tree9").view()
