"""python -m bench [--json FILE] [--robots panda,hyq,...] [--functions inverse_dynamics,...]

Every function against Pinocchio from Python, on panda, hyq and talos_reduced of `example-robot-data`: microseconds,
ratios, operation counts, cold and warm starts, and what the core can do at most. A table on the terminal, JSON to a file.
Both sides have the same degrees of freedom: panda's second finger, which mimics the first, is free here.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from bench import limits
from bench.robots import ROBOTS, free_robot_file
from fallingcat.apps import bench as benchmark
from fallingcat.cli.bench import collect, start_table, table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", default="bench/latest.json", help="where to write the numbers (default: %(default)s)")
    parser.add_argument("--robots", default=",".join(ROBOTS), help="which robots (default: %(default)s)")
    parser.add_argument("--functions", default="", help="which functions (default: all)")
    arguments = parser.parse_args()
    console = Console()
    report = benchmark.Report(versions=benchmark.versions(), limits=limits.measure())
    functions = [f for f in arguments.functions.split(",") if f] or None
    with TemporaryDirectory() as folder:
        for name in arguments.robots.split(","):
            rows = collect(report, free_robot_file(name, folder), ROBOTS[name].floating, name, functions)
            console.print(table(rows, f"{name}: {report.versions['cpu']}, Pinocchio {report.versions['pin']}"))
    console.print(start_table(report.starts))
    console.print(", ".join(f"{name} {value:.1f}" for name, value in report.limits.items()) + " (Gop/s, GB/s)")
    Path(arguments.json).write_text(report.json())
    console.print(f"written to {arguments.json}")


if __name__ == "__main__":
    main()
