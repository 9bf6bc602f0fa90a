"""Energies (paper 000, Sec. 3; Featherstone 2008, eq. 2.67)."""

from __future__ import annotations

from fallingcat.algorithms.kinematics import center_of_mass
from fallingcat.algorithms.posed import Vector, body, velocities
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial.vec3 import dot, vec


def kinetic_energy(model: Model, q: Vector, nu: Vector) -> Scalar:
    """nu^T M nu / 2, rotors included."""
    r = body(model, q)
    v = velocities(r, nu)
    twice: Scalar = 0.0
    for i, I in r.I.items():
        twice = twice + v[i] @ (I @ v[i])
        for x in r.speeds(i, nu):
            twice = twice + model.bodies[i].armature * x * x
    return 0.5 * twice


def potential_energy(model: Model, q: Vector) -> Scalar:
    """-m g . c: zero with the centre of mass at the height of the origin."""
    return -model.mass * dot(model.gravity, vec(center_of_mass(model, q)))
