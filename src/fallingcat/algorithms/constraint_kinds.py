"""More constraint rows: a distance, joints that are held or coupled, and user-defined rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fallingcat import scalar
from fallingcat.algorithms.configuration import integrate
from fallingcat.algorithms.constraint_frames import Relative, at, relative_pose
from fallingcat.algorithms.constraint_rows import Columns, Moving, RowDerivatives, Rows, Target, Unit
from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.posed import PerBody, Vector, common
from fallingcat.algorithms.vectors import plus, scaled, unit
from fallingcat.model.joints import JointModel
from fallingcat.model.model import WORLD, FrameOf, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion
from fallingcat.spatial.dual import Dual, lift, rates
from fallingcat.spatial.vec3 import ZERO, Vec, add, cross, dot, scale, sub


@dataclass(frozen=True)
class Distance(Rows):
    """Holds the distance l of the origins of two frames. With the unit vector n from a to b, and u and c of `constraint_frames`,

    l' = n . u,     l'' = n . c + (u . u - (n . u)^2) / l                                                     (1)
    """

    a: FrameOf
    b: FrameOf
    length: float | None = None
    """The distance that is held, in metres; None if it is given at run time."""

    @property
    def size(self) -> int:
        return 1

    @property
    def anchor_size(self) -> int:
        return 1 if self.length is None else 0

    def _between(self, m: Moving) -> tuple[Relative, Vec, Scalar]:
        """The unit vector from a to b in common coordinates, and the distance."""
        k = Relative.of(m, self.a, self.b)
        x = k.E.inverse_apply(relative_pose(m, self.a, self.b)[1])
        length = scalar.sqrt(dot(x, x))
        return k, scale(1.0 / length, x), length

    def anchor_at(self, model: Model, q: Vector) -> list[Scalar]:
        return [self._between(Moving.at_rest(common(model, q)))[2]] if self.length is None else []

    def units(self, m: Moving) -> list[Unit]:
        k, n, _ = self._between(m)
        w = Force(n, cross(k.p, n), m.r.root)
        return [Unit({i: f for i, f in ((self.b.body, w), (self.a.body, -w)) if i != WORLD}, {})]

    def velocity(self, m: Moving) -> list[Scalar]:
        k, n, _ = self._between(m)
        return [dot(n, at(k.V, k.p))]  # (1)

    def acceleration(self, m: Moving) -> list[Scalar]:
        k, n, length = self._between(m)
        u = at(k.V, k.p)
        c = add(at(k.A, k.p), cross(k.V.ang, u))
        return [dot(n, c) + (dot(u, u) - dot(n, u) * dot(n, u)) / length]  # (1)

    def violation(self, m: Moving, anchor: Vector) -> list[Scalar]:
        return [self._between(m)[2] - (anchor[0] if self.length is None else self.length)]

    def derivatives(self, m: Moving, columns: Columns, f: Vector, target: Target) -> RowDerivatives:
        (kp, kd), (k, n, length) = target.gains, self._between(m)
        u = at(k.V, k.p)
        c = add(at(k.A, k.p), cross(k.V.ang, u))
        across = dot(u, u) - dot(n, u) * dot(n, u)

        def change(dV: Motion, dA: Motion, dn: Vec = ZERO, dl: Scalar = 0.0) -> list[Scalar]:
            """d(l'' + kd l' + kp l), by (1)."""
            du = at(dV, k.p)
            dc = add(add(at(dA, k.p), cross(dV.ang, u)), cross(k.V.ang, du))
            rate = dot(n, du) + dot(dn, u)
            total = dot(n, dc) + kd * rate + 2.0 * (dot(u, du) - dot(n, u) * rate) / length
            return [total + dot(dn, c) - across * dl / (length * length) + kp * dl]

        def moved(s: Motion) -> tuple[Vec, Scalar]:
            """dn and dl, in axes that move with b: the vector from a to b changes by s at a's origin."""
            dx = sub(at(s, k.p), cross(s.ang, scale(length, n)))
            dl = dot(n, dx)
            return scale(1.0 / length, sub(dx, scale(dl, n))), dl

        moves = {j: [moved(x.S * sign) for x in columns[j]] for j, sign in k.sign.items()}
        dq = {j: [change(*k.change(j, x), *dx) for x, dx in zip(columns[j], moves[j], strict=True)] for j in k.sign}
        dnu = {j: [change(*k.change_with_velocity(j, x)) for x in columns[j]] for j in k.sign}
        changes = {j: [Force(dn, cross(k.p, dn), m.r.root) * f[0] for dn, _ in moves[j]] for j in k.sign}
        w = self.wrench(m, f).get(self.b.body, Force.zero(m.r.root))
        return RowDerivatives(dq, dnu, k.change_of_torques(m.r.S, w, changes))


# ---------------------------------------------------------------------------------------------------------------------
# Joints


@dataclass(frozen=True)
class HeldJoint(Rows):
    """All degrees of freedom of a joint are held at the configuration in the anchor, or follow a reference from there."""

    joint: int
    kind: JointModel

    @property
    def size(self) -> int:
        return self.kind.nv

    @property
    def anchor_size(self) -> int:
        return self.kind.nq

    def anchor_at(self, model: Model, q: Vector) -> list[Scalar]:
        return model.coordinates(self.joint, q)

    def units(self, m: Moving) -> list[Unit]:
        return [Unit({}, {self.joint: unit(self.size, k)}) for k in range(self.size)]

    def velocity(self, m: Moving) -> list[Scalar]:
        return m.r.speeds(self.joint, m.nu)

    def acceleration(self, m: Moving) -> list[Scalar]:
        return m.r.speeds(self.joint, m.dnu)

    def violation(self, m: Moving, anchor: Vector) -> list[Scalar]:
        return self._difference(m.r.model.coordinates(self.joint, m.r.q), anchor)

    def _difference(self, q: Sequence[Any], anchor: Vector) -> list[Any]:
        return self.kind.difference(anchor, q)

    def derivatives(self, m: Moving, columns: Columns, f: Vector, target: Target) -> RowDerivatives:
        (kp, kd), anchor, _ = target
        units = Matrix.identity(self.size)
        dq = Matrix.zero(self.size, self.size)
        if kp:
            q = m.r.model.coordinates(self.joint, m.r.q)
            moved = [self.kind.integrate(q, [Dual(0.0, x) for x in e]) for e in units]
            dq = kp * Matrix([rates(self._difference(x, anchor)) for x in moved], self.size)
        return RowDerivatives({self.joint: dq.rows}, {self.joint: (kd * units).rows}, {})


@dataclass(frozen=True)
class CoupledJoints(Rows):
    """The coordinate x of one joint is a polynomial of that of another, x = p(y) = c0 + c1 y + c2 y^2 + ...

    J nu = x' - p_1 y',     J dnu + drift = x'' - p_1 y'' - p_2 y'^2,     p_k the k-th derivative of p        (1)
    """

    joint: int
    other: int
    coefficients: tuple[float, ...]

    @property
    def size(self) -> int:
        return 1

    def _polynomials(self, m: Moving) -> list[Scalar]:
        """p and its first three derivatives at the coordinate of the other joint."""
        (y,) = m.r.model.coordinates(self.other, m.r.q)
        c = list(self.coefficients)
        found = []
        for _ in range(4):
            total: Scalar = 0.0
            for x in reversed(c):
                total = total * y + x
            found.append(total)
            c = [k * x for k, x in enumerate(c)][1:]
        return found

    def _pair(self, m: Moving, rates: Vector) -> tuple[Scalar, Scalar]:
        """The entries of `rates` (nv,) that belong to x and to y."""
        return m.r.speeds(self.joint, rates)[0], m.r.speeds(self.other, rates)[0]

    def units(self, m: Moving) -> list[Unit]:
        return [Unit({}, {self.joint: [1.0], self.other: [-self._polynomials(m)[1]]})]

    def velocity(self, m: Moving) -> list[Scalar]:
        dx, dy = self._pair(m, m.nu)
        return [dx - self._polynomials(m)[1] * dy]  # (1)

    def acceleration(self, m: Moving) -> list[Scalar]:
        (_, p1, p2, _), (_, dy), (ddx, ddy) = self._polynomials(m), self._pair(m, m.nu), self._pair(m, m.dnu)
        return [ddx - p1 * ddy - p2 * dy * dy]  # (1)

    def violation(self, m: Moving, anchor: Vector) -> list[Scalar]:
        return [m.r.model.coordinates(self.joint, m.r.q)[0] - self._polynomials(m)[0]]

    def derivatives(self, m: Moving, columns: Columns, f: Vector, target: Target) -> RowDerivatives:
        (kp, kd), (_, p1, p2, p3) = target.gains, self._polynomials(m)
        (_, dy), (_, ddy) = self._pair(m, m.nu), self._pair(m, m.dnu)
        by_y = p2 * ddy + p3 * dy * dy + kd * p2 * dy + kp * p1
        dq = {self.joint: [[kp]], self.other: [[-by_y]]}
        dnu = {self.joint: [[kd]], self.other: [[-(2.0 * p2 * dy) - kd * p1]]}
        return RowDerivatives(dq, dnu, {(self.other, self.other): [[-(p2 * f[0])]]})


# ---------------------------------------------------------------------------------------------------------------------
# User-defined rows


@dataclass(frozen=True)
class UserRows(Rows):
    """Rows whose violation is a function of q, differentiated by first-order numbers within first-order numbers."""

    function: Callable[[Sequence[Any]], Sequence[Any]]
    count: int

    @property
    def size(self) -> int:
        return self.count

    def _along(self, m: Moving, q: Sequence[Any], nu: Sequence[Any], dnu: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Velocity and acceleration of the rows: derivatives with t along q exp(nu t + dnu t^2 / 2)."""
        dx = [Dual(Dual(0.0, x), Dual(x, y)) for x, y in zip(nu, dnu, strict=True)]
        start = [Dual(Dual(x, 0.0), Dual(0.0, 0.0)) for x in q]
        values = [lift(x) for x in self.function(integrate(m.r.model, start, dx))]
        return [lift(x.rate).value for x in values], [lift(x.rate).rate for x in values]

    def _columns(self, m: Moving) -> list[list[Scalar]]:
        """J, by columns."""
        start = [Dual(x, 0.0) for x in m.r.q]  # q may be first-order numbers itself
        return [rates(self.function(_moved(m.r.model, start, k))) for k in range(m.r.model.nv)]

    def units(self, m: Moving) -> list[Unit]:
        J, model = self._columns(m), m.r.model
        return [Unit({}, {i: [J[k][row] for k in model.dofs(i)] for i in _joints(model)}) for row in range(self.count)]

    def velocity(self, m: Moving) -> list[Scalar]:
        return self._along(m, m.r.q, m.nu, [0.0] * m.r.model.nv)[0]

    def acceleration(self, m: Moving) -> list[Scalar]:
        return self._along(m, m.r.q, m.nu, m.dnu)[1]

    def violation(self, m: Moving, anchor: Vector) -> list[Scalar]:
        return list(self.function(m.r.q))

    def derivatives(self, m: Moving, columns: Columns, f: Vector, target: Target) -> RowDerivatives:
        (kp, kd), model, J = target.gains, m.r.model, self._columns(m)

        def by_q(k: int) -> list[Scalar]:
            velocity, acceleration = map(rates, self._along(m, _moved(model, m.r.q, k), m.nu, m.dnu))
            return plus(plus(acceleration, scaled(kd, velocity)), scaled(kp, J[k]))

        def by_nu(k: int) -> list[Scalar]:
            faster = [Dual(x, y) for x, y in zip(m.nu, unit(model.nv, k), strict=True)]
            velocity, acceleration = map(rates, self._along(m, m.r.q, faster, m.dnu))
            return plus(acceleration, scaled(kd, velocity))

        torques = [self._change_of_torques(m, _moved(model, m.r.q, k), f) for k in range(model.nv)]
        own = _joints(model)
        return RowDerivatives(
            {j: [by_q(k) for k in model.dofs(j)] for j in own},
            {j: [by_nu(k) for k in model.dofs(j)] for j in own},
            {(i, j): [[torques[k][row] for k in model.dofs(j)] for row in model.dofs(i)] for j in own for i in own},
        )

    def velocity_dq(self, m: Moving, columns: Columns) -> PerBody[Block]:
        model = m.r.model
        along = [rates(self._along(m, _moved(model, m.r.q, k), m.nu, m.dnu)[0]) for k in range(model.nv)]
        return {j: [along[k] for k in model.dofs(j)] for j in _joints(model)}

    def _change_of_torques(self, m: Moving, moved: Sequence[Any], f: Vector) -> list[Scalar]:
        """The rate of J^T f where the configuration is a first-order number."""
        start = [Dual(x, 0.0) for x in moved]
        columns = [rates(self.function(_moved(m.r.model, start, k))) for k in range(m.r.model.nv)]
        return rates([scalar.dot(column, f) for column in columns])


def _joints(model: Model) -> list[int]:
    """Independent joints (not mimics)."""
    return [i for i, body in enumerate(model.bodies) if not body.mimics]


def _moved(model: Model, q: Sequence[Any], k: int) -> list[Any]:
    """A configuration moved along the k-th velocity, to first order."""
    return integrate(model, q, [Dual(0.0, x) for x in unit(model.nv, k)])
