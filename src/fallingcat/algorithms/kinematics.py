"""Kinematics: where everything is and how it moves.

Everything about body i is in body-i coordinates: X[i] is X_ip (from the parent), S[i] the joint's axes,
v[i] and a[i] twist and spatial acceleration. Suffix _w means world coordinates.
Featherstone, Rigid Body Dynamics Algorithms (2008), Sec. 4.4 and 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from fallingcat.model.joints import Representation
from fallingcat.model.model import WORLD, FrameOf, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Inertia, MatrixRotation, Motion, Subspace, Transform
from fallingcat.spatial.vec3 import IDENTITY, ZERO, add, mat, matvec, neg, scale, sub, transpose

T = TypeVar("T")
PerBody = dict[int, T]
Vector = Sequence[Scalar]


def joint_kinematics(model: Model, q: Vector) -> tuple[PerBody[Transform], PerBody[Subspace]]:
    """X[i] = X_ip and S[i] of every joint."""
    X: PerBody[Transform] = {}
    S: PerBody[Subspace] = {}
    for i, p in model.base_to_tip():
        joint, pose, qi = model.bodies[i].joint, model.bodies[i].pose, model.coordinates(i, q)
        r = add(pose.position, matvec(mat(pose.rotation), joint.offset(qi)))
        X[i] = Transform(joint.rotation(qi, mat(pose.rotation)), r, i, p)
        S[i] = Subspace(tuple(Motion(lin, ang, i) for lin, ang in joint.columns(qi)), i)
    return X, S


def nearby_kinematics(model: Model, q: Vector) -> tuple[PerBody[Transform], PerBody[Subspace]]:
    """X and S of every joint, with the origin of the world moved to the first body.

    What does not depend on where the origin is should not lose digits far from it: at a distance r, rounding would eat r^2.
    """
    X, S = joint_kinematics(model, q)
    origin = X[0].r if model.bodies else ZERO
    for i, p in model.base_to_tip():
        if p == WORLD:
            X[i] = Transform(X[i].E, sub(X[i].r, origin), i, WORLD)
    return X, S


def ring(model: Model, i: int, q: Vector, nu: Vector) -> Subspace | None:
    """The rate of S[i] as seen in the body (paper 001's ring); None for constant axes."""
    columns = model.bodies[i].joint.ring(model.coordinates(i, q), model.speeds(i, nu))
    return None if columns is None else Subspace(tuple(Motion(lin, ang, i) for lin, ang in columns), i)


def velocities(model: Model, X: PerBody[Transform], S: PerBody[Subspace], nu: Vector) -> tuple[PerBody[Motion], PerBody[Motion]]:
    """v[i], the twist of body i, and vJ[i] = S nu, what its joint adds."""
    v: PerBody[Motion] = {WORLD: Motion.zero(WORLD)}
    vJ: PerBody[Motion] = {}
    for i, p in model.base_to_tip():
        vJ[i] = S[i] @ model.speeds(i, nu)
        v[i] = X[i] @ v[p] + vJ[i]
    return v, vJ


def velocity_products(model: Model, q: Vector, nu: Vector, v: PerBody[Motion], vJ: PerBody[Motion]) -> PerBody[Motion]:
    """c[i] = v x vJ + ring nu: the part of a[i] that is quadratic in the velocity."""
    c: PerBody[Motion] = {}
    for i, _ in model.base_to_tip():
        c[i] = v[i].cross(vJ[i])
        moving = ring(model, i, q, nu)
        if moving is not None:
            c[i] = c[i] + moving @ model.speeds(i, nu)
    return c


def accelerations(
    model: Model, X: PerBody[Transform], S: PerBody[Subspace], c: PerBody[Motion], dnu: Vector, a_world: Motion
) -> PerBody[Motion]:
    """a[i], the spatial acceleration of body i, when the world accelerates with a_world."""
    a: PerBody[Motion] = {WORLD: a_world}
    for i, p in model.base_to_tip():
        a[i] = X[i] @ a[p] + S[i] @ model.speeds(i, dnu) + c[i]
    return a


def world_transforms(model: Model, X: PerBody[Transform]) -> PerBody[Transform]:
    """X_iw, from world coordinates to those of body i."""
    X_w: PerBody[Transform] = {WORLD: Transform(MatrixRotation(IDENTITY), ZERO, WORLD, WORLD)}
    for i, p in model.base_to_tip():
        X_w[i] = X[i] @ X_w[p] if p != WORLD else X[i]
    return X_w


def frame_transform(place: FrameOf, tag: str = "frame") -> Transform:
    """X_fi: from the coordinates of the body that carries a frame to those of the frame."""
    return Transform(MatrixRotation(transpose(mat(place.pose.rotation))), place.pose.position, tag, place.body)


def gravity_acceleration(model: Model) -> Motion:
    """-g: a world that accelerates upwards feels like gravity."""
    return Motion(neg(model.gravity), ZERO, WORLD)


def body_forces(model: Model, wrenches: dict[str, Vector]) -> PerBody[Force]:
    """Wrenches given in frames, summed per body in body coordinates."""
    forces: PerBody[Force] = {}
    for name, wrench in wrenches.items():
        place = model.frame(name)
        if place.body != WORLD:  # a wrench on the ground does nothing
            f = frame_transform(place).T @ Force.of(wrench, "frame")
            forces[place.body] = forces[place.body] + f if place.body in forces else f
    return forces


# ---------------------------------------------------------------------------------------------------------------------
# Frames, seen from the frame itself (body), from the world (inertial), or with the world's orientation (mixed)


def viewpoint(X_fw: Transform, representation: Representation) -> Transform:
    """X_vf: from the frame's own coordinates to those of the chosen representation."""
    if representation == "body":
        return Transform(MatrixRotation(IDENTITY), ZERO, "view", X_fw.a)
    if representation == "mixed":
        return Transform(X_fw.E.inverse(), ZERO, "view", X_fw.a)
    X_wf = X_fw.inverse()
    return Transform(X_wf.E, X_wf.r, "view", X_fw.a)


def relative_twist(v: Motion, representation: Representation) -> Motion:
    """The twist of the frame against its viewpoint, in frame coordinates."""
    if representation == "body":
        return Motion.zero(v.frame)
    return Motion(ZERO, v.ang, v.frame) if representation == "mixed" else v


def frame_pose(model: Model, q: Vector, frame: str) -> list[list[Scalar]]:
    """The homogeneous matrix H_wf."""
    place = model.frame(frame)
    X, _ = joint_kinematics(model, q)
    X_fw = frame_transform(place) @ world_transforms(model, X)[place.body]
    return X_fw.pose_of_a_in_b()


def frame_velocity(model: Model, q: Vector, nu: Vector, frame: str, representation: Representation) -> list[Scalar]:
    """The twist of a frame."""
    place, model = model.frame(frame), model.in_representation(representation)
    X, S = joint_kinematics(model, q)
    v, _ = velocities(model, X, S, nu)
    X_fi = frame_transform(place)
    X_fw = X_fi @ world_transforms(model, X)[place.body]
    return (viewpoint(X_fw, representation) @ (X_fi @ v[place.body])).entries()


def frame_acceleration(
    model: Model, q: Vector, nu: Vector, dnu: Vector, frame: str, representation: Representation
) -> list[Scalar]:
    """The rate of `frame_velocity` in the same representation."""
    place, model = model.frame(frame), model.in_representation(representation)
    X, S = joint_kinematics(model, q)
    v, vJ = velocities(model, X, S, nu)
    c = velocity_products(model, q, nu, v, vJ)
    a = accelerations(model, X, S, c, dnu, Motion.zero(WORLD))
    X_fi = frame_transform(place)
    X_fw = X_fi @ world_transforms(model, X)[place.body]
    v_f, a_f = X_fi @ v[place.body], X_fi @ a[place.body]
    return (viewpoint(X_fw, representation) @ (a_f + relative_twist(v_f, representation).cross(v_f))).entries()


def center_of_mass(model: Model, q: Vector) -> list[Scalar]:
    """The centre of mass in the world."""
    X, _ = joint_kinematics(model, q)
    h = subtree_first_moments(model, X)[WORLD]
    return list(scale(1.0 / model.mass, h)) if model.mass > 0.0 else [0.0, 0.0, 0.0]


def subtree_first_moments(model: Model, X: PerBody[Transform]) -> PerBody[tuple[Scalar, Scalar, Scalar]]:
    """Mass times centre of mass of every subtree, in the coordinates of its root body."""
    m: PerBody[Scalar] = {i: body.inertia.mass for i, body in enumerate(model.bodies)} | {WORLD: 0.0}
    h = {i: body.inertia.h for i, body in enumerate(model.bodies)} | {WORLD: ZERO}
    for i, p in model.tip_to_base():
        h[p] = add(h[p], add(X[i].E.inverse_apply(h[i]), scale(m[i], X[i].r)))
        m[p] = m[p] + m[i]
    return h


def center_of_mass_jacobian(model: Model, q: Vector) -> list[list[Scalar]]:
    """The 3 x nv matrix that takes nu to the velocity of the centre of mass in the world."""
    X, S = joint_kinematics(model, q)
    X_w = world_transforms(model, X)
    h = subtree_first_moments(model, X)
    m = _subtree_masses(model)
    columns: PerBody[list[list[Scalar]]] = {}
    for i, _ in model.base_to_tip():
        # The momentum of the subtree moving with an axis, over the mass of the robot, turned to the world.
        subtree = Inertia(m[i], h[i], (0.0,) * 6, i)
        per_mass = [scale(1.0 / model.mass, (subtree @ s).lin) for s in S[i].columns]
        columns[i] = [list(X_w[i].E.inverse_apply(x)) for x in per_mass]
    return model.gather_columns(columns, 3)


def _subtree_masses(model: Model) -> PerBody[float]:
    m = {i: body.inertia.mass for i, body in enumerate(model.bodies)} | {WORLD: 0.0}
    for i, p in model.tip_to_base():
        m[p] += m[i]
    return m


def frame_jacobian(model: Model, q: Vector, frame: str, representation: Representation) -> list[list[Scalar]]:
    """The 6 x nv matrix that takes nu to the twist of a frame, both in the same representation."""
    return jacobian(model.in_representation(representation), q, model.frame(frame), representation)


def jacobian(model: Model, q: Vector, place: FrameOf, representation: Representation) -> list[list[Scalar]]:
    """The same for the velocities of the model as it is."""
    X, S = joint_kinematics(model, q)
    X_fi = frame_transform(place)
    view = viewpoint(X_fi @ world_transforms(model, X)[place.body], representation)
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
    """The same for the velocities of the model as it is."""
    X, S = joint_kinematics(model, q)
    v, _ = velocities(model, X, S, nu)
    X_fi = frame_transform(place)
    view = viewpoint(X_fi @ world_transforms(model, X)[place.body], representation)
    v_f = X_fi @ v[place.body]
    drift = relative_twist(v_f, representation) - v_f
    columns: PerBody[list[list[Scalar]]] = {}
    X_fj = X_fi
    for j in model.path(place.body):
        moving = ring(model, j, q, nu)
        rates = []
        for k, s in enumerate(S[j].columns):
            own = v[j].cross(s) if moving is None else v[j].cross(s) + moving.columns[k]
            rates.append((view @ (X_fj @ own + drift.cross(X_fj @ s))).entries())
        columns[j] = rates
        X_fj = X_fj @ X[j]
    return model.gather_columns(columns, 6)
