"""LQR on the tangent space: a flying manipulator comes back from any rotation, to an attitude where Euler angles are singular.

The robot is an arm with seven joints on a free base with thrusters, under gravity. Its goal is to hover with the base pitched
up by 90 degrees, in gimbal lock. Gravity is compensated where the robot is; the gain comes from one linearization at the goal.
The error that it multiplies is the tangent from the goal to the state, so nothing in the loop knows a singular orientation.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc

OUT = Path("out")
DT, SECONDS = 0.005, 8.0
ROTATIONS = (30.0, 90.0, 135.0, 170.0)


def gain(robot, q):
    """K of the continuous-time LQR at rest. `linearize` has the joint torques in B; thrusters add the other columns of M^-1."""
    nv, still = robot.nv, np.zeros(robot.nv)
    A = np.array(robot.linearize(q, still, robot.gravity_torque(q)).A)
    M, Minv = robot.mass_matrix(q), robot.inverse_mass_matrix(q)
    B = np.concatenate([np.zeros((nv, nv)), Minv])
    print(f"fastest mode at the goal, alone:           {np.linalg.eigvals(A).real.max():+6.2f} 1/s")
    A[nv:, :nv] += Minv @ robot.gravity_torque_derivatives(q)  # gravity is compensated where the robot is
    # Costs in joules, so that metres, radians, light and heavy parts compare: a base of 3 rad/s, joints of 25 rad/s.
    w = np.diag(np.repeat([3.0, 25.0], [6, robot.n]))
    zero = np.zeros((nv, nv))
    Q = np.block([[w @ w @ M @ w @ w, zero], [zero, 0.5 * w @ M @ w]])
    K, _ = fc.lqr(A, B, Q, (Minv + Minv.T) / 2)
    print(f"slowest mode at the goal, with controller: {np.linalg.eigvals(A - B @ K).real.max():+6.2f} 1/s")
    return K


def main() -> None:
    robot = fc.load("spacearm")
    rng = np.random.default_rng(3)

    goal = robot.neutral()
    goal[3:7] = 0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)  # pitch of 90 degrees
    goal[7:] = 0.0, 0.8, 0.0, -1.6, 0.0, 0.8, 0.0
    still = np.zeros(robot.nv)
    K = gain(robot, goal)

    # All flights at once: one batch of states, turned away from the goal about random axes, somewhere else, arm bent.
    axes = rng.normal(size=(len(ROTATIONS), 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    z = np.zeros((len(ROTATIONS), 2 * robot.nv))
    z[:, 3:6] = np.radians(ROTATIONS)[:, None] * axes
    z[:, 6 : robot.nv] = rng.uniform(-0.3, 0.3, size=(len(ROTATIONS), robot.n))
    q, nu = robot.state_plus(goal, still, z)
    q[:, :3] = rng.uniform(-0.5, 0.5, size=(len(ROTATIONS), 3))

    times = np.arange(0.0, SECONDS, DT)
    errors = np.empty((len(times), *z.shape))
    for k in range(len(times)):
        errors[k] = robot.state_minus(goal, still, q, nu)
        tau = robot.gravity_torque(q) - errors[k] @ K.T
        q, nu = robot.step(q, nu, tau, DT, "rk4")

    angle = np.degrees(np.linalg.norm(errors[..., 3:6], axis=-1))
    final = np.abs(errors[-1]).max(axis=-1)
    for start, end in zip(ROTATIONS, final, strict=True):
        print(f"from {start:5.0f} degrees: largest entry of the error after {SECONDS:.0f} s is {end:.1e}")
    assert final.max() < 1e-2, "the controller did not bring the robot back"
    draw(times, angle, errors, robot)


def draw(times, angle, errors, robot) -> None:
    """What the controller did."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("the figure needs matplotlib: pip install 'fallingcat[figures]'")
        return
    colors = ("#3a7d44", "#0b6e8f", "#6a4c93", "#c2452d")
    figure = Figure(figsize=(12.5, 4.2), layout="constrained")
    panels = figure.subplots(1, 3)
    joints = np.degrees(np.abs(errors[..., 6 : robot.nv]).max(axis=-1))
    parts = (
        (angle, "rotation of the base from its goal, degrees"),
        (np.linalg.norm(errors[..., :3], axis=-1), "translation $z_H$ of the base, m"),
        (joints, "joint farthest from its goal, degrees"),
    )
    for ax, (values, title) in zip(panels, parts, strict=True):
        for k, color in enumerate(colors):
            ax.plot(times, values[:, k], color=color, linewidth=2.0, label=f"from {ROTATIONS[k]:.0f}°")
        ax.set_title(title, loc="left", fontsize=11)
        ax.set_xlabel("seconds")
        ax.set_xlim(0.0, 5.0)
        ax.set_ylim(bottom=0.0)
        ax.grid(color="#e3e5e8")
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False)
    figure.suptitle("One LQR gain on the tangent space, goal in gimbal lock (pitch 90°)", fontweight="bold", x=0.01, ha="left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "lqr.png", dpi=150)
    print(f"wrote {OUT / 'lqr.png'}")


if __name__ == "__main__":
    main()
