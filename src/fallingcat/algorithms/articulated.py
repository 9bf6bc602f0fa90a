"""Articulated bodies: the passes that forward dynamics, the inverse mass matrix and constraints share.

IA is the inertia that a body shows when the joints beyond it give way (Featherstone 2008, Sec. 7.2), for joints of any number
of axes. With U = IA S and D = S^T U, what a joint transmits to its parent is IA - U D^-1 U^T.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fallingcat.algorithms.dense import Matrix
from fallingcat.algorithms.pivots import least_pivots
from fallingcat.algorithms.posed import PerBody, Posed, Vector, inwards
from fallingcat.model.model import WORLD
from fallingcat.spatial import ArticulatedInertia, Force


@dataclass(frozen=True)
class Articulated:
    """The articulated bodies of a robot: what forward dynamics and the inverse mass matrix share."""

    robot: Posed
    U: PerBody[list[Force]]
    """U = IA S."""
    D: PerBody[Matrix]
    """D = S^T U, rotor inertia included."""
    Dinv: PerBody[Matrix]
    """D^-1."""
    UDinv: PerBody[list[Force]]
    """U D^-1."""
    least: PerBody[list[float]]
    """The bound that each pivot of D must exceed, per axis (`pivots`)."""
    Ia: PerBody[ArticulatedInertia]
    """The articulated inertia IA of a body; once its joint is eliminated, IA - U D^-1 U^T, which it passes to the parent."""

    @staticmethod
    def of(r: Posed) -> Articulated:
        """The start of the recursion: rigid bodies, with no joint eliminated yet."""
        rigid = {i: I.articulated() for i, I in r.I.items()}
        return Articulated(r, {}, {}, {}, {}, least_pivots(r.model), rigid | {WORLD: ArticulatedInertia.zero(r.root)})


def articulate(b: Articulated) -> Iterator[int]:
    """Eliminate the joints from the tips inwards; yields each body once its articulated inertia is known."""
    r, IA = b.robot, b.Ia
    for i in inwards(r, IA):
        b.U[i] = [IA[i] @ s for s in r.S[i].columns]
        SU = Matrix([[s @ column for column in b.U[i]] for s in r.S[i].columns])
        b.D[i] = SU.plus_diagonal([r.model.bodies[i].armature] * len(SU))
        b.Dinv[i] = b.D[i].inverse_symmetric(b.least[i])
        b.UDinv[i] = [combination(b.U[i], column) for column in b.Dinv[i]]
        IA[i] = IA[i].minus_product(b.U[i], b.UDinv[i])
        yield i


def articulated_bodies(r: Posed) -> Articulated:
    """The articulated bodies of a robot, with all joints eliminated."""
    b = Articulated.of(r)
    for _ in articulate(b):
        pass
    return b


def combination(columns: list[Force], x: Vector) -> Force:
    """The linear combination of wrenches with the coefficients x."""
    total = Force.zero(columns[0].frame)
    for column, xk in zip(columns, x, strict=True):
        total = total + column * xk
    return total
