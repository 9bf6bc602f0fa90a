"""Constraint rows on random trees with every joint: what must be true of them, and their derivatives by complex step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import constrained, constrained_derivatives, energy
from fallingcat.algorithms.constrained import ConstraintSet
from fallingcat.algorithms.constraint_rows import Gains
from trees import Array, Plain, condition, floating, load, moved, random_tree, relative_error, seeds, slope, stepped, trees

GAINS = Gains(7.0, 3.0)


def height_and_reach(r: Any, q: Any) -> Any:
    """Rows of one's own: not linear in anything."""
    H = r.frame_pose(q, frame=FRAME)
    return [H[2, 3] * H[0, 3] - 0.3, H[0, 0] + H[1, 3] * H[1, 3]]


FRAME = "link1"


def kinds(robot: fc.Robot, rng: np.random.Generator) -> list[fc.Constraint]:
    """One of each kind that a robot can have, between random frames."""
    bodies: dict[int, list[str]] = {}
    for name, place in robot.model.frames:
        bodies.setdefault(place.body, []).append(name)
    moving = [i for i in bodies if i >= 0]
    a, b = (str(rng.choice(bodies[i])) for i in rng.choice(list(bodies), 2, replace=False))
    if robot.model.frame(b).body < 0:
        a, b = b, a
    c = str(rng.choice(bodies[int(rng.choice(moving))]))
    axis, pose = rng.normal(size=3), np.eye(4)
    pose[:3, 3] = rng.normal(size=3)
    found = [
        fc.point(c, point=rng.normal(size=3)),
        fc.point(c, directions=rng.normal(size=(2, 3))),
        fc.surface(c),
        fc.point_to_point(a, b, point_a=rng.normal(size=3)),
        fc.weld(a, b, pose),
        fc.hinge(a, b, axis),
        fc.slider(a, b, axis, pose),
        fc.distance(a, b),
        fc.distance("world", c, 1.5),
        fc.rolling(c, 0.3, normal=axis),
        fc.rows(height_and_reach),
        fc.joint(str(rng.choice(robot.joint_names))),
    ]
    one = [n for n, body in ((b.joint_name, b) for b in robot.model.bodies) if n in robot.joint_names and body.joint.nv == 1]
    if len(one) > 1:
        found.append(fc.coupling(*rng.choice(one, 2, replace=False).tolist(), (0.1, 0.5, -0.2, 0.3)))
    return found


def some(robot: fc.Robot, rng: np.random.Generator, count: int = 4) -> list[fc.Constraint]:
    """A few of them: what runs on complex numbers takes its time."""
    found = kinds(robot, rng)
    return [found[k] for k in rng.choice(len(found), count, replace=False)]


def rows_of(robot: fc.Robot, *constraints: fc.Constraint, **options: Any) -> fc.Constraints:
    return robot.constraints(*constraints, redundant=False, **options)


