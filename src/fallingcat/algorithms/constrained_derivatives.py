"""Derivatives of dynamics with constraints, by the implicit function theorem on the factors of the dynamics themselves.

With forces held in axes that move with the constraint, ID the inverse dynamics under them and c the residual of the rows,
    M ddnu - J^T df = -dID,     J ddnu + damping df = -dc                                                   (1)
and with G = J M^-1 J^T + damping, P = M^-1 J^T G^-1 and N = M^-1 - P J M^-1 the solution is
    [ddnu]     [  N    P   ] [dID]
    [ df ] = - [-P^T  G^-1 ] [ dc]                                                                          (2)
Columns of dID and dc are zero outside a joint's own branch, which saves most of the work. Displacing the whole robot changes only
the direction of gravity, and a uniform velocity changes nothing: for these columns x = -M^-1 dID is known in advance, and
    df = -G^-1 (dc + J x),    ddnu = x + M^-1 J^T df                                                        (3)
Where rows depend on each other, G^-1 is the pseudo-inverse, and forces of least norm f = J x, x = P f, stay in the range of J:
    df = df of (2) + Q dJ x,     Q = 1 - J J^+                                                              (4)
Finally forces are taken to local axes, which turn: df = E (df + turn x f). Derivatives are left-trivialized, nv columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from fallingcat.algorithms.aba_derivatives import invariant_columns
from fallingcat.algorithms.configuration import bracket
from fallingcat.algorithms.constrained import ConstraintSet, Values, impact, inverses, jacobian, jacobian_rate, masked, motion
from fallingcat.algorithms.constraint_rows import NO_GAINS, Blocks, Moving
from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.factored_inertia import FactoredInertia, factored_inertia, jacobian_of
from fallingcat.algorithms.held_wrenches import HeldWrenches
from fallingcat.algorithms.inverse_product import Columns
from fallingcat.algorithms.posed import NO_FORCES, PerBody, Vector, Wrenches, common
from fallingcat.algorithms.rnea_derivatives import AxisColumns, axis_columns, derivatives_in
from fallingcat.algorithms.vectors import minus, plus
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
    inertia = factored_inertia(r)
    dnu, f, _ = motion(inertia, nu, tau, constraints, active, anchors, reference, f_ext)
    m = Moving.along(r, nu, dnu)
    system = System.of(inertia, m, constraints, constraints.masks(active))
    f = system.least_norm(f)
    ID = derivatives_in(r, nu, dnu, _wrenches(m, constraints, f, f_ext))
    dc_dq, dc_dnu, torques = _rows(m, constraints, f, anchors, reference)
    dID_dq = Matrix(ID.dtau_dq, model.nv) - Matrix(model.gather_blocks(torques), model.nv)
    known_dq, known_dnu = invariant_columns(r, nu)
    if isinstance(f_ext, HeldWrenches) or torques:
        known_dq = {}
    ddnu_dq, df_dq = system.solve(dID_dq, dc_dq, known_dq)
    ddnu_dnu, df_dnu = system.solve(Matrix(ID.dtau_dnu, model.nv), dc_dnu, known_dnu)
    df_dq = system.least_norm_change(m, constraints, f, df_dq) + _turning_of_axes(m, constraints, f)
    return ConstrainedDerivatives(ddnu_dq, ddnu_dnu, system.N, df_dq, df_dnu, -system.local_P_T)


class System(NamedTuple):
    """The matrices of (2), which solve (1) for any right-hand sides."""

    J: Matrix
    N: Matrix
    P: Matrix
    Q: Matrix | None
    """(m, m): the projector of (4); None where rows are independent."""
    local_P_T: Matrix
    """P^T, G^-1 and Q with their rows in local axes."""
    local_Ginv: Matrix
    local_Q: Matrix | None

    @staticmethod
    def of(inertia: FactoredInertia, m: Moving, constraints: ConstraintSet, mask: Vector) -> System:
        units, nv = constraints.units(m), m.r.model.nv
        J, Minv = jacobian_of(m.r, units), Matrix(inertia.inverse().Minv, nv)
        G = masked(inertia.delassus(units), mask, constraints.damping)
        MJT = Minv @ J.T
        P, Ginv, Q = inverses(m.r, MJT, G, mask, constraints)
        N = Minv - P.times_symmetric(MJT.T)
        local_P_T, local_Ginv = constraints.matrix_to_local(m, P.T), constraints.matrix_to_local(m, Ginv.T)
        return System(J, N, P, Q, local_P_T, local_Ginv, None if Q is None else constraints.matrix_to_local(m, Q.T))

    def least_norm(self, f: list[Scalar]) -> list[Scalar]:
        """f - Q f, (m,): the forces f without the part that has no effect on the robot, which comes from rounding."""
        return f if self.Q is None else minus(f, self.Q @ f)

    def least_norm_change(self, m: Moving, constraints: ConstraintSet, f: Vector, df: Matrix) -> Matrix:
        """df, (m, nv), for forces of least norm, which stay in the range of J as it changes (4)."""
        if self.local_Q is None:
            return df
        pushed = Moving.along(replace(m.r, gravity=Motion.zero(m.r.root)), [0.0] * len(self.P), self.P @ f)
        dJx, _, _ = _rows(pushed, replace(constraints, gains=NO_GAINS), [0.0] * len(f), None, None)
        return df + self.local_Q @ dJx  # (4)

    def solve(self, dID: Matrix, dc: Matrix, known: Columns) -> tuple[Matrix, Matrix]:
        """ddnu and df; known: columns of x of (3)."""
        nv, others = len(self.N), [j for j in range(len(self.N)) if j not in known]
        right = Matrix.blocks([[dID.take(others)], [dc.take(others)]])
        solution = Matrix.blocks([[self.N, self.P], [-self.local_P_T, self.local_Ginv]]).minus_times(right)  # (2)
        found = dict(zip(others, solution.T, strict=True)) | {j: self._by_forces(x, dc, j) for j, x in known.items()}
        total = Matrix.from_columns([found[j] for j in range(nv)], nv + len(dc))
        return total[:nv], total[nv:]

    def _by_forces(self, x: Vector, dc: Matrix, j: int) -> list[Scalar]:
        """A column of ddnu and df where x = -M^-1 dID is known (3)."""
        rest = dc.take([j]) + Matrix([[y] for y in self.J @ x], 1)
        (response,) = Matrix.blocks([[self.P], [self.local_Ginv]]).minus_times(rest).T
        return plus([*x, *[0.0] * len(dc)], response)


def _wrenches(m: Moving, constraints: ConstraintSet, f: Vector, f_ext: Wrenches) -> Wrenches:
    """External wrenches plus those of the constraint forces, on bodies, in common coordinates."""
    total = HeldWrenches(f_ext.held) if isinstance(f_ext, HeldWrenches) else Wrenches()
    for i, w in f_ext.items():
        total[i] = m.r.wrench(i, w)
    for part, at, _ in constraints.each():
        for i, w in part.wrench(m, f[at]).items():
            total[i] = total[i] + w if i in total else w
    return total


def _rows(
    m: Moving, constraints: ConstraintSet, f: Vector, anchors: Vector | None, reference: Vector | None
) -> tuple[Matrix, Matrix, Blocks]:
    """dc/dq and dc/dnu, (m, nv), and the change of the torques J^T f."""
    columns = ColumnsOf(m)
    own = [part.derivatives(m, columns, f[at], target) for part, at, target in constraints.each(anchors, reference)]
    torques: Blocks = {}
    for key, block in (item for D in own for item in D.torques.items()):
        torques[key] = (Matrix(torques[key]) + Matrix(block)).rows if key in torques else block
    return _stacked(m, constraints, [D.dq for D in own]), _stacked(m, constraints, [D.dnu for D in own]), torques


def _stacked(m: Moving, constraints: ConstraintSet, columns: Sequence[PerBody[Block]]) -> Matrix:
    """The (m, nv) matrix whose rows are those of all constraints, each given by its columns joint by joint."""
    model = m.r.model
    pairs = zip(constraints.parts, columns, strict=True)
    return Matrix([row for part, own in pairs for row in model.gather_columns(own, part.size)], model.nv)


class ColumnsOf(dict[int, list[AxisColumns]]):
    """The `AxisColumns` of each joint's axes, computed when they are first asked for."""

    def __init__(self, m: Moving) -> None:
        super().__init__()
        self.m = m

    def __missing__(self, j: int) -> list[AxisColumns]:
        m = self.m
        self[j] = axis_columns(m.r, j, m.v, m.a, m.nu, m.dnu)
        return self[j]


