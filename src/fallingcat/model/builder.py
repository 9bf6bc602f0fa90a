"""Build a robot in Python: links, joints, done."""

from __future__ import annotations

from collections.abc import Sequence

from fallingcat.errors import InputError
from fallingcat.model.constraints import Constraint
from fallingcat.model.description import (
    JOINT_TYPES,
    Description,
    Inertial,
    Joint,
    JointType,
    Limits,
    Link,
    Mimic,
    Pose,
    Visual,
)
from fallingcat.model.rotations import rotation_from_rpy
from fallingcat.suggest import closest

INFINITY = float("inf")


def _vector(x: Sequence[float], what: str) -> tuple[float, float, float]:
    values = [float(v) for v in x]
    if len(values) != 3:
        raise InputError(f"{what} does not fit", expected="three numbers", got=repr(x))
    return (values[0], values[1], values[2])


class Builder:
    """Collects links and joints; `description()` hands them to `fc.load`, `fc.diagnose` and the rest.

    >>> import fallingcat as fc
    >>> b = fc.Builder("pendulum")
    >>> b.link("frame")
    >>> b.link("bob", mass=1.0, com=(0, 0, -0.5), inertia=(1e-3, 0, 0, 1e-3, 0, 1e-3))
    >>> b.joint("hinge", "revolute", "frame", "bob", axis=(0, 1, 0))
    >>> robot = fc.load(b, floating=False)
    """

    def __init__(self, name: str = "robot") -> None:
        self.name = name
        self._links: list[Link] = []
        self._joints: list[Joint] = []
        self._loops: list[Constraint] = []

    def link(
        self,
        name: str,
        mass: float = 0.0,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        rpy: Sequence[float] = (0.0, 0.0, 0.0),
        visuals: Sequence[Visual] = (),
    ) -> None:
        """Add a link; `inertia` is (ixx, ixy, ixz, iyy, iyz, izz) about `com`, in axes turned by `rpy`."""
        six = tuple(float(x) for x in inertia)
        if len(six) != 6:
            raise InputError(
                f"inertia of link {name!r} does not fit", expected="six numbers: ixx ixy ixz iyy iyz izz", got=repr(inertia)
            )
        pose = Pose(rotation_from_rpy(*_vector(rpy, "rpy")), _vector(com, "com"))
        weightless = mass == 0.0 and not any(six)
        inertial = None if weightless else Inertial(float(mass), pose, six)
        self._links.append(Link(name, inertial, tuple(visuals)))

    def joint(
        self,
        name: str,
        type: JointType,
        parent: str,
        child: str,
        axis: Sequence[float] = (0.0, 0.0, 1.0),
        xyz: Sequence[float] = (0.0, 0.0, 0.0),
        rpy: Sequence[float] = (0.0, 0.0, 0.0),
        *,
        axis2: Sequence[float] = (0.0, 1.0, 0.0),
        pitch: float = 0.0,
        lower: float = -INFINITY,
        upper: float = INFINITY,
        velocity: float = INFINITY,
        effort: float = INFINITY,
        damping: float = 0.0,
        friction: float = 0.0,
        armature: float = 0.0,
        mimic: str | None = None,
        multiplier: float = 1.0,
        offset: float = 0.0,
    ) -> None:
        """Add a joint whose frame sits at `xyz`, `rpy` in the parent link and is the child link's frame."""
        if type not in JOINT_TYPES:
            raise InputError(f"joint {name!r} has unknown type {type!r}", hint=closest(type, JOINT_TYPES))
        self._joints.append(
            Joint(
                name, type, parent, child,
                Pose(rotation_from_rpy(*_vector(rpy, "rpy")), _vector(xyz, "xyz")),
                _vector(axis, "axis"), _vector(axis2, "axis2"), float(pitch),
                Limits(lower, upper, velocity, effort), float(damping), float(friction), float(armature),
                None if mimic is None else Mimic(mimic, float(multiplier), float(offset)),
            )
        )  # fmt: skip

    def loop(self, constraint: Constraint) -> None:
        """Close a loop of the tree by a constraint, such as fc.hinge("coupler", "rocker", axis); see `Robot.constraints`."""
        if not isinstance(constraint, Constraint):
            raise InputError(
                "loop: not a constraint", expected='fc.hinge("a", "b", axis), fc.weld("a", "b"), ...', got=repr(constraint)
            )
        known = [link.name for link in self._links] + [joint.name for joint in self._joints]
        for frame in constraint.frames:
            if frame is not None and frame not in known:
                raise InputError(f"loop: no link {frame!r}", expected="links that have been added", hint=closest(frame, known))
        self._loops.append(constraint)

    def description(self) -> Description:
        """The frozen description of what was built so far."""
        return Description(self.name, tuple(self._links), tuple(self._joints), f"<builder {self.name}>", loops=tuple(self._loops))
