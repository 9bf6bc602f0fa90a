"""Coriolis terms (paper 001) against a complex step of the mass matrix through its own source, and against each other.

The witness of the symbols is the Levi-Civita connection of the mass matrix: its derivatives by complex steps and the brackets
of the velocities determine it, whatever the joints. Everything here runs in Python on random trees.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import configuration, crba
from fallingcat.algorithms.kinematics import center_of_mass_jacobian
from fallingcat.model.model import Model
from trees import (
    ONE_AXIS,
    REPRESENTATIONS,
    Array,
    Plain,
    body_velocity,
    derivative,
    plain,
    random_tree,
    relative_error,
    state,
    trees,
)

TIGHT = 1e-12
"""Relative to the largest entry, or to one."""
GRAVITY = (1.0, -2.0, -9.0)
ON_R = (*ONE_AXIS, "cylindrical", "universal")
"""Joints whose velocities are rates of coordinates."""
FACTORIZATIONS = ("christoffel", "body")

few = settings(max_examples=25)
floating = st.booleans()
seeds = st.integers(0, 1000)


def load(source: fc.Builder, floating: bool, seed: int = 0, **options: Any) -> Plain:
    """With any link as the base, so that joints are seen from both sides."""
    robot = fc.load(source, floating=floating, gravity=GRAVITY, **options)
    return plain(robot.with_base(str(np.random.default_rng(seed).choice(robot.link_names))))


def tame(builder: fc.Builder, **options: Any) -> Plain:
    """Fixed base: for joints on R, nu is the rate of q."""
    return plain(fc.load(builder, floating=False, gravity=GRAVITY, **options))


def mass_matrix_slopes(model: Model, q: Array) -> Array:
    """[i, j, k]: the derivative of M_ij along axis k, by complex steps."""
    slopes = [derivative(crba.mass_matrix, model, q, e) for e in np.eye(model.nv)]
    return np.moveaxis(np.array(slopes).reshape(model.nv, model.nv, model.nv), 0, -1)


def brackets(model: Model) -> Array:
    """[l, j, k]: entry l of [e_j, e_k]."""
    each = [np.array(configuration.bracket(model, e.tolist()), dtype=float) for e in np.eye(model.nv)]
    return np.stack(each, axis=1).reshape(model.nv, model.nv, model.nv)


def levi_civita(M: Array, dM: Array, c: Array) -> Array:
    """G_ijk = <nabla_k e_j, e_i> by Koszul's formula; for commuting velocities eq. (4) of the paper."""
    low = np.einsum("il,ljk->ijk", M, c)  # <[e_j, e_k], e_i>
    metric = dM + np.einsum("ikj->ijk", dM) - np.einsum("kji->ijk", dM)
    # + <[k, j], i> - <[k, i], j> - <[j, i], k>
    torsion = np.einsum("ikj->ijk", low) - np.einsum("jki->ijk", low) - np.einsum("kji->ijk", low)
    return 0.5 * (metric + torsion)


# ---------------------------------------------------------------------------------------------------------------------
# Against the mass matrix


@few
@given(trees(max_joints=5), floating, seeds)
def test_symbols_and_derivatives_of_the_mass_matrix(builder: fc.Builder, floating: bool, seed: int) -> None:
    """dM/dq, and the connection of the metric M in the velocities nu: every type of joint, floating or not."""
    robot = load(builder, floating, seed)
    q, _, _ = state(robot, np.random.default_rng(seed))
    dM = mass_matrix_slopes(robot.model, q)
    assert relative_error(robot.mass_matrix_derivatives(q), dM) < TIGHT
    G = robot.christoffel_symbols(q)
    assert relative_error(G, levi_civita(robot.mass_matrix(q), dM, brackets(robot.model))) < TIGHT
    assert relative_error(G + np.swapaxes(G, 0, 1), dM) < TIGHT


