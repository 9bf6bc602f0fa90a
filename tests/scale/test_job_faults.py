"""Jobs that end in the middle, meet what cannot be read or written, and are gone on with."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from job_states import NAMES, ROBOT, here, pq, sampled, write, zarr

import fallingcat as fc
from fallingcat.cli.main import main
from fallingcat.scale import engine, run
from fallingcat.scale.job import Job

pytestmark = pytest.mark.dask


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sampled(tmp_path_factory.mktemp("states"))


@pytest.fixture(scope="module")
def arrays(states: str) -> dict[str, Any]:
    return {name: zarr.open(states)[name][:] for name in NAMES}


class EndError(BaseException):
    """As when a process is interrupted."""


def ends_at(monkeypatch: pytest.MonkeyPatch, number: int) -> list[int]:
    """A job that ends when it comes to a chunk; the chunks that it has computed."""
    do, seen = Job.do, []

    def broken(self: Job, k: int) -> Any:
        if k == number:
            raise EndError
        seen.append(k)
        return do(self, k)

    monkeypatch.setattr(Job, "do", broken)
    return seen


def test_going_on(tmp_path: Path, states: str, arrays: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "r.zarr"
    ends_at(monkeypatch, 4)
    with pytest.raises(EndError):
        run.apply(ROBOT, ["bias"], states, here(out, chunk=200))
    with open(out / "_fallingcat.done", "ab") as file:  # a line that was cut short, of a chunk that is half there
        file.write(b'{"chunk": 4, "nan"')
    (out / "bias" / "c" / "4").mkdir(parents=True)
    (out / "bias" / "c" / "4" / "0").write_bytes(b"half a chunk")
    monkeypatch.undo()
    seen = ends_at(monkeypatch, -1)
    summary = run.apply(ROBOT, ["bias"], states, here(out, resume=True))  # in chunks as before
    assert seen == [4, 5, 6, 7]
    assert summary.complete
    assert summary.computed == 4
    np.testing.assert_array_equal(zarr.open(str(out))["bias"][:], ROBOT.bias(arrays["q"], arrays["nu"]))
    assert run.apply(ROBOT, ["bias"], states, here(out, resume=True)).computed == 0


@pytest.mark.parametrize("kind", ["zarr", "parquet"])
def test_states_that_are_not_finished_are_no_input(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / f"states.{kind}"
    ends_at(monkeypatch, 1)
    with pytest.raises(EndError):
        run.sample(ROBOT, 3000, 0, ("q", "nu"), here(made, chunk=1024))
    monkeypatch.undo()
    with pytest.raises(fc.InputError, match="is not finished"):
        run.apply(ROBOT, ["bias"], str(made), here(tmp_path / "r.zarr"))
    assert not (tmp_path / "r.zarr").exists()
    run.sample(ROBOT, 3000, 0, ("q", "nu"), here(made, chunk=1024, resume=True))
    assert run.apply(ROBOT, ["bias"], str(made), here(tmp_path / "r.zarr")).complete


def test_another_job_does_not_go_on(tmp_path: Path, states: str) -> None:
    out = tmp_path / "r.zarr"
    run.apply(ROBOT, ["bias"], states, here(out))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(fc.InputError, match="holds results already"):
        run.apply(ROBOT, ["bias"], states, here(out))
    for robot, functions in ((ROBOT, ["gravity_torque"]), (fc.load("tree9", gravity=(0, 0, -1)), ["bias"])):
        with pytest.raises(fc.InputError, match="another job's"):
            run.apply(robot, functions, states, here(out, resume=True))
    with pytest.raises(fc.InputError, match="its chunk"):
        run.apply(ROBOT, ["bias"], states, here(out, resume=True, chunk=7))
    (tmp_path / "mine.zarr").mkdir()
    (tmp_path / "mine.zarr" / "file").write_text("mine")
    with pytest.raises(fc.InputError, match="not a folder of results"):
        run.apply(ROBOT, ["bias"], states, here(tmp_path / "mine.zarr", resume=True))
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_one_job_at_a_time(tmp_path: Path, states: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "r.zarr"
    here_too, errors = engine.run_here, []

    def run_twice(*arguments: Any) -> Any:
        try:
            run.apply(ROBOT, ["bias"], states, here(out, resume=True))
        except fc.InputError as error:
            errors.append(str(error))
        return here_too(*arguments)

    monkeypatch.setattr(engine, "run_here", run_twice)
    assert run.apply(ROBOT, ["bias"], states, here(out)).complete
    assert len(errors) == 1
    assert "another job is writing" in errors[0]


def test_an_unreadable_chunk_is_named_and_the_others_are_done(tmp_path: Path, states: str, capfd: Any) -> None:
    broken = tmp_path / "broken.zarr"
    run.sample(ROBOT, 3072, 0, ("q", "nu"), here(broken, chunk=1024))
    chunk = broken / "q" / "c" / "1" / "0"
    data = chunk.read_bytes()
    chunk.write_bytes(data[: len(data) // 2])
    words = ["map", "tree9", "bias", "--in", str(broken), "--out", str(tmp_path / "r.zarr"), "--workers", "0", "--chunk", "1024"]
    assert main(words) == 1
    err = capfd.readouterr().err
    assert "missing: chunk 1, states 1024 to 2047" in err
    assert "--resume" in err
    h = zarr.open(str(tmp_path / "r.zarr"))["bias"][:]
    assert np.isnan(h).all(axis=1).nonzero()[0].tolist() == list(range(1024, 2048))
    assert json.loads((tmp_path / "r.zarr" / "_fallingcat.json").read_text())["complete"] is False
    chunk.write_bytes(data)
    assert main([*words, "--resume"]) == 0
    assert not np.isnan(zarr.open(str(tmp_path / "r.zarr"))["bias"][:]).any()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_stops_the_job(tmp_path: Path, states: str, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "r.zarr"
    write, seen = run.Target.write, []

    def full(self: Any, number: int, results: Any) -> None:
        seen.append(number)
        if number == 2:
            with open("/dev/full", "wb") as file:
                file.write(b"x" * 100_000)
        write(self, number, results)

    monkeypatch.setattr(run.Target, "write", full)
    words = ["map", "tree9", "bias", "--in", states, "--out", str(out), "--workers", "0", "--chunk", "200"]
    assert main(words) == 1
    assert "stopped: No space left on device" in capfd.readouterr().err
    assert seen == [0, 1, 2]
    monkeypatch.undo()
    assert main([*words, "--resume"]) == 0


def test_a_full_disk_while_parquet_is_written(tmp_path: Path, states: str, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer takes its file away before it raises."""

    def full(table: Any, path: str, **options: Any) -> None:
        os.unlink(path)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    out = tmp_path / "r.parquet"
    words = ["map", "tree9", "bias", "--in", states, "--out", str(out), "--workers", "0", "--chunk", "200"]
    assert main(words) == 1
    assert "stopped: No space left on device" in capfd.readouterr().err
    monkeypatch.undo()
    assert main([*words, "--resume"]) == 0
    assert len(list(out.glob("part-*.parquet"))) == 8


