"""A four-bar linkage two ways: a tree with a closed loop, and one equation in its crank angle, written by hand.

The loop is a constraint of the builder. Without gains, with them, and in minimal coordinates the linkage swings alike; what
differs is how well the loop stays closed over ten thousand steps.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc

OUT = Path("out")
CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.7, 0.5, 0.8  # metres
MASS = 1.5  # kilograms for a metre
DT, SECONDS = 1e-3, 10.0


def linkage() -> fc.Robot:
    """Rods in the vertical plane that turn about y; the tips of coupler and rocker meet."""
    b = fc.Builder("four_bar")
    b.link("ground")
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
        m = MASS * length
        b.link(name, mass=m, com=(length / 2, 0, 0), inertia=(1e-6, 0, 0, m * length**2 / 12, 0, m * length**2 / 12))
    b.joint("drive", "revolute", "ground", "crank", axis=(0, 1, 0))
    b.joint("knee", "revolute", "crank", "coupler", axis=(0, 1, 0), xyz=(CRANK, 0, 0))
    b.joint("pivot", "revolute", "ground", "rocker", axis=(0, 1, 0), xyz=(GROUND, 0, 0))
    b.loop(fc.point_to_point("coupler", "rocker", (COUPLER, 0, 0), (ROCKER, 0, 0)))
    return fc.load(b, floating=False)


def closed(theta):
    """All joint angles at a crank angle: the intersection of two circles."""
    tip = np.array([CRANK * np.cos(theta), -CRANK * np.sin(theta)])
    d = np.array([GROUND, 0.0]) - tip
    far = np.sqrt(d @ d)
    x = (COUPLER**2 - ROCKER**2 + far**2) / (2 * far)
    meet = tip + (x * d + np.sqrt(COUPLER**2 - x**2) * np.array([-d[1], d[0]])) / far
    return np.array([theta, np.arctan2(tip[1] - meet[1], meet[0] - tip[0]) - theta, np.arctan2(-meet[1], meet[0] - GROUND)])


def by_hand(theta, speed, h=1e-4):
    """The crank's acceleration from T = I(theta) theta'^2 / 2 and V(theta) alone."""

    def energies(t):
        def centres(t):
            q = closed(t)
            angles = np.array([q[0], q[0] + q[1], q[2]])
            along = np.stack([np.cos(angles), -np.sin(angles)], 1)
            starts = np.array([[0.0, 0.0], CRANK * along[0], [GROUND, 0.0]])
            return starts + 0.5 * lengths[:, None] * along, angles

        (p1, a1), (p0, a0) = centres(t + h), centres(t - h)
        inertia = masses @ (((p1 - p0) / (2 * h)) ** 2).sum(1) + masses * lengths**2 / 12 @ ((a1 - a0) / (2 * h)) ** 2
        return inertia, 9.81 * masses @ centres(t)[0][:, 1]

    lengths = np.array([CRANK, COUPLER, ROCKER])
    masses = MASS * lengths
    (I, _), (I1, V1), (I0, V0) = energies(theta), energies(theta + h), energies(theta - h)
    return (-0.5 * (I1 - I0) * speed**2 - (V1 - V0)) / (2 * h) / I


def swing(robot, loop, q, nu):
    """The motion with the loop, and how far it comes apart."""
    times = np.arange(0.0, SECONDS, DT)
    angles, gaps, tau = np.empty(len(times)), np.empty(len(times)), np.zeros(robot.nv)
    for k in range(len(times)):
        angles[k], gaps[k] = q[0], np.abs(loop.violation(q)).max()
        middle = nu + DT / 2 * loop.forward_dynamics(q, nu, tau).dnu  # midpoint rule
        dnu = loop.forward_dynamics(robot.integrate(q, DT / 2 * nu), middle, tau).dnu
        q, nu = robot.integrate(q, DT * middle), nu + DT * dnu
    return times, angles, gaps


def main() -> None:
    robot = linkage()
    loop = robot.constraints()
    q = closed(0.5)
    print(f"{loop.m} rows, {loop.rank(q)} of them independent: one degree of freedom is left of {robot.nv}")
    nu = loop.project(q, np.array([1.0, 0.0, 0.0])).nu
    speed = nu[0]
    found, expected = loop.forward_dynamics(q, nu, np.zeros(3)).dnu[0], by_hand(0.5, speed)
    print(f"acceleration of the crank: {found:.9f} with the loop, {expected:.9f} by hand")
    assert abs(found - expected) < 1e-5
    tracks = {"no gains": loop, "kp = 400, kd = 40": robot.constraints(kp=400.0, kd=40.0)}
    results = {name: swing(robot, c, q, nu) for name, c in tracks.items()}
    x, hand = np.array([0.5, speed]), []
    for _ in range(len(results["no gains"][0])):
        hand.append(x[0])
        middle = x + DT / 2 * np.array([x[1], by_hand(*x)])
        x = x + DT * np.array([middle[1], by_hand(*middle)])
    for name, (_, angles, gaps) in results.items():
        print(f"{name}: the loop is {gaps[-1]:.0e} m apart after {SECONDS:.0f} s, crank {abs(angles[-1] - hand[-1]):.1e} rad off")
        assert abs(angles - np.array(hand)).max() < 1e-2
    draw(robot, results, np.array(hand))


def draw(robot, results, hand) -> None:
    """The linkage, the motion of the crank, and the gap of the loop."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("the figure needs matplotlib: pip install 'fallingcat[figures]'")
        return
    figure = Figure(figsize=(12.5, 4.2), layout="constrained")
    panels = figure.subplots(1, 3)
    for k, theta in enumerate(np.linspace(hand.min(), hand.max(), 6)):
        q = closed(theta)
        H = robot.frame_poses(q, ["crank", "coupler", "rocker"])
        tip = H[1] @ [COUPLER, 0, 0, 1]
        places = np.array([H[0, :3, 3], H[1, :3, 3], tip[:3], H[2, :3, 3]])
        panels[0].plot(places[:, 0], places[:, 2], color="#0b6e8f", alpha=0.25 + 0.15 * k, linewidth=3, marker="o")
    panels[0].set_aspect("equal")
    panels[0].set_title("the linkage, m", loc="left", fontsize=11)
    times = results["no gains"][0]
    panels[1].plot(times, hand, color="#c9ced6", linewidth=6, label="one equation by hand")
    panels[1].plot(times, results["no gains"][1], color="#0b6e8f", linewidth=1.5, label="tree with a loop")
    panels[1].set_title("crank angle, rad", loc="left", fontsize=11)
    panels[1].set_ylim(0.2, 4.6)
    for (name, (_, _, gaps)), color in zip(results.items(), ("#c2452d", "#3a7d44"), strict=True):
        panels[2].semilogy(times[1:], np.maximum(gaps[1:], 1e-17), color=color, linewidth=1.5, label=name)
    panels[2].set_title("gap of the loop, m", loc="left", fontsize=11)
    for ax in panels[1:]:
        ax.set_xlabel("seconds")
        ax.legend(frameon=False)
    for ax in panels:
        ax.grid(color="#e3e5e8")
        ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle("A four-bar as a tree with a loop, and in minimal coordinates", fontweight="bold", x=0.01, ha="left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "four_bar.png", dpi=150)
    print(f"wrote {OUT / 'four_bar.png'}")


if __name__ == "__main__":
    main()
