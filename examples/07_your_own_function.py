"""Your own function of a robot, compiled like the library's: for one state, for batches, and for several threads."""

from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.apps import figures

OUT = Path("out")


def height(r, q):
    """How high the centre of mass is. `r` has the robot's functions, here run on symbols."""
    return r.center_of_mass(q)[2]


def power(r, q, nu, dnu):
    """The power that the motion takes: forces along velocities."""
    return r.inverse_dynamics(q, nu, dnu) @ nu


def hold(r, q, limit):
    """The heat of holding still, torques measured by what the motors can give; and the height of the hand."""
    share = r.gravity_torque(q) / limit
    return [share @ share, r.frame_pose(q, "hand")[2, 3]]


def main() -> None:
    cat = fc.load("cat")
    rng = np.random.default_rng(0)

    f = fc.compile(height, cat)
    q = cat.random_configuration(rng)
    print(f)
    print(f"height of one cat      {f(q):.6f} m    (the robot's own function: {cat.center_of_mass(q)[2]:.6f} m)")

    p = fc.compile(power, cat)
    Q = np.array([cat.random_configuration(rng) for _ in range(1000)])
    V = rng.normal(size=(1000, cat.nv))
    A = rng.normal(size=(1000, cat.nv))
    tau = cat.inverse_dynamics(Q, V, A)
    difference = np.abs(p(Q, V, A) - (tau * V).sum(axis=-1)).max()
    print(p)
    print(f"power of 1000 motions  {p(Q, V, A).mean():.3f} W on average, {difference:.1e} W from tau . nu")

    # The program that was traced: readable, and the same for one state and for many.
    print(*str(f.kernel.program).splitlines()[:4], "  ...", sep="\n")

    # Names the robot does not know need a length. A grid of 160,801 states is one call.
    arm = fc.load("spacearm", floating=False)
    h = fc.compile(hold, arm, limit=arm.n)
    shoulder, elbow = (np.linspace(*arm.position_limits[k], 401) for k in (1, 3))
    states = np.zeros((401, 401, arm.n))
    states[..., 1], states[..., 3] = shoulder, elbow[:, None]
    heat, hand = np.moveaxis(h(states, arm.effort_limits), -1, 0)
    at = np.unravel_index(heat.argmax(), heat.shape)
    print(f"hardest to hold: shoulder {np.degrees(shoulder[at[1]]):.0f}, elbow {np.degrees(elbow[at[0]]):.0f} degrees")
    if figures.available():
        draw(shoulder, elbow, heat, hand)
    else:
        print(figures.MISSING)


def draw(shoulder, elbow, heat, hand) -> None:
    """Both results over the two joints that carry the arm."""
    OUT.mkdir(exist_ok=True)
    x, y = np.degrees(shoulder), np.degrees(elbow)
    with figures.drawing(OUT / "own_function.png", 2, 10.5, 4.4) as (figure, axes):
        maps = (
            (100.0 * np.sqrt(heat), "(a) torques that hold the arm, % of the limits", "YlOrBr"),
            (hand, "(b) height of the hand, m", "GnBu"),
        )
        for ax, (values, title, colors) in zip(axes, maps, strict=True):
            figure.colorbar(ax.contourf(x, y, values, levels=12, cmap=colors), ax=ax)
            ax.contour(x, y, values, levels=12, colors="white", linewidths=0.5)
            ax.set(xlabel="shoulder (joint2), degrees", ylabel="elbow (joint4), degrees")
            ax.grid(visible=False)
            ax.set_title(title, loc="left")
    print(f"wrote {OUT / 'own_function.png'}")


if __name__ == "__main__":
    main()
