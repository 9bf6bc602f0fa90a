"""`fallingcat bench ROBOT`: how fast every function of a robot is, beside Pinocchio where it is installed."""

from __future__ import annotations

import argparse
import os
from importlib import resources

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fallingcat.apps import bench as benchmark
from fallingcat.apps.console import progress, stdout_console
from fallingcat.errors import InputError
from fallingcat.functions import FUNCTIONS
from fallingcat.model.assemble import Floating
from fallingcat.model.sources import bundled_robots
from fallingcat.robot.robot import load
from fallingcat.suggest import closest
from fallingcat.text import printable


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", help="a URDF file, or the name of a bundled robot")
    parser.add_argument("--fixed", action="store_true", help="weld the base to the world")
    parser.add_argument("--functions", default="", help="comma-separated names (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    functions = [name.strip() for name in arguments.functions.split(",") if name.strip()]
    for name in functions:
        if name not in FUNCTIONS:
            raise InputError(f"no function {name!r}", hint=closest(name, FUNCTIONS))
    floating: Floating = False if arguments.fixed else "auto"
    return bench(arguments.robot, floating=floating, functions=functions or None, as_json=arguments.json)


def table(rows: list[benchmark.Row], title: str) -> Table:
    """The rows as a table: microseconds, and ratios where there is a peer."""
    t = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    beside = any(row.peer is not None for row in rows)
    columns = ["flops", "one", "batch", *(["Pinocchio", "one", "batch"] if beside else [])]
    t.add_column("µs", overflow="fold")
    for column in columns:
        t.add_column(column, justify="right", no_wrap=True, min_width=len(column))
    for row in rows:
        peer = ["" if row.peer is None else f"{row.peer:.2f}", _times(row.one_ratio), _times(row.batch_ratio)]
        cells = [f"{row.operations:,}", f"{row.one:.2f}", f"{row.batch:.3f}", *(peer if beside else [])]
        t.add_row(row.function, *cells)
    return t


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1f}x"


def start_table(starts: list[dict[str, object]]) -> Table:
    t = Table(title="from the start of a fresh process to the first result", title_justify="left", header_style="bold")
    for column in ("robot", "function", "empty cache", "full cache"):
        t.add_column(column, justify="left" if column in ("robot", "function") else "right")
    for s in starts:
        t.add_row(escape(printable(str(s["robot"]))), str(s["function"]), f"{s['cold']:.2f} s", f"{s['warm']:.2f} s")
    return t


def collect(
    report: benchmark.Report,
    source: str,
    floating: Floating,
    label: str,
    functions: list[str] | None = None,
    path: str | None = None,
) -> list[benchmark.Row]:
    """Measure one robot with a progress bar, adding to the report."""
    robot = load(source, floating=floating)
    floating, file = robot.floating, path or source
    following = [body.joint_name for body in robot.model.bodies if body.mimics]
    readable = os.path.exists(file) and file.endswith(".urdf")
    peer = benchmark.pinocchio_model(file, floating, following) if readable else None
    rows: list[benchmark.Row] = []
    names = benchmark.measurable(robot, functions)
    with progress(len(names) + 1) as step:
        for name in names:
            step(f"{printable(label)}: {name}")
            rows += benchmark.measure(robot, peer, [name], label)
        step(f"{printable(label)}: cold and warm start")
        report.starts.append(benchmark.start_times(source, floating, label=label))
    report.rows += rows
    return rows


def bench(source: str, *, floating: Floating = "auto", functions: list[str] | None = None, as_json: bool = False) -> int:
    """Run the bench for one robot and print it."""
    console = Console(stderr=True) if as_json else stdout_console()
    report = benchmark.Report(versions=benchmark.versions())
    path = source
    if source in bundled_robots():
        path = str(resources.files("fallingcat") / "model" / "robots" / f"{source}.urdf")
    rows = collect(report, source, floating, source, functions, path)
    if as_json:
        print(report.json())
        return 0
    console.print(table(rows, f"{escape(printable(os.path.basename(source)))}: {report.versions['cpu']}"))
    console.print(start_table(report.starts))
    if all(row.peer is None for row in rows):
        console.print("Pinocchio is not installed or cannot read this robot: pip install pin")
    return 0
