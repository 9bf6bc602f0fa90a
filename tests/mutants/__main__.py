"""python -m tests.mutants: change the sources behind the equation map and see whether their tests fail.

python -m tests.mutants                        all papers, a few changes for every function
python -m tests.mutants 003 --most 1000        every change that is known, for one paper
python -m tests.mutants 001 --only "(12)"      the rows about one equation
"""

from __future__ import annotations

import argparse
import json
import os
import sys

from .run import check, equation_map


def main() -> int:
    numbers = [paper.number for paper in equation_map().papers()]
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"{', '.join(numbers)}; all unless said otherwise")
    parser.add_argument("--most", type=int, default=3, help="changes for every function (3)")
    parser.add_argument("--only", default="", help="rows whose items contain this text")
    parser.add_argument("--json", action="store_true", help="counts and survivors as JSON on the standard output")
    options = parser.parse_args()
    total, survivors, without, seconds = 0, [], [], 0.0
    for number in options.papers or numbers:
        found = check(number, options.most, lambda line: print(line, file=sys.stderr, flush=True), options.only)
        total += len(found.tried)
        survivors += [f"{number} {line}" for line in found.survivors]
        without += [f"{number} {line}" for line in found.without]
        seconds += found.seconds
    counts = {"mutants": total, "survivors": survivors, "without": without, "seconds": round(seconds, 1)}
    lines = [*survivors, *without, f"{total} mutants, {len(survivors)} survive, {seconds:.0f} s"]
    print(json.dumps(counts, ensure_ascii=False, indent=1) if options.json else "\n".join(lines))
    return 1 if survivors or without else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
