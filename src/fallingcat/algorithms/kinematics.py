"""Kinematics: poses, twists, accelerations and Jacobians of bodies and frames.

Everything about body i is in body-i coordinates: X[i] is X_ip (from the parent), S[i] the joint's axes,
v[i] and a[i] twist and spatial acceleration. Suffix _w means world coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fallingcat.algorithms.posed import PerBody as PerBody
from fallingcat.algorithms.posed import Vector as Vector
from fallingcat.algorithms.posed import Wrenches, axis_rates, motions
from fallingcat.algorithms.posed import body as body
from fallingcat.algorithms.posed import joint_kinematics as joint_kinematics
from fallingcat.algorithms.posed import ring as ring
from fallingcat.algorithms.posed import velocities as velocities
from fallingcat.model.joints import Representation
from fallingcat.model.model import WORLD, FrameOf, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Inertia, MatrixRotation, Motion, Transform
from fallingcat.spatial.transform import Identity
from fallingcat.spatial.vec3 import ZERO, add, cross, mat, scale, transpose
from fallingcat.spatial.vectors import Frame


def world_transforms(model: Model, X: PerBody[Transform], root: Frame = WORLD) -> PerBody[Transform]:
    """X_iw for every body i: from the coordinates of the world (or of the root of a posed robot) to those of body i."""
    X_w: PerBody[Transform] = {WORLD: Identity.between(root, root)}
    for i, p in model.base_to_tip():
        X_w[i] = X[i] @ X_w[p]
    return X_w


def frame_transform(place: FrameOf, tag: str = "frame") -> Transform:
    """X_fi: from the coordinates of the body that carries a frame to those of the frame."""
    return Transform(MatrixRotation(transpose(mat(place.pose.rotation))), place.pose.position, tag, place.body)


def body_forces(model: Model, wrenches: Mapping[str, Vector]) -> Wrenches:
    """Wrenches given in frames, summed per body in body coordinates; those on frames fixed to the world have no effect."""
    forces = Wrenches()
    for name, wrench in wrenches.items():
        place = model.frame(name)
        forces[place.body] = forces[place.body] + frame_transform(place).T @ Force.of(wrench, "frame")
    return forces


# ---------------------------------------------------------------------------------------------------------------------
# Frames, seen from the frame itself (body), from the world (inertial), or with the world's orientation (mixed)


VIEWPOINTS: dict[str, Callable[[Transform], Transform]] = {
    "body": lambda X_fw: Identity.between("view", X_fw.a),
    "mixed": lambda X_fw: Transform(X_fw.E.inverse(), ZERO, "view", X_fw.a),
    "inertial": lambda X_fw: Identity.between("view", X_fw.b) @ X_fw.inverse(),
}
"""X_vf of a frame f: from its own coordinates to those of a representation."""

RELATIVE_TWISTS: dict[str, Callable[..., Motion]] = {
    "body": lambda v, origin=ZERO: Motion.zero(v.frame),
    "mixed": lambda v, origin=ZERO: Motion(cross(origin, v.ang), v.ang, v.frame),
    "inertial": lambda v, origin=ZERO: v,
}
"""The twist of a frame relative to its viewpoint, from the frame's twist v; in any coordinates, those of the frame unless its
origin is given."""


def frame_pose(model: Model, q: Vector, frame: str) -> list[list[Scalar]]:
    """The homogeneous matrix H_wf."""
    place = model.frame(frame)
    X, _ = joint_kinematics(model, q)
    X_fw = frame_transform(place) @ world_transforms(model, X)[place.body]
    return X_fw.pose_of_a_in_b()


def frame_velocity(model: Model, q: Vector, nu: Vector, frame: str, representation: Representation) -> list[Scalar]:
    """The twist of a frame."""
    place, model = model.frame(frame), model.in_representation(representation)
    v = velocities(body(model, q), nu)
    X_fi = frame_transform(place)
    X_fw = X_fi @ world_transforms(model, joint_kinematics(model, q)[0])[place.body]
    return (VIEWPOINTS[representation](X_fw) @ (X_fi @ v[place.body])).entries()


def frame_acceleration(
    model: Model, q: Vector, nu: Vector, dnu: Vector, frame: str, representation: Representation
) -> list[Scalar]:
    """The rate of `frame_velocity` in the same representation."""
    place, model = model.frame(frame), model.in_representation(representation)
    r = body(model, q)
    v, a = motions(r, nu, dnu, Motion.zero(WORLD))
    X_fi = frame_transform(place)
    X_fw = X_fi @ world_transforms(model, joint_kinematics(model, q)[0])[place.body]
    v_f, a_f = X_fi @ v[place.body], X_fi @ a[place.body]
    return (VIEWPOINTS[representation](X_fw) @ (a_f + RELATIVE_TWISTS[representation](v_f).cross(v_f))).entries()


def center_of_mass(model: Model, q: Vector) -> list[Scalar]:
    """The centre of mass in the world."""
    X, _ = joint_kinematics(model, q)
    h = subtree_first_moments(model, X)[WORLD]
    return list(scale(1.0 / model.mass, h)) if model.mass > 0.0 else [0.0, 0.0, 0.0]


def subtree_first_moments(model: Model, X: PerBody[Transform]) -> PerBody[tuple[Scalar, Scalar, Scalar]]:
    """Mass times centre of mass of every subtree, in the coordinates of its root body."""
    m = subtree_masses(model)
    h = {i: body.inertia.h for i, body in enumerate(model.bodies)} | {WORLD: ZERO}
    for i, p in model.tip_to_base():
        h[p] = add(h[p], add(X[i].E.inverse_apply(h[i]), scale(m[i], X[i].r)))
    return h


def center_of_mass_jacobian(model: Model, q: Vector) -> list[list[Scalar]]:
    """The 3 x nv matrix that takes nu to the velocity of the centre of mass in the world."""
    X, S = joint_kinematics(model, q)
    X_w = world_transforms(model, X)
    h = subtree_first_moments(model, X)
    m = subtree_masses(model)
    columns: PerBody[list[list[Scalar]]] = {}
    for i, _ in model.base_to_tip():
        # The momentum of the subtree moving with an axis, over the mass of the robot, turned to the world.
        subtree = Inertia(m[i], h[i], (0.0,) * 6, i)
        per_mass = [scale(1.0 / model.mass, (subtree @ s).lin) for s in S[i].columns]
        columns[i] = [list(X_w[i].E.inverse_apply(x)) for x in per_mass]
    return model.gather_columns(columns, 3)


def subtree_masses(model: Model) -> PerBody[Scalar]:
    """The mass of every body and all that it carries; under WORLD of the whole robot."""
    m: PerBody[Scalar] = {i: body.inertia.mass for i, body in enumerate(model.bodies)} | {WORLD: 0.0}
    for i, p in model.tip_to_base():
        m[p] = m[p] + m[i]
    return m


def frame_jacobian(model: Model, q: Vector, frame: str, representation: Representation) -> list[list[Scalar]]:
    """The 6 x nv matrix that takes nu to the twist of a frame, both in the same representation."""
    return jacobian(model.in_representation(representation), q, model.frame(frame), representation)


def jacobian(model: Model, q: Vector, place: FrameOf, representation: Representation) -> list[list[Scalar]]:
    """`frame_jacobian` of a frame given by its place, for nu in the representation of the model."""
    X, S = joint_kinematics(model, q)
    X_fi = frame_transform(place)
    view = VIEWPOINTS[representation](X_fi @ world_transforms(model, X)[place.body])
    columns: PerBody[list[list[Scalar]]] = {}
    X_fj = X_fi
    for j in model.path(place.body):
        columns[j] = [(view @ (X_fj @ s)).entries() for s in S[j].columns]
        X_fj = X_fj @ X[j]
    return model.gather_columns(columns, 6)


def frame_jacobian_rate(model: Model, q: Vector, nu: Vector, frame: str, representation: Representation) -> list[list[Scalar]]:
    """The rate of `frame_jacobian` along nu.

    In frame coordinates a column s = X_fj S has the rate X_fj (v_j x S + ring) - v_f x s; the
    viewpoint adds (twist of the frame against it) x s.
    """
    return jacobian_rate(model.in_representation(representation), q, nu, model.frame(frame), representation)


def jacobian_rate(model: Model, q: Vector, nu: Vector, place: FrameOf, representation: Representation) -> list[list[Scalar]]:
    """`frame_jacobian_rate` of a frame given by its place, for nu in the representation of the model."""
    X, S = joint_kinematics(model, q)
    r = body(model, q)
    v = velocities(r, nu)
    X_fi = frame_transform(place)
    view = VIEWPOINTS[representation](X_fi @ world_transforms(model, X)[place.body])
    v_f = X_fi @ v[place.body]
    drift = RELATIVE_TWISTS[representation](v_f) - v_f
    columns: PerBody[list[list[Scalar]]] = {}
    X_fj = X_fi
    for j in model.path(place.body):
        pairs = zip(S[j].columns, axis_rates(r, j, nu, v), strict=True)
        columns[j] = [(view @ (X_fj @ sd + drift.cross(X_fj @ s))).entries() for s, sd in pairs]
        X_fj = X_fj @ X[j]
    return model.gather_columns(columns, 6)
