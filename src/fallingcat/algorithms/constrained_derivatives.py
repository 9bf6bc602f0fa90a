"""Derivatives of dynamics with constraints, by the implicit function theorem on the factors of the dynamics themselves.

With forces held in axes that move with the constraint, ID the inverse dynamics under them and c the residual of the rows,
    M ddnu - J^T df = -dID,     J ddnu + damping df = -dc                                                   (1)
and with G = J M^-1 J^T + damping, P = M^-1 J^T G^-1 and N = M^-1 - P J M^-1 the solution is
    [ddnu]     [  N    P   ] [dID]
    [ df ] = - [-P^T  G^-1 ] [ dc]                                                                          (2)
Columns of dID and dc are zero outside a joint's own branch, which is where the speed comes from. Moving the whole robot changes
nothing but the direction of gravity, and a uniform velocity nothing at all: there x = -M^-1 dID is known beforehand, and
    df = -G^-1 (dc + J x),    ddnu = x + M^-1 J^T df                                                        (3)
Where rows depend on each other, G^-1 is the pseudo-inverse, and forces of least norm f = J x, x = P f, stay in the range of J:
    df = df of (2) + Q dJ x,     Q = 1 - J J^+                                                              (4)
At last the axes of the forces turn: df = E (df + turn x f). Left-trivialized, nv columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from fallingcat import scalar
from fallingcat.algorithms.aba_derivatives import invariant_columns
from fallingcat.algorithms.configuration import bracket
from fallingcat.algorithms.constrained import ConstraintSet, Values, impact, jacobian, jacobian_rate, masked, motion, shared
from fallingcat.algorithms.constraint_rows import Gains, Moving
from fallingcat.algorithms.delassus import Resistance, jacobian_of, moving_with, resistance
from fallingcat.algorithms.dense import Block, add, subtract, transpose
from fallingcat.algorithms.held_wrenches import HeldWrenches
from fallingcat.algorithms.inverse_product import Columns
from fallingcat.algorithms.posed import NO_FORCES, PerBody, Vector, Wrenches, common
from fallingcat.algorithms.rnea_derivatives import AxisColumns, axis_columns, derivatives_in
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Motion


class ConstrainedDerivatives(NamedTuple):
    """Derivatives of dnu and of the forces."""

    ddnu_dq: Values
    """(..., nv, nv), left-trivialized."""
    ddnu_dnu: Values
    """(..., nv, nv)"""
    ddnu_dtau: Values
    """(..., nv, nv): the inverse mass matrix that constraints leave; its rank is nv less that of J."""
    dforces_dq: Values
    """(..., m, nv)"""
    dforces_dnu: Values
    """(..., m, nv)"""
    dforces_dtau: Values
    """(..., m, nv)"""


def forward_dynamics_derivatives(
    model: Model, q: Vector, nu: Vector, tau: Vector, constraints: ConstraintSet,
    active: Vector | None = None, anchors: Vector | None = None, reference: Vector | None = None, f_ext: Wrenches = NO_FORCES,
) -> ConstrainedDerivatives:  # fmt: skip
    """All first derivatives of `constrained.forward_dynamics`."""
    r = common(model, q)
    inertia = resistance(r)
    dnu, f, _ = motion(inertia, nu, tau, constraints, active, anchors, reference, f_ext)
    _, m = moving_with(r, nu, dnu)
    system = System.of(inertia, m, constraints, constraints.masks(active))
    f = system.least(f)
    ID = derivatives_in(r, nu, dnu, _wrenches(m, constraints, f, f_ext))
    dc_dq, dc_dnu, torques = _rows(m, constraints, f, anchors, reference)
    dID_dq = subtract(ID.dtau_dq, model.gather_blocks(torques)) if torques else ID.dtau_dq
    known_dq, known_dnu = invariant_columns(r, nu)
    if isinstance(f_ext, HeldWrenches) or torques:
        known_dq = {}
    ddnu_dq, df_dq = system.solve(dID_dq, dc_dq, known_dq)
    ddnu_dnu, df_dnu = system.solve(ID.dtau_dnu, dc_dnu, known_dnu)
    df_dq = _turning(m, constraints, f, system.with_range(m, constraints, f, df_dq))
    return ConstrainedDerivatives(ddnu_dq, ddnu_dnu, system.N, df_dq, df_dnu, [[-x for x in row] for row in system.seen_P])


class System(NamedTuple):
    """The solution of (1) for any right sides."""

    N: Block
    P: Block
    seen_P: Block
    """P^T in the axes that a user sees."""
    seen_Ginv: Block
    J: Block
    Q: Block
    """The projector onto forces without effect; empty where rows are independent."""
    seen_Q: Block

    @staticmethod
    def of(inertia: Resistance, m: Moving, constraints: ConstraintSet, mask: Sequence[Scalar]) -> System:
        units = constraints.units(m)
        J = jacobian_of(m.r, units)
        Minv = inertia.inverse()
        G = masked(inertia.delassus(units), mask, constraints.damping)
        MJT = scalar.matmul(Minv, transpose(J))
        P, Ginv, Q = shared(m.r, MJT, G, mask, constraints)
        N = subtract(Minv, scalar.matmul(P, transpose(MJT), symmetric=True))
        seen_P, seen_Ginv, seen_Q = (transpose([constraints.turned(m, row) for row in rows]) for rows in (P, Ginv, Q))
        return System(N, P, seen_P, seen_Ginv, J, Q, seen_Q)

    def least(self, f: list[Scalar]) -> list[Scalar]:
        """Forces without the rounding that has no effect."""
        return [x - scalar.dot(row, f) for x, row in zip(f, self.Q, strict=True)] if self.Q else f

    def with_range(self, m: Moving, constraints: ConstraintSet, f: Vector, df: Block) -> Block:
        """df of forces of least norm: they move with the range of J."""
        if not self.seen_Q:
            return df
        x = [scalar.dot(row, f) for row in self.P]
        still = [0.0] * len(x)
        _, pushed = moving_with(replace(m.r, gravity=Motion.zero(m.r.root)), still, x)
        dJx = _rows(pushed, replace(constraints, gains=Gains()), [0.0] * len(f), None, None)[0]
        return add(df, scalar.matmul(self.seen_Q, dJx))  # (4)

    def solve(self, dID: Block, dc: Block, known: Columns) -> tuple[Block, Block]:
        """ddnu and df."""
        nv, n = len(self.N), len(dc)
        found: dict[int, list[Scalar]] = {}
        for j, x in known.items():  # (3)
            rest = [[dc[i][j] + scalar.dot(self.J[i], x)] for i in range(n)]
            minus = scalar.matmul([*self.P, *self.seen_Ginv], rest, negate=True) if n else []
            found[j] = [*(a + b for a, (b,) in zip(x, minus[:nv], strict=True)), *(b for (b,) in minus[nv:])] if n else list(x)
        wanted = [j for j in range(nv) if j not in known]
        right = [[row[j] for j in wanted] for row in dID] + [[row[j] for j in wanted] for row in dc]
        left = [[*a, *b] for a, b in zip(self.N, self.P, strict=True)]
        left += [[*(-x for x in a), *b] for a, b in zip(self.seen_P, self.seen_Ginv, strict=True)]
        product = scalar.matmul(left, right, negate=True)  # (2)
        found |= {j: [row[k] for row in product] for k, j in enumerate(wanted)}
        columns = [found[j] for j in range(nv)]
        return transpose([x[:nv] for x in columns]), [[x[nv + i] for x in columns] for i in range(n)]


def _wrenches(m: Moving, constraints: ConstraintSet, f: Vector, f_ext: Wrenches) -> Wrenches:
    """What acts from outside, and the forces of the constraints, as wrenches on bodies in common coordinates."""
    total = HeldWrenches(f_ext.held) if isinstance(f_ext, HeldWrenches) else Wrenches()
    for i, w in f_ext.items():
        total[i] = m.r.wrench(i, w)
    for part, at, _ in constraints.each(None):
        for i, w in part.wrench(m, f[at]).items():
            total[i] = total[i] + w if i in total else w
    return total


def _rows(
    m: Moving, constraints: ConstraintSet, f: Vector, anchors: Vector | None, reference: Vector | None
) -> tuple[Block, Block, dict[tuple[int, int], Block]]:
    """dc/dq and dc/dnu, and the change of the torques J^T f."""
    columns = ColumnsOf(m)
    dq, dnu = [], []
    torques: dict[tuple[int, int], Block] = {}
    for part, at, anchor in constraints.each(anchors):
        own = part.derivatives(m, columns, f[at], constraints.gains, anchor, None if reference is None else reference[at])
        dq += m.r.model.gather_columns(own.dq, part.size)
        dnu += m.r.model.gather_columns(own.dnu, part.size)
        for key, block in own.torques.items():
            before = torques.get(key)
            pairs = None if before is None else zip(before, block, strict=True)
            torques[key] = block if pairs is None else [[x + y for x, y in zip(a, b, strict=True)] for a, b in pairs]
    return dq, dnu, torques


class ColumnsOf(dict[int, list[AxisColumns]]):
    """What the axes of a joint bring about, for the joints that somebody asks for."""

    def __init__(self, m: Moving) -> None:
        super().__init__()
        self.m = m

    def __missing__(self, j: int) -> list[AxisColumns]:
        m = self.m
        self[j] = axis_columns(m.r, j, m.v, m.a, m.nu, m.dnu)
        return self[j]


def _turning(m: Moving, constraints: ConstraintSet, f: Vector, df: Block) -> Block:
    """df with the turning of the axes of forces."""
    rows: Block = []
    for part, at, _ in constraints.each(None):
        turns: PerBody[Block] = part.turning(m, f[at])
        extra = m.r.model.gather_columns(turns, part.size)
        rows += [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(df[at], extra, strict=True)]
    return rows


# ---------------------------------------------------------------------------------------------------------------------
# Impacts


class ImpactDerivatives(NamedTuple):
    """Derivatives of the velocity after an impact and of the impulses."""

    dnu_dq: Values
    """(..., nv, nv), left-trivialized."""
    dnu_dnu: Values
    """(..., nv, nv)"""
    dimpulses_dq: Values
    """(..., m, nv)"""
    dimpulses_dnu: Values
    """(..., m, nv)"""


def impulse_derivatives(
    model: Model, q: Vector, nu: Vector, restitution: Vector, constraints: ConstraintSet, active: Vector | None = None
) -> ImpactDerivatives:
    """Of `constrained.impulse`: (1) with M x = J^T p for ID, x the change of nu, and J (x + (1 + e) nu) for the rows."""
    r, constraints = common(model, q), replace(constraints, gains=Gains(), damping=0.0)
    inertia, still, mask = resistance(r), [0.0] * model.nv, constraints.masks(active)
    weightless = replace(r, gravity=Motion.zero(r.root))
    bounced = [1.0 + e for e, part in zip(restitution, constraints.parts, strict=True) for _ in range(part.size)]
    x, p, m = impact(inertia, nu, restitution, constraints, active)
    system = System.of(inertia, m, constraints, mask)
    p = system.least(p)
    _, pushed = moving_with(weightless, still, x)
    dID_dq = derivatives_in(weightless, still, x, _wrenches(pushed, constraints, p, NO_FORCES)).dtau_dq
    torques = _rows(pushed, constraints, p, None, None)[2]
    dID_dq = subtract(dID_dq, model.gather_blocks(torques)) if torques else dID_dq
    # the rows are linear in the velocity: those of x, and (1 + e) times those of nu
    rows = zip(velocity_rows(moving_with(r, x, still)[1], constraints), velocity_rows(m, constraints), bounced, strict=True)
    dc_dq = [[a + e * b for a, b in zip(of_x, of_nu, strict=True)] for of_x, of_nu, e in rows]
    dnu_dq, dp_dq = system.solve(dID_dq, dc_dq, {})
    scaled = [[e * y for y in row] for e, row in zip(bounced, system.J, strict=True)]
    change = scalar.matmul([*system.P, *system.seen_Ginv], scaled, negate=True)
    dnu_dnu = [[(1.0 if i == j else 0.0) + y for j, y in enumerate(row)] for i, row in enumerate(change[: model.nv])]
    dp_dq = _turning(m, constraints, p, system.with_range(m, constraints, p, dp_dq))
    return ImpactDerivatives(dnu_dq, dnu_dnu, dp_dq, change[model.nv :])


# ---------------------------------------------------------------------------------------------------------------------
# Linearization


class Tangent(NamedTuple):
    """What a linearization on the constraint manifold is made of."""

    A: Values
    """(..., 2nv, 2nv): of all perturbations z = (z_q, z_nu)."""
    B: Values
    """(..., 2nv, nv): of tau."""
    J: Values
    """(..., m, nv)"""
    dJnu_dq: Values
    """(..., m, nv): perturbations that stay on the constraints have J z_q = 0 and dJnu_dq z_q + J z_nu = 0."""
    J_rate: Values
    """(..., m, nv): a basis Z of what J lets pass changes along the motion, J Z' = -J_rate Z."""


