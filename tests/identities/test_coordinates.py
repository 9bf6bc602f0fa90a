"""The equations of motion in other coordinates, (31)-(37) of paper 001, and in generalized speeds, its Remarks 4 and 5.

The witness of a change of coordinates is the mass matrix in the new ones, with its derivatives by complex steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.algorithms import crba
from fallingcat.algorithms.kinematics import center_of_mass_jacobian
from trees import (
    GRAVITY,
    ON_R,
    ONE_AXIS,
    TIGHT,
    Array,
    Plain,
    body_velocity,
    derivative,
    hat,
    load,
    random_tree,
    relative_error,
    state,
)

FACTORIZATIONS = ("christoffel", "body")


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
    robot = load(random_tree(seed, joints=5, types=ON_R), False)
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
                A[:3, 3:6] = -R.T @ hat(p)
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
    free = load(builder, False)
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
