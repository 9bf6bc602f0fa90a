"""Worker processes with limits, and the sums of what they report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fallingcat as fc

HERE = Path(__file__).resolve().parent
MEMORY = 4 << 30
"""Bytes of address space that a worker may have."""
START_UP = 1800.0
"""Seconds for a worker to start and to compile what its attack calls."""
MAX_PROBLEMS = 100
"""After so many an attack stops: the rest are most likely the same."""


@dataclass(frozen=True)
class Plan:
    """One attack: how many cases for a scale of 1, and how many one process does."""

    name: str
    cases: int
    per_process: int
    seconds_per_case: float
    """A generous limit: what a slow machine needs, ten times over."""
    memory: int = MEMORY
    growth: int | None = 16 << 20
    """Bytes by which the memory of a process may grow in its second half; None where it has only one case."""


PLANS = {
    plan.name: plan
    for plan in (
        Plan("files", 3_000, 1_500, 0.5, memory=2 << 30),
        Plan("calls", 30_000, 30_000, 0.05, growth=32 << 20),
        Plan("cache", 3_000, 1_500, 0.5),
        Plan("memory", 60, 60, 5.0, growth=4 << 20),
        Plan("threads", 8, 1, 120.0, growth=None),
        Plan("life", 20, 1, 300.0, memory=64 << 30, growth=None),
    )
}


@dataclass
class Totals:
    """What an attack did and found."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    """Problems by their kind."""
    problems: list[dict[str, Any]] = field(default_factory=list)
    """The first of each sort."""
    cases: int = 0
    growth: int = 0
    seconds: float = 0.0

    def add(self, case: int, kind: str, text: str) -> None:
        self.found[kind] += 1
        self.problems.append({"case": case, "kind": kind, "text": text})

    def as_json(self) -> dict[str, Any]:
        """For the table in docs/reliability.md."""
        return {
            "cases": self.cases, "seconds": round(self.seconds), "largest memory growth in bytes": self.growth,
            "counts": dict(sorted(self.counts.items())), "problems": dict(self.found), "first problems": self.problems[:5],
        }  # fmt: skip


def _limits(memory: int) -> Any:
    """What the child does before it becomes the worker."""
    if sys.platform != "linux":
        return None

    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return limit


def environment(cache: str) -> dict[str, str]:
    """The library that is imported here, and a cache of its own."""
    path = os.pathsep.join([str(HERE.parent), str(Path(fc.__file__).resolve().parents[1])])
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return os.environ | threads | {"PYTHONPATH": path, "FALLINGCAT_CACHE": cache, "PYTHONHASHSEED": "0"}


def run(plan: Plan, cases: int, seed: int = 1, first: int = 0, deadline: float | None = None) -> Totals:
    """So many cases of an attack, until a deadline of the monotonic clock, or until too much is found."""
    totals = Totals(plan.name)
    start = time.monotonic()
    stop = first + cases
    with tempfile.TemporaryDirectory() as folder:
        while first < stop and len(totals.problems) < MAX_PROBLEMS and (deadline is None or time.monotonic() < deadline):
            first = _one_process(plan, seed, first, min(plan.per_process, stop - first), Path(folder), totals)
    totals.seconds = time.monotonic() - start
    return totals


def _one_process(plan: Plan, seed: int, first: int, count: int, folder: Path, totals: Totals) -> int:
    """Run a worker and add what it reports; the number of the case to go on with."""
    progress = folder / "progress"
    progress.write_bytes(first.to_bytes(8, "little"))
    command = [sys.executable, "-m", "attack.worker", plan.name, str(seed), str(first), str(count), str(progress)]
    worker = subprocess.Popen(
        command, cwd=folder, env=environment(str(folder / "cache")), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=_limits(plan.memory), start_new_session=True,
    )  # fmt: skip
    try:
        out, err = worker.communicate(timeout=START_UP + plan.seconds_per_case * count)
        status = f"status {worker.returncode}"
    except subprocess.TimeoutExpired:
        worker.kill()
        out, err = worker.communicate()
        status = "no end"
    report = _report(out) if worker.returncode == 0 else None
    if report is None:
        at = int.from_bytes(progress.read_bytes(), "little")
        hang = status == "no end" or "Timeout (" in err
        text = f"{status}; {err[-4000:]}"
        totals.add(at, "hangs" if hang else "crashes", text)
        totals.cases += at + 1 - first
        return at + 1
    totals.counts.update(report["counts"])
    totals.found.update(report["found"])
    totals.problems += report["problems"]
    totals.cases += count
    if plan.growth is None or count < plan.per_process:  # a short run has not filled its caches
        return first + count
    totals.growth = max(totals.growth, report["growth"])
    if report["growth"] > plan.growth:
        totals.add(first, "other problems", f"the memory grew by {report['growth']} bytes")
    return first + count


def _report(out: str) -> dict[str, Any] | None:
    lines = out.strip().splitlines()
    try:
        report = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return report if isinstance(report, dict) else None


def again(plan: Plan, seed: int, problem: dict[str, Any]) -> str:
    """The command that runs the case of a problem alone."""
    return f"python -m tests.attack --only {plan.name} --seed {seed} --first {problem['case']} --cases 1"