def _turning_of_axes(m: Moving, constraints: ConstraintSet, f: Vector) -> Matrix:
    """(m, nv): what the turning of the local axes adds to df."""
    return _stacked(m, constraints, [part.turning_of_axes(m, f[at]) for part, at, _ in constraints.each()])


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
    """Derivatives of `constrained.impulse`: (1) with M x = J^T p for ID, x the change of nu, and J (x + (1 + e) nu) for c."""
    r, constraints, nv = common(model, q), replace(constraints, gains=NO_GAINS, damping=0.0), model.nv
    inertia, zero, mask = factored_inertia(r), [0.0] * nv, constraints.masks(active)
    weightless = replace(r, gravity=Motion.zero(r.root))
    x, p, m = impact(inertia, nu, restitution, constraints, active)
    system = System.of(inertia, m, constraints, mask)
    p = system.least_norm(p)
    pushed = Moving.along(weightless, zero, x)
    ID = derivatives_in(weightless, zero, x, _wrenches(pushed, constraints, p, NO_FORCES))
    _, _, torques = _rows(pushed, constraints, p, None, None)
    dID_dq = Matrix(ID.dtau_dq, nv) - Matrix(model.gather_blocks(torques), nv)
    factors = constraints.per_row([1.0 + e for e in restitution])
    dc_dq = velocity_rows(Moving.along(r, x, zero), constraints) + velocity_rows(m, constraints).scale_rows(factors)
    dnu_dq, dp_dq = system.solve(dID_dq, dc_dq, {})
    by_nu = Matrix.blocks([[system.P], [system.local_Ginv]]).minus_times(system.J.scale_rows(factors))
    dp_dq = system.least_norm_change(m, constraints, p, dp_dq) + _turning_of_axes(m, constraints, p)
    return ImpactDerivatives(dnu_dq, Matrix.identity(nv) + by_nu[:nv], dp_dq, by_nu[nv:])


