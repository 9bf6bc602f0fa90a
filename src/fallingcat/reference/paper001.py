"""Algorithms 1 and 2 of paper 001 (Echeandia, Wensing), line by line, with dense 6 x 6 matrices.

Line numbers at the right are those of the paper; "erratum" marks what is not as printed (docs/papers/001.md). Letters are the
paper's: H is the mass matrix, Phi the axes of a joint, Gamma the Christoffel symbols. 6-vectors are (linear; angular) as
everywhere in this library, where the paper has the angular part first. `printed` names errata to leave uncorrected, for tests
that show them. The library computes the same otherwise (algorithms/coriolis.py, algorithms/christoffel.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms.kinematics import joint_kinematics, ring
from fallingcat.model.model import Model
from fallingcat.reference.paper000 import ad, hat

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Tree:
    """A tree of bodies at a configuration; joints may have several axes, and axes may move in the body."""

    model: Model
    q: list[float]
    parent: list[int]
    """p(i) < i, or -1."""
    X: list[Array]
    """iX_p(i): from the parent's coordinates to those of body i."""
    Phi: list[Array]
    """6 x d_i, in body i."""
    I: list[Array]
    """Spatial inertias (63), in body i."""

    @staticmethod
    def of(model: Model, q: Sequence[float]) -> Tree:
        X, S = joint_kinematics(model, list(q))
        bodies = range(len(model.bodies))
        scaled = [model.bodies[i].multiplier * np.array([s.entries() for s in S[i].columns], dtype=float).T for i in bodies]
        return Tree(
            model,
            list(q),
            [body.parent for body in model.bodies],
            [np.array(X[i].matrix(), dtype=float) for i in bodies],
            scaled,
            [np.array(body.inertia.matrix(), dtype=float) for body in model.bodies],
        )

    @property
    def n(self) -> int:
        return self.model.nv

    def at(self, i: int) -> slice:
        """Where joint i is in nu."""
        dofs = self.model.dofs(i)
        return slice(dofs.start, dofs.stop)

    def path(self, i: int) -> Iterator[int]:
        """i, p(i), p(p(i)), ..."""
        return self.model.path(i)

    def below(self, i: int, j: int) -> bool:
        """Is i on the path of j? (i <= j in the paper)"""
        return i in self.path(j)

    def ring(self, i: int, qd: Array) -> Array:
        """Phiring_i: the rate of the numbers of Phi_i in body i (17)."""
        moving = ring(self.model, i, self.q, list(qd))
        return np.array([s.entries() for s in moving.columns], dtype=float).T

    def velocities(self, qd: Array) -> list[Array]:
        v: list[Array] = []
        for i, p in enumerate(self.parent):
            carried = np.zeros(6) if p < 0 else self.X[i] @ v[p]
            v.append(carried + self.Phi[i] @ qd[self.at(i)])  # (5)
        return v

    def axis_rates(self, qd: Array, printed: Collection[str] = ()) -> list[Array]:
        """Phidot_i = v_i x Phi_i + Phiring_i; the ring is lost in the text (erratum 1.4)."""
        v = self.velocities(qd)
        moving = 0.0 if "1.4" in printed else 1.0
        return [ad(v[i]) @ self.Phi[i] + moving * self.ring(i, qd) for i in range(len(v))]

    def in_world(self, i: int) -> Array:
        """iX_0."""
        X = np.eye(6)
        for k in self.path(i):
            X = X @ self.X[k]
        return X


# ---------------------------------------------------------------------------------------------------------------------
# Factorizations of one body's velocity products


def bar(f: Array) -> Array:
    """(f xbar*) v = v x* f, eq. (8) and (62)."""
    force, moment = hat(f[:3]), hat(f[3:])
    return np.block([[np.zeros((3, 3)), -force], [-force, -moment]])


def factor(v: Array, I: Array, factorization: str = "christoffel") -> Array:
    """B(v, I) with B v = v x* (I v): eq. (12), or eq. (11) for "body"."""
    first = -ad(v).T @ I  # (v x*) I
    return first if factorization == "body" else 0.5 * (first + bar(I @ v) - I @ ad(v))


def inertia_rate(v: Array, I: Array) -> Array:
    """Idot = (v x*) I - I (v x), eq. (13)."""
    return np.array(-ad(v).T @ I - I @ ad(v))


