"""Every example runs as it is, without a screen, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from extras import extra

ROOT = Path(__file__).resolve().parents[1]
NEEDS = {"12_payload_by_gradient": "jax", "13_torch_policy": "torch", "14_casadi_swing_up": "casadi"}
"""Examples that need an extra, and run where its tests do."""
SHORT = ("01", "02", "03")
"""Those of every run; the others are among the sweeps."""


def marks(name: str) -> list[pytest.MarkDecorator]:
    if name in NEEDS:
        return [getattr(pytest.mark, NEEDS[name])]
    return [] if name.startswith(SHORT) else [pytest.mark.sweep]


EXAMPLES = [pytest.param(path, id=path.stem, marks=marks(path.stem)) for path in sorted((ROOT / "examples").glob("*.py"))]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(example: Path, tmp_path: Path) -> None:
    if example.stem in NEEDS:
        extra(NEEDS[example.stem])
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
    result = subprocess.run(
        [sys.executable, "-W", "error", str(example)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900,
        check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.strip()


def test_the_lqr_example_draws(tmp_path: Path) -> None:
    """The flying manipulator comes back from 90 degrees and more, and its figure is no empty sheet."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
    script = ROOT / "examples" / "03_linearize_and_lqr.py"
    words = [sys.executable, str(script)]
    result = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    lines = [line.split() for line in result.stdout.splitlines() if line.startswith("from ")]
    ends = {float(line[1]): float(line[-1]) for line in lines}
    assert max(ends) >= 170
    assert max(ends.values()) < 1e-3
    data = (tmp_path / "out" / "lqr.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) > 20_000
