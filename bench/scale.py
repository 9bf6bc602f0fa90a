"""python -m bench.scale [--states 1e6] [--rounds 3] [--json FILE]

What Dask costs: two workers beside two threads in one process (states made where they are used), seconds that a task costs beyond
its work, and how fast states come from and results go to Zarr, beside the kernel alone. By the clock, and by the time of
processors, which other programs on the machine disturb less. Needs the extra `dask`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import fallingcat as fc
from bench.robots import robot_file
from fallingcat.scale import run
from fallingcat.scale.engine import QUIET_WORKERS
from fallingcat.scale.run import Settings
from fallingcat.scale.sampling import Sampler

CHUNK = 1 << 15
NAMES = ("q", "nu", "dnu")


def part(sampler: Sampler, k: int, count: int) -> float:
    """States of a chunk, and the torques for them."""
    states = sampler.states(NAMES, k * CHUNK, min((k + 1) * CHUNK, count))
    return float(sampler.robot.inverse_dynamics(**states).sum())


def nothing(k: int) -> int:
    return k


def processor_time() -> float:
    """Seconds that this process and its children have computed for."""
    import psutil  # comes with distributed

    own = psutil.Process()
    return sum(sum(p.cpu_times()[:2]) for p in (own, *own.children(recursive=True)))


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def against_threads(client: Any, sampler: Sampler, count: int, rounds: int) -> dict[str, float]:
    """The same chunks by two workers and by two threads, in turns."""
    chunks = range(-(-count // CHUNK))
    shared = client.scatter(sampler, broadcast=True)
    by_workers: list[list[float]] = []
    by_threads: list[list[float]] = []

    def workers() -> None:
        client.gather(client.map(part, [shared] * len(chunks), chunks, [count] * len(chunks), pure=False))

    def threads() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda k: part(sampler, k, count), chunks))

    workers()
    for _ in range(rounds):
        for work, times in ((workers, by_workers), (threads, by_threads)):
            start = processor_time()
            times.append([seconds(work), processor_time() - start])
    (a, a_cpu), (b, b_cpu) = np.min(by_workers, axis=0), np.min(by_threads, axis=0)
    return {
        "workers": a, "threads": b, "efficiency": b / a, "states_per_second": count / a, "workers_processor_time": a_cpu,
        "threads_processor_time": b_cpu, "efficiency_by_processor_time": b_cpu / a_cpu,
    }  # fmt: skip


def task_cost(client: Any, count: int = 2000) -> dict[str, float]:
    """Seconds for a task that does nothing: by the clock, and of all processors."""
    client.gather(client.map(nothing, range(100), pure=False))
    start = processor_time()
    times = [seconds(lambda: client.gather(client.map(nothing, range(count), pure=False))) for _ in range(3)]
    return {"task": min(times) / count, "task_processor_time": (processor_time() - start) / (3 * count)}


def streaming(robot: fc.Robot, count: int, function: str) -> dict[str, float]:
    """States a second: the kernel alone on arrays in memory, and a job in this process from Zarr to Zarr."""
    sampler = Sampler(robot, 0)
    states = sampler.states(NAMES, 0, CHUNK)
    method = getattr(robot, function)
    out = method(**states)
    kernel = CHUNK / min(seconds(lambda: method(**states, out=out)) for _ in range(5))
    with tempfile.TemporaryDirectory() as folder:
        s, r = os.path.join(folder, "s.zarr"), os.path.join(folder, "r.zarr")
        run.sample(robot, count, 0, NAMES, Settings(s, workers=0, chunk=CHUNK))
        start = time.process_time()
        summary = run.apply(robot, [function], s, Settings(r, workers=0))
        busy = time.process_time() - start
        entries = [json.loads(line)["seconds"] for line in Path(r, "_fallingcat.done").read_text().splitlines()]
        taken = 8 * (robot.nq + 2 * robot.nv)
        given = sum(x.nbytes for x in (out if isinstance(out, tuple) else (out,))) / CHUNK
        read, compute, write = np.array(entries).min(axis=0)
        chunk = summary.advice.chunk
        return {
            "kernel": kernel, "job": count / summary.seconds, "job_by_processor_time": count / busy, "chunk": chunk,
            "read_MB_per_second": chunk * taken / read / 1e6, "write_MB_per_second": chunk * given / write / 1e6,
            "compute": chunk / compute,
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.scale", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--states", type=float, default=1e6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="where to write the numbers")
    arguments = parser.parse_args()
    import dask
    from distributed import Client, LocalCluster

    dask.config.set(QUIET_WORKERS)
    robot, count = fc.load(robot_file("hyq")), int(arguments.states)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        found: dict[str, Any] = {"states": count, "load": os.getloadavg()[0]} | task_cost(client)
        found |= against_threads(client, Sampler(robot, 0), count, arguments.rounds)
    for function in ("inverse_dynamics", "inverse_dynamics_derivatives"):
        found[function] = streaming(robot, min(count, 1 << 18), function)
    text = json.dumps(found, indent=1)
    print(text)
    if arguments.json:
        Path(arguments.json).write_text(text + "\n")


if __name__ == "__main__":
    main()
