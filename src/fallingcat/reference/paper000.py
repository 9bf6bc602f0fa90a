"""Tables 4 to 9 of paper 000 (Bos, Traversaro, Pucci, Saccon), line by line, with dense 6 x 6 matrices.

Line numbers at the right are those of the tables; "erratum" marks what is not as printed (docs/papers/000.md). Bodies are
numbered from 0, the base, to n_B; joint i moves body i against its parent lam[i] < i, has one degree of freedom, and a
constant axis Gamma. 6-vectors are (linear; angular). `printed` names errata to leave uncorrected, for tests that show them.
Everything runs on real and on complex numbers. The library computes the same matrices otherwise (algorithms/).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms.kinematics import joint_kinematics
from fallingcat.choices import check_floating
from fallingcat.errors import InputError
from fallingcat.model.joints import Helical, Prismatic, Reversed, Revolute
from fallingcat.robot.robot import Robot

Array = NDArray[Any]
"""Of real or complex numbers."""


@dataclass(frozen=True)
class System:
    """A tree of bodies on a moving base; entry 0 of every list is the base."""

    lam: list[int]
    """Parents."""
    placement: list[Array]
    """lam(i)|i X lam(i): from the parent to the frame of the joint, a constant."""
    Gamma: list[Array]
    """Axis of joint i, in body i."""
    inertia: list[Array]
    """M_Bi"""
    gravity: Array
    """Free-fall acceleration in the inertial frame A, (3,)"""
    places: list[int]
    """Where joint i is among the joint coordinates of the robot."""

    @property
    def n(self) -> int:
        return len(self.lam) - 1

    @staticmethod
    def of(robot: Robot) -> System:
        """The system of a robot with a floating base and joints of one degree of freedom."""
        bodies = robot.model.bodies
        for body in bodies[1:]:
            joint = body.joint.forward if isinstance(body.joint, Reversed) else body.joint
            if not isinstance(joint, (Revolute, Prismatic, Helical)) or body.mimics:
                raise InputError(f"joint {body.joint_name!r}: the tables of paper 000 are for joints with one axis of their own")
        check_floating("paper 000", robot.floating)
        X, S = joint_kinematics(robot.model, robot.neutral().tolist())
        return System(
            [body.parent for body in bodies],
            [np.array(X[i].matrix()) for i in range(len(bodies))],
            [np.array(S[i].columns[0].entries()) for i in range(len(bodies))],
            [np.array(body.inertia.matrix()) for body in bodies],
            robot.gravity,
            [-1] + [body.nu_at - 6 for body in bodies[1:]],
        )


# ---------------------------------------------------------------------------------------------------------------------
# Spatial algebra


def hat(x: Array) -> Array:
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def ad(v: Array) -> Array:
    """v x on motions."""
    return np.block([[hat(v[3:]), hat(v[:3])], [np.zeros((3, 3)), hat(v[3:])]])


def cross(V: Array, w: Array) -> Array:
    """Every column of V, x w."""
    return -ad(w) @ V


def cross_force(v: Array) -> Array:
    """v xbar* on wrenches."""
    return -ad(v).T


def crossed_force(V: Array, f: Array) -> Array:
    """Every column of V, xbar* f."""
    return np.stack([cross_force(column) @ f for column in V.T], axis=-1)


def jcalc(Gamma: Array, s: Any) -> Array:
    """i X lam(i)|i = exp(-ad(Gamma) s), for revolute, prismatic and helical joints."""
    w = Gamma[3:]
    p = s * Gamma[:3] if not w.any() else s * (w @ Gamma[:3]) * w
    R = np.eye(3) + np.sin(s) * hat(w) + (1.0 - np.cos(s)) * hat(w) @ hat(w)
    c = np.zeros(3) if not w.any() else np.cross(w, Gamma[:3] - (w @ Gamma[:3]) * w)  # a point on the axis
    p = p + c - R @ c
    return np.block([[R.T, -R.T @ hat(p)], [np.zeros((3, 3)), R.T]])


def jcalcderiv(Gamma: Array, s: Any) -> Array:
    """Its derivative by s."""
    return -ad(Gamma) @ jcalc(Gamma, s)


# ---------------------------------------------------------------------------------------------------------------------
# Table 4: the extended inverse dynamics


@dataclass
class EIDAmb:
    """All outputs and intermediate variables of Table 4: the inputs of Tables 5 to 8."""

    system: System
    s: Array
    rd: Array
    v: list[Array] = field(default_factory=list)
    vJ: list[Array] = field(default_factory=list)
    a_r: list[Array] = field(default_factory=list)
    a_vp: list[Array] = field(default_factory=list)
    a: list[Array] = field(default_factory=list)
    """i a A,0: the acceleration of the base in body i."""
    m: list[Array] = field(default_factory=list)
    b_c: list[Array] = field(default_factory=list)
    b_vp: list[Array] = field(default_factory=list)
    M_c: list[Array] = field(default_factory=list)
    X: list[Array] = field(default_factory=list)
    F: list[dict[int, Array]] = field(default_factory=list)
    """F[i][j]: jF_Bi."""
    tau: Array = field(default_factory=lambda: np.zeros(0))
    """[tau_b; tau] (erratum 0.3)"""


def table4(
    system: System, H: Array, s: Array, v_A: Array, r: Array, a_0: Array | None, rd: Array, printed: Collection[str] = ()
) -> EIDAmb:
    """EIDAmb: [tau_b; tau] for any acceleration a_0 of the base; for the consistent one, where tau_b = 0, when it is None."""
    n, lam, Gamma, M, Xw = system.n, system.lam, system.Gamma, system.inertia, system.placement
    t = EIDAmb(system, s, rd)
    a_grav = np.concatenate([-system.gravity, np.zeros(3)])  # erratum 0.4: minus free fall
    if "0.4" in printed:
        a_grav = -a_grav
    R, o = H[:3, :3], H[:3, 3]
    X_A = np.block([[R.T, -R.T @ hat(o)], [np.zeros((3, 3)), R.T]])  # 1-4
    t.v = [X_A @ v_A]  # 5
    t.a_r = [X_A @ a_grav]  # 6
    t.a_vp = [t.a_r[0]]  # 7
    t.M_c = [M[0]]  # 8
    t.m = [M[0] @ t.v[0]]  # 9
    t.b_c = [M[0] @ t.a_r[0] + cross_force(t.v[0]) @ t.m[0]]  # 10
    t.b_vp = [t.b_c[0]]  # 11
    t.X, t.vJ = [X_A], [np.zeros(6)]
    for i in range(1, n + 1):  # 12
        t.vJ.append(Gamma[i] * r[i - 1])  # 14
        t.X.append(jcalc(Gamma[i], s[i - 1]) @ Xw[i])  # 13, 15
        t.v.append(t.X[i] @ t.v[lam[i]] + t.vJ[i])  # 16
        t.a_r.append(t.X[i] @ t.a_r[lam[i]] + Gamma[i] * rd[i - 1] + ad(t.v[i]) @ t.vJ[i])  # 17
        t.a_vp.append(t.X[i] @ t.a_vp[lam[i]] + ad(t.v[i]) @ t.vJ[i])  # 18
        t.M_c.append(M[i])  # 19
        t.m.append(M[i] @ t.v[i])  # 20
        t.b_c.append(M[i] @ t.a_r[i] + cross_force(t.v[i]) @ t.m[i])  # 21
        t.b_vp.append(M[i] @ t.a_vp[i] + cross_force(t.v[i]) @ t.m[i])  # 22
    for i in range(n, 0, -1):  # 24
        t.M_c[lam[i]] = t.M_c[lam[i]] + t.X[i].T @ t.M_c[i] @ t.X[i]  # 25
        t.b_c[lam[i]] = t.b_c[lam[i]] + t.X[i].T @ t.b_c[i]  # 26
        t.b_vp[lam[i]] = t.b_vp[lam[i]] + t.X[i].T @ t.b_vp[i]  # 27
    if a_0 is None:
        a_0 = -np.linalg.solve(t.M_c[0], t.b_c[0])  # third remark after the table
    t.a, t.F, tau = [a_0], [{}], []
    for i in range(1, n + 1):  # 29
        t.a.append(t.X[i] @ t.a[lam[i]])  # 30
        tau.append(Gamma[i] @ (t.M_c[i] @ t.a[i] + t.b_c[i]))  # 31
        F = {i: t.M_c[i] @ Gamma[i]}  # 32, eq. (59)
        j = i  # 33
        while lam[j] > 0:  # 34
            F[lam[j]] = t.X[j].T @ F[j]  # 35
            j = lam[j]  # 36
        F[0] = t.X[j].T @ F[j]  # 38, eq. (60)
        t.F.append(F)
    tau_b = t.M_c[0] @ a_0 + sum((t.F[i][0] * rd[i - 1] for i in range(1, n + 1)), np.zeros(6)) + t.b_vp[0]  # 40, eq. (58)
    t.tau = np.concatenate([tau, tau_b] if "0.3" in printed else [tau_b, tau])  # erratum 0.3
    return t


# ---------------------------------------------------------------------------------------------------------------------
# Proposition 4: what lines 5 and 6 of Table 4 do, and lines 1 and 2 of Table 5


def transformed(H: Array, x_A: Array) -> Array:
    """0X_A x, a twist or acceleration of the inertial frame seen from the base (69)-(72)."""
    R, o = H[:3, :3], H[:3, 3]
    f_1 = R.T @ x_A[:3] - R.T @ hat(o) @ x_A[3:]  # (70)
    f_2 = R.T @ x_A[3:]  # (71)
    return np.concatenate([f_1, f_2])


def transformed_by_pose(H: Array, x_A: Array, printed: Collection[str] = ()) -> Array:
    """Its left-trivialized derivative by H, x held fixed: (67) for a twist, (68) for gravity; it is ad(0X_A x)."""
    R, o = H[:3, :3], H[:3, 3]
    turned = R.T @ (x_A[3:] if "0.10" in printed else hat(x_A[3:])) @ R  # (77), (80); erratum 0.10: (67) has no hats
    moved = R.T @ hat(x_A[:3] - hat(o) @ x_A[3:]) @ R  # (78)
    return np.block([[turned, moved], [np.zeros((3, 3)), turned]])  # (76), (79)


# ---------------------------------------------------------------------------------------------------------------------
# Tables 5 to 8: its derivatives


def table5(t: EIDAmb, printed: Collection[str] = ()) -> Array:
    """D1 ID: with respect to H, left-trivialized, (6 + n, 6). The body-fixed twist v_0 is held fixed (erratum 0.1)."""
    n, lam, Gamma, M = t.system.n, t.system.lam, t.system.Gamma, t.system.inertia
    dv = [ad(t.v[0]) if "0.1" in printed else np.zeros((6, 6))]  # 1, eq. (67): printed for a fixed inertial twist
    da = [ad(t.a_r[0])]  # 2, eq. (68): ad(0X_A a_grav)
    dm = [M[0] @ dv[0]]  # 3
    db = [M[0] @ da[0] + crossed_force(dv[0], t.m[0]) + cross_force(t.v[0]) @ dm[0]]  # 4
    for i in range(1, n + 1):  # 5
        dv.append(t.X[i] @ dv[lam[i]])  # 6
        da.append(t.X[i] @ da[lam[i]] + cross(dv[i], t.vJ[i]))  # 7
        dm.append(M[i] @ dv[i])  # 8
        db.append(M[i] @ da[i] + crossed_force(dv[i], t.m[i]) + cross_force(t.v[i]) @ dm[i])  # 9
    for i in range(n, 0, -1):  # 11
        db[lam[i]] = db[lam[i]] + t.X[i].T @ db[i]  # 12
    dtau = [Gamma[i] @ db[i] for i in range(1, n + 1)]  # 14-16
    return _stack(db[0], dtau, swapped="0.3" in printed)  # 17, eq. (62)


def table6(t: EIDAmb, printed: Collection[str] = ()) -> Array:
    """D2 ID: with respect to s, (6 + n, n)."""
    n, lam, Gamma, M = t.system.n, t.system.lam, t.system.Gamma, t.system.inertia
    kind = t.tau.dtype
    columns: list[Array] = [np.zeros((6, n), dtype=kind)]
    dX: list[Array] = [np.zeros((6, 6))]
    dv, da, dvp, da0 = list(columns), list(columns), list(columns), list(columns)
    dm, db, dbvp = list(columns), list(columns), list(columns)
    dM = [np.zeros((n, 6, 6), dtype=kind) for _ in range(n + 1)]
    for i in range(1, n + 1):  # 1
        k = i - 1
        dX.append(jcalcderiv(Gamma[i], t.s[k]) @ t.system.placement[i])  # 2, 3
        dv.append(t.X[i] @ dv[lam[i]])  # 4
        dv[i][:, k] += dX[i] @ t.v[lam[i]]  # 5
        da.append(t.X[i] @ da[lam[i]] + cross(dv[i], t.vJ[i]))  # 6
        da[i][:, k] += dX[i] @ t.a_r[lam[i]]  # 7
        dvp.append(t.X[i] @ dvp[lam[i]] + cross(dv[i], t.vJ[i]))  # 8
        dvp[i][:, k] += dX[i] @ t.a_vp[lam[i]]  # 9
        dm.append(M[i] @ dv[i])  # 10
        db.append(M[i] @ da[i] + crossed_force(dv[i], t.m[i]) + cross_force(t.v[i]) @ dm[i])  # 11
        dbvp.append(M[i] @ dvp[i] + crossed_force(dv[i], t.m[i]) + cross_force(t.v[i]) @ dm[i])  # 12
    for i in range(n, 0, -1):  # 14
        k = i - 1
        dM[lam[i]] = dM[lam[i]] + t.X[i].T @ dM[i] @ t.X[i]  # 15-17
        dM[lam[i]][k] += dX[i].T @ t.M_c[i] @ t.X[i] + t.X[i].T @ t.M_c[i] @ dX[i]  # 18
        db[lam[i]] = db[lam[i]] + t.X[i].T @ db[i]  # 19
        db[lam[i]][:, k] += dX[i].T @ t.b_c[i]  # 20
        dbvp[lam[i]] = dbvp[lam[i]] + t.X[i].T @ dbvp[i]  # 21
        dbvp[lam[i]][:, k] += dX[i].T @ t.b_vp[i]  # 22
    dMa = (dM[0] @ t.a[0]).T  # 24-26
    dtau, dFr = [], np.zeros((6, n), dtype=kind)
    for i in range(1, n + 1):  # 27
        da0.append(t.X[i] @ da0[lam[i]])  # 28
        da0[i][:, i - 1] += dX[i] @ t.a[lam[i]]  # 29
        dF = (dM[i] @ Gamma[i]).T  # 32
        dtau.append(Gamma[i] @ ((dM[i] @ t.a[i]).T + t.M_c[i] @ da0[i] + db[i]))  # 30-31, 34 (line 31 of EIDAmb)
        j = i  # 35
        while lam[j] > 0:  # 36
            dF = t.X[j].T @ dF  # 37-39
            dF[:, j - 1] += dX[j].T @ t.F[i][j]  # 40
            j = lam[j]  # 41
        dF = t.X[j].T @ dF  # 43-45
        dF[:, j - 1] += dX[j].T @ t.F[i][j]  # 46
        dFr = dFr + (dF @ t.rd if "0.5" in printed else dF * t.rd[i - 1])  # 47, erratum 0.5: the i-th joint acceleration
    return _stack(dMa + dFr + dbvp[0], dtau)  # 49, eq. (63)


def table7(t: EIDAmb, printed: Collection[str] = ()) -> Array:
    """D3 ID: with respect to the body-fixed twist v of the base, (6 + n, 6)."""
    n, lam, Gamma, M = t.system.n, t.system.lam, t.system.Gamma, t.system.inertia
    dv, da = [np.eye(6)], [np.zeros((6, 6))]  # 1
    dm = [M[0] @ dv[0]]  # 2
    db = [crossed_force(dv[0], t.m[0]) + cross_force(t.v[0]) @ dm[0]]  # 3
    for i in range(1, n + 1):  # 4
        dv.append(t.X[i] @ dv[lam[i]])  # 5
        carried = dv[lam[i]] if "0.11" in printed else da[lam[i]]  # erratum 0.11: printed with velocities throughout
        da.append(t.X[i] @ carried + cross(dv[i], t.vJ[i]))  # 6
        dm.append(M[i] @ dv[i])  # 7
        db.append(M[i] @ da[i] + crossed_force(dv[i], t.m[i]) + cross_force(t.v[i]) @ dm[i])  # 8
    for i in range(n, 0, -1):  # 10
        db[lam[i]] = db[lam[i]] + t.X[i].T @ db[i]  # 11
    return _stack(db[0], [Gamma[i] @ db[i] for i in range(1, n + 1)])  # 13-16, eq. (64)


def table8(t: EIDAmb) -> Array:
    """D4 ID: with respect to r, (6 + n, n)."""
    n, lam, Gamma, M = t.system.n, t.system.lam, t.system.Gamma, t.system.inertia
    none: Array = np.zeros((6, n), dtype=t.tau.dtype)
    dv, da, dm, db = [none], [none], [none], [none]
    for i in range(1, n + 1):  # 1
        dv.append(t.X[i] @ dv[lam[i]])  # 3
        dv[i][:, i - 1] += Gamma[i]  # 2, 4
        da.append(t.X[i] @ da[lam[i]] + cross(dv[i], t.vJ[i]))  # 5
        da[i][:, i - 1] += ad(t.v[i]) @ Gamma[i]  # 6: this term stays (paper 002 drops it)
        dm.append(M[i] @ dv[i])  # 7
        db.append(M[i] @ da[i] + crossed_force(dv[i], t.m[i]) + cross_force(t.v[i]) @ dm[i])  # 8
    for i in range(n, 0, -1):  # 10
        db[lam[i]] = db[lam[i]] + t.X[i].T @ db[i]  # 11
    return _stack(db[0], [Gamma[i] @ db[i] for i in range(1, n + 1)])  # 13-16, eq. (65)


def _stack(base: Array, joints: list[Array], swapped: bool = False) -> Array:
    """[tau_b; tau] (erratum 0.3)."""
    rows = np.array(joints).reshape(len(joints), base.shape[1])
    return np.concatenate([rows, base] if swapped else [base, rows])


# ---------------------------------------------------------------------------------------------------------------------
# Table 9: the inverse mass matrix


def table9(system: System, s: Array, printed: Collection[str] = ()) -> Array:
    """IMMAmb: M^-1, (6 + n, 6 + n), by articulated bodies."""
    n, lam, Gamma = system.n, system.lam, system.Gamma
    size = 6 + n
    Minv = np.zeros((size, size))  # erratum 0.6: all of this starts at zero
    width = n if "0.8" in printed else size  # erratum 0.8: Table 3 says 6 x n_J
    F, P = [np.zeros((6, width)) for _ in range(n + 1)], [np.zeros((6, width)) for _ in range(n + 1)]
    M_A = [np.zeros((6, 6)) if "0.6" in printed else system.inertia[0]]  # erratum 0.6: the base too
    X, U, D = [np.eye(6)], [np.zeros(6)] * (n + 1), np.zeros(n + 1)
    below: list[list[int]] = [[i] for i in range(n + 1)]
    for i in range(1, n + 1):  # 1
        X.append(jcalc(Gamma[i], s[i - 1]) @ system.placement[i])  # 2, 3
        M_A.append(system.inertia[i])  # 4
    for i in range(n, 0, -1):  # 6
        row, tree = i + 5, [j + 5 for j in below[i]]
        U[i] = M_A[i] @ Gamma[i]  # 7
        D[i] = Gamma[i] @ U[i]  # 8
        Minv[row, row] = 1.0 / D[i]  # 9
        Minv[row, tree] -= Gamma[i] @ F[i][:, tree] / D[i]  # 10
        F[lam[i]][:, tree] += X[i].T @ (F[i][:, tree] + np.outer(U[i], Minv[row, tree]))  # 11
        M_a = M_A[i] - np.outer(U[i], U[i]) / D[i]  # 12
        M_A[lam[i]] = M_A[lam[i]] + X[i].T @ M_a @ X[i]  # 13
        below[lam[i]] += below[i]
    P[0][:, 6:] = -np.linalg.solve(M_A[0], F[0][:, 6:])  # 15
    for i in range(1, n + 1):  # 16
        row = i + 5
        Minv[row, row:] -= U[i] @ X[i] @ P[lam[i]][:, row:] / D[i]  # 17
        P[i][:, row:] = np.outer(Gamma[i], Minv[row, row:]) + X[i] @ P[lam[i]][:, row:]  # 18
    Minv[:6, 6:] = P[0][:, 6:]  # 20
    if "0.7" not in printed:
        Minv[6:, :6] = Minv[:6, 6:].T  # "by symmetry", says Sec. 4.4; the table does not write it
    for i in range(6, size):  # 21
        Minv[i:, i] = Minv[i, i:]  # 22-24
    Minv[:6, :6] = np.linalg.inv(M_A[0])  # 26
    return Minv


# ---------------------------------------------------------------------------------------------------------------------
# Propositions 1 to 3


def linearization(t: EIDAmb, printed: Collection[str] = ()) -> tuple[Array, Array]:
    """A and B of eq. (42) from the tables, at the accelerations that were given to Table 4 (erratum 0.9)."""
    n = t.system.n
    size = 6 + n
    Minv = table9(t.system, t.s, printed)
    A, B = np.zeros((2 * size, 2 * size)), np.zeros((2 * size, n))
    A[:6, :6] = -ad(t.v[0])  # eq. (27)
    A[:size, size:] = np.eye(size)
    A[size:] = -Minv @ np.concatenate([table5(t, printed), table6(t, printed), table7(t), table8(t)], axis=1)
    B[size:] = Minv[:, 6:]
    return A, B
