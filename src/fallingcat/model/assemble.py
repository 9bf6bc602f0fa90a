"""From a description to a model: choose the base, weld links between which nothing moves, number the coordinates.

Any link may be the base. The joints on the path from the file's root to the base are then reversed;
the order of the coordinates is that of the file, whatever the base.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fallingcat.choices import several_names
from fallingcat.errors import InputError, ModelError
from fallingcat.model import joints as J
from fallingcat.model.description import Description, Inertial, Joint, Limits
from fallingcat.model.mimics import resolve
from fallingcat.model.model import WORLD, Body, FrameOf, Model
from fallingcat.model.placed import HALF_TURN, HERE, Placed, aligned, unit
from fallingcat.spatial import Inertia
from fallingcat.spatial.so3 import QUATERNION_TOLERANCE
from fallingcat.spatial.vec3 import IDENTITY, Mat, cross, matmul, transpose, upper
from fallingcat.suggest import closest
from fallingcat.text import printable, shown

Array = NDArray[np.float64]
LockValue = float | Sequence[float]
Floating = bool | Literal["auto"]
"""Does the base float? With "auto" it does unless the description joins it to the world."""
GRAVITY = (0.0, 0.0, -9.81)


def _revolute(joint: Joint) -> tuple[J.JointModel, Mat]:
    k, sign, A = aligned(joint.axis)
    return J.Revolute(k, sign), A


def _prismatic(joint: Joint) -> tuple[J.JointModel, Mat]:
    k, sign, A = aligned(joint.axis)
    return J.Prismatic(k, sign), A


def _helical(joint: Joint) -> tuple[J.JointModel, Mat]:
    k, sign, A = aligned(joint.axis)
    return J.Helical(k, sign, joint.pitch), A


def _cylindrical(joint: Joint) -> tuple[J.JointModel, Mat]:
    k, sign, A = aligned(joint.axis)
    return J.Cylindrical(k, sign), A


def _planar(joint: Joint) -> tuple[J.JointModel, Mat]:
    k, sign, A = aligned(joint.axis)
    if (k, sign) != (2, 1.0):  # the plane's normal must become z itself
        e, z = J.unit(k, sign), J.unit(2)
        A = HALF_TURN if k == 2 else transpose((cross(z, e), z, e))
    return J.Planar(), A


def _universal(joint: Joint) -> tuple[J.JointModel, Mat]:
    return J.Universal(unit(joint.axis), unit(joint.axis2)), IDENTITY


CANONICAL: dict[str, Callable[[Joint], tuple[J.JointModel, Mat]]] = {
    "revolute": _revolute,
    "continuous": _revolute,
    "prismatic": _prismatic,
    "helical": _helical,
    "cylindrical": _cylindrical,
    "planar": _planar,
    "universal": _universal,
    "spherical": lambda joint: (J.Spherical(), IDENTITY),
    "floating": lambda joint: (J.FreeFlyer(), IDENTITY),
}
"""Per joint type of a description: the joint model, and the rotation A of its frame that makes the axis a coordinate axis."""


@dataclass(frozen=True)
class Coordinate:
    """The place of a movable joint's coordinates in q and nu."""

    q_at: int
    nu_at: int
    multiplier: float = 1.0
    offset: float = 0.0
    mimics: bool = False


def assemble(
    description: Description,
    floating: Floating = "auto",
    base: str | None = None,
    gravity: Sequence[float] | None = None,
    joints: Iterable[str] | None = None,
    lock: Mapping[str, LockValue] | None = None,
    joint_dynamics: bool = False,
) -> Model:
    """The model of a description in which the doctor found no errors."""
    if lock is not None and not isinstance(lock, Mapping):
        raise InputError("lock does not fit", expected="a mapping from joint names to positions", got=type(lock).__name__)
    choice = Choice(description, joints, lock or {})
    root = _base_link(description, base)
    floating = floats(description, base) if floating == "auto" else floating
    coordinates, nq, nv = choice.number(7 if floating else 0, 6 if floating else 0)

    tree = _Tree(description, choice, coordinates, joint_dynamics)
    if floating:
        first = tree.add_body(root, "floating base", J.FreeFlyer(), WORLD, HERE, Coordinate(0, 0), None)
        tree.grow(root, first, HERE)
    else:
        tree.grow(root, WORLD, HERE)
    bodies = tree.bodies()
    _refuse_weightless_base(description.name, bodies, root, floating)

    links = tuple(link.name for link in description.links)
    frames = {name: tree.frames[name] for name in links}
    for joint in description.joints:
        frames.setdefault(joint.name, tree.frames[joint.child])
    # the other end of an equality may be the world, which is no link
    ends = (frame for equality in description.equalities for frame in equality.frames or () if frame.link in tree.frames)
    for frame in (*description.frames, *ends):
        at = tree.frames[frame.link]
        frames.setdefault(frame.name, FrameOf(at.body, (Placed.of(at.pose) @ Placed.of(frame.pose)).pose()))
    gx, gy, gz = _gravity((description.gravity or GRAVITY) if gravity is None else gravity)
    return Model(
        description.name, bodies, tuple(frames.items()), links, tuple(choice.movable), root, floating, (gx, gy, gz), nq, nv
    )


