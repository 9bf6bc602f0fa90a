"""Inverse of the mass matrix without the mass matrix (paper 002, Sec. IV; paper 000, Table 9 with errata 0.6-0.8).

Three passes over articulated bodies, in common coordinates, where wrenches and motions of different bodies simply
add: outwards for the axes, inwards for the articulated inertias and the columns F of wrenches, outwards for the columns
P of accelerations.
"""

from __future__ import annotations

from dataclasses import dataclass

from fallingcat.algorithms.common_frame import COMMON, CommonFrame, common_frame
from fallingcat.algorithms.crba import mass_matrix
from fallingcat.algorithms.dense import inverse_symmetric
from fallingcat.algorithms.kinematics import PerBody, Vector
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import ArticulatedInertia, Force, Motion

Block = list[list[Scalar]]


@dataclass(frozen=True)
class Articulated:
    """The articulated bodies of a robot: what forward dynamics and the inverse mass matrix share."""

    U: PerBody[list[Force]]
    """U = IA S."""
    Dinv: PerBody[Block]
    """D^-1 with D = S^T U, rotor inertia included."""
    Ia: PerBody[ArticulatedInertia]
    """IA - U D^-1 U^T: what the body's joint lets through."""


def articulated_bodies(c: CommonFrame) -> Articulated:
    """Articulated inertias, from the tips inwards."""
    model = c.model
    IA: PerBody[ArticulatedInertia] = {i: I.articulated() for i, I in c.I.items()}
    U: PerBody[list[Force]] = {}
    Dinv: PerBody[Block] = {}
    Ia: PerBody[ArticulatedInertia] = {}
    for i, p in model.tip_to_base():
        U[i] = [IA[i] @ s for s in c.S[i].columns]
        D = [[s @ column for column in U[i]] for s in c.S[i].columns]
        for k, row in enumerate(D):
            row[k] = row[k] + model.bodies[i].armature
        Dinv[i] = inverse_symmetric(D)
        if p != WORLD:
            UDinv = [_combine(U[i], column) for column in Dinv[i]]
            Ia[i] = IA[i].minus_product(U[i], UDinv)
            IA[p] = IA[p] + Ia[i]
    return Articulated(U, Dinv, Ia)


def inverse_mass_matrix(model: Model, q: Vector) -> Block:
    """M(q)^-1."""
    if model.mimics:  # joints that follow others couple distant branches: no articulated bodies
        return inverse_symmetric(mass_matrix(model, q))
    c = common_frame(model, q)
    return inverse_mass_matrix_in(c, articulated_bodies(c))


def inverse_mass_matrix_in(c: CommonFrame, bodies: Articulated) -> Block:
    """The inverse mass matrix of a robot in common coordinates."""
    model = c.model
    inverse: dict[tuple[int, int], Block] = {}
    F: PerBody[PerBody[list[Force]]] = {i: {} for i in range(WORLD, len(model.bodies))}
    for i, p in model.tip_to_base():
        S, U, Dinv = c.S[i].columns, bodies.U[i], bodies.Dinv[i]
        inverse[i, i] = Dinv
        for j, columns in F[i].items():  # j in the subtree of i
            inverse[i, j] = [[-x for x in row] for row in _times(Dinv, [[s @ f for f in columns] for s in S])]
        F[i][i] = [Force.zero(COMMON) for _ in S]
        if p != WORLD:
            for j, columns in F[i].items():
                F[p][j] = [f + _combine(U, column) for f, column in zip(columns, _columns(inverse[i, j]), strict=True)]

    P: PerBody[PerBody[list[Motion]]] = {WORLD: {}}
    for i, p in model.base_to_tip():
        S, U, Dinv = c.S[i].columns, bodies.U[i], bodies.Dinv[i]
        P[i] = {}
        for j in range(i, len(model.bodies)):
            above = P[p].get(j)
            block = inverse.get((i, j))
            if above is not None:
                correction = _times(Dinv, [[a @ u for a in above] for u in U])
                block = [[-x for x in row] for row in correction] if block is None else _minus(block, correction)
            if block is None:
                continue  # neither below joint i nor joined to it by a moving base
            inverse[i, j] = block
            inverse[j, i] = [list(row) for row in _columns(block)]
            own = [c.S[i] @ column for column in _columns(block)]
            P[i][j] = own if above is None else [a + b for a, b in zip(above, own, strict=True)]
    return model.gather_blocks(inverse)


def _combine(columns: list[Force], x: Vector) -> Force:
    total = columns[0] * x[0]
    for column, xk in zip(columns[1:], x[1:], strict=True):
        total = total + column * xk
    return total


def _columns(block: Block) -> Block:
    return [list(column) for column in zip(*block, strict=True)]


def _times(A: Block, B: Block) -> Block:
    return [[_dot(row, column) for column in _columns(B)] for row in A]


def _dot(a: Vector, b: Vector) -> Scalar:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def _minus(A: Block, B: Block) -> Block:
    return [[x - y for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]
