"""WebAssembly: in Node and on a page, against Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tools import program, run

import fallingcat as fc
from devtools import Page, browser
from fallingcat.deploy.wasm import wasm_module

NAMES = ["forward_dynamics", "step:rk4", "frame_poses", "christoffel_symbols", "difference", "inverse_dynamics_derivatives"]


def test_the_module_says_what_it_is() -> None:
    robot = fc.load("cat")
    made = wasm_module(robot, ["mass_matrix", "step"])
    assert made.code[:4] == b"\0asm"
    assert b"cat_mass_matrix" in made.code
    assert made.layout["robot"]["jointNames"] == list(robot.joint_names)
    step = made.layout["functions"][1]
    assert [(a["name"], a["size"]) for a in step["inputs"]] == [("q", robot.nq), ("nu", robot.nv), ("tau", robot.nv), ("dt", 1)]
    assert [a["name"] for a in step["outputs"]] == ["q_out", "nu_out"]
    assert made.layout["data"] < 1 << 16


@pytest.mark.compilers
@pytest.mark.parametrize("precision", ["double", "float"])
def test_in_node(precision: str, tmp_path: Path) -> None:
    fc.export(fc.load("cat"), NAMES, tmp_path, target="wasm", precision=precision)
    assert run(program("node"), tmp_path / "check.mjs").endswith("\ngood\n")


USE = """
import { load } from "./cat.mjs";
const robot = await load();
const f = robot.forward_dynamics;
const [q, nu, tau] = JSON.parse(process.argv[2]);
const copied = f(q, nu, tau);
f.inputs.q.set(q); f.inputs.nu.set(nu); f.inputs.tau.set(tau);
f.run();
const errors = [];
for (const wrong of [() => f(q, nu), () => f(q, nu, [1])]) {
  try { wrong(); } catch (error) { errors.push(error.message); }
}
console.log(JSON.stringify({ copied: [...copied], viewed: [...f.outputs.dnu], errors, nv: robot.nv }));
"""


@pytest.mark.compilers
def test_calls_with_and_without_copies(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = fc.load("cat")
    fc.export(robot, ["forward_dynamics"], tmp_path, target="wasm")
    (tmp_path / "use.mjs").write_text(USE)
    q, nu, tau = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    given = json.dumps([q.tolist(), nu.tolist(), tau.tolist()])
    found = json.loads(run(program("node"), tmp_path / "use.mjs", given))
    np.testing.assert_allclose(found["copied"], robot.forward_dynamics(q, nu, tau), rtol=1e-12, atol=1e-12)
    assert found["viewed"] == found["copied"]
    assert found["nv"] == robot.nv
    assert "expected q, nu, tau; got 2" in found["errors"][0]
    assert f"tau has {robot.nv} entries; got 1" in found["errors"][1]


@pytest.mark.compilers
def test_on_a_page(tmp_path: Path) -> None:
    """The module inside of a script, in a browser, from a file."""
    robot = fc.load("cat")
    made = wasm_module(robot, ["gravity_torque"])
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><title>cat</title><script>{made.script()}</script>")
    with browser(program("chromium"), tmp_path / "profile", "--disable-gpu") as pipe:
        numbers = Page(pipe, page).value("loadRobot().then((robot) => [...robot.gravity_torque(robot.neutral)])")
    np.testing.assert_allclose(numbers, robot.gravity_torque(robot.neutral()), rtol=1e-12, atol=1e-12)