# ---------------------------------------------------------------------------------------------------------------------
# Linearization


class Tangent(NamedTuple):
    """The matrices from which a linearization on the constraint manifold is computed."""

    A: Values
    """(..., 2nv, 2nv): of all perturbations z = (z_q, z_nu)."""
    B: Values
    """(..., 2nv, nv): of tau."""
    J: Values
    """(..., m, nv)"""
    dJnu_dq: Values
    """(..., m, nv): perturbations that stay on the constraints have J z_q = 0 and dJnu_dq z_q + J z_nu = 0."""
    J_rate: Values
    """(..., m, nv): the rate of J; a basis Z of the null space of J changes along the motion by J Z' = -J_rate Z."""


def tangent(
    model: Model, q: Vector, nu: Vector, tau: Vector, constraints: ConstraintSet,
    active: Vector | None = None, anchors: Vector | None = None, reference: Vector | None = None, f_ext: Wrenches = NO_FORCES,
) -> Tangent:  # fmt: skip
    """z' = A z + B tau, and the rows that perturbations obey; rows that are not active are zero."""
    D = forward_dynamics_derivatives(model, q, nu, tau, constraints, active, anchors, reference, f_ext)
    nv, on = model.nv, constraints.masks(active)
    m = Moving.along(common(model, q), nu, [0.0] * nv)
    zero, one, ad = Matrix.zero(nv, nv), Matrix.identity(nv), Matrix(bracket(model, nu), nv)
    A = Matrix.blocks([[-ad, one], [D.ddnu_dq, D.ddnu_dnu]])
    dJnu_dq = constraints.matrix_to_local(m, velocity_rows(m, constraints))
    rows = (jacobian(model, q, constraints), dJnu_dq, jacobian_rate(model, q, nu, constraints))
    return Tangent(A, Matrix.blocks([[zero], [D.ddnu_dtau]]), *(J.scale_rows(on) for J in rows))


def velocity_rows(m: Moving, constraints: ConstraintSet) -> Matrix:
    """d(J nu)/dq, (m, nv), where J nu = 0, or its part in axes that move with the constraint."""
    columns = ColumnsOf(m)
    return _stacked(m, constraints, [part.velocity_dq(m, columns) for part in constraints.parts])
