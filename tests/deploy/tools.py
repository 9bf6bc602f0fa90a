"""Compilers and other programs that only some tests need: skipped where they are missing, an error where they are promised."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest

import fallingcat as fc

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def program(name: str) -> str:
    """The path of a program; without it the test is skipped, or fails where FALLINGCAT_CI names `compilers`."""
    found = shutil.which(name)
    if found is None:
        if "compilers" in os.environ.get("FALLINGCAT_CI", "").split(","):
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed")
    return found


def run(*words: str | Path, timeout: float = 300.0) -> str:
    """What a command prints; an error, with what it says, if it fails."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"{words[0]}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def built(folder: Path, name: str, compiler: str, *flags: str, main: str = "check", code: Sequence[str] = ()) -> Path:
    """The program `main`.c with what was exported."""
    out = folder / f"{main}_{Path(compiler).name}"
    sources = [folder / (c or f"{name}.c") for c in (code or [""])]
    run(compiler, *WARNINGS, *flags, "-o", out, folder / f"{main}.c", *sources, "-lm")
    return out


FIELD = {"talos": "talos_data/robots/talos_reduced.urdf", "panda": "panda_description/urdf/panda.urdf"}


def field_robot(name: str) -> fc.Robot:
    """A robot of `example-robot-data`."""
    try:
        found = [entry for entry in files("example-robot-data") or [] if str(entry).endswith(FIELD[name])]
    except PackageNotFoundError:
        found = []
    if not found:
        pytest.skip("example-robot-data is not installed")
    return fc.load(Path(str(found[0].locate())))


def pendulum(name: str, joint: str = "hinge", link: str = "bob") -> fc.Robot:
    """One joint, on the ground."""
    b = fc.Builder(name)
    b.link("frame")
    b.link(link, mass=2.0, com=(0.0, 0.0, -0.5), inertia=(0.01, 0, 0, 0.01, 0, 0.01))
    b.joint(joint, "revolute", "frame", link, axis=(0, 1, 0))
    return fc.load(b, floating=False)
