"""What a drawing of a robot consists of: shapes that ride on bodies.

Primitive visuals of a description are drawn as they are. A body that only has meshes, or nothing to look at, is drawn as a
skeleton: rods between the joints it connects, the joints' axes, and the ellipsoid of uniform density that has the body's
inertia, coloured by mass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.kinematics import joint_kinematics, world_transforms
from fallingcat.arrays import eager
from fallingcat.functions import quaternions
from fallingcat.model.description import Pose
from fallingcat.model.model import WORLD, Model
from fallingcat.model.report import printable
from fallingcat.robot.poses import configuration_from_pose
from fallingcat.robot.robot import Robot
from fallingcat.task import Input, Output, Task

Array = NDArray[np.float64]
Colour = tuple[float, float, float, float]

ROD: Colour = (0.62, 0.65, 0.69, 1.0)
JOINT: Colour = (0.22, 0.25, 0.29, 1.0)
MASS_COLOURS = ((0.82, 0.88, 0.90), (0.40, 0.68, 0.77), (0.04, 0.40, 0.54))
"""Of ellipsoids, from the lightest body to the heaviest."""
WATER = 1000.0
"""kg/m^3: bounds the size of an ellipsoid whose inertia is not that of a body of its mass."""


@dataclass(frozen=True)
class Shape:
    """A primitive fixed to a body."""

    body: int
    """Index of the body, or WORLD."""
    kind: str
    """box: edges x y z; cylinder: radius, length along z; ellipsoid: three semi-axes."""
    size: tuple[float, ...]
    pose: Array
    """(4, 4), in the body."""
    rgba: Colour

    @property
    def half(self) -> Array:
        """Half the edges of the box around the shape, along its own axes."""
        if self.kind == "box":
            return np.array(self.size) / 2.0
        if self.kind == "cylinder":
            return np.array([self.size[0], self.size[0], self.size[1] / 2.0])
        return np.array(self.size)

    def plain(self) -> dict[str, Any]:
        """In plain types."""
        pose = numbers(position_and_quaternion(self.pose))
        return {"body": self.body, "kind": self.kind, "size": numbers(self.size), "pose": pose, "rgba": numbers(self.rgba)}


def scene(robot: Robot, q: ArrayLike) -> dict[str, Any]:
    """The robot at q in plain types: bodies with their poses (x y z, quaternion x y z w), shapes, and what the camera needs.

    "skeleton" says whether any body stands there as a skeleton; "bounds" are the corners of the box around everything.
    """
    poses = body_poses(robot, q)
    shapes, bare = shapes_of(robot)
    low, high = bounds(shapes, poses[None])
    bodies = [
        {"name": printable(body.name, 60), "mass": _short(float(body.inertia.mass)), "pose": numbers(pose)}
        for body, pose in zip(robot.model.bodies, position_and_quaternion(poses), strict=True)
    ]
    return {
        "bodies": bodies,
        "shapes": [s.plain() for s in shapes],
        "bounds": [numbers(low), numbers(high)],
        "skeleton": bool(bare),
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Where the bodies are


@dataclass(frozen=True)
class _BodyPoses:
    model: Model

    def __call__(self, q: Sequence[Any]) -> Any:
        X_w = world_transforms(self.model, joint_kinematics(self.model, q)[0])
        return [X_w[i].pose_of_a_in_b() for i in range(len(self.model.bodies))]


def body_poses(robot: Robot, q: ArrayLike) -> Array:
    """The pose of every body in the world, (..., bodies, 4, 4). Nothing is compiled for a picture."""
    model = robot.model
    if not model.bodies:
        return np.zeros((*np.shape(q)[:-1], 0, 4, 4))
    output = Output("poses", (len(model.bodies), 4, 4))
    task = Task("body_poses", (Input("q", model.nq, quaternions(model)),), (output,), _BodyPoses(model))
    return np.asarray(eager.run(task, (q,)))


def position_and_quaternion(H: Array) -> Array:
    """(..., 7): the origin and the unit quaternion x y z w of poses (..., 4, 4)."""
    return configuration_from_pose(True, H, np.zeros(0), 7)


def bounds(shapes: Sequence[Shape], poses: Array) -> tuple[Array, Array]:
    """The corners of the box around the shapes at all poses (frames, bodies, 4, 4)."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for s in shapes:
        H = s.pose[None] if s.body == WORLD else poses[:, s.body] @ s.pose
        axes = H[:, :3, :3] * s.half
        reach = np.linalg.norm(axes, axis=-1) if s.kind == "ellipsoid" else np.abs(axes).sum(axis=-1)
        low = np.minimum(low, (H[:, :3, 3] - reach).min(axis=0))
        high = np.maximum(high, (H[:, :3, 3] + reach).max(axis=0))
    if not shapes:
        return np.full(3, -0.5), np.full(3, 0.5)
    return low, high


