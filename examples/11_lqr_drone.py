"""A quadrotor with an arm, stabilised by LQR: its inputs are four rotors and two joints, not eight generalized forces.

Rotors are thrusters on frames, each with a drag moment that is proportional to its thrust. `linearize` then has a column of B
for every input, and one gain at hover brings the drone back from a throw: elsewhere, tilted, turning, with its arm swung out.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc

OUT = Path("out")
DT, SECONDS = 0.005, 6.0
STRONGEST = 9.0  # newtons of a rotor, which cannot pull


def drone() -> fc.Robot:
    """A plate with four rotors, and an arm of two joints under it that carries a weight."""
    b = fc.Builder("drone")
    b.link("plate", mass=1.0, inertia=(0.015, 0, 0, 0.015, 0, 0.026))
    for k, (x, y) in enumerate(((0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2))):
        b.link(f"rotor{k}")
        b.joint(f"mount{k}", "fixed", "plate", f"rotor{k}", xyz=(x, y, 0.03))
    b.link("upper", mass=0.10, com=(0, 0, -0.10), inertia=(4e-4, 0, 0, 4e-4, 0, 3e-5))
    b.link("lower", mass=0.25, com=(0, 0, -0.15), inertia=(9e-4, 0, 0, 9e-4, 0, 8e-5))
    b.link("hand")
    b.joint("shoulder", "revolute", "plate", "upper", axis=(0, 1, 0), xyz=(0, 0, -0.03))
    b.joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0), xyz=(0, 0, -0.20))
    b.joint("grip", "fixed", "lower", "hand", xyz=(0, 0, -0.22))
    rotors = [fc.thruster(f"rotor{k}", (0, 0, 1), moment_ratio=0.02 * (-1) ** k) for k in range(4)]
    return fc.load(b).with_actuation([*rotors, "shoulder", "elbow"])


def hover(robot):
    """A configuration with its arm bent, the inputs that hold it, and the gain of the LQR there."""
    goal, still = robot.neutral(), np.zeros(robot.nv)
    goal[7:] = 0.6, -1.2
    trim = np.linalg.lstsq(robot.actuation, robot.gravity_torque(goal), rcond=None)[0]
    A, B = robot.linearize(goal, still, trim)
    Q = np.diag(np.repeat([4.0, 4.0, 10.0, 0.5, 0.5, 0.2], [3, 3, 2, 3, 3, 2]))
    R = np.diag([1.0] * 4 + [20.0] * 2)
    K, _ = fc.lqr(A, B, Q, R)
    assert np.allclose(robot.actuation @ trim, robot.gravity_torque(goal)), "these inputs cannot hold the drone"
    print(f"{robot.m} inputs for {robot.nv} degrees of freedom; rotors at hover: {np.round(trim[:4], 2)} N")
    print(f"slowest mode with the controller: {np.linalg.eigvals(A - B @ K).real.max():+.2f} 1/s")
    return goal, trim, K


def main() -> None:
    robot = drone()
    goal, trim, K = hover(robot)
    still = np.zeros(robot.nv)

    thrown = np.zeros(2 * robot.nv)
    thrown[[0, 2, 3, 4, 6, 7]] = -1.5, -0.6, 0.2, -0.5, 0.8, -0.6  # metres, and radians of base and joints
    thrown[robot.nv + 4] = -2.0  # turning, rad/s
    q, nu = robot.state_plus(goal, still, thrown)

    times = np.arange(0.0, SECONDS, DT)
    states, inputs, errors = (np.empty((len(times), size)) for size in (robot.nq, robot.m, 2 * robot.nv))
    for k in range(len(times)):
        states[k], errors[k] = q, robot.state_minus(goal, still, q, nu)
        inputs[k] = trim - K @ errors[k]
        inputs[k, :4] = np.clip(inputs[k, :4], 0.0, STRONGEST)
        q, nu = robot.step(q, nu, inputs[k], DT, "rk4")

    start, end = np.abs(errors[0]).max(), np.abs(errors[-1]).max()
    print(f"largest entry of the error: {start:.1f} at the start, {end:.1e} after {SECONDS:.0f} s")
    assert end < 1e-2, "the controller did not bring the drone back"
    draw(robot, times, states, inputs, errors)


def draw(robot, times, states, inputs, errors) -> None:
    """The flight from the side, and what the controller did."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("the figure needs matplotlib: pip install 'fallingcat[figures]'")
        return
    figure = Figure(figsize=(12.5, 4.6), layout="constrained")
    panels = figure.subplots(1, 3, width_ratios=(1.3, 1, 1))
    frames = ["rotor0", "rotor1", "plate", "upper", "lower", "hand"]
    chosen = np.searchsorted(times, [0.0, 0.3, 0.6, 0.9, 1.2, 1.6, 5.9])
    poses = robot.frame_poses(states[chosen], frames)  # all of them at once: (7, 6, 4, 4)
    panels[0].plot(states[:, 0], states[:, 2], color="#c9ced6", linewidth=1.5, zorder=0)
    for k, H in enumerate(poses):
        x, z = H[:, 0, 3], H[:, 2, 3]
        alpha = 0.25 + 0.75 * k / (len(poses) - 1)
        panels[0].plot(x[:2], z[:2], color="#0b6e8f", linewidth=4.0, alpha=alpha, solid_capstyle="round")
        panels[0].plot(x[3:], z[3:], color="#c2452d", linewidth=2.5, alpha=alpha, marker="o", markersize=3)
        panels[0].plot(x[-1:], z[-1:], color="#c2452d", marker="o", markersize=8, alpha=alpha)
    panels[0].set_aspect("equal")
    panels[0].set_title("the flight from the side, m", loc="left", fontsize=11)
    for values, name, color in (
        (np.linalg.norm(errors[:, :3], axis=1), "translation, m", "#0b6e8f"),
        (np.linalg.norm(errors[:, 3:6], axis=1), "rotation, rad", "#6a4c93"),
        (np.abs(errors[:, 6:8]).max(axis=1), "joints, rad", "#c2452d"),
    ):
        panels[1].plot(times, values, color=color, linewidth=2.0, label=name)
    panels[1].set_title("distance from hover", loc="left", fontsize=11)
    for k, color in enumerate(("#3a7d44", "#0b6e8f", "#6a4c93", "#c2452d")):
        panels[2].plot(times, inputs[:, k], color=color, linewidth=1.8, label=f"rotor {k}")
    panels[2].set_title("thrust of the rotors, N", loc="left", fontsize=11)
    for ax in panels[1:]:
        ax.set_xlabel("seconds")
        ax.set_xlim(0.0, 4.0)
        ax.legend(frameon=False)
    for ax in panels:
        ax.grid(color="#e3e5e8")
        ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle("A quadrotor with an arm comes back to hover: one LQR gain, six inputs", fontweight="bold", x=0.01, ha="left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "drone.png", dpi=150)
    print(f"wrote {OUT / 'drone.png'}")


if __name__ == "__main__":
    main()
