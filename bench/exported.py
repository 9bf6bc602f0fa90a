"""python -m bench.exported [ROBOT...]

Exported C, built by `gcc -O2 -march=native`, beside one call of the library from Python and beside its code for other
processors, compiled by LLVM for this one: microseconds, the best of many, and the seconds that gcc takes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fallingcat as fc
from fallingcat.deploy.chosen import Chosen, choose
from fallingcat.deploy.project import stem
from fallingcat.deploy.rate import seconds_per_call
from fallingcat.deploy.vectors import STATES, vectors

NAMES = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
    "linearize", "christoffel_symbols",
)  # fmt: skip
FLAGS = ("-std=gnu99", "-O2", "-march=native", "-ffp-contract=off")


def main() -> None:
    for name in sys.argv[1:] or ["quadruped", "humanoid"]:
        robot = fc.load(name)
        print(f"{name:<32}{'C':>10}{'LLVM':>10}{'Python':>10}   us a call      gcc, s")
        for chosen in choose(robot, NAMES):
            c, built = from_c(robot, chosen)
            llvm, python = seconds_per_call(robot, chosen, "double"), from_python(robot, chosen)
            print(f"{chosen.name:<32}{c * 1e6:>10.2f}{llvm * 1e6:>10.2f}{python * 1e6:>10.2f}{built:>25.1f}")


def from_c(robot: fc.Robot, chosen: Chosen) -> tuple[float, float]:
    """Seconds of a call, and of the compiler."""
    with tempfile.TemporaryDirectory() as folder:
        name, here = stem(robot.name), Path(folder)
        fc.export(robot, [chosen], folder)
        started = time.perf_counter()
        subprocess.run(["gcc", *FLAGS, "-c", f"{name}.c", "-o", f"{name}.o"], cwd=here, check=True)
        built = time.perf_counter() - started
        (here / "time.c").write_text(timer((here / "check.c").read_text(), chosen.name))
        subprocess.run(["gcc", "-std=gnu99", "-O1", "time.c", f"{name}.o", "-lm", "-o", "time"], cwd=here, check=True)
        return float(subprocess.run([here / "time"], capture_output=True, check=True).stdout), built


def timer(check: str, name: str) -> str:
    """The program that checks, with a measurement in place of its comparisons."""
    head, loop = check.split(f"  for (int k = 0; k < {STATES}; k++) ", 1)
    call = loop[: loop.index(";") + 1].replace("[k]", "[0]")
    start = head.rindex(f"static int fc_check_{name}(void)")
    return (
        '#include <time.h>\n#include <stdio.h>\n#include "' + check.split('#include "')[1].split('"')[0] + '"\n'
        + head[start:].replace(f"static int fc_check_{name}(void)", "int main(void)")
        + "  double best = 1e9;\n  for (int n = 0; n < 200; n++) {\n    struct timespec a, b;\n"
        + f"    clock_gettime(CLOCK_MONOTONIC, &a);\n    for (int i = 0; i < 100; i++) {call}\n"
        + "    clock_gettime(CLOCK_MONOTONIC, &b);\n"
        + "    const double s = ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec)) / 100;\n"
        + '    if (s < best) best = s;\n  }\n  printf("%.9g\\n", best);\n  return 0;\n}\n'
    )  # fmt: skip


def from_python(robot: fc.Robot, chosen: Chosen) -> float:
    entry, values = chosen.kernel.entry, [x[0] for x in vectors(robot, chosen, "double")[0]]
    best = 1.0
    for _ in range(200):
        started = time.perf_counter()
        for _ in range(50):
            entry(*values)
        best = min(best, (time.perf_counter() - started) / 50)
    return best


if __name__ == "__main__":
    main()
