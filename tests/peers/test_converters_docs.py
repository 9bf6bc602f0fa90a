"""docs/coming_from.md tells the truth: its blocks run, and the functions it names exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fallingcat as fc

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "coming_from.md").read_text(encoding="utf-8")
FIRST, *BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
LIBRARIES = ("pinocchio", "mujoco", "pydrake", "idyntree", "adam")


def library(block: str) -> str:
    """The other library that a block uses."""
    return next((name for name in LIBRARIES if f"import {name}" in block or f"from {name}" in block), "none")


@pytest.mark.parametrize("block", BLOCKS, ids=library)
def test_blocks_run(block: str) -> None:
    if library(block) != "none":
        pytest.importorskip(library(block))
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    words = [sys.executable, "-c", FIRST + block]
    result = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_every_library_has_a_block() -> None:
    assert sorted(map(library, BLOCKS)) == sorted([*LIBRARIES, "none"])


def test_our_functions_exist() -> None:
    """The right column of the tables of functions."""
    rows = re.findall(r"^\| .* \| (.*) \|$", PAGE[PAGE.index("## Pinocchio") :], re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)} - {"nu"}
    assert len(names) > 20
    assert [name for name in sorted(names) if not hasattr(fc.Robot, name)] == []
    for name in ("pinocchio", "mujoco", "drake", "idyntree", "adam", "rbdl"):
        assert f"fc.converters.{name}(" in PAGE


def test_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", PAGE) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
