"""How fast can a humanoid rise on one leg? Inverse dynamics of 10,000 states in one call, against the limits of its motors.

The left foot is the base and stands on the ground. The same smooth rise from a squat is tried at a hundred speeds, each at a
hundred instants: leading axes are batch axes, so all of it is one array of states and one call.
"""

import timeit
from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.apps import figures

OUT = Path("out")
SQUAT = {"hip_pitch": -1.1, "knee": 1.9, "ankle_pitch": -0.8, "waist_pitch": 0.2}  # both legs, the right one in the air
LEAN = "left_ankle_roll"  # brings the body over the foot


def main() -> None:
    robot = fc.load("humanoid", base="left_foot", floating=False)
    squat = np.array([SQUAT.get(name.removeprefix("left_").removeprefix("right_"), 0.0) for name in robot.joint_names])
    up = np.zeros(robot.n)
    squat[robot.joint_names.index(LEAN)], up[robot.joint_names.index(LEAN)] = 0.19, 0.12

    x = np.linspace(0.0, 1.0, 100)[:, None]  # the way along the path, which starts and ends at rest
    position, slope, bend = 10 * x**3 - 15 * x**4 + 6 * x**5, 30 * x**2 * (1 - x) ** 2, 60 * x * (1 - x) * (1 - 2 * x)
    seconds = np.linspace(0.4, 1.6, 100)
    T = seconds[:, None, None]
    q = np.broadcast_to(squat + (up - squat) * position, (100, 100, robot.n))
    nu, dnu = (up - squat) * slope / T, (up - squat) * bend / T**2  # (speeds, instants, joints)

    tau = robot.inverse_dynamics(q, nu, dnu)  # the first call compiles
    took = min(timeit.repeat(lambda: robot.inverse_dynamics(q, nu, dnu), number=1, repeat=5)) / 10_000
    print(f"inverse dynamics of 10,000 states of {robot.n} joints: {1e7 * took:.1f} ms, {1e6 * took:.2f} µs each")

    load = np.abs(tau) / robot.effort_limits
    fastest = int(np.flatnonzero(load.max(axis=(1, 2)) <= 1.0)[0])
    joint = int(load[fastest].max(axis=0).argmax())
    print(f"the motors are strong enough to rise in {seconds[fastest]:.2f} s; {robot.joint_names[joint]} sets the limit")
    k = (fastest, 40)  # one of the states, by itself: the same numbers to the last bit
    assert np.array_equal(robot.inverse_dynamics(q[k], nu[k], dnu[k]), tau[k])
    if figures.available():
        draw(robot, x[:, 0], seconds, fastest, tau / robot.effort_limits)
    else:
        print(figures.MISSING)


def draw(robot, x, seconds, fastest, share) -> None:
    """All states at once, the joints one by one, and the torques of the fastest rise."""
    OUT.mkdir(exist_ok=True)
    worst = np.abs(share).max(axis=1)
    with figures.drawing(OUT / "batch.png", 3, 13.0, 4.2, widths=(1.2, 1, 1)) as (figure, (states, joints, rise)):
        shades = states.pcolormesh(x, seconds, np.abs(share).max(axis=2), cmap="GnBu", vmin=0, vmax=2, rasterized=True)
        states.contour(x, seconds, np.abs(share).max(axis=2), levels=[1.0], colors=figures.FAMILY[1], linewidths=2)
        figure.colorbar(shades, ax=states)
        states.set(xlabel="way along the path", ylabel="duration, s")
        for j, color in zip(np.argsort(-worst[fastest])[:5], (*figures.FAMILY, figures.PEER), strict=True):
            joints.plot(seconds, worst[:, j], color=color, linewidth=2, label=robot.joint_names[j].replace("_", " "))
            rise.plot(x * seconds[fastest], share[fastest, :, j], color=color, linewidth=2)
        joints.axhline(1.0, color=figures.QUIET, linestyle="--")
        joints.set(xlabel="duration, s", ylim=(0, 2))
        joints.legend()
        rise.set(xlabel="seconds", ylim=(-1.05, 1.05))
        ends = "10,000 states: torque / limit", "worst instant of each joint", f"the rise in {seconds[fastest]:.2f} s"
        for ax, letter, title in zip((states, joints, rise), "abc", ends, strict=True):
            ax.set_title(f"({letter}) {title}", loc="left")
    print(f"wrote {OUT / 'batch.png'}")


if __name__ == "__main__":
    main()
