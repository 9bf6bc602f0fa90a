"""The algorithms of paper 001 line by line against the library, and what each erratum does when it is left in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.algorithms import crba
from fallingcat.apps.papers import paper001_numbers as numbers
from fallingcat.reference import paper001 as P
from fallingcat.reference.paper000 import ad, hat
from trees import ONE_AXIS, TIGHT, Array, Plain, derivative, plain, random_tree, relative_error, state

FACTORIZATIONS = ("christoffel", "body")


class Case:
    """A robot at a state, and its tree in the letters of the paper."""

    def __init__(self, seed: int, floating: bool, **options: Any) -> None:
        self.robot: Plain = plain(fc.load(random_tree(seed, joints=6, mimic=0.0, **options), floating=floating))
        self.q, self.nu, _ = state(self.robot, np.random.default_rng(seed))
        self.tree = P.Tree.of(self.robot.model, self.q)

    def bodies(self) -> tuple[list[Array], list[Array], list[Array]]:
        """Per body the Jacobian of its link, the rate of its numbers, and the inertia of the body in that link."""
        model, robot = self.robot.model, self.robot
        J = [robot.frame_jacobian(self.q, body.name) for body in model.bodies]
        return J, [robot.frame_jacobian_rate(self.q, self.nu, body.name) for body in model.bodies], self.inertias()

    def inertias(self) -> list[Array]:
        found = []
        for body in self.robot.model.bodies:
            pose = self.robot.model.frame(body.name).pose
            R = np.array(pose.rotation)
            X = np.block([[R, hat(np.array(pose.position)) @ R], [np.zeros((3, 3)), R]])  # from the link to the body
            found.append(X.T @ np.array(body.inertia.matrix(), dtype=float) @ X)
        return found


@pytest.fixture(params=[(seed, floating) for seed in range(4) for floating in (False, True)], ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(*request.param)


@pytest.fixture(params=range(4))
def chains(request: pytest.FixtureRequest) -> Case:
    """Joints with one axis, base fixed: what Algorithm 2 is for."""
    return Case(request.param, False, types=ONE_AXIS)


# ---------------------------------------------------------------------------------------------------------------------
# Factorizations of one body


def test_factorizations_of_one_body(rng: np.random.Generator) -> None:
    """Definition 4, (8)-(14): both are valid and admissible; (12) alone has no torsion."""
    for body in fc.load(random_tree(1, joints=5)).model.bodies:
        I = np.array(body.inertia.matrix(), dtype=float)
        v, w = rng.normal(size=(2, 6))
        for name in FACTORIZATIONS:
            B = P.factor(v, I, name)
            assert relative_error(B @ v, -ad(v).T @ I @ v) < TIGHT
            assert relative_error(B + B.T, P.inertia_rate(v, I)) < TIGHT
        torsion = {name: P.factor(v, I, name) @ w - P.factor(w, I, name) @ v + I @ ad(v) @ w for name in FACTORIZATIONS}
        assert np.abs(torsion["christoffel"]).max() < TIGHT
        assert np.abs(torsion["body"]).max() > 0.01


# ---------------------------------------------------------------------------------------------------------------------
# Algorithm 1


@pytest.mark.parametrize("factorization", FACTORIZATIONS)
def test_algorithm_1(case: Case, factorization: Any) -> None:
    """Line by line, every type of joint: the library's C, M and rate of M; and the closed form (22)-(24)."""
    ours = case.robot.coriolis_terms(case.q, case.nu, factorization)
    for H, Hdot, C in (
        P.algorithm1(case.tree, case.nu, factorization),
        P.closed_form(case.tree, case.nu, factorization),
    ):
        assert relative_error(ours.M, H) < TIGHT
        assert relative_error(ours.M_rate, Hdot) < TIGHT
        assert relative_error(ours.C, C) < TIGHT


@pytest.mark.parametrize("factorization", FACTORIZATIONS)
def test_jacobian_form(case: Case, factorization: Any) -> None:
    """Remark 3, (39), (40): sums over bodies, from Jacobians that know nothing of the algorithm."""
    H, C = P.jacobian_form(*case.bodies(), case.nu, factorization)
    assert relative_error(case.robot.mass_matrix(case.q), H) < TIGHT
    assert relative_error(case.robot.coriolis_matrix(case.q, case.nu, factorization), C) < TIGHT


