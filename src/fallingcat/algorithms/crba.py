"""Mass matrix: the composite-rigid-body algorithm (Featherstone 2008, Table 6.2)."""

from __future__ import annotations

from fallingcat.algorithms.dense import Block
from fallingcat.algorithms.joint_dynamics import rotor_inertias
from fallingcat.algorithms.pairs import Pairs
from fallingcat.algorithms.posed import Posed, Vector, body, common, composite_inertias
from fallingcat.model.model import Model
from fallingcat.scalar import cheapest


def mass_matrix(model: Model, q: Vector) -> Block:
    """M(q), with kinetic energy nu^T M nu / 2."""
    return cheapest(q, lambda: mass_matrix_in(body(model, q)), lambda: mass_matrix_in(common(model, q)))


def mass_matrix_in(r: Posed) -> Block:
    """M of a posed robot, nv x nv; in common coordinates no wrench has to be transformed on its way to the base."""
    Ic, M = composite_inertias(r), Pairs(r.model, symmetric=True)
    for i, _ in r.model.tip_to_base():
        F = [Ic[i] @ s for s in r.S[i].columns]
        for j in r.model.path(i):
            M[i, j] = F, r.S[j].columns
            F = [r.X[j].T @ f for f in F]
    M.add_diagonal(rotor_inertias(r.model))
    return M.matrix()
