"""`fallingcat bench`: a bar while it measures, on a terminal only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench.robots import free_robot_file, robot_file

import fallingcat as fc
from fallingcat.apps import bench as benchmark
from fallingcat.cli import bench
from fallingcat.cli.main import main


def test_every_function_is_a_step_of_the_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    totals: list[int] = []
    steps: list[str] = []

    @contextmanager
    def progress(total: int) -> Iterator[object]:
        totals.append(total)
        yield steps.append

    monkeypatch.setattr(bench, "progress", progress)
    monkeypatch.setattr(benchmark, "microseconds", lambda call, budget=0.0: call() is None or 1.0)
    monkeypatch.setattr(
        benchmark, "start_times", lambda *_, label="", **__: {"robot": label, "function": "bias", "cold": 1.0, "warm": 1.0}
    )
    assert main(["bench", "tree9", "--fixed", "--functions", "bias,mass_matrix,locked_inertia"]) == 0
    assert totals == [3]
    assert steps == ["tree9: bias", "tree9: mass_matrix", "tree9: cold and warm start"]  # a fixed base has no locked inertia
    assert "mass_matrix" in capsys.readouterr().out


def test_both_sides_have_the_same_degrees_of_freedom() -> None:
    """A joint that mimics another is none of its own here, and would be one in Pinocchio."""
    pytest.importorskip("pinocchio")
    robot = fc.load(robot_file("panda"), floating=False)
    following = [body.joint_name for body in robot.model.bodies if body.mimics]
    assert following == ["panda_finger_joint2"]
    assert benchmark.pinocchio_model(robot_file("panda"), False, following).nv == robot.nv == 8


def test_mimic_joints_are_free_in_the_bench_of_the_field(tmp_path: Path) -> None:
    path = free_robot_file("panda", str(tmp_path))
    assert fc.load(path, floating=False).nv == benchmark.pinocchio_model(path, False).nv == 9
