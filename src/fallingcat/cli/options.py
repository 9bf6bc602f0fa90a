"""Options that several commands share: which robot, and in which state."""

from __future__ import annotations

import argparse

from fallingcat.model.assemble import Floating
from fallingcat.robot.robot import Robot, load


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Declare which robot it is and how it is loaded; `load_robot` reads this."""
    robots = "a URDF, xacro, MJCF or SDF file, or the name of a bundled robot (see 'fallingcat robots')"
    parser.add_argument("robot", metavar="ROBOT", help=robots)
    parser.add_argument("--fixed", action="store_true", help="weld the base to the world")
    parser.add_argument("--base", metavar="LINK", help="the link that is the base; the file's root otherwise")
    parser.add_argument("--joint-dynamics", action="store_true", help="add the joints' damping, friction and armature")
    where = "a folder in which packages and meshes are looked for; may be given several times"
    parser.add_argument("--package-dir", action="append", default=[], metavar="DIR", help=where)


def add_state(parser: argparse.ArgumentParser) -> None:
    """Declare the state to look at; `report.states.read_state` reads it."""
    parser.add_argument(
        "--state", metavar="STATE", default="neutral",
        help="neutral (default), random, or a .npz or .json file that holds q and, unless at rest, nu",
    )  # fmt: skip


def load_robot(arguments: argparse.Namespace) -> Robot:
    """The robot that the options of `add_robot` ask for."""
    floating: Floating = False if arguments.fixed else "auto"
    options = {"base": arguments.base, "joint_dynamics": arguments.joint_dynamics, "package_dirs": arguments.package_dir}
    return load(arguments.robot, floating=floating, **options)
