"""Numbered equations of the papers that the other tests run through without looking at: each by itself, against a witness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from test_paper000 import TREES, Case

import fallingcat as fc
from fallingcat.algorithms import aba, crba, dense, energy, kinematics, posed
from fallingcat.apps.papers import paper000_checks as checks000
from fallingcat.apps.papers import paper000_numbers as numbers000
from fallingcat.apps.papers import paper001_numbers as numbers001
from fallingcat.apps.papers import paper002_differences as differences002
from fallingcat.apps.papers import paper002_native as native002
from fallingcat.apps.papers import paper002_numbers as numbers002
from fallingcat.apps.papers import space_robot as space
from fallingcat.reference import paper000, paper001
from fallingcat.reference.paper000 import ad, hat
from fallingcat.reference.paper003 import adt, skew_factor
from trees import (
    ON_R,
    ONE_AXIS,
    STEP,
    TIGHT,
    Array,
    derivative,
    load,
    moved,
    plain,
    random_tree,
    relative_error,
    slope,
    state,
    stepped,
)

"""Of complex steps."""


# ---------------------------------------------------------------------------------------------------------------------
# Paper 000


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_000_blocks_of_table_4(tree: int | str) -> None:
    """(54)-(57): M_11, M_12 and h_1 are the composite inertia, the columns F and the bias wrench of the base. (61): a^r."""
    case = Case(tree)
    t, n = case.table4(), case.system.n
    M = case.robot.mass_matrix(case.q)[np.ix_(case.all, case.all)]
    h = case.robot.bias(case.q, case.nu)[case.all]
    assert relative_error(t.M_c[0], M[:6, :6]) < TIGHT
    assert relative_error(np.array([t.F[i][0] for i in range(1, n + 1)]).T, M[:6, 6:]) < TIGHT
    assert relative_error(t.b_vp[0], h[:6]) < TIGHT
    assert relative_error(t.a[0], case.dnu[:6]) < TIGHT
    # (59): the wrench that a unit acceleration of one joint needs, in that joint's own body
    assert all(relative_error(t.F[i][i], t.M_c[i] @ case.system.Gamma[i]) < TIGHT for i in range(1, n + 1))
    # (61): accelerations while the base has none, in a world that accelerates upwards
    model = case.robot.model
    r = posed.body(model, case.q.tolist())
    v = posed.velocities(r, case.nu.tolist())
    still = [0.0] * 6 + case.dnu[6:].tolist()
    a = posed.accelerations(r, posed.velocity_products(r, case.nu.tolist(), v), still, r.gravity)
    for i in range(n + 1):
        expected = np.array(a[i].entries()) - (0.0 if i else ad(case.nu[:6]) @ case.nu[:6])
        assert relative_error(t.a_r[i], expected) < TIGHT


@pytest.mark.parametrize("by", ["H", "v", "r"])
def test_000_66_two_accelerations_with_the_same_derivatives(by: str) -> None:
    """(66): a^r and a^vp differ, and have the same derivatives by H, v and r; by s they do not."""
    case = Case(1)

    def stepped_by(name: str) -> tuple[Array, Array]:
        e = np.random.default_rng(3).normal(size=6 if name in ("H", "v") else case.system.n) * STEP * 1j
        if name == "H":
            t = case.table4(H=case.exp(e))
        elif name == "v":
            t = case.table4(v_A=case.v_A + e)
        else:
            t = case.table4(**{name: getattr(case, name) + e})
        return tuple(np.array(x).imag / STEP for x in (t.a_r, t.a_vp))  # type: ignore[return-value]

    left, right = stepped_by(by)
    assert relative_error(left, right) < TIGHT
    assert np.abs(left).max() > 0.1
    assert relative_error(*stepped_by("s")) > 1e-4
    t = case.table4()
    assert relative_error(np.array(t.a_r), np.array(t.a_vp)) > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_000_proposition_4(seed: int) -> None:
    """(67), (68): the derivative of 0X_A x by the pose, against a complex step; it is ad(0X_A x). (69): X itself."""
    case = Case(seed)
    rng = np.random.default_rng(seed)
    o, R = case.H[:3, 3], case.H[:3, :3]
    for x in (case.v_A, np.concatenate([-case.system.gravity, np.zeros(3)]), rng.normal(size=6)):
        at_base = paper000.transformed(case.H, x)
        assert relative_error(at_base, case.X_A @ x) < TIGHT
        assert relative_error(at_base[:3], R.T @ (x[:3] + np.cross(x[3:], o))) < TIGHT
        columns = [paper000.transformed(case.exp(e), x).imag / STEP for e in np.eye(6) * STEP * 1j]
        found = paper000.transformed_by_pose(case.H, x)
        assert relative_error(found, np.array(columns).T) < TIGHT
        assert relative_error(found, ad(at_base)) < TIGHT
    # erratum 0.10: without its hats, (67) is no matrix of 6 x 6
    with pytest.raises(ValueError, match="dimension"):
        paper000.transformed_by_pose(case.H, case.v_A, printed={"0.10"})


def test_000_differences_and_their_errors() -> None:
    """(82)-(85) against complex steps, and (86), (87) by hand."""
    draws = [numbers000.draw(seed) for seed in (0, 1)]
    found = []
    for d in draws:
        model, tau = d.robot.model, d.tau.tolist()
        by_q = np.array([derivative(aba.forward_dynamics, model, d.q, e, d.nu.tolist(), tau) for e in np.eye(model.nv)]).T
        by_nu = np.array([slope(aba.forward_dynamics(model, d.q.tolist(), stepped(d.nu, e), tau)) for e in np.eye(model.nv)]).T
        exact = {"D1 FD": by_q[:, :6], "D2 FD": by_q[:, 6:], "D3 FD": by_nu[:, :6], "D4 FD": by_nu[:, 6:]}
        near = numbers000.differences(d, 1e-7)
        for name, block in exact.items():
            assert relative_error(d.blocks[name], block) < 1e-9
            assert relative_error(near[name], block) < 1e-4
        assert relative_error(d.inertial, exact["D1 FD"] + exact["D3 FD"] @ ad(d.nu[:6])) < 1e-9
        held = numbers000.differences(d, 1e-7, inertial=True)["D1 FD"]
        assert relative_error(held, exact["D1 FD"] + exact["D3 FD"] @ ad(d.nu[:6])) < 1e-4
        found.append(numbers000.differences(d, 1e-6))
    errors = numbers000.errors(draws, 1e-6)
    for name in numbers000.PRINTED:
        scale = np.mean([np.abs(d.blocks[name]) for d in draws])
        off = np.array([np.abs(d.blocks[name] - f[name]) for d, f in zip(draws, found, strict=True)]) / scale
        assert errors[name] == pytest.approx((off.max(), off.mean()), rel=1e-9)


def test_000_figure_5() -> None:
    """The two slopes of a curve that truncation and rounding make, and those of a real one."""
    steps = numbers000.DELTAS
    down, up = checks000.slopes(3.0 * steps + 1e-16 / steps)
    assert down == pytest.approx(1.0, abs=0.01)
    assert up == pytest.approx(-1.0, abs=0.01)
    assert checks000.slopes(steps**2 + 1e-30 / steps**2) == pytest.approx((2.0, -2.0), abs=0.02)
    draws = [numbers000.draw(5)]
    curve = np.array([numbers000.errors(draws, float(h))["D4 FD"][1] for h in steps])
    assert checks000.slopes(curve)[0] == pytest.approx(1.0, abs=0.1)


# ---------------------------------------------------------------------------------------------------------------------
# Paper 001


@pytest.mark.parametrize("seed", range(4))
def test_001_cross_products(seed: int) -> None:
    """(8): the arguments exchanged. (9): the duality of x and x*. (62): as a matrix, here (linear; angular)."""
    rng = np.random.default_rng(seed)
    v, w, f = rng.normal(size=(3, 6))
    motion, other, force = fc_motion(v), fc_motion(w), fc_force(f)
    assert relative_error(paper001.bar(f) @ v, motion.cross(force).entries()) < TIGHT
    assert abs(motion.cross(other) @ force + other @ motion.cross(force)) < TIGHT
    assert (
        relative_error(
            motion.cross(other).entries(), [*(np.cross(v[3:], w[:3]) + np.cross(v[:3], w[3:])), *np.cross(v[3:], w[3:])]
        )
        < TIGHT
    )
    expected = np.block([[np.zeros((3, 3)), -hat(f[:3])], [-hat(f[:3]), -hat(f[3:])]])
    assert np.array_equal(paper001.bar(f), expected)


def fc_motion(x: Array) -> Any:
    from fallingcat.spatial import Motion

    return Motion.of(x.tolist(), 0)


def fc_force(x: Array) -> Any:
    from fallingcat.spatial import Force

    return Force.of(x.tolist(), 0)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_001_velocities_and_accelerations(seed: int, floating: bool) -> None:
    """(5), (15)-(17), and (6) of paper 002: twists are slopes of poses, accelerations of twists, rates of axes of axes."""
    robot = load(random_tree(seed, joints=6), floating, seed)
    model, (q, nu, dnu) = robot.model, state(robot, np.random.default_rng(seed))
    r = posed.body(model, q.tolist())
    v = posed.velocities(r, nu.tolist())
    a = posed.accelerations(r, posed.velocity_products(r, nu.tolist(), v), dnu.tolist(), 0.0 * r.gravity)
    later = posed.body(model, moved(model, q, nu))
    v_later = posed.velocities(later, stepped(nu, dnu))
    for i, body in enumerate(model.bodies):
        frame = model.frame(body.name)
        X = np.array(frame.pose.rotation).T
        here = paper001_frame(X, np.array(frame.pose.position))
        twist = np.array(v[i].entries())
        pose = robot.frame_pose(q, body.name)
        rate = np.linalg.solve(pose, derivative(kinematics.frame_pose, model, q, nu, body.name))
        of_pose = np.array([*rate[:3, 3], rate[2, 1], rate[0, 2], rate[1, 0]])
        assert relative_error(here @ twist, of_pose) < TIGHT
        assert relative_error(a[i].entries(), slope(v_later[i].entries())) < 1e-11
        carried = ad(twist)
        ring = [np.array(m.entries()) for m in r.ring(i, nu.tolist()).columns]
        turned = [carried @ np.array(s.entries()) for s in r.S[i].columns]
        rates = posed.axis_rates(r, i, nu.tolist(), v)
        for s_later, moving, turn, found in zip(later.S[i].columns, ring, turned, rates, strict=True):
            assert relative_error(moving, slope(s_later.entries())) < TIGHT  # (17)
            assert relative_error(found.entries(), turn + moving) < TIGHT
    if not any(body.mimics for body in model.bodies):
        tree = paper001.Tree.of(model, q.tolist())
        for i, (twist, rates) in enumerate(zip(tree.velocities(nu), tree.axis_rates(nu), strict=True)):
            assert relative_error(twist, v[i].entries()) < TIGHT
            assert relative_error(rates.T, [m.entries() for m in posed.axis_rates(r, i, nu.tolist(), v)]) < TIGHT


def paper001_frame(R: Array, p: Array) -> Array:
    """From the coordinates of a body to those of a frame on it, R from body to frame, p the frame's origin in the body."""
    return np.block([[R, -R @ hat(p)], [np.zeros((3, 3)), R]])


