"""A payload found by gradient, in JAX: what is in the hand, from the torques of one motion.

An arm picks up something unknown and moves. The payload pulls at the hand with the wrench of its own Newton-Euler equations, and
that wrench enters the arm's inverse dynamics. Ten numbers describe it, in the log-Cholesky form of Rucker and Wensing (2022), in
which every choice is a body that can exist: positive mass, and moments of inertia that obey the triangle inequality. The torques
are not linear in these numbers, so the fit is a descent: the gradient goes through the arm's compiled dynamics, backwards, in the
same jitted function as the payload's equations.   pip install 'fallingcat[jax,examples]'
"""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

import fallingcat as fc
from fallingcat.apps import figures
from fallingcat.model.description import Inertial, Joint, Link, Pose

OUT = Path("out")
NOISE = 0.3  # newton metres, on every joint
HAND = "hand"
TRUTH = {"mass": 1.8, "com": (0.05, -0.02, 0.09), "moments": (0.012, 0.009, 0.006)}  # moments about the centre of mass

jax.config.update("jax_enable_x64", True)  # everything here is in double precision


def loaded(arm):
    """The arm with the true payload welded to its hand: what the measurements are made with, and nothing else."""
    xx, yy, zz = TRUTH["moments"]
    body = Link("payload", Inertial(TRUTH["mass"], Pose(position=TRUTH["com"]), (xx, 0.0, 0.0, yy, 0.0, zz)))
    weld = Joint("grasp", "fixed", HAND, "payload")
    d = arm.description
    return fc.load(replace(d, links=(*d.links, body), joints=(*d.joints, weld)), floating=False)


def payload(theta):
    """Mass, first moment m c and rotational inertia about the hand, from ten numbers: the pseudo-inertia U U^T (4 x 4)."""
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
    U = jnp.exp(a) * jnp.array(
        [[jnp.exp(d1), s12, s13, t1], [0.0, jnp.exp(d2), s23, t2], [0.0, 0.0, jnp.exp(d3), t3], [0.0, 0.0, 0.0, 1.0]]
    )
    P = U @ U.T
    return P[3, 3], P[:3, 3], jnp.trace(P[:3, :3]) * jnp.eye(3) - P[:3, :3]


def pull(theta, v, a, g):
    """The wrench of the payload on the hand, in the hand's frame: minus the rate of its momentum, and its weight."""
    m, h, I = payload(theta)
    (vl, vw), (al, aw) = jnp.split(v, 2, axis=-1), jnp.split(a, 2, axis=-1)
    al = al - g  # what a body in free fall does not feel
    linear = m * vl - jnp.cross(h, vw)
    force = m * al - jnp.cross(h, aw) + jnp.cross(vw, linear)
    angular = jnp.cross(h, vl) + vw @ I
    moment = jnp.cross(h, al) + aw @ I + jnp.cross(vw, angular) + jnp.cross(vl, linear)
    return -jnp.concatenate([force, moment], axis=-1)


def motion(arm, rng, seconds=6.0, count=400):
    """A sum of slow waves on every joint: position, velocity, acceleration."""
    t = np.linspace(0.0, seconds, count)[:, None, None]
    w = 2.0 * np.pi / seconds * np.arange(1, 5)
    a = rng.normal(size=(arm.n, 4)) / np.arange(1, 5)
    a *= 0.5 * arm.position_limits[:, 1:] / np.abs(a).sum(axis=1, keepdims=True)
    phase = rng.uniform(0.0, 2.0 * np.pi, size=a.shape)
    parts = a * np.sin(w * t + phase), a * w * np.cos(w * t + phase), -a * w**2 * np.sin(w * t + phase)
    return t[:, 0, 0], *(part.sum(axis=-1) for part in parts)


