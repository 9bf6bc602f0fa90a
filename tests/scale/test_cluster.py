"""A real cluster: a scheduler and workers as commands of their own. Nothing is lost when one of them, or the job, is killed."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.robots import robot_file
from clusters import Cluster, cluster, peak_memory, wait_for

import fallingcat as fc
from extras import extra
from fallingcat.scale import engine, run
from fallingcat.scale.ledger import versions
from fallingcat.scale.run import Settings
from fallingcat.scale.sampling import Sampler

da = extra("dask.array")
distributed = extra("distributed")
zarr = extra("zarr")
pytestmark = [
    pytest.mark.dask, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
    # a client that is closed while another test begins leaves sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]  # fmt: skip

CHUNK = 1 << 14


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def client(running: Cluster) -> Iterator[Any]:
    with distributed.Client(running.address, set_as_default=False) as found:
        found.wait_for_workers(2, timeout=300)
        yield found


def block_of(name: str, robot: fc.Robot, block_info: Any) -> Any:
    """A block of random states, made where it is used."""
    start, stop = block_info[None]["array-location"][0]
    return Sampler(robot, 1).states((name,), start, stop)[name]


def lazy_states(robot: fc.Robot, name: str, count: int) -> Any:
    width = robot.nq if name == "q" else robot.nv
    chunks = da.core.normalize_chunks((CHUNK, width), (count, width))
    return da.map_blocks(lambda block_info=None: block_of(name, robot, block_info), chunks=chunks, dtype=float)


def digests(block: Any) -> Any:
    return np.frombuffer(hashlib.sha256(np.ascontiguousarray(block)).digest(), dtype=np.uint8)[None]


@pytest.mark.parametrize("count", [100_000, pytest.param(10**6, marks=pytest.mark.sweep)])
def test_talos_bit_for_bit(client: Any, count: int) -> None:
    """The states are made by the workers; what comes back is a digest of every block."""
    robot = fc.load(robot_file("talos_reduced"))
    q, nu, dnu = (lazy_states(robot, name, count) for name in ("q", "nu", "dnu"))
    tau = robot.inverse_dynamics(q, nu, dnu)
    later = tau.map_blocks(digests, chunks=(1, 32), dtype=np.uint8)
    found = client.compute(later).result(timeout=600)
    sampler = Sampler(robot, 1)
    for k, start in enumerate(range(0, count, CHUNK)):
        states = sampler.states(("q", "nu", "dnu"), start, min(start + CHUNK, count))
        np.testing.assert_array_equal(found[k], digests(robot.inverse_dynamics(**states))[0])


def count_robots() -> None:
    """In a worker: from now on, count the robots that are built from what was sent."""
    import fallingcat.robot.robot as module

    build = module._rebuild

    def counted(*arguments: Any) -> Any:
        module.built = getattr(module, "built", 0) + 1  # type: ignore[attr-defined]
        return build(*arguments)

    module._rebuild = counted
    module.built = 0  # type: ignore[attr-defined]


def robots_built() -> int:
    import fallingcat.robot.robot as module

    return int(module.built)  # type: ignore[attr-defined]


def test_a_robot_is_sent_once(client: Any, rng: np.random.Generator) -> None:
    robot = fc.load("spacearm", gravity=(0, 0, -3.7))
    client.run(count_robots)
    q = da.from_array(np.stack([robot.random_configuration(rng) for _ in range(64)]), chunks=(1, -1))
    for _ in range(2):
        M = client.compute(robot.mass_matrix(q)).result(timeout=600)
    np.testing.assert_array_equal(M, robot.mass_matrix(q.compute(scheduler="synchronous")))
    built = client.run(robots_built)
    assert len(built) == 2
    assert all(number <= 1 for number in built.values())
    assert sum(built.values()) >= 1


# ---------------------------------------------------------------------------------------------------------------------
# Jobs


def begin(folder: Path, *words: str) -> subprocess.Popen[str]:
    environment = os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s", "FALLINGCAT_QUIET": "1"}
    words = (sys.executable, "-m", "fallingcat", *words)
    return subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def lines(out: Path) -> list[bytes]:
    path = out / "_fallingcat.done"
    return path.read_bytes().splitlines() if path.exists() else []


FUNCTION = "forward_dynamics_derivatives"
ROBOT = "quadruped"
STATES, SMALL = 60_000, 1000


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("states") / "states.zarr")
    run.sample(fc.load(ROBOT), STATES, 0, ("q", "nu", "tau"), Settings(path, workers=0, chunk=4096))
    return path


def job(running: Cluster, states: str, out: Path) -> list[str]:
    where = ["--in", states, "--out", str(out), "--chunk", str(SMALL)]
    return ["map", ROBOT, FUNCTION, *where, "--scheduler", running.address]


def check(out: Path, states: str) -> None:
    """All results are NumPy's, bit for bit."""
    robot, inputs, found = fc.load(ROBOT), zarr.open(states, mode="r"), zarr.open(str(out), mode="r")
    for start in range(0, STATES, 20_000):
        rows = slice(start, start + 20_000)
        plain = robot.forward_dynamics_derivatives(inputs["q"][rows], inputs["nu"][rows], inputs["tau"][rows])
        for name, values in plain._asdict().items():
            np.testing.assert_array_equal(found[f"{FUNCTION}.{name}"][rows], values)


