"""Exported C: compiled by gcc and clang without a warning, and run against Python bit for bit."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import numpy as np
import pytest
from tools import WARNINGS, built, field_robot, program, run

import fallingcat as fc
from fallingcat import scalar
from fallingcat.cli.main import main
from fallingcat.codegen.c99 import preamble
from fallingcat.codegen.c_sines import c_library
from trees import ALL, random_tree

pytestmark = pytest.mark.compilers

ROOT = Path(__file__).parents[2]
NATIVE = ("-O2", "-march=native", "-ffp-contract=off")
FUNCTIONS = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
    "linearize", "coriolis_matrix", "centroidal_momentum_matrix", "step:rk4", "difference", "kinetic_energy",
)  # fmt: skip


LARGE = ("quadruped", "humanoid", "talos")


def functions(robot: fc.Robot) -> list[object]:
    frame = robot.frame_names[-1]

    def reach(r: fc.Robot, q: object, target: object) -> object:
        """How far a frame is from a target, and at which angle."""
        d = r.frame_pose(q, frame)[:3, 3] - target
        return [scalar.sqrt(d @ d), scalar.atan2(d[1], d[0])]

    return [
        *FUNCTIONS, ("frame_pose", {"frame": frame}), ("frame_jacobian", {"frame": frame, "representation": "mixed"}),
        ("forward_dynamics", {"wrenches": "body"}), fc.compile(reach, robot, target=3),
    ]  # fmt: skip


def robot_named(name: str) -> fc.Robot:
    return field_robot(name) if name in ("talos", "panda") else fc.load(name)


@pytest.mark.parametrize("name", ["cat", "panda", *(pytest.param(x, marks=[pytest.mark.sweep, pytest.mark.long]) for x in LARGE)])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_same_bits_as_in_python(name: str, compiler: str, tmp_path: Path) -> None:
    compiler = program(compiler)
    robot = robot_named(name)
    done = fc.export(robot, functions(robot), tmp_path)
    assert len(done.functions) == len(FUNCTIONS) + 4
    header = next(path for path in done.files if path.suffix == ".h")
    says = run(built(tmp_path, header.stem, compiler, *NATIVE))
    assert says.endswith("good, to the last bit\n"), says


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_with_every_joint(seed: int, tmp_path: Path) -> None:
    robot = fc.load(random_tree(seed, 8, ALL), floating=seed % 2 == 0)
    fc.export(robot, ["inverse_dynamics", "forward_dynamics_derivatives", "integrate", "christoffel_symbols"], tmp_path)
    assert "good, to the last bit" in run(built(tmp_path, "tree", program("gcc"), *NATIVE))


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_optimization_does_not_change_bits(level: str, tmp_path: Path) -> None:
    """-O0 calls fma of the C library, which rounds once as well; GNU's dialect would contract if it were not told."""
    fc.export(fc.load("quadruped"), ["forward_dynamics", "difference"], tmp_path)
    for flags in [(level,), (level, "-march=native", "-std=gnu11")]:
        assert "good, to the last bit" in run(built(tmp_path, "quadruped", program("gcc"), *flags))


ZEROS = "inverse_dynamics_derivatives", "forward_dynamics_derivatives", "coriolis_matrix"


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_zeros_have_their_signs(level: str, compiler: str, tmp_path: Path) -> None:
    """At rest, terms cancel exactly: -(a b + c) is no -a b - c there."""
    robot = fc.load("cat")

    def signs(r: fc.Robot, x: object) -> object:
        t, u, v = x[0] * x[1] + x[2], x[1] * x[0] + x[3], x[0] * x[0] + x[2]  # type: ignore[index]
        return [-t, x[4] * x[0] - u, x[4] - v * x[0], x[3] - v * x[1], -v]  # type: ignore[index]

    fc.export(robot, [*ZEROS, fc.compile(signs, robot, x=5)], tmp_path)
    text = (tmp_path / "check.c").read_text()
    assert re.search(r"[{ ]\(-0\.0\)[,}]", text)
    says = run(built(tmp_path, "cat", program(compiler), level, "-march=native", "-ffp-contract=off"))
    assert says.endswith("good, to the last bit\n"), says


