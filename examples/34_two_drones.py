"""Two quadrotors carry a rod between them: three floating bodies held together by two ball joints, flown by one LQR.

The rod is the base; the drones are free in the tree (a "floating" joint has six degrees of freedom), and `fc.point_to_point`
hangs the rod's ends under them. Of 18 degrees of freedom 12 are left, and eight rotors drive them.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc

OUT = Path("out")
LENGTH, HANG = 1.6, 0.15  # of the rod, and of the mounts under the drones, metres
DT, SECONDS = 0.004, 8.0
ARMS = ((0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2))


def team() -> fc.Robot:
    """A rod and two quadrotors that nothing in the tree holds together."""
    b = fc.Builder("team")
    # its weight hangs a little below its ends, or nothing would stop it from rolling about itself
    b.link("rod", mass=0.8, com=(0, 0, -0.06), inertia=(2e-3, 0, 0, 0.8 * LENGTH**2 / 12, 0, 0.8 * LENGTH**2 / 12))
    rotors = []
    for name, x in (("left", -LENGTH / 2), ("right", LENGTH / 2)):
        b.link(name, mass=1.0, inertia=(0.015, 0, 0, 0.015, 0, 0.026))
        b.joint(f"{name}_free", "floating", "rod", name)
        for k, (rx, ry) in enumerate(ARMS):
            b.link(f"{name}_rotor{k}")
            b.joint(f"{name}_mount{k}", "fixed", name, f"{name}_rotor{k}", xyz=(rx, ry, 0.03))
            rotors.append(fc.thruster(f"{name}_rotor{k}", (0, 0, 1), moment_ratio=0.02 * (-1) ** k))
        b.loop(fc.point_to_point("rod", name, (x, 0, 0), (0, 0, -HANG)))
    return fc.load(b).with_actuation(rotors)


def main() -> None:
    robot = team()
    links = robot.constraints(kp=400.0, kd=40.0)
    goal = robot.neutral()
    goal[2] = 1.0
    goal[7:10], goal[14:17] = (-LENGTH / 2, 0, HANG), (LENGTH / 2, 0, HANG)
    still = np.zeros(robot.nv)
    assert np.abs(links.violation(goal)).max() < 1e-12
    # rotors that hold everything, with the forces in the ball joints
    S, J = robot.actuation_matrix(goal), links.jacobian(goal)
    held = np.linalg.lstsq(np.hstack([S, J.T]), robot.gravity_torque(goal), rcond=None)[0][: robot.m]
    A, B, basis = links.linearize(goal, still, S @ held)
    print(f"{robot.nv} degrees of freedom, {links.rank(goal)} rows: {len(A) // 2} are left, driven by {robot.m} rotors")
    print(f"each rotor carries {held.mean():.2f} N")
    # thrust turns with the drones: the inputs have their part in A, found by the derivative of S u along the tangent
    A = A + np.vstack([np.zeros((len(A) // 2, len(A))), thrust_in_A(robot, links, goal, held, basis)])
    K = lqr(A, B, basis, robot)
    q, nu = robot.state_plus(goal, still, thrown(robot, links, goal, basis))
    q, nu = links.project(q, nu)
    times = np.arange(0.0, SECONDS, DT)
    states, thrusts, gaps = np.empty((len(times), robot.nq)), np.empty((len(times), robot.m)), np.empty(len(times))
    errors = np.empty(len(times))
    for k in range(len(times)):
        z = robot.state_minus(goal, still, q, nu)
        thrusts[k] = np.clip(held - K @ z, 0.0, 9.0)
        states[k], gaps[k], errors[k] = q, np.abs(links.violation(q)).max(), np.abs(z).max()
        middle = nu + DT / 2 * links.forward_dynamics(q, nu, robot.actuation_matrix(q) @ thrusts[k]).dnu
        half = robot.integrate(q, DT / 2 * nu)
        dnu = links.forward_dynamics(half, middle, robot.actuation_matrix(half) @ thrusts[k]).dnu
        q, nu = robot.integrate(q, DT * middle), nu + DT * dnu
    print(
        f"error {errors[0]:.2f} at the start, {errors[-1]:.0e} after {SECONDS:.0f} s; the joints came apart by {gaps.max():.0e} m"
    )
    assert errors[-1] < 2e-2, "the team did not come back"
    assert gaps.max() < 1e-3
    draw(robot, times, states, thrusts)


def thrust_in_A(robot, links, q, u, basis):
    """What the turning of thrusts adds to the rows of velocity: N d(S u)/dq, in minimal coordinates."""
    nv, h = robot.nv, 1e-6
    N = links.forward_dynamics_derivatives(q, np.zeros(nv), robot.actuation_matrix(q) @ u).ddnu_dtau
    moved = [robot.integrate(q, s * h * np.eye(nv)) for s in (1, -1)]
    dSu = ((robot.actuation_matrix(moved[0]) @ u - robot.actuation_matrix(moved[1]) @ u) / (2 * h)).T
    Z = basis[:nv, : basis.shape[1] // 2]
    return Z.T @ N @ dSu @ basis[:nv]


def lqr(A, B, basis, robot):
    """The gain from a perturbation of the state to rotors."""
    weights = np.repeat([4.0, 0.5], robot.nv)
    Q, R = basis.T @ (weights[:, None] * basis), np.eye(robot.m)
    K, _ = fc.lqr(A, B, Q, R)
    print(f"slowest mode with the controller: {np.linalg.eigvals(A - B @ K).real.max():+.2f} 1/s")
    return K @ np.linalg.pinv(basis)


def thrown(robot, links, goal, basis):
    """A perturbation: elsewhere, the rod turned, one drone tilted."""
    z = np.zeros(2 * robot.nv)
    z[[0, 1, 2]] = -1.0, 0.6, -0.3
    z[5], z[4] = 0.5, 0.15
    z[robot.nv] = 0.8
    return basis @ np.linalg.pinv(basis) @ z


def draw(robot, times, states, thrusts) -> None:
    """The flight from above and from the side, and the rotors."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("the figure needs matplotlib: pip install 'fallingcat[figures]'")
        return
    figure = Figure(figsize=(12.5, 5.0), layout="constrained")
    places = figure.subplot_mosaic([["above", "thrust"], ["side", "thrust"]], width_ratios=(1.3, 1), height_ratios=(1.6, 1))
    panels = [places["above"], places["side"], places["thrust"]]
    chosen = np.searchsorted(times, [0.0, 0.6, 1.2, 1.8, 2.6, 7.9])
    for k, q in enumerate(states[chosen]):
        alpha = 0.2 + 0.8 * k / (len(chosen) - 1)
        rod = robot.frame_pose(q, "rod")
        ends = np.array([rod @ [s * LENGTH / 2, 0, 0, 1] for s in (-1, 1)])[:, :3]
        for ax, j in ((panels[0], 1), (panels[1], 2)):
            ax.plot(ends[:, 0], ends[:, j], color="#6a4c93", linewidth=3, alpha=alpha)
            for name, end, color in zip(("left", "right"), ends, ("#0b6e8f", "#c2452d"), strict=True):
                p = robot.frame_poses(q, [f"{name}_rotor{i}" for i in range(4)])[:, :3, 3]
                for i in (0, 1):
                    ax.plot(p[[i, i + 2], 0], p[[i, i + 2], j], color=color, linewidth=2, alpha=alpha)
                centre = robot.frame_pose(q, name)[:3, 3]
                ax.plot([end[0], centre[0]], [end[j], centre[j]], color="#5b6470", linewidth=1.5, alpha=alpha)
    for ax, title in ((panels[0], "from above, m"), (panels[1], "from the side, m")):
        ax.set_aspect("equal")
        ax.set_title(title, loc="left", fontsize=11)
    for k in range(robot.m):
        panels[2].plot(times, thrusts[:, k], color="#0b6e8f" if k < 4 else "#c2452d", linewidth=1.2, alpha=0.8)
    panels[2].set_xlim(0.0, 4.0)
    panels[2].set_xlabel("seconds")
    panels[2].set_title("thrust of the rotors, N", loc="left", fontsize=11)
    for ax in panels:
        ax.grid(color="#e3e5e8")
        ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle("Two quadrotors bring a rod back to its place", fontweight="bold", x=0.01, ha="left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "team.png", dpi=150)
    print(f"wrote {OUT / 'team.png'}")


if __name__ == "__main__":
    main()