def torques(tree: Tree, qd: Array, qdd: Array, printed: Collection[str] = ()) -> Array:
    """tau of (18) with the accelerations of (16), in world coordinates and without gravity.

    Erratum 1.12: (16) is printed as a sum over j < i, without the joint of body i itself.
    """
    N = len(tree.parent)
    to_world = [np.linalg.inv(tree.in_world(i)) for i in range(N)]
    parts = [tree.Phi[j] @ qdd[tree.at(j)] + x @ qd[tree.at(j)] for j, x in enumerate(tree.axis_rates(qd))]
    tau = np.zeros(tree.n)
    for k, v in enumerate(tree.velocities(qd)):
        a = sum((to_world[j] @ parts[j] for j in tree.path(k) if j != k or "1.12" not in printed), start=np.zeros(6))  # (16)
        f = tree.I[k] @ tree.in_world(k) @ a - ad(v).T @ tree.I[k] @ v  # (7)
        for i in tree.path(k):  # k carried by i
            tau[tree.at(i)] += (to_world[i] @ tree.Phi[i]).T @ tree.in_world(k).T @ f  # (18)
    return tau


# ---------------------------------------------------------------------------------------------------------------------
# Algorithm 1


class Terms(NamedTuple):
    """What Algorithm 1 returns."""

    H: Array
    Hdot: Array
    C: Array


def algorithm1(tree: Tree, qd: Array, factorization: str = "christoffel", printed: Collection[str] = ()) -> Terms:
    """H, its rate and C(q, qd). For joints without followers: entries are assigned, not added."""
    n, N = tree.n, len(tree.parent)
    v, Phid = tree.velocities(qd), tree.axis_rates(qd, printed)  # 3, 4
    Ic = [I.copy() for I in tree.I]  # 5
    Bc = [factor(v[i], tree.I[i], factorization) for i in range(N)]  # 6
    H, Hdot, C = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    i = N - 1  # 2
    for j in reversed(range(N)):  # 8
        at = tree.at(j)
        k = i if "1.5" in printed else j  # erratum 1.5: i, which keeps its last value
        F1 = Ic[k] @ Phid[j] + Bc[k] @ tree.Phi[j]  # 9
        F2 = Ic[k] @ tree.Phi[k]  # 10
        F3 = Bc[k].T @ tree.Phi[k]  # 11
        C[at, at] = tree.Phi[j].T @ F1  # 12
        if "1.2" not in printed:  # erratum 1.2: the diagonal blocks are never assigned
            H[at, at] = tree.Phi[j].T @ F2
            Hdot[at, at] = Phid[j].T @ F2 + tree.Phi[j].T @ (F1 + F3)
        i = j  # 13
        while (i if "1.3" in printed else tree.parent[i]) >= 0:  # 14, erratum 1.3: printed `i > 0`
            F1, F2 = tree.X[i].T @ F1, tree.X[i].T @ F2  # 15
            if "1.1" not in printed:  # erratum 1.1: the third transform is lost
                F3 = tree.X[i].T @ F3
            i = tree.parent[i]  # 16
            if i < 0:
                raise LookupError("the world has no joint and no axes")
            to = tree.at(i)
            C[to, at] = tree.Phi[i].T @ F1  # 17
            C[at, to] = (Phid[i].T @ F2 + tree.Phi[i].T @ F3).T  # 18
            H[to, at] = tree.Phi[i].T @ F2  # 19
            H[at, to] = H[to, at].T
            Hdot[to, at] = Phid[i].T @ F2 + tree.Phi[i].T @ (F1 + F3)  # 20
            Hdot[at, to] = Hdot[to, at].T
        p = tree.parent[j]
        if p >= 0:
            Ic[p] += tree.X[j].T @ Ic[j] @ tree.X[j]  # 22
            Bc[p] += tree.X[j].T @ Bc[j] @ tree.X[j]  # 23
    return Terms(H, Hdot, C)


