"""Trajectories as files: no digit is lost, and a file of another robot is refused."""

from __future__ import annotations

import builtins
import contextlib
import csv
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from robots import every_joint, wave

KINDS = (".npz", ".csv", ".parquet")


def some(robot: fc.Robot, count: int = 7) -> fc.Trajectory:
    t = np.linspace(0.1, 0.9, count)
    return fc.Trajectory.from_samples(robot, t, wave(robot, 8).at(t))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("floating", [True, False])
def test_round_trip(kind: str, floating: bool, tmp_path: Path) -> None:
    traj = some(every_joint(floating))
    path = traj.save(tmp_path / "new" / f"motion{kind}")
    again = fc.Trajectory.load(traj.robot, str(path))
    for name in ("t", "q", "nu", "dnu"):
        np.testing.assert_array_equal(getattr(again, name), getattr(traj, name))


@pytest.mark.parametrize("kind", KINDS)
def test_one_sample(kind: str, tmp_path: Path) -> None:
    traj = some(fc.load("cat"))[:1]
    assert len(fc.Trajectory.load(traj.robot, traj.save(tmp_path / f"one{kind}"))) == 1


def test_several_motions_go_to_npz_only(tmp_path: Path) -> None:
    robot = fc.load("cat")
    one = some(robot)
    both = fc.Trajectory.from_samples(robot, one.t, np.stack([one.q, one.q]))
    assert fc.Trajectory.load(robot, both.save(tmp_path / "both.npz")).q.shape == both.q.shape
    with pytest.raises(fc.InputError, match=r"save it as \.npz"):
        both.save(tmp_path / "both.csv")


def test_columns_have_the_names_of_the_joints(tmp_path: Path) -> None:
    robot = fc.load("cat")
    path = some(robot).save(tmp_path / "cat.csv")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith('# {"format": "fallingcat trajectory 1", "robot": "cat"')
    header = next(csv.reader([lines[1]]))
    assert header[:9] == ["t", "q:x", "q:y", "q:z", "q:qx", "q:qy", "q:qz", "q:qw", f"q:{robot.joint_names[0]}"]
    assert header[-1] == f"dnu:{robot.joint_names[-1]}"
    assert len(header) == len(set(header)) == 1 + robot.nq + 2 * robot.nv
    assert len(lines) == 2 + 7


@pytest.mark.parametrize("kind", KINDS)
def test_another_robot_is_refused(kind: str, tmp_path: Path) -> None:
    cat, arm = fc.load("cat"), fc.load("spacearm")
    path = some(arm).save(tmp_path / f"arm{kind}")
    with pytest.raises(fc.InputError, match="another robot: its robot differs; expected: 'cat'; got: 'spacearm'"):
        fc.Trajectory.load(cat, path)
    with pytest.raises(fc.InputError, match="its base differs"):
        fc.Trajectory.load(arm.with_base("hand"), path)
    with pytest.raises(fc.InputError, match="its floating differs"):
        fc.Trajectory.load(fc.load("spacearm", floating=False), path)
    backwards = fc.load("spacearm", joints=arm.joint_names[::-1])
    with pytest.raises(fc.InputError, match="its joints differs; expected: the order"):
        fc.Trajectory.load(backwards, path)
    with pytest.raises(fc.InputError, match="7 joints, among them 'joint7'"):
        fc.Trajectory.load(fc.load("spacearm", lock={"joint7": 0.0}), path)


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_are_none(kind: str, tmp_path: Path) -> None:
    robot, path = fc.load("cat"), tmp_path / f"bad{kind}"
    with pytest.raises(fc.FallingCatError, match=r"cannot read .*No such file"):
        fc.Trajectory.load(robot, path)
    for content in (b"", b"# {}\nt\n", b"PK\x03\x04 cut short", b"t,q\n1,2\n", b'# {"format": "x"}\n'):
        path.write_bytes(content)
        with pytest.raises(fc.InputError, match="holds no trajectory"):
            fc.Trajectory.load(robot, path)
    whole = some(robot).save(path).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(fc.FallingCatError, match=r"holds no trajectory|cut short"):
        fc.Trajectory.load(robot, path)


def test_damaged_files(tmp_path: Path) -> None:
    """A bit here and there: of flags, methods and lengths of a zip file, too."""
    robot, path = fc.load("cat"), tmp_path / "bad.npz"
    whole = some(robot).save(path).read_bytes()
    for at in [*range(60), *range(len(whole) - 400, len(whole))]:
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << bit
            path.write_bytes(damaged)
            with contextlib.suppress(fc.FallingCatError):
                fc.Trajectory.load(robot, path)


def test_unknown_endings(tmp_path: Path) -> None:
    with pytest.raises(fc.InputError, match=r"expected: \.npz, \.csv, \.parquet"):
        some(fc.load("cat")).save(tmp_path / "motion.txt")


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    traj = some(fc.load("cat"))
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(fc.FallingCatError, match=r"fallingcat\[parquet\]"):
        traj.save(tmp_path / "motion.parquet")


def test_arguments_the_wrong_way_round() -> None:
    robot = fc.load("spacearm")
    with pytest.raises(fc.InputError, match=r"not a robot.*a robot, then a path"):
        fc.Trajectory.load("motion.npz", robot)  # type: ignore[arg-type]
    with pytest.raises(fc.InputError, match="not a path"):
        fc.Trajectory.load(robot, 3)  # type: ignore[arg-type]
