"""Constraint rows between two frames.

Frame b moves relative to frame a (on a body, or the world), with the twists v_a, v_b and accelerations a_a, a_b of the bodies, by

    V = v_b - v_a,     A = a_b - a_a - v_a x V,          the motion of b relative to a                       (1)
    u = V(p),          c = A(p) + V.ang x V(p),          velocity and acceleration of the point p of b        (2)

where m(p) = m.lin + m.ang x p. A row is the component of c, or of A.ang, along a direction that is fixed in a. The wrench of a
unit force is (d; p x d) on b and its negative on a. Derivatives are taken in axes that move with b: when joint j moves along S
and carries b alone (or a alone: minus that; both: nothing), with Pd, Pdd, Sd of `rnea_derivatives`,

    dV/dq = Pd + S x v_a,   dA/dq = Pdd + S x a_a + dV/dq x v_b + Pd x v_a                                   (3)
    dV/dnu = S,             dA/dnu = Pd + Sd + S x (v_a + v_b)                                               (4)

There the wrench w on b changes by some dw, and that on a by -(dw + S x w). A joint feels what acts on the bodies it carries:

    d(S_i^T J^T f) = S_i^T dw  (b alone),   -S_i^T (dw + S x w)  (a alone),   -S_i^T (S x w)  (both)           (5)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from fallingcat.algorithms.constraint_rows import Blocks, Columns, Gains, Moving, RowDerivatives, Rows, Target, Unit
from fallingcat.algorithms.dense import Block
from fallingcat.algorithms.kinematics import frame_transform, joint_kinematics
from fallingcat.algorithms.posed import PerBody, Posed, Vector, common
from fallingcat.algorithms.rnea_derivatives import AxisColumns
from fallingcat.algorithms.vectors import minus, plus, scaled
from fallingcat.model.description import Pose
from fallingcat.model.model import WORLD, FrameOf, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion, Subspace, so3
from fallingcat.spatial.rotation import Rotation
from fallingcat.spatial.vec3 import (
    IDENTITY,
    ZERO,
    Mat,
    Vec,
    add,
    cross,
    dot,
    mat,
    matmul,
    matvec,
    neg,
    scale,
    sub,
    transpose,
    vec,
)

ALL: tuple[Vec, ...] = IDENTITY
"""The three directions of a block, which constrains a whole vector."""


@dataclass(frozen=True)
class Relative:
    """The motion of frame b relative to frame a, in common coordinates."""

    E: Rotation
    """The rotation from common coordinates to the axes of a."""
    p: Vec
    """The origin of b, in common coordinates."""
    v_a: Motion
    v_b: Motion
    V: Motion
    A: Motion
    a_a: Motion
    sign: PerBody[float]
    """For each joint: 1 if it carries b but not a, -1 if a but not b; absent if it carries both or neither."""
    carries_a: frozenset[int]
    """Joints that carry a."""

    @staticmethod
    def of(m: Moving, a: FrameOf, b: FrameOf) -> Relative:
        r = m.r
        to_a, to_b = _place(r, a), _place(r, b)
        under_a, under_b = set(r.model.path(a.body)), set(r.model.path(b.body))
        sign = {j: 1.0 if j in under_b else -1.0 for j in sorted(under_a ^ under_b)}
        v_a, v_b, a_a, a_b = m.v[a.body], m.v[b.body], m.a[a.body], m.a[b.body]
        V = v_b - v_a
        return Relative(to_a[0], to_b[1], v_a, v_b, V, a_b - a_a - v_a.cross(V), a_a, sign, frozenset(under_a))  # (1)

    def directions(self, fixed: Sequence[Vec]) -> list[Vec]:
        """Directions that are fixed in a, in common coordinates; a block of all three stays in the common axes."""
        return list(ALL) if fixed == ALL else [self.E.inverse_apply(d) for d in fixed]

    def change(self, j: int, x: AxisColumns) -> tuple[Motion, Motion]:
        """dV and dA in axes that move with b, when joint j moves along an axis."""
        dV = x.Pd + x.S.cross(self.v_a)
        dA = x.Pdd + x.S.cross(self.a_a) + dV.cross(self.v_b) + x.Pd.cross(self.v_a)  # (3)
        return dV * self.sign[j], dA * self.sign[j]

    def change_with_velocity(self, j: int, x: AxisColumns) -> tuple[Motion, Motion]:
        """dV/dnu and dA/dnu along one axis of joint j, in common coordinates (4)."""
        return x.S * self.sign[j], (x.PdSd + x.S.cross(self.v_a + self.v_b)) * self.sign[j]  # (4)

    def change_of_torques(self, S: PerBody[Subspace], w: Force, changes: PerBody[list[Force]]) -> Blocks:
        """The blocks (5), from the wrench w on b and its changes dw in axes that move with b, one for each axis of a joint."""
        blocks: Blocks = {}
        for j, dw in changes.items():
            turned = [(s * self.sign[j]).cross(w) for s in S[j].columns]
            on_a = [-(x + y) for x, y in zip(dw, turned, strict=True)]
            effects = {1.0: dw, -1.0: on_a, 0.0: [-x for x in turned]}
            for i in {*self.sign, *self.carries_a}:
                blocks[i, j] = [[s @ x for x in effects[self.sign.get(i, 0.0)]] for s in S[i].columns]  # (5)
        return blocks


def _place(r: Posed, frame: FrameOf) -> tuple[Rotation, Vec]:
    """The rotation from common coordinates to a frame's, and its origin in them."""
    X = frame_transform(frame) @ r.X_own[frame.body]
    return X.E, X.r


