"""Dynamics with constraints.

    M dnu + h = tau + J^T f,      J dnu + drift = -kd J nu - kp violation + reference - damping f             (1)
    G f = -(residual of the free motion),   dnu = free + M^-1 J^T f,   G = J M^-1 J^T + damping               (2)

(Featherstone 2008, Sec. 8.3.) Rows that are not active are taken out of G: a one on their diagonal, a zero on the right, and
their force is exactly zero. A row that depends on those before it has no pivot left; it is taken out likewise, so that rows which
do not contradict each other have a solution, whatever their number. For rows that are known to be dependent, proximal iterations
    f <- f + (G + mu)^-1 (b - G f)                                                                         (3)
share the forces among them: from zero they converge to the forces of least norm, G^+ b, once b has lost what no force can do.
Powers of mu (G + mu)^-1 tend to the projector Q onto forces without effect, J^T Q = 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from fallingcat import scalar
from fallingcat.algorithms.configuration import integrate
from fallingcat.algorithms.constraint_rows import NO_GAINS, Gains, Moving, Rows, Unit
from fallingcat.algorithms.crba import mass_matrix_in
from fallingcat.algorithms.delassus import Resistance, jacobian_of, moving_with, resistance, torques_of
from fallingcat.algorithms.dense import Block, add, mirrored, substitute, subtract, transpose
from fallingcat.algorithms.posed import NO_FORCES, Posed, Vector, Wrenches, common
from fallingcat.algorithms.rnea import inverse_dynamics as unconstrained_torques
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial.dual import Dual, rates

Values: TypeAlias = Any
"""Lists of scalars, or arrays where compiled code ran."""

DEPENDENT = 1e-11
"""A row of which the rows before it leave less than this depends on them."""
ZERO = 1e-300
"""Of a row that is zero altogether."""
PROXIMAL = 1e-9
"""mu of (3), against the mean diagonal of G: what is left of an error after an iteration."""
ITERATIONS = 4
FAR = 0.1
"""Damping of corrections far from the constraints."""


@dataclass(frozen=True)
class ConstraintSet:
    """Constraints of one robot, and how they are enforced."""

    parts: tuple[Rows, ...]
    gains: Gains = NO_GAINS
    damping: float = 0.0
    redundant: bool = False
    """Are rows known to depend on each other? Then their forces are those of least norm."""

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def anchor_size(self) -> int:
        return sum(part.anchor_size for part in self.parts)

    def each(self, anchors: Vector | None) -> Iterator[tuple[Rows, slice, Vector]]:
        """The parts, where their rows stand, and their anchors; none of them where these have no part."""
        anchors = () if anchors is None else anchors
        row = number = 0
        for part in self.parts:
            yield part, slice(row, row + part.size), anchors[number : number + part.anchor_size]
            row, number = row + part.size, number + part.anchor_size

    def units(self, m: Moving) -> list[Unit]:
        return [unit for part in self.parts for unit in part.units(m)]

    def turned(self, m: Moving, x: Vector) -> list[Scalar]:
        return [y for part, at, _ in self.each(None) for y in part.turned(m, x[at])]

    def residual(self, m: Moving, anchors: Vector | None, reference: Vector | None) -> list[Scalar]:
        return [
            y
            for part, at, anchor in self.each(anchors)
            for y in part.residual(m, self.gains, anchor, None if reference is None else reference[at])
        ]

    def masks(self, active: Vector | None) -> list[Scalar]:
        """One or zero for each row; half and more counts as active, and NaN stays NaN."""
        if active is None:
            return [1.0] * self.size
        chosen = [scalar.where_less(x, 0.5, 0.0, scalar.where_less(0.25, x, 1.0, x)) for x in active]  # NaN stays NaN
        return [x for x, part in zip(chosen, self.parts, strict=True) for _ in range(part.size)]


class ConstrainedMotion(NamedTuple):
    """The accelerations that constraints leave, and what they exert."""

    dnu: Values
    """(..., nv)"""
    forces: Values
    """(..., m): along the rows; M dnu + h = tau + J^T forces."""


class Impact(NamedTuple):
    """The velocity after an impact."""

    nu: Values
    """(..., nv)"""
    impulses: Values
    """(..., m): along the rows; M (nu_after - nu) = J^T impulses."""


class Supported(NamedTuple):
    """What a motion takes: generalized forces, and forces of the constraints."""

    tau: Values
    """(..., nv), base wrench first; M dnu + h = tau + J^T forces."""
    forces: Values
    """(..., m)"""


# ---------------------------------------------------------------------------------------------------------------------
# Systems with G


def factor(G: Block, relative: float = DEPENDENT) -> tuple[Block, list[Scalar]]:
    """G = L D L^T as (L, 1/D); the inverse pivot of a dependent row is zero, which leaves the row out."""
    n = len(G)
    L: Block = [[0.0] * n for _ in range(n)]
    LD: Block = [[0.0] * n for _ in range(n)]
    Dinv: list[Scalar] = []
    for j in range(n):
        d = G[j][j]
        for k in range(j):
            d = d - LD[j][k] * L[j][k]
        least = relative * G[j][j] + ZERO
        Dinv.append(scalar.where_less(d, least, 0.0, 1.0 / scalar.where_less(d, least, 1.0, d)))  # a pivot that is NaN stays so
        for i in range(j + 1, n):
            x = G[i][j]
            for k in range(j):
                x = x - LD[i][k] * L[j][k]
            LD[i][j], L[i][j] = x, x * Dinv[j]
    return L, Dinv


def masked(G: Block, mask: Sequence[Scalar], damping: float) -> Block:
    """G with damping, and with the rows that are not active taken out."""
    n = len(G)
    found = [[G[i][j] * (mask[i] * mask[j]) for j in range(n)] for i in range(n)]
    for i in range(n):
        found[i][i] = found[i][i] + damping * mask[i] + (1.0 - mask[i])
    return found


def shifted(G: Block) -> tuple[Scalar, Block]:
    """mu of (3), and G + mu."""
    mu: Scalar = 0.0
    for i in range(len(G)):
        mu = mu + G[i][i] * (PROXIMAL / len(G))
    return mu, [[x + mu if i == j else x for j, x in enumerate(row)] for i, row in enumerate(G)]


def solve(G: Block, b: Vector, redundant: bool) -> list[Scalar]:
    """f with G f = b; where rows are redundant, the forces of least norm among those that come nearest to it."""
    if not redundant:
        return substitute(*factor(G), b)
    mu, moved = shifted(G)
    factors = factor(moved)

    def of_use(x: Vector) -> list[Scalar]:
        """x - (mu K)^4 x, K = (G + mu)^-1: rounding, and what rows contradict each other in, would grow by 1/mu in (3)."""
        useless = x
        for _ in range(4):
            useless = substitute(*factors, [mu * y for y in useless])
        return [y - z for y, z in zip(x, useless, strict=True)]

    b = of_use(of_use(b))
    f: list[Scalar] = substitute(*factors, b)
    for _ in range(ITERATIONS - 1):  # (3)
        rest = [x - scalar.dot(row, f) for x, row in zip(b, G, strict=True)]
        f = [x + dx for x, dx in zip(f, substitute(*factors, rest), strict=True)]
    return of_use(f)


class Shared(NamedTuple):
    """What forces along rows bring about, and what they are for."""

    P: Block
    """nv x m: M^-1 J^T G^-1."""
    Ginv: Block
    """The inverse, or pseudo-inverse, of G; zero in rows that are not active."""
    Q: Block
    """The projector onto forces without effect; empty where rows are independent."""


def shared(r: Posed, MJT: Block, G: Block, mask: Sequence[Scalar], constraints: ConstraintSet) -> Shared:
    """P, G^-1 and Q from M^-1 J^T, and G with the damping and the mask of `masked`."""
    if not constraints.redundant or constraints.damping:
        Ginv = [[x * (a * b) for x, b in zip(row, mask, strict=True)] for row, a in zip(_inverse(G), mask, strict=True)]
        return Shared(scalar.matmul(MJT, Ginv), Ginv, [])
    mu, moved = shifted(G)
    K = _inverse(moved)
    right = [[a * x for x in row] for row, a in zip(transpose(MJT), mask, strict=True)]
    PT = scalar.matmul(K, right)
    for _ in range(ITERATIONS - 1):  # (3)
        PT = add(PT, scalar.matmul(K, subtract(right, scalar.matmul(G, PT))))
    square = [[mu * mu * x for x in row] for row in scalar.matmul(K, K, symmetric=True)]
    fourth = scalar.matmul(square, square, symmetric=True)
    sixth = scalar.matmul(square, fourth, symmetric=True)
    # x = (mu K)^2 is a projector but for rounding times 1/mu, and 3 x^2 - 2 x^3 but for the square of that
    Q = [[3.0 * x - 2.0 * y for x, y in zip(a, b, strict=True)] for a, b in zip(fourth, sixth, strict=True)]
    PT = subtract(PT, scalar.matmul(Q, PT))
    P = transpose(PT)
    return Shared(P, scalar.matmul(PT, scalar.matmul(mass_matrix_in(r), P), symmetric=True), Q)  # G^+ = G^+ G G^+ = P^T M P


def _inverse(G: Block) -> Block:
    n = len(G)
    L, Dinv = factor(G)
    columns = [substitute(L, Dinv, [1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    return mirrored(transpose(columns))


# ---------------------------------------------------------------------------------------------------------------------
# Functions


def jacobian(model: Model, q: Vector, constraints: ConstraintSet) -> Block:
    """J, in the axes that a user sees."""
    m = Moving.at_rest(common(model, q))
    J = jacobian_of(m.r, constraints.units(m))
    columns = [constraints.turned(m, column) for column in zip(*J, strict=True)]
    return [[column[i] for column in columns] for i in range(len(J))]


def jacobian_rate(model: Model, q: Vector, nu: Vector, constraints: ConstraintSet) -> Block:
    """The rate of J along nu, by first-order numbers."""
    moved = integrate(model, q, [Dual(0.0, x) for x in nu])
    return [rates(row) for row in jacobian(model, moved, constraints)]


def violation(model: Model, q: Vector, constraints: ConstraintSet, anchors: Vector | None = None) -> list[Scalar]:
    """How far the constraints are from holding."""
    m = Moving.at_rest(common(model, q))
    return [y for part, _, anchor in constraints.each(anchors) for y in part.violation(m, anchor)]


def drift(model: Model, q: Vector, nu: Vector, constraints: ConstraintSet) -> list[Scalar]:
    """The acceleration of the rows without any of nu: J' nu."""
    r = common(model, q)
    _, m = moving_with(r, nu, [0.0] * model.nv)
    return constraints.turned(m, [y for part in constraints.parts for y in part.acceleration(m)])


