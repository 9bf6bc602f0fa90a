"""Functions prepared before they are needed."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.codegen import native
from fallingcat.robot import ahead

NAMES = ["mass_matrix", "potential_energy", ("frame_jacobian", {"frame": "hand"})]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that this process compiles."""
    texts: list[str] = []
    real = native.compile_object

    def counted(text: str) -> bytes:
        texts.append(text)
        return real(text)

    monkeypatch.setattr(native, "compile_object", counted)
    return texts


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
