"""A gait: a closed path of the cat's shape, as a smooth function of a phase x from 0 to 1.

The cat curls up, its waist goes once around, it uncurls:

    s(x) = standing + w(x) ( tuck + sum over k of a_k cos(2 pi k x) + b_k sin(2 pi k x) )

The window w opens and closes. The coefficients a_k, b_k of the waist and the tail are what `plan` looks for. Where a gait
leaves the cat depends on the path alone and not on how fast it is passed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fallingcat.motion.reconstruction import Motion
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

TUCK = {"shoulder": -0.6, "elbow": -1.6, "hip": -0.45, "knee": 1.3, "neck_pitch": 0.2}
"""Displacements of joints with these endings in the curled-up cat, rad, which has less inertia about its long axis."""
MOVED = {
    "waist_bend": (False, 2), "waist_side": (True, 2), "waist_twist": (True, 2), "tail_pitch": (False, 2), "tail_yaw": (True, 2),
}  # fmt: skip
"""The joints that go around: by sines or by cosines, and their highest harmonic. Played backward the gait is its own mirror
image: bends are even in time, what goes to a side is odd. By this symmetry the cat keeps its heading."""
OPENING = 0.35
"""The share of the gait in which the window opens, and again closes."""


@dataclass(frozen=True)
class Gait:
    """A gait of a robot with the cat's joints."""

    joints: tuple[str, ...]
    """Names, in the robot's order."""
    coefficients: Array
    """(m,): one for each of `terms`, rad."""

    def at(self, x: Array) -> Motion:
        """Shapes at phases x, and their derivatives by x. Before 0 and after 1 the cat stands."""
        tuck = np.array([next((v for end, v in TUCK.items() if name.endswith(end)), 0.0) for name in self.joints])
        window = functions(x)[0, False]
        moved = directions(self.joints, x)
        return Motion(*(w[..., None] * tuck + D @ self.coefficients for w, D in zip(window, moved, strict=True)))


def circle(robot: Robot, radius: float) -> Gait:
    """The simplest gait: the waist's bend goes around in a circle, belly first."""
    start = {("waist_bend", 1, False): -radius, ("waist_side", 1, True): -radius}
    return Gait(robot.joint_names, np.array([start.get(term, 0.0) for term in terms()]))


def terms() -> list[tuple[str, int, bool]]:
    """For each coefficient: its joint, its harmonic, and whether it belongs to a sine."""
    return [(name, k, sine) for name, (sine, most) in MOVED.items() for k in range(int(sine), most + 1)]


def directions(joints: tuple[str, ...], x: Array) -> Motion:
    """Derivatives of the shapes by the coefficients, (..., n, m), and their derivatives by x. Shapes are linear in them."""
    known = functions(x)
    D = np.zeros((3, *np.shape(x), len(joints), len(terms())))
    for j, (name, k, sine) in enumerate(terms()):
        D[..., joints.index(name), j] = known[k, sine]
    return Motion(*D)


def functions(x: Array) -> dict[tuple[int, bool], Motion]:
    """w cos(2 pi k x) and w sin(2 pi k x) with their first two derivatives, by k and whether it is the sine."""
    x = np.asarray(x, dtype=float)
    opening, closing = smooth_step(x / OPENING), smooth_step((1.0 - x) / OPENING)
    w = Motion(opening.s * closing.s, (opening.ds - closing.ds) / OPENING, (opening.dds + closing.dds) / OPENING**2)
    found = {}
    for k in range(1 + max(most for _, most in MOVED.values())):
        rate = 2.0 * np.pi * k
        cos, sin = np.cos(rate * x), np.sin(rate * x)
        for sine, f, df in ((False, cos, -rate * sin), (True, sin, rate * cos)):
            ddf = -(rate**2) * f
            found[k, sine] = Motion(w.s * f, w.ds * f + w.s * df, w.dds * f + 2.0 * w.ds * df + w.s * ddf)
    return found


def smooth_step(x: Array) -> Motion:
    """From 0 at x = 0 to 1 at x = 1 with two continuous derivatives: 10 x^3 - 15 x^4 + 6 x^5."""
    x = np.clip(x, 0.0, 1.0)
    return Motion(x**3 * (10.0 - 15.0 * x + 6.0 * x**2), 30.0 * x**2 * (1.0 - x) ** 2, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x))