def residual(
    model: Model, q: Vector, nu: Vector, dnu: Vector, constraints: ConstraintSet,
    anchors: Vector | None = None, reference: Vector | None = None,
) -> list[Scalar]:  # fmt: skip
    """J dnu + drift + kd J nu + kp violation - reference: zero where dnu obeys the constraints."""
    _, m = moving_with(common(model, q), nu, dnu)
    return constraints.turned(m, constraints.residual(m, anchors, reference))


def forward_dynamics(
    model: Model, q: Vector, nu: Vector, tau: Vector, constraints: ConstraintSet,
    active: Vector | None = None, anchors: Vector | None = None, reference: Vector | None = None, f_ext: Wrenches = NO_FORCES,
) -> ConstrainedMotion:  # fmt: skip
    """dnu and forces with (1)."""
    inertia = resistance(common(model, q))
    dnu, f, m = motion(inertia, nu, tau, constraints, active, anchors, reference, f_ext)
    return ConstrainedMotion(dnu, constraints.turned(m, f))


def motion(
    inertia: Resistance, nu: Vector, tau: Vector, constraints: ConstraintSet,
    active: Vector | None, anchors: Vector | None, reference: Vector | None, f_ext: Wrenches,
) -> tuple[list[Scalar], list[Scalar], Moving]:  # fmt: skip
    """dnu, the forces in the axes of the rows, and the motion without constraints."""
    free, m = inertia.free(nu, tau, f_ext)
    units, mask = constraints.units(m), constraints.masks(active)
    G = masked(inertia.delassus(units), mask, constraints.damping)
    b = [-(x * a) for x, a in zip(constraints.residual(m, anchors, reference), mask, strict=True)]
    f = solve(G, b, constraints.redundant)
    pushed = inertia.response(units, f)
    return [x + y for x, y in zip(free, pushed, strict=True)], f, m  # (2)