@few
@given(trees(max_joints=6, types=ON_R), seeds)
def test_symbols_of_the_first_kind(builder: fc.Builder, seed: int) -> None:
    """Eq. (4) for joints on R, with armature too; symmetric in the last two indices, for single axes to the last bit."""
    robot = tame(builder, joint_dynamics=bool(seed % 2))
    q, _, _ = state(robot, np.random.default_rng(seed))
    dM = mass_matrix_slopes(robot.model, q)
    G = robot.christoffel_symbols(q)
    expected = 0.5 * (dM + np.swapaxes(dM, 1, 2) - np.einsum("jki->ijk", dM))
    assert relative_error(G, expected) < TIGHT
    if not robot.model.mimics and all(body.joint.nv == 1 for body in robot.model.bodies):
        assert np.array_equal(G, np.swapaxes(G, 1, 2))


@few
@given(trees(), floating, seeds, st.sampled_from(REPRESENTATIONS))
def test_rate_of_the_mass_matrix(builder: fc.Builder, floating: bool, seed: int, representation: Any) -> None:
    """Along the motion, in every representation of the base twist."""
    robot = load(builder, floating, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    model = robot.model.in_representation(representation)
    rate = robot.mass_matrix_rate(q, nu, representation)
    assert relative_error(rate, derivative(crba.mass_matrix, model, q, body_velocity(robot, q, nu, representation))) < TIGHT
    assert np.array_equal(rate, rate.T)


@pytest.mark.parametrize("floating", [False, True])
def test_against_differences(floating: bool) -> None:
    """Nothing but the mass matrix and `integrate`: an independent witness, as far as differences see."""
    robot = load(random_tree(3, joints=6), floating, 3)
    q, nu, _ = state(robot, np.random.default_rng(3))
    h = 1e-5

    def slope(e: Array) -> Array:
        return (robot.mass_matrix(robot.integrate(q, h * e)) - robot.mass_matrix(robot.integrate(q, -h * e))) / (2 * h)

    dM = np.stack([slope(e) for e in np.eye(robot.nv)], axis=-1)
    assert relative_error(robot.mass_matrix_derivatives(q), dM) < 1e-7
    assert relative_error(robot.mass_matrix_rate(q, nu), slope(nu)) < 1e-7


def test_what_does_not_meet_is_zero() -> None:
    """Entries of joints that share no path are exactly zero, and so is what moving the whole robot does to M."""
    robot = fc.load("quadruped")
    eager = plain(robot)
    q, nu, _ = state(robot, np.random.default_rng(0))
    G, C, dM = eager.christoffel_symbols(q), eager.coriolis_matrix(q, nu), eager.mass_matrix_derivatives(q)
    apart = np.zeros((robot.nv, robot.nv), dtype=bool)
    apart[6:, 6:] = eager.mass_matrix(q)[6:, 6:] == 0.0
    assert apart.sum() == 4 * 3 * 9  # a leg meets none of the three others
    assert np.all(C[apart] == 0.0)
    assert np.all(G[apart] == 0.0)
    assert np.all(dM[apart] == 0.0)
    assert np.all(dM[..., :6] == 0.0)


# ---------------------------------------------------------------------------------------------------------------------
# Valid and admissible


@few
@given(trees(), floating, seeds, st.sampled_from(REPRESENTATIONS), st.sampled_from(FACTORIZATIONS))
def test_valid_and_admissible(builder: fc.Builder, floating: bool, seed: int, representation: Any, factorization: Any) -> None:
    """Definitions 2 and 3, Prop. 1: C nu = h - g and M_rate - 2 C skew, for both factorizations in all representations."""
    robot = load(builder, floating, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    C = robot.coriolis_matrix(q, nu, factorization, representation)
    expected = robot.bias(q, nu, representation=representation) - robot.gravity_torque(q, representation=representation)
    assert relative_error(C @ nu, expected) < TIGHT
    twice = robot.mass_matrix_rate(q, nu, representation)
    assert relative_error(C + C.T, twice) < TIGHT


@few
@given(trees(), floating, seeds, st.sampled_from(FACTORIZATIONS))
def test_terms_of_one_pass(builder: fc.Builder, floating: bool, seed: int, factorization: Any) -> None:
    """C, M and its rate, with armature in M."""
    robot = load(builder, floating, seed, joint_dynamics=True)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    terms = robot.coriolis_terms(q, nu, factorization)
    assert np.array_equal(terms.C, robot.coriolis_matrix(q, nu, factorization))
    assert relative_error(terms.M, robot.mass_matrix(q)) < TIGHT
    assert relative_error(terms.M_rate, robot.mass_matrix_rate(q, nu)) < TIGHT
    assert np.array_equal(terms.M, terms.M.T)
    assert np.array_equal(terms.M_rate, terms.M_rate.T)


@few
@given(trees(), floating, seeds)
def test_the_matrix_is_the_symbols_times_the_velocity(builder: fc.Builder, floating: bool, seed: int) -> None:
    """Eq. (3)."""
    robot = load(builder, floating, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    assert relative_error(robot.christoffel_symbols(q) @ nu, robot.coriolis_matrix(q, nu)) < TIGHT


def test_only_one_factorization_is_consistent() -> None:
    """Prop. 2: with (12) C is the Christoffel-consistent one; with (11) it is another, by as much as it is large."""
    worst = np.inf
    for seed in range(5):
        robot = tame(random_tree(seed, joints=6, types=ON_R, mimic=0.0))
        q, nu, _ = state(robot, np.random.default_rng(seed))
        dM = mass_matrix_slopes(robot.model, q)
        C = 0.5 * (dM + np.swapaxes(dM, 1, 2) - np.einsum("jki->ijk", dM)) @ nu
        assert relative_error(robot.coriolis_matrix(q, nu), C) < TIGHT
        other = robot.coriolis_matrix(q, nu, "body")
        worst = min(worst, float(np.abs(other - C).max() / np.abs(C).max()))
    assert worst > 0.1


@few
@given(trees(), floating, seeds)
def test_torsion(builder: fc.Builder, floating: bool, seed: int) -> None:
    """C(v) w - C(w) v = M [v, w]; zero for joints on R, where velocities commute."""
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, v, w = state(robot, rng)
    left = robot.coriolis_product(q, v, w) - robot.coriolis_product(q, w, v)
    bracket = np.array(configuration.bracket(robot.model, v.tolist()), dtype=float) @ w
    assert relative_error(left, robot.mass_matrix(q) @ bracket) < TIGHT


def test_torsion_is_not_small() -> None:
    robot = plain(fc.load("spacearm"))
    q, v, w = state(robot, np.random.default_rng(1))
    assert np.abs(robot.coriolis_product(q, v, w) - robot.coriolis_product(q, w, v)).max() > 0.1


# ---------------------------------------------------------------------------------------------------------------------
# Products


@few
@given(trees(), floating, seeds)
def test_products(builder: fc.Builder, floating: bool, seed: int) -> None:
    """C w and C^T w without C."""
    robot = load(builder, floating, seed)
    rng = np.random.default_rng(seed)
    q, nu, w = state(robot, rng)
    C = robot.coriolis_matrix(q, nu)
    assert relative_error(robot.coriolis_product(q, nu, w), C @ w) < TIGHT
    assert relative_error(robot.coriolis_transpose_product(q, nu, w), C.T @ w) < TIGHT


@few
@given(trees(), floating, seeds)
def test_rate_of_the_momentum(builder: fc.Builder, floating: bool, seed: int) -> None:
    """d(M nu)/dt = C^T nu - g + tau: what a momentum observer adds up."""
    robot = load(builder, floating, seed)
    q, nu, dnu = state(robot, np.random.default_rng(seed))
    tau = robot.inverse_dynamics(q, nu, dnu)
    rate = robot.mass_matrix_rate(q, nu) @ nu + robot.mass_matrix(q) @ dnu
    assert relative_error(robot.coriolis_transpose_product(q, nu, nu) - robot.gravity_torque(q) + tau, rate) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Other coordinates


class Warp:
    """q = f(qbar), a random polynomial of third degree near the identity, with its derivatives."""

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        self.a, self.b, self.c = (scale * rng.normal(size=shape) / n for scale, shape in (
            (0.5, (n, n)), (0.3, (n, n, n)), (0.1, (n, n, n, n)),
        ))  # fmt: skip
        self.a = np.eye(n) + self.a
        self.b = self.b + np.swapaxes(self.b, 1, 2)
        self.c = sum(np.transpose(self.c, (0, *p)) for p in ((1, 2, 3), (2, 3, 1), (3, 1, 2), (2, 1, 3), (1, 3, 2), (3, 2, 1)))

    def __call__(self, x: Any) -> Any:
        return self.a @ x + self.b @ x @ x / 2 + self.c @ x @ x @ x / 6

    def slope(self, x: Any) -> Any:
        """A_ij = dq_i / dqbar_j (31)."""
        return self.a + self.b @ x + self.c @ x @ x / 2

    def slope_rate(self, x: Array, rate: Array) -> Array:
        return np.array(self.b @ rate + self.c @ x @ rate)


def warped(seed: int) -> tuple[Plain, Warp, Array, Array]:
    robot = tame(random_tree(seed, joints=5, types=ON_R))
    rng = np.random.default_rng(seed)
    return robot, Warp(robot.nv, rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def warped_mass_matrix(robot: Plain, f: Warp, x: Any) -> Any:
    """A^T M(f(x)) A on any numbers."""
    A = f.slope(x)
    return A.T @ np.array(crba.mass_matrix(robot.model, list(f(x)))) @ A


def warped_slopes(robot: Plain, f: Warp, x: Array) -> Array:
    steps = [warped_mass_matrix(robot, f, x + 1e-20j * e).imag / 1e-20 for e in np.eye(robot.nv)]
    return np.stack(steps, axis=-1)


@pytest.mark.parametrize("seed", range(4))
def test_theorem_1(seed: int) -> None:
    """The Christoffel-consistent C becomes the Christoffel-consistent C of the transformed metric (37)."""
    robot, f, x, rate = warped(seed)
    q, A, A_rate = f(x), f.slope(x), f.slope_rate(x, rate)
    nu = A @ rate
    ours = fc.change_coordinates(robot.mass_matrix(q), robot.coriolis_matrix(q, nu), robot.gravity_torque(q), A, A_rate)
    dM = warped_slopes(robot, f, x)
    symbols = 0.5 * (dM + np.swapaxes(dM, 1, 2) - np.einsum("jki->ijk", dM))
    assert relative_error(ours.M, warped_mass_matrix(robot, f, x)) < TIGHT
    assert relative_error(ours.C, symbols @ rate) < TIGHT
    # with the other factorization it is not
    other = fc.change_coordinates(robot.mass_matrix(q), robot.coriolis_matrix(q, nu, "body"), robot.gravity_torque(q), A, A_rate)
    assert np.abs(other.C - ours.C).max() > 1e-3 * np.abs(ours.C).max()


@pytest.mark.parametrize("factorization", FACTORIZATIONS)
@pytest.mark.parametrize("seed", range(3))
def test_proposition_3(seed: int, factorization: Any) -> None:
    """The transformed C is valid and admissible, (32)-(36)."""
    robot, f, x, rate = warped(seed)
    rng = np.random.default_rng(seed)
    q, A, A_rate = f(x), f.slope(x), f.slope_rate(x, rate)
    nu, acceleration = A @ rate, rng.normal(size=robot.nv)
    tau = robot.inverse_dynamics(q, nu, A @ acceleration + A_rate @ rate)
    C = robot.coriolis_matrix(q, nu, factorization)
    new = fc.change_coordinates(robot.mass_matrix(q), C, robot.gravity_torque(q), A, A_rate)
    assert relative_error(new.M @ acceleration + new.C @ rate + new.g, A.T @ tau) < TIGHT
    assert relative_error(new.C + new.C.T, warped_slopes(robot, f, x) @ rate) < TIGHT


def test_erratum_1_8_the_index_of_a_jacobian() -> None:
    """(31) prints A_ij = dq_i / dqbar_i, the same in a whole row: no change of coordinates."""
    robot, f, x, rate = warped(0)
    q, A, A_rate = f(x), f.slope(x), f.slope_rate(x, rate)
    printed = np.repeat(np.diag(A)[:, None], robot.nv, axis=1)
    terms = robot.mass_matrix(q), robot.coriolis_matrix(q, A @ rate), robot.gravity_torque(q)
    right, wrong = (fc.change_coordinates(*terms, J, A_rate).M for J in (A, printed))
    assert relative_error(right, warped_mass_matrix(robot, f, x)) < TIGHT
    assert relative_error(wrong, right) > 0.1
    assert np.linalg.matrix_rank(wrong) == 1


def test_erratum_1_9_derivatives_by_velocity() -> None:
    """Remark 2: dID/dnu, not dID/dq, is 2 C* without gravity, for joints on R. The torsion spoils it for a floating base."""
    for seed in range(4):
        robot = plain(fc.load(random_tree(seed, joints=6, types=ON_R), floating=False, gravity=(0.0, 0.0, 0.0)))
        q, nu, _ = state(robot, np.random.default_rng(seed))
        C = robot.coriolis_matrix(q, nu)
        d = robot.inverse_dynamics_derivatives(q, nu, np.zeros(robot.nv))
        assert relative_error(d.dnu, 2.0 * C) < TIGHT
        assert np.abs(d.dq - 2.0 * C).max() > 0.1 * np.abs(C).max()
    free = plain(fc.load("spacearm", gravity=(0.0, 0.0, 0.0)))
    q, nu, _ = state(free, np.random.default_rng(0))
    C, d = free.coriolis_matrix(q, nu), free.inverse_dynamics_derivatives(q, nu, np.zeros(free.nv))
    bracket = np.array(configuration.bracket(free.model, nu.tolist()), dtype=float)
    assert relative_error(d.dnu, 2.0 * C) > 0.1
    assert relative_error(d.dnu, 2.0 * C - free.mass_matrix(q) @ bracket) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Generalized speeds


@pytest.mark.parametrize("representation", ["mixed", "inertial"])
@pytest.mark.parametrize("factorization", FACTORIZATIONS)
def test_remark_4_another_twist_of_the_base(representation: Any, factorization: Any) -> None:
    """The change of speeds from the body-fixed to another twist gives what the algorithm gives in that representation."""
    for seed in range(3):
        robot = load(random_tree(seed, joints=5), True, seed)
        q, w, _ = state(robot, np.random.default_rng(seed))

        def speeds(q: Any, robot: Plain = robot) -> Any:
            """A with nu = A w, column by column, on any numbers."""
            R, p = _pose(q)
            A = np.eye(robot.nv, dtype=object)
            A[:3, :3] = A[3:6, 3:6] = R.T
            if representation == "inertial":
                A[:3, 3:6] = -R.T @ np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])
            return A

        nu = body_velocity(robot, q, w, representation)
        A = np.array(speeds(q), dtype=float)
        A_rate = derivative(lambda model, q, f=speeds: f(q), robot.model, q, nu)
        C = robot.coriolis_matrix(q, nu, factorization)
        new = fc.change_coordinates(robot.mass_matrix(q), C, robot.gravity_torque(q), A, A_rate)
        assert relative_error(A @ w, nu) < TIGHT
        assert relative_error(new.M, robot.mass_matrix(q, representation=representation)) < TIGHT
        assert relative_error(new.C, robot.coriolis_matrix(q, w, factorization, representation)) < TIGHT
        assert relative_error(new.g, robot.gravity_torque(q, representation=representation)) < TIGHT


def _pose(q: Any) -> tuple[Any, Any]:
    x, y, z, w = q[3:7]
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.array(rows), q[:3]


def center_of_mass_speeds(robot: Plain, q: Array, nu: Array) -> tuple[Array, Array]:
    """A and its rate for the speeds (velocity of the centre of mass; angular velocity; joints)."""
    B = np.eye(robot.nv)
    B[:3] = robot.center_of_mass_jacobian(q)
    B_rate = np.zeros((robot.nv, robot.nv))
    B_rate[:3] = derivative(center_of_mass_jacobian, robot.model, q, nu)
    A = np.linalg.inv(B)
    return A, -A @ B_rate @ A


@pytest.mark.parametrize("seed", range(4))
def test_remark_5_the_centre_of_mass_decouples(seed: int) -> None:
    """Eq. (42): M = diag(m 1, M_22), and the first three rows and columns of C vanish; with (11) they need not."""
    robot = load(random_tree(seed, joints=5), True, seed)
    q, nu, _ = state(robot, np.random.default_rng(seed))
    A, A_rate = center_of_mass_speeds(robot, q, nu)
    M, g = robot.mass_matrix(q), robot.gravity_torque(q)
    new = fc.change_coordinates(M, robot.coriolis_matrix(q, nu), g, A, A_rate)
    scale = np.abs(new.C).max()
    assert relative_error(new.M[:3, :3], robot.mass * np.eye(3)) < TIGHT
    assert np.abs(new.M[:3, 3:]).max() < TIGHT * np.abs(M).max()
    assert np.abs(new.C[:3]).max() < TIGHT * scale
    assert np.abs(new.C[:, :3]).max() < TIGHT * scale
    assert relative_error(new.g, np.concatenate([-robot.mass * np.array(GRAVITY), new.g[3:]])) < TIGHT
    assert np.abs(new.g[3:]).max() < TIGHT * np.abs(new.g).max()  # nothing but the centre of mass feels gravity
    other = fc.change_coordinates(M, robot.coriolis_matrix(q, nu, "body"), g, A, A_rate)
    assert np.abs(other.C[:, :3]).max() > 1e-2 * np.abs(other.C).max()


def test_fewer_speeds_restrict_the_motion(rng: np.random.Generator) -> None:
    """nu = A w with constant A: a robot whose joints follow others is the free one, restricted."""
    builder = random_tree(5, joints=6, types=ONE_AXIS, mimic=0.0)
    free = tame(builder)
    q, A, w = rng.normal(size=free.nv), rng.normal(size=(free.nv, 2)), rng.normal(size=2)
    C = free.coriolis_matrix(q, A @ w)
    new = fc.change_coordinates(free.mass_matrix(q), C, free.gravity_torque(q), A, np.zeros_like(A))
    assert new.M.shape == new.C.shape == (2, 2)
    assert relative_error(new.C, A.T @ C @ A) < TIGHT
    h = free.bias(q, A @ w)
    assert relative_error(new.C @ w + new.g, A.T @ h) < TIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Batches, and what is refused


def test_change_of_coordinates_in_batches(rng: np.random.Generator) -> None:
    M, C, g, A, A_rate = (rng.normal(size=shape) for shape in ((4, 3, 3), (4, 3, 3), (4, 3), (3, 3), (4, 3, 3)))
    many = fc.change_coordinates(M, C, g, A, A_rate)
    assert [x.shape for x in many] == [(4, 3, 3), (4, 3, 3), (4, 3)]
    for k in range(4):
        one = fc.change_coordinates(M[k], C[k], g[k], A, A_rate[k])
        for x, y in zip(many, one, strict=True):
            assert relative_error(x[k], y) < 1e-14


@pytest.mark.parametrize("name", ["M", "C", "g", "A", "A_rate"])
def test_shapes_that_do_not_fit_are_refused(name: str) -> None:
    good = {"M": np.eye(3), "C": np.eye(3), "g": np.zeros(3), "A": np.eye(3), "A_rate": np.eye(3)}
    fc.change_coordinates(**good)
    for bad in (np.zeros(4), np.zeros((4, 4)), np.zeros((3, 2)) if name != "A" else np.zeros((2, 3)), 1.0):
        with pytest.raises(fc.InputError, match=r"change_coordinates: .* does not fit.*expected"):
            fc.change_coordinates(**good | {name: bad})


def test_an_unknown_factorization_is_refused() -> None:
    robot = plain(fc.load("spacearm"))
    for method in (robot.coriolis_matrix, robot.coriolis_terms):
        with pytest.raises(fc.InputError, match=r"factorization.*'christoffel' or 'body'.*'crystal'"):
            method(robot.neutral(), np.zeros(robot.nv), "crystal")


def test_an_unknown_representation_is_refused() -> None:
    robot = fc.load("spacearm")
    with pytest.raises(fc.InputError, match="mixd"):
        robot.coriolis_matrix(robot.neutral(), np.zeros(robot.nv), "christoffel", "mixd")
