"""More constraint rows: a distance, joints that are held or coupled, and rows of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fallingcat import scalar
from fallingcat.algorithms.configuration import integrate
from fallingcat.algorithms.constraint_frames import Relative, at, relative_pose, sum_of
from fallingcat.algorithms.constraint_rows import Block, Gains, Moving, RowDerivatives, Rows, Unit
from fallingcat.algorithms.posed import PerBody, Vector, common
from fallingcat.algorithms.rnea_derivatives import AxisColumns
from fallingcat.model.joints import JointModel
from fallingcat.model.model import WORLD, FrameOf, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force
from fallingcat.spatial.dual import Dual, lift, rates
from fallingcat.spatial.vec3 import Vec, add, cross, dot, scale, sub


@dataclass(frozen=True)
class Distance(Rows):
    """The distance of the origins of two frames stays: n . c + (u.u - (n.u)^2) / l, with n the unit vector between them."""

    a: FrameOf
    b: FrameOf
    length: float | None = None
    """Where it holds; None if it is given at run time."""

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
        return [dot(n, at(k.V, k.p))]

    def acceleration(self, m: Moving) -> list[Scalar]:
        k, n, length = self._between(m)
        u = at(k.V, k.p)
        c = add(at(k.A, k.p), cross(k.V.ang, u))
        return [dot(n, c) + (dot(u, u) - dot(n, u) * dot(n, u)) / length]

    def violation(self, m: Moving, anchor: Vector) -> list[Scalar]:
        return [self._between(m)[2] - (anchor[0] if self.length is None else self.length)]

    def derivatives(
        self,
        m: Moving,
        columns: PerBody[list[AxisColumns]],
        f: Vector,
        gains: Gains,
        anchor: Vector,
        reference: Vector | None,
    ) -> RowDerivatives:
        k, n, length = self._between(m)
        u = at(k.V, k.p)
        c = add(at(k.A, k.p), cross(k.V.ang, u))
        across = dot(u, u) - dot(n, u) * dot(n, u)
        dq: PerBody[Block] = {}
        dnu: PerBody[Block] = {}
        turned: PerBody[list[Vec]] = {}
        for j, sign in k.sign.items():
            dq[j], dnu[j], turned[j] = [], [], []
            for x in columns[j]:
                s = x.S * sign
                # the vector from a to b changes by s at a's origin, in axes that move with b
                dx = sub(at(s, k.p), cross(s.ang, scale(length, n)))
                dl = dot(n, dx)
                dn = scale(1.0 / length, sub(dx, scale(dl, n)))
                for (dV, dA), moved, into in ((k.change(j, x), True, dq[j]), (k.change_with_velocity(j, x), False, dnu[j])):
                    du = at(dV, k.p)
                    dc = add(add(at(dA, k.p), cross(dV.ang, u)), cross(k.V.ang, du))
                    along = dot(n, du) + (dot(dn, u) if moved else 0.0)
                    change = dot(n, dc) + gains.kd * along + 2.0 * (dot(u, du) - dot(n, u) * along) / length
                    if moved:
                        change = change + dot(dn, c) - across * dl / (length * length) + gains.kp * dl
                    into.append([change])
                turned[j].append(dn)
        return RowDerivatives(dq, dnu, self._change_of_torques(m, k, turned, f))

    def _change_of_torques(self, m: Moving, k: Relative, turned: PerBody[list[Vec]], f: Vector) -> dict[tuple[int, int], Block]:
        w = sum_of(self.units(m), f, self.b.body, m.r) if self.b.body != WORLD else Force.zero(m.r.root)
        blocks: dict[tuple[int, int], Block] = {}
        for j, sign in k.sign.items():
            changes = [Force(dn, cross(k.p, dn), m.r.root) * f[0] for dn in turned[j]]
            on_a = [dw + (s * sign).cross(w) for dw, s in zip(changes, m.r.S[j].columns, strict=True)]
            for i in {*k.sign, *k.carries_a}:
                if k.sign.get(i, 0.0) > 0.0:
                    effects = changes
                elif i in k.sign:
                    effects = [-x for x in on_a]
                else:
                    effects = [dw - x for dw, x in zip(changes, on_a, strict=True)]
                blocks[i, j] = [[s @ x for x in effects] for s in m.r.S[i].columns]
        return blocks


# ---------------------------------------------------------------------------------------------------------------------
# Joints


@dataclass(frozen=True)
class Held(Rows):
    """All degrees of freedom of a joint are held where the anchor says, or follow a reference from there."""

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
        return [Unit({}, {self.joint: [1.0 if i == k else 0.0 for i in range(self.size)]}) for k in range(self.size)]

    def velocity(self, m: Moving) -> list[Scalar]:
        return m.r.speeds(self.joint, m.nu)

    def acceleration(self, m: Moving) -> list[Scalar]:
        return m.r.speeds(self.joint, m.dnu)

    def violation(self, m: Moving, anchor: Vector) -> list[Scalar]:
        return self._off(m.r.model.coordinates(self.joint, m.r.q), anchor)

    def _off(self, q: Sequence[Any], anchor: Vector) -> list[Any]:
        return self.kind.difference(anchor, q)

    def derivatives(
        self,
        m: Moving,
        columns: PerBody[list[AxisColumns]],
        f: Vector,
        gains: Gains,
        anchor: Vector,
        reference: Vector | None,
    ) -> RowDerivatives:
        joint, n = self.kind, self.size
        unit = [[1.0 if i == k else 0.0 for i in range(n)] for k in range(n)]
        dq: Block = [[0.0] * n for _ in range(n)]
        if gains.kp:
            q = m.r.model.coordinates(self.joint, m.r.q)
            moved = [joint.integrate(q, [Dual(0.0, x) for x in e]) for e in unit]
            dq = [[gains.kp * x for x in rates(self._off(x, anchor))] for x in moved]
        return RowDerivatives({self.joint: dq}, {self.joint: [[gains.kd * x for x in e] for e in unit]}, {})


@dataclass(frozen=True)
class Coupled(Rows):
    """The coordinate of one joint is a polynomial of another's: x = c0 + c1 y + c2 y^2 + ..."""

    joint: int
    other: int
    coefficients: tuple[float, ...]

    @property
    def size(self) -> int:
        return 1

    def _polynomials(self, m: Moving) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """It and its first three derivatives at the other joint."""
        (y,) = m.r.model.coordinates(self.other, m.r.q)
        c = list(self.coefficients)
        found = []
        for _ in range(4):
            total: Scalar = 0.0
            for x in reversed(c):
                total = total * y + x
            found.append(total)
            c = [k * x for k, x in enumerate(c)][1:]
        return found[0], found[1], found[2], found[3]

    def units(self, m: Moving) -> list[Unit]:
        return [Unit({}, {self.joint: [1.0], self.other: [-self._polynomials(m)[1]]})]

    def velocity(self, m: Moving) -> list[Scalar]:
        return [m.r.speeds(self.joint, m.nu)[0] - self._polynomials(m)[1] * m.r.speeds(self.other, m.nu)[0]]

    def acceleration(self, m: Moving) -> list[Scalar]:
        _, slope, bend, _ = self._polynomials(m)
        y = m.r.speeds(self.other, m.nu)[0]
        return [m.r.speeds(self.joint, m.dnu)[0] - slope * m.r.speeds(self.other, m.dnu)[0] - bend * y * y]

    def violation(self, m: Moving, anchor: Vector) -> list[Scalar]:
        return [m.r.model.coordinates(self.joint, m.r.q)[0] - self._polynomials(m)[0]]

    def derivatives(
        self,
        m: Moving,
        columns: PerBody[list[AxisColumns]],
        f: Vector,
        gains: Gains,
        anchor: Vector,
        reference: Vector | None,
    ) -> RowDerivatives:
        _, slope, bend, third = self._polynomials(m)
        y, dy = m.r.speeds(self.other, m.nu)[0], m.r.speeds(self.other, m.dnu)[0]
        by_y = bend * dy + third * y * y + gains.kd * bend * y + gains.kp * slope
        dq = {self.joint: [[gains.kp]], self.other: [[-by_y]]}
        dnu = {self.joint: [[gains.kd]], self.other: [[-(2.0 * bend * y) - gains.kd * slope]]}
        return RowDerivatives(dq, dnu, {(self.other, self.other): [[-(bend * f[0])]]})


