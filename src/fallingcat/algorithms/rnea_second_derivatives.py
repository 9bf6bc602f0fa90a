"""Second derivatives of inverse dynamics, in O(N d^2) (beyond papers 000 and 001, which ask for them).

All in common coordinates, on top of the first derivatives (`rnea_derivatives`). For joint j carrying joint i, or j = i,
    dtau_i/dq_j  = Pd_j . y_i + Pdd_j . x_i        x_i = Ic_i S_i,   y_i = 2 Bc_i^T S_i                           (1)
    dtau_j/dq_i  = S_j . F_i                       F_i = 2 Bc_i Pd_i + Ic_i Pdd_i + S_i x* Fc_i                   (2)
    dtau_i/dnu_j = S_j . y_i + W_j . x_i           W_j = Pd_j + Sd_j                                              (3)
    dtau_j/dnu_i = S_j . G_i                       G_i = 2 Bc_i S_i + Ic_i W_i                                    (4)
These are scalars, which do not change when everything moves together. Seen from all that joint k carries, displacing k along S_k
gives the bodies beyond k the velocity Pd_k and the acceleration Pd_k x v + Pdd_k, and turns all that is not beyond k by -S_k x; a
velocity along S_k gives them S_k and S_k x v + W_k. B(v, I) is linear in both, and Bc and Ic of a joint that carries k change by
what k carries. What remains are dot products of a vector of two joints with a vector of the third.
Singh, Russell and Wensing (2024) have another form of the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fallingcat.algorithms.axes import Axes, axes
from fallingcat.algorithms.christoffel import Tensor, mass_matrix_derivatives
from fallingcat.algorithms.joint_dynamics import passive_second_derivatives
from fallingcat.algorithms.posed import PerBody, Vector, common, inwards, motions
from fallingcat.algorithms.rnea import force
from fallingcat.algorithms.rnea_derivatives import AxisColumns, axis_columns, factors
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Dots, Scalar, dots, tensor
from fallingcat.spatial import Force, Inertia, Motion
from fallingcat.spatial.coriolis import CoriolisFactor


class InverseDynamicsSecondDerivatives(NamedTuple):
    """Second derivatives of tau = ID(q, nu, dnu), each (..., nv, nv, nv): entry [i, j, k] is d/d_k of d tau_i / d_j."""

    dq_dq: Tensor
    """dtau_dq by q; left-trivialized, so not symmetric in j and k where these are axes of one joint."""
    dq_dnu: Tensor
    """dtau_dq by nu."""
    dnu_dnu: Tensor
    """dtau_dnu by nu."""
    dM_dq: Tensor
    """M = dtau_ddnu by q."""


@dataclass(frozen=True)
class AxisSubtree:
    """An axis i, and the subtree that its joint carries, in common coordinates."""

    S: Motion
    Pd: Motion
    Pdd: Motion
    W: Motion
    v_p: Motion
    """The twist of the body that the joint is mounted on (its parent)."""
    I: Inertia
    """Ic"""
    B: CoriolisFactor
    """Bc"""
    f: Force
    """Fc"""
    x: Force
    y: Force
    F: Force
    G: Force

    @staticmethod
    def of(s: AxisColumns, v_p: Motion, I: Inertia, B: CoriolisFactor, f: Force) -> AxisSubtree:
        x, y = I @ s.S, 2.0 * B.transposed(s.S)
        F = 2.0 * (B @ s.Pd) + I @ s.Pdd + s.S.cross(f)
        return AxisSubtree(s.S, s.Pd, s.Pdd, s.PdSd, v_p, I, B, f, x, y, F, 2.0 * (B @ s.S) + I @ s.PdSd)

    def moved(self, u: Motion, w: Motion) -> tuple[Motion, Motion]:
        """The changes of Pd and Pdd when the parent body gets the additional velocity u and acceleration u x v + w."""
        turned = u.cross(self.S)
        return turned, (u.cross(self.v_p) + w).cross(self.S) + u.cross(self.Pd) + self.v_p.cross(turned)

    def dF(self, u: Motion, w: Motion, dPd: Motion, dPdd: Motion) -> Force:
        """The change of F when all bodies beyond the joint get u and u x v + w."""
        Bu = CoriolisFactor.of(u, self.I)
        return 2.0 * (Bu @ self.Pd + self.B @ dPd) + self.I @ dPdd + self.S.cross(self.I @ w + 2.0 * (self.B @ u))

    def pulls(self, j: AxisSubtree) -> tuple[Force, Force]:
        """R1, R2: (1) changes by R1 . u + R2 . w when everything beyond joint j, and the body before it, get u and u x v + w."""
        R1 = j.S.cross(self.y) + j.Pd.cross(self.x) - self.S.cross(self.I @ j.Pd) - self.I @ j.Pd.cross(self.S)
        return R1, j.S.cross(self.x)

    def dI(self, m: Motion) -> Force:
        """The change of Ic, times a motion, when all of it is displaced along S."""
        return self.S.cross(self.I @ m) - self.I @ self.S.cross(m)

    def dB(self, m: Motion) -> Force:
        """The change of Bc, times a motion."""
        return self.S.cross(self.B @ m) - self.B @ self.S.cross(m) + CoriolisFactor.of(self.Pd, self.I) @ m

    def dB_transposed(self, m: Motion) -> Force:
        B = self.B.transposed
        return self.S.cross(B(m)) - B(self.S.cross(m)) + CoriolisFactor.of(self.Pd, self.I).transposed(m)


def inverse_dynamics_second_derivatives(model: Model, q: Vector, nu: Vector, dnu: Vector) -> InverseDynamicsSecondDerivatives:
    """All second derivatives of inverse dynamics that are not zero, for joints whose axes do not move in the body."""
    a, at = _axis_subtrees(model, q, nu, dnu)
    tables = Tables.of(model.nv, a, at)
    for i in range(len(at)):
        for k in a.up_to(i):
            _by_ancestors_of_both(a, at, tables, i, k)
            _by_joints_between(a, at, tables, i, k)
        for k in a.below(i):
            _by_descendants_of_both(a, at, tables, k, i)
    for k, value in enumerate(passive_second_derivatives(model, nu)):
        tables.dnu_dnu.entry(value, (k, k, k))
    return InverseDynamicsSecondDerivatives(
        tables.dq_dq.tensor(), tables.dq_dnu.tensor(), tables.dnu_dnu.tensor(), mass_matrix_derivatives(model, q)
    )


def _by_ancestors_of_both(a: Axes, at: list[AxisSubtree], tables: Tables, i: int, j: int) -> None:
    """(1) for j carrying i, or of the same joint, by every k that carries j, or is of the same joint."""
    R1, R2 = at[i].pulls(at[j])
    tables.dq_dq.add([*_entries(R1), *_entries(R2)], tables.PdPdd, a.up_to(j), (i, j, None))  # R1 . Pd_k + R2 . Pdd_k
    tables.dq_dnu.add([*_entries(R1), *_entries(R2)], tables.SW, a.below(j), (i, j, None))  # R1 . S_k + R2 . W_k


def _by_joints_between(a: Axes, at: list[AxisSubtree], tables: Tables, i: int, k: int) -> None:
    """(1) to (4) for k carrying i, or of the same joint, and the j that carry i, before and beyond k."""
    x, z = at[i], at[k]
    before_i, before_k, own = a.below(i), a.below(k), a.of[a.all[k].body]
    same = own == a.of[a.all[i].body]
    beyond_k = [j for j in a.up_to(i) if j not in before_k and j not in own]

    dF = x.dF(z.Pd, z.Pdd, *x.moved(z.Pd, z.Pdd))
    Z1 = z.S.cross(x.y) + 2.0 * CoriolisFactor.of(z.Pd, x.I).transposed(x.S)
    tables.dq_dq.add([*_entries(Z1), *_entries(z.S.cross(x.x))], tables.PdPdd, before_k, (i, None, k))  # (1), turned by -S_k x
    tables.dq_dq.add(_entries(dF + z.S.cross(x.F)), tables.SW, before_k, (None, i, k))  # (2), turned likewise
    tables.dq_dq.add(_entries(dF), tables.SW, [j for j in before_i if j not in before_k], (None, i, k))  # (2)

    B = CoriolisFactor.of(z.S, x.I)
    b, turned, dW = 2.0 * B.transposed(x.S), z.S.cross(x.x), z.S.cross(x.S)
    still = Motion.zero(x.S.frame)
    moved = (still, still) if same else x.moved(z.S, z.W)
    tables.dq_dnu.add(_moment(b), tables.PdPdd, [*before_k, *own], (i, None, k))  # (1)
    tables.dq_dnu.add(_entries(x.dF(z.S, z.W, *moved)), tables.SW, before_i, (None, i, k))  # (2)
    tables.dnu_dnu.add(_moment(b), tables.SW, before_k, (i, None, k))  # (3)
    tables.dnu_dnu.add(_entries(b - turned), tables.SW, own, (i, None, k))  # (3), dW_j = S_k x S_j
    tables.dnu_dnu.add(_entries(b - 2.0 * turned), tables.SW, beyond_k, (i, None, k))  # (3), dW_j = 2 S_k x S_j
    tables.dnu_dnu.add(_entries(2.0 * (B @ x.S) + x.I @ (dW if same else 2.0 * dW)), tables.SW, before_i, (None, i, k))  # (4)


def _by_descendants_of_both(a: Axes, at: list[AxisSubtree], tables: Tables, i: int, k: int) -> None:
    """(1) to (4) for k carried by i: only the composite quantities change."""
    x, z = at[i], at[k]
    up_to_i, before_i = a.up_to(i), a.below(i)
    B = CoriolisFactor.of(z.S, z.I)
    b = 2.0 * B.transposed(x.S)
    L1, L2 = 2.0 * z.dB_transposed(x.S), z.dI(x.S)
    tables.dq_dq.add([*_entries(L1), *_entries(L2)], tables.PdPdd, up_to_i, (i, None, k))  # (1)
    tables.dq_dq.add(_entries(2.0 * z.dB(x.Pd) + z.dI(x.Pdd) + x.S.cross(z.F)), tables.SW, before_i, (None, i, k))  # (2)
    tables.dq_dnu.add(_moment(b), tables.PdPdd, up_to_i, (i, None, k))  # (1)
    tables.dq_dnu.add(_entries(2.0 * (B @ x.Pd) + x.S.cross(z.G)), tables.SW, before_i, (None, i, k))  # (2)
    tables.dnu_dnu.add(_moment(b), tables.SW, up_to_i, (i, None, k))  # (3)
    tables.dnu_dnu.add(_entries(2.0 * (B @ x.S)), tables.SW, before_i, (None, i, k))  # (4)


def _axis_subtrees(model: Model, q: Vector, nu: Vector, dnu: Vector) -> tuple[Axes, list[AxisSubtree]]:
    """The axes of the robot in the order of nu, each with its columns and the composite quantities of its subtree."""
    r = common(model, q)
    v, acceleration = motions(r, nu, dnu, r.gravity)
    Ic, Bc = r.I | {WORLD: Inertia.zero(r.root)}, factors(r, v)
    Fc = {i: force(r, i, v, acceleration) for i in r.I} | {WORLD: Force.zero(r.root)}
    for _ in inwards(r, Ic, Bc, Fc):
        pass
    found: PerBody[list[AxisSubtree]] = {}
    for i, p in model.base_to_tip():
        m = model.bodies[i].multiplier
        for s in axis_columns(r, i, v, acceleration, nu, dnu):
            scaled = AxisColumns(m * s.S, m * s.Pd, m * s.Pdd, m * s.PdSd, [])
            found.setdefault(i, []).append(AxisSubtree.of(scaled, v[p], Ic[i], Bc[i], Fc[i]))
    a = axes(r)
    place = {number: (i, k) for i in a.of for k, number in enumerate(a.of[i])}
    return a, [found[place[n][0]][place[n][1]] for n in range(len(a.all))]


# ---------------------------------------------------------------------------------------------------------------------
# Dot products by index. Angular parts come first, so that pure moments need three terms.

Place = tuple[int | None, int | None, int | None]
"""The three axes of an entry; None for the one that runs over a list of axes."""


def _entries(x: Force | Motion) -> list[Scalar]:
    return [*x.ang, *x.lin]


def _moment(f: Force) -> list[Scalar]:
    return list(f.ang)


@dataclass(frozen=True)
class Tables:
    """The three tensors under construction, and where the columns of all axes start in their right factor."""

    dq_dq: Table
    dq_dnu: Table
    dnu_dnu: Table
    SW: int
    """S_k; W_k"""
    PdPdd: int
    """Pd_k; Pdd_k"""

    @staticmethod
    def of(nv: int, a: Axes, at: list[AxisSubtree]) -> Tables:
        right = [[*_entries(x.S), *_entries(x.W)] for x in at] + [[*_entries(x.Pd), *_entries(x.Pdd)] for x in at]
        right.append([1.0, *[0.0] * 11])  # a column (1, 0, ...) for entries given as numbers
        return Tables(Table(nv, a, right), Table(nv, a, right), Table(nv, a, right), 0, len(at))


class Table:
    """Collects the entries of a tensor as dot products of left vectors with columns."""

    def __init__(self, nv: int, a: Axes, right: Sequence[Sequence[Scalar]]) -> None:
        self.nv, self._axes, self._right = nv, a, right
        self._left: list[Scalar] = []
        self._jobs: list[Dots] = []
        self._places: list[int] = []

    def add(self, left: list[Scalar], columns: int, of: Iterable[int], place: Place) -> None:
        """`left` times the columns of some axes, at the places where these axes run."""
        start = len(self._left)
        self._left += left
        for n in of:
            i, j, k = self._axes.place(*(n if x is None else x for x in place))
            self._job(start, columns + n, (i * self.nv + j) * self.nv + k, len(left))

    def entry(self, value: Scalar, place: tuple[int, int, int]) -> None:
        """Add a number to the entry at a place, which is given in entries of nu."""
        if not (isinstance(value, float) and value == 0.0):
            i, j, k = place
            self._left.append(value)
            self._job(len(self._left) - 1, len(self._right) - 1, (i * self.nv + j) * self.nv + k, 1)

    def _job(self, left: int, right: int, place: int, terms: int) -> None:
        """Add one dot product; consecutive neighbours are merged into one job."""
        self._places.append(place)
        last = self._jobs[-1] if self._jobs else None
        if last is not None and (last.left, last.right + last.columns) == (left, right):
            step = place - last.place if last.columns == 1 else last.step
            if place == last.place + last.columns * step and step in (1, self.nv, self.nv * self.nv):
                self._jobs[-1] = last._replace(columns=last.columns + 1, step=step)
                return
        self._jobs.append(Dots(left, right, 1, place, 1, terms))

    def tensor(self) -> Tensor:
        """The finished tensor; where joints follow others, products for the same entry add up."""
        if not self._jobs:
            return [[[0.0] * self.nv for _ in range(self.nv)] for _ in range(self.nv)]
        meet = len(set(self._places)) < len(self._places)
        flat = dots(self._left, list(zip(*self._right, strict=True)), self._jobs, self.nv**3, add=meet)
        return tensor(flat, (self.nv,) * 3)
