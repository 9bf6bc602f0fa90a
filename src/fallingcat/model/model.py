"""The model of a robot for the algorithms: a tree of bodies, each moved by one joint.

A model is frozen, hashable and picklable. Links that cannot move relative to each other are one body; their
frames are kept in `frames`. The floating base is an ordinary joint from the world to the first body.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fallingcat.errors import FrameError
from fallingcat.lazy import lazy
from fallingcat.model.description import Limits, Pose
from fallingcat.model.joints import FreeFlyer, JointModel, Representation
from fallingcat.scalar import Scalar
from fallingcat.spatial import Inertia
from fallingcat.suggest import closest

WORLD = -1
"""The index of the world as a parent, and the tag of the inertial frame."""


@dataclass(frozen=True)
class Body:
    """A rigid body and the joint that carries it."""

    name: str
    """The link that the joint moves; links welded to it belong to the same body."""
    joint_name: str
    joint: JointModel
    parent: int
    """Index of the parent body, always smaller than this body's, or WORLD."""
    pose: Pose
    """The joint's frame in the parent body."""
    inertia: Inertia
    q_at: int
    """Where the joint's coordinates start in q."""
    nu_at: int
    """Where the joint's velocities start in nu."""
    multiplier: float = 1.0
    """A mimic joint shares the coordinate of another: its position is multiplier * q + offset."""
    offset: float = 0.0
    mimics: bool = False
    limits: Limits = Limits()
    damping: float = 0.0
    """Zero, like friction and armature, unless the robot was loaded with joint_dynamics=True."""
    friction: float = 0.0
    armature: float = 0.0


@dataclass(frozen=True)
class FrameOf:
    """The body and pose of a frame."""

    body: int
    """Index of the body it is attached to, or WORLD."""
    pose: Pose
    """The frame in the body."""


@dataclass(frozen=True)
class Model:
    """A tree of bodies, parents before children, in depth-first order."""

    name: str
    bodies: tuple[Body, ...]
    frames: tuple[tuple[str, FrameOf], ...]
    """All links, then all joints whose names are not links' names."""
    link_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    """Movable joints in the order of their coordinates; mimic joints are not among them."""
    base: str
    """The link that floats, or that is welded to the world."""
    floating: bool
    gravity: tuple[float, float, float]
    nq: int
    nv: int

    @property
    def n(self) -> int:
        """Degrees of freedom of the joints."""
        return self.nv - 6 if self.floating else self.nv

    def in_representation(self, representation: Representation) -> Model:
        """The same robot with the base's twist in nu in another representation (paper 004).

        The base then is a joint whose axes move in the body, which every algorithm handles, so that no algorithm
        needs to know about representations.
        """
        if not self.floating or representation == "body":
            return self
        base = replace(self.bodies[0], joint=FreeFlyer(representation))
        return replace(self, bodies=(base, *self.bodies[1:]))

    @lazy
    def mimics(self) -> bool:
        """Does any joint follow another?"""
        return any(body.mimics for body in self.bodies)

    @lazy
    def mass(self) -> float:
        """The total mass of the moving bodies, kg."""
        total = 0.0
        for body in self.bodies:  # not `sum`, which rounds floats differently from Python 3.12 on
            total += body.inertia.mass
        return total

    @lazy
    def digest(self) -> str:
        """A digest of the whole model, for keys of caches."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    @lazy
    def _frames(self) -> dict[str, FrameOf]:
        return dict(self.frames)

    def frame(self, name: str) -> FrameOf:
        """The body and pose of a frame; raises `FrameError` if there is no such frame."""
        found = self._frames.get(name) if isinstance(name, str) else None
        if found is None:
            raise FrameError(f"no frame {name!r} on robot {self.name!r}; {closest(name, self._frames)}")
        return found

    def base_to_tip(self) -> Iterator[tuple[int, int]]:
        """(body, parent) pairs, parents first."""
        return ((i, body.parent) for i, body in enumerate(self.bodies))

    def tip_to_base(self) -> Iterator[tuple[int, int]]:
        """(body, parent) pairs, children first."""
        return ((i, self.bodies[i].parent) for i in reversed(range(len(self.bodies))))

    def path(self, i: int) -> Iterator[int]:
        """The body, its parent, and so on down to the base."""
        while i != WORLD:
            yield i
            i = self.bodies[i].parent

    def dofs(self, i: int) -> range:
        """The entries of nu that belong to joint i."""
        start = self.bodies[i].nu_at
        return range(start, start + self.bodies[i].joint.nv)

    def coordinates(self, i: int, q: Sequence[Scalar]) -> list[Scalar]:
        """The coordinates of joint i, taken from q; for a mimic joint computed from those of its leader."""
        body = self.bodies[i]
        own = list(q[body.q_at : body.q_at + body.joint.nq])
        return [body.multiplier * own[0] + body.offset] if body.mimics else own

    def speeds(self, i: int, nu: Sequence[Scalar]) -> list[Scalar]:
        """The velocities (or accelerations) of joint i, taken from nu; for a mimic joint computed from its leader's."""
        body = self.bodies[i]
        own = list(nu[body.nu_at : body.nu_at + body.joint.nv])
        return [body.multiplier * own[0]] if body.mimics else own

    def gather(self, parts: Mapping[int, Sequence[Scalar]]) -> list[Scalar]:
        """A vector of nv entries from one part per joint; a mimic joint adds to the joint it follows."""
        total: list[Scalar] = [0.0] * self.nv
        for i, part in parts.items():
            for k, x in zip(self.dofs(i), part, strict=True):
                total[k] = total[k] + self.bodies[i].multiplier * x
        return total

    def gather_columns(self, parts: Mapping[int, Sequence[Sequence[Scalar]]], rows: int) -> list[list[Scalar]]:
        """A rows x nv matrix from the columns of each joint."""
        total: list[list[Scalar]] = [[0.0] * self.nv for _ in range(rows)]
        for i, columns in parts.items():
            for k, column in zip(self.dofs(i), columns, strict=True):
                for row, x in zip(total, column, strict=True):
                    row[k] = row[k] + self.bodies[i].multiplier * x
        return total

    def gather_blocks(self, blocks: Mapping[tuple[int, int], Iterable[Sequence[Scalar]]]) -> list[list[Scalar]]:
        """An nv x nv matrix from one block per pair of joints."""
        total: list[list[Scalar]] = [[0.0] * self.nv for _ in range(self.nv)]
        for (i, j), block in blocks.items():
            factor = self.bodies[i].multiplier * self.bodies[j].multiplier
            for k, row in zip(self.dofs(i), block, strict=True):
                for m, x in zip(self.dofs(j), row, strict=True):
                    total[k][m] = total[k][m] + factor * x
        return total
