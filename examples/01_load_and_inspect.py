"""Load a robot and look at it: its tree, its numbers, where its mass sits, and what holds it up."""

from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.apps import figures

OUT = Path("out")
CROUCH = {"hip_pitch": -0.5, "knee": 1.0, "ankle_pitch": -0.5, "shoulder_pitch": -0.3, "elbow": -0.9}


def main() -> None:
    robot = fc.load("humanoid")  # or a URDF: fc.load("robot.urdf", base="left_foot")
    print(robot)
    print(f"q has {robot.nq} entries, nu {robot.nv}: six of the base, {robot.n} of joints")

    q = robot.neutral()
    for k, name in enumerate(robot.joint_names):
        q[7 + k] = CROUCH.get(name.removeprefix("left_").removeprefix("right_"), 0.0)
    com = robot.center_of_mass(q)
    base_wrench, torques = np.split(robot.gravity_torque(q), [6])
    hardest = int(np.argmax(np.abs(torques) / robot.effort_limits))
    print(f"centre of mass at {com.round(3)} m from the pelvis; the base carries {base_wrench[2]:.1f} N")
    print(f"held by the pelvis, the limbs load {robot.joint_names[hardest]} most: {torques[hardest]:.2f} N m")
    assert np.isclose(base_wrench[2], 9.81 * robot.mass)

    # Every body has a mass and a first moment (m, m c) in its own frame: together with its pose, the point where it weighs.
    parameters = robot.inertial_parameters.reshape(-1, 10)
    poses = np.array([robot.frame_pose(q, name) for name in robot.body_names])
    mass = parameters[:, 0]
    points = poses[:, :3, 3] + np.einsum("bij,bj->bi", poses[:, :3, :3], parameters[:, 1:4] / mass[:, None])
    assert np.allclose(mass @ points / mass.sum(), com)

    if figures.available():
        draw(robot, poses[:, :3, 3], points, mass, com)
    else:
        print(figures.MISSING)


def draw(robot, origins, points, mass, com) -> None:
    """The skeleton from the front and from the side, a disc for the mass of every body; and who weighs what."""
    OUT.mkdir(exist_ok=True)
    with figures.drawing(OUT / "inspect.png", 3, 11.0, 5.6, widths=(0.8, 0.8, 1.0)) as (_, (front, side, bars)):
        for ax, across, title in ((front, 1, "(a) from behind"), (side, 0, "(b) from the right")):
            sign = -1.0 if across == 1 else 1.0  # y points to the robot's left
            for i, body in enumerate(robot.model.bodies):
                if body.parent >= 0:
                    pair = origins[[body.parent, i]]
                    ax.plot(sign * pair[:, across], pair[:, 2], color=figures.QUIET, linewidth=2.5, solid_capstyle="round")
            ax.scatter(sign * points[:, across], points[:, 2], s=110 * mass, color=figures.OURS, alpha=0.45, linewidth=0)
            ax.plot(sign * com[across], com[2], "+", color=figures.FAMILY[1], markersize=16, markeredgewidth=3)
            ax.margins(0.2, 0.06)
            ax.set(aspect="equal", xlabel=f"{'xy'[across]}, m", ylabel="z, m" if across == 1 else "")
            ax.set_title(title, loc="left")
        sums = {}  # left and right together
        for name, m in zip(robot.body_names, mass, strict=True):
            part = name.removeprefix("left_").removeprefix("right_").replace("_bracket", "")
            sums[part] = sums.get(part, 0.0) + m
        names = sorted(sums, key=sums.get)
        bars.barh([name.replace("_", " ") for name in names], [sums[name] for name in names], color=figures.OURS, alpha=0.75)
        bars.set_title(f"(c) {mass.sum():.1f} kg, by part, left and right together", loc="left")
        bars.set(xlabel="kg")
    print(f"wrote {OUT / 'inspect.png'}")


if __name__ == "__main__":
    main()
