"""What a user does with constraints: loops, feet, masks, redundant rows, projection, linearization, and what goes wrong."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from mechanisms import COUPLER, ROCKER, closed, four_bar, lagrangian

import fallingcat as fc
from trees import Array, load, relative_error

FEET = ("front_left_foot", "front_right_foot", "rear_left_foot", "rear_right_foot")


@pytest.fixture(scope="module")
def quadruped() -> fc.Robot:
    return fc.load("quadruped")


@pytest.fixture(scope="module")
def standing(quadruped: fc.Robot) -> fc.Constraints:
    return quadruped.constraints(*[fc.point(f) for f in FEET])


def state(robot: fc.Robot, seed: int = 0, shape: tuple[int, ...] = ()) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q = np.array([robot.random_configuration(rng) for _ in range(int(np.prod(shape)))] or robot.random_configuration(rng))
    return q.reshape(*shape, robot.nq), rng.normal(size=(*shape, robot.nv)), rng.normal(size=(*shape, robot.nv))


# ---------------------------------------------------------------------------------------------------------------------
# Closed loops


def test_the_four_bar_is_the_one_written_by_hand() -> None:
    robot = load(four_bar(), False, gravity=(0, 0, -9.81))
    c = robot.constraints()
    assert (c.m, int(c.rank(closed(0.3)))) == (3, 2)
    theta, speed, torque, h = 0.7, 1.3, 0.8, 1e-4
    q = closed(theta)
    assert np.abs(c.violation(q)).max() < 1e-14
    rates = (closed(theta + h) - closed(theta - h)) / (2 * h)
    (M, _), (M1, V1), (M0, V0) = lagrangian(theta), lagrangian(theta + h), lagrangian(theta - h)
    expected = (torque - 0.5 * (M1 - M0) / (2 * h) * speed**2 - (V1 - V0) / (2 * h)) / M
    nu = c.project(q, rates * speed).nu
    assert relative_error(nu, rates * speed) < 1e-7
    dnu = c.forward_dynamics(q, nu, [torque, 0.0, 0.0]).dnu
    assert dnu[0] == pytest.approx(expected, rel=1e-6)
    linear = c.linearize(q, nu, np.array([torque, 0.0, 0.0]))
    assert linear.A.shape == (2, 2)
    # one degree of freedom: its square times B is the inverse of its inertia
    assert (linear.basis[0, 0] * linear.B[1, 0]) == pytest.approx(1.0 / M, rel=1e-6)


def test_a_loop_closed_by_a_hinge_and_by_a_distance() -> None:
    """Over-constrained, and the same motion."""
    robot = load(four_bar(fc.hinge("coupler", "rocker", (0, 1, 0), "home")), False, gravity=(0, 0, -9.81))
    hinge = robot.constraints(home=closed(0.4))
    assert hinge.rows.redundant
    reference = load(four_bar(), False, gravity=(0, 0, -9.81)).constraints()
    q = closed(0.4)
    nu = reference.project(q, [1.0, 0.3, -0.2]).nu
    tau = np.array([0.5, 0.1, -0.2])
    # the hinge holds the frames of the links where they are at home, which is another mechanism: links welded but for one axis
    assert int(hinge.rank(q)) == 2
    found = hinge.forward_dynamics(q, hinge.project(q, nu).nu, tau)
    assert np.isfinite(found.forces).all()
    assert np.abs(hinge.residual(q, hinge.project(q, nu).nu, found.dnu)).max() < 1e-8


def test_energy_is_kept_along_a_motion() -> None:
    """A four-bar swings for a second: energy and closure stay."""
    robot = fc.load(four_bar(), floating=False)
    c = robot.constraints()
    q, nu = closed(0.3), c.project(closed(0.3), [2.0, 0.0, 0.0]).nu
    energy = lambda q, nu: robot.kinetic_energy(q, nu) + robot.potential_energy(q)  # noqa: E731
    start, dt, zero = energy(q, nu), 1e-3, np.zeros(3)
    f = lambda q, nu: np.concatenate([nu, c.forward_dynamics(q, nu, zero).dnu])  # noqa: E731
    x = np.concatenate([q, nu])
    for _ in range(1000):
        k1 = f(x[:3], x[3:])
        k2 = f(*np.split(x + dt / 2 * k1, 2))
        k3 = f(*np.split(x + dt / 2 * k2, 2))
        k4 = f(*np.split(x + dt * k3, 2))
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    assert energy(x[:3], x[3:]) == pytest.approx(start, abs=1e-6)
    assert np.abs(c.violation(x[:3])).max() < 1e-6


def test_against_mujoco() -> None:
    """MuJoCo's equality with a stiff reference: the same acceleration but for its softness."""
    mujoco = pytest.importorskip("mujoco")
    text = f"""<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"><flag contact="disable"/></option><worldbody>
      <body name="crank"><joint name="drive" axis="0 1 0"/>
        <inertial pos="0.15 0 0" mass="0.4" diaginertia="3e-6 3e-3 3e-3"/>
        <body name="coupler" pos="0.3 0 0"><joint name="knee" axis="0 1 0"/>
          <inertial pos="0.35 0 0" mass="0.9" diaginertia="3.675e-5 3.675e-2 3.675e-2"/></body></body>
      <body name="rocker" pos="0.8 0 0"><joint name="pivot" axis="0 1 0"/>
        <inertial pos="0.25 0 0" mass="0.6" diaginertia="1.25e-5 1.25e-2 1.25e-2"/>
        <site name="tip" pos="{ROCKER} 0 0"/></body></worldbody>
      <equality><connect body1="coupler" body2="rocker" anchor="{COUPLER} 0 0" solref="0.002 1" solimp="0.9999 0.9999 0.001"/>
      </equality></mujoco>"""
    spec = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(spec)
    robot = load(four_bar(), False, gravity=(0, 0, -9.81))
    c = robot.constraints()
    q = closed(0.5)
    nu = c.project(q, [1.0, 0.0, 0.0]).nu
    # where the tips meet, not where they are at zero
    spec.eq_data[0, 3:6] = (ROCKER, 0.0, 0.0)
    data.qpos, data.qvel, data.qfrc_applied = q, nu, (0.5, 0.0, 0.0)
    mujoco.mj_forward(spec, data)
    assert relative_error(c.forward_dynamics(q, nu, [0.5, 0.0, 0.0]).dnu, data.qacc) < 2e-2


