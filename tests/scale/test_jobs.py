"""`fallingcat sample` and `fallingcat map` in one process: files of every kind, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from job_states import COUNT, NAMES, ROBOT, here, pa, pq, sampled, write, zarr

import fallingcat as fc
from extras import extra
from fallingcat.cli.main import main
from fallingcat.motion.files import columns
from fallingcat.scale import run
from fallingcat.scale.advice import LEAST, MOST, advise
from fallingcat.scale.job import Sample
from fallingcat.scale.sampling import Sampler

xr = extra("xarray")
pytestmark = pytest.mark.dask


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sampled(tmp_path_factory.mktemp("states"))


@pytest.fixture(scope="module")
def arrays(states: str) -> dict[str, Any]:
    return {name: zarr.open(states)[name][:] for name in NAMES}


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
        "bias:representation=odd": "unknown representation", "bias:speed=2": "is not a call", "step:dt=soon": "dt is not a time",
    }.items():  # fmt: skip
        refuse(tmp_path, ["map", "tree9", function, "--in", states], message, capfd)
    refuse(tmp_path, ["map", "tree9", "bias", "bias", "--in", states], "asked for twice", capfd)
    refuse(tmp_path, ["map", "tree9", "bias", "--in", states, "--chunk", "0"], "--chunk does not fit", capfd)
    refuse(tmp_path, ["sample", "tree9", "-n", "many"], "-n does not fit", capfd)
    refuse(tmp_path, ["sample", "tree9", "-n", "10", "--only", "q,x"], "no vector of a state 'x'", capfd)
    assert main(["map", "tree9", "bias", "--in", states, "--out", str(tmp_path / "r.txt")]) == 2
    assert "unknown kind of results" in capfd.readouterr().err
    for words, message in {
        ("--memory", "lots"): "--memory does not fit", ("--memory", "1MB"): "--memory does not fit",
        ("--scheduler", "nonsense"): "--scheduler is not an address",
        ("--scheduler", "tcp://10.0.0.1"): "--scheduler is not an address",
        ("--scheduler", "tcp://nobody.invalid:8786"): "unknown host 'nobody.invalid'",
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