def test_a_wrong_result_is_found(tmp_path: Path) -> None:
    """The check can fail: with one constant changed it does."""
    fc.export(fc.load("cat"), ["inverse_dynamics"], tmp_path)
    text = (tmp_path / "cat.c").read_text()
    first = text.index("void cat_inverse_dynamics__0(")
    constant = re.compile(r"0x1\.[0-9a-f]+p[-+]\d+").search(text, first)
    assert constant is not None
    (tmp_path / "cat.c").write_text(text[: constant.start()] + "0.123" + text[constant.end() :])
    with pytest.raises(AssertionError, match="WRONG"):
        run(built(tmp_path, "cat", program("gcc"), *NATIVE))


def test_aarch64(tmp_path: Path) -> None:
    """Another processor, emulated."""
    emulator, compiler = program("qemu-aarch64"), program("aarch64-linux-gnu-gcc")
    robot = fc.load("cat")
    fc.export(robot, functions(robot), tmp_path)
    check = built(tmp_path, "cat", compiler, "-O2", "-static")
    assert run(emulator, check).endswith("good, to the last bit\n")


@pytest.mark.parametrize("flags", [(), ("-DFALLINGCAT_NO_FMA",)])
def test_single_precision(flags: tuple[str, ...], tmp_path: Path) -> None:
    robot = fc.load("quadruped")
    names = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "difference", "frame_pose:front_left_foot"]
    fc.export(robot, names, tmp_path, precision="float")
    text = (tmp_path / "quadruped.c").read_text()
    functions = text[text.index("FC_PIECE void") :]
    assert "double" not in functions
    says = run(built(tmp_path, "quadruped", program("gcc"), *NATIVE, "-Wdouble-promotion", *flags))
    assert says.endswith("good\n")


def test_without_fused_multiply_add(tmp_path: Path) -> None:
    fc.export(fc.load("quadruped"), ["inverse_dynamics", "forward_dynamics", "difference"], tmp_path)
    says = run(built(tmp_path, "quadruped", program("gcc"), "-O2", "-DFALLINGCAT_NO_FMA"))
    assert says.endswith("good\n")
    assert "close" in says


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_from_cpp(compiler: str, tmp_path: Path) -> None:
    """The header is C++, too, and the functions are found."""
    robot = fc.load("cat")
    fc.export(robot, ["mass_matrix"], tmp_path)
    (tmp_path / "use.cpp").write_text(
        '#include "cat.h"\n#include <vector>\n#include <cstdio>\nint main() {\n'
        "  std::vector<double> q(CAT_NQ), M(CAT_NV * CAT_NV), room(CAT_MASS_MATRIX_WORKSPACE);\n  q[6] = 1.0;\n"
        '  cat_mass_matrix(q.data(), M.data(), room.data());\n  std::printf("%a\\n", M[0]);\n}\n'
    )
    run(program("gcc"), *WARNINGS, *NATIVE, "-c", tmp_path / "cat.c", "-o", tmp_path / "cat.o")
    flags = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
    run(program(compiler), *flags, tmp_path / "use.cpp", tmp_path / "cat.o", "-o", tmp_path / "use", "-lm")
    assert float.fromhex(run(tmp_path / "use").strip()) == robot.mass_matrix(robot.neutral())[0, 0]