# ---------------------------------------------------------------------------------------------------------------------
# What rides on them


def shapes_of(robot: Robot) -> tuple[list[Shape], list[int]]:
    """Every shape of a robot, and the bodies that are drawn as a skeleton."""
    model = robot.model
    shapes: list[Shape] = []
    bare: set[int] = set()
    drawn: set[int] = set()
    for link in robot.description.links:
        place = model.frame(link.name)
        H = homogeneous(place.pose)
        for visual in link.visuals:
            if visual.shape == "mesh":
                bare.add(place.body)
            elif min(visual.size) > 0.0:
                kind = "ellipsoid" if visual.shape == "sphere" else visual.shape
                size = visual.size * 3 if visual.shape == "sphere" else visual.size
                shapes.append(Shape(place.body, kind, size, H @ homogeneous(visual.pose), visual.rgba))
                drawn.add(place.body)
    bodies = range(0 if model.floating else WORLD, len(model.bodies))
    bare |= {i for i in bodies if i not in drawn}
    if bare:
        shapes += _skeleton(robot, sorted(bare))
    return shapes, sorted(bare)


def _skeleton(robot: Robot, bodies: Sequence[int]) -> Iterator[Shape]:
    """Rods, joints and ellipsoids of the bodies that have nothing better."""
    model = robot.model
    radius = _rod_radius(model)
    heaviest = max((float(body.inertia.mass) for body in model.bodies), default=0.0) or 1.0
    for i in bodies:
        ends = [np.array(body.pose.position) for body in model.bodies if body.parent == i] or _tips(model, i)
        for end in ends:
            yield from _rod(i, end, radius)
        yield from _joint(model, i, radius)
        if i == WORLD:
            yield from _still_ellipsoids(robot)
        elif model.bodies[i].inertia.mass > 0.0:
            yield _body_ellipsoid(model, i, heaviest)


def _rod_radius(model: Model) -> float:
    """A sixtieth of the size of the robot, which is the longest way from the base to a joint or a frame."""
    reach: dict[int, float] = {WORLD: 0.0}
    for i, p in model.base_to_tip():
        step = 0.0 if p == WORLD and model.floating else float(np.linalg.norm(model.bodies[i].pose.position))
        reach[i] = reach[p] + step
    far = max(reach[place.body] + float(np.linalg.norm(place.pose.position)) for _, place in model.frames)
    return far / 60.0 or 0.01


def _tips(model: Model, i: int) -> list[Array]:
    """Where a body without children ends: at the farthest frame welded to it, or at its centre of mass."""
    welded = [np.array(place.pose.position) for _, place in model.frames if place.body == i]
    far = max(welded, key=lambda x: float(x @ x), default=np.zeros(3))
    if far @ far > 0.0 or i == WORLD or not model.bodies[i].inertia.mass > 0.0:
        return [far]
    return [_center(model, i)]


def _center(model: Model, i: int) -> Array:
    inertia = model.bodies[i].inertia
    return np.array(inertia.h, dtype=float) / float(inertia.mass)


def _rod(body: int, end: Array, radius: float) -> Iterator[Shape]:
    """A rod with round ends from the body's origin."""
    length = float(np.linalg.norm(end))
    yield _ball(body, np.zeros(3), radius, ROD)
    if length > 1e-9:
        H = _along(end / length)
        H[:3, 3] = end / 2.0
        yield Shape(body, "cylinder", (radius, length), H, ROD)
        yield _ball(body, end, radius, ROD)


def _ball(body: int, at: Array, radius: float, rgba: Colour) -> Shape:
    H = np.eye(4)
    H[:3, 3] = at
    return Shape(body, "ellipsoid", (radius,) * 3, H, rgba)