def test_a_worker_is_killed(running: Cluster, states: str, tmp_path: Path) -> None:
    out = tmp_path / "r.zarr"
    process = begin(tmp_path, *job(running, states, out))
    wait_for(lambda: len(lines(out)) >= 3 or process.poll() is not None, "the first chunks")
    assert process.poll() is None
    victim = running.workers[-1]
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    running.workers.remove(victim)
    output = process.communicate(timeout=300)
    running.add_worker()
    assert process.returncode == 0, output
    assert len(lines(out)) == STATES // SMALL
    check(out, states)


def test_the_job_is_killed_and_gone_on_with(running: Cluster, states: str, tmp_path: Path) -> None:
    out = tmp_path / "r.zarr"
    process = begin(tmp_path, *job(running, states, out))
    wait_for(lambda: len(lines(out)) >= 5 or process.poll() is not None, "the first chunks")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = lines(out)
    assert 5 <= len(before) < STATES // SMALL
    again = begin(tmp_path, *job(running, states, out), "--resume", "--json")
    output, errors = again.communicate(timeout=300)
    assert again.returncode == 0, errors
    assert f'"computed": {STATES // SMALL - len(before)},' in output
    assert lines(out)[: len(before)] == before
    check(out, states)


def test_the_scheduler_is_lost(states: str, tmp_path: Path) -> None:
    out = tmp_path / "r.zarr"
    with cluster(tmp_path, workers=1) as short_lived:
        process = begin(tmp_path, *job(short_lived, states, out))
        wait_for(lambda: len(lines(out)) >= 3 or process.poll() is not None, "the first chunks")
        os.kill(short_lived.scheduler.pid, signal.SIGKILL)
        output, errors = process.communicate(timeout=600)
    assert process.returncode == 1, output + errors
    assert "the scheduler is lost" in errors
    assert "--resume" in errors
    assert "Traceback" not in errors
    words = [word for word in job(short_lived, states, out) if word not in ("--scheduler", short_lived.address)]
    again = begin(tmp_path, *words, "--workers", "0", "--resume")
    output, errors = again.communicate(timeout=300)
    assert again.returncode == 0, output + errors
    check(out, states)


def test_local_processes(states: str, tmp_path: Path) -> None:
    """The default: processes of this machine, which end with the job."""
    out = tmp_path / "r.parquet"
    process = begin(tmp_path, "map", ROBOT, "bias", "--in", states, "--out", str(out), "--workers", "2", "--chunk", "10000")
    errors = process.communicate(timeout=300)[1]
    assert process.returncode == 0, errors
    assert len(list(out.glob("part-*.parquet"))) == 6


