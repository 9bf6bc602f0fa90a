"""Paper 004 as printed and as corrected: every erratum with a number that shows it.

A formula as printed must be off by a good part of its size, and the corrected one right to rounding, both against the library,
which other tests compare with witnesses of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.algorithms import crba
from fallingcat.algorithms.kinematics import frame_pose
from trees import Array, Plain, ad, body_velocity, derivative, hat, plain, random_tree, relative_error, state

RIGHT, WRONG = 1e-12, 0.1
GRAVITY = (1.0, -2.0, -9.0)
MIXED: Any = "mixed"
ZERO = np.zeros((3, 3))


def robot_of(seed: int = 0, joints: int = 5, **options: Any) -> Plain:
    return plain(fc.load(random_tree(seed, joints, mimic=0.0), gravity=GRAVITY, **options))


def far_link(robot: fc.Robot) -> str:
    """A link with several joints between it and the base."""
    depth = {-1: 0}
    for i, p in robot.model.base_to_tip():
        depth[i] = depth[p] + 1
    return max(robot.link_names, key=lambda link: depth[robot.model.frame(link).body])


# ---------------------------------------------------------------------------------------------------------------------
# Sec. II: one rigid body


class Body:
    """A free rigid body whose frame is not at its centre of mass, moving."""

    def __init__(self, com: tuple[float, float, float] = (0.2, -0.3, 0.4)) -> None:
        builder = fc.Builder("brick")
        builder.link("brick", mass=2.0, com=com, inertia=(0.3, 0.02, 0.01, 0.4, 0.03, 0.5))
        self.robot = plain(fc.load(builder, gravity=GRAVITY))
        rng = np.random.default_rng(3)
        self.q, self.v, _ = state(self.robot, rng)
        self.R = self.robot.split(self.q)[0][:3, :3]
        self.c = self.R @ np.array(com)
        self.I = self.robot.mass_matrix(self.q, MIXED)
        along = body_velocity(self.robot, self.q, self.v, MIXED)
        self.I_rate = derivative(crba.mass_matrix, self.robot.model.in_representation(MIXED), self.q, along)
        self.g = self.robot.gravity_torque(self.q, MIXED)
        self.Cv = self.robot.bias(self.q, self.v, MIXED) - self.g


def test_erratum_1_the_coriolis_matrix_of_a_body() -> None:
    """(5): dI/dt v is not C v unless the origin is the centre of mass, and dI/dt is no C with I_rate - 2 C skew even there."""
    b = Body()
    p = (b.I @ b.v)[:3]
    printed = b.I_rate @ b.v
    assert relative_error(printed, b.Cv) > WRONG
    assert relative_error(printed + np.concatenate([np.zeros(3), np.cross(b.v[:3], p)]), b.Cv) < RIGHT
    at_com = Body((0.0, 0.0, 0.0))
    assert relative_error(at_com.I_rate @ at_com.v, at_com.Cv) < RIGHT
    not_skew = at_com.I_rate - 2.0 * at_com.I_rate
    assert relative_error(not_skew, -not_skew.T) > WRONG

    # an admissible one: C = B(v, I) + I ad((v; 0)), for the twist with its rates in a frame that moves along but does not turn
    h = b.I @ b.v
    B = 0.5 * (-ad(b.v).T @ b.I - np.block([[ZERO, hat(h[:3])], [hat(h[:3]), hat(h[3:])]]) - b.I @ ad(b.v))
    C = B + b.I @ ad(np.concatenate([b.v[:3], np.zeros(3)]))
    assert relative_error(C @ b.v, b.Cv) < RIGHT
    assert relative_error(C + C.T, b.I_rate) < RIGHT
    assert relative_error(b.robot.coriolis_matrix(b.q, b.v, representation=MIXED), C) < RIGHT


def test_erratum_2_gravity_of_a_body() -> None:
    """(5): no R^T, mixed coordinates have the orientation of the world."""
    b = Body()
    still = np.zeros(3)
    assert relative_error(-b.I @ np.concatenate([b.R.T @ GRAVITY, still]), b.g) > WRONG
    assert relative_error(-b.I @ np.concatenate([GRAVITY, still]), b.g) < RIGHT


def test_erratum_3_signs_of_the_inertia() -> None:
    """(4): -m c^ stands above for (linear; angular)."""
    b = Body()
    m, C = 2.0, 2.0 * hat(b.c)
    assert relative_error(np.block([[m * np.eye(3), C], [-C, b.I[3:, 3:]]]), b.I) > WRONG
    assert relative_error(np.block([[m * np.eye(3), -C], [C, b.I[3:, 3:]]]), b.I) < RIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Sec. IV: the change of base


def test_errata_4_and_5_forces() -> None:
    """(21), Remark IV.2: wrench transforms W = X^-T with a minus below; with X, or with a plus, power is not kept."""
    robot, rng = robot_of(), np.random.default_rng(4)
    q, nu, _ = state(robot, rng)
    change = robot.base_change(q, nu, far_link(robot))
    X, J, n = change.T[:6, :6], change.T[:6, 6:], robot.n
    W = np.linalg.inv(X).T
    expected = np.linalg.inv(change.T).T

    def printed(Y: Array, sign: float) -> Array:
        return np.block([[Y, np.zeros((6, n))], [sign * J.T @ Y, np.eye(n)]])

    assert relative_error(printed(W, -1.0), expected) < RIGHT
    assert relative_error(printed(X, -1.0), expected) > WRONG
    assert relative_error(printed(W, 1.0), expected) > WRONG
    f = np.concatenate([rng.normal(size=6), np.zeros(n)])
    power = f @ nu
    nu_new = change.velocity(nu)
    assert abs(printed(W, -1.0) @ f @ nu_new - power) < RIGHT * 10
    assert abs(printed(W, 1.0) @ f @ nu_new - power) > WRONG
    assert relative_error(change.force(f), printed(W, -1.0) @ f) < RIGHT


def test_erratum_6_jacobians() -> None:
    """(22): J' = J T^-1, the inverse of (19)."""
    robot = robot_of(1)
    q, nu, _ = state(robot, np.random.default_rng(5))
    link = far_link(robot)
    other = robot.with_base(link)
    q_other = other.configuration(robot.frame_pose(q, link), robot.split(q)[1])
    change = robot.base_change(q, nu, link)
    frame = robot.base
    J, expected = robot.frame_jacobian(q, frame, MIXED), other.frame_jacobian(q_other, frame, MIXED)
    assert relative_error(J @ change.T, expected) > WRONG
    assert relative_error(J @ np.linalg.inv(change.T), expected) < RIGHT
    assert relative_error(change.jacobian(J), expected) < RIGHT


