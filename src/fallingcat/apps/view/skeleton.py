"""Drawings of bodies without visuals: rods between joints, the joints' axes, and ellipsoids with the bodies' inertias."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fallingcat.apps.view.shape import Array, Colour, Shape, ball, homogeneous, symmetric
from fallingcat.model.model import WORLD, Model
from fallingcat.robot.robot import Robot

ROD: Colour = (0.62, 0.65, 0.69, 1.0)
JOINT: Colour = (0.22, 0.25, 0.29, 1.0)
MASS_COLOURS = ((0.82, 0.88, 0.90), (0.40, 0.68, 0.77), (0.04, 0.40, 0.54))
"""Colours of ellipsoids, from the lightest body to the heaviest."""
WATER = 1000.0
"""kg/m^3: bounds the size of an ellipsoid whose inertia is not that of a body of its mass."""


def inertia_ellipsoids(robot: Robot) -> list[Shape]:
    """One for every body with mass: the ellipsoid of uniform density that has its inertia, the darker the heavier."""
    bodies = robot.model.bodies
    heaviest = max((float(body.inertia.mass) for body in bodies), default=0.0) or 1.0
    return [body_ellipsoid(robot.model, i, heaviest) for i, body in enumerate(bodies) if body.inertia.mass > 0.0]


def skeleton(robot: Robot, bodies: Sequence[int]) -> Iterator[Shape]:
    """Rods, joints and ellipsoids of these bodies."""
    model = robot.model
    radius = rod_radius(model)
    heaviest = max((float(body.inertia.mass) for body in model.bodies), default=0.0) or 1.0
    for i in bodies:
        ends = [np.array(body.pose.position) for body in model.bodies if body.parent == i] or _tips(model, i)
        for end in ends:
            yield from _rod(i, end, radius)
        yield from _joint(model, i, radius)
        if i == WORLD:
            yield from _still_ellipsoids(robot)
        elif model.bodies[i].inertia.mass > 0.0:
            yield body_ellipsoid(model, i, heaviest)


def has_mass(robot: Robot, i: int) -> bool:
    """Does body i, or what is fixed to the world, have mass?"""
    return any(_still_ellipsoids(robot)) if i == WORLD else float(robot.model.bodies[i].inertia.mass) > 0.0


def rod_radius(model: Model) -> float:
    """A sixtieth of the size of the robot, which is the longest way from the base to a joint or a frame."""
    reach: dict[int, float] = {WORLD: 0.0}
    for i, p in model.base_to_tip():
        step = 0.0 if p == WORLD and model.floating else float(np.linalg.norm(model.bodies[i].pose.position))
        reach[i] = reach[p] + step
    far = max(reach[place.body] + float(np.linalg.norm(place.pose.position)) for _, place in model.frames)
    return far / 60.0 or 0.01


def _tips(model: Model, i: int) -> list[Array]:
    """The end points of the rods of a body without children: the farthest frame welded to it, or its centre of mass."""
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
    yield ball(body, np.zeros(3), radius, ROD)
    if length > 1e-9:
        H = _along(end / length)
        H[:3, 3] = end / 2.0
        yield Shape(body, "cylinder", (radius, length), H, ROD)
        yield ball(body, end, radius, ROD)


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
        yield ball(i, np.zeros(3), 1.7 * radius, JOINT)
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


def body_ellipsoid(model: Model, i: int, heaviest: float) -> Shape:
    mass, c = float(model.bodies[i].inertia.mass), _center(model, i)
    about_center = symmetric(model.bodies[i].inertia.I) - mass * (c @ c * np.eye(3) - np.outer(c, c))
    H = np.eye(4)
    H[:3, 3] = c
    return _ellipsoid(i, mass, about_center, H, (*mass_colour(mass / heaviest), 0.8))


def _still_ellipsoids(robot: Robot) -> Iterator[Shape]:
    """Ellipsoids of links welded to the world: their masses are not the robot's, so they are grey."""
    for link in robot.description.links:
        place = robot.model.frame(link.name)
        if place.body == WORLD and link.inertial is not None and link.inertial.mass > 0.0:
            H = homogeneous(place.pose) @ homogeneous(link.inertial.pose)
            yield _ellipsoid(WORLD, link.inertial.mass, symmetric(link.inertial.inertia), H, (*ROD[:3], 0.8))


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
