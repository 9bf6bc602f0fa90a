"""What iDynTree and adam are both asked, with the base's velocity in any of the three representations (paper 004).

Of each quantity there is ours and theirs, in their order of joints.
"""

from __future__ import annotations

import numpy as np
from libraries import Adam, Idyntree

import fallingcat as fc
from fallingcat.converters import Converter
from trees import Array, state

TOLERANCE = 1e-11
Case = tuple[fc.Robot, Adam | Idyntree, Converter, str]
"""A robot, the same in the other library, a converter, and the representation of the base's velocity on both sides.

The converter only orders the joints: base twists are in the same representation.
"""


def mass_matrices(case: Case, rng: np.random.Generator) -> tuple[Array, Array]:
    robot, peer, order, representation = case
    q, _, _ = state(robot, rng)
    return order.matrix(q, robot.mass_matrix(q, representation)), peer.mass_matrix(order.q(q))


def biases_and_gravities(case: Case, rng: np.random.Generator) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """At the same q, and the bias first: iDynTree's gravity turns with the base of the last call that moved its links."""
    robot, peer, order, representation = case
    q, nu, _ = state(robot, rng)
    there = order.q(q), order.nu(q, nu)
    bias = order.tau(q, robot.bias(q, nu, representation)), peer.bias(*there)
    gravity = order.tau(q, robot.gravity_torque(q, representation)), peer.gravity(there[0])
    return bias, gravity


def momentum_at_the_centre(robot: fc.Robot, q: Array) -> Array:
    """The centroidal momentum matrix of mixed velocities from the first rows of the mass matrix.

    The base rows are the momentum about the base's origin in world axes; move the moment to the centre of mass.
    """
    rows = robot.mass_matrix(q, "mixed")[:6].copy()
    arm = robot.center_of_mass(q) - q[:3]
    rows[3:] -= np.cross(arm, rows[:3].T).T
    return rows
