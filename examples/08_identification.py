"""Identification: the inertial parameters of an arm from noisy torques, through the regressor tau = Y(q, nu, dnu) p.

The torques are linear in the ten inertial parameters of every body (paper 002, Sec. VI). Not all of them can be felt in the
joints: the singular values of the stacked regressor fall off a cliff behind the combinations that can, the base parameters.
Correcting these, and leaving the rest at its drawing-board value, predicts a motion that was not in the data.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.apps import figures

OUT = Path("out")
NOISE = 0.3  # newton metres, on every joint


def built(drawn, rng):
    """The arm as it was built: other masses than on the drawing board, centres of mass two centimetres off."""

    def other(inertial):
        off = replace(inertial.pose, position=tuple(inertial.pose.position + rng.normal(scale=0.02, size=3)))
        return replace(inertial, mass=inertial.mass * rng.uniform(0.8, 1.3), pose=off)

    links = [replace(link, inertial=link.inertial and other(link.inertial)) for link in drawn.description.links]
    return fc.load(replace(drawn.description, links=tuple(links)), floating=False)


def motion(arm, rng, seconds=8.0, count=2000):
    """A sum of slow waves on every joint: position, velocity, acceleration."""
    t = np.linspace(0.0, seconds, count)[:, None, None]
    w = 2.0 * np.pi / seconds * np.arange(1, 6)
    a = rng.normal(size=(arm.n, 5)) / np.arange(1, 6) ** 0.5
    a *= 0.35 * arm.position_limits[:, 1:] / np.abs(a).sum(axis=1, keepdims=True)
    phase = rng.uniform(0.0, 2.0 * np.pi, size=a.shape)
    parts = a * np.sin(w * t + phase), a * w * np.cos(w * t + phase), -a * w**2 * np.sin(w * t + phase)
    return t[:, 0, 0], *(part.sum(axis=-1) for part in parts)


def main() -> None:
    rng = np.random.default_rng(8)
    board = fc.load("spacearm", floating=False)
    arm, drawn = built(board, rng), board.inertial_parameters

    _, q, nu, dnu = motion(arm, rng)
    measured = arm.inverse_dynamics(q, nu, dnu) + NOISE * rng.normal(size=q.shape)
    Y = board.inverse_dynamics_regressor(q, nu, dnu).reshape(-1, drawn.size)  # 14,000 equations for 70 unknowns
    U, size, Vt = np.linalg.svd(Y, full_matrices=False)
    rank = int((size > 1e-10 * size[0]).sum())
    shift = Vt[:rank].T @ (U.T[:rank] @ (measured.ravel() - Y @ drawn) / size[:rank])
    found = drawn + shift
    print(f"{drawn.size} inertial parameters, {rank} combinations of them can be felt in the joints")

    t, q, nu, dnu = motion(arm, rng)  # another motion
    truth, Y = arm.inverse_dynamics(q, nu, dnu), board.inverse_dynamics_regressor(q, nu, dnu)
    errors = [np.sqrt(((Y @ p - truth) ** 2).mean(axis=0)) for p in (drawn, found)]
    print(f"a motion not in the data: torques off by {errors[0].mean():.2f} N m with the drawing board's parameters,")
    print(f"by {errors[1].mean():.3f} N m with those found, from measurements with a noise of {NOISE} N m")
    assert errors[1].max() < 0.2 * NOISE
    if figures.available():
        draw(arm, t, size, rank, truth, Y @ drawn, Y @ found, errors)
    else:
        print(figures.MISSING)


def draw(arm, t, size, rank, truth, before, after, errors) -> None:
    """The cliff, one joint of the new motion, and the errors of all."""
    OUT.mkdir(exist_ok=True)
    with figures.drawing(OUT / "identification.png", 3, 13.0, 4.2, widths=(1, 1.3, 1)) as (_, (cliff, curve, bars)):
        cliff.semilogy(np.arange(1, rank + 1), size[:rank] / size[0], "o", color=figures.OURS, markersize=4)
        cliff.semilogy(np.arange(rank + 1, size.size + 1), size[rank:] / size[0] + 1e-20, "o", color=figures.PAPER, markersize=4)
        cliff.text(rank + 2, 1e-6, f"{rank} can be felt,\n{size.size - rank} cannot", color=figures.QUIET)
        cliff.set(xlabel="singular value of the regressor")
        curve.plot(t, truth[:, 1], color=figures.PAPER, linewidth=5, label="truth")
        curve.plot(t, before[:, 1], "--", color=figures.FAMILY[1], label="drawing board")
        curve.plot(t, after[:, 1], color=figures.OURS, label="identified")
        curve.set(xlabel="seconds", ylim=(None, 1.35 * truth[:, 1].max()))
        curve.legend(ncols=3, loc="upper center")
        for k, (error, color) in enumerate(zip(errors, (figures.FAMILY[1], figures.OURS), strict=True)):
            bars.bar(np.arange(arm.n) + 0.4 * k, error, width=0.38, color=color)
        bars.axhline(NOISE, color=figures.QUIET, linestyle="--", label="noise of a measurement")
        bars.set(yscale="log", xticks=np.arange(arm.n) + 0.2, xticklabels=range(1, arm.n + 1), xlabel="joint", ylim=(1e-3, 30))
        bars.legend()
        titles = (
            "(a) what can be felt",
            f"(b) torque of {arm.joint_names[1]} in a new motion, N m",
            "(c) rms error of the torque, N m",
        )
        for ax, title in zip((cliff, curve, bars), titles, strict=True):
            ax.set_title(title, loc="left")
    print(f"wrote {OUT / 'identification.png'}")


if __name__ == "__main__":
    main()