# ---------------------------------------------------------------------------------------------------------------------
# One's own


@dataclass(frozen=True)
class Own(Rows):
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
        nv = m.r.model.nv
        units = [[Dual(0.0, 1.0 if i == k else 0.0) for i in range(nv)] for k in range(nv)]
        start = [Dual(x, 0.0) for x in m.r.q]  # q may be first-order numbers itself
        return [rates(self.function(integrate(m.r.model, start, e))) for e in units]

    def units(self, m: Moving) -> list[Unit]:
        J = self._columns(m)
        own = [i for i, body in enumerate(m.r.model.bodies) if not body.mimics]
        return [Unit({}, {i: [J[k][row] for k in m.r.model.dofs(i)] for i in own}) for row in range(self.count)]

    def velocity(self, m: Moving) -> list[Scalar]:
        return self._along(m, m.r.q, m.nu, [0.0] * m.r.model.nv)[0]

    def acceleration(self, m: Moving) -> list[Scalar]:
        return self._along(m, m.r.q, m.nu, m.dnu)[1]

    def violation(self, m: Moving, anchor: Vector) -> list[Scalar]:
        return list(self.function(m.r.q))

    def derivatives(
        self,
        m: Moving,
        columns: PerBody[list[AxisColumns]],
        f: Vector,
        gains: Gains,
        anchor: Vector,
        reference: Vector | None,
    ) -> RowDerivatives:
        model = m.r.model
        own = [i for i, body in enumerate(model.bodies) if not body.mimics]
        J = self._columns(m)
        dq: PerBody[Block] = {}
        dnu: PerBody[Block] = {}
        torques: dict[tuple[int, int], Block] = {}
        for j in own:
            dq[j], dnu[j] = [], []
            changes = []
            for k in model.dofs(j):
                e = [1.0 if i == k else 0.0 for i in range(model.nv)]
                moved = self._moved(m, k)
                velocity, acceleration = self._along(m, moved, m.nu, m.dnu)
                pairs = zip(rates(acceleration), rates(velocity), J[k], strict=True)
                dq[j].append([x + gains.kd * y + gains.kp * z for x, y, z in pairs])
                faster = [Dual(x, y) for x, y in zip(m.nu, e, strict=True)]
                velocity, acceleration = self._along(m, m.r.q, faster, m.dnu)
                dnu[j].append([x + gains.kd * y for x, y in zip(rates(acceleration), rates(velocity), strict=True)])
                changes.append(self._turned_torques(m, moved, f))
            for i in own:
                torques[i, j] = [[change[k] for change in changes] for k in model.dofs(i)]
        return RowDerivatives(dq, dnu, torques)

    def velocity_dq(self, m: Moving, columns: PerBody[list[AxisColumns]]) -> PerBody[Block]:
        model = m.r.model
        own = [i for i, body in enumerate(model.bodies) if not body.mimics]
        return {j: [rates(self._along(m, self._moved(m, k), m.nu, m.dnu)[0]) for k in model.dofs(j)] for j in own}

    def _moved(self, m: Moving, k: int) -> list[Any]:
        """The configuration moved along the k-th velocity, to first order."""
        return integrate(m.r.model, m.r.q, [Dual(0.0, 1.0 if i == k else 0.0) for i in range(m.r.model.nv)])

    def _turned_torques(self, m: Moving, moved: Sequence[Any], f: Vector) -> list[Scalar]:
        """The rate of J^T f where the configuration is a first-order number."""
        model = m.r.model
        found = []
        for k in range(model.nv):
            dx = [Dual(0.0, 1.0 if i == k else 0.0) for i in range(model.nv)]
            column = self.function(integrate(model, [Dual(x, 0.0) for x in moved], dx))
            total: Any = 0.0
            for x, force in zip(column, f, strict=True):
                total = total + lift(x).rate * force
            found.append(lift(total).rate)
        return found
