"""Whether a robot's mass matrix is singular whatever its configuration: some motion then meets no inertia.

The articulated bodies factor the mass matrix, M = L^T D L (see `minverse`). A pivot of D that is nothing but the rounding of
the diagonal of M, in two configurations drawn at random, says that no digit of an acceleration would be right.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from fallingcat.algorithms.aba import articulated_bodies
from fallingcat.algorithms.configuration import integrate, neutral
from fallingcat.algorithms.crba import mass_matrix
from fallingcat.algorithms.dense import factor
from fallingcat.algorithms.posed import body, composite_inertias
from fallingcat.model.joints import FreeFlyer
from fallingcat.model.model import Model

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
        M = mass_matrix(model, q)
        yield from _pivots_of(M, [row[k] for k, row in enumerate(M)])
        return
    r = body(model, q)
    Ic, D = composite_inertias(r), articulated_bodies(r).D
    for i, _ in model.tip_to_base():
        yield from _pivots_of(D[i], [s @ (Ic[i] @ s) + model.bodies[i].armature for s in r.S[i].columns])


def _pivots_of(A: list[list[float]], diagonal: list[float]) -> Iterator[tuple[float, float]]:
    _, inverses = factor(A)
    return zip((1.0 / x for x in inverses), diagonal, strict=True)
