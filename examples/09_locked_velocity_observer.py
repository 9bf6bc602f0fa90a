"""How fast does a space robot tumble? A locked-velocity observer from pose, shape and shape velocity (paper 003, Sec. V-2).

Row one of the reduced equations holds P(r) mu / 2 + S(mu) r, and S(mu) r = P(r) mu / 2 (Property 5, sign corrected): it is the
rate of a momentum, so that h = N(q) mu, the momentum about the centre of mass, is constant. Measured: pose H, shape s and its
velocity r; no velocity of the base. Estimated: a pose H' and a momentum h', hence mu' = N^-1 h'. With e = log(H'^-1 H),
g = Jr(e)^-T e, a constant Q > 0 and any K > 0,

    dH'/dt = H' hat(Ad(H'^-1 H) (mu' - A r + K g)),      dh'/dt = k^2 Q N^-T g.

A r is known, so de/dt = Jr(e)^-1 (mu - mu' - K g), and V = k^2 |e|^2 / 2 + <h - h', Q^-1 (h - h')> / 2 has dV/dt = -k^2 <g, K g>:
while e stays off a half turn it goes to zero, and mu' to mu with it. K = 2 k (N^-1 Q N^-T)^1/2 damps critically.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.apps import figures
from fallingcat.spatial import se3

OUT, DT, SECONDS, RATES = Path("out"), 0.002, 6.0, (3.0, 6.0, 12.0)


def fly(robot, rng):
    """A tumbling robot that waves its arm, by the full dynamics: configurations and velocities."""
    q, nu, bent = robot.neutral(), np.zeros(robot.nv), rng.uniform(-1.0, 1.0, size=robot.n)
    q[7:], nu[:6] = bent, (0.05, -0.03, 0.02, 0.3, -0.5, 0.4)
    stiffness, flown = 30.0 * np.diag(robot.shape_inertia(q)), [(q, nu)]
    for t in np.arange(0.0, SECONDS, DT):
        off = q[7:] - bent - 0.6 * (np.sin(1.5 * t + np.arange(robot.n)) - np.sin(np.arange(robot.n)))
        q, nu = robot.step(q, nu, -stiffness * (off + 0.3 * nu[6:]), DT, "rk4")
        flown.append((q, nu))
    return tuple(np.array(x) for x in zip(*flown))


def observe(robot, q, r, k):
    """mu' at every time, from configurations and shape velocities alone. The estimate starts at rest, turned by half a radian."""
    N = np.swapaxes(robot.centroidal_momentum(q[:, None], np.eye(6, robot.nv)), 1, 2)  # h = N mu
    Q = np.diag(np.repeat([robot.mass, np.linalg.det(robot.centroidal_inertia(q[0])[3:, 3:]) ** (1 / 3)], 3) ** 2)
    guess = robot.integrate(q[0], np.concatenate([[0.1, 0.0, -0.1, 0.0, 0.5, 0.0], np.zeros(robot.n)]))
    h, found = np.zeros(6), [np.zeros(6)]
    for i in range(len(q) - 1):
        e = robot.difference(guess, np.concatenate([q[i, :7], guess[7:]]))
        g = np.array(se3.left_jacobian_inverse((tuple(-e[:3]), tuple(-e[3:6])))).T @ e[:6]  # Jr(e) = Jl(-e)
        w, U = np.linalg.eigh(np.linalg.solve(N[i], np.linalg.solve(N[i], Q).T))
        v = sum(robot.base_velocity(q[j], r[j], np.linalg.solve(N[j], h)) for j in (i, i + 1)) / 2.0
        x = np.concatenate([v + 2.0 * k * U @ (np.sqrt(w) * (U.T @ g)), np.zeros(robot.n)])
        guess = robot.integrate(robot.integrate(q[i], DT * x), -e)  # H' exp(Ad(H'^-1 H) x) = H exp(x) exp(-e)
        h = h + DT * k**2 * Q @ np.linalg.solve(N[i].T, g)
        found.append(np.linalg.solve(N[i + 1], h))
    return np.array(found)


def main() -> None:
    robot = fc.load("spacearm", gravity=(0, 0, 0))
    q, nu = fly(robot, np.random.default_rng(1))
    t, mu = DT * np.arange(len(q)), robot.locked_velocity(q, nu)
    estimates = {k: observe(robot, q, nu[:, 6:], k) for k in RATES}
    errors = {k: np.linalg.norm(mu - found, axis=1) for k, found in estimates.items()}
    for k, error in errors.items():
        print(f"k = {k:2.0f}/s: error {error[0]:.2f} at first, {error.max():.2f} at most, {error[-1]:.1e} after {SECONDS:.0f} s")
    assert [error[-1] < 10.0 ** -(2 * n) for n, error in enumerate(errors.values(), 1)] == [True] * 3, "no convergence"
    if not figures.available():
        return print(figures.MISSING)
    OUT.mkdir(exist_ok=True)
    with figures.drawing(OUT / "observer.png", 2, 11.5, 4.3) as (_, (left, right)):
        for j, (k, color) in enumerate(zip(RATES, figures.FAMILY, strict=False)):
            left.plot(t, mu[:, 3 + j], color=color, label=f"angular, {'xyz'[j]}")
            left.plot(t, estimates[RATES[1]][:, 3 + j], "--", color=color)
            right.semilogy(t, errors[k], color=color, label=f"k = {k:.0f}/s")
        left.set(xlabel="seconds", ylabel="rad/s", title=f"(a) locked velocity (dashed: observer, k = {RATES[1]:.0f}/s)")
        right.set(xlabel="seconds", ylabel="|μ − μ'|, (m/s; rad/s)", title="(b) error of the observers")
        left.legend()
        right.legend()


if __name__ == "__main__":
    main()