@pytest.mark.parametrize("factorization", FACTORIZATIONS)
def test_jacobian_form_in_other_speeds(factorization: Any, rng: np.random.Generator) -> None:
    """Remark 4: v_k = J_k nu in any speeds gives what the change of speeds gives, here for speeds A(t) w."""
    case = Case(2, True)
    n = case.robot.nv
    A, A_rate = np.eye(n) + 0.3 * rng.normal(size=(n, n)), rng.normal(size=(n, n))
    w = np.linalg.solve(A, case.nu)
    J, J_ring, I = case.bodies()
    turned = [R @ A + K @ A_rate for K, R in zip(J, J_ring, strict=True)]
    H, C = P.jacobian_form([K @ A for K in J], turned, I, w, factorization)
    M, C0 = case.robot.mass_matrix(case.q), case.robot.coriolis_matrix(case.q, case.nu, factorization)
    new = fc.change_coordinates(M, C0, np.zeros(n), A, A_rate)
    assert relative_error(new.M, H) < 1e-11
    assert relative_error(new.C, C) < 1e-11


@pytest.mark.parametrize("erratum", ["1.1", "1.4"])
def test_errata_that_spoil_the_matrix(erratum: str) -> None:
    """1.1: F3 is not transformed. 1.4: axes that move in the body, of universal joints, are forgotten."""
    errors = []
    for seed in range(3):
        case = Case(seed, False, types=("universal", "revolute"))
        C = case.robot.coriolis_matrix(case.q, case.nu)
        assert relative_error(P.algorithm1(case.tree, case.nu).C, C) < TIGHT
        errors.append(relative_error(P.algorithm1(case.tree, case.nu, printed={erratum}).C, C))
    assert max(errors) > 0.1


def test_erratum_1_2_the_diagonal_is_never_assigned(chains: Case) -> None:
    """As printed, H and its rate have zeros on the diagonal."""
    H, Hdot, C = P.algorithm1(chains.tree, chains.nu, printed={"1.2"})
    ours = chains.robot.coriolis_terms(chains.q, chains.nu)
    assert relative_error(C, ours.C) < TIGHT  # which is not concerned
    assert np.all(np.diag(H) == 0.0)
    assert np.all(np.diag(Hdot) == 0.0)
    assert np.diag(ours.M).min() > 1e-3
    assert np.abs(np.diag(ours.M_rate)).max() > 1e-3
    off = ~np.eye(len(H), dtype=bool)
    assert relative_error(H[off], ours.M[off]) < TIGHT
    corrected = P.algorithm1(chains.tree, chains.nu)
    assert relative_error(corrected.H, ours.M) < TIGHT
    assert relative_error(corrected.Hdot, ours.M_rate) < TIGHT


def test_erratum_1_3_the_loop_goes_one_too_far(chains: Case) -> None:
    """`while i > 0` with i = p(i) in the body asks for the axes of the world, which has none; with `while p(i) > 0` it runs."""
    with pytest.raises(LookupError, match="world"):
        P.algorithm1(chains.tree, chains.nu, printed={"1.3"})
    expected = chains.robot.coriolis_matrix(chains.q, chains.nu)
    assert relative_error(P.algorithm1(chains.tree, chains.nu).C, expected) < TIGHT


def test_erratum_1_5_composites_of_the_wrong_body() -> None:
    """(22), (23) with the index of the body nearer to the base; (24) is printed with that of the body nearer to the tips."""
    errors = []
    for seed in range(4):
        case = Case(seed, False, types=ONE_AXIS)
        ours = case.robot.coriolis_terms(case.q, case.nu)
        wrong, right = (P.closed_form(case.tree, case.nu, printed=e) for e in ({"1.5"}, ()))
        assert relative_error(right.H, ours.M) < TIGHT
        assert relative_error(right.C, ours.C) < TIGHT
        below = np.tril_indices(case.robot.nv, -1)
        if case.tree.at(0).start == 0 and all(case.tree.at(i).start == i for i in range(case.robot.nv)):
            assert relative_error(wrong.C[below], ours.C[below]) < TIGHT  # (24), with i before j
        errors.append(min(np.abs(x - y).max() / np.abs(y).max() for x, y in ((wrong.C, ours.C), (wrong.H, ours.M))))
        line_by_line = P.algorithm1(case.tree, case.nu, printed={"1.5"})  # lines 9-11, which have the same index
        assert relative_error(line_by_line.C, ours.C) > 0.1
    assert max(errors) > 0.1