def origin_of_world(r: Posed) -> Vec:
    """The position of the first body in the world, (3,), which the recursions take as the world's origin."""
    X = joint_kinematics(r.model, r.q)[0]
    return X[0].r if X else ZERO


def relative_pose(m: Moving, a: FrameOf, b: FrameOf) -> tuple[Mat, Vec]:
    """The pose of b in a: R_ab, and the origin of b in a."""
    (E_a, p_a), (E_b, p_b) = _place(m.r, a), _place(m.r, b)
    between = E_a.apply(sub(p_b, p_a))
    if a.body == WORLD:  # the recursions have their own origin of the world
        between = add(between, matvec(transpose(mat(a.pose.rotation)), origin_of_world(m.r)))
    return (E_a @ E_b.inverse()).matrix(), between


def at(m: Motion, p: Vec) -> Vec:
    """The linear part of a motion at the point p, (3,)."""
    return add(m.lin, cross(m.ang, p))


@dataclass(frozen=True)
class Between(Rows):
    """Holds components of the motion of b relative to a at zero: of its origin along `linear`, of its turning along `angular`."""

    a: FrameOf
    b: FrameOf
    linear: tuple[Vec, ...] = ALL
    """Unit directions of the translation rows, fixed in a."""
    angular: tuple[Vec, ...] = ()
    pose: Pose | None = None
    """The pose of b in a at which the constraint holds; None if it is given at run time."""
    has_arm: ClassVar[bool] = False
    """Is the constrained point another one than the origin of b?"""

    @property
    def size(self) -> int:
        return len(self.linear) + len(self.angular)

    @property
    def anchor_size(self) -> int:
        return 0 if self.pose is not None else 12 if self.angular else 3

    def anchor_at(self, model: Model, q: Vector) -> list[Scalar]:
        if self.pose is not None:
            return []
        R, p = relative_pose(Moving.at_rest(common(model, q)), self.a, self.b)
        return [*p, *(x for row in R for x in row)][: self.anchor_size]

    def _goal(self, anchor: Vector) -> tuple[Mat, Vec]:
        if self.pose is not None:
            return mat(self.pose.rotation), self.pose.position
        return (mat([anchor[3:6], anchor[6:9], anchor[9:12]]) if self.angular else IDENTITY), vec(anchor)

    def _arm(self, k: Relative) -> Vec:
        """The vector from the origin of b to the constrained point, in common coordinates."""
        return ZERO

    def units(self, m: Moving) -> list[Unit]:
        k = Relative.of(m, self.a, self.b)
        p = add(k.p, self._arm(k))
        wrenches = [Force(d, cross(p, d), m.r.root) for d in k.directions(self.linear)]
        wrenches += [Force(ZERO, d, m.r.root) for d in k.directions(self.angular)]
        return [self._unit(w) for w in wrenches]

    def _unit(self, w: Force) -> Unit:
        pair = {self.b.body: w, self.a.body: -w}
        return Unit({i: f for i, f in pair.items() if i != WORLD}, {})

    def velocity(self, m: Moving) -> list[Scalar]:
        k = Relative.of(m, self.a, self.b)
        return self._components(k, at(k.V, add(k.p, self._arm(k))), k.V.ang)

    def acceleration(self, m: Moving) -> list[Scalar]:
        k = Relative.of(m, self.a, self.b)
        return self._components(k, self._point_acceleration(k), k.A.ang)

    def _point_acceleration(self, k: Relative) -> Vec:
        # (2); the arm does not turn with b: where there is one, the point moves like the origin of b
        return add(at(k.A, add(k.p, self._arm(k))), cross(k.V.ang, at(k.V, k.p)))

    def _components(self, k: Relative, lin: Vec, ang: Vec) -> list[Scalar]:
        """(size,): the components of a linear and an angular vector along the directions of the rows."""
        parts = ((lin, self.linear), (ang, self.angular))
        return [x for y, fixed in parts for x in (y if fixed == ALL else [dot(d, y) for d in k.directions(fixed)])]

    def _each_block(self, x: Vector, of_block: Callable[[Vec], Vec], single: float) -> list[Scalar]:
        """(size,): `of_block` applied to every block of three rows; rows along single directions are multiplied by `single`."""
        cut = len(self.linear)
        parts = ((list(x[:cut]), self.linear), (list(x[cut:]), self.angular))
        return [y for part, fixed in parts for y in (of_block(vec(part)) if fixed == ALL else scaled(single, part))]

    def violation(self, m: Moving, anchor: Vector) -> list[Scalar]:
        R, p = relative_pose(m, self.a, self.b)
        R_goal, p_goal = self._goal(anchor)
        lin = self._lin_violation(sub(p, p_goal))
        turned = matmul(R, transpose(R_goal)) if self.angular else IDENTITY
        return [dot(d, lin) for d in self.linear] + self._ang_violation(turned)

    def _lin_violation(self, x: Vec) -> Vec:
        return x

    def _ang_violation(self, R: Mat) -> list[Scalar]:
        """The violation of a rotation R, in a: components of log R, or for a hinge the error of its axis n, t . (n x R n)."""
        if len(self.angular) != 2:
            phi = so3.log(R) if self.angular else ZERO
            return [dot(t, phi) for t in self.angular]
        n = cross(*self.angular)
        return [dot(t, cross(n, matvec(R, n))) for t in self.angular]

    def to_local(self, m: Moving, x: Vector) -> list[Scalar]:
        return self._each_block(x, _place(m.r, self.a)[0].apply, single=1.0)

    def from_local(self, m: Moving, x: Vector) -> list[Scalar]:
        return self._each_block(x, _place(m.r, self.a)[0].inverse_apply, single=1.0)

    def turning_of_axes(self, m: Moving, f: Vector) -> PerBody[Block]:
        k = Relative.of(m, self.a, self.b)

        def turned(w: Vec) -> list[Scalar]:
            return self._each_block(f, lambda x: k.E.apply(cross(w, x)), single=0.0)

        return {j: [turned(scale(sign, s.ang)) for s in m.r.S[j].columns] for j, sign in k.sign.items()}

    # -----------------------------------------------------------------------------------------------------------------
    # Derivatives, in axes that move with b: there its wrench stays, and so does the point

    def derivatives(self, m: Moving, columns: Columns, f: Vector, target: Target) -> RowDerivatives:
        k = Relative.of(m, self.a, self.b)
        dq = {j: [self._dq(m, k, j, x, target) for x in columns[j]] for j in k.sign}
        dnu = {j: [self._dnu(k, j, x, target.gains) for x in columns[j]] for j in k.sign}
        return RowDerivatives(dq, dnu, self._change_of_torques(m, k, f))

    def _dc(self, k: Relative, dV: Motion, dA: Motion, gains: Gains, turn: Vec) -> tuple[Vec, Vec]:
        """The change of c + kd u and of A.ang + kd V.ang; `turn` is the rotation of b relative to a, which turns the arm."""
        arm = self._arm(k)
        p, dp = add(k.p, arm), neg(cross(turn, arm))
        dc = add(add(at(dA, p), cross(dV.ang, at(k.V, k.p))), add(cross(k.V.ang, at(dV, k.p)), cross(k.A.ang, dp)))
        du = add(at(dV, p), cross(k.V.ang, dp))
        return add(dc, scale(gains.kd, du)), add(dA.ang, scale(gains.kd, dV.ang))

    def _dnu(self, k: Relative, j: int, x: AxisColumns, gains: Gains) -> list[Scalar]:
        return self._components(k, *self._dc(k, *k.change_with_velocity(j, x), gains, ZERO))

    def _dq(self, m: Moving, k: Relative, j: int, x: AxisColumns, target: Target) -> list[Scalar]:
        (kp, kd), anchor, reference = target
        s = x.S * k.sign[j]
        lin = add(self._point_acceleration(k), scale(kd, at(k.V, add(k.p, self._arm(k)))))
        ang = add(k.A.ang, scale(kd, k.V.ang))
        # directions that are fixed in a turn backwards in these axes, and so do vectors that are fixed in a
        total = self._components(k, *self._dc(k, *k.change(j, x), target.gains, s.ang))
        total = minus(total, self._turned_components(k, lin, ang, s.ang))
        if kp:
            total = plus(total, scaled(kp, self._violation_dq(m, k, s, anchor)))
        return total if reference is None else plus(total, self._cross_blocks(s.ang, self.from_local(m, reference)))

    def _turned_components(self, k: Relative, lin: Vec, ang: Vec, turn: Vec) -> list[Scalar]:
        """(turn x d) . y for rows along single directions d, zero for blocks."""
        parts = ((lin, self.linear), (ang, self.angular))
        return [0.0 if fixed == ALL else dot(cross(turn, d), y) for y, fixed in parts for d in k.directions(fixed)]

    def _cross_blocks(self, turn: Vec, x: Vector) -> list[Scalar]:
        """turn x (block) for blocks, zero for rows along single directions."""
        return self._each_block(x, lambda y: cross(turn, y), single=0.0)

    def _violation_dq(self, m: Moving, k: Relative, s: Motion, anchor: Vector) -> list[Scalar]:
        """The change of the violation when b moves by s relative to a, turned from a to the axes that move with b."""
        lin, ang = k.E.apply(at(s, k.p)), k.E.apply(s.ang)
        rates = [dot(d, self._lin_violation(lin)) for d in self.linear]
        if self.angular:
            R = matmul(relative_pose(m, self.a, self.b)[0], transpose(self._goal(anchor)[0]))
            if len(self.angular) == 2:
                n = cross(*self.angular)
                rates += [dot(t, cross(n, cross(ang, matvec(R, n)))) for t in self.angular]
            else:
                turned = matvec(so3.left_jacobian_inverse(so3.log(R)), ang)
                rates += [dot(t, turned) for t in self.angular]
        held = self._cross_blocks(s.ang, self.from_local(m, self.violation(m, anchor)))
        return minus(self.from_local(m, rates), held)

    def _change_of_torques(self, m: Moving, k: Relative, f: Vector) -> Blocks:
        """The changes (5) of the torques; none if the constraint force is a wrench that moves with b."""
        blocks_only = self.linear == ALL and self.angular in ((), ALL) and not self.has_arm
        if blocks_only and self.a.body == WORLD:
            return {}
        w = self.wrench(m, f).get(self.b.body, Force.zero(m.r.root))
        turns = {j: [scale(sign, s.ang) for s in m.r.S[j].columns] for j, sign in k.sign.items()}
        changes = {j: [self._change_of_wrench(m, k, f, turn) for turn in turns[j]] for j in k.sign}
        return k.change_of_torques(m.r.S, w, changes)

    def _change_of_wrench(self, m: Moving, k: Relative, f: Vector, turn: Vec) -> Force:
        """The change of the wrench on b, in axes that move with b, when b turns relative to a."""
        arm, cut = self._arm(k), len(self.linear)
        p, dp = add(k.p, arm), neg(cross(turn, arm))
        total = Force.zero(m.r.root)
        for d, x in zip(k.directions(self.linear), f[:cut], strict=True):
            dd = ZERO if self.linear == ALL else neg(cross(turn, d))
            total = total + Force(dd, add(cross(p, dd), cross(dp, d)), m.r.root) * x
        for d, x in zip(k.directions(self.angular), f[cut:], strict=True):
            dd = ZERO if self.angular == ALL else neg(cross(turn, d))
            total = total + Force(ZERO, dd, m.r.root) * x
        return total


@dataclass(frozen=True)
class Rolling(Between):
    """A ball with its centre at the origin of b rolls on a plane of a without slipping: its lowest point does not move."""

    radius: float = 0.0
    normal: Vec = (0.0, 0.0, 1.0)
    """The unit normal of the plane, in a."""
    has_arm: ClassVar[bool] = True

    def _arm(self, k: Relative) -> Vec:
        return k.E.inverse_apply(scale(-self.radius, self.normal))

    def _lin_violation(self, x: Vec) -> Vec:
        """The height above the plane alone: a displacement along the plane, from rolling, is no violation."""
        return scale(dot(self.normal, x), self.normal)
