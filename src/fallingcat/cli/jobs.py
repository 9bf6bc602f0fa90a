"""Functions that `sample` and `map` share: where a job runs, its progress, and its summary."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator

from rich.console import Console

from fallingcat.errors import InputError
from fallingcat.robot.ahead import processors
from fallingcat.scale.advice import Advice
from fallingcat.scale.engine import Tell
from fallingcat.scale.run import Progress, Settings, Summary

SHOWN = 10
"""Largest number of missing chunks that are listed one by one."""


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Declare where a job runs; `settings` reads this."""
    parser.add_argument("--chunk", metavar="K", type=int, help="states at a time (default: by the time and memory they take)")
    parser.add_argument(
        "--workers", metavar="W", type=int, help="processes on this machine; 0: none but this one (default: all cores)"
    )
    parser.add_argument("--memory", metavar="SIZE", default="auto", help="of each of these processes at most, as in 512MB")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a running Dask cluster, as in tcp://10.0.0.1:8786")
    parser.add_argument("--resume", action="store_true", help="go on with a job that was interrupted: what is done stays")
    parser.add_argument("--json", action="store_true", help="print JSON")


def settings(arguments: argparse.Namespace) -> Settings:
    """Where a job runs."""
    workers = processors() if arguments.workers is None else arguments.workers
    if workers < 0:
        raise InputError("--workers does not fit", expected="0 or more", got=str(workers))
    if arguments.chunk is not None and arguments.chunk < 1:
        raise InputError("--chunk does not fit", expected="1 or more", got=str(arguments.chunk))
    return Settings(arguments.out, arguments.chunk, workers, arguments.memory, arguments.scheduler, arguments.resume)


def show(arguments: argparse.Namespace) -> Progress:
    """The progress of a job: a bar on a terminal, elsewhere the size of chunks and the chunks that fail."""

    @contextlib.contextmanager
    def progress(chunks: int, advice: Advice) -> Iterator[Tell]:
        if not arguments.json:
            print(advice, flush=True)
        if not sys.stderr.isatty():
            yield lambda done, words: print(words, file=sys.stderr, flush=True) if words else None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("chunks"), TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            line = bar.add_task("", total=chunks)

            def tell(done: int, words: str) -> None:
                bar.update(line, advance=done)
                if words:
                    bar.console.print(words, markup=False, highlight=False)

            yield tell

    return progress


@contextlib.contextmanager
def interruptible(arguments: argparse.Namespace) -> Iterator[None]:
    """On an interrupt, print how the job can be resumed."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"{arguments.out}: the same command with --resume goes on from here", file=sys.stderr)
        raise


def finish(arguments: argparse.Namespace, summary: Summary) -> int:
    """Print the summary of a job and return the exit status."""
    if arguments.json:
        found = {
            "out": arguments.out, "states": summary.states, "chunks": summary.chunks, "computed": summary.computed,
            "chunk": summary.advice.chunk, "seconds": summary.seconds, "complete": summary.complete, "checks": summary.checks,
            "failed": summary.failed, "stopped": summary.stopped,
        }  # fmt: skip
        print(json.dumps(found, indent=2))
        return 0 if summary.complete else 1
    rate = min(summary.computed * summary.advice.chunk, summary.states) / max(summary.seconds, 1e-9)
    left = summary.chunks - summary.checks["chunks"]
    print(
        f"{arguments.out}: {summary.checks['chunks']:,} of {summary.chunks:,} chunks are there, {summary.states:,} states in all"
    )
    if summary.computed:
        print(f"{summary.computed:,} chunks computed in {summary.seconds:.1f} s: {rate:,.0f} states a second")
    for words, count in (("hold NaN", summary.checks["states_with_nan"]), ("were no states", summary.checks["states_refused"])):
        if count:
            print(f"{count:,} states {words}" + (": their quaternions are far from unit length" if "no states" in words else ""))
    if not summary.checks["equal"]:
        print("some results are not what this process computes for their states: do not use them", file=sys.stderr)
    if summary.stopped:
        print(f"stopped: {summary.stopped}", file=sys.stderr)
    for number in sorted(summary.failed)[:SHOWN]:
        start = number * summary.advice.chunk
        states = f"states {start} to {min(start + summary.advice.chunk, summary.states) - 1}"
        print(f"missing: chunk {number}, {states}: {summary.failed[number]}", file=sys.stderr)
    if left:
        print(f"{left:,} chunks are missing; the same command with --resume computes them", file=sys.stderr)
    return 0 if summary.complete else 1
