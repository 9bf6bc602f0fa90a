"""Draw with the hand of a space robot that tumbles: task-space control with a free base (paper 003, Sec. V-1, outlook).

Nothing holds the base. It has a momentum of its own, and every motion of the arm, which is four times as heavy, pushes it. By
(15) the hand moves with V = X mu + J r, where J is the generalized Jacobian, in which the base has given way already.
`robot.task_space_torque` finds the joint torques with which the hand accelerates as it is told, and `fc.track_pose` tells it how
to come to a circle in the world and to stay on it. What the seven joints can do besides is damped. The same torques without
regard to the locked velocity mu leave the hand off the circle.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.apps import figures

OUT, DT, SECONDS, RATE, TURN = Path("out"), 0.002, 4.0, 4.0, 2.0 * np.pi / 2.0
RADIUS, BENT = 0.06, (-1.0, -1.8, 0.1, 1.6, 1.4, -0.6, -1.2)
AWARE, UNAWARE = "with the momentum", "as if there were none"


def circle(start, t):
    """The pose to follow at a time, its twist and acceleration, body-fixed: on a circle, with the orientation of the start."""
    c, s = RADIUS * np.cos(TURN * t), RADIUS * np.sin(TURN * t)
    pose, R, still = start.copy(), start[:3, :3], np.zeros(3)
    pose[:3, 3] += (c - RADIUS, 0.0, s)
    velocity, acceleration = R.T @ (-TURN * s, 0.0, TURN * c), R.T @ (-(TURN**2) * c, 0.0, -(TURN**2) * s)
    return pose, np.concatenate([velocity, still]), np.concatenate([acceleration, still])


def fly(robot, law):
    """The flight from a hand that is 4 cm off and turned: times, configurations, velocities, and where the hand should be."""
    q, nu = robot.neutral(), np.zeros(robot.nv)
    q[7:], nu[:6] = BENT, (0.02, 0.0, -0.01, 0.1, -0.15, 0.1)
    off, _ = robot.split(robot.integrate(robot.neutral(), [0.02, 0.02, 0.03, 0.2, 0.0, 0.1, *np.zeros(robot.n)]))
    start, flown = robot.frame_pose(q, "hand") @ off, []
    for t in np.arange(0.0, SECONDS, DT):
        pose, twist, acceleration = circle(start, t)
        flown.append((t, q, nu, pose))
        a = fc.track_pose(robot, q, nu, "hand", pose, RATE, twist, acceleration)
        known = nu if law == AWARE else robot.split_velocity(q, nu).horizontal
        damper = -3.0 * robot.shape_inertia(q) @ nu[6:]
        q, nu = robot.step(q, nu, robot.task_space_torque(q, known, a, damper, "hand"), DT, "rk4")
    return tuple(np.array(x) for x in zip(*flown, strict=True))


def main() -> None:
    robot = fc.load("spacearm", gravity=(0, 0, 0))
    flights, off = {law: fly(robot, law) for law in (UNAWARE, AWARE)}, {}
    for law, (_, q, nu, target) in flights.items():
        off[law] = np.linalg.norm((robot.frame_pose(q, "hand") - target)[:, :3, 3], axis=1)
        turned, momentum = np.degrees(np.linalg.norm(robot.difference(q[0], q[-1])[3:6])), robot.momentum_map(q, nu)
        print(f"{law}: hand {1e3 * off[law][0]:.0f} mm off at first, {1e3 * off[law][-1]:.1e} mm after {SECONDS:.0f} s;", end=" ")
        print(f"base turned by {turned:.0f} degrees, momentum changed by {np.abs(momentum - momentum[0]).max():.0e}")
    assert off[AWARE][-1] < 1e-4 < off[UNAWARE][-1], "the hand is not on the circle"
    if not figures.available():
        return print(figures.MISSING)
    OUT.mkdir(exist_ok=True)
    with figures.drawing(OUT / "task_space.png", 2, 11.5, 4.6) as (_, (left, right)):
        _, base, _, target = flights[AWARE]
        left.plot(base[:, 0], base[:, 2], color="0.6", label="base, which floats")
        for (law, (t, q, *_)), color in zip(flights.items(), figures.FAMILY, strict=False):
            hand = robot.frame_pose(q, "hand")[:, :3, 3]
            left.plot(hand[:, 0], hand[:, 2], color=color, label=f"hand, {law}")
            right.semilogy(t, off[law], color=color, label=law)
        left.plot(target[:, 0, 3], target[:, 2, 3], "k:", label="circle")
        left.set(xlabel="x, m", ylabel="z, m", title="(a) paths in the world", aspect="equal")
        right.set(xlabel="seconds", ylabel="m", title="(b) distance of the hand from where it should be")
        left.legend(loc="lower right")
        right.legend(loc="upper right")


if __name__ == "__main__":
    main()
