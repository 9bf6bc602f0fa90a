"""Parts of the reduced equations by themselves (paper 003) against sums over bodies, complex steps, and each other.

The sums (reference/paper003.py) are the paper's, with dense 6 x 6 matrices. Random trees have every type of joint, joints that
follow others, and any link as base.
"""

from __future__ import annotations

import numpy as np
import pytest
from bases import TOLERANCE, close
from hypothesis import given, settings
from test_reduced import named

import fallingcat as fc
from fallingcat.algorithms import reduced
from fallingcat.reference.paper003 import Bodies
from trees import Array, Plain, derivative, load, relative_error, seeds, state, trees

few = settings(max_examples=10)


def check_parts(robot: Plain, q: Array, nu: Array) -> None:
    """(10), (18a), (18b), (20)-(23), (26), (27), (38) and the torques of Sec. V-1 against the sums."""
    b = Bodies.of(robot.model, q.tolist())
    r = nu[6:]
    mu = nu[:6] + b.A_l @ r
    blocks, maps, torques = robot.transformed_coriolis(q, nu), robot.curvature_maps(q, r, mu), robot.decoupling_torques(q, nu)
    G = b.Gamma(mu, r)
    pairs = {
        "(10)": (robot.spatial_connection(q), b.Ad_1 @ np.hstack([np.eye(6), b.A_l])),
        "(18a)": (robot.inertia_velocity_matrix(q, r), b.P(r)),
        "(18b)": (robot.inertia_derivative_matrix(q, mu), b.S(mu)),
        "(23a)": (blocks.Gamma_b, G.b),
        "(23b)": (blocks.Gamma_bq, G.bq),
        "(23c)": (blocks.Gamma_qb, G.qb),
        "(23d)": (blocks.Gamma_q, G.q),
        "(26), B_1": (maps.B_1, b.B_1(r)),
        "(27), B_2": (maps.B_2, b.B_2(mu)),
        "(14), B_l": (maps.B_l, b.B_l(r)),
        "tau": (torques.reduced, b.torque(mu)),
        "taubar": (torques.transformed, -G.bq.T @ mu),
        "all": (torques.complete, -b.D_mu(mu)[6:] @ np.concatenate([mu, r])),
    }
    off = {name: relative_error(x, y) for name, (x, y) in pairs.items()}
    assert {name: x for name, x in off.items() if not x < TOLERANCE} == {}


@few
@given(trees(max_joints=6), seeds)
def test_parts(builder: fc.Builder, seed: int) -> None:
    robot = load(builder, True, seed)
    check_parts(robot, *state(robot, np.random.default_rng(seed))[:2])


@pytest.mark.parametrize("name", ["spacearm", "cat", "talos"])
def test_parts_of_robots(name: str, rng: np.random.Generator) -> None:
    robot = named(name)
    check_parts(robot, *state(robot, rng)[:2])


@few
@given(trees(max_joints=5), seeds)
def test_inertia_matrices(builder: fc.Builder, seed: int) -> None:
    """Def. 4, Def. 5 and Property 5 for any velocities, by complex steps through the locked inertia alone."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q = robot.random_configuration(rng)
    x, y, r = rng.normal(size=6), rng.normal(size=6), rng.normal(size=robot.n)
    P, S = robot.inertia_velocity_matrix(q, r), robot.inertia_derivative_matrix(q, x)
    close(P, derivative(reduced.locked_inertia, robot.model, q, [*np.zeros(6), *r]))
    slopes = [derivative(reduced.locked_inertia, robot.model, q, [*np.zeros(6), *e]) for e in np.eye(robot.n)]
    close(S.T @ x, [0.5 * x @ slope @ x for slope in slopes])
    close(S.T @ y, robot.inertia_derivative_matrix(q, y).T @ x)  # (36a)
    close(S @ r, 0.5 * P @ x)  # (36b), corrected


@few
@given(trees(max_joints=6), seeds)
def test_spatial_connection(builder: fc.Builder, seed: int) -> None:
    """Def. 3: zero without momentum; where the joints rest, the twist of the base; and the momentum map over the inertia (10)."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, _ = state(robot, rng)
    A = robot.spatial_connection(q)
    close(A @ robot.split_velocity(q, nu).horizontal, np.zeros(6))
    locked = np.concatenate([nu[:6], np.zeros(robot.n)])
    twist = robot.frame_jacobian(q, robot.base, "inertial")[:, :6]
    H, _ = robot.split(q)
    v, w = H[:3, :3] @ nu[:3], H[:3, :3] @ nu[3:6]
    close(A @ locked, twist @ [*(v - np.cross(w, H[:3, 3])), *w])
    # the momentum of the whole robot moving as one body with that twist is the momentum map
    X = np.linalg.inv(A[:, :6])
    close(X.T @ robot.locked_inertia(q) @ X @ (A @ nu), robot.momentum_map(q, nu))