def test_the_trees_above_have_no_followers_somewhere() -> None:
    robots = [load(random_tree(seed, joints=6), True, seed) for seed in range(3)]
    assert any(not any(body.mimics for body in robot.model.bodies) for robot in robots)


@pytest.mark.parametrize("factorization", ["christoffel", "body"])
@pytest.mark.parametrize("seed", range(3))
def test_001_torques_by_related_joints(seed: int, factorization: str) -> None:
    """(19), (66)-(73): inverse dynamics as a sum over the joints that are related to a joint, by composites."""
    robot = plain(fc.load(random_tree(seed, joints=6, mimic=0.0), floating=False, gravity=(0.0, 0.0, 0.0)))
    q, nu, dnu = state(robot, np.random.default_rng(seed))
    tree = paper001.Tree.of(robot.model, q.tolist())
    terms = paper001.closed_form(tree, nu, factorization)
    assert relative_error(terms.H @ dnu + terms.C @ nu, robot.inverse_dynamics(q, nu, dnu)) < TIGHT
    related = np.zeros((robot.nv, robot.nv), dtype=bool)
    for i in range(len(tree.parent)):
        for j in range(len(tree.parent)):
            related[tree.at(i), tree.at(j)] = tree.below(i, j) or tree.below(j, i)
    assert np.all(terms.H[~related] == 0.0)
    assert np.all(terms.C[~related] == 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_001_lemma_1(seed: int) -> None:
    """(65): {(k, j): k >= i, j <= k} = {(k, j): j ~ i, k >= the one of i, j nearer to the tips}."""
    robot = fc.load(random_tree(seed, joints=7, mimic=0.0), floating=False)
    tree = paper001.Tree.of(robot.model, robot.neutral().tolist())
    bodies, below = range(len(tree.parent)), tree.below
    assert below(0, 0)
    for i in bodies:
        left = {(k, j) for k in bodies for j in bodies if below(i, k) and below(j, k)}
        related = {j: (j if below(i, j) else i) for j in bodies if below(i, j) or below(j, i)}
        assert left == {(k, j) for j, tip in related.items() for k in bodies if below(tip, k)}
        chain = [i]
        while tree.parent[chain[-1]] >= 0:
            chain.append(tree.parent[chain[-1]])
        assert {j for j in bodies if below(j, i)} == set(chain)


@pytest.mark.parametrize("seed", range(3))
def test_001_74_the_law_of_the_symbols(seed: int) -> None:
    """(74) in random curved coordinates, against (4) of the transformed mass matrix; and erratum 1.11, the proof's last line."""
    robot = load(random_tree(seed, joints=4, types=ON_R, mimic=0.0), False)
    rng = np.random.default_rng(seed)
    n = robot.nv
    x, rate = rng.normal(size=(2, n))
    a, b = np.eye(n) + 0.3 * rng.normal(size=(n, n)) / n, rng.normal(size=(n, n, n)) / n
    b = b + np.swapaxes(b, 1, 2)

    def A(x: Any) -> Any:
        return a + b @ x

    def M_bar(x: Any) -> Any:
        q = a @ x + b @ x @ x / 2
        return A(x).T @ np.array(crba.mass_matrix(robot.model, list(q))) @ A(x)

    dM = np.stack([M_bar(x + 1j * STEP * e).imag / STEP for e in np.eye(n)], axis=-1)
    expected = 0.5 * (dM + np.swapaxes(dM, 1, 2) - np.einsum("jki->ijk", dM))
    q = a @ x + b @ x @ x / 2
    G, M = robot.christoffel_symbols(q), robot.mass_matrix(q)
    assert relative_error(paper001.transformed_symbols(G, M, A(x), b), expected) < TIGHT
    # the last line of the proof of Theorem 1: A^T C* A + A H A_rate as printed, A^T H A_rate in truth
    C, A_rate = robot.coriolis_matrix(q, A(x) @ rate), b @ rate
    printed, corrected = (A(x).T @ C @ A(x) + left @ M @ A_rate for left in (A(x), A(x).T))
    assert relative_error(corrected, expected @ rate) < TIGHT
    assert relative_error(printed, expected @ rate) > 0.01


def test_001_table_1() -> None:
    """Four differences that should be roundings are, on chains of 5, 10 and 15; and the last one is the formula (4)."""
    found = numbers001.validity(lambda what: None, states=2)
    assert set(found) == {*numbers001.TABLE_1, numbers001.SYMBOLS}
    for errors in found.values():
        assert len(errors) == 3
        assert max(errors) < 1e-11


# ---------------------------------------------------------------------------------------------------------------------
# Paper 002


def test_002_what_is_timed_is_the_same() -> None:
    """Sec. V-A: forward differences, one call at a time and batched, agree with each other and with the derivatives."""
    robot = fc.load("spacearm", floating=False)
    q, nu, dnu = state(robot, np.random.default_rng(0))
    exact = robot.inverse_dynamics_derivatives(q, nu, dnu)
    one = numbers002.forward_difference(robot.inverse_dynamics, robot.integrate, q, nu, dnu, 1e-7)
    many = numbers002.batched_difference(robot.inverse_dynamics, robot.integrate, q, nu, dnu, 1e-7)
    for found in (one, many):
        assert relative_error(found[0], exact.dtau_dq) < 1e-5
        assert relative_error(found[1], exact.dtau_dnu) < 1e-5
    assert relative_error(one[0], many[0]) < 1e-7


@pytest.mark.parametrize("what", [numbers002.DID, numbers002.DFD])
@pytest.mark.parametrize("floating", [False, True])
def test_002_dual_numbers_are_the_same_derivatives(what: str, floating: bool) -> None:
    """Sec. V-A2: what our derivatives are timed against computes the same, by q, nu and the third input."""
    robot = plain(fc.load(random_tree(4, joints=5, types=ONE_AXIS, mimic=0.0), floating=floating))
    q, nu, third = state(robot, np.random.default_rng(4))
    found = np.array(native002.by_dual_numbers(robot.model, what).evaluate(q.tolist(), nu.tolist(), third.tolist()), dtype=float)
    name = numbers002.FUNCTION[what]
    ours = getattr(robot, name)(q, nu, third)
    assert relative_error(found.T, np.hstack([np.asarray(x) for x in ours])) < 1e-10


@pytest.mark.parametrize("n", range(1, 7))
def test_002_the_factors_of_a_matrix(n: int) -> None:
    """(25): A = L D L^T with a unit diagonal in L. (26): the inverse from the factors."""
    half = np.random.default_rng(n).normal(size=(n, n))
    A = half @ half.T + np.eye(n)
    L, D_inverse = dense.factor(A.tolist())
    full = np.tril(np.array(L, dtype=float), -1) + np.eye(n)
    assert relative_error(full @ np.diag(1.0 / np.array(D_inverse)) @ full.T, A) < TIGHT
    assert relative_error(dense.inverse_symmetric(A.tolist()), np.linalg.inv(A)) < 1e-11


def test_002_figure_3() -> None:
    """At rest: our derivatives are zero; forward differences are proportional to their step, central ones are zero."""
    rest = differences002.at_rest(numbers002.SUBJECTS[0], lambda what: None, compiled=False)
    assert rest.ours == 0.0
    for name in (numbers002.ID, numbers002.FD):
        assert np.all(rest.central[name] == 0.0)
        assert np.polyfit(np.log(differences002.STEPS), np.log(rest.forward[name]), 1)[0] == pytest.approx(1.0, abs=1e-3)
    assert rest.slope < TIGHT
    robot = fc.load("spacearm", floating=False, gravity=(0.0, 0.0, 0.0))
    q = robot.random_configuration(5)
    gamma = np.array([robot.bias(q, e) for e in np.eye(robot.nv)])
    assert np.abs(rest.matrix - 1e-8 * gamma.T).max() < 1e-8 * np.abs(gamma).max() * 1e-6


# ---------------------------------------------------------------------------------------------------------------------
# Paper 003


def inertia_of(seed: int) -> Array:
    """A random spatial inertia, its frame not at the centre of mass."""
    bodies = fc.load(random_tree(seed, joints=2)).model.bodies
    return np.array(bodies[-1].inertia.matrix(), dtype=float)


@pytest.mark.parametrize("seed", range(4))
def test_003_one_body(seed: int) -> None:
    """(2)-(8), (24): from the definition of ad alone, (linear; angular)."""
    rng = np.random.default_rng(seed)
    M, (X, Y, Z) = inertia_of(seed), rng.normal(size=(3, 6))
    C = skew_factor(M, X)
    assert relative_error(C @ X, -ad(X).T @ M @ X) < TIGHT  # (3), (8)
    assert relative_error(ad(X).T @ M @ Y, adt(M @ Y) @ X) < TIGHT  # (4)
    assert relative_error(adt(M @ Y), -adt(M @ Y).T) < TIGHT
    # (5): the connection of a left-invariant metric, by Koszul's formula: 2 <nabla_X Y, Z> = <[X,Y],Z> - <[Y,Z],X> - <[X,Z],Y>
    koszul = 0.5 * ((ad(X) @ Y) @ M @ Z - (ad(Y) @ Z) @ M @ X - (ad(X) @ Z) @ M @ Y)
    assert abs((C @ Y) @ Z - koszul) < TIGHT * 10
    assert relative_error(C, -C.T) < TIGHT
    assert relative_error(C @ Y, skew_factor(M, Y) @ X - M @ ad(Y) @ X) < TIGHT  # (7)
    assert relative_error(skew_factor(M, X + Y), C + skew_factor(M, Y)) < TIGHT  # (24)
    # (6): transforms of a pose
    robot = fc.load(random_tree(seed, joints=1))
    pose = robot.split(robot.random_configuration(seed))[0]
    R, p = pose[:3, :3], pose[:3, 3]
    Ad = np.block([[R, hat(p) @ R], [np.zeros((3, 3)), R]])
    assert relative_error(Ad @ ad(X) @ np.linalg.inv(Ad), ad(Ad @ X)) < TIGHT
    assert relative_error(Ad.T @ adt(M @ X) @ Ad, adt(Ad.T @ M @ X)) < TIGHT
    # (2): Euler and Poincare, by Newton and Euler about the centre of mass
    one_body(seed)


def one_body(seed: int) -> None:
    robot = plain(fc.load(random_tree(seed, joints=0), gravity=(0.0, 0.0, 0.0)))
    q, v, a = state(robot, np.random.default_rng(seed))
    M = np.array(robot.model.bodies[0].inertia.matrix(), dtype=float)
    m, c = M[0, 0], np.array([M[5, 1], M[3, 2], M[4, 0]]) / M[0, 0]  # m c^ stands below
    I_c = M[3:, 3:] + m * hat(c) @ hat(c)
    w = v[3:]
    point = a[:3] + np.cross(w, v[:3]) + np.cross(a[3:], c) + np.cross(w, np.cross(w, c))
    moment = I_c @ a[3:] + np.cross(w, I_c @ w)
    expected = np.concatenate([m * point, moment + np.cross(c, m * point)])
    assert relative_error(robot.inverse_dynamics(q, v, a), expected) < TIGHT
    assert relative_error(M @ a - ad(v).T @ M @ v, expected) < TIGHT


@pytest.fixture(scope="module")
def flights() -> dict[str, space.Flight]:
    robot = space.space_robot()
    return {controller: space.fly(robot, controller, 4e-3) for controller in space.CONTROLLERS}


def test_003_the_mixed_term_along_a_flight(flights: dict[str, space.Flight]) -> None:
    """Sec. V-2: <mu_e, (S(mu) - S(mu'))r> is minus what is printed: off by twice itself, and right as corrected."""
    printed, corrected = space._mixed(flights[space.REDUCED])
    assert printed == pytest.approx(2.0, abs=1e-10)
    assert corrected < TIGHT


def test_003_figure_2_over_shapes(flights: dict[str, space.Flight]) -> None:
    """Many flights at once are the flights one by one; and the ratio of the peaks depends on the shape."""
    robot = space.space_robot()
    shapes = np.vstack([space.SHAPE, space.random_shapes(robot, 12)])
    ratios = space.peak_ratios(robot, shapes, 4e-3)
    flown = space.compare(flights)
    assert ratios[0] == pytest.approx(flown.ratio, rel=1e-9)
    assert flown.ratio > 1.5 > np.median(ratios[1:])
    assert flown.identity < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Paper 004


@pytest.mark.parametrize("seed", range(4))
def test_004_gravity_is_the_mass_matrix_times_its_acceleration(seed: int) -> None:
    """(13), Lemma 2: G = -M (g; 0; 0) for mixed velocities; and it is the gradient of the potential energy."""
    mixed: Any = "mixed"
    robot = load(random_tree(seed, joints=6), True, seed)
    q, _, _ = state(robot, np.random.default_rng(seed))
    G = robot.gravity_torque(q, mixed)
    field = np.concatenate([robot.gravity, np.zeros(robot.nv - 3)])
    assert relative_error(G, -robot.mass_matrix(q, mixed) @ field) < TIGHT
    falling = sum_of_weights(robot)
    assert relative_error(G[:3], -falling) < TIGHT
    slopes = [derivative(energy.potential_energy, robot.model, q, e) for e in np.eye(robot.nv)]
    assert relative_error(robot.gravity_torque(q), slopes) < TIGHT


def sum_of_weights(robot: fc.Robot) -> Array:
    masses: Sequence[float] = [link.inertial.mass for link in robot.description.links if link.inertial is not None]
    return np.array(sum(masses) * np.array(robot.gravity))
