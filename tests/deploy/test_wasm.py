"""WebAssembly: in Node and on a page, against Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tools import built, pendulum, program, run

import fallingcat as fc
from devtools import Page, browser
from fallingcat import scalar
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
for (const wrong of [() => f(q, nu), () => f(q, nu, [1]), () => f(q, undefined, tau)]) {
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
    assert f"nu has {robot.nv} entries; got undefined" in found["errors"][2]


@pytest.mark.compilers
def test_results_with_many_entries(tmp_path: Path) -> None:
    """More than a call of JavaScript takes as arguments."""
    robot = pendulum("pend")
    many = fc.compile(lambda r, q: [q[0]] * 150_000, robot)
    fc.export(robot, {"many": many}, tmp_path, target="wasm")
    assert run(program("node"), tmp_path / "check.mjs").endswith("\ngood\n")


@pytest.mark.compilers
@pytest.mark.parametrize("target", ["c", "wasm"])
def test_what_is_no_number_in_python_is_none_elsewhere(target: str, tmp_path: Path) -> None:
    robot = pendulum("pend")
    f = fc.compile(lambda r, q: [scalar.sqrt(-1.0 - q[0] * q[0]), q[0]], robot)
    fc.export(robot, {"f": f}, tmp_path, target=target)
    if target == "wasm":
        assert run(program("node"), tmp_path / "check.mjs").endswith("\ngood\n")
        return
    assert "good, to the last bit" in run(built(tmp_path, "pend", program("gcc")))
    text = (tmp_path / "check.c").read_text()
    (tmp_path / "check.c").write_text(text.replace("NAN", "1.0"))
    with pytest.raises(AssertionError, match="WRONG"):
        run(built(tmp_path, "pend", program("gcc")))


def test_numbers_of_operations(tmp_path: Path) -> None:
    robot = fc.load("cat")
    fc.export(robot, ["gravity_torque"], tmp_path, target="wasm", rate=True)
    text = (tmp_path / "cat.mjs").read_text()
    assert f"gravity_torque: {robot.kernel('gravity_torque').operations:,} floating-point operations. One call takes" in text


def test_a_name_that_ends_a_script() -> None:
    script = wasm_module(pendulum("</script><b>"), ["mass_matrix"]).script()
    assert "</script" not in script
    assert "u003c/script>" in script


MISSING = """
import { load } from "./cat.mjs";
globalThis.process = undefined;
globalThis.fetch = async () => ({ ok: false, status: 404, statusText: "Not Found" });
await load().catch((error) => console.log(error.message));
"""


@pytest.mark.compilers
def test_a_module_that_is_missing_on_the_server(tmp_path: Path) -> None:
    fc.export(fc.load("cat"), ["gravity_torque"], tmp_path, target="wasm")
    (tmp_path / "missing.mjs").write_text(MISSING)
    assert "cat.wasm: 404 Not Found" in run(program("node"), tmp_path / "missing.mjs")


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