@few
@given(trees(max_joints=6), seeds)
def test_curvature_maps(builder: fc.Builder, seed: int) -> None:
    """The whole curvature with its arguments filled in; (29), (30) and (40), corrected."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q = robot.random_configuration(rng)
    r, mu = rng.normal(size=robot.n), rng.normal(size=6)
    B_l, B_1, B_2 = robot.curvature_maps(q, r, mu)
    p = robot.locked_inertia(q) @ mu
    B = robot.curvature(q)
    close(B_l, np.einsum("aij,i->aj", B, r))
    close(B_2, 0.5 * np.einsum("aij,a->ji", B, p))
    close(B_1.T @ r, np.zeros(6))
    close(B_2 @ r, -B_1 @ mu)
    close(2.0 * B_2 @ r, B_l.T @ p)
    assert np.array_equal(B_2, -B_2.T)
    assert np.array_equal(B_1[:, :3], np.zeros((robot.n, 3)))  # moments


@few
@given(trees(max_joints=6), seeds)
def test_transformed_equations(builder: fc.Builder, seed: int) -> None:
    """(20) is the full dynamics in other velocities, and (21) the same as the full Coriolis matrix in them (23a), Property 4."""
    robot, rng = load(builder, True, seed), np.random.default_rng(seed)
    q, nu, tau = state(robot, rng)
    G, R = robot.transformed_coriolis(q, nu), robot.reduced_dynamics(q, nu)
    Gamma = np.block([[G.Gamma_b, G.Gamma_bq], [G.Gamma_qb, G.Gamma_q]])
    rates, F = robot.reduced_forward_dynamics(q, nu, tau), tau - robot.gravity_torque(q)
    scale = max(1.0, float(np.abs(rates.ddr).max()), float(np.abs(rates.mu_rate).max()))
    left = np.concatenate([R.Lambda_b @ rates.mu_rate, R.Lambda_q @ rates.ddr]) + Gamma @ np.concatenate([R.mu, nu[6:]])
    close(left / scale, np.concatenate([F[:6], F[6:] - R.A_l.T @ F[:6]]) / scale)
    close(G.Gamma_q, R.B_2 + R.Gamma_q)  # (27)
    zero = np.zeros((6, robot.n))
    close(Gamma + Gamma.T, np.block([[R.P, zero], [zero.T, R.Gamma_q + R.Gamma_q.T]]))


@few
@given(trees(max_joints=6), seeds)
def test_decoupled_shapes(builder: fc.Builder, seed: int) -> None:
    """With all of the torques, the shape accelerates as without momentum; the parts between them do no work."""
    robot, rng = load(builder, True, seed, gravity=(0, 0, 0)), np.random.default_rng(seed)
    q, nu, tau = state(robot, rng)
    tau[:6] = 0.0
    torques = robot.decoupling_torques(q, nu)
    held = tau + np.concatenate([np.zeros(6), torques.complete])
    ddr = robot.forward_dynamics(q, nu, held)[6:]
    still = robot.forward_dynamics(q, robot.split_velocity(q, nu).horizontal, tau)[6:]
    scale = max(1.0, float(np.abs(still).max()))
    close(ddr / scale, still / scale)
    close(torques.transformed @ nu[6:], torques.reduced @ nu[6:])
    close(torques.complete @ nu[6:], torques.reduced @ nu[6:])


def test_a_decoupled_flight() -> None:
    """A tumbling arm under a spring and a damper goes through the same shapes as one without momentum."""
    robot = fc.load("spacearm", gravity=(0, 0, 0))
    rng = np.random.default_rng(2)
    start, rest = robot.random_configuration(rng), rng.uniform(-0.5, 0.5, size=robot.n)
    stiffness = 10.0 * np.diag(robot.shape_inertia(start))

    def fly(mu: Array, decoupled: bool, steps: int) -> Array:
        q, nu, dt, shapes = start, np.concatenate([mu, np.zeros(robot.n)]), 0.5 / steps, []
        for _ in range(steps):
            tau = -stiffness * (q[7:] - start[7:] - rest + 0.5 * nu[6:])
            tau = tau + (robot.decoupling_torques(q, nu).complete if decoupled else 0.0)
            q, nu = robot.step(q, nu, tau, dt, "rk4")
            shapes.append(q[7:])
        return np.array(shapes)

    mu, none = np.array([0.1, -0.2, 0.1, 1.0, -1.5, 0.8]), np.zeros(6)
    assert np.abs(fly(none, True, 100) - fly(none, False, 100)).max() < 1e-12  # nothing to decouple from
    assert np.abs(fly(mu, False, 100) - fly(none, False, 100)).max() > 0.5
    off = [np.abs(fly(mu, True, steps) - fly(none, True, steps)).max() for steps in (250, 500)]
    assert off[0] < 2e-4
    assert 1.9 < off[0] / off[1] < 2.1  # torques are held over a step


def test_errors() -> None:
    robot = fc.load("spacearm", floating=False)
    q, nu = robot.neutral(), np.zeros(robot.nv)
    for name, values in {
        "inertia_velocity_matrix": (q, nu), "inertia_derivative_matrix": (q, np.zeros(6)), "spatial_connection": (q,),
        "curvature_maps": (q, nu, np.zeros(6)), "transformed_coriolis": (q, nu), "decoupling_torques": (q, nu),
    }.items():  # fmt: skip
        with pytest.raises(fc.InputError, match="floating base"):
            getattr(robot, name)(*values)
    with pytest.raises(fc.InputError, match=r"r .*7"):
        fc.load("spacearm").inertia_velocity_matrix(fc.load("spacearm").neutral(), np.zeros(6))
