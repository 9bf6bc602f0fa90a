"""Falling Cat: geometric dynamics of robots with nothing to hold on to.

>>> import fallingcat as fc
>>> robot = fc.load("cat")
>>> M = robot.mass_matrix(robot.neutral())
"""

from fallingcat import interrupts as _interrupts  # first, while nothing slow is imported  # isort: skip
from fallingcat import converters as converters
from fallingcat.codegen.threads import set_threads as set_threads
from fallingcat.errors import FallingCatError as FallingCatError
from fallingcat.errors import FrameError as FrameError
from fallingcat.errors import InputError as InputError
from fallingcat.errors import ModelError as ModelError
from fallingcat.errors import SingularError as SingularError
from fallingcat.errors import TraceError as TraceError
from fallingcat.model.builder import Builder as Builder
from fallingcat.model.description import Description as Description
from fallingcat.model.doctor import diagnose as diagnose
from fallingcat.model.findings import Finding as Finding
from fallingcat.model.sources import bundled_robots as robots
from fallingcat.motion import Trajectory as Trajectory
from fallingcat.robot.coordinates import change_coordinates as change_coordinates
from fallingcat.robot.inputs import thruster as thruster
from fallingcat.robot.inputs import wrench_input as wrench_input
from fallingcat.robot.own import compile as compile
from fallingcat.robot.robot import Robot as Robot
from fallingcat.robot.robot import load as load
from fallingcat.robot.wrenches import Wrenches as Wrenches

__version__ = "0.1.0"
del _interrupts
__all__ = [
    "Builder", "Description", "FallingCatError", "Finding", "FrameError", "InputError", "ModelError", "Robot",
    "SingularError", "TraceError", "Trajectory", "Wrenches", "change_coordinates", "compile", "converters", "diagnose",
    "load", "robots", "set_threads", "thruster", "wrench_input",
]  # fmt: skip
