"""What inertia stands against forces along rows: M^-1 J^T and the Delassus matrix G = J M^-1 J^T.

With the articulated bodies of `aba`, M^-1 = W D^-1 W^T, a row of J W is found by letting its unit force act: the wrench phi on
a body goes inwards, and each joint on the way takes y = S^T phi of it and lets phi - U D^-1 y through (Wensing, Featherstone and
Orin, 2012). Only joints that carry the row have a part, so
    G_rs = sum_i y_ri^T D_i^-1 y_si                                                                    (1)
over joints that carry both rows, and M^-1 J^T f is one pass outwards with z_i = sum_r y_ri f_r:
    x_i = D_i^-1 (z_i - U_i^T a_p),   a_i = a_p + S_i x_i                                              (2)
Joints that mimic others couple branches: there G comes from the factors of the mass matrix itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fallingcat import scalar
from fallingcat.algorithms.aba import Articulated, articulated_bodies, by_mass_matrix, combination, joint_accelerations
from fallingcat.algorithms.constraint_rows import Moving, Unit
from fallingcat.algorithms.crba import mass_matrix_in
from fallingcat.algorithms.dense import Block, factor, forward_substitute, inverse_symmetric, substitute, transpose
from fallingcat.algorithms.minverse import inverse_factor, inverse_mass_matrix_in
from fallingcat.algorithms.pivots import least_pivots_by_dof
from fallingcat.algorithms.posed import PerBody, Posed, Vector, Wrenches, accelerations, is_shallow, velocities, velocity_products
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion


def jacobian_of(r: Posed, units: Sequence[Unit]) -> Block:
    """J, one row per unit force."""
    model = r.model
    rows = []
    for unit in units:
        parts: PerBody[list[Scalar]] = {i: list(x) for i, x in unit.torques.items()}
        for body, w in unit.wrenches.items():
            for j in model.path(body):
                own = r.S[j].power(w)
                parts[j] = [x + y for x, y in zip(parts[j], own, strict=True)] if j in parts else own
        rows.append(model.gather(parts))
    return rows


class Resistance(Protocol):
    """The inertia of a robot at a configuration, factored."""

    r: Posed

    def free(self, nu: Vector, tau: Vector, f_ext: Wrenches) -> tuple[list[Scalar], Moving]:
        """dnu without any constraint, and the motion."""

    def delassus(self, units: Sequence[Unit]) -> Block:
        """G = J M^-1 J^T."""

    def response(self, units: Sequence[Unit], f: Vector) -> list[Scalar]:
        """M^-1 J^T f."""

    def inverse(self) -> Block:
        """M^-1."""


def resistance(r: Posed) -> Resistance:
    """For a robot in common coordinates."""
    return OfMassMatrix(r) if r.model.mimics else OfArticulatedBodies(r)


class OfArticulatedBodies:
    """By the passes above."""

    def __init__(self, r: Posed) -> None:
        self.r = r
        self.bodies: Articulated = articulated_bodies(r)
        self._factors = {i: factor(D, self.bodies.least[i]) for i, D in self.bodies.D.items()}

    def free(self, nu: Vector, tau: Vector, f_ext: Wrenches) -> tuple[list[Scalar], Moving]:
        dnu, a = joint_accelerations(self.bodies, reversed(self.r.S), nu, tau, f_ext)
        found = self.r.model.gather(dnu)
        return found, Moving(self.r, nu, found, velocities(self.r, nu), a)

    def _taken(self, unit: Unit) -> PerBody[list[Scalar]]:
        """y of every joint on the way of a unit force."""
        r, b = self.r, self.bodies
        phi: PerBody[Force] = dict(unit.wrenches)
        y: PerBody[list[Scalar]] = {}
        for i, p in r.model.tip_to_base():
            if i not in phi and i not in unit.torques:
                continue
            force = phi.get(i, Force.zero(r.root))
            torques = unit.torques.get(i, [0.0] * len(r.S[i]))
            y[i] = [x + t for x, t in zip(r.S[i].power(force), torques, strict=True)]
            if p != WORLD:
                through = force - combination(b.UDinv[i], y[i])
                phi[p] = phi[p] + through if p in phi else through
        return y

    def delassus(self, units: Sequence[Unit]) -> Block:
        y = [self._taken(unit) for unit in units]
        n = len(units)
        G: Block = [[0.0] * n for _ in range(n)]
        for i, _ in self.r.model.base_to_tip():
            rows = [k for k in range(n) if i in y[k]]
            if not rows:
                continue
            L, Dinv = self._factors[i]
            half = [forward_substitute(L, y[k][i]) for k in rows]
            scaled = transpose([[x * d for x, d in zip(row, Dinv, strict=True)] for row in half])
            part = scalar.matmul(half, scaled, symmetric=True)  # (1)
            for s, k in enumerate(rows):
                for t, m in enumerate(rows):
                    G[k][m] = G[k][m] + part[s][t]
        return G

    def response(self, units: Sequence[Unit], f: Vector) -> list[Scalar]:
        r, b = self.r, self.bodies
        z: PerBody[list[Scalar]] = {}
        for unit, force in zip(units, f, strict=True):
            for i, y in self._taken(unit).items():
                own = [force * x for x in y]
                z[i] = [x + t for x, t in zip(z[i], own, strict=True)] if i in z else own
        a: PerBody[Motion] = {WORLD: Motion.zero(r.root)}
        x: PerBody[list[Scalar]] = {}
        for i, p in r.model.base_to_tip():
            rest = substitute(*self._factors[i], z[i]) if i in z else [0.0] * len(r.S[i])
            x[i] = [s - a[p] @ column for s, column in zip(rest, b.UDinv[i], strict=True)]  # (2)
            a[i] = a[p] + r.S[i] @ x[i]
        return r.model.gather(x)

    def inverse(self) -> Block:
        return inverse_mass_matrix_in(self.bodies, inverse_factor(self.bodies) if is_shallow(self.r.model) else {})


class OfMassMatrix:
    """With joints that follow others."""

    def __init__(self, r: Posed) -> None:
        self.r = r
        self.model: Model = r.model
        self.M = mass_matrix_in(r)
        self._least = least_pivots_by_dof(r.model)
        self._factors = factor(self.M, self._least)

    def free(self, nu: Vector, tau: Vector, f_ext: Wrenches) -> tuple[list[Scalar], Moving]:
        return moving_with(self.r, nu, by_mass_matrix(self.r, nu, tau, f_ext))

    def delassus(self, units: Sequence[Unit]) -> Block:
        L, Dinv = self._factors
        half = [forward_substitute(L, row) for row in jacobian_of(self.r, units)]
        scaled = [[x * d for x, d in zip(row, Dinv, strict=True)] for row in half]
        return scalar.matmul(half, transpose(scaled), symmetric=True)

    def response(self, units: Sequence[Unit], f: Vector) -> list[Scalar]:
        return substitute(*self._factors, torques_of(self.r, units, f))

    def inverse(self) -> Block:
        return inverse_symmetric(self.M, self._least)


def moving_with(r: Posed, nu: Vector, dnu: Vector) -> tuple[list[Scalar], Moving]:
    """The motion with given accelerations."""
    v = velocities(r, nu)
    return list(dnu), Moving(r, nu, dnu, v, accelerations(r, velocity_products(r, nu, v), dnu, r.gravity))


def torques_of(r: Posed, units: Sequence[Unit], f: Vector) -> list[Scalar]:
    """J^T f."""
    columns = transpose(jacobian_of(r, units))
    return [scalar.dot(column, f) for column in columns]
