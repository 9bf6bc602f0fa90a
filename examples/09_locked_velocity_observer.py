"""How fast does a space robot tumble? A locked-velocity observer from pose, shape and shape velocity (paper 003, Sec. V-2).

Measured are the pose of the base, the shape and its velocity, at 500 Hz; no velocity of the base. The momentum about the centre
of mass is h = N(q) mu and constant, and what the joints do to the base, A r, is known. So the motion of the pose tells the
momentum, and that the locked velocity mu. `fc.LockedVelocityObserver` has the equations, and says why it converges.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.apps import figures

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
    observer = fc.LockedVelocityObserver(robot, q[0], r[0], rate=k)
    observer.pose = robot.integrate(q[0], np.concatenate([[0.1, 0.0, -0.1, 0.0, 0.5, 0.0], np.zeros(robot.n)]))
    return np.array([observer.mu, *(observer.update(*measured, DT) for measured in zip(q[1:], r[1:], strict=True))])


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
