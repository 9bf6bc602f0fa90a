"""A robot at a configuration, in the coordinates its recursions run in, and the passes that all recursions share.

Coordinates are data: a recursion reads X, S, I and gravity here, and does not know which coordinates they are in.
    body(model, q)      everything about body i in the coordinates of body i; X[i] is X_ip
    common(model, q)    everything in the coordinates of the first body, where X is the identity and costs nothing
The world is a body like others, under the key WORLD; sums that end there and are not used drop out of the traced program.
Featherstone, Rigid Body Dynamics Algorithms (2008), Sec. 4.4, 5.3 and 6.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Inertia, Motion, Subspace, Transform
from fallingcat.spatial.principal import rotated
from fallingcat.spatial.transform import Identity
from fallingcat.spatial.vec3 import ZERO, add, mat, matvec, neg, scale, sub
from fallingcat.spatial.vectors import Frame

T = TypeVar("T")
PerBody = dict[int, T]
Vector = Sequence[Scalar]

COMMON = "common"
"""The tag of the common frame."""


class Wrenches(dict[int, Force]):
    """External wrenches, each in the coordinates of the body it acts on; zero on every other body."""

    def __missing__(self, i: int) -> Force:
        return Force.zero(i)


NO_FORCES = Wrenches()


@dataclass(frozen=True)
class Posed:
    """A robot at a configuration."""

    model: Model
    q: Vector
    X: PerBody[Transform]
    """The transform from the coordinates of the parent to those of the body."""
    S: PerBody[Subspace]
    """The axes of the joint."""
    I: PerBody[Inertia]
    gravity: Motion
    """-g in these coordinates, an acceleration of the world in place of gravity: inertial forces then contain the weight."""
    X_own: PerBody[Transform]
    """The transform from these coordinates to the body's own."""

    @property
    def root(self) -> Frame:
        """The frame in which quantities of the world are expressed."""
        return self.gravity.frame

    def speeds(self, i: int, nu: Vector) -> list[Scalar]:
        return self.model.speeds(i, nu)

    def from_body(self, i: int, m: Motion) -> Motion:
        """A motion that is given in the body's own coordinates, in these coordinates."""
        return self.X_own[i].inverse_times(m)

    def wrench(self, i: int, f: Force) -> Force:
        """A wrench that is given in the body's own coordinates, or in these already, in these coordinates."""
        return f if f.frame == self.root else self.X_own[i].T @ f

    def ring(self, i: int, nu: Vector) -> Subspace:
        """The rate of S[i] as seen in the body; zero for constant axes."""
        return Subspace(tuple(self.from_body(i, m) for m in ring(self.model, i, self.q, nu).columns), self.S[i].frame)


# ---------------------------------------------------------------------------------------------------------------------
# Coordinates


def joint_kinematics(model: Model, q: Vector) -> tuple[PerBody[Transform], PerBody[Subspace]]:
    """X[i] = X_ip and S[i] of every joint, in body coordinates."""
    X: PerBody[Transform] = {}
    S: PerBody[Subspace] = {}
    for i, p in model.base_to_tip():
        joint, pose, qi = model.bodies[i].joint, model.bodies[i].pose, model.coordinates(i, q)
        r = add(pose.position, matvec(mat(pose.rotation), joint.offset(qi)))
        X[i] = Transform(joint.rotation(qi, mat(pose.rotation)), r, i, p)
        S[i] = Subspace(tuple(Motion(lin, ang, i) for lin, ang in joint.columns(qi)), i)
    return X, S


def nearby_kinematics(model: Model, q: Vector) -> tuple[PerBody[Transform], PerBody[Subspace]]:
    """`joint_kinematics` with the origin of the world moved to the first body.

    Results that do not depend on the origin should not lose digits far from it: rounding would grow with the distance squared.
    """
    X, S = joint_kinematics(model, q)
    origin = X[0].r if X else ZERO
    for i in (i for i, p in model.base_to_tip() if p == WORLD):
        X[i] = Transform(X[i].E, sub(X[i].r, origin), i, WORLD)
    return X, S


def ring(model: Model, i: int, q: Vector, nu: Vector) -> Subspace:
    """The rate of S[i] as seen in the body (paper 001's ring), in body coordinates."""
    body = model.bodies[i]
    columns = body.joint.ring(model.coordinates(i, q), model.speeds(i, nu))
    return Subspace(tuple(Motion(lin, ang, i) for lin, ang in columns), i)


def gravity_acceleration(model: Model) -> Motion:
    """-g in the coordinates of the world."""
    return Motion(neg(model.gravity), ZERO, WORLD)


def body(model: Model, q: Vector) -> Posed:
    """Every body in its own coordinates, the world with its origin at the first one."""
    X, S = nearby_kinematics(model, q)
    I = {i: body.inertia for i, body in enumerate(model.bodies)}
    own: PerBody[Transform] = {i: Identity.between(i, i) for i in range(WORLD, len(model.bodies))}
    return Posed(model, q, X, S, I, gravity_acceleration(model), own)