def test_erratum_7_the_jacobian_of_the_joints_turns_with_the_base() -> None:
    """(10b): in the mixed representation J depends on the base's orientation, J = blkdiag(R, R) J(R = 1)."""
    robot = robot_of(2)
    q = robot.random_configuration(6)
    level = q.copy()
    level[3:7] = (0.0, 0.0, 0.0, 1.0)
    R = robot.split(q)[0][:3, :3]
    link = far_link(robot)
    J, J_level = (robot.frame_jacobian(x, link, MIXED)[:, 6:] for x in (q, level))
    assert relative_error(J_level, J) > WRONG
    assert relative_error(np.block([[R, ZERO], [ZERO, R]]) @ J_level, J) < RIGHT


def momentum(robot: Plain, q: Array, nu: Array, printed: bool) -> Array:
    """(16): the sum over bodies, about the origin of the base; as printed, inertias are constant and velocities mixed."""
    total = np.zeros(6)
    for link in robot.description.links:
        assert link.inertial is not None
        xx, xy, xz, yy, yz, zz = link.inertial.inertia
        m, turn, c = link.inertial.mass, np.array(link.inertial.pose.rotation), hat(np.array(link.inertial.pose.position))
        I = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
        I_L = np.block([[m * np.eye(3), -m * c], [m * c, I - m * c @ c]])
        H = robot.frame_pose(q, link.name)
        R = np.kron(np.eye(2), H[:3, :3])
        shift = np.block([[np.eye(3), ZERO], [hat(H[:3, 3] - q[:3]), np.eye(3)]])
        total += shift @ (I_L if printed else R @ I_L @ R.T) @ robot.frame_velocity(q, nu, link.name, MIXED)
    return total


