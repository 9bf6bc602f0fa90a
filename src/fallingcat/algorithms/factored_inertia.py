"""The mass matrix of a robot, factored: free motion, inverse, and the response to forces along rows.

The response to forces f is M^-1 J^T f; along the rows themselves it is G f, with the Delassus matrix G = J M^-1 J^T. With the
articulated bodies of `articulated`, M^-1 = W D^-1 W^T, a row of J W follows from its unit force: the wrench phi on a body goes
inwards, and each joint on the way takes y = S^T phi of it and passes phi - U D^-1 y on (Wensing, Featherstone and Orin, 2012).
Only joints that carry the row have a y, so
    G_rs = sum_i y_ri^T D_i^-1 y_si                                                                    (1)
over joints that carry both rows, and M^-1 J^T f is one pass outwards with z_i = sum_r y_ri f_r:
    x_i = D_i^-1 (z_i - U_i^T a_p),   a_i = a_p + S_i x_i                                              (2)
Joints that mimic others couple branches: there G comes from the factors of the mass matrix itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fallingcat.algorithms.aba import accelerations, by_mass_matrix
from fallingcat.algorithms.articulated import Articulated, articulated_bodies, combination
from fallingcat.algorithms.constraint_rows import Moving, Unit
from fallingcat.algorithms.crba import mass_matrix_in
from fallingcat.algorithms.dense import Block, Matrix, factor, forward_substitute, inverse_symmetric, substitute
from fallingcat.algorithms.minverse import Inverse, inverse_of
from fallingcat.algorithms.pivots import least_pivots_by_dof
from fallingcat.algorithms.posed import PerBody, Posed, Vector, Wrenches, velocities
from fallingcat.algorithms.vectors import minus, plus, scaled
from fallingcat.model.model import WORLD
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion


def jacobian_of(r: Posed, units: Sequence[Unit]) -> Matrix:
    """J, (m, nv): one row per unit force."""
    return Matrix([r.model.gather(_joint_torques(r, unit)) for unit in units], r.model.nv)


def _joint_torques(r: Posed, unit: Unit) -> PerBody[list[Scalar]]:
    """S^T w of every joint that carries a unit force."""
    parts: PerBody[list[Scalar]] = {i: list(x) for i, x in unit.torques.items()}
    for body, w in unit.wrenches.items():
        for j in r.model.path(body):
            own = r.S[j].power(w)
            parts[j] = plus(parts[j], own) if j in parts else own
    return parts


class FactoredInertia(Protocol):
    """The mass matrix of a robot at a configuration, factored."""

    r: Posed

    def free(self, nu: Vector, tau: Vector, f_ext: Wrenches) -> Moving:
        """The motion of the robot without constraints."""

    def delassus(self, units: Sequence[Unit]) -> Matrix:
        """G = J M^-1 J^T, (m, m)."""

    def response(self, units: Sequence[Unit], f: Vector) -> list[Scalar]:
        """M^-1 J^T f, (nv,)."""

    def inverse(self) -> Inverse:
        """M^-1."""


def factored_inertia(r: Posed) -> FactoredInertia:
    """The factored mass matrix of a robot in common coordinates."""
    return FactoredMassMatrix(r) if r.model.mimics else ArticulatedInertia(r)


class ArticulatedInertia:
    """The mass matrix factored by articulated bodies, (1) and (2)."""

    def __init__(self, r: Posed) -> None:
        self.r = r
        self.bodies: Articulated = articulated_bodies(r)
        self._factors = {i: factor(D, self.bodies.least[i]) for i, D in self.bodies.D.items()}

    def free(self, nu: Vector, tau: Vector, f_ext: Wrenches) -> Moving:
        dnu, a = accelerations(self.bodies, reversed(self.r.S), nu, tau, f_ext)
        return Moving(self.r, nu, dnu, velocities(self.r, nu), a)

    def _half(self, unit: Unit) -> PerBody[list[Scalar]]:
        """y of every joint that carries a unit force: its row of J W."""
        r, b = self.r, self.bodies
        phi: PerBody[Force] = dict(unit.wrenches)
        y: PerBody[list[Scalar]] = {}
        for i, p in r.model.tip_to_base():
            if i not in phi and i not in unit.torques:
                continue
            force = phi.get(i, Force.zero(r.root))
            torques = unit.torques.get(i, [0.0] * len(r.S[i]))
            y[i] = plus(r.S[i].power(force), torques)
            through = force - combination(b.UDinv[i], y[i])
            phi[p] = phi[p] + through if p in phi else through
        return y

    def delassus(self, units: Sequence[Unit]) -> Matrix:
        y = [self._half(unit) for unit in units]
        G = Matrix.zero(len(units), len(units))
        for i, _ in self.r.model.base_to_tip():
            rows = [k for k in range(len(units)) if i in y[k]]
            part = _through_inverse(self._factors[i], [y[k][i] for k in rows])  # (1)
            for k, row in zip(rows, part, strict=True):
                for m, x in zip(rows, row, strict=True):
                    G[k][m] = G[k][m] + x
        return G

    def response(self, units: Sequence[Unit], f: Vector) -> list[Scalar]:
        r, b = self.r, self.bodies
        z: PerBody[list[Scalar]] = {}
        for unit, force in zip(units, f, strict=True):
            for i, y in self._half(unit).items():
                z[i] = plus(z[i], scaled(force, y)) if i in z else scaled(force, y)
        a: PerBody[Motion] = {WORLD: Motion.zero(r.root)}
        x: PerBody[list[Scalar]] = {}
        for i, p in r.model.base_to_tip():
            rest = substitute(*self._factors[i], z[i]) if i in z else [0.0] * len(r.S[i])
            x[i] = minus(rest, [a[p] @ column for column in b.UDinv[i]])  # (2)
            a[i] = a[p] + r.S[i] @ x[i]
        return r.model.gather(x)

    def inverse(self) -> Inverse:
        return inverse_of(self.bodies)


class FactoredMassMatrix:
    """The mass matrix factored as a dense matrix, for robots with joints that mimic others."""

    def __init__(self, r: Posed) -> None:
        self.r = r
        self.M = mass_matrix_in(r)
        self._least = least_pivots_by_dof(r.model)
        self._factors = factor(self.M, self._least)

    def free(self, nu: Vector, tau: Vector, f_ext: Wrenches) -> Moving:
        return Moving.along(self.r, nu, by_mass_matrix(self.r, nu, tau, f_ext))

    def delassus(self, units: Sequence[Unit]) -> Matrix:
        return _through_inverse(self._factors, jacobian_of(self.r, units).rows)

    def response(self, units: Sequence[Unit], f: Vector) -> list[Scalar]:
        return substitute(*self._factors, jacobian_of(self.r, units).T @ f)

    def inverse(self) -> Inverse:
        return Inverse(inverse_symmetric(self.M, self._least), {}, {})


def _through_inverse(factors: tuple[Block, list[Scalar]], rows: Sequence[list[Scalar]]) -> Matrix:
    """Y A^-1 Y^T of the rows of Y, from A = L D L^T as (L, 1/D)."""
    L, Dinv = factors
    half = Matrix([forward_substitute(L, row) for row in rows], len(Dinv))
    return half.times_symmetric(half.scale_columns(Dinv).T)
