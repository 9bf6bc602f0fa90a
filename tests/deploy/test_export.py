"""What is asked for, what is refused, and what is written: nothing of this needs a compiler."""

from __future__ import annotations

import json
import math
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools import WARNINGS, built, pendulum, program, run

import fallingcat as fc
from fallingcat.cli.main import main
from fallingcat.codegen.c99 import index, number
from fallingcat.deploy.chosen import choose
from fallingcat.deploy.facts import FACTS
from fallingcat.functions import FUNCTIONS
from fallingcat.trace.loops import variable, whole


@pytest.fixture(scope="module")
def cat() -> fc.Robot:
    return fc.load("cat")


# ---------------------------------------------------------------------------------------------------------------------
# Files


def test_the_files_of_a_c_project(cat: fc.Robot, tmp_path: Path) -> None:
    done = fc.export(cat, ["mass_matrix", "gravity_torque"], tmp_path / "new" / "folder")
    assert sorted(p.name for p in done.files) == ["CMakeLists.txt", "cat.c", "cat.h", "check.c", "main.c"]
    assert sorted(done.directory.iterdir()) == sorted(done.files)
    assert [f.name for f in done.functions] == ["cat_mass_matrix", "cat_gravity_torque"]
    assert done.functions[0].operations == cat.kernel("mass_matrix").operations
    text = (done.directory / "cat.c").read_text()
    assert set(re.findall(r"#include (.*)", text)) == {"<math.h>", "<stdint.h>", '"cat.h"'}
    assert "malloc" not in text
    assert not re.search(r"^(static )?(double|float|int)[^()]*;", text, re.MULTILINE)  # no variables outside of functions


def test_the_header_says_everything(cat: fc.Robot, tmp_path: Path) -> None:
    fc.export(cat, ["forward_dynamics"], tmp_path)
    text = (tmp_path / "cat.h").read_text()
    places = [text.index(f"joint '{name}' (rad)") for name in cat.joint_names]
    assert places == sorted(places)
    assert f"#define CAT_NQ {cat.nq} " in text
    assert f"tau[{cat.nv}]" in text
    assert f"double dnu[{cat.nv}]" in text
    room = re.search(r"#define CAT_FORWARD_DYNAMICS_WORKSPACE (\d+)", text)
    assert room is not None
    assert f"workspace[{room[1]}]" in text
    assert "unit quaternion x y z w" in text
    assert f"{cat.kernel('forward_dynamics').operations:,} floating-point operations" in text


def test_the_header_names_units_frames_and_gravity(cat: fc.Robot, tmp_path: Path) -> None:
    def text(robot: fc.Robot, *functions: str, **options: Any) -> str:
        folder = tmp_path / "_".join(functions).replace(":", "_")
        done = fc.export(robot, list(functions), folder, **options)
        return " ".join(next(p for p in done.files if p.suffix == ".h").read_text().split())

    found = text(cat, "bias")
    assert "Gravity is (0, 0, -9.81) m/s^2 in world coordinates" in found
    assert "Units of the results: N, N m. As inverse_dynamics. The first six entries are the wrench on the base" in found
    assert "in its order: in the coordinates of the base." in found
    assert "out: in the order of nu" in found
    assert "base parts in its order: of the base's origin, in world coordinates." in text(cat, "mass_matrix:representation=mixed")
    assert "base parts in its order: of the base's origin, in world coordinates." in text(cat, "equations_of_motion")
    assert "The base 'frame' is fixed to the world." in text(pendulum("swing"), "mass_matrix")
    made = text(cat, "gravity_torque", target="arm-none-eabi", precision="float")
    assert "Object code: cat.o for thumb-unknown-none-eabi, processor cortex-m4" in made


def test_facts_are_those_of_the_reference() -> None:
    known = tomllib.loads((Path(__file__).parents[2] / "docs" / "tools" / "functions.toml").read_text())
    for name, (units, frames) in FACTS.items():
        expected = known[name]["units"], known[name]["frames"]
        assert (units, frames) == tuple(text.replace("²", "^2").replace('"', "'") for text in expected)
    assert set(FUNCTIONS) <= set(FACTS)


def test_an_export_may_be_repeated(cat: fc.Robot, tmp_path: Path) -> None:
    for target in ("c", "wasm", "aarch64-linux-gnu"):
        first = fc.export(cat, ["gravity_torque"], tmp_path / target, target=target)
        contents = [path.read_bytes() for path in first.files]
        again = fc.export(cat, ["gravity_torque"], tmp_path / target, target=target)
        assert [path.read_bytes() for path in again.files] == contents


