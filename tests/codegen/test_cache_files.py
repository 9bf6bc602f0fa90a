"""What the cache removes and what it leaves alone, and how rarely it looks."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fallingcat.codegen import cache

OLD = time.time() - 10 * 24 * 3600


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    return tmp_path


def put(path: Path, size: int, when: float = OLD) -> Path:
    path.write_bytes(bytes(size))
    os.utime(path, (when, when))
    return path


def name(k: int) -> str:
    return f"{k:064x}"


def test_files_of_others_are_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 10_000)
    names = ("main.o", "a" * 63 + ".o", "g" * 64 + ".o", "A" * 64 + ".o", name(1), f"{name(1)}.obj", ".new-mine", "x.new-abcdefg")
    theirs = [put(folder / other, 20_000) for other in names]
    ours = put(folder / f"{name(2)}.o", 20_000)
    (folder / f"{name(3)}.o").mkdir()
    target = put(folder / "elsewhere", 20_000)
    (folder / f"{name(4)}.o").symlink_to(target)
    cache.save(name(5), {}, bytes(1000))
    assert not ours.exists()
    assert all(path.exists() for path in theirs)
    assert (folder / f"{name(3)}.o").is_dir()
    assert (folder / f"{name(4)}.o").is_symlink()
    assert target.exists()
    assert (folder / f"{name(5)}.o").exists()


def test_what_a_killed_process_left_goes_after_an_hour(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 10_000)
    left = put(folder / ".new-abc_12xy", 100)
    being_written = put(folder / ".new-k3_9zzzz", 100, time.time() - 60)
    cache.save(name(1), {}, bytes(1000))
    assert not left.exists()
    assert being_written.exists()


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
def test_unfinished_files_of_somebody_else_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 10_000)
    left = put(folder / ".new-abc_12xy", 100)
    os.chown(left, 12345, 12345)
    cache.save(name(1), {}, bytes(1000))
    assert left.exists()


def test_the_folder_is_looked_through_once_in_a_while(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saving costs no more beside twenty thousand files than beside none, and the limit holds all the same."""
    monkeypatch.setattr(cache, "LIMIT", 1_000_000)
    looks: list[Path] = []
    prune = cache._prune

    def count(where: Path) -> None:
        looks.append(where)
        prune(where)

    monkeypatch.setattr(cache, "_prune", count)
    largest = 0
    for k in range(2000):  # as many bytes as the limit, three times
        cache.save(cache.hashlib.sha256(str(k).encode()).hexdigest(), {}, bytes(1500))
        if k % 50 == 0:
            largest = max(largest, sum(path.stat().st_size for path in folder.iterdir()))
    assert len(looks) < 400  # a look in about 16 kB
    assert 900_000 < largest < 1_200_000
