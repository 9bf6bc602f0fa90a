"""Small robots that cost little to compile, and a compiler with another number of lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fallingcat as fc
from fallingcat.codegen import native, threads
from fallingcat.codegen.lanes import Lanes


def ball_robot() -> fc.Builder:
    """A floating base with a hinge, a slider and a ball joint: two quaternions in q."""
    b = fc.Builder("ball")
    for k, name in enumerate(("body", "arm", "hand", "ball")):
        b.link(name, mass=1.0 + k, com=(0.1, 0.02 * k, -0.05), inertia=(0.1, 0.01, 0.0, 0.2, 0.02, 0.25))
    b.joint("hinge", "revolute", "body", "arm", axis=(0, 1, 0), xyz=(0.2, 0, 0.1), rpy=(0.3, 0, 0.2), damping=0.1)
    b.joint("slider", "prismatic", "arm", "hand", axis=(1, 0, 0), xyz=(0.3, 0, 0))
    b.joint("ball", "spherical", "body", "ball", xyz=(-0.2, 0.1, 0))
    return b


def pendulum_robot() -> fc.Builder:
    """One hinge: every vector has one entry."""
    b = fc.Builder("pendulum")
    b.link("frame")
    b.link("bob", mass=2.0, com=(0.0, 0.0, -0.5), inertia=(0.01, 0, 0, 0.01, 0, 0.01))
    b.joint("hinge", "revolute", "frame", "bob", axis=(0, 1, 0))
    return b


@pytest.fixture(scope="session")
def ball() -> fc.Robot:
    return fc.load(ball_robot())


@pytest.fixture(scope="session")
def pendulum() -> fc.Robot:
    return fc.load(pendulum_robot(), floating=False)


@pytest.fixture
def with_lanes(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Compile for another vector width from now on, past the cache."""

    def choose(width: int) -> None:
        monkeypatch.setenv("FALLINGCAT_CACHE", "off")
        monkeypatch.setattr(native, "host_lanes", lambda: Lanes(width))

    return choose


@pytest.fixture
def keep_threads() -> Iterator[None]:
    """The number of threads is as before after the test."""
    before = threads.threads()
    yield
    fc.set_threads(before)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache of its own."""
    path = tmp_path / "cache"
    monkeypatch.setenv("FALLINGCAT_CACHE", str(path))
    return path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that were compiled since the test began."""
    texts: list[str] = []
    original = native.compile_object

    def compile_object(text: str) -> bytes:
        texts.append(text)
        return original(text)

    monkeypatch.setattr(native, "compile_object", compile_object)
    return texts
