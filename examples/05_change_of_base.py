"""A somersault seen from the pelvis, from a foot and from the centroid (paper 004): one motion, three sets of equations.

In the air a humanoid tucks its limbs and stretches them again. From pelvis or foot this looks complicated. From the centroid
the mass matrix falls apart into two blocks, and no motor can change the momentum: who tucks turns faster.
"""

from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.apps import figures

OUT, DT = Path("out"), 0.005
BASES = {"pelvis": "pelvis", "left sole": "left_sole", "centroid": "centroidal"}
TUCK = {"hip_pitch": -1.6, "knee": 1.9, "shoulder_pitch": -0.9, "elbow": -1.4}


def fly(robot):
    """Times, configurations and velocities of a flight; motors hold a tuck between 0.35 and 0.85 seconds."""
    q, nu, tucked = robot.neutral(), np.zeros(robot.nv), np.tile(list(TUCK.values()), 2)
    q[2], nu[2], nu[4] = 1.0, 5.5, 3.0  # upwards, turning forwards
    inertia = 1.0 / np.diag(robot.inverse_mass_matrix(q))[6:]  # what each motor has to move
    times, Q, V = np.arange(0.0, 1.2, DT), [], []
    for t in times:
        Q, V = [*Q, q], [*V, nu]
        goal = tucked / (1.0 + np.exp(-40.0 * (t - 0.35))) / (1.0 + np.exp(40.0 * (t - 0.85)))
        tau = np.concatenate([np.zeros(6), inertia * (900.0 * (goal - q[7:]) - 60.0 * nu[6:])])
        q, nu = robot.step(q, nu, tau, DT, "rk4")
    return times, np.array(Q), np.array(V)


def main() -> None:
    robot = fc.load("humanoid", joints=[f"{side}_{joint}" for side in ("left", "right") for joint in TUCK])
    times, Q, V = fly(robot)
    R = robot.split(Q)[0][:, None, :3, :3]  # from the body-fixed to the mixed twist
    V[:, :6] = (R @ V[:, :6].reshape(-1, 2, 3, 1)).reshape(-1, 6)
    M, rate, moment = {}, {}, {}
    for name, base in BASES.items():
        nu = robot.base_change(Q, V, base).velocity(V)
        M[name] = robot.equations_of_motion(Q, V, base).M
        rate[name], moment[name] = nu[:, 4], np.sum(M[name][:, 4] * nu, axis=1)
        print(f"{name:9}: {nu[-1] @ M[name][-1] @ nu[-1] / 2:.6f} J, moment changes by {np.ptp(moment[name]):.1e} N m s")
    print(f"tucked, the robot turns {rate['centroid'].max() / rate['centroid'][0]:.2f} times as fast")
    assert np.ptp(moment["centroid"]) < 1e-4
    if figures.available():
        draw(times, rate, moment, M)


def draw(times, rate, moment, M) -> None:
    """What changes and what does not; mass matrices without units, in the middle of the tuck."""
    OUT.mkdir(exist_ok=True)
    with figures.drawing(OUT / "bases.png", 4, 16.0, 4.0, widths=(1.3, 1.3, 1.0, 1.0)) as (_, axes):
        for ax, values, title in zip(axes, (rate, moment), ("(a) angular velocity, rad/s", "(b) moment, N m s"), strict=False):
            for name, color, width in zip(BASES, figures.FAMILY, (1.5, 1.5, 3.0), strict=False):
                ax.plot(times, values[name], color=color, linewidth=width, label=name)
            ax.set_title(title, loc="left")
        axes[0].legend()
        for ax, name, letter in zip(axes[2:], ("pelvis", "centroid"), "cd", strict=True):
            m = np.abs(M[name][len(times) // 2])
            shown = np.where(m > 1e-6, m, np.nan) / np.sqrt(np.outer(np.diag(m), np.diag(m)))
            ax.imshow(shown, cmap="viridis_r", norm="log", vmin=1e-3, vmax=1.0)
            ax.set_title(f"({letter}) mass matrix, base: {name}", loc="left")
            ax.set_axis_off()
    print(f"wrote {OUT / 'bases.png'}")


if __name__ == "__main__":
    main()
