"""Functions prepared before they are needed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.robot import ahead

NAMES = ["mass_matrix", "potential_energy", ("frame_jacobian", {"frame": "hand"})]


@pytest.mark.parametrize("processors", [1, 2])
def test_nothing_is_left_to_compile(
    ball: fc.Robot, processors: int, compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(ahead, "processors", lambda: processors)
    robot = fc.load(ball.description)
    robot.compile(NAMES, batch=True)
    assert len(compiled) == (6 if processors == 1 else 0)  # others did it
    compiled.clear()
    q = robot.random_configuration(1)
    for x in (q, np.tile(q, (5, 1))):
        robot.mass_matrix(x), robot.frame_jacobian(x, "hand"), robot.potential_energy(x)
    assert compiled == []


def test_without_a_cache_or_other_processes_it_is_done_here(
    ball: fc.Robot, compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "processors", lambda: 2)
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    fc.load(ball.description).compile(NAMES)
    assert len(compiled) == 3

    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError("no more processes")

    compiled.clear()
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(subprocess, "Popen", refuse)
    fc.load(ball.description).compile(NAMES)
    assert len(compiled) == 3


def test_what_does_not_exist_is_said_before_anything_is_compiled(ball: fc.Robot, compiled: list[str]) -> None:
    with pytest.raises(fc.InputError, match="mass_matrix"):
        ball.compile(["gravity_torque", "mas_matrix"])
    with pytest.raises(fc.FrameError):
        ball.compile([("frame_jacobian", {"frame": "nowhere"})])
    assert compiled == []


CALLS: dict[str, Callable[[fc.Robot], object]] = {
    "step": lambda r: r.step(r.neutral(), np.ones(r.nv), np.ones(r.m), 0.01),
    "rollout": lambda r: r.rollout(r.neutral(), np.ones(r.nv), np.ones((2, r.m)), 0.01),
    "discretize": lambda r: r.discretize(r.neutral(), np.ones(r.nv), np.ones(r.m), 0.01),
    "linearize": lambda r: r.linearize(r.neutral(), np.ones(r.nv), np.ones(r.m)),
    "state_plus": lambda r: r.state_plus(r.neutral(), np.ones(r.nv), np.ones(2 * r.nv)),
    "state_minus": lambda r: r.state_minus(r.neutral(), np.ones(r.nv), r.neutral(), np.ones(r.nv)),
    "frame_pose": lambda r: r.frame_pose(r.neutral(), r.base),
    "base_change": lambda r: r.base_change(r.neutral(), np.ones(r.nv), r.base),
    "equations_of_motion": lambda r: r.equations_of_motion(r.neutral(), np.ones(r.nv)),
    "mass_matrix": lambda r: r.mass_matrix(r.neutral()),
}


@pytest.mark.parametrize("actuated", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_the_method_runs_what_was_prepared(name: str, actuated: bool) -> None:
    robot = fc.load("spacearm", joints=["joint1", "joint2"])
    if actuated:
        robot = robot.with_actuation([fc.thruster("base", (0, 0, 1)), "joint1"])
    options = {
        "base_change": {"frame": robot.base},
        "frame_pose": {"frame": robot.base},
        "mass_matrix": {"representation": "body"},
    }
    robot.compile([(name, options.get(name, {}))], progress=False)
    prepared = {key for key, kernel in robot._kernels.items() if kernel.entry_made}
    CALLS[name](robot)
    used = {key for key, kernel in robot._kernels.items() if kernel.entry_made}
    assert prepared
    assert used == prepared


def test_what_cannot_be_prepared() -> None:
    robot = fc.load("spacearm")
    for wrong in (None, 3, [3], [("mass_matrix",)], [("mass_matrix", "body")], [["mass_matrix", {}]]):
        with pytest.raises(fc.InputError, match="compile: no"):
            robot.compile(wrong)  # type: ignore[arg-type]
    for name in ("frame_jacobian", "frame_pose", "base_change"):
        with pytest.raises(fc.InputError, match=f"{name}: no frame"):
            robot.compile([name])
        with pytest.raises(fc.InputError, match=f"{name}: no frame"):
            robot.kernel(name)
    with pytest.raises(fc.InputError, match="unknown method"):
        robot.compile([("step", {"method": "leap"})])
    assert robot.kernel("base_change", frame="base") is robot.kernel("base_change", base="base")
