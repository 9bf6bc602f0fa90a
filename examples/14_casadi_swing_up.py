"""The fastest swing-up of an arm that is too weak to lift itself: direct collocation with CasADi and IPOPT.

Three links hang down and are to stand upright. Two motors are weaker than gravity, so that the arm has to swing. Times,
torques and states are found together; `fc.casadi(robot, compiled=True)` gives the solver the dynamics, their Jacobian and
their part of the Hessian as machine code. The same problem over symbols has the same answer, and shows what that is worth.
"""

# pip install 'fallingcat[casadi,examples]'

import sys
import time
from pathlib import Path

import casadi
import numpy as np

import fallingcat as fc

OUT = Path("out")
NODES = 60
LENGTHS, MASSES = (0.5, 0.4, 0.3), (2.0, 1.4, 0.8)
STRONGEST = np.array([9.0, 6.0, 2.5])  # newton metres; holding the arm out straight would take 22.8, 7.1 and 1.2


def arm() -> fc.Robot:
    """Three bars, one below the other, on a wall."""
    b = fc.Builder("arm")
    b.link("wall")
    above, at = "wall", 0.0
    for k, (length, mass) in enumerate(zip(LENGTHS, MASSES, strict=True)):
        turn = mass * length**2 / 12
        b.link(f"bar{k}", mass=mass, com=(0, 0, -length / 2), inertia=(turn, 0, 0, turn, 0, 1e-3))
        b.joint(f"joint{k}", "revolute", above, f"bar{k}", axis=(0, 1, 0), xyz=(0, 0, at))
        above, at = f"bar{k}", -length
    b.link("tip")
    b.joint("end", "fixed", above, "tip", xyz=(0, 0, at))
    return fc.load(b, floating=False)


def problem(robot, functions):
    """Variables, cost and constraints: trapezoids between nodes, from hanging to standing, at rest at both ends."""
    n = robot.nv
    T = casadi.MX.sym("T")
    q, nu, tau = (casadi.MX.sym(name, n, NODES + 1) for name in ("q", "nu", "tau"))
    dnu = functions.function("forward_dynamics").map(NODES + 1)(q, nu, tau)
    h = T / NODES
    gaps = casadi.vertcat(
        casadi.vec(q[:, 1:] - q[:, :-1] - h / 2 * (nu[:, 1:] + nu[:, :-1])),
        casadi.vec(nu[:, 1:] - nu[:, :-1] - h / 2 * (dnu[:, 1:] + dnu[:, :-1])),
    )
    rough = casadi.sumsqr(tau[:, 1:] - tau[:, :-1])
    x = casadi.veccat(T, q, nu, tau)
    return {"x": x, "f": T + 1e-5 * rough, "g": gaps}


def bounds(robot):
    """Of times, angles, velocities and torques, and a first guess: straight from the one to the other."""
    n, count = robot.nv, NODES + 1
    hanging, standing = np.zeros(n), np.array([np.pi, 0.0, 0.0])
    low = [np.array([0.5]), np.full((count, n), -2 * np.pi), np.full((count, n), -15.0), np.tile(-STRONGEST, (count, 1))]
    high = [np.array([4.0]), -low[1], -low[2], -low[3]]
    for a in (low, high):
        a[1][0], a[1][-1] = hanging, standing
        a[2][0] = a[2][-1] = 0.0
    time_of = np.linspace(0.0, 1.0, count)[:, None]
    swing = np.sin(4 * np.pi * time_of) * (1 - time_of) * np.array([1.0, -0.6, 0.3])
    guess = [np.array([2.0]), time_of * standing + swing, np.zeros((count, n)), np.zeros((count, n))]
    return tuple(np.concatenate([part.ravel() for part in parts]) for parts in (low, high, guess))