def impulse(
    model: Model, q: Vector, nu: Vector, restitution: Vector, constraints: ConstraintSet, active: Vector | None = None
) -> Impact:
    """nu after an impact: the velocity of each constraint is -restitution times what it was."""
    change, p, m = impact(resistance(common(model, q)), nu, restitution, constraints, active)
    return Impact([x + y for x, y in zip(nu, change, strict=True)], constraints.turned(m, p))


def impact(
    inertia: Resistance, nu: Vector, restitution: Vector, constraints: ConstraintSet, active: Vector | None
) -> tuple[list[Scalar], list[Scalar], Moving]:
    """The change of nu, the impulses in the axes of the rows, and the motion before."""
    _, m = moving_with(inertia.r, nu, [0.0] * inertia.r.model.nv)
    units, mask = constraints.units(m), constraints.masks(active)
    G = masked(inertia.delassus(units), mask, 0.0)
    bounced = [1.0 + e for e, part in zip(restitution, constraints.parts, strict=True) for _ in range(part.size)]
    velocity = [y for part in constraints.parts for y in part.velocity(m)]
    p = solve(G, [-(e * a * v) for e, a, v in zip(bounced, mask, velocity, strict=True)], constraints.redundant)
    return inertia.response(units, p), p, m


def inverse_dynamics(
    model: Model, q: Vector, nu: Vector, dnu: Vector, constraints: ConstraintSet, unactuated: Block, active: Vector | None = None
) -> Supported:
    """The least forces with which motors that cannot push along `unactuated` (k x nv) bring about dnu.

    U (M dnu + h) = U J^T f:  f = A^T (A A^T)^-1 U (M dnu + h),  A = U J^T.
    """
    m = Moving.at_rest(common(model, q))
    units, mask = constraints.units(m), constraints.masks(active)
    J = [[a * x for x in row] for a, row in zip(mask, jacobian_of(m.r, units), strict=True)]
    needed = unconstrained_torques(model, q, nu, dnu)
    f: list[Scalar] = [0.0] * len(J)
    if unactuated:
        A = [[scalar.dot(u, row) for row in J] for u in unactuated]
        AA = [[scalar.dot(x, y) for y in A] for x in A]
        share = solve(AA, [scalar.dot(u, needed) for u in unactuated], True)  # what no force can do is left
        f = [scalar.dot([A[k][i] for k in range(len(A))], share) for i in range(len(J))]
    tau = [x - y for x, y in zip(needed, torques_of(m.r, units, f), strict=True)]
    return Supported(tau, constraints.turned(m, f))


