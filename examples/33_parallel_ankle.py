"""An ankle driven by two parallel rods, as humanoids have it: two closed loops, and how motor torques become ankle torques.

Two cranks on the shank push two rods that are hung on the foot by ball joints. Closed by `fc.distance`, the loops leave the two
degrees of freedom of the ankle. `project` finds the cranks for a thousand postures of the foot at once; the transmission from
motors to pitch and roll comes from the null space of the loops, and its singular values show where the mechanism is weak.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc

OUT = Path("out")
ROD = 0.22  # metres
SIDES = {"left": 0.04, "right": -0.04}  # where the rods are, in y


def ankle() -> fc.Robot:
    """A shank that is held, a foot on a universal joint, two cranks."""
    b = fc.Builder("ankle")
    b.link("shank", mass=3.0, inertia=(0.03, 0, 0, 0.03, 0, 0.005))
    b.link("cross", mass=0.1, inertia=(1e-4, 0, 0, 1e-4, 0, 1e-4))
    b.link("foot", mass=1.2, com=(0.04, 0, -0.05), inertia=(2e-3, 0, 0, 6e-3, 0, 6e-3))
    b.joint("pitch", "revolute", "shank", "cross", axis=(0, 1, 0), lower=-0.6, upper=0.6)
    b.joint("roll", "revolute", "cross", "foot", axis=(1, 0, 0), lower=-0.4, upper=0.4)
    for side, y in SIDES.items():
        b.link(f"{side}_crank", mass=0.15, com=(-0.02, 0, 0), inertia=(2e-5, 0, 0, 4e-5, 0, 4e-5))
        b.joint(f"{side}_motor", "revolute", "shank", f"{side}_crank", axis=(0, 1, 0), xyz=(0, y, ROD))
        b.link(f"{side}_pin")
        b.joint(f"{side}_arm", "fixed", f"{side}_crank", f"{side}_pin", xyz=(-0.05, 0, 0))
        b.link(f"{side}_ball")
        b.joint(f"{side}_heel", "fixed", "foot", f"{side}_ball", xyz=(-0.05, y, 0))
        b.loop(fc.distance(f"{side}_pin", f"{side}_ball", ROD))
    return fc.load(b, floating=False)


def transmission(robot, loops, q):
    """The matrix from motor speeds to the rates of pitch and roll, (..., 2, 2): J nu = 0 solved for the ankle."""
    at = [robot.joint_names.index(name) for name in ("pitch", "roll", "left_motor", "right_motor")]
    J = loops.jacobian(q)
    return -np.linalg.solve(J[..., at[:2]], J[..., at[2:]])


def main() -> None:
    robot = ankle()
    loops = robot.constraints()
    names = robot.joint_names
    pitch, roll = np.meshgrid(np.linspace(-0.5, 0.5, 41), np.linspace(-0.35, 0.35, 29))
    # inverse kinematics of all postures at once: hold pitch and roll, and let the loops find the cranks
    posed = robot.constraints(fc.joint("pitch"), fc.joint("roll"))
    q = posed.with_anchors(np.stack([pitch, roll], -1)).project(np.zeros((*pitch.shape, robot.nq))).q
    print(f"{q[..., 0].size} postures, loops closed to {np.abs(loops.violation(q)).max():.0e} m")
    T = transmission(robot, loops, q)
    weakest = np.linalg.svd(T, compute_uv=False)[..., -1]
    # the least motor torques that hold the foot with a weight on its toes
    robot_on_motors = robot.with_actuation(["left_motor", "right_motor"])
    held = robot_on_motors.constraints()
    zero = np.zeros(robot.nv)
    tau = held.inverse_dynamics(q, zero, zero).tau
    motors = tau[..., [names.index("left_motor"), names.index("right_motor")]]
    dnu = held.forward_dynamics(q, zero, tau).dnu
    print(f"motors of at most {np.abs(motors).max():.2f} Nm hold the foot; it stays within {np.abs(dnu).max():.0e} rad/s^2")
    assert np.abs(tau[..., [names.index("pitch"), names.index("roll")]]).max() < 1e-8, "the ankle has no motors of its own"
    assert np.abs(dnu).max() < 1e-6
    A = held.linearize(q[14, 20], zero, tau[14, 20]).A
    print(f"linearized on the loops: {A.shape[0]} states of {2 * robot.nv}, fastest {np.abs(np.linalg.eigvals(A)).max():.1f} 1/s")
    draw(robot, pitch, roll, q, motors, weakest)


def draw(robot, pitch, roll, q, motors, weakest) -> None:
    """The mechanism from the side, motor torques and the weakest direction over all postures."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("the figure needs matplotlib: pip install 'fallingcat[figures]'")
        return
    figure = Figure(figsize=(12.5, 4.2), layout="constrained")
    panels = figure.subplots(1, 3)
    for column, color in ((4, "#c2452d"), (20, "#0b6e8f"), (36, "#3a7d44")):
        H = robot.frame_poses(q[14, column], ["left_crank", "left_pin", "left_ball", "foot"])
        p, toe = H[:, :3, 3], (H[3] @ [0.15, 0, -0.06, 1])[:3]
        heel = (H[3] @ [-0.08, 0, -0.06, 1])[:3]
        for a, b in ((p[0], p[1]), (p[1], p[2]), (p[2], p[3]), (p[3], toe), (heel, toe), (heel, p[3])):
            panels[0].plot([a[0], b[0]], [a[2], b[2]], color=color, linewidth=2.5, marker="o", markersize=4)
    panels[0].plot([0, 0], [0, ROD + 0.03], color="#5b6470", linewidth=6, zorder=0, solid_capstyle="round")
    panels[0].set_aspect("equal")
    panels[0].set_title("from the side, m", loc="left", fontsize=11)
    for ax, values, title in ((panels[1], np.abs(motors).max(-1), "largest motor torque to hold the foot, Nm"),
                              (panels[2], weakest, "least speed of the foot per speed of the motors")):  # fmt: skip
        mesh = ax.contourf(np.degrees(pitch), np.degrees(roll), values, 20, cmap="viridis")
        figure.colorbar(mesh, ax=ax)
        ax.set_xlabel("pitch, degrees")
        ax.set_ylabel("roll, degrees")
        ax.set_title(title, loc="left", fontsize=11)
    panels[0].spines[["top", "right"]].set_visible(False)
    figure.suptitle("A parallel ankle: two loops, all postures at once", fontweight="bold", x=0.01, ha="left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "ankle.png", dpi=150)
    print(f"wrote {OUT / 'ankle.png'}")


if __name__ == "__main__":
    main()