@pytest.mark.parametrize("name", ["CMakeLists.txt", "main.c", "cat.c"])
def test_what_is_not_ours_stays(cat: fc.Robot, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine\n")
    with pytest.raises(fc.InputError, match="is there already, and was not made by an export"):
        fc.export(cat, ["gravity_torque"], tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine\n"


def test_object_code_that_is_not_ours_stays(cat: fc.Robot, tmp_path: Path) -> None:
    (tmp_path / "cat.o").write_bytes(b"\x7fELF")
    with pytest.raises(fc.InputError, match="is there already"):
        fc.export(cat, ["gravity_torque"], tmp_path, target="x86_64-linux-gnu")


def test_folders_that_cannot_be(cat: fc.Robot, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "inside", "/dev/null/x", "a\0b", 3):
        with pytest.raises(fc.InputError, match=r"cannot write to|not a folder"):
            fc.export(cat, ["gravity_torque"], place)  # type: ignore[arg-type]
    (tmp_path / "cat.c").mkdir()
    with pytest.raises(fc.InputError, match="a folder"):
        fc.export(cat, ["gravity_torque"], tmp_path)


def test_nothing_is_half_written(cat: fc.Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full in the middle."""
    written: list[Path] = []
    usual = Path.write_bytes

    def write_bytes(self: Path, data: Any) -> int:
        written.append(self)
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        return usual(self, data)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    with pytest.raises(fc.InputError, match="No space left"):
        fc.export(cat, ["gravity_torque"], tmp_path)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------------------------------------------
# Functions


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ([], "no functions"),
        (["mass_matrx"], "no function 'mass_matrx'.*mass_matrix"),
        (["frame_pose"], "frame_pose needs a frame"),
        (["frame_pose:hed"], "hed"),
        (["mass_matrix:tool"], "has no option 'frame'"),
        (["step:rk5"], "rk5"),
        (["base_change"], "base_change needs a base.*base_change:NAME"),
        (["base_change:hed"], "hed"),
        (["equations_of_motion:hed"], "hed"),
        (["step:order=5"], "step has no option 'order'"),
        (["mass_matrix", "mass_matrix"], "two functions named mass_matrix"),
        ([3], "not a function.*got: 3"),
        (7, "not functions.*got: 7"),
        ({"not a name": "mass_matrix"}, "not a name for a function"),
    ],
)
def test_functions_that_are_none(cat: fc.Robot, functions: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(fc.FallingCatError, match=words):
        fc.export(cat, functions, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_names_of_functions(cat: fc.Robot) -> None:
    frame = cat.frame_names[2]
    asked: list[Any] = [
        "bias", f"frame_pose:{frame}", f"frame_jacobian:{frame},representation=mixed", "mass_matrix:representation=mixed",
        ("frame_velocity", {"frame": frame}), "step", "step:rk4",
    ]  # fmt: skip
    assert [c.name for c in choose(cat, asked)] == [
        "bias", f"frame_pose_{frame}", f"frame_jacobian_{frame}_mixed", "mass_matrix_mixed", f"frame_velocity_{frame}",
        "step", "step_rk4",
    ]  # fmt: skip
    height = fc.compile(lambda r, q: r.center_of_mass(q)[2], cat)
    assert [c.name for c in choose(cat, {"M": "mass_matrix", "height": height})] == ["M", "height"]
    assert choose(cat, "bias")[0].name == "bias"


def test_a_step_is_the_step(cat: fc.Robot, rng: np.random.Generator) -> None:
    q, nu, tau = cat.random_configuration(rng), rng.normal(size=cat.nv), rng.normal(size=cat.nv)
    found = choose(cat, ["step:rk4"])[0].kernel(q, nu, tau, [0.01])
    expected = cat.step(q, nu, tau, 0.01, method="rk4")
    np.testing.assert_allclose(found.q, expected.q, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.nu, expected.nu, rtol=1e-11, atol=1e-11)


def test_another_base(cat: fc.Robot, rng: np.random.Generator) -> None:
    """With the defaults of the methods."""
    q, nu = cat.random_configuration(rng), rng.normal(size=cat.nv)
    change, own, there = choose(cat, ["base_change:head", "equations_of_motion", "equations_of_motion:head"])
    assert [change.name, own.name, there.name] == ["base_change_head", "equations_of_motion", "equations_of_motion_head"]
    np.testing.assert_array_equal(change.kernel(q, nu).T, cat.base_change(q, nu, "head").T)
    np.testing.assert_array_equal(own.kernel(q, nu).M, cat.equations_of_motion(q, nu).M)
    np.testing.assert_array_equal(there.kernel(q, nu).M, cat.equations_of_motion(q, nu, "head").M)


def test_a_function_of_another_robot(cat: fc.Robot, tmp_path: Path) -> None:
    f = fc.compile(lambda r, q: r.center_of_mass(q)[2], fc.load("quadruped"))
    with pytest.raises(fc.InputError, match="compiled for another robot"):
        fc.export(cat, [f], tmp_path)


def test_choices(cat: fc.Robot, tmp_path: Path) -> None:
    with pytest.raises(fc.InputError, match="precision"):
        fc.export(cat, ["bias"], tmp_path, precision="half")
    with pytest.raises(fc.InputError, match="unknown target"):
        fc.export(cat, ["bias"], tmp_path, target="cobol")
    with pytest.raises(fc.InputError, match="target and cpu are words"):
        fc.export(cat, ["bias"], tmp_path, target=None)  # type: ignore[arg-type]
    for target in ("c", "wasm"):
        with pytest.raises(fc.InputError, match="takes no cpu"):
            fc.export(cat, ["bias"], tmp_path, target=target, cpu="skylake")
    with pytest.raises(fc.InputError, match="not a robot"):
        fc.export("cat", ["bias"], tmp_path)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------------------------------------------
# Names


@pytest.mark.parametrize(
    ("name", "prefix"), [("7 of 9", "x7_of_9"), ("a-b.c/d", "a_b_c_d"), ("möbius*/", "m_bius"), ("int", "int"), ("", "x")]
)
def test_robots_whose_names_are_no_identifiers(name: str, prefix: str, tmp_path: Path) -> None:
    try:
        robot = pendulum(name, joint="hinge */ ??/ é", link="bob /* ")
    except fc.ModelError:
        robot = pendulum(name or "x")
    done = fc.export(robot, ["inverse_dynamics"], tmp_path)
    assert done.functions[0].name == f"{prefix}_inverse_dynamics"
    text = (tmp_path / f"{prefix}.h").read_text()
    assert text.isascii()
    assert text.count("/*") == text.count("*/")


@pytest.mark.compilers
@pytest.mark.parametrize("name", ["7 of 9", "möbius*/", "int"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_they_are_valid_c(name: str, compiler: str, tmp_path: Path) -> None:
    """Arguments of a user's function have names that C keeps for itself, too."""
    robot = pendulum(name, joint="hinge */ ??/ é", link="bob /* ")

    def double(r: Any, q: Any, register: Any, t1: Any, workspace: Any, sqrt: Any, A: Any) -> Any:
        return [register[0] * t1[0] + workspace[0], sqrt[0] - A[0] + r.potential_energy(q)]

    function = fc.compile(double, robot, register=1, t1=1, workspace=1, sqrt=1, A=1)
    done = fc.export(robot, [function, "inverse_dynamics", "kinetic_energy"], tmp_path)
    stem = next(p.stem for p in done.files if p.suffix == ".h")
    assert "good, to the last bit" in run(built(tmp_path, stem, program(compiler), "-O1"))
    run(program(compiler), *WARNINGS, tmp_path / "main.c", tmp_path / f"{stem}.c", "-o", tmp_path / "main", "-lm")
    run(tmp_path / "main")


@pytest.mark.parametrize("x", [0.0, -0.0, 0.1, -2.5, 1e300, 5e-324, math.pi, math.inf, -math.inf])
def test_numbers_are_exact(x: float) -> None:
    text = number(x).strip("()").replace("INFINITY", "inf")
    value = float.fromhex(text) if "0x" in text else float(text)
    assert (value, math.copysign(1.0, value)) == (x, math.copysign(1.0, x))


def test_numbers_in_single_precision() -> None:
    assert number(0.1, "float") == f"{float(np.float32(0.1)).hex()}f"
    assert number(math.nan, "float") == "NAN"
    assert number(np.float64(0.0)) == "0.0"
    assert number(np.float64(1.0)) == "1.0"
    with pytest.raises(fc.InputError, match="too large for single precision"):
        number(1e39, "float")


def test_indices() -> None:
    i, j = variable("i"), variable("j")
    assert index(whole(0)) == "0"
    assert index(i * 3 + j + 1) == "j + 3 * i + 1"
    assert index(i * j * 2 + -4) == "2 * i * j - 4"
    assert index(i * -1) == "-i"


# ---------------------------------------------------------------------------------------------------------------------
# The command


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export", "cat", "gravity_torque", "frame_pose:head", "--out", str(tmp_path / "c"), "--rate"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "cat_gravity_torque" in said
    assert "a call here" in said
    assert str(tmp_path / "c" / "cat.h") in said
    assert "One call takes" in (tmp_path / "c" / "cat.h").read_text()


def test_the_command_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export", "cat", "bias", "--out", str(tmp_path), "--target", "arm-none-eabi", "--precision", "float", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["functions"][0]["name"] == "cat_bias"
    assert found["code_size"] > 1000
    assert len(found["files"]) == 5


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["cat", "nonsense"], "no function 'nonsense'"),
        (["cat", "bias", "--target", "pdp11"], "unknown target"),
        (["cat", "bias", "--precision", "triple"], "precision"),
        (["no_such_robot", "bias"], "no_such_robot"),
    ],
)
def test_the_command_refuses(words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", *words, "--out", str(tmp_path / "x")]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
