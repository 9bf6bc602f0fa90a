"""A cart swings its pole up and catches it, by `fc.ilqr`: one motor of limited force for two degrees of freedom.

The controls of least cost come with a feedback along the motion. After a push the pole still gets up with it, and falls without.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.apps import figures

OUT, DT, STRONGEST = Path("out"), 0.03, 8.0
DOWN, UP, STILL, PUSH = np.zeros(2), np.array([0.0, np.pi]), np.zeros(2), np.array([0.0, 0.06, 0.1, -0.2])


def cart() -> fc.Robot:
    b = fc.Builder("cart and pole")
    b.link("rail")
    b.link("cart", mass=1.0)
    b.link("pole", mass=0.3, com=(0, 0, -0.4), inertia=(0.016, 0, 0, 0.016, 0, 1e-4))
    b.joint("slide", "prismatic", "rail", "cart", axis=(1, 0, 0))
    b.joint("swing", "continuous", "cart", "pole", axis=(0, 1, 0))
    return fc.load(b, floating=False).with_actuation(["slide"])


def pushed(robot, best, gains):
    """The angles of the pole after a push, with these gains."""
    (q, nu), angles = robot.state_plus(DOWN, STILL, PUSH), [PUSH[1]]
    for u, K, x, v in zip(best.controls, gains, best.trajectory.q, best.trajectory.nu, strict=False):
        q, nu = robot.step(q, nu, np.clip(u + K @ robot.state_minus(x, v, q, nu), -STRONGEST, STRONGEST), DT, "rk4")
        angles.append(q[1])
    return np.degrees(angles)


def main() -> None:
    robot, none, limits = cart(), np.zeros((100, 1)), (-STRONGEST, STRONGEST)
    weights = {"Q": np.diag([0.1, 0.1, 0.01, 0.01]), "R": [[0.01]], "Q_final": np.diag([100.0, 100.0, 10.0, 10.0])}
    best = fc.ilqr(robot, DOWN, STILL, none, DT, (UP, STILL), **weights, method="rk4", limits=limits, tolerance=1e-4)
    print(f"{best.reason}; {best.iterations} iterations, cost {best.costs[0]:.0f} -> {best.cost:.1f}")
    flights = {"pushed, with gains": pushed(robot, best, best.gains), "pushed, without": pushed(robot, best, 0.0 * best.gains)}
    held, alone = (abs(angles[-1] - 180.0) for angles in flights.values())
    print(f"pushed at the start, the pole ends {alone:.0f} degrees from upright by the controls alone, {held:.1f} with the gains")
    assert held < 5.0 < alone, "the feedback did not bring the pole up"
    if not figures.available():
        return print(figures.MISSING)
    flights["of least cost"] = np.degrees(best.trajectory.q[:, 1])
    OUT.mkdir(exist_ok=True)
    with figures.drawing(OUT / "swing_up.png", 2, 11.5, 4.2) as (_, (left, right)):
        for (name, angles), color in zip(flights.items(), (*figures.FAMILY[:2], "black"), strict=True):
            left.plot(best.trajectory.t, angles, color=color, label=name, linestyle=":" if color == "black" else "-")
        left.set(xlabel="seconds", ylabel="degrees", title="(a) angle of the pole")
        left.legend(loc="upper left")
        right.step(best.trajectory.t[:-1], best.controls[:, 0], where="post", color=figures.OURS)
        right.set(xlabel="seconds", ylabel="N", title="(b) force on the cart, 8 N at most")


if __name__ == "__main__":
    main()
