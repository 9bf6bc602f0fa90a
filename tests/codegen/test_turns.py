"""Several processes need the same code at once: one makes it, the others wait and find it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fallingcat import files
from fallingcat.codegen import cache

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

PROGRAM = """
import os, sys, time
import fallingcat as fc
from fallingcat.codegen import native
compile_object, made = native.compile_object, []

def counted(text):
    made.append(1)
    print("compiling", flush=True)
    time.sleep(float(sys.argv[1]))
    return compile_object(text)

native.compile_object = counted
robot = fc.load("cat")
while not os.path.exists(sys.argv[2]):
    time.sleep(0.005)
robot.gravity_torque(robot.neutral())
print(len(made), flush=True)
"""


def start(folder: Path, seconds: float) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", PROGRAM, str(seconds), str(folder / "go")]
    environment = os.environ | {"FALLINGCAT_CACHE": str(folder / "cache"), "FALLINGCAT_QUIET": "1"}
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)


def results(processes: list[subprocess.Popen[str]]) -> list[str]:
    return [process.communicate(timeout=600)[0].split()[-1] for process in processes]


def test_one_of_them_compiles(tmp_path: Path) -> None:
    processes = [start(tmp_path, 0.3) for _ in range(3)]
    time.sleep(0.5)
    (tmp_path / "go").touch()
    assert sorted(results(processes)) == ["0", "0", "1"]
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".o"]


def test_a_process_that_is_killed_leaves_the_turn_to_the_next(tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    first = start(tmp_path, 600.0)
    assert first.stdout is not None
    assert first.stdout.readline() == "compiling\n"
    second = start(tmp_path, 0.0)
    time.sleep(1.0)
    assert second.poll() is None
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stdout.close()
    assert results([second]) == ["1"]
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".o"]


def test_a_turn_within_a_turn_does_not_wait_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    os.chmod(tmp_path, 0o700)
    with cache.turn("a" * 64, "x"), cache.turn("a" * 64, "x"), cache.turn("b" * 64, "x"):
        assert (tmp_path / f"{'a' * 64}.lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_two_turns_one_after_the_other_within_a_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first to end leaves the entry to the outer one, so that the second does not wait for its own process either."""
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    os.chmod(tmp_path, 0o700)

    def never(path: Path, what: str) -> int:
        raise AssertionError(f"waits for {path}")

    with cache.turn("a" * 64, "x"):
        monkeypatch.setattr(cache, "_wait_for", never)
        for _ in range(2):
            with cache.turn("a" * 64, "x"):
                pass
        assert (tmp_path / f"{'a' * 64}.lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_without_a_cache_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    with cache.turn("a" * 64, "x"):
        pass
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path / "file" / "cache"))
    (tmp_path / "file").touch()
    with cache.turn("a" * 64, "x"):
        pass


def test_a_lock_is_held_once(tmp_path: Path) -> None:
    held = files.lock(tmp_path / "lock")
    assert held is not None
    assert files.lock(tmp_path / "lock") is None
    files.unlock(held)
    again = files.lock(tmp_path / "lock")
    assert again is not None
    files.unlock(again)
