"""The same bits with any BLAS and on any processor with fused multiply-add: digests of many results from other processes."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import fallingcat as fc
from fallingcat.codegen import Kernel, native
from fallingcat.functions import task

SCRIPT = Path(__file__).with_name("digests.py")
QEMU = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
PROCESSORS = ("Haswell", "Broadwell", "Skylake-Client", "EPYC", "EPYC-Milan", "max")
"""Intel and AMD from 2013 on, and all that the emulator can do."""
ALIKE = {
    "haswell": PROCESSORS, "broadwell": ("Broadwell",), "skylake": ("Skylake-Client",), "znver1": ("EPYC",),
    "znver3": ("EPYC-Milan",),
}  # fmt: skip
"""What LLVM calls a processor, and the emulated ones that it may call the same."""
WHOLE = ("tilted", "spacearm")


def digests(robots: tuple[str, ...], width: int = 0, emulator: tuple[str, ...] = (), **environment: str) -> dict[str, Any]:
    command = [*emulator, sys.executable, str(SCRIPT), str(width), *robots]
    done = subprocess.run(
        command,
        env=os.environ | {"FALLINGCAT_CACHE": "off"} | environment,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@cache
def here(robots: tuple[str, ...]) -> dict[str, Any]:
    return digests(robots)


def assert_equal(there: dict[str, Any], usual: dict[str, Any]) -> None:
    assert there["digests"].keys() == usual["digests"].keys()
    assert [k for k, d in usual["digests"].items() if there["digests"][k] != d] == []


def test_another_blas_and_another_width() -> None:
    """The matrix products of an old processor, one thread, two doubles in a vector."""
    there = digests(("small",), width=2, OPENBLAS_CORETYPE="Prescott", OPENBLAS_NUM_THREADS="1")
    assert there["lanes"] == 2
    assert_equal(there, here(("small",)))


CORES = {
    ("Prescott", 2): "sse3", ("Nehalem", 4): "sse4.2", ("Sandybridge", 8): "avx", ("Haswell", 2): "avx2",
    ("SkylakeX", 4): "avx512f", ("Zen", 8): "avx2",
}  # fmt: skip
"""Processors that OpenBLAS takes for another, the width of our vectors beside it, and what its products need to run at all."""
RUNNABLE = [core for core, needs in CORES.items() if f"+{needs}" in native.host()[1].split(",")]


@pytest.mark.sweep
@pytest.mark.parametrize(("core", "width"), RUNNABLE)
def test_every_blas_and_every_width(core: str, width: int) -> None:
    threads = str(1 + width % 3)
    assert_equal(digests(WHOLE, width, OPENBLAS_CORETYPE=core, OPENBLAS_NUM_THREADS=threads), here(WHOLE))


@pytest.mark.sweep
@pytest.mark.skipif(
    QEMU is None or platform.machine() != "x86_64", reason="needs the emulator qemu-user, and x86-64 to compare with"
)
@pytest.mark.parametrize("cpu", PROCESSORS)
def test_every_processor(cpu: str) -> None:
    """Under emulation: another processor is found, other code compiled, and the C library chooses other functions."""
    there = digests(("small",), emulator=(str(QEMU), "-cpu", cpu))
    if cpu not in ALIKE.get(native.host()[0], ()):
        assert there["cpu"] != native.host()[0]
    assert_equal(there, here(("small",)))


@pytest.mark.parametrize("name", ["difference", "integrate", "inverse_dynamics"])
def test_compiled_code_calls_no_mathematical_library(ball: fc.Robot, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    texts: list[str] = []
    compile_object = native.compile_object
    monkeypatch.setattr(native, "compile_object", lambda text: texts.append(text) or compile_object(text))
    kernel = Kernel(task(ball.model, name))
    kernel._native_batch()
    assert kernel.entry is not None
    called = set(re.findall(r"call [^@\n]*@(\w[\w.]*)\(", "\n".join([*texts, native.ATTRIBUTES])))
    assert called
    assert not called & {"sin", "cos", "atan2", "sqrt", "fma"}
