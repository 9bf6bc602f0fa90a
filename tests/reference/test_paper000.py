"""Tables 4 to 9 of paper 000 against the library and a complex step, and what is wrong with them as printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.reference import paper000 as P
from trees import ONE_AXIS, STEP, TIGHT, Array, plain, random_tree, relative_error, state

GRAVITY = (1.0, -2.0, -9.0)
TREES = [*range(5), "tree9"]


class Case:
    """A robot, its system, and a state in the letters of the paper."""

    def __init__(self, tree: int | str) -> None:
        source: Any = tree if isinstance(tree, str) else random_tree(tree, joints=7, types=ONE_AXIS, mimic=0.0)
        self.robot = plain(fc.load(source, gravity=GRAVITY))
        self.system = P.System.of(self.robot)
        rng = np.random.default_rng(7)
        self.q, self.nu, self.dnu = state(self.robot, rng)
        self.H, _ = self.robot.split(self.q)
        self.order = np.array(self.system.places[1:])
        self.s, self.r, self.rd = self.q[7:][self.order], self.nu[6:][self.order], self.dnu[6:][self.order]
        R, o = self.H[:3, :3], self.H[:3, 3]
        self.X_A = np.block([[R.T, -R.T @ P.hat(o)], [np.zeros((3, 3)), R.T]])
        self.v_A = np.linalg.solve(self.X_A, self.nu[:6])
        self.a_0 = self.dnu[:6]
        self.all = np.concatenate([np.arange(6), 6 + self.order])

    def table4(self, **changed: Any) -> P.EIDAmb:
        use = {"H": self.H, "s": self.s, "v_A": self.v_A, "r": self.r, "a_0": self.a_0, "rd": self.rd} | changed
        return P.table4(self.system, **use)

    def exp(self, z: Array) -> Array:
        """H exp(z^) for a displacement of first order."""
        step = np.zeros((4, 4), dtype=complex)
        step[:3, :3], step[:3, 3] = P.hat(z[3:]), z[:3]
        return self.H @ (np.eye(4) + step)

    def stepped(self, by: str) -> Array:
        """The derivative of Table 4 by a complex step, with the body-fixed twist held fixed where H moves."""
        columns = []
        count = 6 if by in ("H", "v") else self.system.n
        for e in np.eye(count) * STEP * 1j:
            if by == "H":
                moved = self.exp(e)
                R, o = moved[:3, :3], moved[:3, 3]
                v_A = np.concatenate([R @ self.nu[:3] + np.cross(o, R @ self.nu[3:6]), R @ self.nu[3:6]])
                t = self.table4(H=moved, v_A=v_A)
            elif by == "v":
                t = self.table4(v_A=self.v_A + np.linalg.solve(self.X_A, e))
            else:
                t = self.table4(**{by: getattr(self, by) + e})
            columns.append(t.tau.imag / STEP)
        return np.array(columns).T

    def library(self) -> tuple[Array, Array, Array, Array]:
        """D1 to D4 of the library, in the order of the tables."""
        ID = self.robot.inverse_dynamics_derivatives(self.q, self.nu, self.dnu)
        dq, dnu = (np.asarray(x)[np.ix_(self.all, self.all)] for x in (ID.dtau_dq, ID.dtau_dnu))
        return dq[:, :6], dq[:, 6:], dnu[:, :6], dnu[:, 6:]


@pytest.fixture(params=TREES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def test_table4(case: Case) -> None:
    """Extended inverse dynamics for an arbitrary acceleration of the base; errata 0.3 and 0.4."""
    expected = case.robot.inverse_dynamics(case.q, case.nu, case.dnu)[case.all]
    assert relative_error(case.table4().tau, expected) < TIGHT
    for erratum in ("0.3", "0.4"):
        assert relative_error(case.table4(printed={erratum}).tau, expected) > 0.1


def test_table4_consistent(case: Case) -> None:
    """Without a base acceleration: the one that needs no wrench on the base (remark after Table 4)."""
    t = case.table4(a_0=None)
    assert np.abs(t.tau[:6]).max() < 1e-11
    ddr = np.empty(case.robot.n)
    ddr[case.order] = case.rd
    assert relative_error(t.a[0], case.robot.base_acceleration(case.q, case.nu, ddr)) < TIGHT
    # shortcut: tau_b = Mc_0 a_0 + bc_0, without F, a^vp and b^vp
    t = case.table4()
    assert relative_error(t.tau[:6], t.M_c[0] @ t.a[0] + t.b_c[0]) < TIGHT


def test_table5(case: Case) -> None:
    """With respect to H, the body-fixed twist held fixed: gravity only, in closed form."""
    t = case.table4()
    D1 = P.table5(t)
    assert relative_error(D1, case.library()[0]) < TIGHT
    assert relative_error(D1, case.stepped("H")) < TIGHT
    M = case.robot.mass_matrix(case.q)[np.ix_(case.all, case.all)]
    assert relative_error(D1, M[:, :6] @ P.ad(t.a_r[0])) < TIGHT


def test_table5_as_printed(case: Case) -> None:
    """Erratum 0.1: line 1 belongs to a fixed inertial twist; the difference is Table 7 times ad(v). Erratum 0.3: the order."""
    t = case.table4()
    D1, printed = P.table5(t), P.table5(t, printed={"0.1"})
    assert relative_error(printed, D1) > 0.1
    assert relative_error(printed - P.table7(t) @ P.ad(t.v[0]), D1) < TIGHT
    assert relative_error(P.table5(t, printed={"0.3"}), D1) > 0.1
    # with the inertial twist held fixed, the printed line is right: the table and (82) are about different states
    fixed = [case.table4(H=case.exp(e)).tau.imag / STEP for e in np.eye(6) * STEP * 1j]
    assert relative_error(printed, np.array(fixed).T) < TIGHT


def test_table6(case: Case) -> None:
    """With respect to s."""
    D2 = P.table6(case.table4())
    assert relative_error(D2, case.library()[1]) < TIGHT
    assert relative_error(D2, case.stepped("s")) < TIGHT


def test_table6_as_printed(case: Case) -> None:
    """Erratum 0.5: line 47 multiplies by all joint accelerations, which does not even have the right shape."""
    with pytest.raises(ValueError, match="broadcast"):
        P.table6(case.table4(), printed={"0.5"})


def test_table7(case: Case) -> None:
    """With respect to v."""
    D3 = P.table7(case.table4())
    assert relative_error(D3, case.library()[2]) < TIGHT
    assert relative_error(D3, case.stepped("v")) < TIGHT


def test_table8(case: Case) -> None:
    """With respect to r."""
    D4 = P.table8(case.table4())
    assert relative_error(D4, case.library()[3]) < TIGHT
    assert relative_error(D4, case.stepped("r")) < TIGHT


def test_table9(case: Case) -> None:
    """The inverse of the mass matrix; erratum 0.6, and 0.7, which is withdrawn."""
    expected = case.robot.inverse_mass_matrix(case.q)[np.ix_(case.all, case.all)]
    assert relative_error(P.table9(case.system, case.s), expected) < 1e-11
    # the lower left block is not written by the table, but by symmetry (Sec. 4.4)
    printed = P.table9(case.system, case.s, printed={"0.7"})
    assert np.all(printed[6:, :6] == 0.0)
    assert np.abs(expected[6:, :6]).max() > 0.01
    # erratum 0.6: without the inertia of the base, the matrix of line 15 is singular or wrong
    try:
        base = P.table9(case.system, case.s, printed={"0.6"})[:6, :6]
        wrong = np.abs(base - expected[:6, :6]).max() / np.abs(expected[:6, :6]).max()
    except np.linalg.LinAlgError:
        wrong = np.inf
    assert wrong > 0.01


def test_a_chain_without_the_base_is_singular() -> None:
    """Erratum 0.6 on a robot with one branch: M^A of the base has the joint's own axis in its kernel."""
    builder = fc.Builder("pair")
    builder.link("a", mass=1.0, inertia=(1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
    builder.link("b", mass=1.0, inertia=(1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
    builder.joint("j", "revolute", "a", "b", axis=(0.0, 0.0, 1.0))
    system = P.System.of(fc.load(builder))
    with pytest.raises(np.linalg.LinAlgError):
        P.table9(system, np.zeros(1), printed={"0.6"})


def test_linearization(case: Case) -> None:
    """Prop. 1 and eq. (42) from the tables; with Table 5 as printed it is wrong by as much as it is large."""
    tau = case.robot.inverse_dynamics(case.q, case.nu, case.dnu)
    L = case.robot.linearize(case.q, case.nu, tau)
    both = np.concatenate([case.all, case.robot.nv + case.all])
    A, B = P.linearization(case.table4())
    assert relative_error(A, np.asarray(L.A)[np.ix_(both, both)]) < 1e-10
    assert relative_error(B, np.asarray(L.B)[np.ix_(both, case.order)]) < 1e-10
    wrong, _ = P.linearization(case.table4(), printed={"0.1"})
    assert np.abs(wrong - A)[case.robot.nv :, :6].max() > 0.5


def test_robots_beyond_the_tables_are_refused() -> None:
    with pytest.raises(fc.InputError, match="one axis"):
        P.System.of(fc.load(random_tree(0, joints=2, types=("spherical",))))
    with pytest.raises(fc.InputError, match="floating base"):
        P.System.of(fc.load("tree9", floating=False))