def common(model: Model, q: Vector) -> Posed:
    """Every body in the coordinates of the first one.

    The axes of a floating base are unit vectors then, and its pose enters through gravity alone.
    """
    X_ip, S_i = nearby_kinematics(model, q)
    first = Identity.between(0, COMMON)
    X: PerBody[Transform] = {WORLD: X_ip.get(0, Identity.between(0, WORLD)).inverse() @ first}
    S: PerBody[Subspace] = {}
    I: PerBody[Inertia] = {}
    for i, p in model.base_to_tip():
        X[i] = X_ip[i] @ X[p] if i > 0 else first
        S[i] = Subspace(tuple(X[i].inverse_times(s) for s in S_i[i].columns), COMMON)
        I[i] = _moved(X[i], model.bodies[i].inertia)
    here = Identity.between(COMMON, COMMON)
    return Posed(model, q, dict.fromkeys(S, here), S, I, X[WORLD].inverse_times(gravity_acceleration(model)), X)


def _moved(X: Transform, inertia: Inertia) -> Inertia:
    """X^T I X through the centre of mass, which is a constant of the body: fewer operations than about the origin."""
    if isinstance(inertia.mass, float) and inertia.mass > 0.0:
        com = scale(1.0 / inertia.mass, inertia.h)
        about_com = inertia.about_com()
        constant = all(type(x) is float for x in about_com)
        turned = rotated(X.E, about_com) if constant else X.E.inverse_conjugate(about_com)
        return Inertia.from_com(inertia.mass, X.point(com), turned, X.b)
    return X.T @ inertia


# ---------------------------------------------------------------------------------------------------------------------
# Passes


def velocities(r: Posed, nu: Vector) -> PerBody[Motion]:
    """v[i], the twist of body i."""
    v: PerBody[Motion] = {WORLD: Motion.zero(r.root)}
    for i, p in r.model.base_to_tip():
        v[i] = r.X[i] @ v[p] + r.S[i] @ r.speeds(i, nu)
    return v


def velocity_products(r: Posed, nu: Vector, v: PerBody[Motion]) -> PerBody[Motion]:
    """c[i] = v x (S nu) + ring nu, the part of a[i] that is quadratic in the velocity; what S nu itself adds to v drops out."""
    c: PerBody[Motion] = {}
    for i, p in r.model.base_to_tip():
        speeds, carried = r.speeds(i, nu), r.X[i] @ v[p]
        c[i] = r.S[i].turned_by(carried) @ speeds + r.ring(i, nu) @ speeds
    return c


def accelerations(r: Posed, c: PerBody[Motion], dnu: Vector, a_world: Motion) -> PerBody[Motion]:
    """a[i], the spatial acceleration of body i, when the world accelerates with a_world; `r.gravity` stands for gravity."""
    a: PerBody[Motion] = {WORLD: a_world}
    for i, p in r.model.base_to_tip():
        a[i] = r.X[i] @ a[p] + r.S[i] @ r.speeds(i, dnu) + c[i]
    return a


def motions(r: Posed, nu: Vector, dnu: Vector, a_world: Motion) -> tuple[PerBody[Motion], PerBody[Motion]]:
    """v[i] and a[i] of every body, when the world accelerates with a_world."""
    v = velocities(r, nu)
    return v, accelerations(r, velocity_products(r, nu, v), dnu, a_world)


def inwards(r: Posed, *totals: PerBody[Any], bodies: Iterable[int] | None = None) -> Iterator[int]:
    """Yields every body from the tips to the base, and after each adds its entry of every total to that of its parent."""
    for i in bodies if bodies is not None else reversed(range(len(r.model.bodies))):
        yield i
        p = r.model.bodies[i].parent
        for total in totals:
            total[p] = total[p] + r.X[i].T @ total[i]


def subtree_sums(r: Posed, parts: Mapping[int, T], world: T) -> PerBody[T]:
    """Sums of `parts` (inertias, wrenches, ...) over every body and all that it carries; under WORLD, over the whole robot."""
    total = {WORLD: world, **parts}
    for _ in inwards(r, total):
        pass
    return total


def composite_inertias(r: Posed) -> PerBody[Inertia]:
    """Ic[i]: the inertia of body i and all that it carries, with the joints locked."""
    return subtree_sums(r, r.I, Inertia.zero(r.root))


def axis_rates(r: Posed, i: int, nu: Vector, v: PerBody[Motion]) -> list[Motion]:
    """Sd = v x S + ring (paper 001, below eq. 16)."""
    carried = r.X[i] @ v[r.model.bodies[i].parent]
    rates = r.S[i].carried_along(carried, r.speeds(i, nu))
    return [a + b for a, b in zip(rates.columns, r.ring(i, nu).columns, strict=True)]
