"""Robots with hundreds of joints: tables instead of written-out code, quick compiling, and a word before a long wait."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fallingcat as fc
from fallingcat import announce
from fallingcat.arrays import eager
from fallingcat.codegen import Kernel, native
from fallingcat.errors import TraceError
from fallingcat.functions import task
from fallingcat.task import Task
from fallingcat.trace import dot_matrix, graph, interpret, trace
from spread import one_in
from trees import random_tree

Array = NDArray[np.float64]

LENGTH, MASS, TURNING = 0.01, 0.3, 2e-5


def planar_chain(joints: int, floating: bool = False) -> fc.Robot:
    """Equal links in a vertical plane; the centre of mass of each is at its far end."""
    b = fc.Builder("chain")
    b.link("link0", mass=1.0, inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    for k in range(joints):
        b.link(f"link{k + 1}", mass=MASS, com=(LENGTH, 0.0, 0.0), inertia=(1e-5, 0.0, 0.0, TURNING, 0.0, 2e-5))
        b.joint(f"joint{k}", "revolute", f"link{k}", f"link{k + 1}", axis=(0, 1, 0), xyz=(LENGTH if k else 0.0, 0.0, 0.0))
    return fc.load(b, floating=floating)


def planar_mass_matrix(q: Array) -> Array:
    """M_ij = sum over links k beyond both joints of m (p_k - o_i) . (p_k - o_j) + I, by sums from the tip."""
    angles = np.cumsum(q)
    ends = np.cumsum(LENGTH * np.stack([np.cos(angles), np.sin(angles)], axis=1), axis=0)
    joints = np.vstack([np.zeros(2), ends[:-1]])
    squares = np.cumsum((ends**2).sum(axis=1)[::-1])[::-1]
    sums = np.cumsum(ends[::-1], axis=0)[::-1]
    count = np.arange(len(q), 0, -1.0)
    last = np.maximum.outer(np.arange(len(q)), np.arange(len(q)))
    both = (joints[:, None] + joints[None]) * sums[last]
    return MASS * (squares[last] - both.sum(axis=2) + count[last] * (joints @ joints.T)) + TURNING * count[last]


# ---------------------------------------------------------------------------------------------------------------------
# Pairs of joints as a table


def as_a_table(robot: fc.Robot, monkeypatch: pytest.MonkeyPatch, name: str = "mass_matrix", **options: Any) -> Task:
    """A function of a small robot, computed as that of a huge one; without a key, so that no cache mistakes it."""
    monkeypatch.setattr(dot_matrix, "MANY", 0)
    return replace(task(robot.model, name, **options), key="")


ROBOTS = {
    "every joint": lambda: fc.load(random_tree(3, joints=9, mimic=0.0), floating=True),
    "rotors": lambda: fc.load(random_tree(5, joints=8, mimic=0.0), floating=False, joint_dynamics=True),
    "in the plane": lambda: planar_chain(20),
}


@pytest.mark.parametrize("which", ROBOTS)
def test_the_table_gives_the_mass_matrix(
    which: str, with_lanes: Callable[[int], None], monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Against the written-out algorithm; one call and batches on vectors of 2, 4 and 8 to the last bit, and symmetric."""
    robot = ROBOTS[which]()
    Q = np.array([robot.random_configuration(rng) for _ in range(9)])
    expected = eager.run(task(robot.model, "mass_matrix"), (Q,))
    made = as_a_table(robot, monkeypatch)
    np.testing.assert_allclose(eager.run(made, (Q,)), expected, rtol=1e-12, atol=1e-12)
    program = trace(made)
    interpreted = np.array([interpret(program, [q])[0] for q in Q]).reshape(expected.shape)
    np.testing.assert_allclose(interpreted, expected, rtol=1e-12, atol=1e-12)
    judge = Kernel(made)(Q)
    np.testing.assert_allclose(judge, expected, rtol=1e-12, atol=1e-12)
    assert (judge == judge.swapaxes(1, 2)).all()
    for width in (2, 4, 8):
        with_lanes(width)
        kernel = Kernel(made)
        assert np.array([kernel.entry(q) for q in Q]).tobytes() == judge.tobytes()
        for count in (1, 3, 8, 9):
            assert kernel(Q[:count]).tobytes() == judge[:count].tobytes(), (width, count)