def solve(robot, functions):
    """The fastest motion, and how long it took to find."""
    began = time.perf_counter()
    options = {"ipopt": {"print_level": 0, "sb": "yes", "max_iter": 1500, "tol": 1e-6}, "print_time": False}
    solver = casadi.nlpsol("solver", "ipopt", problem(robot, functions), options)
    low, high, guess = bounds(robot)
    made = time.perf_counter()
    found = solver(x0=guess, lbx=low, ubx=high, lbg=0, ubg=0)
    solved = time.perf_counter()
    stats = solver.stats()
    assert stats["success"], stats["return_status"]
    x = found["x"].full()[:, 0]
    evaluating = sum(stats[f"t_wall_nlp_{part}"] for part in ("g", "jac_g", "hess_l"))
    words = f"{stats['iter_count']} iterations in {solved - made:.1f} s, {evaluating:.1f} s of it for the functions"
    return x[0], *(part.reshape(NODES + 1, -1) for part in np.split(x[1:], 3)), f"{words}; made in {made - began:.1f} s"


def main() -> None:
    robot = arm()
    ways = {"symbols": fc.casadi(robot)}
    if sys.platform == "linux":
        ways["machine code"] = fc.casadi(robot, compiled=True)
    ends = []
    for name, functions in ways.items():
        T, q, nu, tau, words = solve(robot, functions)
        ends.append(T)
        print(f"{name}: upright after {T:.3f} s; {words}")
    assert np.ptp(ends) < 1e-3, "the two ways do not agree"
    check(robot, T, q, nu, tau)
    draw(robot, T, q, tau)


def check(robot, T, q, nu, tau) -> None:
    """The same torques in small exact steps: does the arm do what the trapezoids say?"""
    x, v, parts = q[0], nu[0], 20
    off = 0.0
    for k in range(NODES):
        for j in range(parts):
            part = (j + 0.5) / parts
            x, v = robot.step(x, v, (1 - part) * tau[k] + part * tau[k + 1], T / NODES / parts, "rk4")
        off = max(off, np.abs(x - q[k + 1]).max())
        x, v = q[k + 1], nu[k + 1]
    print(f"between two nodes the trapezoids are off by {np.degrees(off):.2f} degrees at most")
    assert off < np.radians(3)


def draw(robot, T, q, tau) -> None:
    """The motion from the side, and the torques."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("the figure needs matplotlib: pip install 'fallingcat[figures]'")
        return
    figure = Figure(figsize=(12.5, 5.0), layout="constrained")
    picture, angles, torques = figure.subplots(1, 3, width_ratios=(1.25, 1, 1))
    places = robot.frame_poses(q, ["bar0", "bar1", "bar2", "tip"])[..., :3, 3]
    picture.plot(places[:, -1, 0], places[:, -1, 2], color="#c9ced6", linewidth=1.5, zorder=0)
    for k in range(0, NODES + 1, 3):
        alpha = 0.12 + 0.88 * k / NODES
        picture.plot(places[k, :, 0], places[k, :, 2], color="#0b6e8f", linewidth=2.5, marker="o", markersize=3, alpha=alpha)
    picture.set_aspect("equal")
    picture.set_title("the arm from the side, m", loc="left", fontsize=11)
    seconds = np.linspace(0.0, T, NODES + 1)
    for k, color in enumerate(("#0b6e8f", "#6a4c93", "#c2452d")):
        angles.plot(seconds, np.degrees(q[:, k]), color=color, linewidth=2.0, label=f"joint {k + 1}")
        torques.plot(seconds, tau[:, k] / STRONGEST[k], color=color, linewidth=2.0)
    angles.set_title("angles, degrees", loc="left", fontsize=11)
    angles.legend(frameon=False)
    torques.set_title("torques, of the strongest", loc="left", fontsize=11)
    for ax in (angles, torques):
        ax.set_xlabel("seconds")
    for ax in (picture, angles, torques):
        ax.grid(color="#e3e5e8")
        ax.spines[["top", "right"]].set_visible(False)
    title = f"The fastest way up for an arm that cannot lift itself: {T:.2f} s"
    figure.suptitle(title, fontweight="bold", x=0.01, ha="left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "swing_up.png", dpi=150)
    print(f"wrote {OUT / 'swing_up.png'}")


if __name__ == "__main__":
    main()