def test_nobody_answers(states: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 1.0)
    settings = Settings(str(tmp_path / "r.zarr"), scheduler="tcp://127.0.0.1:9")
    with pytest.raises(fc.InputError, match="no scheduler answers"):
        run.apply(fc.load(ROBOT), ["bias"], states, settings)
    assert not (tmp_path / "r.zarr").exists()


class Answers:
    """A client whose workers say what they are told to."""

    def __init__(self, *answers: Any) -> None:
        self.answers = answers

    def scheduler_info(self, n_workers: int = 5) -> Any:
        return {"workers": {f"tcp://{k}": {"nthreads": 2} for k, _ in enumerate(self.answers)}}

    def run(self, *_: Any, **__: Any) -> Any:
        return {f"tcp://{k}": answer for k, answer in enumerate(self.answers)}


def test_workers_that_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 0.1)
    target: Any = type("", (), {"target": type("", (), {"path": str(tmp_path)})})
    good = (versions(), [])
    assert engine.check_workers(Answers(good, good), target, None) == 4
    for message, answer in {
        "another version of fallingcat": (versions() | {"fallingcat": "0.0.1"}, ()),
        "another version of llvmlite": (versions() | {"llvmlite": "0.1"}, ()),
        "another kind of machine": (versions() | {"machine": "abacus"}, ()),
        "does not see": (versions(), ("/states.zarr",)),
        "cannot run": ModuleNotFoundError("fallingcat"),
    }.items():
        with pytest.raises(fc.InputError, match=message):
            engine.check_workers(Answers(good, answer), target, None)
    with pytest.raises(fc.InputError, match="no workers"):
        engine.check_workers(Answers(), target, None)


# ---------------------------------------------------------------------------------------------------------------------
# Memory


@pytest.mark.parametrize("count", [200_000, pytest.param(10_000_000, marks=pytest.mark.sweep)])
def test_memory_is_bounded(running: Cluster, count: int, tmp_path: Path) -> None:
    """Workers that may have 512 MB make and read states and write results of hyq; the job itself needs no more."""
    hyq = robot_file("hyq")
    jobs = [
        ["sample", hyq, "-n", str(count), "--only", "q,nu,dnu", "--out", "s.zarr", "--scheduler", running.address],
        ["map", hyq, "inverse_dynamics", "--in", "s.zarr", "--out", "r.zarr", "--scheduler", running.address],
    ]
    for words in jobs:
        process, peak = begin(tmp_path, *words), 0.0
        while process.poll() is None:
            time.sleep(0.05)
            try:
                peak = max(peak, peak_memory(process.pid))
            except (AssertionError, OSError):
                break
        output = process.communicate(timeout=600)
        assert process.returncode == 0, output
        assert 50 < peak < 512
    for worker in running.workers:
        assert peak_memory(worker.pid) < 512
    assert zarr.open(str(tmp_path / "r.zarr"))["inverse_dynamics"].shape == (count, 18)


@pytest.mark.sweep
def test_a_worker_without_enough_memory(tmp_path: Path) -> None:
    """Chunks that no worker can hold are missing in the end, and said to be."""
    states, out = tmp_path / "s.zarr", tmp_path / "r.zarr"
    run.sample(fc.load("humanoid"), 60_000, 0, ("q", "nu", "dnu"), Settings(str(states), workers=0))
    words = ["map", "humanoid", "inverse_dynamics_derivatives", "--in", str(states), "--out", str(out), "--chunk", "60000"]
    process = begin(tmp_path, *words, "--workers", "1", "--memory", "400MB")
    output, errors = process.communicate(timeout=500)
    assert process.returncode == 1, output + errors
    assert "missing: chunk 0" in errors
    assert "a smaller --chunk needs less" in errors
    assert lines(out) == []