class Correction(NamedTuple):
    """One step towards the constraints, and the velocity that they allow."""

    dx: Values
    nu: Values
    violation: Values


def correction(
    model: Model, q: Vector, nu: Vector, constraints: ConstraintSet, active: Vector | None = None, anchors: Vector | None = None
) -> Correction:
    """dx = -J^T (J J^T + mu)^-1 violation, and nu - M^-1 J^T G^-1 J nu.

    Far away mu keeps steps short where rows are almost dependent (Levenberg, Marquardt); it vanishes with the square of the
    violation, so that near the constraints these are the steps of Newton's method. A base moves as readily as light legs here,
    which in the metric of kinetic energy it would not; the velocity loses as little energy as it can.
    """
    r = common(model, q)
    _, m = moving_with(r, nu, [0.0] * model.nv)
    inertia, units, mask = resistance(r), constraints.units(m), constraints.masks(active)
    off = [y for part, _, anchor in constraints.each(anchors) for y in part.turned_back(m, part.violation(m, anchor))]
    velocity = [y for part in constraints.parts for y in part.velocity(m)]
    b, v = ([-(a * x) for a, x in zip(mask, xs, strict=True)] for xs in (off, velocity))
    J = jacobian_of(r, units)
    square = scalar.dot(b, b)
    JJ = masked([[scalar.dot(x, y) for y in J] for x in J], mask, 0.0)
    damped = [[x + FAR * square / (1.0 + square) if i == j else x for j, x in enumerate(row)] for i, row in enumerate(JJ)]
    f = solve(damped, b, constraints.redundant)
    dx = [scalar.dot(column, f) for column in zip(*J, strict=True)]
    dv = inertia.response(units, solve(masked(inertia.delassus(units), mask, 0.0), v, constraints.redundant))
    seen = constraints.turned(m, [-x for x in b])
    return Correction(dx, [x + y for x, y in zip(nu, dv, strict=True)], seen)


class OperationalSpace(NamedTuple):
    """Dynamics along the rows (Khatib 1987)."""

    inertia: Values
    """(..., m, m): (J M^-1 J^T)^-1, the pseudo-inverse where rows depend on each other."""
    inverse: Values
    """(..., nv, m): the dynamically consistent inverse of J, M^-1 J^T inertia."""
    projector: Values
    """(..., nv, nv): 1 - J^T inverse^T; torques that pass through it do not accelerate the rows."""


def operational_space(model: Model, q: Vector, constraints: ConstraintSet, active: Vector | None = None) -> OperationalSpace:
    """Inertia, inverse and projector, in the axes that a user sees."""
    m = Moving.at_rest(common(model, q))
    inertia, mask = resistance(m.r), constraints.masks(active)
    J = jacobian(model, q, constraints)
    MJT = scalar.matmul(inertia.inverse(), transpose(J))
    G = masked(scalar.matmul(J, MJT, symmetric=True), mask, 0.0)
    found = shared(m.r, MJT, G, mask, replace(constraints, damping=0.0))
    away = scalar.matmul(transpose(J), transpose(found.P))
    projector = [[(1.0 if i == j else 0.0) - x for j, x in enumerate(row)] for i, row in enumerate(away)]
    return OperationalSpace(found.Ginv, found.P, projector)