def tangent(
    model: Model, q: Vector, nu: Vector, tau: Vector, constraints: ConstraintSet,
    active: Vector | None = None, anchors: Vector | None = None, reference: Vector | None = None, f_ext: Wrenches = NO_FORCES,
) -> Tangent:  # fmt: skip
    """z' = A z + B tau, and the rows that perturbations obey; rows that are not active are zero."""
    D = forward_dynamics_derivatives(model, q, nu, tau, constraints, active, anchors, reference, f_ext)
    nv, r = model.nv, common(model, q)
    _, m = moving_with(r, nu, [0.0] * nv)
    A = [[*(-x for x in row), *(1.0 if i == j else 0.0 for j in range(nv))] for i, row in enumerate(bracket(model, nu))]
    A += [[*a, *b] for a, b in zip(D.ddnu_dq, D.ddnu_dnu, strict=True)]
    B = [[0.0] * nv for _ in range(nv)] + [list(row) for row in D.ddnu_dtau]
    seen = transpose([constraints.turned(m, column) for column in zip(*velocity_rows(m, constraints), strict=True)])
    found = (jacobian(model, q, constraints), seen, jacobian_rate(model, q, nu, constraints))
    on = constraints.masks(active)
    return Tangent(A, B, *([[a * x for x in row] for a, row in zip(on, rows, strict=True)] for rows in found))


def velocity_rows(m: Moving, constraints: ConstraintSet) -> Block:
    """d(J nu)/dq where J nu = 0, or its part in axes that move with the constraint."""
    columns, gather = ColumnsOf(m), m.r.model.gather_columns
    return [row for part in constraints.parts for row in gather(part.velocity_dq(m, columns), part.size)]
