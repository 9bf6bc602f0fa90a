"""`fallingcat sample` and `fallingcat map` in one process: files of every kind, going on after an end, and what is refused."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from fallingcat.cli.main import main
from fallingcat.motion.files import columns
from fallingcat.scale import engine, run
from fallingcat.scale.advice import LEAST, MOST, advise
from fallingcat.scale.job import Job, Sample
from fallingcat.scale.run import Settings
from fallingcat.scale.sampling import Sampler

zarr = extra("zarr")
pa = extra("pyarrow")
pq = extra("pyarrow.parquet")
h5py = extra("h5py")
xr = extra("xarray")
pytestmark = pytest.mark.dask

COUNT = 1500
ROBOT = fc.load("tree9")


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("states") / "states.zarr")
    assert run.sample(ROBOT, COUNT, 3, ("q", "nu", "dnu", "tau"), Settings(path, workers=0)).complete
    return path


@pytest.fixture(scope="module")
def arrays(states: str) -> dict[str, Any]:
    return {name: zarr.open(states)[name][:] for name in ("q", "nu", "dnu", "tau")}


def here(out: Path, **options: Any) -> Settings:
    return Settings(str(out), workers=0, **options)


# ---------------------------------------------------------------------------------------------------------------------
# States


def test_states_are_within_limits(arrays: dict[str, Any]) -> None:
    joints = arrays["q"][:, 7:]
    limits = ROBOT.position_limits
    finite = np.isfinite(limits).all(axis=1)
    assert (joints[:, finite] >= limits[finite, 0]).all()
    assert (joints[:, finite] <= limits[finite, 1]).all()
    assert np.allclose(np.linalg.norm(arrays["q"][:, 3:7], axis=1), 1.0)
    assert (arrays["tau"][:, :6] == 0.0).all()
    assert joints.std() > 0.1
    assert len(np.unique(arrays["nu"])) == arrays["nu"].size


def test_states_do_not_depend_on_chunks_or_their_number(tmp_path: Path, arrays: dict[str, Any]) -> None:
    run.sample(ROBOT, 700, 3, ("q", "nu"), here(tmp_path / "a.zarr", chunk=137))
    run.sample(ROBOT, COUNT, 4, ("q",), here(tmp_path / "b.zarr"))
    np.testing.assert_array_equal(zarr.open(str(tmp_path / "a.zarr"))["q"][:], arrays["q"][:700])
    np.testing.assert_array_equal(zarr.open(str(tmp_path / "a.zarr"))["nu"][:], arrays["nu"][:700])
    assert not np.array_equal(zarr.open(str(tmp_path / "b.zarr"))["q"][:], arrays["q"])


# ---------------------------------------------------------------------------------------------------------------------
# Results


def test_results_are_those_of_numpy(tmp_path: Path, states: str, arrays: dict[str, Any]) -> None:
    frame = ROBOT.frame_names[-1]
    texts = [
        "inverse_dynamics",
        "forward_dynamics_derivatives",
        f"frame_pose:frame={frame}",
        "step:dt=0.01,method=rk4",
        "kinetic_energy",
    ]
    summary = run.apply(ROBOT, texts, states, here(tmp_path / "r.zarr", chunk=256))
    assert summary.complete
    assert summary.chunks == 6
    q, nu, dnu, tau = (arrays[n] for n in ("q", "nu", "dnu", "tau"))
    found = xr.open_zarr(tmp_path / "r.zarr")
    np.testing.assert_array_equal(found["inverse_dynamics"], ROBOT.inverse_dynamics(q, nu, dnu))
    np.testing.assert_array_equal(found[f"frame_pose.{frame}"], ROBOT.frame_pose(q, frame))
    np.testing.assert_array_equal(found["step.rk4.nu"], ROBOT.step(q, nu, tau, 0.01, method="rk4").nu)
    np.testing.assert_array_equal(found["kinetic_energy"], ROBOT.kinetic_energy(q, nu))
    assert found["forward_dynamics_derivatives.ddnu_dq"].dims == ("sample", "dof", "dof_j")
    about = json.loads((tmp_path / "r.zarr" / "_fallingcat.json").read_text())
    assert about["complete"] is True
    assert about["robot"]["digest"] == ROBOT.model.digest
    assert about["versions"]["fallingcat"] == fc.__version__
    assert about["checks"] == {"chunks": 6, "computed_again": 48, "equal": True, "states_with_nan": 0, "states_refused": 0}


def test_parquet_out_and_in(tmp_path: Path, states: str, arrays: dict[str, Any]) -> None:
    run.apply(ROBOT, ["mass_matrix", "kinetic_energy"], states, here(tmp_path / "r.parquet", chunk=400))
    table = pq.read_table(tmp_path / "r.parquet")
    M = table.column("mass_matrix").combine_chunks().flatten().to_numpy().reshape(COUNT, ROBOT.nv, ROBOT.nv)
    np.testing.assert_array_equal(M, ROBOT.mass_matrix(arrays["q"]))
    np.testing.assert_array_equal(table.column("kinetic_energy").to_numpy(), ROBOT.kinetic_energy(arrays["q"], arrays["nu"]))
    run.sample(ROBOT, COUNT, 3, ("q", "nu"), here(tmp_path / "s.parquet", chunk=1024))
    run.apply(ROBOT, ["bias"], str(tmp_path / "s.parquet"), here(tmp_path / "r.zarr", chunk=300))
    np.testing.assert_array_equal(zarr.open(str(tmp_path / "r.zarr"))["bias"][:], ROBOT.bias(arrays["q"], arrays["nu"]))


def write(kind: str, folder: Path, a: dict[str, Any]) -> str:
    """States as a file of a kind."""
    path = folder / f"states.{kind.split()[0]}"
    named = {"q": a["q"], "nu": a["nu"]}
    labels = [c for c in columns(ROBOT) if not c.startswith(("t", "dnu"))]
    wide = np.concatenate([a["q"], a["nu"]], axis=1)
    if kind == "npz":
        np.savez(path, **named)
    elif kind == "npz compressed":
        np.savez_compressed(path, **named)
    elif kind == "npy":
        np.save(path, wide)
    elif kind == "h5":
        with h5py.File(path, "w") as file:
            for name, value in named.items():
                file.create_dataset(name, data=value, chunks=(100, value.shape[1]))
    elif kind == "csv":
        np.savetxt(path, wide, delimiter=",", header=",".join(labels), comments="", fmt="%.17g")
    elif kind == "csv numbered":
        names = [f"q_{k}" for k in range(ROBOT.nq)] + [f"nu_{k}" for k in range(ROBOT.nv)]
        np.savetxt(path, wide[:, ::-1], delimiter=",", header=",".join(names[::-1]), comments="", fmt="%.17g")
    elif kind == "parquet":
        pq.write_table(pa.table(dict(zip(labels, wide.T, strict=True))), path, row_group_size=333)
    elif kind == "zarr":
        group = zarr.create_group(str(path))
        for name, value in named.items():
            group.create_array(name, data=value, chunks=(100, value.shape[1]))
    return str(path)


KINDS = ["npz", "npz compressed", "npy", "h5", "csv", "csv numbered", "parquet", "zarr"]


@pytest.mark.parametrize("kind", KINDS)
def test_states_of_every_kind(kind: str, tmp_path: Path, arrays: dict[str, Any]) -> None:
    path = write(kind, tmp_path, arrays)
    run.apply(ROBOT, ["bias"], path, here(tmp_path / "r.zarr", chunk=400))
    np.testing.assert_array_equal(zarr.open(str(tmp_path / "r.zarr"))["bias"][:], ROBOT.bias(arrays["q"], arrays["nu"]))


def test_a_trajectory_is_a_file_of_states(tmp_path: Path, arrays: dict[str, Any]) -> None:
    motion = fc.Trajectory(ROBOT, np.arange(20.0), arrays["q"][:20], arrays["nu"][:20], arrays["dnu"][:20])
    for suffix in ("npz", "csv", "parquet"):
        motion.save(tmp_path / f"m.{suffix}")
        out = tmp_path / f"{suffix}.zarr"
        assert run.apply(ROBOT, ["inverse_dynamics"], str(tmp_path / f"m.{suffix}"), here(out)).complete
        expected = ROBOT.inverse_dynamics(arrays["q"][:20], arrays["nu"][:20], arrays["dnu"][:20])
        np.testing.assert_array_equal(zarr.open(str(out))["inverse_dynamics"][:], expected)


def test_nan_and_bad_quaternions_spoil_their_state_only(tmp_path: Path, arrays: dict[str, Any]) -> None:
    q, nu = arrays["q"].copy(), arrays["nu"].copy()
    nu[17, 2] = np.nan
    q[40, 3:7] = 0.0
    q[41, 9] = np.inf
    np.savez(tmp_path / "s.npz", q=q, nu=nu)
    summary = run.apply(ROBOT, ["bias", "mass_matrix"], str(tmp_path / "s.npz"), here(tmp_path / "r.zarr", chunk=300))
    assert summary.complete
    assert summary.checks["states_with_nan"] == 3
    assert summary.checks["states_refused"] == 1
    h = zarr.open(str(tmp_path / "r.zarr"))["bias"][:]
    bad = np.isnan(h).any(axis=1)
    assert np.flatnonzero(bad).tolist() == [17, 40, 41]
    np.testing.assert_array_equal(h[~bad], ROBOT.bias(arrays["q"], arrays["nu"])[~bad])


# ---------------------------------------------------------------------------------------------------------------------
# Ends in the middle


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
    with pytest.raises(fc.InputError, match="no folder of results"):
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


# ---------------------------------------------------------------------------------------------------------------------
# What does not fit is said before anything starts, and leaves nothing behind


def refuse(tmp_path: Path, words: list[str], message: str, capfd: Any) -> None:
    out = tmp_path / "never.zarr"
    assert main([*words, "--out", str(out), "--workers", "0"]) == 2
    assert message in capfd.readouterr().err
    assert not out.exists()


def test_bad_input(tmp_path: Path, states: str, arrays: dict[str, Any], capfd: Any) -> None:
    q, nu = arrays["q"], arrays["nu"]
    np.savez(tmp_path / "short.npz", q=q, nu=nu[:9])
    np.savez(tmp_path / "narrow.npz", q=q[:, 1:], nu=nu)
    np.savez(tmp_path / "complex.npz", q=q.astype(complex), nu=nu)
    np.savez(tmp_path / "words.npz", q=q, nu=np.full(nu.shape, "fast"))
    np.savez(tmp_path / "names.npz", Q=q, v=nu)
    np.save(tmp_path / "wide.npy", q)
    (tmp_path / "no.npz").write_bytes(b"PK\x03\x04 nothing")
    (tmp_path / "no.csv").write_text("a,b\n")
    (tmp_path / "text.csv").write_text(",".join(columns(ROBOT)) + "\n" + ",".join(["left"] * len(columns(ROBOT))) + "\n")
    (tmp_path / "states.txt").write_text("1 2 3")
    table = {name: value for name, value in zip(columns(ROBOT), np.zeros((len(columns(ROBOT)), 4)), strict=True)}  # noqa: C416
    del table["q:qw"]
    pq.write_table(pa.table(table), tmp_path / "columns.parquet")
    other = fc.load("quadruped")
    run.sample(other, 10, 0, ("q", "nu"), here(tmp_path / "other.zarr"))
    for file, message in {
        "short.npz": "differ in length", "narrow.npz": "q has the wrong shape", "complex.npz": "does not hold real numbers",
        "words.npz": "does not hold real numbers", "names.npz": "has no q", "wide.npy": "wrong shape", "no.npz": "cannot be read",
        "no.csv": "holds no states", "text.csv": "does not hold real numbers", "states.txt": "unknown kind of file",
        "columns.parquet": "no column 'q:qw'", "other.zarr": "states of another robot", "nowhere.zarr": "there is no file",
    }.items():  # fmt: skip
        refuse(tmp_path, ["map", "tree9", "bias", "--in", str(tmp_path / file)], message, capfd)
    for function, message in {
        "bais": "did you mean 'bias'", "frame_pose": "frame_pose needs frame", "frame_pose:frame=nose": "no frame 'nose'",
        "bias:representation=odd": "unknown representation", "bias:speed=2": "is no call", "step:dt=soon": "dt is not a time",
    }.items():  # fmt: skip
        refuse(tmp_path, ["map", "tree9", function, "--in", states], message, capfd)
    refuse(tmp_path, ["map", "tree9", "bias", "bias", "--in", states], "asked for twice", capfd)
    refuse(tmp_path, ["map", "tree9", "bias", "--in", states, "--chunk", "0"], "--chunk does not fit", capfd)
    refuse(tmp_path, ["sample", "tree9", "-n", "many"], "-n does not fit", capfd)
    refuse(tmp_path, ["sample", "tree9", "-n", "10", "--only", "q,x"], "no states 'x'", capfd)
    assert main(["map", "tree9", "bias", "--in", states, "--out", str(tmp_path / "r.txt")]) == 2
    assert "unknown kind of results" in capfd.readouterr().err
    for words, message in {
        ("--memory", "lots"): "--memory does not fit", ("--memory", "1MB"): "--memory does not fit",
        ("--scheduler", "nonsense"): "--scheduler is no address", ("--scheduler", "tcp://10.0.0.1"): "--scheduler is no address",
        ("--scheduler", "tcp://nobody.invalid:8786"): "no machine 'nobody.invalid' is known",
    }.items():  # fmt: skip
        assert main(["map", "tree9", "bias", "--in", states, "--out", str(tmp_path / "r.zarr"), *words]) == 2
        assert message in capfd.readouterr().err
        assert not (tmp_path / "r.zarr").exists()


def test_the_commands(tmp_path: Path, capfd: Any) -> None:
    s, r = str(tmp_path / "s.zarr"), str(tmp_path / "r.parquet")
    assert main(["sample", "cat", "-n", "2e3", "--out", s, "--seed", "5", "--workers", "0"]) == 0
    assert "2,000 states in all" in capfd.readouterr().out
    assert main(["map", "cat", "gravity_torque", "--in", s, "--out", r, "--workers", "0", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["complete"] is True
    assert found["states"] == 2000
    shutil.rmtree(r)


def test_the_size_of_a_chunk() -> None:
    """Memory bounds it, tasks that are too short enlarge it, and stored rows are not cut more often than need be."""
    sampling = advise(Sample(Sampler(ROBOT, 0), ("q", "nu")), 10**9)
    assert sampling.bytes == 8 * (ROBOT.nq + ROBOT.nv) * sampling.chunk <= MOST
    assert sampling.chunk >= LEAST
    few = advise(Sample(Sampler(ROBOT, 0), ("q",)), 100)
    assert few.chunk == 100
    given = advise(Sample(Sampler(ROBOT, 0), ("q",)), 10**9, chunk=77)
    assert given.chunk == 77
    for rows in (1000, 3 << 20):
        found = advise(Sample(Sampler(ROBOT, 0), ("q", "nu")), 10**9, rows=rows).chunk
        assert found % rows == 0 or rows % found < rows // found + 1
    assert "% of the time for tasks" in str(sampling)