def closed_form(tree: Tree, qd: Array, factorization: str = "christoffel", printed: Collection[str] = ()) -> Terms:
    """(22)-(24) block by block, in world coordinates. Composites belong to the body nearer to the tips.

    Erratum 1.5: (22) and (23) are printed with the composites of body i, (24) with those of body j.
    """
    n, N = tree.n, len(tree.parent)
    to_world = [np.linalg.inv(tree.in_world(i)) for i in range(N)]
    v = [X @ x for X, x in zip(to_world, tree.velocities(qd), strict=True)]
    Phi = [X @ S for X, S in zip(to_world, tree.Phi, strict=True)]
    Phid = [X @ S for X, S in zip(to_world, tree.axis_rates(qd), strict=True)]
    I = [np.linalg.inv(X).T @ M @ np.linalg.inv(X) for X, M in zip(to_world, tree.I, strict=True)]
    Ic = [sum(I[k] for k in range(N) if tree.below(i, k)) for i in range(N)]  # (20)
    Bc = [sum(factor(v[k], I[k], factorization) for k in range(N) if tree.below(i, k)) for i in range(N)]  # (21)
    H, Hdot, C = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for j in range(N):
        for i in tree.path(j):  # i <= j
            k = i if "1.5" in printed else j
            a, b = tree.at(i), tree.at(j)
            H[a, b] = Phi[i].T @ Ic[k] @ Phi[j]  # (22)
            H[b, a] = H[a, b].T
            C[a, b] = Phi[i].T @ (Ic[k] @ Phid[j] + Bc[k] @ Phi[j])  # (23)
            C[b, a] = (Phid[i].T @ Ic[j] @ Phi[j] + Phi[i].T @ np.transpose(Bc[j]) @ Phi[j]).T  # (24)
    Hdot[:] = C + C.T
    return Terms(H, Hdot, C)


def jacobian_form(
    J: Sequence[Array], J_ring: Sequence[Array], I: Sequence[Array], nu: Array, factorization: str = "christoffel"
) -> tuple[Array, Array]:
    """H and C by (39), (40) from the Jacobians of the bodies, each in its body, and the rates of their numbers, in O(N^3).

    With Jdot = J_ring + v x J (Remark 3). v_k = J_k nu may be written in any generalized speeds nu (Remark 4).
    """
    n = len(nu)
    H, C = np.zeros((n, n)), np.zeros((n, n))
    for Jk, Rk, Ik in zip(J, J_ring, I, strict=True):
        v = Jk @ nu
        H += Jk.T @ Ik @ Jk  # (39)
        C += Jk.T @ (factor(v, Ik, factorization) @ Jk + Ik @ (Rk + ad(v) @ Jk))  # (40)
    return H, C


# ---------------------------------------------------------------------------------------------------------------------
# Algorithm 2


def algorithm2(tree: Tree) -> Array:
    """Christoffel symbols for joints with one axis that is constant in the body."""
    n, N = tree.n, len(tree.parent)
    Phi, at = [S[:, 0] for S in tree.Phi], [tree.at(i).start for i in range(N)]
    Ic = [I.copy() for I in tree.I]  # 3
    G = np.zeros((n, n, n))
    for k in reversed(range(N)):  # 5
        B = factor(Phi[k], Ic[k])  # 6
        D = bar(Ic[k] @ Phi[k]) - B  # 7
        j = k  # 8
        while j >= 0:  # 9, erratum 1.7
            F1, F2, F3 = B @ Phi[j], B.T @ Phi[j], D @ Phi[j]  # 10-12
            i = j  # 13, erratum 1.7
            while i >= 0:  # 14
                a, b, c = at[i], at[j], at[k]
                G[a, b, c] = G[a, c, b] = Phi[i] @ F1  # 15, erratum 1.7
                G[b, a, c] = G[b, c, a] = Phi[i] @ F2  # 16, erratum 1.7
                G[c, a, b] = G[c, b, a] = Phi[i] @ F3  # 17, erratum 1.7
                F1, F2, F3 = (tree.X[i].T @ F for F in (F1, F2, F3))  # 18
                i = tree.parent[i]  # 19
            B = tree.X[j].T @ B @ tree.X[j]  # 21
            D = tree.X[j].T @ D @ tree.X[j]  # 22
            j = tree.parent[j]  # erratum 1.7: this line is missing
        p = tree.parent[k]
        if p >= 0:
            Ic[p] += tree.X[k].T @ Ic[k] @ tree.X[k]  # 25
    return G


