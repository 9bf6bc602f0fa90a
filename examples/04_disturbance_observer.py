"""A push on a humanoid, felt without skin: a momentum observer tells when it comes, where it acts and how strong it is.

The robot is in free flight, its joints held by their motors. It knows its motion, with noise, and its own torques. The momentum
p = M nu obeys dp/dt = C^T nu - g + tau + J^T w (paper 001, from M_rate = C + C^T); what the known terms do not explain is J^T w.
The observer r = K (p - integral of (C^T nu - g + tau + r)) follows it like a filter of first order, without accelerations.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.apps import figures

OUT = Path("out")
DT, SECONDS, GAIN, NOISE, THRESHOLD = 0.001, 1.0, 200.0, 5e-5, 6.0
PUSHED, FORCE, START, END = "left_palm", np.array([30.0, -20.0, 10.0]), 0.3, 0.7  # newtons, along the world's axes
SUSPECTS = ("pelvis", "torso", "head", "left_upper_arm", "left_forearm", "left_palm", "right_palm", "left_sole")


def fly(robot, rng):
    """The flight: times, configurations, and what the observer makes of them."""
    q, nu = robot.neutral(), np.zeros(robot.nv)
    inertia = 1.0 / np.diag(robot.inverse_mass_matrix(q))[6:]  # what each motor has to move
    times, Q, R, explained = np.arange(0.0, SECONDS, DT), [], [], np.zeros(robot.nv)  # at rest
    for t in times:
        measured = nu + NOISE * rng.normal(size=robot.nv)
        tau = np.concatenate([np.zeros(6), -inertia * (2500.0 * (q - robot.neutral())[7:] + 100.0 * measured[6:])])
        r = GAIN * (robot.mass_matrix(q) @ measured - explained)
        explained = explained + DT * (robot.coriolis_transpose_product(q, measured, measured) - robot.gravity_torque(q) + tau + r)
        Q.append(q)
        R.append(r)
        push = robot.frame_pose(q, PUSHED)[:3, :3].T @ FORCE if START <= t < END else np.zeros(3)
        q, nu = robot.step(q, nu, tau, DT, wrenches={PUSHED: np.concatenate([push, np.zeros(3)])})
    return times, np.array(Q), np.array(R)


def explain(robot, Q, R, link):
    """The wrench on a link that explains r best, as a force along the world's axes, and the part of r that it leaves."""
    J = robot.frame_jacobian(Q, link)
    w = np.linalg.pinv(np.swapaxes(J, 1, 2)) @ R[:, :, None]
    rest = R - (np.swapaxes(J, 1, 2) @ w)[:, :, 0]
    return (robot.frame_pose(Q, link)[:, :3, :3] @ w[:, :3])[:, :, 0], np.linalg.norm(rest, axis=1)


def main() -> None:
    robot = fc.load("humanoid")
    times, Q, R = fly(robot, np.random.default_rng(4))
    size = np.linalg.norm(R[:, :3], axis=1)
    alarm = times[size > THRESHOLD][0]
    late = (times > END - 0.2) & (times < END)  # when the filter has settled
    found = {link: explain(robot, Q, R, link) for link in SUSPECTS}
    left = {link: rest[late].mean() for link, (_, rest) in found.items()}
    blamed = min(left, key=left.get)
    force = found[blamed][0][late].mean(axis=0)
    print(f"pushed at {START:.3f} s on {PUSHED} with {FORCE} N")
    print(f"felt   at {alarm:.3f} s on {blamed} with {force.round(1)} N")
    assert blamed == PUSHED
    assert 0.0 < alarm - START < 0.02
    assert np.linalg.norm(force - FORCE) < 0.03 * np.linalg.norm(FORCE)
    draw(times, found[blamed][0], size, left)


def draw(times, force, size, left) -> None:
    """The force, the alarm, and the link."""
    if not figures.available():
        print(figures.MISSING)
        return
    OUT.mkdir(exist_ok=True)
    with figures.drawing(OUT / "push.png", 3, 13.0, 4.2, widths=(1.3, 1.0, 1.0)) as (_, (forces, alarm, links)):
        for k, color in enumerate(figures.FAMILY[:3]):
            forces.plot(times, force[:, k], color=color, label=f"along {'xyz'[k]}")
            forces.plot(times, FORCE[k] * ((times >= START) & (times < END)), "--", color=color, alpha=0.6)
        forces.legend(loc="upper right")
        alarm.plot(times, size, color=figures.OURS)
        alarm.axhline(THRESHOLD, color=figures.QUIET, linestyle="--")
        names = sorted(left, key=left.get, reverse=True)
        links.barh(names, [left[n] for n in names], color=[figures.PAPER] * (len(names) - 1) + [figures.FAMILY[1]])
        titles = "(a) force on the palm, N (dashed: the push)", "(b) unexplained force, N", "(c) left by a wrench on this link"
        for ax, title, x in zip((forces, alarm, links), titles, ("seconds", "seconds", "residual"), strict=True):
            ax.set_title(title, loc="left")
            ax.set_xlabel(x)
    print(f"wrote {OUT / 'push.png'}")


if __name__ == "__main__":
    main()
