"""A robot afloat steers with its arm: where a change of shape takes the base, and what a momentum adds (paper 003, Sec. V-3).

The arm goes around a closed loop of shapes, recorded at 60 times. `robot.reconstruct` lays a spline through the samples and
follows the base: without momentum it ends displaced, by the holonomy of the loop, whatever the pace. For small loops that is the
area integral of the curvature, and the difference goes with the cube of the size. With momentum it also drifts and tumbles.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.apps import figures

OUT = Path("out")
SIZES = (0.025, 0.05, 0.1, 0.2, 0.4)
SPIN = (0.0, 0.0, 0.0, 0.0, 0.1, 0.2)
T = np.linspace(0.0, 4.0, 60)


def loop(robot, size):
    """Shoulder, elbow and wrist go around while the arm swings to the side."""
    x = np.pi * T / 2.0
    shapes = np.zeros((len(T), robot.n))
    shapes[:, 1] = 0.6 + size * np.sin(x)
    shapes[:, 3] = -1.2 + size * (1.0 - np.cos(x))
    shapes[:, 0] = size * np.sin(2.0 * x)
    shapes[:, 4] = 0.5 + size * (np.cos(x) - 1.0)
    return shapes


def main() -> None:
    robot = fc.load("spacearm", gravity=(0, 0, 0))
    q0, moved, estimated = robot.neutral(), [], []
    for size in SIZES:
        shapes = loop(robot, size)
        q0[7:] = shapes[0]
        motion = robot.reconstruct(q0, shapes, T)  # without momentum
        moved.append(robot.difference(motion.q[0], motion.q[-1])[:6])
        estimated.append(robot.area_estimate(shapes, T))
        turned, by_area = (np.degrees(np.linalg.norm(x[-1][3:])) for x in (moved, estimated))
        print(f"a loop of {size:5.3f} rad turns the base by {turned:8.4f} degrees; by the area integral {by_area:8.4f}")
    misses = np.linalg.norm(np.array(moved) - estimated, axis=1)
    assert np.all((misses[1:] / misses[:-1] > 5.0) & (misses[1:] / misses[:-1] < 11.0)), "not of third order"

    tumbling = robot.reconstruct(q0, shapes, T, momentum=SPIN)
    assert np.allclose(robot.momentum_map(tumbling.q, tumbling.nu), SPIN, atol=1e-8)
    OUT.mkdir(exist_ok=True)
    tumbling.save(OUT / "tumbling.csv")
    again = fc.Trajectory.load(robot, OUT / "tumbling.csv").resample(np.linspace(0.0, 4.0, 400))
    wrench = robot.inverse_dynamics(again.q, again.nu, again.dnu)[:, :6]
    print(f"wrote {OUT / 'tumbling.csv'}; resampled, the base needs no wrench: {np.abs(wrench).max():.0e} N or N m")
    if not figures.available():
        return print(figures.MISSING)
    still = robot.reconstruct(q0, shapes, T).resample(again.t)
    with figures.drawing(OUT / "reconstruct.png", 2, 11.5, 4.3) as (_, (left, right)):
        for motion, words, color in ((still, "no momentum", figures.OURS), (again, "tumbling", figures.FAMILY[1])):
            turned = robot.difference(motion.q[:1], motion.q)[:, 3:6]
            left.plot(motion.t, np.degrees(turned[:, 1]), color=color, label=f"{words}, about y")
            left.plot(motion.t, np.degrees(turned[:, 2]), "--", color=color, label=f"{words}, about z")
        right.loglog(SIZES, np.linalg.norm(moved, axis=1), "o-", color=figures.OURS, label="displacement of the base")
        right.loglog(SIZES, misses, "s-", color=figures.FAMILY[1], label="area integral: off by")
        right.loglog(SIZES, misses[0] * (np.array(SIZES) / SIZES[0]) ** 3, ":", color=figures.QUIET, label="third order")
        left.set(xlabel="seconds", ylabel="degrees", title="(a) the base while the arm goes around")
        right.set(xlabel="size of the loop, rad", ylabel="m; rad", title="(b) what a closed loop leaves")
        right.set_xticks(SIZES, [f"{size:g}" for size in SIZES])
        right.minorticks_off()
        left.legend()
        right.legend()
    return print(f"wrote {OUT / 'reconstruct.png'}")


if __name__ == "__main__":
    main()
