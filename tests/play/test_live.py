"""Live pages in a real browser: the WebAssembly is the robot's dynamics, and what nature keeps is kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.apps import play, view
from fallingcat.apps.play.kernels import weightless
from fallingcat.apps.view.scene import bodies_in_links, body_poses
from fallingcat.cli.main import main
from trees import random_tree

sys.path.insert(0, str(Path(__file__).parent.parent / "view"))
from browser import open_page

SCRIPT = """<script>
const until = (ready, act) => { if (ready()) act(); else setTimeout(() => until(ready, act), 20); };
until(() => window.play && window.play.camera(), async () => {
  const { physics } = window.play;
  try { document.body.dataset.result = JSON.stringify(await (async () => { %s })()); }
  catch (error) { document.body.dataset.result = JSON.stringify("failed: " + error.message); }
});
</script></body>"""


def run(page: Path, html: str, script: str, **options: Any) -> Any:
    """What a script gives in a live page."""
    view.write(page, html.replace("</body>", SCRIPT % script))
    seen = open_page(page, until="document.body.dataset.result || document.querySelector('[data-error]')", **options)
    assert seen.console == ()
    assert seen.attribute("data-error") == []
    return json.loads(seen.attribute("data-result")[0].replace("&quot;", '"'))


@pytest.fixture(scope="module")
def cat() -> str:
    robot = fc.load("cat")
    return play.page(robot, robot.neutral())


EVALUATE = """
  const { f, F, room } = physics.memory, { nq, nv, bodies } = physics.data, [q, nu, tau, w] = %s;
  const places = [q, nu, tau, w].map((x) => { const at = room(x.length); F.set(x, at); return at; });
  const A = room(nv), K = room(18 * bodies.length), H = room(6), E = room(1), [Q, V] = places;
  f.dynamics(...places, A); f.kinematics(Q, V, K); f.momentum(Q, V, H); f.energy(Q, V, E);
  const take = (at, count) => Array.from(F.subarray(at, at + count));
  return [take(A, nv), take(K, 18 * bodies.length), take(H, 6), F[E]];
"""


@pytest.mark.viewer
@pytest.mark.parametrize("seed", [None, 2, 3])
def test_the_page_computes_what_the_library_does(tmp_path: Path, seed: int | None) -> None:
    robot = fc.load("cat" if seed is None else random_tree(seed, joints=6))
    free = weightless(robot)
    rng = np.random.default_rng(1)
    q, nu, tau = robot.random_configuration(rng), robot.random_velocity(rng), robot.random_velocity(rng)
    w = rng.normal(size=(len(robot.model.bodies), 6))  # in the coordinates of bodies, which links may not share
    turned = np.array([np.kron(np.eye(2), H[:3, :3]) @ x for H, x in zip(bodies_in_links(robot.model), w)])
    state = json.dumps([x.tolist() for x in (q, nu, tau, w.ravel())])
    dnu, K, h, energy = run(tmp_path / "page.html", play.page(robot, robot.neutral()), EVALUATE % state)
    names = [body.name for body in robot.model.bodies]
    expected = free.forward_dynamics(q, nu, tau, dict(zip(names, turned, strict=True)))
    assert np.allclose(dnu, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert np.allclose(h, robot.centroidal_momentum(q, nu), atol=1e-10)
    assert energy == pytest.approx(robot.kinetic_energy(q, nu), rel=1e-12)
    rows = np.array(K).reshape(-1, 18)
    poses = body_poses(robot, q)
    assert np.allclose(rows[:, :12].reshape(-1, 3, 4), poses[:, :3], atol=1e-12)
    later = (body_poses(robot, robot.integrate(q, 1e-6 * nu)) - poses)[:, :3, 3] / 1e-6
    assert np.allclose(rows[:, 12:15], later, atol=1e-4 * np.abs(later).max())


FLY = """
  physics.world.muscles = false; physics.world.gravity = %s; physics.world.floor = null; physics.world.friction = 0;
  for (let k = 0; k < physics.nu.length; k++) physics.nu[k] = Math.sin(3 * k + 1) * (k < 6 ? 1 : 2);
  const e = physics.energy(), h = physics.momentum(), state = () => [...physics.q, ...physics.nu], start = state();
  physics.advance(%g);
  return [e, physics.energy(), h, physics.momentum(), start, state()];