def floats(description: Description, base: str | None) -> bool:
    """The default of `floating`: the base floats unless it is the world."""
    return not description.world or (base is not None and base != _base_link(description, None))


def _gravity(gravity: Sequence[float]) -> tuple[float, float, float]:
    g = _numbers(gravity)
    if g.shape != (3,) or not np.all(np.isfinite(g)):
        raise InputError(
            "gravity does not fit", expected="three finite numbers", got=repr(gravity), hint="for instance (0, 0, -9.81)"
        )
    return float(g[0]), float(g[1]), float(g[2])


def _numbers(value: object) -> Array:
    """The value as an array of float64; NaN if it is not numeric, so that checks for finite numbers refuse it."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(np.nan)


def _base_link(description: Description, base: str | None) -> str:
    if base is None:
        children = {joint.child for joint in description.joints}
        return next(link.name for link in description.links if link.name not in children)
    names = [link.name for link in description.links]
    if not isinstance(base, str) or base not in names:
        raise InputError(f"no link {shown(base)} to be the base", hint=closest(base, names))
    return base


def _refuse_weightless_base(name: str, bodies: Sequence[Body], root: str, floating: bool) -> None:
    """Refuse a massless floating base with at most one neighbour: it can move without moving any mass."""
    if not floating or bodies[0].inertia.mass > 0.0:
        return
    if len(bodies) == 1:
        raise ModelError(f"robot {name!r} has no mass: a floating base needs some; load it with floating=False (--fixed)")
    if sum(body.parent == 0 for body in bodies) < 2:
        raise ModelError(
            f"the floating base {root!r} of robot {name!r} has no mass, so its mass matrix is singular; "
            f"choose another base, for instance base={bodies[1].name!r} (--base {printable(bodies[1].name)}), "
            "or load it with floating=False (--fixed)"
        )


class Choice:
    """The joints that move, in the order of their coordinates, and the positions at which the others are locked."""

    def __init__(self, description: Description, joints: Iterable[str] | None, lock: Mapping[str, LockValue]) -> None:
        self.by_name = {joint.name: joint for joint in description.joints}
        followers = resolve(description.joints)
        self.master = {name: how for name, how in followers.items() if self.by_name[name].type != "fixed"}
        # A dict as an ordered set.
        free = dict.fromkeys(j.name for j in description.joints if j.type != "fixed" and j.name not in self.master)
        self._check_names("lock", lock, free)
        if joints is None:
            self.movable = [name for name in free if name not in lock]
        else:
            self.movable = list(several_names("joints", joints))
            self._check_names("joints", self.movable, free)
            twice = {name for name, count in Counter(self.movable).items() if count > 1}
            both = set(self.movable) & set(lock)
            if twice or both:
                what = f"joints named twice: {sorted(twice)}" if twice else f"joints both movable and locked: {sorted(both)}"
                raise InputError(what, hint="name each joint once")
        moving = set(self.movable)
        self.locked = {name: self._lock_value(name, lock.get(name)) for name in free if name not in moving}

    def _check_names(self, argument: str, names: Iterable[str], free: Mapping[str, None]) -> None:
        for name in names:
            if isinstance(name, str) and name in self.master:
                raise InputError(f"{argument}: joint {name!r} follows {self.master[name][0]!r}", hint="name the joint it follows")
            if not isinstance(name, str) or name not in free:
                raise InputError(f"{argument}: no movable joint {shown(name)}", hint=closest(name, free))

    def _lock_value(self, name: str, value: LockValue | None) -> list[float]:
        model, _ = CANONICAL[self.by_name[name].type](self.by_name[name])
        if value is None:
            return model.neutral()
        q, at = np.atleast_1d(_numbers(value)), model.quaternion_at
        if q.shape != (model.nq,) or not np.all(np.isfinite(q)):
            raise InputError(f"lock[{name!r}] does not fit", expected=f"{model.nq} finite numbers", got=repr(value))
        if at is not None and abs(np.linalg.norm(q[at : at + 4]) - 1.0) > QUATERNION_TOLERANCE:
            got = f"length {np.linalg.norm(q[at : at + 4]):.6g}"
            what = f"lock[{name!r}]: the quaternion is far from unit length"
            raise InputError(what, expected="length 1", got=got, hint="order is x y z w")
        return [float(x) for x in q]

    def lock_of(self, joint: Joint) -> list[float] | None:
        """The coordinates at which a joint is locked; None for a joint that moves."""
        if joint.name in self.master:
            name, multiplier, offset = self.master[joint.name]
            at = self.locked.get(name)
            if self.by_name[name].type == "fixed":
                at = [0.0]
            return None if at is None else [multiplier * at[0] + offset]
        return self.locked.get(joint.name)

    def number(self, nq: int, nv: int) -> tuple[dict[str, Coordinate], int, int]:
        """The place of every movable joint's coordinates, by name, and nq and nv."""
        places: dict[str, Coordinate] = {}
        for name in self.movable:
            model, _ = CANONICAL[self.by_name[name].type](self.by_name[name])
            places[name] = Coordinate(nq, nv)
            nq, nv = nq + model.nq, nv + model.nv
        for name, (master, multiplier, offset) in self.master.items():
            if master in places:
                places[name] = Coordinate(places[master].q_at, places[master].nu_at, multiplier, offset, True)
        return places, nq, nv


