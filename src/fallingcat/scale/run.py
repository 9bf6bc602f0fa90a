"""Runs a job: from the arguments of a command to a folder of results."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fallingcat.errors import InputError
from fallingcat.robot.labels import axes
from fallingcat.robot.robot import Robot
from fallingcat.robot.units import units
from fallingcat.scale import calls as functions
from fallingcat.scale import engine
from fallingcat.scale.advice import Advice, advise
from fallingcat.scale.calls import Result
from fallingcat.scale.job import Job, Map, Sample, Work
from fallingcat.scale.ledger import Ledger, about_robot, chunk_of, versions
from fallingcat.scale.sampling import BLOCK, NAMES, Sampler
from fallingcat.scale.sources import Source, open_states
from fallingcat.scale.targets import Target, check_kind

CHECKED_CHUNKS, CHECKED_STATES = 8, 8
"""Numbers of chunks, and of states in each, that are computed again at the end and compared bit for bit."""


@dataclass(frozen=True)
class Settings:
    """Where and how a job runs."""

    out: str
    chunk: int | None = None
    workers: int = 1
    """Processes on this machine; 0: this process."""
    memory: str = "auto"
    """Memory of one process."""
    scheduler: str | None = None
    resume: bool = False


@dataclass
class Summary:
    """The summary of a finished job."""

    states: int
    chunks: int
    computed: int
    seconds: float
    advice: Advice
    checks: dict[str, Any]
    failed: dict[int, str] = field(default_factory=dict)
    stopped: str = ""

    @property
    def complete(self) -> bool:
        return not self.failed and not self.stopped and self.checks["equal"]


Progress = Callable[[int, Advice], contextlib.AbstractContextManager[engine.Tell]]
"""From the number of chunks to compute and the advice, a context with a callback for every finished chunk."""


@contextlib.contextmanager
def silent(chunks: int, advice: Advice) -> Iterator[engine.Tell]:
    yield lambda done, words: None


def sample(robot: Robot, count: int, seed: int, names: Sequence[str], settings: Settings, progress: Progress = silent) -> Summary:
    """Random states of a robot into a file."""
    for name in names:
        if name not in NAMES:
            raise InputError(f"no vector of a state {name!r}", expected=", ".join(NAMES))
    work = Sample(Sampler(robot, seed), tuple(names))
    sizes = functions.widths(robot, names)
    results = []
    for name in names:
        found = axes(robot, ("nq" if name == "q" else "nv",))
        results.append(Result(name, (sizes[name],), tuple(a.dim for a in found), units(name)))
    plan = {"work": {"kind": "sample", "seed": seed, "names": list(names), "block": BLOCK}}
    return _run(robot, work, results, count, BLOCK, plan, settings, None, progress)


def apply(robot: Robot, texts: Sequence[str], path: str, settings: Settings, progress: Progress = silent) -> Summary:
    """Functions of a robot at all states of a file."""
    calls = [functions.parse(robot, text) for text in texts]
    results = [call.results(robot) for call in calls]
    functions.unique([r for several in results for r in several])
    names = tuple(dict.fromkeys(name for call in calls for name in call.inputs))
    source = open_states(path, robot, names)
    work = Map(robot, tuple(calls), tuple(tuple(r.name for r in several) for several in results), source, names)
    plan = {"work": {"kind": "map", "functions": list(texts), "input": source.identity}}
    flat = [r for several in results for r in several]
    return _run(robot, work, flat, source.count, source.rows, plan, settings, source, progress)


def _run(
    robot: Robot, work: Work, results: Sequence[Result], count: int, rows: int, plan: dict[str, Any], settings: Settings,
    source: Source | None, progress: Progress,
) -> Summary:  # fmt: skip
    check_kind(settings.out)
    if settings.scheduler is not None or settings.workers > 0:
        engine.check_words(settings.scheduler, settings.memory)
    if count < 1:
        raise InputError("there are no states", expected="one or more")
    advice = advise(work, count, rows, settings.chunk or chunk_of(settings.out, settings.resume))
    about = about_robot(robot)
    plan = plan | {
        "states": count, "chunk": advice.chunk, "robot": about, "versions": versions(),
        "arrays": {r.name: {"shape": list(r.shape), **r.about} for r in results},
    }  # fmt: skip
    ledger = Ledger(Path(settings.out), plan)
    try:
        ledger.begin(settings.resume)
        target = Target(settings.out, tuple(results), count, advice.chunk, json.dumps(about))
        target.make()
        job = Job(work, target)
        return _finish(job, ledger, advice, settings, source, progress)
    except Exception:
        ledger.forget()
        raise
    finally:
        ledger.release()


def _finish(
    job: Job, ledger: Ledger, advice: Advice, settings: Settings, source: Source | None, progress: Progress
) -> Summary:  # fmt: skip
    todo = job.chunks - len(ledger.done)
    start = time.perf_counter()
    outcome = engine.Outcome()
    if todo and settings.scheduler is None and settings.workers == 0:
        with progress(todo, advice) as tell:
            outcome = engine.run_here(job, ledger, tell)
    elif todo:
        job = _with_whole_paths(job)
        with engine.cluster(settings.scheduler, settings.workers, settings.memory) as client:
            threads = engine.check_workers(client, job, None if source is None else source.path)
            start = time.perf_counter()
            with progress(todo, advice) as tell:
                outcome = engine.run_on(client, threads, job, ledger, tell)
    seconds = time.perf_counter() - start
    checks = _checks(job, ledger)
    summary = Summary(
        job.target.count,
        job.chunks,
        todo - (job.chunks - len(ledger.done)),
        seconds,
        advice,
        checks,
        outcome.failed,
        outcome.stopped,
    )
    ledger.close(summary.complete, checks)
    return summary


def _with_whole_paths(job: Job) -> Job:
    """The job with absolute paths, as workers may have other working directories."""
    work = job.work
    if isinstance(work, Map) and isinstance(work.source, Source):
        work = replace(work, source=work.source.absolute())
    return Job(work, replace(job.target, path=str(Path(job.target.path).resolve())))


def _checks(job: Job, ledger: Ledger) -> dict[str, Any]:
    """The checks of a job: counts over all chunks, and some states computed again."""
    entries = ledger.done.values()
    rng = np.random.default_rng(0)
    numbers = sorted(ledger.done)
    chosen = rng.choice(numbers, min(CHECKED_CHUNKS, len(numbers)), replace=False).tolist() if numbers else []
    equal, again = True, 0
    names = [r.name for r in job.target.results]
    for number in sorted(chosen):
        start, stop = job.rows(number)
        stop = min(stop, start + CHECKED_STATES)
        try:
            expected, _ = job.work.compute(job.work.read(start, stop))
            found = job.target.read(number, names)
        except (OSError, ValueError):  # files that were there a moment ago
            equal = False
            continue
        for name in names:
            equal &= np.array_equal(expected[name], found[name][: stop - start], equal_nan=True)
        again += stop - start
    return {
        "chunks": len(numbers), "computed_again": again, "equal": bool(equal),
        "states_with_nan": sum(e["nan"] for e in entries), "states_refused": sum(e["refused"] for e in entries),
    }  # fmt: skip
