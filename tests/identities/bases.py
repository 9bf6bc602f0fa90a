"""Robots and bases for the tests of papers 003 and 004: three robots from the field, and every kind of base."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from trees import (
    GRAVITY,
    REPRESENTATIONS,
    Array,
    Plain,
    body_velocity,
    condition,
    load,
    plain,
    random_tree,
    relative_error,
    state,
)

TOLERANCE = 1e-11
"""Relative to the largest entry, or to one."""

FIELD = {
    "talos": "talos_data/robots/talos_reduced.urdf",
    "icub": "icub_description/robots/icub_reduced.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
}
KINDS = ("link", "frame", "pair", "center of mass", "centroid")
CASES = [(kind, r) for kind in KINDS for r in REPRESENTATIONS if kind != "centroid" or r == "mixed"]
"""The centroid has no orientation, hence only a mixed twist."""


@cache
def field_robot(name: str) -> Plain:
    """A robot of `example-robot-data`."""
    try:
        found = [entry for entry in files("example-robot-data") or [] if str(entry).endswith(f"/robots/{FIELD[name]}")]
    except PackageNotFoundError:
        found = []
    if not found:
        pytest.skip("example-robot-data is not installed")
    return plain(fc.load(Path(str(found[0].locate())), gravity=GRAVITY))


def base_of(kind: str, robot: fc.Robot, rng: np.random.Generator) -> Any:
    """Some base of a kind."""
    link, other = (str(x) for x in rng.choice(robot.link_names, size=2))
    frame = str(rng.choice(robot.frame_names))
    kinds = {"link": link, "frame": frame, "pair": (frame, other), "center of mass": ("center_of_mass", other)}
    return kinds.get(kind, "centroidal")


def on_robots(check: Callable[[Plain, Array, Array, Array, np.random.Generator], None], seed: int) -> None:
    """A check on two random trees and on the robots from the field: check(robot, q, nu, dnu, rng)."""
    rng = np.random.default_rng(seed)
    for k in range(2):
        robot = load(random_tree(100 * seed + k, 5), True, k)
        check(robot, *state(robot, rng), rng)
    for name in FIELD:
        robot = field_robot(name)
        check(robot, *state(robot, rng), rng)


def close(x: Any, y: Any, tolerance: float = TOLERANCE) -> None:
    assert relative_error(x, y) < tolerance


def bound(M: Array) -> float:
    """For what was divided by M; up to a condition of 1000 it is that of everything else."""
    return TOLERANCE * max(1.0, condition(M) / 1000.0)


def rerooted(robot: Plain, q: Array, link: str) -> tuple[Plain, Array]:
    """The same robot assembled anew with another base, and its configuration (18a)."""
    other = robot.with_base(link)
    _, s = robot.split(q)
    return other, other.configuration(robot.frame_pose(q, link), s)


def matrix_of(f: Callable[[Array], Array], size: int) -> Array:
    """The matrix of a linear function."""
    return np.column_stack([f(e) for e in np.eye(size)])


def to_body(robot: fc.Robot, q: Array, representation: str) -> Array:
    """The matrix from nu in a representation to the body-fixed nu."""
    return matrix_of(lambda nu: body_velocity(robot, q, nu, representation), robot.nv)


def twist_by_hand(robot: fc.Robot, q: Array, nu: Array, base: Any, representation: str) -> Array:
    """The twist of a base from velocities of frames and of the centre of mass (26)-(28), (36), (37)."""
    if isinstance(base, str):
        return robot.frame_velocity(q, nu, base, representation)
    origin, orientation = base
    nu_body = body_velocity(robot, q, nu, representation)
    nu_mixed = np.linalg.solve(to_body(robot, q, "mixed"), nu_body)
    if origin == "center_of_mass":
        v, o = robot.center_of_mass_jacobian(q) @ nu_body, robot.center_of_mass(q)
    else:
        v, o = robot.frame_velocity(q, nu_mixed, origin, "mixed")[:3], robot.frame_pose(q, origin)[:3, 3]
    w = robot.frame_velocity(q, nu_mixed, orientation, "mixed")[3:]
    if representation == "body":
        R = robot.frame_pose(q, orientation)[:3, :3]
        return np.concatenate([R.T @ v, R.T @ w])
    return np.concatenate([v + np.cross(o, w) if representation == "inertial" else v, w])
