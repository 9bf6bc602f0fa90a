"""Dynamics with constraints.

    M dnu + h = tau + J^T f,      J dnu + drift = -kd J nu - kp violation + reference - damping f             (1)
    G f = -(residual of the free motion),   dnu = free + M^-1 J^T f,   G = J M^-1 J^T + damping               (2)

(Featherstone 2008, Sec. 8.3.) Rows that are not active are taken out of G: a one on their diagonal, a zero on the right, and
their force is exactly zero. A row that depends on those before it has no pivot left; it is taken out likewise, so that rows which
do not contradict each other have a solution, whatever their number. For rows that are known to be dependent, proximal iterations
    f <- f + K (b - G f),   K = (G + mu)^-1                                                                   (3)
share the forces among them: from zero they converge to the forces of least norm, G^+ b, once b is in the range of G. With
    x - (mu K)^4 x                                                                                            (4)
a vector x loses its part in the null space of G, which rounding and rows that contradict each other put there, and which would
grow by 1/mu in (3). X = (mu K)^2 is the projector onto this null space but for rounding times 1/mu, and
    Q = 3 X^2 - 2 X^3                                                                                         (5)
is the same projector but for the square of that error: J^T Q = 0. P = M^-1 J^T G^+ comes from (3) with J M^-1 for b, and then
    G^+ = G^+ G G^+ = P^T M P                                                                                 (6)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from fallingcat import scalar
from fallingcat.algorithms.configuration import integrate
from fallingcat.algorithms.constraint_rows import NO_GAINS, Gains, Moving, Rows, Target, Unit
from fallingcat.algorithms.crba import mass_matrix_in
from fallingcat.algorithms.dense import Block, Matrix, factor_by, substitute
from fallingcat.algorithms.factored_inertia import FactoredInertia, factored_inertia, jacobian_of
from fallingcat.algorithms.posed import NO_FORCES, Posed, Vector, Wrenches, common
from fallingcat.algorithms.rnea import inverse_dynamics as unconstrained_torques
from fallingcat.algorithms.vectors import entrywise, minus, negative, plus, scaled, unit
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial.dual import Dual, rates

Values: TypeAlias = Any
"""Vectors and matrices of scalars, or arrays where compiled code ran."""

DEPENDENT = 1e-11
"""A row whose pivot is less than this times its diagonal entry depends on the rows before it."""
ZERO = 1e-300
"""The least pivot of a row that is zero altogether."""
PROXIMAL = 1e-9
"""mu of (3) over the mean diagonal of G: the factor by which an iteration reduces an error."""
ITERATIONS = 4
"""Proximal iterations of (3)."""
FAR = 0.1
"""The damping of a correction far from the constraints, its largest value."""


@dataclass(frozen=True)
class ConstraintSet:
    """Constraints of one robot, and how they are enforced."""

    parts: tuple[Rows, ...]
    gains: Gains = NO_GAINS
    damping: float = 0.0
    redundant: bool = False
    """Are some rows known to be linearly dependent? Then the forces are those of least norm."""

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def anchor_size(self) -> int:
        return sum(part.anchor_size for part in self.parts)

    def each(self, anchors: Vector | None = None, reference: Vector | None = None) -> Iterator[tuple[Rows, slice, Target]]:
        """Each constraint, the slice of its rows among the m, and its anchor and reference."""
        at = anchor = slice(0, 0)
        for part in self.parts:
            at, anchor = slice(at.stop, at.stop + part.size), slice(anchor.stop, anchor.stop + part.anchor_size)
            held_at = () if anchors is None else anchors[anchor]
            yield part, at, Target(self.gains, held_at, None if reference is None else reference[at])

    def per_row(self, values: Vector) -> list[Scalar]:
        """(m,): a value per constraint, repeated for each of its rows."""
        return [x for x, part in zip(values, self.parts, strict=True) for _ in range(part.size)]

    def units(self, m: Moving) -> list[Unit]:
        return [unit for part in self.parts for unit in part.units(m)]

    def to_local(self, m: Moving, x: Vector) -> list[Scalar]:
        """(m,): x, which is in the axes that the rows are computed in, in their local axes."""
        return [y for part, at, _ in self.each() for y in part.to_local(m, x[at])]

    def from_local(self, m: Moving, x: Vector) -> list[Scalar]:
        return [y for part, at, _ in self.each() for y in part.from_local(m, x[at])]

    def matrix_to_local(self, m: Moving, A: Matrix) -> Matrix:
        """`to_local` of every column of A, (m, any)."""
        return A.each_column(lambda column: self.to_local(m, column))

    def velocity(self, m: Moving) -> list[Scalar]:
        """J nu, (m,)."""
        return [y for part in self.parts for y in part.velocity(m)]

    def violation(self, m: Moving, anchors: Vector | None) -> list[Scalar]:
        """(m,): violation of the constraints, in local axes."""
        return [y for part, _, target in self.each(anchors) for y in part.violation(m, target.anchor)]

    def residual(self, m: Moving, anchors: Vector | None, reference: Vector | None) -> list[Scalar]:
        """J dnu + drift + kd J nu + kp violation - reference, (m,)."""
        return [y for part, _, target in self.each(anchors, reference) for y in part.residual(m, target)]

    def masks(self, active: Vector | None) -> list[Scalar]:
        """(m,): one for each active row and zero for the others; values of 0.5 and more count as active, and NaN stays NaN."""
        if active is None:
            return [1.0] * self.size
        return self.per_row([scalar.where_less(x, 0.5, 0.0, scalar.where_less(0.25, x, 1.0, x)) for x in active])


class ConstrainedMotion(NamedTuple):
    """Accelerations under constraints, and the forces of the constraints."""

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
    """Generalized forces of a motion, and the forces of the constraints."""

    tau: Values
    """(..., nv), base wrench first; M dnu + h = tau + J^T forces."""
    forces: Values
    """(..., m)"""


# ---------------------------------------------------------------------------------------------------------------------
# Systems with G


def factor(G: Matrix, relative: float = DEPENDENT) -> tuple[Block, list[Scalar]]:
    """G = L D L^T as (L, 1/D); the inverse pivot of a dependent row is zero, which leaves the row out."""

    def inverse_of_pivot(j: int, d: Scalar) -> Scalar:
        least = relative * G[j][j] + ZERO
        return scalar.where_less(d, least, 0.0, 1.0 / scalar.where_less(d, least, 1.0, d))  # a pivot that is NaN stays so

    return factor_by(G, inverse_of_pivot)


def inverse(G: Matrix) -> Matrix:
    """G^-1, with zeros in dependent rows and columns."""
    L, Dinv = factor(G)
    return Matrix.from_columns([substitute(L, Dinv, unit(len(G), j)) for j in range(len(G))], len(G)).mirrored()


def masked(G: Matrix, mask: Vector, damping: float) -> Matrix:
    """G plus damping, with rows and columns that are not active replaced by those of the identity."""
    return G.scale_symmetric(mask).plus_diagonal([damping * a + (1.0 - a) for a in mask])


def shifted(G: Matrix) -> tuple[Scalar, Matrix]:
    """The scalar mu of (3), and the matrix G + mu."""
    mu = scalar.dot(G.diagonal, [PROXIMAL / len(G)] * len(G))
    return mu, G.plus_diagonal([mu] * len(G))


def solve(G: Matrix, b: Vector, redundant: bool) -> list[Scalar]:
    """f with G f = b; where rows are redundant, the least-squares solution of least norm."""
    if not redundant:
        return substitute(*factor(G), b)
    mu, moved = shifted(G)
    factors = factor(moved)

    def in_range(x: Vector) -> list[Scalar]:
        """x without its part in the null space of G."""
        power = x
        for _ in range(4):
            power = substitute(*factors, scaled(mu, power))
        return minus(x, power)  # (4)

    b = in_range(in_range(b))
    f = substitute(*factors, b)
    for _ in range(ITERATIONS - 1):
        f = plus(f, substitute(*factors, minus(b, G @ f)))  # (3)
    return in_range(f)


class Inverses(NamedTuple):
    """Matrices that solve (2) for any right side."""

    P: Matrix
    """(nv, m): M^-1 J^T G^-1."""
    Ginv: Matrix
    """(m, m): the inverse, or pseudo-inverse, of G; zero in rows that are not active."""
    Q: Matrix | None
    """(m, m): the projector onto forces without effect; None where rows are independent."""


def inverses(r: Posed, MJT: Matrix, G: Matrix, mask: Vector, constraints: ConstraintSet) -> Inverses:
    """P, G^-1 and Q, from M^-1 J^T and a G that has the damping and the mask of `masked`."""
    if not constraints.redundant or constraints.damping:
        Ginv = inverse(G).scale_symmetric(mask)
        return Inverses(MJT @ Ginv, Ginv, None)
    mu, moved = shifted(G)
    K, b = inverse(moved), MJT.T.scale_rows(mask)
    PT = K @ b
    for _ in range(ITERATIONS - 1):
        PT = PT + K @ (b - G @ PT)  # (3)
    X = (mu * mu) * K.times_symmetric(K)
    X2 = X.times_symmetric(X)
    Q = 3.0 * X2 - 2.0 * X.times_symmetric(X2)  # (5)
    PT = PT - Q @ PT
    M = Matrix(mass_matrix_in(r), r.model.nv)
    return Inverses(PT.T, PT.times_symmetric(M @ PT.T), Q)  # (6)


# ---------------------------------------------------------------------------------------------------------------------
# Functions


def jacobian(model: Model, q: Vector, constraints: ConstraintSet) -> Matrix:
    """J, (m, nv), in local axes."""
    m = Moving.at_rest(common(model, q))
    return constraints.matrix_to_local(m, jacobian_of(m.r, constraints.units(m)))


def jacobian_rate(model: Model, q: Vector, nu: Vector, constraints: ConstraintSet) -> Matrix:
    """The rate of J along nu, (m, nv), by first-order numbers."""
    moved = integrate(model, q, [Dual(0.0, x) for x in nu])
    return Matrix([rates(row) for row in jacobian(model, moved, constraints)], model.nv)


def violation(model: Model, q: Vector, constraints: ConstraintSet, anchors: Vector | None = None) -> list[Scalar]:
    """(m,): violation of the constraints (zero where they hold), in local axes."""
    return constraints.violation(Moving.at_rest(common(model, q)), anchors)


def drift(model: Model, q: Vector, nu: Vector, constraints: ConstraintSet) -> list[Scalar]:
    """(m,): the acceleration of the rows at dnu = 0, which is the rate of J times nu."""
    m = Moving.along(common(model, q), nu, [0.0] * model.nv)
    return constraints.to_local(m, [y for part in constraints.parts for y in part.acceleration(m)])


def residual(
    model: Model, q: Vector, nu: Vector, dnu: Vector, constraints: ConstraintSet,
    anchors: Vector | None = None, reference: Vector | None = None,
) -> list[Scalar]:  # fmt: skip
    """(m,): J dnu + drift + kd J nu + kp violation - reference, zero where dnu obeys the constraints."""
    m = Moving.along(common(model, q), nu, dnu)
    return constraints.to_local(m, constraints.residual(m, anchors, reference))


def forward_dynamics(
    model: Model, q: Vector, nu: Vector, tau: Vector, constraints: ConstraintSet,
    active: Vector | None = None, anchors: Vector | None = None, reference: Vector | None = None, f_ext: Wrenches = NO_FORCES,
) -> ConstrainedMotion:  # fmt: skip
    """The accelerations dnu (nv,) and the constraint forces (m,) that solve (1)."""
    inertia = factored_inertia(common(model, q))
    dnu, f, m = motion(inertia, nu, tau, constraints, active, anchors, reference, f_ext)
    return ConstrainedMotion(dnu, constraints.to_local(m, f))


def motion(
    inertia: FactoredInertia, nu: Vector, tau: Vector, constraints: ConstraintSet,
    active: Vector | None, anchors: Vector | None, reference: Vector | None, f_ext: Wrenches,
) -> tuple[list[Scalar], list[Scalar], Moving]:  # fmt: skip
    """dnu (nv,), the constraint forces (m,) in the axes of the rows, and the motion without constraints."""
    m = inertia.free(nu, tau, f_ext)
    units, mask = constraints.units(m), constraints.masks(active)
    G = masked(inertia.delassus(units), mask, constraints.damping)
    b = negative(entrywise(constraints.residual(m, anchors, reference), mask))
    f = solve(G, b, constraints.redundant)
    return plus(m.dnu, inertia.response(units, f)), f, m  # (2)


def impulse(
    model: Model, q: Vector, nu: Vector, restitution: Vector, constraints: ConstraintSet, active: Vector | None = None
) -> Impact:
    """nu after an impact: the velocity of each constraint is -restitution times what it was."""
    change, p, m = impact(factored_inertia(common(model, q)), nu, restitution, constraints, active)
    return Impact(plus(nu, change), constraints.to_local(m, p))


def impact(
    inertia: FactoredInertia, nu: Vector, restitution: Vector, constraints: ConstraintSet, active: Vector | None
) -> tuple[list[Scalar], list[Scalar], Moving]:
    """The change x = M^-1 J^T p of nu, the impulses p in the axes of the rows, and the motion before: J (x + (1 + e) nu) = 0."""
    m = Moving.along(inertia.r, nu, [0.0] * inertia.r.model.nv)
    units, mask = constraints.units(m), constraints.masks(active)
    G = masked(inertia.delassus(units), mask, 0.0)
    factors = entrywise(constraints.per_row([1.0 + e for e in restitution]), mask)
    p = solve(G, negative(entrywise(factors, constraints.velocity(m))), constraints.redundant)
    return inertia.response(units, p), p, m


def inverse_dynamics(
    model: Model, q: Vector, nu: Vector, dnu: Vector, constraints: ConstraintSet, unactuated: Block, active: Vector | None = None
) -> Supported:
    """Constraint forces of least norm, and torques, that cause dnu; no motor acts along the rows of U = `unactuated`, (k, nv).

    U (M dnu + h) = U J^T f:  f = A^T (A A^T)^-1 U (M dnu + h),  A = U J^T.
    """
    m = Moving.at_rest(common(model, q))
    J = jacobian_of(m.r, constraints.units(m))
    needed = unconstrained_torques(model, q, nu, dnu)
    f: list[Scalar] = [0.0] * len(J)
    if unactuated:
        U = Matrix(unactuated, model.nv)
        A = U @ J.scale_rows(constraints.masks(active)).T
        f = A.T @ solve(A.gram(), U @ needed, redundant=True)  # least squares: what no constraint force can supply remains
    return Supported(minus(needed, J.T @ f), constraints.to_local(m, f))


class Correction(NamedTuple):
    """One step towards the constraints, and the velocity that they allow."""

    dx: Values
    """(..., nv)"""
    nu: Values
    """(..., nv)"""
    violation: Values
    """(..., m)"""


def correction(
    model: Model, q: Vector, nu: Vector, constraints: ConstraintSet, active: Vector | None = None, anchors: Vector | None = None
) -> Correction:
    """dx = -J^T (J J^T + mu)^-1 violation, and nu - M^-1 J^T G^-1 J nu.

    Far away mu keeps steps short where rows are almost dependent (Levenberg, Marquardt); it vanishes with the square of the
    violation, so that near the constraints these are the steps of Newton's method. dx is the shortest step in the Euclidean norm,
    which moves a heavy base as readily as light legs; nu is corrected in the metric of kinetic energy and loses the least energy.
    """
    m = Moving.along(common(model, q), nu, [0.0] * model.nv)
    inertia, units, mask = factored_inertia(m.r), constraints.units(m), constraints.masks(active)
    b = negative(entrywise(mask, constraints.from_local(m, constraints.violation(m, anchors))))
    v = negative(entrywise(mask, constraints.velocity(m)))
    J, bb = jacobian_of(m.r, units), scalar.dot(b, b)
    JJ = masked(J.gram(), mask, 0.0).plus_diagonal([FAR * bb / (1.0 + bb)] * len(J))
    dx = J.T @ solve(JJ, b, constraints.redundant)
    dv = inertia.response(units, solve(masked(inertia.delassus(units), mask, 0.0), v, constraints.redundant))
    return Correction(dx, plus(nu, dv), constraints.to_local(m, negative(b)))


class OperationalSpace(NamedTuple):
    """Dynamics along the rows (Khatib 1987)."""

    inertia: Values
    """(..., m, m): (J M^-1 J^T)^-1, the pseudo-inverse where rows depend on each other."""
    inverse: Values
    """(..., nv, m): the dynamically consistent inverse of J, M^-1 J^T inertia."""
    projector: Values
    """(..., nv, nv): 1 - J^T inverse^T; torques that pass through it do not accelerate the rows."""


def operational_space(model: Model, q: Vector, constraints: ConstraintSet, active: Vector | None = None) -> OperationalSpace:
    """Inertia, inverse and projector, in local axes."""
    r, mask = common(model, q), constraints.masks(active)
    J = jacobian(model, q, constraints)
    MJT = Matrix(factored_inertia(r).inverse().Minv, model.nv) @ J.T
    G = masked(J.times_symmetric(MJT), mask, 0.0)
    P, Ginv, _ = inverses(r, MJT, G, mask, replace(constraints, damping=0.0))
    return OperationalSpace(Ginv, P, Matrix.identity(model.nv) - J.T @ P.T)
