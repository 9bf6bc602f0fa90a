"""python -m tests.attack: attacks for as long as one likes, and their counts as JSON on the standard output.

python -m tests.attack                      what CI does
python -m tests.attack --scale 33           a million calls, a hundred thousand files
python -m tests.attack --hours 8            round after round with new seeds, until the time is over
python -m tests.attack --only calls --seed 1 --first 4711 --cases 1     one case again
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from importlib.metadata import version

from .problem import KINDS
from .run import PLANS, Totals, again, run


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="times the cases that CI runs")
    parser.add_argument("--hours", type=float, help="go on with new seeds until so much time is over")
    parser.add_argument("--only", action="append", choices=list(PLANS), help="only this attack; may be given again")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--cases", type=int, help="number of cases, instead of the scale")
    return parser.parse_args()


def _add(totals: Totals, more: Totals) -> None:
    totals.counts.update(more.counts)
    totals.found.update(more.found)
    totals.problems += more.problems
    totals.cases += more.cases
    totals.seconds += more.seconds
    totals.growth = max(totals.growth, more.growth)


def main() -> int:
    options = _options()
    deadline = None if options.hours is None else time.monotonic() + 3600.0 * options.hours
    sums = {name: Totals(name) for name in options.only or PLANS}
    seed = options.seed
    while True:
        for name in sums:
            plan = PLANS[name]
            cases = options.cases or max(1, round(plan.cases * options.scale))
            found = run(plan, cases, seed, options.first, deadline)
            _add(sums[name], found)
            for problem in found.problems:
                print(f"{problem['kind']}: {problem['text']}\n    {again(plan, seed, problem)}", file=sys.stderr, flush=True)
            print(f"{name}, seed {seed}: {found.cases} cases in {found.seconds:.0f} s", file=sys.stderr, flush=True)
        if deadline is None or time.monotonic() >= deadline:
            break
        seed += 1
    report = {
        "python": platform.python_version(), "machine": platform.machine(), "system": platform.system(),
        "numpy": version("numpy"), "llvmlite": version("llvmlite"), "first seed": options.seed,
        "problems": {kind: sum(t.found[kind] for t in sums.values()) for kind in KINDS},
        "attacks": {name: totals.as_json() for name, totals in sums.items()},
    }  # fmt: skip
    print(json.dumps(report, indent=2))
    return int(any(totals.problems for totals in sums.values()))


if __name__ == "__main__":
    sys.exit(main())
