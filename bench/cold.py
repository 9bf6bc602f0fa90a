"""Where the time of a first call goes: `python -m bench.cold [function ...] [--robots chain40 star20 talos_reduced]`.

Per robot and function, for the code of one state: processor seconds of tracing, of scheduling, of writing LLVM text, and of LLVM.
Nothing is read from the cache and nothing is kept.
"""

from __future__ import annotations

import argparse
import re
from itertools import pairwise
from time import process_time

import fallingcat as fc
from bench.robots import ROBOTS, robot_file
from fallingcat.arrays.arguments import QUATERNION_TOLERANCE
from fallingcat.codegen import native
from fallingcat.codegen.call import call_text
from fallingcat.codegen.schedule import schedule
from fallingcat.codegen.single import single_text
from fallingcat.functions import task
from fallingcat.trace.program import trace

FUNCTIONS = ("mass_matrix", "inverse_mass_matrix", "inverse_dynamics_derivatives", "forward_dynamics_derivatives")
AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.0, 0.8))


def tree(name: str, parents: list[int], floating: bool) -> fc.Robot:
    """A robot with one revolute joint per entry of `parents`; link 0 is the base."""
    b = fc.Builder(name)
    for k in range(len(parents) + 1):
        b.link(f"link{k}", mass=1.0 + 0.01 * k, com=(0.1, 0.02, -0.03), inertia=(0.02, 0.001, 0.002, 0.03, 0.001, 0.025))
    for k, parent in enumerate(parents):
        b.joint(f"joint{k}", "revolute", f"link{parent}", f"link{k + 1}", AXES[k % 4], xyz=(0.2, 0.01, 0.03), rpy=(0.1, 0.2, 0.0))
    return fc.load(b, floating=floating)


def robot(name: str) -> fc.Robot:
    """chain40 (fixed), floating_chain40, star20 (floating, legs of three joints), or a robot of the bench."""
    if name in ROBOTS:
        return fc.load(robot_file(name), floating=ROBOTS[name].floating)
    found = re.fullmatch(r"(floating_chain|chain|star)(\d+)", name)
    if found is None:
        raise SystemExit(f"no robot {name!r}: chain40, floating_chain40, star20 or one of {', '.join(ROBOTS)}")
    kind, count = found[1], int(found[2])
    if kind == "star":
        return tree(name, [0 if k % 3 == 0 else k for k in range(3 * count)], floating=True)
    return tree(name, list(range(count)), floating=kind != "chain")


def measure(r: fc.Robot, function: str) -> None:
    """One line of the table."""
    job = task(r.model, function)
    times = [process_time()]
    program = trace(job)
    times.append(process_time())
    plan = schedule(program, keep_results=False)
    times.append(process_time())
    text = single_text(program, plan, native.host_lanes())
    text += call_text(job, plan.slot_count, QUATERNION_TOLERANCE)
    times.append(process_time())
    code = native.compile_object(native.compiled_quickly(text))
    times.append(process_time())
    parts = "".join(f"{b - a:9.2f}" for a, b in pairwise(times))
    size = f"{program.operations:10} {len(program.instructions):10} {len(text) / 1e6:7.1f} {len(code) / 1e6:7.1f}"
    print(f"{r.name:18} {function:30} {size} {parts} {times[-1] - times[0]:9.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("functions", nargs="*", default=[], help=f"usually {' '.join(FUNCTIONS)}")
    parser.add_argument("--robots", nargs="+", default=["chain20", "chain40", "chain80", "star20", "talos_reduced"])
    options = parser.parse_args()
    columns = "operations  instrs.  text MB code MB     trace schedule    text     LLVM      all"
    print(f"{'robot':18} {'function':30} {columns}")
    for name in options.robots:
        r = robot(name)
        for function in options.functions or FUNCTIONS:
            measure(r, function)


if __name__ == "__main__":
    main()
