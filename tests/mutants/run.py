"""Run the tests behind the rows of the equation map on changed sources, each change in a process of its own.

The tests are collected once; a child that is forked from there exchanges the code of one function, runs the tests of its row
until one fails, and ends. So a mutant costs what its tests cost, and no more.
"""

from __future__ import annotations

import io
import os
import runpy
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import pytest

from .mutate import DOUBLED, Mutant, mutants, put_in_place

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 120
"""Seconds that the tests of a row may take with a change: a loop that never ends is seen, too."""
OPTIONS = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "--no-header", "--tb=no", "--capture=no"]


@dataclass
class Found:
    """What came of the rows of a paper."""

    tried: list[Mutant] = field(default_factory=list)
    survivors: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    """Rows behind which nothing could be changed."""
    seconds: float = 0.0


def equation_map() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "tools" / "equation_map.py"), run_name="equation_map"))


def chosen(source: str, most: int) -> list[Mutant]:
    """Twice what the function returns, and others, spread over the function and over the kinds of changes."""
    everything = sorted(mutants(source), key=lambda m: m.line)
    doubled = [m for m in everything if m.kind == DOUBLED]
    doubled = doubled[-max(1, most // 3) :]  # of a few, the last return
    found = [m for m in everything if m.kind != DOUBLED]
    if most <= 2 and len(found) == 1:  # no more runs than changes of its own: one of the two, the same wherever it moves
        return doubled if doubled and crc32(found[0].before.encode()) % 2 else found
    most = max(1, most - len(doubled))
    kinds: dict[str, list[Mutant]] = {}
    for m in found:
        kinds.setdefault(m.kind, []).append(m)
    picked: list[Mutant] = []
    share = max(1, most // max(1, len(kinds)))
    for each in kinds.values():
        step = max(1, len(each) // share)
        picked += each[step // 2 :: step][:share]
    rest = [m for m in found if not any(m is p for p in picked)]
    step = max(1, len(rest) // max(1, most - len(picked))) if len(picked) < most else 1
    picked += rest[step // 2 :: step][: max(0, most - len(picked))]
    return sorted(picked[:most] + doubled, key=lambda m: m.line)


def prepare(files: Iterable[str]) -> None:
    """Import everything once: the children find it there. Nothing that they compile is kept."""
    os.environ["FALLINGCAT_CACHE"] = tempfile.mkdtemp(prefix="mutants-")
    os.environ["FALLINGCAT_MUTANTS"] = "1"
    os.chdir(ROOT)
    with redirect_stdout(io.StringIO()):
        status = pytest.main([*OPTIONS, "--collect-only", *(f"tests/{file}" for file in sorted(set(files)))])
    assert status == 0, "the tests of the map cannot be collected"


def seen(mutant: Mutant | None, tests: Iterable[str]) -> bool:
    """Does one of the tests fail with this change? Without one: do they fail as they are?"""
    child = os.fork()
    if child == 0:
        status = 2
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                if mutant is not None:
                    put_in_place(mutant)
                status = int(pytest.main([*OPTIONS, *(f"tests/{test}" for test in tests)]))
        except BaseException:
            status = 3
        finally:
            os._exit(status)
    until = time.monotonic() + (LIMIT if mutant is not None else 20 * LIMIT)  # a slow machine is no failure
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            assert code in (0, 1) or code < 0, f"the tests of {mutant} could not be run (status {code}): {list(tests)}"
            return code != 0
        time.sleep(0.02)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return True


def check(number: str, most: int, report: Callable[[str], None] = lambda line: None, only: str = "") -> Found:
    """All rows of a paper."""
    rows = [row for paper in equation_map().papers() if paper.number == number for row in paper.rows if row.source]
    rows = [row for row in rows if only in str(row.written)]
    prepare(test.partition("::")[0] for row in rows for test in row.test)
    found, start, known, passing = Found(), time.monotonic(), dict[Any, bool](), set[str]()
    for row in rows:
        new = [test for test in row.test if test not in passing]
        assert not (new and seen(None, new)), f"{row.written}: fails as it is"
        passing.update(new)
        some = 0
        for source in row.source:
            for mutant in chosen(source, most):
                some += 1
                if f"{mutant.before}  ->  {mutant.after}" in row.equivalent:
                    continue
                key = (str(mutant), row.test)
                if key not in known:
                    known[key] = seen(mutant, row.test)
                    found.tried.append(mutant)
                    report(f"{'seen    ' if known[key] else 'SURVIVES'} {number} {', '.join(row.written)}: {mutant}")
                if not known[key]:
                    found.survivors.append(f"{', '.join(row.written)}: {mutant}")
        if not some:
            found.without.append(", ".join(row.written))
    found.seconds = time.monotonic() - start
    return found


if __name__ == "__main__":
    sys.exit("python -m tests.mutants")