"""


@pytest.mark.viewer
def test_a_minute_without_damping(tmp_path: Path, cat: str) -> None:
    e0, e1, h0, h1, *_ = run(tmp_path / "page.html", cat, FLY % ("[0, 0, 0]", 60.0))
    assert e0["kinetic"] > 0.1
    assert abs(e1["total"] - e0["total"]) < 1e-8 * e0["total"]
    assert np.allclose(h0, h1, rtol=0.0, atol=1e-8 * np.abs(h0).max())


@pytest.mark.viewer
def test_a_minute_of_running_into_stops(tmp_path: Path) -> None:
    """They are springs, smooth enough for the integrator; a robot that is held to the world runs into them again and again."""
    robot = fc.load("quadruped", floating=False)
    fly = FLY.replace("Math.sin(3 * k + 1) * (k < 6 ? 1 : 2)", "1.5 * Math.sin(3 * k + 1)")
    e0, e1, _, _, _, end = run(tmp_path / "page.html", play.page(robot, robot.neutral()), fly % ("[0, 0, 0]", 60.0))
    assert abs(e1["total"] - e0["total"]) < 1e-8 * e0["total"]
    low, high = robot.position_limits.T
    assert np.all(end[: robot.n] > low - 0.2)
    assert np.all(end[: robot.n] < high + 0.2)


CARDS = """
  const told = () => ["energy", "momentum", "linear"].map((name) => document.querySelector(`.${name} small`).textContent);
  const press = (name) => document.querySelector(`[data-act="${name}"]`).click();
  press("pause"); press("muscles"); physics.world.gravity = [0, 0, 0];
  const said = [];
  for (let k = 0; k < 4; k++) { physics.nu[k] += 2; physics.advance(0.3); }
  window.play.measure(); physics.advance(1); window.play.measure(); said.push(told());
  physics.world.hand = { body: 0, point: [0, 0, 0], target: [0, 0, 0], stiffness: 0, damping: 0 };
  window.play.measure(); said.push(told());
  return said;
"""


@pytest.mark.viewer
@pytest.mark.parametrize("floating", [True, False])
def test_momentum_of_what_is_held_to_the_world_is_not_said_to_be_kept(tmp_path: Path, floating: bool) -> None:
    robot = fc.load("spacearm", floating=floating)
    moving, held = run(tmp_path / "page.html", play.page(robot, robot.neutral()), CARDS)
    assert moving[0].startswith("kept to ")
    assert [words.startswith("kept to ") for words in moving[1:]] == [floating, floating]
    assert floating or moving[1:] == ["the world holds it", "the world holds it"]
    assert held == ["your hand works", "your hand turns it", "your hand moves it"]


ROOM = """
  const { renderer, view } = window.play, found = [];
  const box = (name) => {
    const { left, top, right, bottom } = document.querySelector(name).getBoundingClientRect(); return [left, top, right, bottom];
  };
  const middle = () => { const { x, y } = renderer.free(view); return [(1 + x) / 2 * innerWidth, (1 - y) / 2 * innerHeight]; };
  const settle = async () => { for (let k = 0; k < 3; k++) await new Promise(requestAnimationFrame); };
  await settle(); found.push([middle(), box(".charts"), box(".bar")]);
  document.querySelector("[data-act=joints]").click(); await settle(); found.push([middle(), box(".charts"), box(".joints")]);
  return found;
"""


@pytest.mark.viewer
@pytest.mark.parametrize("width", [1200, 390, 320])
def test_charts_switches_and_sliders_leave_room_for_the_robot(tmp_path: Path, cat: str, width: int) -> None:
    alone, beside = run(tmp_path / "page.html", cat, ROOM, width=width, height=800 if width > 320 else 568)
    for (x, y), charts, below in (alone, beside) if width < 768 else ():
        assert x == pytest.approx(width / 2)
        assert y == pytest.approx((charts[3] + below[1]) / 2, abs=1.0)
        assert below[1] - charts[3] > 100
    if width == 1200:
        assert alone[0] == pytest.approx([600, 400])
        assert beside[0] == pytest.approx([beside[2][0] / 2, 400], abs=1.0)


@pytest.mark.viewer
def test_the_path_is_that_of_the_library(tmp_path: Path) -> None:
    """A tree with every joint type that a page moves by itself, under gravity, against the library's own steps."""
    robot = fc.load(random_tree(7, joints=5, types=("revolute", "spherical", "planar", "prismatic")))
    script = FLY.replace("physics.world.friction = 0;", "physics.world.friction = 0; physics.world.limits = false;")
    html = play.page(robot, robot.neutral())
    *_, start, end = run(tmp_path / "page.html", html, script % ("[0, 0, -9.81]", 0.5))
    q, nu = np.array(start[: robot.nq]), np.array(start[robot.nq :])
    tau = np.zeros(robot.nv)
    for _ in range(4000):
        q, nu = robot.step(q, nu, tau, 0.5 / 4000, "rk4")
    assert np.abs(robot.difference(q, end[: robot.nq])).max() < 1e-7
    assert np.allclose(nu, end[robot.nq :], atol=1e-6 * max(1.0, np.abs(nu).max()))


