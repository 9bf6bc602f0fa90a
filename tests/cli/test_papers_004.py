"""`fallingcat papers 004`: one run, on the robot of the field and on the bundled one."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproduced import check_figures, reproduced

import fallingcat as fc
from fallingcat.apps.papers import paper004
from fallingcat.apps.papers import paper004_numbers as N


def test_004(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every check holds, energy and power are the same for eleven bases, and the figures are drawn."""
    out, text, found = reproduced("004", 40, tmp_path, capsys)

    bases = found["bases"]
    assert len(bases) == 11
    assert all(name in text for name in bases)
    for what in ("energy", "power"):
        values = np.array([base[what] for base in bases.values()])
        assert np.ptp(values) < 1e-11 * abs(values[0])
    assert bases["centroid"]["coupling"] == 0.0
    assert min(base["coupling"] for name, base in bases.items() if name != "centroid") > 0.1
    assert bases["pelvis"]["joints that feel the pelvis"] == 0
    assert bases["left sole"]["joints that feel the pelvis"] == 6
    for words in ("Lemma 1", "Lemma 2", "Lemma 3.1", "Lemma 3.2", "Lemma 3.3", "Theorem 1", "Theorem 2.1", "Theorem 2.2"):
        assert words in text
    for words in ("Theorem 2.3", "Theorem 3", "Remark IV.1", "Remark IV.2", "Property 1", "(5), gravity", "(10b)", "(37)"):
        assert words in text

    check_figures(out, text, "bases.png", "gravity.png")


def test_without_example_robot_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled humanoid stands in, and its bases are its links."""

    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(N, "files", missing)
    s = N.subject()
    assert s.robot.name == "humanoid"
    assert s.robot.base == "pelvis"
    assert len(s.bases) == 10
    for name in ("torso", "sole[torso]", "CoM[pelvis]"):
        errors = N.view(s, name, s.bases[name]).errors
        assert max(errors.values()) < 1e-11


def test_a_wrong_view_would_be_seen() -> None:
    """The checks can fail: a view with one error too large."""
    view = N.View("x", np.eye(7), np.zeros(7), 1.0, 1.0, 1.0, 0.0, 0, {"skew": 1e-3})
    failed = [check.what for check in N.view_checks([view]) if not check.passed]
    assert len(failed) == 1
    assert "skew" in failed[0]


def test_limbs_of_the_figure() -> None:
    """Arms and legs start where a joint hangs on something else than the joint before it."""
    robot = fc.load("humanoid")
    names = [robot.joint_names[k - 6] for k in paper004.branches(robot)]
    assert names == ["left_hip_yaw", "right_hip_yaw", "left_shoulder_pitch", "right_shoulder_pitch"]