# ---------------------------------------------------------------------------------------------------------------------
# Masks


def test_a_mask_is_the_set_without_the_others(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    q, nu, tau = state(quadruped)
    for mask in ([1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 0], [True, True, True, True]):
        dnu, forces = standing.forward_dynamics(q, nu, tau, active=mask)
        rest = [fc.point(f) for f, a in zip(FEET, mask, strict=True) if a]
        assert np.all(forces[np.repeat(np.logical_not(mask), 3)] == 0.0)
        if rest:
            alone = quadruped.constraints(*rest)
            expected = alone.forward_dynamics(q, nu, tau)
            assert relative_error(dnu, expected.dnu) < 1e-10
            assert relative_error(forces[np.repeat(np.array(mask, bool), 3)], expected.forces) < 1e-10
            assert int(standing.rank(q, mask)) == alone.m
        else:
            assert relative_error(dnu, quadruped.forward_dynamics(q, nu, tau)) < 1e-10


def test_masks_of_derivatives_and_impacts(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    q, nu, tau = state(quadruped, 1)
    alone = quadruped.constraints(fc.point(FEET[0]), fc.point(FEET[3]))
    D = standing.forward_dynamics_derivatives(q, nu, tau, active=[1, 0, 0, 1])
    E = alone.forward_dynamics_derivatives(q, nu, tau)
    on = np.repeat([True, False, False, True], 3)
    for field in D._fields:
        a, b = getattr(D, field), getattr(E, field)
        assert relative_error(a[on] if field.startswith("dforces") else a, b) < 1e-8, field
    assert np.all(D.dforces_dq[~on] == 0.0)
    hit = standing.impulse(q, nu, [0.5, 0, 0, 0.2], active=[1, 0, 0, 1])
    J = standing.jacobian(q)
    e = np.repeat([0.5, 0.0, 0.0, 0.2], 3)
    assert np.abs((J @ hit.nu + e * (J @ nu))[on]).max() < 1e-10
    assert np.all(hit.impulses[~on] == 0.0)


def test_masks_and_states_broadcast(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    q, nu, tau = state(quadruped, 2, (3, 1))
    masks = np.array([[1, 1, 1, 1], [1, 0, 0, 1]])
    found = standing.forward_dynamics(q, nu, tau, masks)
    assert found.dnu.shape == (3, 2, quadruped.nv)
    assert found.forces.shape == (3, 2, 12)
    one = standing.forward_dynamics(q[2, 0], nu[2, 0], tau[2, 0], masks[1])
    assert np.array_equal(found.dnu[2, 1], one.dnu)
    out = (np.empty((3, 2, quadruped.nv)), np.empty((3, 2, 12)))
    assert standing.forward_dynamics(q, nu, tau, masks, out=out).dnu is out[0]
    assert np.array_equal(out[0], found.dnu)


# ---------------------------------------------------------------------------------------------------------------------
# Redundant rows


def test_redundant_rows_share_forces_of_least_norm(quadruped: fc.Robot) -> None:
    """Four feet flat on the ground: 24 rows on a robot with 18 degrees of freedom."""
    c = quadruped.constraints(*[fc.surface(f) for f in FEET])
    q, nu, tau = state(quadruped, 3)
    assert c.rows.redundant
    assert int(c.rank(q)) < c.m
    dnu, forces = c.forward_dynamics(q, 0 * nu, tau)
    J = c.jacobian(q)
    assert np.abs(J @ dnu).max() < 1e-9
    assert relative_error(quadruped.inverse_dynamics(q, 0 * nu, dnu), tau + J.T @ forces) < 1e-9
    least = np.linalg.pinv(J.T, rcond=1e-9) @ (quadruped.inverse_dynamics(q, 0 * nu, dnu) - tau)
    assert relative_error(forces, least) < 1e-10


def test_forces_that_come_nearest(quadruped: fc.Robot) -> None:
    """Rows that contradict each other, and a robot on one point: what no force can do is left, and costs the rest no digits."""
    q, nu, tau = state(quadruped, 3)
    c = quadruped.constraints(*[fc.surface(f) for f in FEET])
    J, M = c.jacobian(q), quadruped.mass_matrix(q)
    free = quadruped.forward_dynamics(q, nu, tau)
    b = -(c.drift(q, nu) + J @ free)  # feet that move apart: no motion has these accelerations
    forces = np.linalg.pinv(J @ np.linalg.solve(M, J.T), rcond=1e-9) @ b
    found = c.forward_dynamics(q, nu, tau)
    assert np.abs(J @ found.dnu + c.drift(q, nu)).max() > 0.1
    assert relative_error(found.forces, forces) < 1e-9
    assert relative_error(found.dnu, free + np.linalg.solve(M, J.T @ forces)) < 1e-9
    hop = quadruped.constraints(fc.point(FEET[0]))
    needed, A = quadruped.inverse_dynamics(q, nu, tau), hop.jacobian(q)[:, :6].T
    pushed = hop.inverse_dynamics(q, nu, tau)
    assert relative_error(pushed.forces, np.linalg.lstsq(A, needed[:6], rcond=1e-10)[0]) < 1e-12
    assert relative_error(pushed.tau, needed - hop.jacobian(q).T @ pushed.forces) < 1e-12


def test_the_same_rows_twice(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    """Each takes half; told that there are none such, one of them takes all."""
    q, nu, tau = state(quadruped, 4)
    once = standing.forward_dynamics(q, nu, tau)
    twice = [fc.point(f) for f in (*FEET, *FEET)]
    shared = quadruped.constraints(*twice).forward_dynamics(q, nu, tau)
    assert relative_error(shared.dnu, once.dnu) < 1e-11
    assert relative_error(shared.forces, np.tile(once.forces / 2, 2)) < 1e-11
    first = quadruped.constraints(*twice, redundant=False).forward_dynamics(q, nu, tau)
    assert relative_error(first.dnu, once.dnu) < 1e-9
    assert np.all(first.forces[12:] == 0.0)
    D = quadruped.constraints(*twice).forward_dynamics_derivatives(q, nu, tau)
    assert relative_error(D.ddnu_dq, standing.forward_dynamics_derivatives(q, nu, tau).ddnu_dq) < 1e-8


def test_rows_that_contradict_each_other_are_seen(quadruped: fc.Robot) -> None:
    c = quadruped.constraints(fc.joint(quadruped.joint_names[0]), fc.joint(quadruped.joint_names[0]))
    q, nu, tau = state(quadruped)
    assert int(c.rank(q)) == 1 < c.m
    push = (None, None, [1.0, -1.0])
    dnu = c.forward_dynamics(q, nu, tau, reference=push).dnu
    assert np.abs(c.residual(q, nu, dnu, push)).max() > 0.5


# ---------------------------------------------------------------------------------------------------------------------
# The manifold


def test_projection_converges_quadratically(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    rng = np.random.default_rng(0)
    q0 = quadruped.random_configuration(rng)
    c = standing.held_at(q0)
    q = quadruped.integrate(q0, 0.05 * rng.normal(size=quadruped.nv))
    left = [np.abs(c.violation(q)).max()]
    for _ in range(4):
        q = quadruped.integrate(q, c.kernel("correction", ["anchors"])(q, np.zeros(quadruped.nv), c.anchors).dx)
        left.append(float(np.abs(c.violation(q)).max()))
    assert left[0] > 1e-3
    assert left[1] < 2.0 * left[0] ** 1.5
    assert all(b < max(10.0 * a**2, 1e-14) for a, b in pairwise(left[1:]))
    found = c.project(q0, rng.normal(size=quadruped.nv))
    assert np.abs(c.jacobian(found.q) @ found.nu).max() < 1e-12
    again = c.project(found.q, found.nu)
    assert np.abs(again.nu - found.nu).max() < 1e-12


def test_a_loop_that_cannot_close() -> None:
    b = four_bar(fc.distance("crank", "rocker", 5.0))
    c = fc.load(b, floating=False).constraints()
    with pytest.raises(fc.InputError, match=r"cannot be satisfied.*distance\(crank, rocker\)"):
        c.project(closed(0.5))


def test_held_at_compiles_nothing(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    q, _, _ = state(quadruped, 7)
    standing.violation(q)
    moved = standing.held_at(q)
    assert np.abs(moved.violation(q)).max() < 1e-15
    assert moved._kernels is standing._kernels
    many = standing.held_at(np.stack([q, quadruped.neutral()]))
    assert np.abs(many.violation(np.stack([q, quadruped.neutral()]))).max() < 1e-15


def test_gains_bring_a_violation_back(quadruped: fc.Robot) -> None:
    """e'' + kd e' + kp e = 0, critically damped: e = e0 (1 + t) exp(-t) for kp = 1, kd = 2."""
    c = quadruped.constraints(*[fc.point(f) for f in FEET], kp=100.0, kd=20.0)
    q = quadruped.neutral()
    q[2] += 0.01
    start, nu, dt = c.violation(q), np.zeros(quadruped.nv), 1e-3
    tau = c.inverse_dynamics(q, nu, nu).tau
    for _ in range(200):
        nu = nu + dt * c.forward_dynamics(q, nu, tau).dnu
        q = quadruped.integrate(q, dt * nu)
    assert relative_error(c.violation(q) / start[2], start / start[2] * (1 + 2) * np.exp(-2)) < 0.02


def test_linearization_on_the_manifold(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    """A perturbed state on the constraints moves as the linearization says, to second order."""
    q = quadruped.neutral()
    c = standing.held_at(q)
    zero = np.zeros(quadruped.nv)
    tau = c.inverse_dynamics(q, zero, zero).tau
    assert np.abs(tau[:6]).max() < 1e-9
    assert np.abs(c.forward_dynamics(q, zero, tau).dnu).max() < 1e-8
    L = c.linearize(q, zero, tau)
    k = quadruped.nv - c.m
    assert (L.A.shape, L.B.shape, L.basis.shape) == ((2 * k, 2 * k), (2 * k, quadruped.n), (2 * quadruped.nv, 2 * k))
    rng = np.random.default_rng(0)
    y = rng.normal(size=2 * k)
    Z = L.basis[: quadruped.nv, :k]
    rates = []
    for s in (1e-5, -1e-5):
        z = s * L.basis @ y
        moved = c.project(quadruped.integrate(q, z[: quadruped.nv]), z[quadruped.nv :])
        rates.append(np.concatenate([Z.T @ moved.nu, Z.T @ c.forward_dynamics(moved.q, moved.nu, tau).dnu]))
    assert relative_error((rates[0] - rates[1]) / 2e-5, L.A @ y) < 1e-6


# ---------------------------------------------------------------------------------------------------------------------
# The rest


def test_inverse_dynamics_finds_and_takes_forces(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    q, nu, _ = state(quadruped, 5, (4,))
    dnu = standing.forward_dynamics(q, nu, np.zeros(quadruped.nv)).dnu
    found = standing.inverse_dynamics(q, nu, dnu)
    assert np.abs(found.tau[:, :6]).max() < 1e-9
    J = standing.jacobian(q)
    total = found.tau + np.einsum("bij,bi->bj", J, found.forces)
    assert relative_error(total, quadruped.inverse_dynamics(q, nu, dnu)) < 1e-9
    base = J[0, :, :6]
    assert relative_error(found.forces[0], base @ np.linalg.lstsq(base, found.forces[0], rcond=None)[0]) < 1e-9
    chosen = standing.inverse_dynamics(q, nu, dnu, forces=found.forces + 1.0)
    assert relative_error(chosen.tau + np.einsum("bij,bi->bj", J, chosen.forces), total) < 1e-9
    one = standing.inverse_dynamics(q[0], nu[0], dnu[0], active=[1, 0, 0, 0])
    assert np.all(one.forces[3:] == 0.0)
    assert np.abs(one.tau[:6]).max() > 1e-3


def test_inverse_dynamics_on_two_feet(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    """No force can turn the robot about the line through its feet: that moment, and nothing else, is missing."""
    q, nu, dnu = state(quadruped, 11)
    found = standing.inverse_dynamics(q, nu, dnu, active=[1, 0, 0, 1])
    A = standing.jacobian(q)[[0, 1, 2, 9, 10, 11], :6].T
    needed = quadruped.inverse_dynamics(q, nu, dnu)[:6]
    least = np.linalg.lstsq(A, needed, rcond=1e-9)[0]
    assert relative_error(found.forces[[0, 1, 2, 9, 10, 11]], least) < 1e-6
    assert relative_error(found.tau[:6], needed - A @ least) < 1e-6


def test_operational_space(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    q, _, _ = state(quadruped, 6)
    J, Minv = standing.jacobian(q), quadruped.inverse_mass_matrix(q)
    o = standing.operational_space(q)
    assert relative_error(o.inertia @ (J @ Minv @ J.T), np.eye(12)) < 1e-10
    assert relative_error(o.inverse, Minv @ J.T @ np.linalg.inv(J @ Minv @ J.T)) < 1e-10
    assert np.abs(J @ Minv @ o.projector).max() < 1e-10
    assert relative_error(o.projector @ o.projector, o.projector) < 1e-10


def test_a_driven_joint_follows(quadruped: fc.Robot) -> None:
    c = quadruped.constraints(fc.joint(quadruped.joint_names[2]), kp=400.0, kd=40.0)
    q, nu, tau = state(quadruped)
    r, rd, rdd = 0.3, -0.2, 5.0
    dnu = c.forward_dynamics(q, nu, tau, reference=([r], [rd], [rdd])).dnu
    assert dnu[8] == pytest.approx(rdd - 40.0 * (nu[8] - rd) - 400.0 * (q[9] - r))


def test_inside_a_function_that_is_compiled(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    def power(r: Any, q: Any, nu: Any, tau: Any) -> Any:
        c = r.constraints(*[fc.point(f) for f in FEET])
        return c.forward_dynamics(q, nu, tau).dnu @ nu

    f = fc.compile(power, quadruped)
    q, nu, tau = state(quadruped, 8)
    assert f(q, nu, tau) == pytest.approx(standing.forward_dynamics(q, nu, tau).dnu @ nu)


def test_gradients_are_those_of_the_derivatives(quadruped: fc.Robot) -> None:
    """Reverse and forward mode through the compiled dynamics against the analytical derivatives."""
    c = quadruped.constraints(fc.point(FEET[0]), fc.point(FEET[3]))
    q, nu, tau = state(quadruped, 12)
    rng = np.random.default_rng(0)
    dnu_bar, forces_bar = rng.normal(size=quadruped.nv), rng.normal(size=c.m)
    D = c.forward_dynamics_derivatives(q, nu, tau)
    bars = c.vjp("forward_dynamics")(q, nu, tau, dnu_bar, forces_bar)
    for bar, by in zip(bars, ("dq", "dnu", "dtau"), strict=True):
        expected = getattr(D, f"ddnu_{by}").T @ dnu_bar + getattr(D, f"dforces_{by}").T @ forces_bar
        assert relative_error(bar, expected) < 1e-9, by
    z = rng.normal(size=(3, quadruped.nv))
    dots = c.jvp("forward_dynamics")(q, nu, tau, *z)
    assert relative_error(dots[0], D.ddnu_dq @ z[0] + D.ddnu_dnu @ z[1] + D.ddnu_dtau @ z[2]) < 1e-9
    assert relative_error(dots[1], D.dforces_dq @ z[0] + D.dforces_dnu @ z[1] + D.dforces_dtau @ z[2]) < 1e-9


def test_frozen_pickled_and_printed(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    q, nu, tau = state(quadruped, 9)
    again = pickle.loads(pickle.dumps(standing))
    assert np.array_equal(again.forward_dynamics(q, nu, tau).dnu, standing.forward_dynamics(q, nu, tau).dnu)
    method = pickle.loads(pickle.dumps(standing.forward_dynamics))
    assert np.array_equal(method(q, nu, tau).forces, standing.forward_dynamics(q, nu, tau).forces)
    with pytest.raises(AttributeError, match="frozen"):
        standing.anchors = None  # type: ignore[assignment]
    assert repr(standing).startswith("<12 rows on quadruped: point(front_left_foot)")
    assert len(standing) == 4
    assert standing.m == 12
    assert standing.slices[1] == slice(3, 6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda r: r.constraints(fc.point("foot")), "no frame 'foot'"),
        (lambda r: r.constraints(), "not a constraint"),
        (lambda r: r.constraints("foot"), "not a constraint"),
        (lambda r: r.constraints(fc.weld(FEET[0], FEET[0])), "both frames are part of"),
        (lambda r: r.constraints(fc.weld("world", "world")), "both frames are part of the world"),
        (lambda r: r.constraints(fc.point(FEET[0]), kp=-1.0), "kp does not fit"),
        (lambda r: r.constraints(fc.point(FEET[0]), home=[0.0]), "home has the wrong shape"),
        (lambda r: r.constraints(fc.joint("hip")), "no movable joint 'hip'"),
        (lambda r: r.constraints(fc.coupling(r.joint_names[0], r.joint_names[0])), "these joints do not fit"),
        (lambda r: fc.hinge("a", "b", (0, 0, 0)), "axis has no length"),
        (lambda r: fc.slider("a", "b", (0, 0)), "three numbers"),
        (lambda r: fc.distance("a", "b", -1.0), "must be positive"),
        (lambda r: fc.rolling("a", 0.0), "must be positive"),
        (lambda r: fc.point("a", directions=[[0, 0, 0]]), "has no length"),
        (lambda r: fc.point("a", directions=[[0, 0, 1], [0, 0, 2]]), "depend on each other"),
        (lambda r: fc.weld("a", "b", np.zeros((4, 4))), "not a pose"),
        (lambda r: fc.rows(cast(Any, 3)), "not a function"),
        (lambda r: fc.point(cast(Any, 7)), "by its name"),
        (lambda r: r.constraints(fc.point(FEET[0])).forward_dynamics(r.neutral(), [1.0], [1.0]), "nu"),
        (lambda r: r.constraints(fc.point(FEET[0])).kernel("dynamics"), "no function 'dynamics'"),
        (lambda r: fc.Builder().loop(cast(Any, "x")), "not a constraint"),
        (lambda r: fc.Builder().loop(fc.weld("a", "b")), "no link 'a'"),
    ],
)
def test_what_goes_wrong_says_so(quadruped: fc.Robot, make: Any, words: str) -> None:
    with pytest.raises(fc.FallingCatError, match=words):
        make(quadruped)


def test_a_mask_of_the_wrong_length(quadruped: fc.Robot, standing: fc.Constraints) -> None:
    q, nu, tau = state(quadruped)
    with pytest.raises(fc.InputError, match="active"):
        standing.forward_dynamics(q, nu, tau, active=[1, 0])
    with pytest.raises(fc.InputError, match="reference"):
        standing.forward_dynamics(q, nu, tau, reference=[1.0])
    with pytest.raises(fc.InputError, match="reference has the wrong shape"):
        standing.forward_dynamics(q, nu, tau, reference=(None, None, [1.0]))
    with pytest.raises(fc.InputError, match="project: q has the wrong shape"):
        standing.project(q[:2])
    with pytest.raises(fc.InputError, match="not finite"):
        standing.project(np.nan * q)
    with pytest.raises(fc.InputError, match="with_anchors"):
        standing.with_anchors([1.0])