THROW = """
  physics.nu.fill(0);
  const canvas = document.querySelector("canvas.stage"), box = canvas.getBoundingClientRect(), said = [];
  canvas.setPointerCapture = () => {};
  const how = { pointerId: 7, pointerType: "touch", bubbles: true, cancelable: true };
  const at = (kind, x, y) => canvas.dispatchEvent(new PointerEvent(kind, { ...how, clientX: x, clientY: y }));
  const x = box.left + box.width / 2, y = box.top + box.height / 2;
  said.push(physics.momentum());
  at("pointerdown", x, y);
  said.push(physics.world.hand !== null);
  for (let k = 0; k < 20; k++) { at("pointermove", x + 8 * k, y - 5 * k); physics.advance(1 / 60); }
  at("pointerup", x + 160, y - 100);
  said.push(physics.world.hand === null, physics.momentum());
  physics.advance(10);
  said.push(physics.momentum(), physics.energy());
  return said;
"""


@pytest.mark.viewer
@pytest.mark.parametrize("width", [1200, 390])
def test_a_throw_conserves_momentum(tmp_path: Path, cat: str, width: int) -> None:
    rest, held, let_go, thrown, later, energy = run(tmp_path / "page.html", cat, THROW, width=width)
    assert np.allclose(rest, 0.0, atol=1e-12)
    assert held
    assert let_go
    assert np.linalg.norm(thrown[:3]) > 0.05
    assert np.linalg.norm(thrown[3:]) > 1e-4
    assert np.allclose(thrown, later, atol=1e-8 * np.abs(thrown).max())
    assert np.isfinite(energy["total"])


DROP = """
  const quaternion = (roll, pitch) => {
    const [a, b, c, d] = [Math.sin(roll / 2), Math.cos(roll / 2), Math.sin(pitch / 2), Math.cos(pitch / 2)];
    return [a * d, b * c, -a * c, b * d];
  };
  const { righting } = window.play, found = [];
  physics.world.gravity = [0, 0, -9.81]; physics.world.floor = null;
  for (const [roll, pitch] of [[Math.PI, 0], [-2.2, 0.2], [1.3, -0.3], [0.6, 0]]) {
    physics.q.set(physics.data.q); physics.nu.fill(0); physics.q.set(quaternion(roll, pitch), 3);
    const before = righting.tilt(), left = righting.begin(0.5);
    let most = 0;
    for (let k = 0; k < 10; k++) { physics.advance(0.05); most = Math.max(most, Math.hypot(...physics.momentum().slice(3))); }
    found.push([before, left, righting.tilt(), most]);
  }
  return found;
"""


@pytest.mark.viewer
def test_the_cat_rights_itself(tmp_path: Path, cat: str) -> None:
    """From any roll, pitched or not, without angular momentum, in half a second; where the plan says, by the full dynamics."""
    for before, left, after, momentum in run(tmp_path / "page.html", cat, DROP):
        assert before > 0.5
        assert after < 0.15
        assert abs(after - left) < 0.03
        assert momentum < 1e-6


BUTTONS = """
  const said = [], press = (name) => document.querySelector(`[data-act="${name}"]`).click();
  for (const button of document.querySelectorAll(".bar button")) said.push(button.dataset.act);
  press("gravity"); said.push(physics.world.gravity[2], physics.world.floor !== null);
  press("gravity"); said.push(physics.world.gravity[2], physics.world.floor);
  physics.nu.fill(0); press("kick"); said.push(Math.hypot(...physics.momentum().slice(0, 3)) > 0.1);
  press("joints"); physics.nu.fill(0);  // a kick goes anywhere, and muscles take their time
  const slider = document.querySelector("[data-joint='2']");
  slider.value = 0.5; slider.dispatchEvent(new Event("input"));
  physics.advance(2); said.push(Math.abs(physics.q[7 + 2] - 0.5) < 0.02);
  press("slow"); press("pause"); press("friction"); press("muscles"); press("reset"); said.push(physics.q[7 + 2]);
  return said;
"""


@pytest.mark.viewer
def test_switches(tmp_path: Path, cat: str) -> None:
    said = run(tmp_path / "page.html", cat, BUTTONS)
    names = ["drop", "right", "gravity", "kick", "muscles", "joints", "friction", "slow", "pause", "reset"]
    assert said == [*names, -9.81, True, 0, None, True, True, 0]


def test_a_page_asks_for_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "arm.html"
    assert main(["play", "spacearm", "--html", str(page)]) == 0
    assert str(page) in capsys.readouterr().out.replace("\n", "")
    html = page.read_text()
    assert "http" not in html.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert "'wasm-unsafe-eval'" in html
    assert '"plan":null' in html


def test_what_cannot_move_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stone = tmp_path / "stone.urdf"
    stone.write_text('<robot name="stone"><link name="a"/></robot>')
    assert main(["play", str(stone), "--fixed", "--html", str(tmp_path / "x.html")]) == 2
    assert "cannot be played with" in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()