def state(robot: fc.Robot, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    return robot.random_configuration(rng), robot.random_velocity(rng), rng.normal(size=robot.nv)


def independent(c: fc.Constraints, robot: fc.Robot, q: Array, at_least: float = 1e-3) -> bool:
    """Are the rows far from depending on each other, in the metric of the robot's inertia?"""
    J = c.jacobian(q)
    if len(J) > robot.nv:
        return False
    G = J @ np.linalg.solve(robot.mass_matrix(q), J.T)
    return bool(np.diag(G).min() > at_least) and condition(G) < 1 / at_least


# ---------------------------------------------------------------------------------------------------------------------
# Rows


@settings(max_examples=8)
@given(tree=trees(5, 2), floats=floating, seed=seeds)
def test_drift_is_the_rate_of_the_velocity_of_the_rows(tree: fc.Builder, floats: bool, seed: int) -> None:
    robot = load(tree, floats, seed)
    rng = np.random.default_rng(seed)
    q, nu, dnu = state(robot, rng)
    for kind in kinds(robot, rng):
        c = rows_of(robot, kind)
        rate = slope(np.array(constrained.jacobian(robot.model, moved(robot.model, q, nu), c.rows)))
        assert relative_error(c.jacobian_rate(q, nu), rate) < 1e-12, kind
        assert relative_error(c.drift(q, nu), rate @ nu) < 1e-10, kind
        residual = c.residual(q, nu, dnu)
        assert relative_error(residual, c.jacobian(q) @ dnu + rate @ nu) < 1e-10, kind


@settings(max_examples=8)
@given(tree=trees(5, 2), floats=floating, seed=seeds)
def test_the_jacobian_is_the_derivative_of_the_violation_where_that_vanishes(tree: fc.Builder, floats: bool, seed: int) -> None:
    robot = load(tree, floats, seed)
    rng = np.random.default_rng(seed)
    q, _, _ = state(robot, rng)
    exact = {"point", "point_to_point", "distance", "rows", "coupling", "joint"}
    for kind in kinds(robot, rng):
        c = rows_of(robot, kind).held_at(q)
        if kind.kind not in exact and np.abs(c.violation(q)).max() > 1e-12:
            continue  # a loop that is open here
        columns = []
        for e in np.eye(robot.nv):
            at = moved(robot.model, q, e)
            columns.append(slope(constrained.violation(robot.model, at, c.rows, c.anchors.tolist())))
        J, found = c.jacobian(q), np.array(columns).T.reshape(c.m, robot.nv)
        if kind.kind == "rolling":  # what has rolled past is no violation: the normal row alone
            n = np.array(dict(kind.options)["normal"])
            center = rows_of(robot, fc.point(str(kind.frames[0]))).jacobian(q)
            J = np.outer(n, n @ center)
        assert relative_error(found, J) < 1e-10, kind


def test_the_jacobian_is_that_of_frames() -> None:
    robot = load(random_tree(5, 6), True)
    q = robot.random_configuration(0)
    H = robot.frame_pose(q, "link3")
    J = robot.frame_jacobian(q, "link3")
    expected = np.concatenate([H[:3, :3] @ J[:3], H[:3, :3] @ J[3:]])
    assert relative_error(rows_of(robot, fc.surface("link3")).jacobian(q), expected) < 1e-13
    p = np.array([0.1, -0.2, 0.3])
    at_p = H[:3, :3] @ (J[:3] - np.cross(p, J[3:].T).T)
    assert relative_error(rows_of(robot, fc.point("link3", point=p)).jacobian(q), at_p) < 1e-13
    assert relative_error(rows_of(robot, fc.point("link3", directions=[[0, 0, 2.0]])).jacobian(q), expected[2:3]) < 1e-13


# ---------------------------------------------------------------------------------------------------------------------
# Dynamics


@settings(max_examples=8)
@given(tree=trees(5, 2), floats=floating, seed=seeds)
def test_the_equations_hold(tree: fc.Builder, floats: bool, seed: int) -> None:
    robot = load(tree, floats, seed, joint_dynamics=True)
    rng = np.random.default_rng(seed)
    q, nu, tau = state(robot, rng)
    for kind in kinds(robot, rng):
        c = rows_of(robot, kind, kp=GAINS.kp, kd=GAINS.kd, damping=0.1)
        if not independent(c, robot, q):
            continue
        reference = tuple(rng.normal(size=(3, c.m)))
        wrenches = {robot.link_names[-1]: rng.normal(size=6)}
        dnu, forces = c.forward_dynamics(q, nu, tau, reference=reference, wrenches=wrenches)
        J = c.jacobian(q)
        assert relative_error(robot.inverse_dynamics(q, nu, dnu, wrenches), tau + J.T @ forces) < 1e-9, kind
        r, rd, rdd = reference
        right = rdd - GAINS.kd * (J @ nu - rd) - GAINS.kp * (c.violation(q) - r) - 0.1 * forces
        assert relative_error(J @ dnu + c.drift(q, nu), right) < 1e-9, kind


@pytest.mark.parametrize("options", [{}, {"kp": GAINS.kp, "kd": GAINS.kd, "damping": 0.1}], ids=["plain", "gains"])
@settings(max_examples=5)
@given(tree=trees(4, 2), floats=floating, seed=seeds)
def test_derivatives_are_those_of_a_complex_step(options: dict[str, float], tree: fc.Builder, floats: bool, seed: int) -> None:
    robot = load(tree, floats, seed, joint_dynamics=True)
    rng = np.random.default_rng(seed)
    q, nu, tau = state(robot, rng)
    for kind in some(robot, rng):
        c = rows_of(robot, kind, **options)
        if independent(c, robot, q):
            assert errors_of_derivatives(robot, c, q, nu, tau, rng, bool(options)) < 1e-9, kind


def errors_of_derivatives(
    robot: fc.Robot, c: fc.Constraints, q: Array, nu: Array, tau: Array, rng: np.random.Generator, full: bool
) -> float:
    model, anchors = robot.model, c.anchors.tolist() if full else None
    reference = rng.normal(size=c.m) if full else None

    def values(q: Sequence[Any], nu: Sequence[Any], tau: Sequence[Any]) -> Array:
        found = constrained.forward_dynamics(model, q, nu, tau, c.rows, None, anchors, reference)
        return slope([*found.dnu, *found.forces])

    D = constrained_derivatives.forward_dynamics_derivatives(
        model, q.tolist(), nu.tolist(), tau.tolist(), c.rows, None, anchors, reference
    )
    q0, nu0, tau0 = q.tolist(), nu.tolist(), tau.tolist()
    units = np.eye(robot.nv)
    expected = [
        np.array([values(moved(model, q, e), nu0, tau0) for e in units]).T,
        np.array([values(q0, stepped(nu, e), tau0) for e in units]).T,
        np.array([values(q0, nu0, stepped(tau, e)) for e in units]).T,
    ]
    found = [np.vstack([D[k], np.reshape(D[3 + k], (c.m, robot.nv))]) for k in range(3)]
    return max(relative_error(a, b) for a, b in zip(found, expected, strict=True))


@settings(max_examples=3)
@given(tree=trees(3, 2), floats=floating, seed=seeds)
def test_derivatives_of_impacts_are_those_of_a_complex_step(tree: fc.Builder, floats: bool, seed: int) -> None:
    robot = load(tree, floats, seed)
    rng = np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    model, units = robot.model, np.eye(robot.nv)
    for kind in some(robot, rng):
        c = rows_of(robot, kind, kp=1.0, damping=0.1)
        if not independent(c, robot, q):
            continue
        D = c.impulse_derivatives(q, nu, 0.4)

        def values(q: Sequence[Any], nu: Sequence[Any], rows: ConstraintSet = c.rows) -> Array:
            found = constrained.impulse(model, q, nu, [0.4], rows)
            return slope([*found.nu, *found.impulses])

        dq = np.array([values(moved(model, q, e), nu.tolist()) for e in units]).T
        dnu = np.array([values(q.tolist(), stepped(nu, e)) for e in units]).T
        assert relative_error(np.vstack([D.dnu_dq, D.dimpulses_dq]), dq) < 1e-9, kind
        assert relative_error(np.vstack([D.dnu_dnu, D.dimpulses_dnu]), dnu) < 1e-9, kind


# ---------------------------------------------------------------------------------------------------------------------
# Energy and momentum


@settings(max_examples=8)
@given(tree=trees(5, 2), floats=floating, seed=seeds)
def test_forces_do_no_work_on_motions_that_constraints_allow(tree: fc.Builder, floats: bool, seed: int) -> None:
    """The power of everything else changes the energy: E' = nu . tau along motions with J nu = 0."""
    robot = load(tree, floats, seed)
    rng = np.random.default_rng(seed)
    q, nu, tau = state(robot, rng)
    for kind in some(robot, rng):
        c = rows_of(robot, kind)
        if not independent(c, robot, q):
            continue
        nu_c = c.impulse(q, nu).nu
        assert np.abs(c.jacobian(q) @ nu_c).max(initial=0.0) < 1e-9
        dnu, forces = c.forward_dynamics(q, nu_c, tau)
        assert abs(forces @ c.jacobian(q) @ nu_c) < 1e-8 * max(1.0, np.abs(forces).max(initial=0.0))
        at, faster = moved(robot.model, q, nu_c), stepped(nu_c, dnu)
        rate = slope(energy.kinetic_energy(robot.model, at, faster) + energy.potential_energy(robot.model, at))
        assert abs(float(rate) - nu_c @ tau) < 1e-8 * max(1.0, abs(nu_c @ tau)), kind


def test_the_momentum_changes_with_the_forces_on_the_feet() -> None:
    """Rate of the centroidal momentum = weight and contact wrenches about the centre of mass."""
    robot = fc.load("quadruped")
    feet = [name for name in robot.link_names if name.endswith("_foot")]
    c = robot.constraints(*[fc.point(f) for f in feet])
    q, nu, tau = state(robot, np.random.default_rng(0))
    tau[:6] = 0.0
    dnu, forces = c.forward_dynamics(q, nu, tau)
    com = robot.center_of_mass(q)
    arms = [robot.frame_pose(q, f)[:3, 3] - com for f in feet]
    f = forces.reshape(-1, 3)
    rate = np.concatenate([f.sum(0) + robot.mass * robot.gravity, sum(np.cross(a, x) for a, x in zip(arms, f, strict=True))])
    assert relative_error(robot.kernel("centroidal_momentum_rate")(q, nu, dnu), rate) < 1e-10


def test_own_rows_are_those_of_the_library() -> None:
    """A point given by its position as one's own function is the point of the library."""
    robot: Plain = load(random_tree(3, 3), False)
    q, nu, tau = state(robot, np.random.default_rng(1))
    tip = robot.model.bodies[-1].name

    def place(r: Any, q: Any) -> Any:
        return r.frame_pose(q, frame=tip)[:3, 3]

    own, built_in = rows_of(robot, fc.rows(place)), rows_of(robot, fc.point(tip))
    for a, b in zip(own.forward_dynamics(q, nu, tau), built_in.forward_dynamics(q, nu, tau), strict=True):
        assert relative_error(a, b) < 1e-9
    for a, b in zip(own.forward_dynamics_derivatives(q, nu, tau), built_in.forward_dynamics_derivatives(q, nu, tau), strict=True):
        assert relative_error(a, b) < 1e-9


def test_rows_run_on_fifty_digits() -> None:
    mpmath = pytest.importorskip("mpmath")
    robot = load(random_tree(3, 4), True)
    q, nu, tau = state(robot, np.random.default_rng(1))
    c = rows_of(robot, fc.surface("link2"), fc.distance("link1", "world", 2.0))
    with mpmath.workdps(50):
        digits = [[mpmath.mpf(float(x)) for x in v] for v in (q, nu, tau)]
        exact = constrained.forward_dynamics(robot.model, *digits, c.rows)
    found = c.forward_dynamics(q, nu, tau)
    assert relative_error(found.dnu, [float(x) for x in exact.dnu]) < 1e-9