def _joint(model: Model, i: int, radius: float) -> Iterator[Shape]:
    """A pin along the axis of a joint that turns, a block for one that slides, a ball for the rest."""
    if i == WORLD or (model.floating and i == 0):
        return
    joint = model.bodies[i].joint
    neutral = [0.0] * joint.nq
    if joint.quaternion_at is not None:
        neutral[joint.quaternion_at + 3] = 1.0
    columns = [(np.array(lin, dtype=float), np.array(ang, dtype=float)) for lin, ang in joint.columns(neutral)]
    linear, angular = columns[0]
    if len(columns) > 1 or not (angular @ angular or linear @ linear):
        yield _ball(i, np.zeros(3), 1.7 * radius, JOINT)
    elif angular @ angular:
        yield Shape(i, "cylinder", (1.5 * radius, 4.4 * radius), _along(angular / np.linalg.norm(angular)), JOINT)
    else:
        yield Shape(i, "box", (2.6 * radius, 2.6 * radius, 5.0 * radius), _along(linear / np.linalg.norm(linear)), JOINT)


def _ellipsoid(body: int, mass: float, about_center: Array, H: Array, colour: Colour) -> Shape:
    """Semi-axes a with a_x^2 = 5/(2m) (I_yy + I_zz - I_xx) in principal axes, kept near the size of a ball of water.

    about_center: the inertia about the centre of mass, which is the origin of the frame H in the body, in the axes of H.
    """
    principal, R = np.linalg.eigh(about_center)
    if np.linalg.det(R) < 0.0:
        R[:, 0] = -R[:, 0]
    ball = float((0.75 * mass / (np.pi * WATER)) ** (1.0 / 3.0))
    squares = 2.5 / mass * (principal.sum() - 2.0 * principal)
    x, y, z = np.clip(np.sqrt(np.maximum(squares, 0.0)), 0.4 * ball, 2.5 * ball)
    turned = H.copy()
    turned[:3, :3] = H[:3, :3] @ R
    return Shape(body, "ellipsoid", (float(x), float(y), float(z)), turned, colour)


def _body_ellipsoid(model: Model, i: int, heaviest: float) -> Shape:
    mass, c = float(model.bodies[i].inertia.mass), _center(model, i)
    about_center = symmetric(model.bodies[i].inertia.I) - mass * (c @ c * np.eye(3) - np.outer(c, c))
    H = np.eye(4)
    H[:3, 3] = c
    return _ellipsoid(i, mass, about_center, H, (*mass_colour(mass / heaviest), 0.8))


def _still_ellipsoids(robot: Robot) -> Iterator[Shape]:
    """Of links welded to the world: their masses are not the robot's, so they are grey."""
    for link in robot.description.links:
        place = robot.model.frame(link.name)
        if place.body == WORLD and link.inertial is not None and link.inertial.mass > 0.0:
            H = homogeneous(place.pose) @ homogeneous(link.inertial.pose)
            yield _ellipsoid(WORLD, link.inertial.mass, symmetric(link.inertial.inertia), H, (*ROD[:3], 0.8))


def symmetric(entries: Sequence[Any]) -> Array:
    """The matrix of xx, xy, xz, yy, yz, zz."""
    xx, xy, xz, yy, yz, zz = (float(x) for x in entries)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def mass_colour(share: float) -> tuple[float, float, float]:
    """The colour of a body with this share of the heaviest one's mass."""
    at = 2.0 * float(np.sqrt(min(1.0, max(0.0, share))))
    low = min(1, int(at))
    a, b, t = MASS_COLOURS[low], MASS_COLOURS[low + 1], at - low
    return (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2]))


def _along(z: Array) -> Array:
    """A pose at the origin whose third axis is the unit vector z."""
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    H = np.eye(4)
    H[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    return H


def homogeneous(pose: Pose) -> Array:
    """The (4, 4) matrix of a pose."""
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = pose.rotation, pose.position
    return H


def _short(x: float) -> float:
    return float(f"{x:.5g}")


def numbers(values: Any) -> list[float]:
    """A list of numbers with as many digits as a picture needs."""
    return [_short(float(x)) if abs(x) > 1e-7 else 0.0 for x in values]