def test_cmake(tmp_path: Path) -> None:
    robot = fc.load("cat")
    fc.export(robot, ["inverse_dynamics"], tmp_path)
    cmake = program("cmake")
    run(cmake, "-S", tmp_path, "-B", tmp_path / "build", "-DFALLINGCAT_MARCH=native")
    run(cmake, "--build", tmp_path / "build")
    assert "good, to the last bit" in run(tmp_path / "build" / "check")
    tau = [float(line.split("=")[1]) for line in run(tmp_path / "build" / "example").splitlines()]
    expected = robot.inverse_dynamics(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv))
    np.testing.assert_allclose(tau, expected, rtol=1e-8, atol=1e-12)


def test_the_controller_of_the_documentation(tmp_path: Path) -> None:
    """The page has the files of the example, and what it says to do works."""
    example, page = ROOT / "examples" / "controller", (ROOT / "docs" / "robots_computer.md").read_text()
    for file in ("CMakeLists.txt", "controller.cpp"):
        assert (example / file).read_text() in page
        (tmp_path / file).write_text((example / file).read_text())
    line = next(line for line in page.splitlines() if line.startswith("fallingcat export spacearm"))
    words = line.replace("--out dynamics", f"--out {tmp_path}/dynamics").split()[1:]
    assert main(words) == 0
    cmake = program("cmake")
    run(cmake, "-S", tmp_path, "-B", tmp_path / "build", "-DFALLINGCAT_MARCH=native")
    run(cmake, "--build", tmp_path / "build")
    assert "of the goal; the hand is at" in run(tmp_path / "build" / "controller")


@pytest.mark.sweep
def test_a_humanoids_derivatives_compile_in_under_a_minute(tmp_path: Path) -> None:
    """Of processor time, whatever else the machine does; no test of speed, but of whether it ends."""
    fc.export(fc.load("humanoid"), ["inverse_dynamics_derivatives"], tmp_path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(program("gcc"), *WARNINGS, *NATIVE, "-c", tmp_path / "humanoid.c", "-o", tmp_path / "humanoid.o")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < 60.0


EDGES = (
    0.0,
    -0.0,
    1e-310,
    0.5,
    0.785398163397448,
    1.5707963267948966,
    99999.9,
    1e5,
    -1e5,
    100000.1,
    1e22,
    -1e300,
    6381956970095103.0,
)


def test_sines_of_all_sizes(tmp_path: Path) -> None:
    """Ours in C against ours in LLVM, bit for bit, at edges and at random."""
    robot = fc.load("cat")
    f = fc.compile(lambda r, x: [scalar.sin(x[0]), scalar.cos(x[0]), scalar.atan2(x[0], x[1])], robot, x=2)
    rng = np.random.default_rng(5)
    x = [
        *EDGES,
        *(rng.normal(size=500) * 10.0 ** rng.uniform(-20, 300, size=500)),
        *rng.uniform(-20, 20, size=500),
        np.nan,
        np.inf,
    ]
    y = [*rng.permutation(np.array(x))]
    points = np.array([x, y]).T
    expected = f(points)
    rows = ",\n".join(f"{{{', '.join(_c(v) for v in row)}}}" for row in points)
    (tmp_path / "s.c").write_text(
        "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n" + preamble("double") + c_library(["sin", "atan2"])
        + f"static const double x[{len(points)}][2] = {{{rows}}};\nint main(void) {{ for (int i = 0; i < {len(points)}; i++) {{"
        "double s, c; fc_sincos(x[i][0], &s, &c);"
        ' printf("%a %a %a\\n", s, c, fc_atan2(x[i][0], x[i][1])); } return 0; }\n'
    )  # fmt: skip
    run(program("gcc"), *NATIVE, tmp_path / "s.c", "-o", tmp_path / "s", "-lm")
    got = np.array([[float.fromhex(w) for w in line.split()] for line in run(tmp_path / "s").splitlines()])
    same = got.view(np.int64) == expected.view(np.int64)
    assert (same | (np.isnan(got) & np.isnan(expected))).all()


def _c(x: float) -> str:
    return "NAN" if np.isnan(x) else "INFINITY" if np.isinf(x) else float(x).hex()
