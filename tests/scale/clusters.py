"""A cluster of processes on the loopback address: scheduler and workers are commands of their own, known by their ids."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 120.0
HERE = os.pathsep.join(map(str, [Path(__file__).parent, *Path(__file__).parents[1:3]]))
"""Modules of the tests, which the processes of a cluster need when they are sent functions of them."""


@dataclass
class Cluster:
    """Processes that this test has started."""

    folder: Path
    memory: str
    scheduler: subprocess.Popen[bytes]
    address: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add_worker(self) -> subprocess.Popen[bytes]:
        words = ["worker", self.address, "--no-nanny", "--nthreads", "1", "--memory-limit", self.memory, "--no-dashboard"]
        words += ["--host", "127.0.0.1", "--local-directory", str(self.folder), "--death-timeout", "60"]
        worker = start(words, self.folder / f"worker{len(self.workers)}.log")
        self.workers.append(worker)
        return worker

    @property
    def processes(self) -> list[subprocess.Popen[bytes]]:
        return [self.scheduler, *self.workers]


def start(words: list[str], log: Path) -> subprocess.Popen[bytes]:
    """A command of Dask."""
    environment = os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s", "FALLINGCAT_QUIET": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([HERE, *filter(None, [os.environ.get("PYTHONPATH")])])
    with open(log, "wb") as file:
        return subprocess.Popen([sys.executable, "-m", "dask", *words], stdout=file, stderr=file, env=environment)


def wait_for(condition: Any, what: str, patience: float = PATIENCE) -> Any:
    """What a condition gives when it is true."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2, memory: str = "512MB") -> Iterator[Cluster]:
    """`dask scheduler` and `dask worker`, ended by their ids."""
    about = folder / "scheduler.json"
    words = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(about)]
    made = Cluster(folder, memory, start(words, folder / "scheduler.log"))
    try:
        wait_for(about.exists, "the scheduler")
        made.address = wait_for(lambda: _address(about), "its address")
        for _ in range(workers):
            made.add_worker()
        yield made
    finally:
        for process in reversed(made.processes):
            process.kill()
            process.wait()


def _address(about: Path) -> str:
    try:
        return str(json.loads(about.read_text())["address"])
    except (ValueError, KeyError):
        return ""


def peak_memory(pid: int) -> float:
    """The most that a process has had in memory so far, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmHWM")
