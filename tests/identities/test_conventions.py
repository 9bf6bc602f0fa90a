"""What the documentation says about axes and armatures where the field has no habit."""

from __future__ import annotations

import numpy as np
import pytest

import fallingcat as fc
from trees import Array, relative_error

X, Y, Z = np.eye(3)
TILTED, BEHIND = np.array([0.6, 0.0, 0.8]), np.array([0.6, 0.0, -0.8])
PLANES = {
    (0, 0, 1): (X, Y), (0, 0, -1): (X, -Y), (1, 0, 0): (Y, Z), (-1, 0, 0): (-Y, Z), (0, 1, 0): (-X, Z), (0, -1, 0): (X, Z),
    (0.6, 0, 0.8): (np.cross(Y, TILTED), Y), (0.6, 0, -0.8): (np.cross(-Y, BEHIND), -Y),
}  # fmt: skip


def body_on(type_: str, armature: float = 0.0, axis: tuple[float, float, float] = (0, 0, 1)) -> fc.Robot:
    b = fc.Builder("one")
    b.link("frame")
    b.link("body", mass=1.3, com=(0.1, 0.2, -0.3), inertia=(0.1, 0.01, 0.02, 0.2, 0.03, 0.25))
    b.joint("joint", type_, "frame", "body", axis=axis, armature=armature)
    return fc.load(b, floating=False, joint_dynamics=True)


@pytest.mark.parametrize("axis", PLANES)
def test_the_axes_of_a_plane(axis: tuple[float, float, float]) -> None:
    robot = body_on("planar", axis=axis)
    for q, direction in zip(np.eye(3)[:2], PLANES[axis], strict=True):
        np.testing.assert_allclose(robot.frame_pose(q, "body")[:3, 3], direction, atol=1e-15)
    turned = robot.frame_pose([0.0, 0.0, 0.5], "body")[:3, :3]
    np.testing.assert_allclose(turned @ np.array(axis, dtype=float), axis, atol=1e-15)
    np.testing.assert_allclose(np.cross(*PLANES[axis]), axis, atol=1e-15)


@pytest.mark.parametrize(
    ("type_", "entries"), [("spherical", [3, 4, 5]), ("planar", [0, 1, 5]), ("floating", [0, 1, 2, 3, 4, 5])]
)
@pytest.mark.parametrize("armature", [0.0, 0.3])
def test_symmetry_of_christoffel_symbols_with_armature(type_: str, entries: list[int], armature: float) -> None:
    """C(v) w - C(w) v = M [v, w] with the M of the bodies alone; M has the armature on its diagonal, C does not know it."""
    robot, rng = body_on(type_, armature), np.random.default_rng(3)
    q, v, w = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    G, M = robot.christoffel_symbols(q), robot.mass_matrix(q)
    bodies = body_on(type_).mass_matrix(q)
    assert relative_error(M, bodies + armature * np.eye(robot.nv)) < 1e-14
    a, b = np.zeros(6), np.zeros(6)
    a[entries], b[entries] = v, w
    bracket = np.concatenate([np.cross(a[3:], b[:3]) + np.cross(a[:3], b[3:]), np.cross(a[3:], b[3:])])[entries]
    assert relative_error(G @ v @ w - G @ w @ v, bodies @ bracket) < 1e-13


@pytest.mark.parametrize("velocity", ["mixed", "inertial"])
def test_the_base_wrench_of_a_linearization_is_body_fixed(velocity: str) -> None:
    """The rate of the base's velocity under a wrench that turns with the base, differenced in the base's orientation."""
    robot = fc.load("spacearm")
    rng = np.random.default_rng(5)
    q, tau = robot.random_configuration(rng), rng.normal(size=robot.nv)
    still = np.zeros(robot.nv)

    def rates(along: Array) -> Array:
        """At rest the rate of the other twist is the body's acceleration, moved there."""
        turned = robot.integrate(q, along)
        H, a = robot.frame_pose(turned, robot.base), robot.forward_dynamics(turned, still, tau)
        lin, ang = H[:3, :3] @ a[:3], H[:3, :3] @ a[3:6]
        return np.concatenate([lin if velocity == "mixed" else lin + np.cross(H[:3, 3], ang), ang, a[6:]])

    h = 1e-5
    differenced = np.array([(rates(h * e) - rates(-h * e)) / (2 * h) for e in np.eye(robot.nv)]).T
    A = np.asarray(robot.linearize(q, still, tau, representation=velocity).A)[robot.nv :, : robot.nv]
    assert relative_error(A, differenced) < 1e-7
