"""What two functions of a robot have in common is compiled once: the linearization contains the derivatives."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import prints

import fallingcat as fc
from fallingcat import announce
from fallingcat.codegen import Kernel, cache, core, native
from fallingcat.functions import task
from fallingcat.task import Task
from spread import first, one_in

DERIVATIVES, LINEARIZE = "forward_dynamics_derivatives", "linearize"
KINDS = [{"single": True, "batch": False}, {"single": False, "batch": True}]


def characters(compiled: list[str]) -> int:
    """Of the modules compiled since last asked."""
    total = sum(map(len, compiled))
    compiled.clear()
    return total


def made(robot: fc.Robot, name: str, **options: Any) -> Kernel:
    """A new kernel, as in a new process."""
    return Kernel(task(robot.model, name, **options))


def cores(folder: Path) -> list[Path]:
    """The entries that are part of others."""
    facts = {path.stem: found[0] for path in folder.glob("*.o") if (found := cache.load(path.stem)) is not None}
    return [folder / f"{name}.o" for name in sorted({f["core"] for f in facts.values() if "core" in f})]


def states(robot: fc.Robot, rng: np.random.Generator, count: int) -> list[Any]:
    q = np.array([robot.integrate(robot.neutral(), rng.normal(size=robot.nv)) for _ in range(count)])
    return [q, rng.normal(size=(count, robot.nv)), rng.normal(size=(count, robot.nv))]


# ---------------------------------------------------------------------------------------------------------------------
# Compiled once


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", [(DERIVATIVES, LINEARIZE), (LINEARIZE, DERIVATIVES)])
def test_the_second_finds_the_core_of_the_first(
    names: tuple[str, str], kind: dict[str, bool], ball: fc.Robot, folder: Path, compiled: list[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    first, second = names
    made(ball, first).prepare(**kind)
    assert len(compiled) == 2
    assert not made(ball, second).is_compiled(**kind)
    compiled.clear()
    made(ball, second).prepare(**kind)
    assert len(compiled) == 1
    after = characters(compiled)
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path / "another"))
    made(ball, second).prepare(**kind)
    assert 2 * after < characters(compiled)
    assert len(cores(folder)) == 1
    assert len(list(folder.glob("*.o"))) == 3


@pytest.mark.parametrize(("name", "floating"), one_in(3, ["tree9", "quadruped", "cat"], [True, False]))
def test_of_other_robots(name: str, floating: bool) -> None:
    """The same text, without compiling it; also with wrenches."""
    robot = fc.load(name, floating=floating)
    for options in ({}, {"wrenches": "body"}):
        both = [made(robot, function, **options) for function in (DERIVATIVES, LINEARIZE)]
        for module in (Kernel._single_module, Kernel._batch_module):
            found = [module(kernel) for kernel in both]
            assert found[0].core == found[1].core
            assert all(len(m.text) < len(m.core.text) for m in found)


def test_each_robot_has_its_own(ball: fc.Robot) -> None:
    other = fc.load("tree9")
    names = {made(robot, DERIVATIVES)._single_module().core.function for robot in (ball, other)}
    assert len(names) == 2


def test_without_a_cache_it_works_as_well(
    ball: fc.Robot, compiled: list[str], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    state = [x[0] for x in states(ball, rng, 1)]
    compiled.clear()
    kernels = [made(ball, name) for name in (DERIVATIVES, LINEARIZE)]
    for kernel in kernels:
        kernel.prepare()
    assert len(compiled) == 4
    for kernel in kernels:
        for found, eager in zip(kernel.entry(*state), kernel.eager(*state), strict=True):
            np.testing.assert_allclose(found, eager, rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# What has no core


def test_small_programs_are_compiled_in_one(pendulum: fc.Robot, folder: Path, compiled: list[str]) -> None:
    for name in (DERIVATIVES, LINEARIZE):
        made(pendulum, name).prepare(batch=True)
    assert len(compiled) == 4
    assert cores(folder) == []


def test_other_functions_are_compiled_in_one(ball: fc.Robot) -> None:
    for name in ("inverse_dynamics_derivatives", "inverse_mass_matrix"):
        assert made(ball, name)._single_module().core == core.NO_CORE


def test_a_function_without_a_key_is_compiled_in_one(ball: fc.Robot) -> None:
    """A user's own, which may contain the derivatives of many states."""
    given = task(ball.model, DERIVATIVES)
    own = Kernel(Task("own", given.inputs, given.outputs, given.evaluate, results=given.results))
    assert own.program.kept
    assert own._single_module().core == core.NO_CORE


# ---------------------------------------------------------------------------------------------------------------------
# The same results


