"""Names that C, CMake, LLVM, JavaScript or our own files keep for themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tools import WARNINGS, built, pendulum, program, run

import fallingcat as fc
from fallingcat.deploy.project import LENGTH, stem

STEMS = ["main", "Check", "example", "test", "all", "install", "clean", "m", "math", "stdint", "stdio", "string", "fc", "x" * 300]


def double(robot: fc.Robot, argument: str, name: str = "f") -> Any:
    """A function with an argument of this name."""
    found: dict[str, Any] = {}
    exec(f"def {name}(r, q, {argument}): return [{argument}[0] * 2.0 + r.potential_energy(q), {argument}[1]] + [1.0] * 9", found)
    return fc.compile(found[name], robot, **{argument: 2})


def test_stems() -> None:
    assert stem("cat") == "cat"
    assert stem("Main") == "Main_robot"
    assert stem("int") == "int"
    assert all(stem(name).lower() not in ("main", "check", "m", "fc") for name in STEMS)
    assert max(len(stem(name)) for name in STEMS) <= LENGTH
    assert stem(stem("main")) == "main_robot"


@pytest.mark.compilers
@pytest.mark.parametrize("name", STEMS)
def test_robots_named_as_our_files(name: str, tmp_path: Path) -> None:
    robot = pendulum(name)
    fc.export(robot, ["inverse_dynamics"], tmp_path)
    assert "good, to the last bit" in run(built(tmp_path, stem(name), program("gcc"), f"-I{tmp_path}"))
    run(program("cmake"), "-S", tmp_path, "-B", tmp_path / "build")
    run(program("cmake"), "--build", tmp_path / "build")
    assert "good, to the last bit" in run(tmp_path / "build" / "check")
    fc.export(robot, ["inverse_dynamics"], tmp_path / "web", target="wasm")
    assert "good" in run(program("node"), tmp_path / "web" / "check.mjs")


ARGUMENTS = [
    "k", "i", "at", "room", "worst", "compare", "printf", "NULL", "EOF", "PEND_NQ", "pend_f", "PEND_F_WORKSPACE", "M_PI", "errno",
    "stdin", "entry", "test1", "A", "C0", "x", "memcmp", "uint64_t", "I", "register", "workspace", "t1", "got", "in_k",
]  # fmt: skip


@pytest.mark.compilers
@pytest.mark.parametrize("argument", ARGUMENTS)
def test_arguments_of_any_name(argument: str, tmp_path: Path) -> None:
    robot = pendulum("pend")
    fc.export(robot, [double(robot, argument)], tmp_path)
    gcc = program("gcc")
    assert "good, to the last bit" in run(built(tmp_path, "pend", gcc))
    run(built(tmp_path, "pend", gcc, main="main"))
    (tmp_path / "use.c").write_text(
        "#include <complex.h>\n#include <errno.h>\n#include <limits.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        '#include "pend.h"\nint main(void) { return 0; }\n'
    )
    run(gcc, *WARNINGS, tmp_path / "use.c", "-o", tmp_path / "use")


@pytest.mark.parametrize("argument", ["entry", "test1", "A", "C0", "body2"])
@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "wasm"])
def test_arguments_of_any_name_in_llvm(argument: str, target: str, tmp_path: Path) -> None:
    robot = pendulum("pend")
    fc.export(robot, [double(robot, argument)], tmp_path, target=target)


@pytest.mark.compilers
def test_objects_have_the_header_of_c(tmp_path: Path) -> None:
    """What C keeps for itself is no argument there either."""
    robot = pendulum("pend")
    fc.export(robot, [double(robot, "register"), "linearize"], tmp_path, target="x86_64-linux-gnu")
    run(program("gcc"), *WARNINGS, tmp_path / "check.c", tmp_path / "pend.o", "-o", tmp_path / "check", "-lm")
    assert "good, to the last bit" in run(tmp_path / "check")
    assert "double A[4]" in (tmp_path / "pend.h").read_text()


@pytest.mark.compilers
@pytest.mark.parametrize("target", ["c", "x86_64-linux-gnu"])
def test_a_function_named_as_a_piece_of_another(target: str, tmp_path: Path) -> None:
    names = {"a": "inverse_dynamics", "a_0": "mass_matrix", "a_angles0": "bias", "a_workspace": "gravity_torque"}
    fc.export(pendulum("pend"), names, tmp_path, target=target)
    code = tmp_path / ("pend.c" if target == "c" else "pend.o")
    run(program("gcc"), *WARNINGS, tmp_path / "check.c", code, "-o", tmp_path / "check", "-lm")
    assert "good, to the last bit" in run(tmp_path / "check")


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ({"M": "mass_matrix", "m": "inverse_dynamics"}, "differ by capitals alone: M and m"),
        ({"NQ": "mass_matrix"}, "a function named NQ"),
        ({"a_": "mass_matrix"}, "no underscore last"),
        ({"a__b": "mass_matrix"}, "two side by side"),
        ({"1a": "mass_matrix"}, "a letter first"),
    ],
)
def test_names_of_functions_that_are_refused(functions: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(fc.InputError, match=words):
        fc.export(pendulum("pend"), functions, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["name", "nq", "neutral", "then", "base"])
def test_names_that_a_robot_has_in_javascript(name: str, tmp_path: Path) -> None:
    with pytest.raises(fc.InputError, match=r"something else named|a function named nq"):
        fc.export(pendulum("pend"), {name: "mass_matrix"}, tmp_path, target="wasm")
    assert list(tmp_path.iterdir()) == []


def test_a_name_of_ones_own(tmp_path: Path) -> None:
    done = fc.export(fc.load("cat"), ["bias"], tmp_path, name="kitten")
    assert done.functions[0].name == "kitten_bias"
    assert (tmp_path / "kitten.h").is_file()
    assert "KITTEN_NQ" in (tmp_path / "kitten.h").read_text()
    for wrong in ("", "main", "a-b", "x" * 61, 3):
        with pytest.raises(fc.InputError, match="not a name for files and functions"):
            fc.export(fc.load("cat"), ["bias"], tmp_path / "other", name=wrong)  # type: ignore[arg-type]
