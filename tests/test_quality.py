"""The house rules: lint, types, sizes, and a README that tells the truth."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
LONGEST = 450
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    # The tree that is tested, not one that happens to be installed.
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_ruff() -> None:
    result = run("-m", "ruff", "check", "--no-cache", "--output-format", "concise", ".")
    assert result.returncode == 0, result.stdout + result.stderr


def test_mypy(tmp_path: Path) -> None:
    result = run("-m", "mypy", "--strict", "--cache-dir", str(tmp_path))
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_test_begins_when_the_budget_is_spent() -> None:
    result = run("-m", "pytest", "-o", "addopts=", "-q", "--budget", "-1", "tests/test_text.py")
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"^\d+ skipped in", result.stdout, re.MULTILINE), result.stdout


def test_files_are_short() -> None:
    assert SOURCES
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_every_module_says_what_it_is() -> None:
    bare = [
        str(path.relative_to(ROOT)) for path in SOURCES if path.read_text().strip() and not path.read_text().startswith('"""')
    ]
    assert bare == []


def test_readme_has_python() -> None:
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS, ids=[f"block{k}" for k in range(len(BLOCKS))])
def test_readme_python_runs(block: str) -> None:
    result = run("-W", "error", "-c", block)
    assert result.returncode == 0, result.stderr


def test_readme_prints_the_two_commands() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert blocks == ["pip install . && fallingcat report cat\n", "pip install -e '.[test]' && pytest\n"]


def test_readme_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
