"""Robots with loops for the tests of constraints."""

from __future__ import annotations

import numpy as np

import fallingcat as fc
from trees import Array

CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.7, 0.5, 0.8
MASSES = {"crank": 0.4, "coupler": 0.9, "rocker": 0.6}
LENGTHS = {"crank": CRANK, "coupler": COUPLER, "rocker": ROCKER}


def rod(mass: float, length: float) -> dict[str, object]:
    """A thin rod along x, from its frame's origin."""
    I = mass * length**2 / 12.0
    return {"mass": mass, "com": (length / 2, 0.0, 0.0), "inertia": (1e-3 * I, 0.0, 0.0, I, 0.0, I)}


def four_bar(loop: fc.Constraint | None = None) -> fc.Builder:
    """In the vertical plane, turning about y; the tips of coupler and rocker meet."""
    b = fc.Builder("four_bar")
    b.link("ground", mass=1.0, inertia=(1e-2, 0, 0, 1e-2, 0, 1e-2))
    for name, length in LENGTHS.items():
        b.link(name, **rod(MASSES[name], length))  # type: ignore[arg-type]
    b.joint("drive", "revolute", "ground", "crank", axis=(0, 1, 0))
    b.joint("knee", "revolute", "crank", "coupler", axis=(0, 1, 0), xyz=(CRANK, 0, 0))
    b.joint("pivot", "revolute", "ground", "rocker", axis=(0, 1, 0), xyz=(GROUND, 0, 0))
    tips = fc.point_to_point("coupler", "rocker", (COUPLER, 0, 0), (ROCKER, 0, 0)) if loop is None else loop
    b.loop(tips)
    return b


def closed(theta: float) -> Array:
    """The joint angles at a crank angle, by the intersection of two circles, rocker up."""
    tip = CRANK * np.array([np.cos(theta), -np.sin(theta)])  # x, z
    d = np.array([GROUND, 0.0]) - tip
    D = np.sqrt(d @ d)
    x = (COUPLER**2 - ROCKER**2 + D**2) / (2 * D)
    y = np.sqrt(COUPLER**2 - x**2)
    meet = tip + x * d / D + y * np.array([-d[1], d[0]]) / D
    absolute = np.arctan2(-(meet - tip)[1], (meet - tip)[0])
    rocker = np.arctan2(-meet[1], meet[0] - GROUND)
    return np.array([theta, absolute - theta, rocker])


def lagrangian(theta: float, h: float = 1e-5) -> tuple[float, float]:
    """The inertia and the potential of the four-bar in its crank angle alone, written by hand."""

    def places(t: float) -> tuple[Array, Array]:
        q = closed(t)
        angles = np.array([q[0], q[0] + q[1], q[2]])
        along = np.stack([np.cos(angles), -np.sin(angles)], 1)
        starts = np.array([[0.0, 0.0], CRANK * along[0], [GROUND, 0.0]])
        return starts + 0.5 * np.array(list(LENGTHS.values()))[:, None] * along, angles

    (p1, a1), (p0, a0), (p, _) = places(theta + h), places(theta - h), places(theta)
    v, w = (p1 - p0) / (2 * h), (a1 - a0) / (2 * h)
    m = np.array(list(MASSES.values()))
    I = m * np.array(list(LENGTHS.values())) ** 2 / 12
    return float(m @ (v**2).sum(1) + I @ w**2), float(9.81 * m @ p[:, 1])