def test_erratum_1_12_a_body_moves_with_its_own_joint(case: Case) -> None:
    """(16) as a sum over j < i leaves the joint of body i out; over j <= i, as in (15), (18) is inverse dynamics."""
    dnu = np.random.default_rng(5).normal(size=case.robot.nv)
    expected = case.robot.inverse_dynamics(case.q, case.nu, dnu) - case.robot.gravity_torque(case.q)
    assert relative_error(P.torques(case.tree, case.nu, dnu), expected) < TIGHT
    assert relative_error(P.torques(case.tree, case.nu, dnu, {"1.12"}), expected) > 0.1


# ---------------------------------------------------------------------------------------------------------------------
# Algorithm 2


def test_erratum_1_13_the_axis_in_the_middle(chains: Case) -> None:
    """(47), (51) and (53) with Phi_i where Phi_j belongs; (46), (52) and (54)-(56) have it right."""
    tree, symbols = chains.tree, chains.robot.christoffel_symbols(chains.q)
    wrong = np.zeros(3)
    for k in range(len(tree.parent)):
        for j in tree.path(k):
            for i in tree.path(j):
                a, b, c = (tree.at(body).start for body in (i, j, k))
                expected = np.array([symbols[a, b, c], symbols[b, a, c], symbols[c, a, b]])
                assert np.abs(np.array(P.three_cases(tree, i, j, k)) - expected).max() < 1e-11
                wrong = np.maximum(wrong, np.abs(np.array(P.three_cases(tree, i, j, k, {"1.13"})) - expected))
    assert wrong.min() > 0.05 * np.abs(symbols).max()


def test_algorithm_2(chains: Case) -> None:
    """Line by line, against the library and against eq. (4) by complex steps."""
    G = P.algorithm2(chains.tree)
    n = chains.robot.nv
    dM = np.stack([derivative(crba.mass_matrix, chains.robot.model, chains.q, e) for e in np.eye(n)], axis=-1)
    assert relative_error(G, 0.5 * (dM + np.swapaxes(dM, 1, 2) - np.einsum("jki->ijk", dM))) < TIGHT
    assert relative_error(chains.robot.christoffel_symbols(chains.q), G) < TIGHT


def test_erratum_1_6_which_joint_is_nearer_to_the_tips() -> None:
    """The formula before (46) holds where j carries k, not for "j >= k" as the text says."""
    wrong = []
    for seed in range(3):
        case = Case(seed, False, types=ONE_AXIS)
        G, tree = case.robot.christoffel_symbols(case.q), case.tree
        N, at = range(len(tree.parent)), [tree.at(i).start for i in range(len(tree.parent))]
        for i in N:
            for j in N:
                for k in N:
                    off = abs(P.symbol(tree, i, j, k) - G[at[i], at[j], at[k]])
                    if not tree.below(k, j) or j == k:  # k >= j, or unrelated
                        assert off < TIGHT
                    else:
                        wrong.append(off / np.abs(G).max())
    assert max(wrong) > 0.1


def test_erratum_1_7_letter_by_letter() -> None:
    """As our copy has it, Algorithm 2 finds but a few symbols, and most of these wrongly; as corrected, all of them."""
    for seed in range(4):
        case = Case(seed, False, types=ONE_AXIS)
        G, printed = case.robot.christoffel_symbols(case.q), P.algorithm2_as_printed(case.tree)
        assert relative_error(P.algorithm2(case.tree), G) < TIGHT
        assert np.abs(printed - G).max() > 0.1 * np.abs(G).max()
        assert np.count_nonzero(printed) < 0.5 * np.count_nonzero(G)


def test_erratum_1_10_the_times_of_the_conclusion() -> None:
    """18 and 122 us are the serial chain's in Table 2, not the biped's."""
    assert numbers.TABLE_2["serial chain"] == (18.0, 122.0)
    assert numbers.TABLE_2["biped"] == (13.0, 64.0)
    assert numbers.CONCLUSION["biped"] == numbers.TABLE_2["serial chain"] != numbers.TABLE_2["biped"]