def test_erratum_8_momentum_body_by_body() -> None:
    """(16): with the mixed v_L of (2) the inertia must be the mixed one, or the velocity the body-fixed one."""
    robot = robot_of(3)
    q, nu, _ = state(robot, np.random.default_rng(7))
    expected = robot.mass_matrix(q, MIXED)[:6] @ nu
    assert relative_error(momentum(robot, q, nu, printed=True), expected) > WRONG
    assert relative_error(momentum(robot, q, nu, printed=False), expected) < RIGHT


# ---------------------------------------------------------------------------------------------------------------------
# Sec. V: the centroid


def test_erratum_9_the_angular_velocity() -> None:
    """(37): (R' R^T)^vee; R' R is not even skew."""
    robot = robot_of(4)
    q, nu, _ = state(robot, np.random.default_rng(8))
    along = body_velocity(robot, q, nu, MIXED)
    R = robot.split(q)[0][:3, :3]
    R_rate = R @ hat(along[3:6])
    w = robot.base_change(q, nu, ("center_of_mass", robot.base)).velocity(nu)[3:6]
    assert relative_error(R_rate @ R.T, hat(w)) < RIGHT
    printed = R_rate @ R
    assert relative_error(printed, hat(w)) > WRONG
    assert relative_error(printed, -printed.T) > WRONG


def test_erratum_10_zero_blocks() -> None:
    """(29), (40), (38): only n x 6 and (3 + n) x 3 blocks of zeros fit beside the identity."""
    robot = robot_of(7)
    q, nu, _ = state(robot, np.random.default_rng(9))
    n = robot.n
    assert n not in (3, 6)  # where they would fit by chance
    T = robot.base_change(q, nu, "centroidal").T
    assert np.array_equal(T[6:], np.hstack([np.zeros((n, 6)), np.eye(n)]))
    with pytest.raises(ValueError, match="dimensions"):
        np.hstack([np.zeros((6, n)), np.eye(n)])  # as printed
    with pytest.raises(ValueError, match="dimensions"):
        np.hstack([np.zeros((3, 3 + n)), np.eye(3 + n)])
    T = robot.base_change(q, nu, ("center_of_mass", robot.base)).T
    assert relative_error(T[3:], np.hstack([np.zeros((3 + n, 3)), np.eye(3 + n)])) < RIGHT


def test_erratum_11_dots() -> None:
    """(11a): R' = w^ R; (11b): M times the rate of nu, not nu."""
    robot = robot_of(6)
    q, nu, dnu = state(robot, np.random.default_rng(10))
    M, C, g = robot.equations_of_motion(q, nu)
    tau = robot.inverse_dynamics(q, nu, dnu, representation=MIXED)
    assert relative_error(M @ nu + C @ nu + g, tau) > WRONG
    assert relative_error(M @ dnu + C @ nu + g, tau) < RIGHT
    R_rate = derivative(frame_pose, robot.model, q, body_velocity(robot, q, nu, MIXED), robot.base)[:3, :3]
    assert relative_error(hat(nu[3:6]) @ robot.split(q)[0][:3, :3], R_rate) < RIGHT
    assert relative_error(hat(nu[3:6]), R_rate) > WRONG


@pytest.mark.parametrize("joints", [0, 3, 5])
def test_a_fixed_base_of_few_joints(joints: int) -> None:
    """Nothing changes there, and there is no block of six to invert: T, its inverse and forces are those of the joints."""
    builder = fc.Builder("few")
    builder.link("link0", mass=1.0, inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    for k in range(1, joints + 1):
        builder.link(f"link{k}", mass=1.0, inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
        builder.joint(f"joint{k}", "continuous", f"link{k - 1}", f"link{k}", axis=(0, 0, 1), xyz=(0.1, 0.2, 0.3))
    robot = plain(fc.load(builder, floating=False))
    q, nu, tau = state(robot, np.random.default_rng(joints))
    change = robot.representation_change(q, nu, "body", "mixed")
    assert np.array_equal(change.T, np.eye(joints))
    assert np.array_equal(change.inverse, np.eye(joints))
    assert np.array_equal(change.force(tau), tau)
