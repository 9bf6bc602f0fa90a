"""Second derivatives of inverse dynamics for mixed and inertial base twists, from those for a body-fixed one.

The torque is X^T ID(q, nu, dnu), nu = X nu_a, dnu = y - drift(nu), y = X dnu_a (`representations`). Along column j of a first
derivative q, nu and dnu go by (e_j, V e_j, A e_j) or, by nu_a and dnu_a, without the e_j; on the base

    by q:      V = turn(nu),   A = turn(y) - drift_dv(nu) V         (1)
    by nu_a:   V = X,          A = -drift_dv(nu) X                  (2)
    by dnu_a:  V = 0,          A = X                                (3)

and the column is X^T f_j, f_j = G x_j with G = (dID/dq, dID/dnu, M) and x_j along it; by q turn_force(tau) e_j is added. With
H the second derivatives for a body-fixed twist, it changes along another direction x_k by

    X^T (H(x_j, x_k) + G dx_j + turn_force(f_j) q_k),   by q also X^T turn_force(G x_k) e_j                          (4)

where q_k is the displacement in x_k. turn, turn_force and drift_dv are linear, so that dx_j has the form of x_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from fallingcat import scalar
from fallingcat.algorithms.christoffel import Tensor
from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.posed import NO_FORCES, Vector, common
from fallingcat.algorithms.representations import View, view_of
from fallingcat.algorithms.rnea_derivatives import InverseDynamicsDerivatives, base_wrench, derivatives_in
from fallingcat.algorithms.rnea_second_derivatives import InverseDynamicsSecondDerivatives
from fallingcat.algorithms.rnea_second_derivatives import inverse_dynamics_second_derivatives as body_fixed
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial.vec3 import skew

BASE = range(6)


def inverse_dynamics_second_derivatives(
    model: Model, q: Vector, nu_a: Vector, dnu_a: Vector, representation: str = "body"
) -> InverseDynamicsSecondDerivatives:
    """All second derivatives of inverse dynamics; nu_a and dnu_a are held when q is displaced."""
    view = view_of(model, q, representation)
    nu, y = view.X @ nu_a, view.X @ dnu_a
    dnu = view.minus_drift(y, nu)
    H = body_fixed(model, q, nu, dnu)
    if not view.moves:
        return H
    r = common(model, q)
    state = StateInView(view, nu, y, base_wrench(r, nu, dnu, NO_FORCES), derivatives_in(r, nu, dnu), H)
    return InverseDynamicsSecondDerivatives(
        state.tensor("q", "q"), state.tensor("q", "nu"), state.tensor("nu", "nu"), state.tensor("dnu", "q")
    )


@dataclass(frozen=True)
class Direction:
    """Changes V of nu and A of dnu along the six columns of the base, 6 x 6 blocks; Y is the part of A that comes from y."""

    V: Matrix
    A: Matrix
    Y: Matrix


@dataclass(frozen=True)
class StateInView:
    """A floating robot at a state, its derivatives for a body-fixed base twist, and the representation that is wanted."""

    view: View
    nu: Vector
    y: Vector
    tau: Vector
    G: InverseDynamicsDerivatives
    H: InverseDynamicsSecondDerivatives

    @cached_property
    def X(self) -> Matrix:
        return self.view.X[:6, :6]

    @cached_property
    def directions(self) -> dict[str, Direction]:
        """The directions (1), (2) and (3), by name."""
        none, U, Y, D = Matrix.zero(6, 6), self.turn(self.nu), self.turn(self.y), self.drift(self.nu)
        return {
            "q": Direction(U, Y - D @ U, Y),
            "nu": Direction(self.X, -(D @ self.X), none),
            "dnu": Direction(none, self.X, none),
        }

    def turn(self, v: Vector) -> Matrix:
        return self.view.turn_6(*_skews(v))

    def turn_force(self, f: Vector) -> Matrix:
        return self.view.turn_force_6(*_skews(f))

    def drift(self, v: Vector) -> Matrix:
        """The 6 x 6 block of the base of drift_dv(v)."""
        return self.view.drift_dv_6(*_skews(v))

    def tensor(self, inner: str, outer: str) -> Tensor:
        """The tensor (4): columns j of the first derivative by `inner`, directions k of `outer`."""
        nv, f, g = self.view.model.nv, self.torques[inner].T, self.torques[outer].T
        T = self._bilinear(inner, outer)
        for j in range(nv):
            by_q = inner == "q" and j in BASE
            turned = self.turn_force(_sum(f[j], self.turn_force(self.tau).T[j] if by_q else []))
            for k in range(nv):
                more: list[Scalar] = self._changed(inner, j, outer, k) if j in BASE and k in BASE else []
                if by_q:
                    more = _sum(self.turn_force(g[k]).T[j], more)
                if outer == "q" and k in BASE:
                    more = _sum(more, turned.T[k])
                for i, x in enumerate(more):
                    T[i][j][k] = T[i][j][k] + x
        rows = scalar.matmul(self.X.T.rows, [[x for row in T[i] for x in row] for i in BASE])
        return [[row[nv * j : nv * (j + 1)] for j in range(nv)] for row in rows] + T[6:]

    @cached_property
    def torques(self) -> dict[str, Matrix]:
        """G x_j for every column j."""
        blocks = {"q": self.G.dtau_dq, "nu": self.G.dtau_dnu, "dnu": self.G.M}
        found = {}
        for kind, x in self.directions.items():
            own = [list(row) for row in blocks[kind]]
            base = Matrix([row[:6] for row in self.G.dtau_dnu]) @ x.V + Matrix([row[:6] for row in self.G.M]) @ x.A
            for row, more in zip(own, base, strict=True):
                row[:6] = _sum(row[:6], more) if kind == "q" else more
            found[kind] = Matrix(own)
        return found

    def _changed(self, inner: str, j: int, outer: str, k: int) -> list[Scalar]:
        """G dx_j along x_k, for two columns of the base."""
        x, z = self.directions[inner], self.directions[outer]
        v, a, by_v = x.V.T[j], x.A.T[j], self.drift(z.V.T[k])
        if inner == "q":
            dv, dy = self.turn(z.V.T[k]).T[j], self.turn(z.Y.T[k]).T[j]
        else:
            still = [0.0] * 6
            dv, dy = (self.turn(v).T[k], self.turn(a).T[k]) if outer == "q" else (still, still)
        if inner == "dnu":
            return self._torque(dv, dy)
        da = [s - t - u for s, t, u in zip(dy if inner == "q" else [0.0] * 6, by_v @ v, self.drift(self.nu) @ dv, strict=True)]
        return self._torque(dv, da)

    def _torque(self, dv: Vector, da: Vector) -> list[Scalar]:
        """The change of the torque, (nv,), with changes dv of the twist and da of the acceleration of the base."""
        return [scalar.dot([*a[:6], *b[:6]], [*dv, *da]) for a, b in zip(self.G.dtau_dnu, self.G.M, strict=True)]

    # H(x_j, x_k), first with unit vectors in place of x_k

    @cached_property
    def _parts(self) -> dict[tuple[str, str], Tensor]:
        """H as tensors, by the names of the two vectors of its arguments; absent ones are zero."""
        H = self.H
        return {
            ("q", "q"): H.dq_dq, ("q", "nu"): H.dq_dnu, ("nu", "q"): _exchanged(H.dq_dnu),
            ("nu", "nu"): H.dnu_dnu, ("dnu", "q"): H.dM_dq, ("q", "dnu"): _exchanged(H.dM_dq),
        }  # fmt: skip

    def _bilinear(self, inner: str, outer: str) -> Tensor:
        """H(x_j, x_k): entries [i][j][k]."""
        half: dict[str, Tensor] = {}
        for kind in self.directions:
            given = {one: _exchanged(T) for (one, other), T in self._parts.items() if other == kind}
            if given:
                half[kind] = _exchanged(self._combined(given, inner))
        return self._combined(half, outer)

    def _combined(self, parts: dict[str, Tensor], kind: str) -> Tensor:
        """Every direction of a kind in the last place of tensors by q, nu and dnu: its own entry, V and A of the base."""
        x, nv = self.directions[kind], self.view.model.nv
        own = parts.get(kind)
        zero = [[0.0] * nv] * nv
        T = [[list(row) for row in (zero if own is None else own[i])] for i in range(nv)]
        blocks = [(parts[name], block) for name, block in (("nu", x.V), ("dnu", x.A)) if name in parts]
        right: Block = [row for _, block in blocks for row in block]
        left = [[y for part, _ in blocks for y in part[i][j][:6]] for i in range(nv) for j in range(nv)]
        base = scalar.matmul(left, right) if right else [[0.0] * 6] * (nv * nv)
        for i in range(nv):
            for j in range(nv):
                more = base[nv * i + j]
                T[i][j][:6] = _sum(T[i][j][:6], more) if kind == "q" else list(more)
        return T


def _skews(x: Vector) -> tuple[Matrix, Matrix]:
    """The skew matrices of the linear and the angular part of a twist or wrench."""
    return Matrix(skew((x[0], x[1], x[2]))), Matrix(skew((x[3], x[4], x[5])))


def _exchanged(T: Tensor) -> Tensor:
    """T with its last two axes exchanged."""
    return [[list(column) for column in zip(*rows, strict=True)] for rows in T]


def _sum(x: Vector, y: Vector) -> list[Scalar]:
    """x + y, where the shorter vector counts as padded with zeros."""
    n = min(len(x), len(y))
    return [a + b for a, b in zip(x, y, strict=False)] + list(x[n:]) + list(y[n:])
