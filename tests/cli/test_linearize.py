"""`fallingcat linearize`: the summary, its files, and its numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

import fallingcat as fc
from fallingcat.apps import figures
from fallingcat.apps.report.linearization import controllable, measure, modes
from fallingcat.apps.report.states import read_state
from fallingcat.cli.main import main


def test_summary_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed, and what is written beside it."""
    out = tmp_path / "new" / "tree9.npz"
    assert main(["linearize", "tree9", "--state", "random", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    for words in ("Sparsity", "Eigenvalues", "controllability rank", "condition", "unstable", "frozen at", "tree9.png"):
        assert words in text
    robot = fc.load("tree9")
    with np.load(out) as data:
        L = robot.linearize(data["q"], data["nu"], data["tau"])
        np.testing.assert_array_equal(data["A"], L.A)
        np.testing.assert_array_equal(data["B"], L.B)
        dnu = robot.forward_dynamics(data["q"], data["nu"], data["tau"])
        assert np.abs(dnu[6:]).max() < 1e-9
        assert np.all(data["tau"][:6] == 0.0)
        assert len(data["eigenvalues"]) == 2 * robot.nv
    png = out.with_suffix(".png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") > 1500
    assert len(png) > 20_000


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["linearize", "spacearm", "--fixed", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert np.array(found["A"]).shape == (14, 14)
    assert np.array(found["B"]).shape == (14, 7)
    assert found["controllability_rank"] == 14
    assert sum(m["count"] * (2 if m["imag"] else 1) for m in found["modes"]) == 14
    assert max(m["real"] for m in found["modes"]) == max(round(x[0], 2) for x in found["eigenvalues"])


def test_a_state_from_a_file_with_inertial_velocity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = fc.load("spacearm")
    q, nu = robot.random_configuration(1), robot.random_velocity(2)
    np.savez(tmp_path / "state.npz", q=q, nu=nu)
    words = ["linearize", "spacearm", "--state", str(tmp_path / "state.npz"), "--representation", "inertial", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(found["A"], robot.linearize(q, nu, found["tau"], representation="inertial").A, rtol=0, atol=1e-12)
    assert np.all(np.array(found["A"])[:6, :6] == 0.0)


def test_joint_torques_cannot_change_the_momentum() -> None:
    """A robot at rest in vacuum: of 2nv states, 12 belong to the momentum. Held against gravity, the robot is at rest too."""
    robot = fc.load("quadruped", gravity=(0.0, 0.0, 0.0))
    result = measure(robot, read_state(robot, "neutral"))
    assert result.rank == 2 * robot.n
    assert result.equilibrium
    held = measure(fc.load("quadruped"), read_state(robot, "neutral"), held=True)
    assert held.equilibrium
    assert not measure(fc.load("quadruped"), read_state(robot, "neutral")).equilibrium


def test_rank_of_known_systems(rng: np.random.Generator) -> None:
    """A controllable part of any size, hidden by a rotation; and a chain of integrators, whose powers overflow in Kalman's."""
    for k in range(9):
        A, B = rng.normal(size=(8, 8)), rng.normal(size=(8, 2))
        A[k:, :k], B[k:] = 0.0, 0.0
        Q = scipy.linalg.qr(rng.normal(size=(8, 8)))[0]
        assert controllable(Q @ A @ Q.T, Q @ B) == k
    chain = np.diag(np.ones(39), 1)
    assert controllable(1e3 * chain, np.eye(40)[:, -1:]) == 40
    assert controllable(chain, np.zeros((40, 0))) == 0


def test_modes_of_a_known_spectrum() -> None:
    found = modes(np.array([2.0, 1e-6, -1e-6, 3j, -3j, -1 + 2j, -1 - 2j, 2.0]))
    assert [(m.real, m.imag, m.count) for m in found] == [(2.0, 0.0, 2), (0.0, 3.0, 1), (0.0, 0.0, 2), (-1.0, 2.0, 1)]
    words = [m.words for m in found]
    assert "grows by e in 0.5 s" in words[0]
    assert "oscillates, 0.477 Hz" in words[1]
    assert "neutral" in words[2]
    assert "decays" in words[3]


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The numbers are written all the same."""
    monkeypatch.setattr(figures, "available", lambda: False)
    assert main(["linearize", "spacearm", "--fixed", "--out", str(tmp_path / "x.npz")]) == 0
    assert "pip install" in capsys.readouterr().out
    assert (tmp_path / "x.npz").exists()
    assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--representation", "spatial"], "unknown representation"),
        (["--torques", "some"], "unknown torques"),
        (["--out", "x.txt"], "not a .npz file"),
        (["--state", "nowhere.npz"], "cannot be read"),
        (["--out", "/dev/null/x.npz"], "cannot write"),
    ],
)
def test_mistakes(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["linearize", "spacearm", "--fixed", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_nothing_moves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "stone.urdf"
    file.write_text('<robot name="stone"><link name="stone"/></robot>')
    assert main(["linearize", str(file), "--fixed"]) == 2
    assert "nothing to linearize" in capsys.readouterr().err


def test_out_makes_its_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "new" / "folder" / "tree.npz"
    assert main(["linearize", "tree9", "--fixed", "--out", str(target)]) == 0
    assert target.exists()
    assert str(target) in capsys.readouterr().out.replace("\n", "")
