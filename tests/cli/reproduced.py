"""One run of `fallingcat papers` with what every paper has in common: its checks, its numbers and its figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fallingcat.cli.main import main


def reproduced(
    number: str, checks: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], **options: Any
) -> tuple[Path, str, dict[str, Any]]:
    """A quick run: the folder, the output, and `numbers.json`. All checks hold, and there are more than `checks`."""
    out = tmp_path / "new" / "folder"
    status = main(["papers", number, "--quick", "--out", str(out)])
    text = capsys.readouterr().out
    found = json.loads((out / "numbers.json").read_text(encoding="utf-8"), **options)
    assert [c["what"] for c in found["checks"] if not c["passed"]] == []
    assert len(found["checks"]) > checks
    assert status == 0
    assert f"all {len(found['checks'])} checks hold" in text
    return out, text, found


def check_figures(out: Path, text: str, *names: str, width: int = 1500, height: int = 0) -> None:
    """Figures that are drawn, more than so many pixels wide and high, and named in the output."""
    for name in names:
        data = (out / name).read_bytes()
        assert data.startswith(b"\x89PNG")
        assert int.from_bytes(data[16:20], "big") > width
        assert int.from_bytes(data[20:24], "big") > height
        assert len(data) > 20_000  # not an empty sheet
        assert name in text
