"""A quadruped trots: contacts switch at run time, by a mask, and nothing is compiled in the loop.

Joint angles of one cycle of the gait come from `project`, as inverse kinematics of a hundred postures at once. In the simulation
the feet of one diagonal are held while those of the other swing; where feet come down, an impact changes the velocity. The mask
follows the clock of the gait: a foot is held for as long as that says, whichever way the ground would have to pull.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc

OUT = Path("out")
FEET = ("front_left_foot", "front_right_foot", "rear_left_foot", "rear_right_foot")
DIAGONAL = np.array([0, 1, 1, 0])  # which of the two pairs a foot belongs to
CYCLE, SWING, STRIDE, LIFT = 0.3, 0.4, 0.06, 0.03  # seconds, part of the cycle in the air, metres, metres
DT, SECONDS = 0.001, 3.0
KP, KD = 300.0, 3.0  # of the joints


def gait(phase):
    """Feet in the air, and where each foot is, forwards and upwards, at phases of the cycle in [0, 1)."""
    own = (phase[..., None] + 0.5 * DIAGONAL) % 1.0
    flying = own < SWING
    s = own / SWING
    forwards = np.where(flying, -0.5 + s - np.sin(2 * np.pi * s) / (2 * np.pi), 0.5 - (own - SWING) / (1 - SWING)) * STRIDE
    upwards = np.where(flying, LIFT * np.sin(np.pi * np.clip(s, 0, 1)) ** 2, 0.0)
    return flying, forwards, upwards


def postures(robot, count=100):
    """Joint angles over one cycle, with the trunk held and every foot where the gait wants it."""
    legs = robot.constraints(fc.surface("trunk"), *[fc.point(f) for f in FEET])
    _, forwards, upwards = gait(np.arange(count) / count)
    anchors = np.tile(legs.anchors, (count, 1))
    anchors[:, 12::3] += forwards
    anchors[:, 14::3] += upwards
    return legs.with_anchors(anchors).project(np.tile(robot.neutral(), (count, 1))).q[:, 7:]


def main() -> None:
    robot = fc.load("quadruped")
    ground = robot.constraints(*[fc.point(f) for f in FEET], kd=50.0)
    table = postures(robot)
    times = np.arange(0.0, SECONDS, DT)
    q, nu, before = robot.neutral(), np.zeros(robot.nv), np.ones(4)
    states, forces, masks = np.empty((len(times), robot.nq)), np.empty((len(times), 12)), np.empty((len(times), 4))
    for k, t in enumerate(times):
        phase = t / CYCLE % 1.0
        active = 1.0 - gait(np.array(phase))[0]
        if np.any(active > before):  # feet come down
            nu = ground.impulse(q, nu, active=active).nu
        at = phase * len(table)
        i, part = int(at), at % 1.0
        now, later = table[i % len(table)], table[(i + 1) % len(table)]
        wanted, speed = now + part * (later - now), (later - now) * len(table) / CYCLE
        tau = ground.inverse_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv), active=active).tau
        tau[:6] = 0.0
        tau[6:] += KP * (wanted - q[7:]) + KD * (speed - nu[6:])
        dnu, forces[k] = ground.forward_dynamics(q, nu, tau, active=active)
        states[k], masks[k], before = q, active, active
        nu = nu + DT * dnu
        q = robot.integrate(q, DT * nu)
    way, tilt = states[-1, 0], 2 * np.linalg.norm(states[:, 3:5], axis=1).max()
    print(f"{len(times)} steps, {int(np.abs(np.diff(masks, axis=0)).sum())} switches of contact")
    print(f"it went {way:.2f} m in {SECONDS:.0f} s and tilted by {np.degrees(tilt):.1f} degrees at most")
    assert way > 0.3
    assert tilt < 0.5, "it fell over"
    draw(robot, times, states, forces, masks)


def draw(robot, times, states, forces, masks) -> None:
    """The quadruped from the side, its contacts, and the forces of the ground."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("the figure needs matplotlib: pip install 'fallingcat[figures]'")
        return
    figure = Figure(figsize=(12.5, 5.6), layout="constrained")
    side, contact, force = figure.subplots(3, 1, height_ratios=(2.2, 0.8, 1.4))
    colors = ("#0b6e8f", "#c2452d", "#6a4c93", "#3a7d44")
    for k in np.linspace(60, len(times) - 1, 3).astype(int):
        hips = robot.frame_poses(states[k], [f.replace("foot", "thigh") for f in FEET])[:, :3, 3]
        knees = robot.frame_poses(states[k], [f.replace("foot", "shank") for f in FEET])[:, :3, 3]
        feet = robot.frame_poses(states[k], FEET)[:, :3, 3]
        side.plot(hips[[0, 2], 0], hips[[0, 2], 2], color="#5b6470", linewidth=5, solid_capstyle="round")
        for j in range(4):
            leg = np.array([hips[j], knees[j], feet[j]])
            side.plot(leg[:, 0], leg[:, 2], color=colors[j], linewidth=2, alpha=0.9 if masks[k, j] else 0.35)
    side.set_aspect("equal")
    side.set_title("from the side, m; legs in the air are pale", loc="left", fontsize=11)
    for j in range(4):
        contact.fill_between(times, j, j + 0.8 * masks[:, j], color=colors[j], step="post", linewidth=0)
        force.plot(
            times, forces[:, 3 * j + 2], color=colors[j], linewidth=1.2, label=FEET[j].removesuffix("_foot").replace("_", " ")
        )
    contact.set_yticks([])
    contact.set_title("contact", loc="left", fontsize=11)
    force.set_title("vertical force, N", loc="left", fontsize=11)
    force.set_xlabel("seconds")
    force.legend(frameon=False, ncols=4, loc="upper right")
    for ax in (side, contact, force):
        ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle("A trot: contacts switch by a mask", fontweight="bold", x=0.01, ha="left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "trot.png", dpi=150)
    print(f"wrote {OUT / 'trot.png'}")


if __name__ == "__main__":
    main()
