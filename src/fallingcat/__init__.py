"""Falling Cat: geometric dynamics of robots with nothing to hold on to.

>>> import fallingcat as fc
>>> robot = fc.load("cat")
>>> M = robot.mass_matrix(robot.neutral())
"""

from fallingcat import interrupts as _interrupts  # first, while nothing slow is imported  # isort: skip
from fallingcat import converters as converters
from fallingcat.codegen.threads import set_threads as set_threads
from fallingcat.control.ilqr import ilqr as ilqr
from fallingcat.control.inverse_kinematics import inverse_kinematics as inverse_kinematics
from fallingcat.control.observer import LockedVelocityObserver as LockedVelocityObserver
from fallingcat.control.pose_tracking import track_pose as track_pose
from fallingcat.control.riccati import dlqr as dlqr
from fallingcat.control.riccati import lqr as lqr
from fallingcat.deploy import Export as Export
from fallingcat.deploy import export as export
from fallingcat.errors import FallingCatError as FallingCatError
from fallingcat.errors import FrameError as FrameError
from fallingcat.errors import InputError as InputError
from fallingcat.errors import ModelError as ModelError
from fallingcat.errors import SingularError as SingularError
from fallingcat.errors import SingularWarning as SingularWarning
from fallingcat.errors import TraceError as TraceError
from fallingcat.frameworks.casadi_door import casadi as casadi
from fallingcat.frameworks.jax_door import jax as jax
from fallingcat.frameworks.torch_door import torch as torch
from fallingcat.model.builder import Builder as Builder
from fallingcat.model.constraints import Constraint as Constraint
from fallingcat.model.constraints import coupling as coupling
from fallingcat.model.constraints import distance as distance
from fallingcat.model.constraints import hinge as hinge
from fallingcat.model.constraints import joint as joint
from fallingcat.model.constraints import point as point
from fallingcat.model.constraints import point_to_point as point_to_point
from fallingcat.model.constraints import rolling as rolling
from fallingcat.model.constraints import rows as rows
from fallingcat.model.constraints import slider as slider
from fallingcat.model.constraints import surface as surface
from fallingcat.model.constraints import weld as weld
from fallingcat.model.description import Description as Description
from fallingcat.model.doctor import diagnose as diagnose
from fallingcat.model.findings import Finding as Finding
from fallingcat.model.sources import bundled_robots as robots
from fallingcat.motion import Trajectory as Trajectory
from fallingcat.robot.constraints import Constraints as Constraints
from fallingcat.robot.coordinates import change_coordinates as change_coordinates
from fallingcat.robot.coordinates import change_symbols as change_symbols
from fallingcat.robot.inputs import thruster as thruster
from fallingcat.robot.inputs import wrench_input as wrench_input
from fallingcat.robot.robot import Robot as Robot
from fallingcat.robot.robot import load as load
from fallingcat.robot.user_functions import compile as compile
from fallingcat.robot.wrenches import Wrenches as Wrenches

__version__ = "0.1.0"
del _interrupts
__all__ = [
    "Builder", "Constraint", "Constraints", "Description", "Export", "FallingCatError", "Finding", "FrameError", "InputError",
    "LockedVelocityObserver", "ModelError", "Robot", "SingularError", "SingularWarning", "TraceError", "Trajectory",
    "Wrenches", "casadi", "change_coordinates", "change_symbols", "compile", "converters", "coupling", "diagnose", "distance",
    "dlqr", "export", "hinge", "ilqr", "inverse_kinematics", "jax", "joint", "load", "lqr", "point", "point_to_point", "robots",
    "rolling", "rows", "set_threads", "slider", "surface", "thruster", "torch", "track_pose", "weld", "wrench_input",
]  # fmt: skip
