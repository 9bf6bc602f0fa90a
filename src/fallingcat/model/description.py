"""What a description file says about a robot, before anyone has thought about dynamics.

A `Description` is frozen, hashable and independent of the file format; `urdf.py` and the
`Builder` make them, `doctor.py` judges them, `model.py` turns them into a `Model`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Vector = tuple[float, float, float]
Rotation = tuple[Vector, Vector, Vector]

JointType = Literal[
    "fixed", "revolute", "continuous", "prismatic", "helical", "cylindrical", "planar", "universal", "spherical", "floating"
]
JOINT_TYPES: tuple[JointType, ...] = (
    "fixed", "revolute", "continuous", "prismatic", "helical", "cylindrical", "planar", "universal", "spherical", "floating",
)  # fmt: skip

IDENTITY: Rotation = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
INFINITY = float("inf")


@dataclass(frozen=True)
class Pose:
    """The pose of a frame in its parent: a point x in the frame is at `rotation x + position`."""

    rotation: Rotation = IDENTITY
    """Columns are the axes of the frame in the parent."""
    position: Vector = (0.0, 0.0, 0.0)
    """Origin of the frame in the parent, metres."""


@dataclass(frozen=True)
class Inertial:
    """Mass and inertia of a link."""

    mass: float
    """Kilograms."""
    pose: Pose
    """The inertial frame in the link: its origin is the centre of mass."""
    inertia: tuple[float, float, float, float, float, float]
    """ixx, ixy, ixz, iyy, iyz, izz about the centre of mass, in the inertial frame, kg m^2."""
    line: int = 0


@dataclass(frozen=True)
class Visual:
    """A primitive shape, for pictures."""

    shape: Literal["box", "cylinder", "sphere", "mesh"]
    size: tuple[float, ...]
    """box: x y z edges; cylinder: radius, length (along z); sphere: radius; mesh: empty."""
    pose: Pose = Pose()
    rgba: tuple[float, float, float, float] = (0.6, 0.6, 0.65, 1.0)


@dataclass(frozen=True)
class Link:
    """A rigid piece."""

    name: str
    inertial: Inertial | None = None
    visuals: tuple[Visual, ...] = ()
    line: int = 0


@dataclass(frozen=True)
class Limits:
    """Bounds of a joint's coordinates; infinite when the description gives none."""

    lower: float = -INFINITY
    upper: float = INFINITY
    velocity: float = INFINITY
    effort: float = INFINITY


@dataclass(frozen=True)
class Mimic:
    """The joint follows another one: position = multiplier * position of `joint` + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """A connection between two links. The child link's frame is the joint's frame."""

    name: str
    type: JointType
    parent: str
    child: str
    pose: Pose = Pose()
    """The joint's frame in the parent link, at position zero."""
    axis: Vector = (1.0, 0.0, 0.0)
    """In the joint's frame, not necessarily of unit length; the plane's normal for a planar joint."""
    axis2: Vector = (0.0, 1.0, 0.0)
    """The second axis of a universal joint, carried along by the first."""
    pitch: float = 0.0
    """Metres per radian of a helical joint."""
    limits: Limits = Limits()
    damping: float = 0.0
    """Viscous, N m s/rad or N s/m."""
    friction: float = 0.0
    """Coulomb, N m or N."""
    armature: float = 0.0
    """Reflected rotor inertia, kg m^2 or kg."""
    mimic: Mimic | None = None
    line: int = 0


@dataclass(frozen=True)
class Description:
    """A robot as its description file has it: links and joints in file order."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    file: str = "<description>"
    """Where it came from, for messages."""
