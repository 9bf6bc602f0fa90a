"""Detects whether the mass matrix is singular, and at which joints: motion along them then meets no inertia.

Compiled functions that invert the mass matrix give NaN where a pivot is zero (`pivots`). This module names the joints
that cause it, and recognizes robots that are singular whatever their configuration.
"""

from __future__ import annotations

import random
from dataclasses import replace

from fallingcat.algorithms.articulated import articulated_bodies
from fallingcat.algorithms.configuration import integrate, neutral
from fallingcat.algorithms.crba import mass_matrix
from fallingcat.algorithms.dense import factor
from fallingcat.algorithms.pivots import least_pivots_by_dof
from fallingcat.algorithms.posed import Vector, body
from fallingcat.model.joints import FreeFlyer
from fallingcat.model.model import Model

CONFIGURATIONS = 2
"""Number of random configurations: a robot that is singular in all of them counts as singular everywhere."""


def is_singular(model: Model) -> bool:
    """Is the mass matrix singular whatever the configuration?"""
    return bool(always_zero_inertia(model))


def always_zero_inertia(model: Model) -> list[str]:
    """Joints without inertia, if the mass matrix is singular in all random configurations: those of the last one; else none."""
    draw = random.Random(1)
    joints: list[str] = []
    for _ in range(CONFIGURATIONS):
        step = [draw.uniform(-1.0, 1.0) for _ in range(model.nv)]
        joints = zero_inertia_joints(model, integrate(model, neutral(model), step))
        if not joints:
            break
    return joints


def zero_inertia_joints(model: Model, q: Vector) -> list[str]:
    """The joints that meet no inertia at a configuration of floats, outermost first; the same in every representation."""
    if model.floating:  # body-fixed, where the mass matrix does not depend on the pose of the base
        model = replace(model, bodies=(replace(model.bodies[0], joint=FreeFlyer()), *model.bodies[1:]))
    dofs = set(_zero_pivots(model, list(q)))
    return [body.joint_name for i, body in reversed(list(enumerate(model.bodies))) if dofs & set(model.dofs(i))]


def _zero_pivots(model: Model, q: list[float]) -> list[int]:
    """The entries of nu whose pivots are zero; a pivot that is NaN because another one is zero does not count."""
    least = least_pivots_by_dof(model)
    if model.mimics:  # joints that follow others couple distant branches: no articulated bodies
        _, inverses = factor(mass_matrix(model, q), least)
        first = next((k for k, x in enumerate(inverses) if x != x), None)
        return [] if first is None else [first]
    D, zero = articulated_bodies(body(model, q)).D, []
    for i, _ in model.tip_to_base():
        dofs = model.dofs(i)
        is_nan = any(x != x for row in D[i] for x in row)
        _, inverses = factor(D[i], [least[k] for k in dofs])
        zero += [k for k, x in zip(dofs, inverses, strict=True) if x != x and not is_nan][:1]
    return zero