def algorithm2_as_printed(tree: Tree) -> Array:
    """Algorithm 2 letter by letter as our copy has it (erratum 1.7): i where j belongs, Phi_1, and no step from j to p(j).

    Bodies count from 0 here, so that `while i > 0` is `while i >= 0` and Phi_1 is Phi[0]; i keeps its last value of line 2.
    """
    n, N = tree.n, len(tree.parent)
    Phi, at = [S[:, 0] for S in tree.Phi], [tree.at(i).start for i in range(N)]
    Ic = [I.copy() for I in tree.I]  # 3
    G, i = np.zeros((n, n, n)), N - 1  # 2
    for k in reversed(range(N)):  # 5
        B = factor(Phi[k], Ic[k])  # 6
        D = bar(Ic[k] @ Phi[k]) - B  # 7
        j = k  # 8
        while i >= 0:  # 9
            F1, F2, F3 = B @ Phi[i], B.T @ Phi[i], D @ Phi[i]  # 10-13
            while i >= 0:  # 14
                a, b, c = at[i], at[j], at[k]
                G[a, b, c] = G[a, c, b] = Phi[0] @ F1  # 15
                G[a, a, c] = G[a, c, a] = Phi[0] @ F2  # 16
                G[c, a, b] = G[c, b, a] = Phi[0] @ F3  # 17
                F1, F2, F3 = (tree.X[i].T @ F for F in (F1, F2, F3))  # 18
                i = tree.parent[i]  # 19
            B, D = (tree.X[j].T @ x @ tree.X[j] for x in (B, D))  # 21, 22
        p = tree.parent[k]
        if p >= 0:
            Ic[p] += tree.X[k].T @ Ic[k] @ tree.X[k]  # 25
    return G


def symbol(tree: Tree, i: int, j: int, k: int) -> float:
    """Phi_i^T B(Phi_k, I^C_t) Phi_j, t the one of i, j, k nearest to the tips, if all are on one path; else zero.

    This is Gamma_ijk where j carries k. The text before (46) says the opposite, "j >= k" (erratum 1.6).
    """
    t = max((i, j, k), key=lambda body: len(list(tree.path(body))))
    if not all(tree.below(body, t) for body in (i, j, k)):
        return 0.0
    N = range(len(tree.parent))
    to_t = [tree.in_world(t) @ np.linalg.inv(tree.in_world(body)) for body in N]
    Ic = sum(np.linalg.inv(to_t[m]).T @ tree.I[m] @ np.linalg.inv(to_t[m]) for m in N if tree.below(t, m))
    a, b, c = (to_t[body] @ tree.Phi[body][:, 0] for body in (i, j, k))
    return float(a @ factor(c, np.asarray(Ic)) @ b)


def three_cases(tree: Tree, i: int, j: int, k: int, printed: Collection[str] = ()) -> tuple[float, float, float]:
    """Gamma_ijk, Gamma_jik and Gamma_kij for i carrying j, and j carrying k: (51)-(56), and (47), in coordinates of body k.

    Erratum 1.13: Phi_i where Phi_j belongs in (47), (51) and (53).
    """
    N = range(len(tree.parent))
    to_k = [tree.in_world(k) @ np.linalg.inv(tree.in_world(body)) for body in N]
    from_k = [np.linalg.inv(X) for X in to_k]
    Ic = np.sum([from_k[m].T @ tree.I[m] @ from_k[m] for m in N if tree.below(k, m)], axis=0)
    a, b, c = (to_k[body] @ tree.Phi[body][:, 0] for body in (i, j, k))
    B = factor(c, Ic)
    D = bar(Ic @ c) - B
    other = a if "1.13" in printed else b
    F1, F2, F3 = B @ other, B.T @ other, D @ other  # (51), (52) and (47), (53)
    return float(a @ F1), float(a @ F2), float(a @ F3)  # (54)-(56)


def transformed_symbols(G: Array, M: Array, A: Array, dA: Array) -> Array:
    """The symbols of the first kind in coordinates qbar (74): A_ai = dq_a / dqbar_i, dA[a, j, k] = d2q_a / dqbar_j dqbar_k."""
    first = np.einsum("ai,bj,ck,abc->ijk", A, A, A, G)
    return np.array(first + np.einsum("ajk,bi,ab->ijk", dA, A, M))