class _Tree:
    """Grows bodies from the base outwards, depth first."""

    def __init__(self, description: Description, choice: Choice, places: Mapping[str, Coordinate], joint_dynamics: bool) -> None:
        self._links = {link.name: link for link in description.links}
        self._choice = choice
        self._places = places
        self._joint_dynamics = joint_dynamics
        self._edges: dict[str, list[tuple[Joint, str]]] = {name: [] for name in self._links}
        for joint in description.joints:
            self._edges[joint.parent].append((joint, joint.child))
            self._edges[joint.child].append((joint, joint.parent))
        self._bodies: list[Body] = []
        self._inertias: list[Inertia] = []
        self.frames: dict[str, FrameOf] = {}

    def add_body(
        self, link: str, name: str, joint: J.JointModel, parent: int, at: Placed, place: Coordinate, source: Joint | None
    ) -> int:
        index = len(self._bodies)
        keep = self._joint_dynamics and source is not None
        self._inertias.append(Inertia.zero(index))
        self._bodies.append(
            Body(
                link, name, joint, parent, at.pose(), Inertia.zero(index),
                place.q_at, place.nu_at, place.multiplier, place.offset, place.mimics,
                limits=source.limits if source else Limits(),
                damping=source.damping if keep and source else 0.0,
                friction=source.friction if keep and source else 0.0,
                armature=source.armature if keep and source else 0.0,
            )
        )  # fmt: skip
        return index

    def grow(self, root: str, body: int, at: Placed) -> None:
        """Add a link, at a pose in a body, and its subtree; by a stack instead of recursion, because chains can be long."""
        todo: list[tuple[str, str | None, Callable[[], tuple[int, Placed]]]] = [(root, None, lambda: (body, at))]
        while todo:
            link, came_by, place = todo.pop()
            index, pose = place()
            self.frames[link] = FrameOf(index, pose.pose())
            inertial = self._links[link].inertial
            if inertial is not None and index != WORLD:
                self._inertias[index] = self._inertias[index] + _inertia(inertial, pose, index)
            for joint, other in reversed(self._edges[link]):
                if joint.name != came_by:
                    todo.append((other, joint.name, self._crossing(joint, other, index, pose)))

    def _crossing(self, joint: Joint, other: str, body: int, at: Placed) -> Callable[[], tuple[int, Placed]]:
        """A function that makes the body beyond a joint; the walk calls it when it gets there, for depth-first numbers."""
        return lambda: self._cross(joint, other, body, at)

    def _cross(self, joint: Joint, other: str, body: int, at: Placed) -> tuple[int, Placed]:
        origin = Placed.of(joint.pose)
        outwards = other == joint.child
        if joint.type == "fixed":
            return body, at @ (origin if outwards else origin.inverse())
        model, A = CANONICAL[joint.type](joint)
        turn = Placed(A)
        locked = self._choice.lock_of(joint)
        if locked is not None:
            R = transpose(model.rotation(locked, IDENTITY).matrix())
            moved = origin @ turn @ Placed(R, model.offset(locked)) @ turn.inverse()
            return body, at @ (moved if outwards else moved.inverse())
        place = self._places[joint.name]
        if outwards:
            index = self.add_body(other, joint.name, model, body, at @ origin @ turn, place, joint)
            return index, turn.inverse()
        index = self.add_body(other, joint.name, J.reverse(model), body, at @ turn, place, joint)
        return index, (origin @ turn).inverse()

    def bodies(self) -> tuple[Body, ...]:
        fields = ({**body.__dict__, "inertia": inertia} for body, inertia in zip(self._bodies, self._inertias, strict=True))
        return tuple(Body(**f) for f in fields)


def _inertia(inertial: Inertial, link: Placed, body: int) -> Inertia:
    """The inertia of a link in the coordinates of its body."""
    frame = link @ Placed.of(inertial.pose)
    xx, xy, xz, yy, yz, zz = inertial.inertia
    I = matmul(frame.R, matmul(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)), transpose(frame.R)))
    negligible = 1e-16 * max(1e-300, *(abs(x) for row in I for x in row))
    Ixx, Ixy, Ixz, Iyy, Iyz, Izz = (0.0 if abs(x) < negligible else x for x in upper(I))
    return Inertia.from_com(inertial.mass, frame.p, (Ixx, Ixy, Ixz, Iyy, Iyz, Izz), body)
