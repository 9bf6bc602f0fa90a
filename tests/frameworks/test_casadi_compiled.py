"""Machine code in CasADi: the bits of NumPy, and the derivatives that CasADi finds for the expressions."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from fallingcat.frameworks import elf
from frameworks.every_function import arguments, load, options
from test_quality import ROOT, run
from trees import random_tree

casadi = extra("casadi")
pytestmark = [pytest.mark.casadi, pytest.mark.skipif(not elf.possible(), reason="libraries have another format here")]

CASES = [
    ("panda", "inverse_dynamics"), ("panda", "step"), ("cat", "forward_dynamics"), ("cat", "mass_matrix"), ("cat", "frame_pose"),
    ("cat", "integrate"), ("cat", "kinetic_energy"), ("quadruped", "frame_velocity"), ("quadruped", "gravity_torque"),
]  # fmt: skip


@pytest.mark.parametrize(("robot_name", "name"), CASES)
def test_values_and_derivatives(robot_name: str, name: str, rng: np.random.Generator) -> None:
    same(load(robot_name), name, rng)


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_with_every_joint(seed: int, rng: np.random.Generator) -> None:
    robot = fc.load(random_tree(seed, 4), floating=seed % 2 == 0, joint_dynamics=True)
    same(robot, ("forward_dynamics", "inverse_dynamics")[seed // 2], rng)


def same(robot: fc.Robot, name: str, rng: np.random.Generator) -> None:
    """Value, Jacobian, adjoint, and the tangent of the adjoint: compiled, and as CasADi derives them from expressions."""
    chosen = options(robot, name)
    f = fc.casadi(robot, compiled=True).function(name, **chosen)
    g = fc.casadi(robot).function(name, **chosen)
    assert f.class_name() == "External"
    assert (f.name_in(), f.name_out()) == (g.name_in(), g.name_out())
    given = [np.reshape(x, -1) for x in arguments(robot, name, rng)]
    nothing = [0] * f.n_out()
    bars = [rng.normal(size=f.size_out(k)) for k in range(f.n_out())]
    dots = [rng.normal(size=f.size_in(k)) for k in range(f.n_in())] + nothing + [rng.normal(size=b.shape) for b in bars]
    close(f, g, given)
    close(f.jacobian(), g.jacobian(), [*given, *nothing])
    close(f.reverse(1), g.reverse(1), [*given, *nothing, *bars])
    close(f.reverse(1).forward(1), g.reverse(1).forward(1), [*given, *nothing, *bars, *[0] * f.n_in(), *dots])


def close(f: casadi.Function, g: casadi.Function, given: list[np.ndarray]) -> None:
    for a, b in zip(f.call(given), g.call(given), strict=True):
        assert np.allclose(a.full(), b.full(), rtol=1e-9, atol=1e-9 * max(1.0, np.abs(b.full()).max())), f.name()


def test_the_bits_of_numpy(rng: np.random.Generator) -> None:
    robot = load("panda")
    given = arguments(robot, "forward_dynamics_derivatives", rng)
    found = fc.casadi(robot, compiled=True, order=0).forward_dynamics_derivatives(*given)
    assert found._fields == ("ddnu_dq", "ddnu_dnu", "Minv")
    for f, e in zip(found, robot.forward_dynamics_derivatives(*given), strict=True):
        assert np.array_equal(f.full(), e)


def test_jacobians_of_the_dynamics_are_the_analytical_ones() -> None:
    """Not those of the program, which are longer."""
    from fallingcat.frameworks.casadi_compiled import jacobian
    from fallingcat.frameworks.entries import by_columns

    for robot in (load("panda"), fc.load("spacearm")):
        kernel = robot.kernel("inverse_dynamics")
        assert jacobian(kernel).operations < 0.8 * by_columns(kernel).jacobian().operations


def test_arguments_that_are_left_out_are_zero(rng: np.random.Generator) -> None:
    """CasADi hands a null pointer over for a sparse zero."""
    robot = load("panda")
    f = fc.casadi(robot, compiled=True).function("bias")
    q = robot.random_configuration(rng)
    assert np.array_equal(f(q=q)["h"].full()[:, 0], robot.bias(q, np.zeros(robot.nv)))


def test_a_problem_is_solved() -> None:
    """The posture of least gravity torque with the hand at a height, by IPOPT with exact Hessians, both ways."""
    robot = load("panda")
    found = []
    for functions in (fc.casadi(robot), fc.casadi(robot, compiled=True)):
        q = casadi.MX.sym("q", robot.nq)
        height = functions.frame_pose(q, robot.frame_names[-1])[2, 3]
        options = {"ipopt": {"print_level": 0, "sb": "yes"}, "print_time": False}
        nlp = {"x": q, "f": casadi.sumsqr(functions.gravity_torque(q)) + 1e-2 * casadi.sumsqr(q), "g": height}
        solver = casadi.nlpsol("solver", "ipopt", nlp, options)
        answer = solver(x0=0.1 + robot.neutral(), lbg=0.5, ubg=0.5)
        assert solver.stats()["success"]
        found.append(answer["x"].full()[:, 0])
    assert np.allclose(*found, atol=1e-6)
    assert np.isclose(robot.frame_pose(found[1], robot.frame_names[-1])[2, 3], 0.5, atol=1e-7)


def test_a_function_from_fc_compile(rng: np.random.Generator) -> None:
    robot = fc.load("cat")

    def height(r, q):  # type: ignore[no-untyped-def]
        return r.center_of_mass(q)[2]

    compiled = fc.compile(height, robot)
    f = fc.casadi(compiled, compiled=True)
    q = robot.random_configuration(rng)
    assert float(f(q)) == compiled(q)
    assert np.allclose(f.jacobian()(q, 0).full(), fc.casadi(compiled).jacobian()(q, 0).full(), atol=1e-14)


def test_mistakes_are_named() -> None:
    robot = load("panda")
    arm = fc.casadi(robot, compiled=True)
    q = casadi.SX.sym("q", robot.nq)
    wrong = [
        (lambda: arm.gravity_torque(q), "machine code takes no SX.*MX"),
        (lambda: fc.casadi(robot, compiled="yes"), "compiled"),
        (lambda: fc.casadi(robot, compiled=True, order=3), "order of derivatives; expected: 0, 1 or 2"),
    ]
    for call, words in wrong:
        with pytest.raises(fc.FallingCatError) as error:
            call()
        assert re.search(words, str(error.value)), (words, str(error.value))


def test_a_library_of_jumps(tmp_path: Path) -> None:
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    functions = {f"f{k}": kind(lambda x, k=k: 10 * x + k) for k in range(100)}
    addresses = {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in functions.items()}
    path = tmp_path / "jumps.so"
    path.write_bytes(elf.jumps(addresses))
    library = ctypes.CDLL(str(path))
    assert [getattr(library, name)(7) for name in functions] == [70 + k for k in range(100)]
    assert not hasattr(library, "g")
    for machine in elf.MACHINES.values():
        assert elf.jumps({"f": 1}, machine)[18:20] == machine.to_bytes(2, "little")


def test_folders_from_which_nothing_may_be_executed(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """Then the library is loaded from memory."""

    def refused(*_: object) -> None:
        raise RuntimeError("failed to map segment from shared object")

    monkeypatch.setattr("fallingcat.frameworks.casadi_external.from_file", refused)
    robot = load("panda")
    f, g = (fc.casadi(robot, compiled=True, order=order).function("gravity_torque") for order in (0, 1))
    q = robot.random_configuration(rng)
    for function in (f, g):
        assert np.array_equal(function(q).full()[:, 0], robot.gravity_torque(q))
    assert g.jacobian()(q, 0).shape == (robot.nv, robot.nq)


# ---------------------------------------------------------------------------------------------------------------------
# The page


def test_the_page_runs() -> None:
    code = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "casadi.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(code) > 2
    result = run("-c", "\n".join(code))
    assert result.returncode == 0, result.stderr
