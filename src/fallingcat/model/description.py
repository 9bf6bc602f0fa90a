"""The contents of a description file, before anything is derived for the dynamics.

A `Description` is frozen, hashable and independent of the file format; the readers (`urdf.py`, ...) and the
`Builder` make it, `doctor.py` checks it, `assemble.py` turns it into a `Model`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

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


ShapeKind = Literal["box", "cylinder", "sphere", "capsule", "ellipsoid", "mesh"]
Rgba = tuple[float, float, float, float]
GREY: Rgba = (0.6, 0.6, 0.65, 1.0)
"""The colour of shapes whose description gives none; a mesh then has the colours of its own file."""


@dataclass(frozen=True)
class Visual:
    """A shape of a link, for display or, among the link's collisions, for contacts."""

    shape: ShapeKind
    size: tuple[float, ...] = ()
    """box: x y z edges; cylinder, capsule: radius, length (along z, without the caps); sphere: radius; ellipsoid: three radii;
    mesh: empty."""
    pose: Pose = Pose()
    """The shape's frame in the link."""
    rgba: Rgba = GREY
    file: str = ""
    """mesh: the file as the description names it; `meshes.shapes` says where it is."""
    scale: Vector = (1.0, 1.0, 1.0)
    """mesh: factors of its coordinates, which then are metres."""
    line: int = 0


@dataclass(frozen=True)
class Link:
    """A rigid link."""

    name: str
    inertial: Inertial | None = None
    visuals: tuple[Visual, ...] = ()
    line: int = 0
    collisions: tuple[Visual, ...] = ()


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
class Frame:
    """A named place on a link, such as a site of MJCF or a <frame> of SDF."""

    name: str
    link: str
    pose: Pose = Pose()
    """The frame in the link."""
    line: int = 0


@dataclass(frozen=True)
class Actuator:
    """One input that a file names: its force u acts on joints through gears, or on a frame as a wrench."""

    name: str
    joints: tuple[tuple[str, tuple[float, ...]], ...] = ()
    """Joints with the generalized force on each of their degrees of freedom for u = 1."""
    frame: str = ""
    """The frame on which it acts, if any."""
    wrench: tuple[float, ...] = ()
    """Force and moment on the frame for u = 1, in its coordinates."""
    line: int = 0


@dataclass(frozen=True)
class Equality:
    """A constraint that a file names. It is kept, and no part of the robot's dynamics unless it is asked for."""

    kind: Literal["connect", "weld", "hinge", "joint"]
    """connect: the origins of two frames coincide; weld: the frames do; hinge: all but a turn about an axis; joint: two
    joints move together."""
    name: str
    frames: tuple[Frame, Frame] | None = None
    """connect, weld, hinge: the places on two links, each with the link's name; they are frames of the robot, too."""
    axis: Vector = (0.0, 0.0, 1.0)
    """hinge: in the coordinates of both frames."""
    joints: tuple[str, str] | None = None
    """joint: the one that follows, and its leader, which is empty when the joint is held."""
    polynomial: tuple[float, ...] = ()
    """joint: position of the first = a0 + a1 x + a2 x^2 + ... with x the position of the second."""
    active: bool = True
    line: int = 0


@dataclass(frozen=True)
class Description:
    """A robot as its description file has it: links and joints in file order."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    file: str = "<description>"
    """Where it came from, for messages."""
    folder: str = ""
    """The folder of the file, to which paths of meshes are relative; empty for text and builders."""
    package_dirs: tuple[str, ...] = ()
    """Folders in which packages and meshes are looked for first."""
    frames: tuple[Frame, ...] = ()
    """Named frames that are not links."""
    gravity: Vector | None = None
    """The gravity that the file gives, m/s^2, else None."""
    world: bool = False
    """Is the root link the world itself? Then it does not float, unless it is told to."""
    actuators: tuple[Actuator, ...] = ()
    """The inputs that the file names; joint torques when there are none."""
    equalities: tuple[Equality, ...] = ()
    loops: tuple[Any, ...] = ()
    """Constraints (`model.constraints.Constraint`) that close loops of the tree; `Robot.constraints` puts them first."""
