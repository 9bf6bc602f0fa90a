"""A humanoid on two flat feet, pushed from behind: one LQR gain on the constraint manifold brings it back.

Twelve rows hold the feet. `linearize` of the constraints works in the 24 coordinates and 24 velocities that they leave, so the
Riccati equation has a solution, and a gain for all 30 motors. The feet must not pull at the ground; the smallest force says so.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc

OUT = Path("out")
DT, SECONDS = 0.002, 4.0
PUSH = 150.0  # newtons on the torso, for a tenth of a second
STIFF = 20.0  # rad/s: how fast the controller is to be


def standing(robot):
    """A posture with bent knees, and the feet held where they are in it."""
    q = robot.neutral()
    for side in ("left", "right"):
        for joint, angle in (("hip_pitch", -0.3), ("knee", 0.6), ("ankle_pitch", -0.3), ("elbow", -0.5)):
            q[7 + robot.joint_names.index(f"{side}_{joint}")] = angle
    feet = robot.constraints(fc.surface("left_sole"), fc.surface("right_sole"), kp=400.0, kd=40.0, home=q)
    return q, feet


def lqr(robot, feet, q):
    """The torques that hold the posture, and the gain from a perturbation of the state to torques."""
    still = np.zeros(robot.nv)
    hold = feet.inverse_dynamics(q, still, still).tau
    A, B, basis = feet.linearize(q, still, hold)
    # errors count by the inertia that they move, torques by what they accelerate: the light wrists get small gains
    M = robot.mass_matrix(q)
    Q = basis.T @ np.block([[STIFF**4 * M, 0.0 * M], [0.0 * M, STIFF**2 * M]]) @ basis
    R = np.linalg.inv(M[6:, 6:])
    K, _ = fc.lqr(A, B, Q, R)
    open_loop, closed = (np.linalg.eigvals(M).real.max() for M in (A, A - B @ K))
    print(
        f"{len(A)} states on the manifold of {2 * robot.nv}; fastest growth {open_loop:+.2f} 1/s, with the gain {closed:+.2f} 1/s"
    )
    return hold, K @ np.linalg.pinv(basis)


def main() -> None:
    robot = fc.load("humanoid")
    goal, feet = standing(robot)
    hold, K = lqr(robot, feet, goal)
    still = np.zeros(robot.nv)
    q, nu = goal, still
    times = np.arange(0.0, SECONDS, DT)
    coms, forces, errors = np.empty((len(times), 3)), np.empty((len(times), feet.m)), np.empty(len(times))
    shots = {}
    for k, t in enumerate(times):
        z = robot.state_minus(goal, still, q, nu)
        tau = hold.copy()
        tau[6:] -= K @ z
        push = {"torso": np.array([PUSH if 0.2 <= t < 0.3 else 0.0, 0, 0, 0, 0, 0])}
        dnu, forces[k] = feet.forward_dynamics(q, nu, tau, wrenches=push)
        coms[k], errors[k] = robot.center_of_mass(q), np.abs(z[: robot.nv]).max()
        if round(t / DT) in (0, 200, 350, len(times) - 1):
            shots[t] = q
        nu = nu + DT * dnu
        q = robot.integrate(q, DT * nu)
    vertical = forces[:, [2, 8]]
    print(f"pushed with {PUSH:.0f} N: {errors.max():.2f} rad off at most, {errors[-1]:.0e} rad after {SECONDS:.0f} s")
    print(f"least vertical force on a foot: {vertical.min():.0f} N; the weight is {robot.mass * 9.81:.0f} N")
    assert errors[-1] < 1e-2, "it did not come back"
    assert vertical.min() > 0.0, "a foot would have lifted"
    draw(robot, times, coms, vertical, errors, shots)


def draw(robot, times, coms, vertical, errors, shots) -> None:
    """The humanoid from the side, and how it swayed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("the figure needs matplotlib: pip install 'fallingcat[figures]'")
        return
    figure = Figure(figsize=(12.5, 4.6), layout="constrained")
    panels = figure.subplots(1, 3, width_ratios=(1, 1.1, 1.1))
    chains = [
        ["head", "torso", "pelvis"], *([f"{s}_hand", f"{s}_forearm", f"{s}_upper_arm", "torso"] for s in ("left", "right")),
        *([f"{s}_sole", f"{s}_ankle", f"{s}_shank", f"{s}_thigh", "pelvis"] for s in ("left", "right")),
    ]  # fmt: skip
    for k, (t, q) in enumerate(shots.items()):
        for chain in chains:
            p = robot.frame_poses(q, chain)[:, :3, 3]
            panels[0].plot(
                p[:, 0] + 0.45 * k, p[:, 2], color="#0b6e8f" if k != 1 else "#c2452d", linewidth=3, solid_capstyle="round"
            )
        panels[0].text(0.45 * k, -1.0, f"{t:.1f} s", ha="center", fontsize=9)
    panels[0].set_aspect("equal")
    panels[0].axis("off")
    panels[0].set_title("from the side", loc="left", fontsize=11)
    panels[1].plot(times, 1e3 * (coms[:, 0] - coms[0, 0]), color="#0b6e8f", linewidth=2, label="forwards")
    panels[1].plot(times, 1e3 * (coms[:, 2] - coms[0, 2]), color="#6a4c93", linewidth=2, label="upwards")
    panels[1].axvspan(0.2, 0.3, color="#f3d9d3", label="push")
    panels[1].set_title("centre of mass, mm", loc="left", fontsize=11)
    panels[2].plot(times, vertical[:, 0], color="#3a7d44", linewidth=2, label="left foot")
    panels[2].plot(times, vertical[:, 1], color="#c2452d", linewidth=2, linestyle="--", label="right foot")
    panels[2].set_title("vertical force of the ground, N", loc="left", fontsize=11)
    for ax in panels[1:]:
        ax.set_xlabel("seconds")
        ax.legend(frameon=False)
        ax.grid(color="#e3e5e8")
        ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle("A standing humanoid is pushed: LQR on the constraint manifold", fontweight="bold", x=0.01, ha="left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "standing.png", dpi=150)
    print(f"wrote {OUT / 'standing.png'}")


if __name__ == "__main__":
    main()