def test_cells_of_a_csv_file(tmp_path: Path, arrays: dict[str, Any], capfd: Any) -> None:
    """One without a value spoils its state; one that is no number is named, and the chunk that it is in is missing."""
    path = Path(write("csv", tmp_path, arrays))
    lines = path.read_text().splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("q:")) + 1
    cells = lines[head + 700].split(",")
    lines[head + 700] = ",".join(["", *cells[1:]])
    path.write_text("\n".join(lines) + "\n")
    words = ["map", "tree9", "kinetic_energy", "--in", str(path), "--workers", "0", "--chunk", "500", "--out"]
    assert main([*words, str(tmp_path / "a.zarr")]) == 0
    T = zarr.open(str(tmp_path / "a.zarr"))["kinetic_energy"][:]
    assert np.isnan(T).nonzero()[0].tolist() == [700]
    lines[head + 700] = ",".join(["left", *cells[1:]])
    path.write_text("\n".join(lines) + "\n")
    capfd.readouterr()
    assert main([*words, str(tmp_path / "b.zarr")]) == 1
    err = capfd.readouterr().err
    assert "state 700 cannot be read; expected: a number in column 1; got: 'left'" in err
    assert "missing: chunk 1, states 500 to 999" in err


def test_frames_of_any_name(tmp_path: Path, arrays: dict[str, Any]) -> None:
    builder = fc.Builder("odd")
    builder.link("..")
    for name in ("a/b", "a.b", "../../c", "händ"):
        builder.link(name, mass=1.0, inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
        builder.joint(f"to {name}", "revolute", "..", name)
    odd = fc.load(builder, floating=False)
    run.sample(odd, 20, 0, ("q",), here(tmp_path / "s.zarr"))
    texts = [f"frame_pose:frame={name}" for name in odd.frame_names]
    assert run.apply(odd, texts, str(tmp_path / "s.zarr"), here(tmp_path / "r.zarr")).complete
    found = zarr.open(str(tmp_path / "r.zarr"))
    quoted = ("%2E%2E", "a%2Fb", "a%2Eb", "%2E%2E%2F%2E%2E%2Fc", "h%C3%A4nd", "to%20a%2Fb", "to%20%2E%2E%2F%2E%2E%2Fc")
    assert {f"frame_pose.{name}" for name in quoted} < set(found.array_keys())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.zarr", "s.zarr"]
    q = zarr.open(str(tmp_path / "s.zarr"))["q"][:]
    np.testing.assert_array_equal(found["frame_pose.a%2Fb"][:], odd.frame_pose(q, "a/b"))


def test_results_that_are_not_reproduced_are_not_complete(tmp_path: Path, states: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write = run.Target.write
    monkeypatch.setattr(run.Target, "write", lambda self, n, r: write(self, n, {k: v + 1e-9 for k, v in r.items()}))
    summary = run.apply(ROBOT, ["bias"], states, here(tmp_path / "r.zarr"))
    assert summary.checks["equal"] is False
    assert not summary.complete
