"""Whether a robot's mass matrix is singular whatever its configuration: some motion then meets no inertia.

The articulated bodies factor the mass matrix, M = L^T D L (see `minverse`). A pivot of D that is nothing but the rounding of
the diagonal of M, in two configurations drawn at random, says that no digit of an acceleration would be right.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from fallingcat.algorithms.configuration import integrate, neutral
from fallingcat.algorithms.crba import composite_inertias, mass_matrix
from fallingcat.algorithms.dense import factor, inverse_symmetric
from fallingcat.algorithms.kinematics import PerBody, joint_kinematics
from fallingcat.model.joints import FreeFlyer
from fallingcat.model.model import WORLD, Model
from fallingcat.spatial import ArticulatedInertia, Force

ROUNDING = 1e-14
"""A pivot smaller than this part of its entry on the diagonal has no digit left."""
CONFIGURATIONS = 2


def is_singular(model: Model) -> bool:
    """The same answer in every representation of the base's twist."""
    if model.floating:  # in its own axes, where the mass matrix does not depend on where the base is
        model = replace(model, bodies=(replace(model.bodies[0], joint=FreeFlyer()), *model.bodies[1:]))
    draw = random.Random(1)
    for _ in range(CONFIGURATIONS):
        q = integrate(model, neutral(model), [draw.uniform(-1.0, 1.0) for _ in range(model.nv)])
        try:
            if all(pivot > ROUNDING * entry for pivot, entry in _pivots(model, q)):
                return False
        except ZeroDivisionError:
            continue
    return model.nv > 0


def _pivots(model: Model, q: list[float]) -> Iterator[tuple[float, float]]:
    """Pivots of the mass matrix, each with its entry on the diagonal."""
    if model.mimics:  # joints that follow others couple distant branches: no articulated bodies
        yield from _pivots_of(mass_matrix(model, q), [row[k] for k, row in enumerate(mass_matrix(model, q))])
        return
    X, S = joint_kinematics(model, q)
    Ic = composite_inertias(model, X)
    IA: PerBody[ArticulatedInertia] = {i: body.inertia.articulated() for i, body in enumerate(model.bodies)}
    for i, p in model.tip_to_base():
        columns, armature = S[i].columns, model.bodies[i].armature
        U = [IA[i] @ s for s in columns]
        D = [[s @ column + (armature if s is t else 0.0) for t, column in zip(columns, U, strict=True)] for s in columns]
        yield from _pivots_of(D, [s @ (Ic[i] @ s) + armature for s in columns])
        if p != WORLD:
            gains = []
            for row in inverse_symmetric(D):
                gain = Force.zero(i)
                for column, x in zip(U, row, strict=True):
                    gain = gain + column * x
                gains.append(gain)
            IA[p] = IA[p] + X[i].T @ IA[i].minus_product(U, gains)


def _pivots_of(A: list[list[float]], diagonal: list[float]) -> Iterator[tuple[float, float]]:
    _, inverses = factor(A)
    return zip((1.0 / x for x in inverses), diagonal, strict=True)