def main() -> None:
    rng = np.random.default_rng(12)
    arm = fc.load("spacearm", floating=False)
    t, q, nu, dnu = motion(arm, rng)
    clean = loaded(arm).inverse_dynamics(q, nu, dnu)
    measured = clean + NOISE * rng.normal(size=clean.shape)

    free = fc.jax(arm)  # knows nothing of the payload

    def torques(theta):
        v, a = free.frame_velocity(q, nu, HAND), free.frame_acceleration(q, nu, dnu, HAND)
        g = jnp.asarray(arm.gravity) @ free.frame_pose(q, HAND)[:, :3, :3]
        return free.inverse_dynamics(q, nu, dnu, wrenches={HAND: pull(theta, v, a, g)})

    @jax.jit
    @jax.value_and_grad
    def cost(theta):
        return ((torques(theta) - measured) ** 2).mean()

    path = []
    start = np.concatenate([[np.log(0.1)], np.full(3, np.log(0.05)), np.zeros(6)])  # about ten grams, the size of a fist
    found = minimize(cost, start, jac=True, method="BFGS", options={"gtol": 3e-3}, callback=path.append)
    costs = [float(cost(theta)[0]) for theta in (start, *path)]

    mass, first, I = map(np.asarray, payload(found.x))
    com = first / mass
    about = I - mass * (com @ com * np.eye(3) - np.outer(com, com))
    print(f"{len(path)} steps of BFGS, {found.nfev} gradients through {len(t)} states each")
    print(f"mass     {mass:.3f} kg, truth {TRUTH['mass']}")
    print(f"centre   {np.round(com, 4)} m, truth {TRUTH['com']}")
    print(f"moments  {np.round(np.linalg.eigvalsh(about), 4)} kg m^2, truth {sorted(TRUTH['moments'])}")
    print(f"torques off by {np.sqrt(costs[0]):.2f} N m at the start, {np.sqrt(costs[-1]):.3f} at the end; noise {NOISE}")
    assert abs(mass - TRUTH["mass"]) < 0.02
    assert np.abs(com - TRUTH["com"]).max() < 5e-3
    assert np.sqrt(costs[-1]) < 1.02 * NOISE
    if figures.available():
        draw(t, costs, clean, np.asarray(torques(start)), np.asarray(torques(found.x)), path)
    else:
        print(figures.MISSING)


def draw(t, costs, clean, before, after, path) -> None:
    """The descent, the mass on the way, and the torque of one joint."""
    OUT.mkdir(exist_ok=True)
    masses = [float(payload(theta)[0]) for theta in path]
    with figures.drawing(OUT / "payload.png", 3, 13.0, 4.2, widths=(1, 1, 1.3)) as (_, (descent, weight, curve)):
        descent.semilogy(np.sqrt(costs), "o-", color=figures.OURS, markersize=3)
        descent.axhline(NOISE, color=figures.QUIET, linestyle="--", label="noise of a measurement")
        descent.set(xlabel="step")
        descent.legend()
        weight.plot(range(1, len(masses) + 1), masses, "o-", color=figures.OURS, markersize=3)
        weight.axhline(TRUTH["mass"], color=figures.PAPER, linewidth=5, zorder=0, label="truth")
        weight.set(xlabel="step")
        weight.legend()
        curve.plot(t, clean[:, 1], color=figures.PAPER, linewidth=5, label="truth")
        curve.plot(t, before[:, 1], "--", color=figures.FAMILY[1], label="empty hand")
        curve.plot(t, after[:, 1], color=figures.OURS, label="payload found")
        curve.set(xlabel="seconds", ylim=(None, 1.4 * clean[:, 1].max()))
        curve.legend(ncols=3, loc="upper center")
        titles = ("(a) rms error of the torques, N m", "(b) mass in the hand, kg", "(c) torque of joint2, N m")
        for ax, title in zip((descent, weight, curve), titles, strict=True):
            ax.set_title(title, loc="left")
    print(f"wrote {OUT / 'payload.png'}")


if __name__ == "__main__":
    main()