@pytest.mark.parametrize(("which", "name"), one_in(3, ROBOTS, ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"]))
def test_the_table_gives_the_derivatives(
    which: str, name: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Against the written-out algorithm; one call and batches to the last bit."""
    robot = ROBOTS[which]()
    Q = np.array([robot.random_configuration(rng) for _ in range(9)])
    values = (Q, rng.normal(size=(9, robot.nv)), rng.normal(size=(9, robot.nv)))
    expected = eager.run(task(robot.model, name), values)
    made = as_a_table(robot, monkeypatch, name)
    in_python = eager.run(made, values)
    kernel = Kernel(made)
    batch = kernel(*values)
    single = [kernel.entry(*row) for row in zip(*values, strict=True)]
    for k, (wanted, found, compiled) in enumerate(zip(expected, in_python, batch, strict=True)):
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-12 * scale)
        np.testing.assert_allclose(compiled, wanted, rtol=0.0, atol=1e-10 * scale)
        assert np.array([one[k] for one in single]).tobytes() == compiled.tobytes()


def test_entries_of_a_table_in_an_own_function(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """The table is no result as a whole then, and lies in the workspace."""
    robot = ROBOTS["every joint"]()
    Q = np.array([robot.random_configuration(rng) for _ in range(5)])
    expected = np.array([robot.kernel("mass_matrix").eager(q)[:, :3].sum(axis=1) for q in Q])
    as_a_table(robot, monkeypatch)
    own = fc.compile(lambda r, q: r.mass_matrix(q)[:, :3].sum(axis=1), robot)
    np.testing.assert_allclose(own.kernel(Q), expected, rtol=1e-12, atol=1e-12)
    assert np.array([own(q) for q in Q]).tobytes() == own.kernel(Q).tobytes()


@pytest.mark.parametrize("representation", ["mixed", "inertial"])
def test_the_table_in_other_representations(
    representation: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    robot = ROBOTS["every joint"]()
    q = robot.random_configuration(rng)
    expected = eager.run(task(robot.model, "mass_matrix", representation=representation), (q,))
    made = as_a_table(robot, monkeypatch, representation=representation)
    np.testing.assert_allclose(Kernel(made).entry(q), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "joints"), [("mass_matrix", 150), ("inverse_dynamics_derivatives", 50)])
def test_code_grows_with_the_robot_not_with_its_square(name: str, joints: int) -> None:
    sizes = [len(trace(task(planar_chain(n).model, name)).instructions) for n in (joints, 2 * joints)]
    assert sizes[1] / sizes[0] < 2.3


@pytest.mark.sweep
def test_a_thousand_joints(rng: np.random.Generator) -> None:
    """The mass matrix of a chain in a plane against its closed form, one call and a batch."""
    robot = planar_chain(1000)
    Q = rng.uniform(-0.1, 0.1, (2, 1000))
    for q, M in zip(Q, robot.mass_matrix(Q), strict=True):
        expected = planar_mass_matrix(q)
        np.testing.assert_allclose(M, expected, rtol=0.0, atol=1e-11 * expected.max())
        assert robot.mass_matrix(q).tobytes() == M.tobytes()


@pytest.mark.sweep
def test_a_thousand_joints_and_a_floating_base(rng: np.random.Generator) -> None:
    """The joints' part against the closed form, and M x against inverse dynamics, which has no mass matrix."""
    robot = planar_chain(1000, floating=True)
    q = np.concatenate([[0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0], rng.uniform(-0.1, 0.1, 1000)])
    M = robot.mass_matrix(q)
    expected = planar_mass_matrix(q[7:])
    np.testing.assert_allclose(M[6:, 6:], expected, rtol=0.0, atol=1e-11 * expected.max())
    x, still = rng.normal(size=robot.nv), np.zeros(robot.nv)
    torques = robot.kernel("inverse_dynamics").eager
    wanted = torques(q, still, x) - torques(q, still, still)
    np.testing.assert_allclose(M @ x, wanted, rtol=0.0, atol=1e-11 * np.abs(wanted).max())


# ---------------------------------------------------------------------------------------------------------------------
# Without compiling, and compiling quickly


def test_eager_is_the_same_without_compiling(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """One state, batches and `out=`, of a robot's function and of a user's own."""
    Q = np.array([ball.random_configuration(rng) for _ in range(3)])
    kernel = Kernel(task(ball.model, "mass_matrix"))
    with monkeypatch.context() as no_compiler:
        no_compiler.setattr(native, "compile_object", None)
        no_compiler.setenv("FALLINGCAT_CACHE", "off")
        one, many, out = kernel.eager(Q[0]), kernel.eager(Q), np.empty((3, ball.nv, ball.nv))
        assert kernel.eager(Q, out=out) is out
    np.testing.assert_allclose(one, ball.mass_matrix(Q[0]), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(many, ball.mass_matrix(Q), rtol=1e-13, atol=1e-13)
    assert out.tobytes() == many.tobytes()
    own = fc.compile(lambda r, q: r.center_of_mass(q)[2], ball)
    assert own.kernel.eager(Q[0]) == pytest.approx(own(Q[0]), rel=1e-13)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics_derivatives", "mass_matrix_derivatives"])
def test_compiled_quickly_the_same_bits(
    ball: fc.Robot, name: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    made = task(ball.model, name)
    Q = np.array([ball.random_configuration(rng) for _ in range(5)])
    values = [Q, *(rng.normal(size=(5, i.size)) for i in made.inputs[1:])]
    usual = Kernel(made)
    thorough = np.concatenate([np.ravel(x) for x in (usual(*values), usual.entry(*(v[0] for v in values)))], axis=None)
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    monkeypatch.setattr(native, "HUGE", 0)  # both of one state and of batches
    quick = Kernel(made)
    again = np.concatenate([np.ravel(x) for x in (quick(*values), quick.entry(*(v[0] for v in values)))], axis=None)
    assert again.tobytes() == thorough.tobytes()


# ---------------------------------------------------------------------------------------------------------------------
# A word before a long wait


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal as stderr, no cache, and nobody who listens to the logger."""
    screen = Terminal()
    monkeypatch.setattr(announce, "sys", SimpleNamespace(stderr=screen))
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    monkeypatch.delenv("FALLINGCAT_QUIET", raising=False)
    return screen


@pytest.fixture
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where everything takes long."""
    monkeypatch.setattr(announce, "SECONDS_PER_CHARACTER", 1.0)


def compile_something(ball: fc.Robot) -> None:
    Kernel(task(ball.model, "kinetic_energy")).entry(ball.neutral(), np.zeros(ball.nv))


@pytest.mark.usefixtures("slow_machine")
def test_a_long_compile_is_announced(ball: fc.Robot, terminal: Terminal) -> None:
    compile_something(ball)
    (line,) = terminal.getvalue().splitlines()
    operations = Kernel(task(ball.model, "kinetic_energy")).operations
    assert line.startswith(f"fallingcat: compiling kinetic_energy, {operations:,} operations a state, may take about ")
    assert "robot.kernel('kinetic_energy').eager(...)" in line


def test_a_short_one_is_not(ball: fc.Robot, terminal: Terminal, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="fallingcat")
    compile_something(ball)
    assert terminal.getvalue() == ""
    assert not caplog.records


@pytest.mark.usefixtures("slow_machine")
def test_a_program_that_logs_hears_it_once(ball: fc.Robot, terminal: Terminal, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="fallingcat")
    compile_something(ball)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("fallingcat", logging.INFO)
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("slow_machine")
def test_quiet_by_the_environment(ball: fc.Robot, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALLINGCAT_QUIET", "1")
    compile_something(ball)
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("slow_machine")
def test_quiet_by_the_level_of_the_logger(ball: fc.Robot, terminal: Terminal) -> None:
    logger = logging.getLogger("fallingcat")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        compile_something(ball)
    finally:
        logger.setLevel(before)
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("slow_machine", "terminal")
def test_a_file_is_no_terminal(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(announce, "sys", SimpleNamespace(stderr=file))
    compile_something(ball)
    assert file.getvalue() == ""


def test_a_large_program_is_announced_while_it_is_traced(
    ball: fc.Robot, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "LARGE", 100)
    trace(task(ball.model, "inverse_dynamics"))
    (line,) = terminal.getvalue().splitlines()
    assert "inverse_dynamics" in line
    assert "100 operations traced so far" in line


def test_a_hopeless_program_is_refused(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "HOPELESS", 100)
    monkeypatch.setattr(graph, "LARGE", 100)
    with pytest.raises(TraceError, match=r"more than 100 operations.*robot\.kernel\('inverse_dynamics'\)\.eager"):
        trace(task(ball.model, "inverse_dynamics"))