@pytest.mark.parametrize("options", first(1, [{}, {"representation": "mixed"}, {"group": "tangent"}]))
def test_the_same_bits(
    options: dict[str, str], ball: fc.Robot, folder: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a core from the cache, with one compiled now, and in one module."""
    values = states(ball, rng, 19)
    small = core.SMALL

    def results(smallest: float) -> list[Any]:
        monkeypatch.setattr(core, "SMALL", smallest)
        kernel = made(ball, LINEARIZE, **options)
        one = [kernel.entry(*[v[k] for v in values]) for k in range(3)]
        return [*(x for pair in one for x in pair), *kernel(*values)]

    made(ball, DERIVATIVES).prepare(batch=True)  # with the core that the linearization has, but for its variants
    results(small)
    cached = results(small)
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    for others in (results(small), results(float("inf"))):
        assert all(np.array_equal(a, b) for a, b in zip(cached, others, strict=True))


@pytest.mark.parametrize("options", [{"group": "tangent"}, {"actuated": True}, {"representation": "inertial"}])
def test_what_follows_from_the_core(options: dict[str, Any], ball: fc.Robot, rng: np.random.Generator) -> None:
    """Variants that go on computing with what is common, against plain numbers."""
    options = dict(options)
    robot = ball.with_actuation(rng.normal(size=(ball.nv, 3))) if options.pop("actuated", False) else ball
    kernel = made(robot, LINEARIZE, actuation=robot._actuation, **options)
    assert kernel._single_module().core.function
    values = states(ball, rng, 3)
    for compiled, eager in zip(kernel(*values), kernel.eager(*values), strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# The cache


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [Path.unlink, damaged])
@pytest.mark.parametrize("kind", KINDS)
def test_a_core_that_is_gone_is_compiled_again(
    kind: dict[str, bool], damage: Callable[[Path], Any], ball: fc.Robot, folder: Path, compiled: list[str]
) -> None:
    made(ball, LINEARIZE).prepare(**kind)
    assert made(ball, LINEARIZE).is_compiled(**kind)
    (entry,) = cores(folder)
    damage(entry)
    assert not made(ball, LINEARIZE).is_compiled(**kind)
    compiled.clear()
    made(ball, LINEARIZE).prepare(**kind)
    assert len(compiled) == 2
    assert cores(folder) == [entry]
    assert made(ball, LINEARIZE).is_compiled(**kind)


def test_a_core_without_a_name_is_not_counted_on(ball: fc.Robot, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source may change under a running process between the two names."""
    key = cache.key
    monkeypatch.setattr(cache, "key", lambda what: "" if what.startswith("fc_core") else key(what))
    made(ball, LINEARIZE).prepare()
    assert list(folder.glob("*.o")) == []


SCRIPT = """
import sys
import numpy as np
import fallingcat as fc
from fallingcat.codegen import kernel, native

compile_object, compiled = native.compile_object, []

def never(*arguments, **options):
    raise AssertionError("traced or compiled")

def counted(text):
    compiled.append(text)
    return compile_object(text)

native.compile_object = counted
if sys.argv[2] == "warm":
    kernel.trace = native.compile_object = never
robot = fc.load("tree9")
q = robot.neutral()
found = getattr(robot, sys.argv[1])(q, np.zeros(robot.nv), np.zeros(robot.nv))
print(len(compiled), np.isfinite(found[0]).all())
"""


def test_another_process(folder: Path) -> None:
    """The second process compiles the rest; the third neither traces nor compiles."""
    prints("2 True", SCRIPT, DERIVATIVES, "cold")
    prints("1 True", SCRIPT, LINEARIZE, "cold")
    for name in (DERIVATIVES, LINEARIZE):
        prints("0 True", SCRIPT, name, "warm")


def test_what_is_said_of_a_long_compile(
    ball: fc.Robot, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It speaks of what is really compiled."""
    monkeypatch.setattr(announce, "LONG", 0.0)
    with caplog.at_level(logging.INFO, "fallingcat"):
        made(ball, DERIVATIVES).prepare()
        made(ball, LINEARIZE).prepare()
    module = made(ball, LINEARIZE)._single_module()
    whole, rest = (f"{n:,} operations" for n in (module.facts["operations"], module.facts["operations"] - module.core_operations))
    first, second = caplog.messages
    assert f"compiling {DERIVATIVES}, {whole}" in first
    assert f"compiling {LINEARIZE}, {rest}" in second


def test_a_core_is_in_memory_once(ball: fc.Robot, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For as long as some code calls it; it goes when the next code comes."""
    monkeypatch.setattr(native, "_common", {})
    kernels = [made(ball, name) for name in (DERIVATIVES, LINEARIZE)]
    for each in kernels:
        each.prepare()
    (name,) = native._common
    assert native._common[name].callers == 2
    values = ball.neutral(), np.zeros(ball.nv), np.zeros(ball.nv)
    expected = kernels[1].entry(*values).A
    del kernels[0], each
    gc.collect()
    made(ball, "gravity_torque").prepare()
    assert native._common[name].callers == 1
    assert np.array_equal(kernels[0].entry(*values).A, expected)
    del kernels
    gc.collect()
    made(ball, "bias").prepare()
    assert not native._common
    assert np.array_equal(made(ball, LINEARIZE).entry(*values).A, expected)
