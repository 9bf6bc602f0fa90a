"""`fallingcat sample ROBOT -n N --out STATES`: random states of a robot, as many as a disk holds."""

from __future__ import annotations

import argparse

from fallingcat.cli.jobs import add_engine, finish, interruptible, settings, show
from fallingcat.cli.options import add_robot, load_robot
from fallingcat.errors import InputError
from fallingcat.scale import run
from fallingcat.scale.sampling import NAMES


def add(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument("-n", "--number", metavar="N", required=True, help="how many states, as in 1000 or 1e7")
    parser.add_argument("--out", metavar="STATES", required=True, help="where to: a folder that ends in .zarr or .parquet")
    parser.add_argument("--seed", metavar="K", default="0", help="the same seed, the same states (default: 0)")
    parser.add_argument("--only", metavar="NAMES", default=",".join(NAMES), help="some of q,nu,dnu,tau (default: all)")
    add_engine(parser)
    parser.epilog = "Numbers do not depend on the number of workers, nor on the size of chunks."
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    count, seed = whole_number("-n", arguments.number), whole_number("--seed", arguments.seed)
    names = [name.strip() for name in arguments.only.split(",") if name.strip()]
    robot = load_robot(arguments)
    with interruptible(arguments):
        summary = run.sample(robot, count, seed, names, settings(arguments), show(arguments))
    return finish(arguments, summary)


def whole_number(option: str, text: str) -> int:
    """A number such as 1000, 1_000 or 1e7."""
    try:
        value = float(text.replace("_", ""))
        if value >= 0 and value == int(value):
            return int(value) if "e" in text.lower() or "." in text else int(text)
    except (ValueError, OverflowError):
        pass
    raise InputError(f"{option} does not fit", expected="a whole number, as in 1000 or 1e7", got=repr(text))
