"""`fallingcat map ROBOT FUNCTION... --in STATES --out RESULTS`: functions of a robot at more states than memory holds."""

from __future__ import annotations

import argparse

from fallingcat.cli.jobs import add_engine, finish, interruptible, settings, show
from fallingcat.cli.options import add_robot, load_robot
from fallingcat.scale import run


def add(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument(
        "functions", metavar="FUNCTION", nargs="+",
        help="as in inverse_dynamics, frame_pose:frame=hand, mass_matrix:representation=mixed, step:dt=0.01,method=rk4",
    )  # fmt: skip
    parser.add_argument(
        "--in", dest="states", metavar="STATES", required=True,
        help="where q, nu, dnu, tau, ... are: .zarr, .parquet, .npz, .npy (q, nu, ... side by side), .h5 or .csv",
    )  # fmt: skip
    parser.add_argument("--out", metavar="RESULTS", required=True, help="where to: a folder that ends in .zarr or .parquet")
    add_engine(parser)
    parser.epilog = "Exit status: 0 all is done, 1 something is missing (--resume computes it), 2 something does not fit."
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    robot = load_robot(arguments)
    with interruptible(arguments):
        summary = run.apply(robot, arguments.functions, arguments.states, settings(arguments), show(arguments))
    return finish(arguments, summary)
