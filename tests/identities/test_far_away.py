"""Far from the origin nothing is lost: what does not depend on where a robot stands has the same digits everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from trees import GRAVITY, Array, Plain, plain, relative_error, state

MAP = (4.0e5, 5.3e6, 300.0)
"""Map coordinates, in metres."""
FAR = 1e8

OF_Q = ("inverse_mass_matrix", "christoffel_symbols", "mass_matrix_derivatives", "centroidal_momentum_matrix")
OF_Q_NU = (
    "coriolis_matrix",
    "coriolis_terms",
    "mass_matrix_rate",
    "centroidal_momentum_matrix_rate",
    "centroidal_momentum_derivatives",
)
OF_Q_NU_DNU = (
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "centroidal_momentum_rate",
    "centroidal_momentum_rate_derivatives",
    "inverse_dynamics_regressor",
    "linearize",
)
NAMES = (*OF_Q, *OF_Q_NU, *OF_Q_NU_DNU)


def evaluate(robot: Plain, name: str, q: Array, nu: Array, x: Array) -> list[Array]:
    """Every result of one function."""
    arguments = (q,) if name in OF_Q else (q, nu) if name in OF_Q_NU else (q, nu, x)
    found: Any = getattr(robot, name)(*arguments)
    return list(found) if isinstance(found, tuple) else [found]


def agree(name: str, found: list[Array], expected: list[Array], tolerance: float) -> None:
    errors = [relative_error(a, b) for a, b in zip(found, expected, strict=True)]
    assert max(errors) < tolerance, f"{name}: {errors}"


def drone(floating: bool) -> Plain:
    """A body with two rotors on arms: a floating base, or a floating joint on a world that is fixed."""
    b = fc.Builder("drone")
    if not floating:
        b.link("ground")
        b.joint("flight", "floating", "ground", "hull")
    b.link("hull", mass=2.0, com=(0.01, -0.02, 0.03), inertia=(0.02, 0.001, 0.002, 0.03, -0.001, 0.04))
    for k, x in enumerate((0.3, -0.25)):
        b.link(f"arm{k}", mass=0.2, com=(0.0, 0.1, 0.02), inertia=(0.003, 0.0001, 0.0, 0.002, 0.0, 0.003))
        b.link(f"rotor{k}", mass=0.1, com=(0.0, 0.01, 0.0), inertia=(0.001, 0.0, 0.0, 0.001, 0.0, 0.002))
        b.joint(f"hinge{k}", "revolute", "hull", f"arm{k}", xyz=(x, 0.0, 0.1), axis=(1, 0, 0))
        b.joint(f"axle{k}", "continuous", f"arm{k}", f"rotor{k}", xyz=(0.0, 0.2, 0.05), rpy=(0.1, 0.2, 0.3), axis=(0, 0, 1))
    return plain(fc.load(b, floating=floating, gravity=GRAVITY))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "linearize"])
def test_a_floating_joint_is_as_good_as_a_floating_base(name: str, rng: np.random.Generator) -> None:
    base, joint = drone(True), drone(False)
    q, nu, x = state(base, rng)
    q[:3] = FAR * np.array([1.0, -0.7, 0.4])
    agree(name, evaluate(joint, name, q, nu, x), evaluate(base, name, q, nu, x), 1e-12)


def arm(place: tuple[float, float, float]) -> Plain:
    """An arm of five joints of different types, bolted to the ground at some place."""
    b = fc.Builder("arm")
    b.link("ground")
    b.link("plate")
    b.joint("bolt", "fixed", "ground", "plate", xyz=place)
    parent = "plate"
    for k, type_ in enumerate(("prismatic", "revolute", "universal", "spherical", "helical")):
        child = f"link{k}"
        b.link(child, mass=1.0 + k, com=(0.1, -0.05, 0.2), inertia=(0.05, 0.002, -0.003, 0.06, 0.001, 0.04))
        options: dict[str, Any] = {"xyz": (0.0, 0.1, 0.3) if k else (0.0, 0.0, 0.0), "rpy": (0.2, -0.4, 0.1 * k)}
        options |= {"pitch": 0.1} if type_ == "helical" else {"axis2": (1, 0, 0)} if type_ == "universal" else {}
        b.joint(f"joint{k}", type_, parent, child, axis=(0, 0, 1), **options)
        parent = child
    return plain(fc.load(b, floating=False, gravity=GRAVITY))


@pytest.mark.parametrize("name", NAMES)
def test_an_arm_at_map_coordinates_is_the_arm_at_the_origin(name: str, rng: np.random.Generator) -> None:
    here, there = arm((0.0, 0.0, 0.0)), arm(MAP)
    q, nu, x = state(here, rng)
    agree(name, evaluate(there, name, q, nu, x), evaluate(here, name, q, nu, x), 1e-13)
