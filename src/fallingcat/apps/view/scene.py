"""The contents of a drawing of a robot: shapes that are fixed to bodies.

Visuals of a description are drawn as they are, meshes reduced to a budget of triangles. A body that has nothing to look at,
or whose meshes are not there, is drawn as a skeleton: rods between the joints it connects, the joints' axes, and the ellipsoid
of uniform density that has the body's inertia, coloured by mass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fallingcat.algorithms.kinematics import joint_kinematics, world_transforms
from fallingcat.apps.view.chain import chain
from fallingcat.apps.view.shape import Array, Shape, ball, homogeneous, numbers, position_and_quaternion, short
from fallingcat.apps.view.skeleton import has_mass, skeleton
from fallingcat.apps.view.triangles import PAGE, Piece, Triangles, Wardrobe
from fallingcat.arrays import eager
from fallingcat.functions import quaternions
from fallingcat.model.description import Visual
from fallingcat.model.model import WORLD, Model
from fallingcat.model.report import printable
from fallingcat.robot.robot import Robot
from fallingcat.task import Input, Output, Task


def scene(
    robot: Robot,
    q: ArrayLike,
    budget: int = PAGE,
    progress: Callable[[str], None] = lambda what: None,
    looks: Looks | None = None,
) -> dict[str, Any]:
    """The robot at q in plain types: bodies with their poses (x y z, quaternion x y z w), shapes, and what the camera needs.

    "skeleton" says whether any body stands there as a skeleton, "missing" which meshes are not there; "bounds" are the corners
    of the box around everything; "sliders" and "chain" let the page move the joints. budget: triangles of all meshes.
    looks: the robot's shapes where they are known already.
    """
    poses = body_poses(robot, q)
    looks = looks or Looks.of(robot, budget, progress)
    low, high = bounds(looks.shapes, poses[None])
    moved = chain(robot, np.asarray(q, dtype=float))
    bodies = [
        {
            "name": printable(body.name, 60), "mass": short(float(body.inertia.mass)), "pose": numbers(pose),
            "centre": numbers(np.array(body.inertia.h, dtype=float) / (float(body.inertia.mass) or 1.0)),
        }
        for body, pose in zip(robot.model.bodies, position_and_quaternion(poses), strict=True)
    ]  # fmt: skip
    links = [(name, robot.model.frame(name)) for name in robot.link_names]
    return {
        "bodies": bodies,
        "shapes": looks.plain(),
        "meshes": [mesh.packed() for mesh in looks.meshes],
        "bounds": [numbers(low), numbers(high)],
        "skeleton": bool(looks.bare),
        "missing": [printable(name, 200) for name in looks.missing],
        "sliders": [slider.plain() | {"name": printable(slider.name, 60)} for slider in moved.sliders],
        "chain": moved.bodies,
        "frames": [
            {"name": printable(name, 60), "body": place.body, "pose": numbers(position_and_quaternion(homogeneous(place.pose)))}
            for name, place in links
        ],
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


def bodies_in_links(model: Model) -> Array:
    """Every body's frame in the frame of the link that it is named after, (bodies, 4, 4).

    The two differ where a joint's axis is along no axis of its link.
    """
    frames = [homogeneous(model.frame(body.name).pose) for body in model.bodies]
    return np.asarray(np.linalg.inv(np.array(frames).reshape(-1, 4, 4)), dtype=np.float64)


def bounds(shapes: Sequence[Shape], poses: Array) -> tuple[Array, Array]:
    """The corners of the box around the shapes at all poses (frames, bodies, 4, 4)."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for s in shapes:
        H = s.pose[None] if s.body == WORLD else poses[:, s.body] @ s.pose
        axes = H[:, :3, :3] * s.half
        reach = np.linalg.norm(axes, axis=-1) if s.kind == "ellipsoid" else np.abs(axes).sum(axis=-1)
        centre = H[:, :3, 3] + H[:, :3, :3] @ s.middle
        low = np.minimum(low, (centre - reach).min(axis=0))
        high = np.maximum(high, (centre + reach).max(axis=0))
    if not shapes:
        return np.full(3, -0.5), np.full(3, 0.5)
    return low, high


# ---------------------------------------------------------------------------------------------------------------------
# The shapes fixed to them


@dataclass(frozen=True)
class Looks:
    """Everything that is drawn of a robot."""

    shapes: list[Shape]
    bare: list[int]
    """Bodies that are drawn as a skeleton."""
    missing: list[str]
    """Meshes that are not there."""

    @classmethod
    def of(cls, robot: Robot, budget: int = PAGE, progress: Callable[[str], None] = lambda what: None) -> Looks:
        """The shapes of a robot; its meshes have so many triangles together."""
        model = robot.model
        wardrobe = Wardrobe(robot.description, budget, progress)
        dressed: dict[tuple[str, Any], list[Piece]] = {}
        for piece in wardrobe.pieces():
            dressed.setdefault((piece.link, piece.visual), []).append(piece)
        shapes: list[Shape] = []
        bare: set[int] = set()
        drawn: set[int] = set()
        for link in robot.description.links:
            place = model.frame(link.name)
            H = homogeneous(place.pose)
            for visual in link.visuals:
                here = H @ homogeneous(visual.pose)
                if visual.shape == "mesh":
                    worn = dressed.get((link.name, visual), [])
                    shapes += [Shape(place.body, "mesh", (), here, x.rgba, link.name, x.triangles) for x in worn]
                    (drawn if worn else bare).add(place.body)
                elif min(visual.size) > 0.0:
                    shapes += (replace(shape, link=link.name) for shape in _drawn(place.body, visual, here))
                    drawn.add(place.body)
        if not dressed:  # beside meshes, bodies that have none are frames and sensors; beside shapes, those without mass
            bodies = range(0 if model.floating else WORLD, len(model.bodies))
            bare |= {i for i in bodies if i not in drawn and (not drawn or has_mass(robot, i))}
        elif drawn:
            bare -= drawn
        return cls([*shapes, *skeleton(robot, sorted(bare))], sorted(bare), wardrobe.missing)

    @property
    def meshes(self) -> list[Triangles]:
        """All different meshes, in the order of the first shapes that have them."""
        return list({id(s.mesh): s.mesh for s in self.shapes if s.mesh is not None}.values())

    def plain(self) -> list[dict[str, Any]]:
        """The shapes in plain types; those with meshes name them by their place in `meshes`."""
        place = {id(mesh): k for k, mesh in enumerate(self.meshes)}
        return [s.plain() | ({} if s.mesh is None else {"mesh": place[id(s.mesh)]}) for s in self.shapes]


def shapes_of(robot: Robot, budget: int = PAGE) -> tuple[list[Shape], list[int]]:
    """Every shape of a robot, and the bodies that are drawn as a skeleton."""
    looks = Looks.of(robot, budget)
    return looks.shapes, looks.bare


def _drawn(body: int, visual: Visual, H: Array) -> Iterator[Shape]:
    """A shape of a description as boxes, cylinders and ellipsoids."""
    if visual.shape == "sphere":
        yield Shape(body, "ellipsoid", visual.size * 3, H, visual.rgba)
    elif visual.shape == "capsule":
        radius, length = visual.size
        yield Shape(body, "cylinder", visual.size, H, visual.rgba)
        for end in (-length / 2.0, length / 2.0):
            yield ball(body, H[:3, 3] + end * H[:3, 2], radius, visual.rgba)
    else:
        yield Shape(body, visual.shape, visual.size, H, visual.rgba)
