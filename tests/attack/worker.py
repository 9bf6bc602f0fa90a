"""A process that runs some cases of one attack: python -m attack.worker ATTACK SEED FIRST COUNT PROGRESS

The number of the case at hand stands in the file PROGRESS, for the case that the process does not survive. The last line
printed is JSON: the counts, the problems, and how much the memory of the process grew in its second half.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import json
import mmap
import random
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from fallingcat.arrays.memory import RESULTS

from .problem import ProblemError, words

TIME_LIMIT = 300.0
"""Seconds for a case, unless the attack says otherwise; longer is a hang, which ends the process with the stacks of threads."""


def resident() -> int:
    """Bytes of memory of this process, without garbage and what is kept for results; 0 where the system does not say."""
    gc.collect()
    RESULTS.give_back()
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * mmap.PAGESIZE


class Log:
    """Problems: all are counted, and the first few of each sort kept."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self.problems: list[dict[str, Any]] = []
        self._sorts: Counter[str] = Counter()

    def add(self, case: int, kind: str, text: str) -> None:
        sort = kind + text[:40]
        self.found[kind] += 1
        self._sorts[sort] += 1
        if self._sorts[sort] <= 3 and len(self.problems) < 100:
            self.problems.append({"case": case, "kind": kind, "text": text})


def work(name: str, seed: int, first: int, count: int, progress: memoryview) -> dict[str, Any]:
    """Cases first..first+count-1 of an attack."""
    attack = importlib.import_module(f".{name}", __package__)
    counts: Counter[str] = Counter()
    log = Log()
    state = attack.setup(counts)
    every = int(getattr(attack, "CASES_PER_WATCH", 1))
    limit = float(getattr(attack, "TIME_LIMIT", TIME_LIMIT))
    warm = first + count // 2
    start = None
    for index in range(first, first + count):
        if (index - first) % every == 0:
            faulthandler.dump_traceback_later(limit, exit=True)
        if index == warm:
            start = resident()
        progress[:8] = index.to_bytes(8, "little")
        try:
            attack.case(state, index, random.Random(f"{name} {seed} {index}"), counts)
        except ProblemError as problem:
            log.add(index, problem.kind, problem.text)
        except Exception as error:
            log.add(index, "undocumented exceptions", words(error))
    faulthandler.cancel_dump_traceback_later()
    try:
        getattr(attack, "finish", lambda _: None)(state)
    except ProblemError as problem:
        log.add(first + count - 1, problem.kind, problem.text)
    growth = 0 if start is None else max(0, resident() - start)
    return {"counts": counts, "found": log.found, "problems": log.problems, "growth": growth}


def main() -> None:
    """Run, and print what came out."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    name, seed, first, count, path = sys.argv[1:]
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 8) as memory:
        report = work(name, int(seed), int(first), int(count), memory)  # type: ignore[arg-type]
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
