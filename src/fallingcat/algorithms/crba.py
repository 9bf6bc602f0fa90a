"""Mass matrix: the composite-rigid-body algorithm (Featherstone 2008, Table 6.2)."""

from __future__ import annotations

from fallingcat.algorithms.dense import mirrored, transpose
from fallingcat.algorithms.joint_dynamics import add_armature
from fallingcat.algorithms.posed import Posed, Vector, body, common, composite_inertias, is_shallow
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar


def mass_matrix(model: Model, q: Vector) -> list[list[Scalar]]:
    """M(q), with kinetic energy nu^T M nu / 2."""
    return mass_matrix_in((body if is_shallow(model) else common)(model, q))


def mass_matrix_in(r: Posed) -> list[list[Scalar]]:
    """The same in any coordinates; in common ones no wrench has to be transformed on its way to the base."""
    model, Ic = r.model, composite_inertias(r)
    blocks: dict[tuple[int, int], list[list[Scalar]]] = {}
    for i, _ in model.tip_to_base():
        F = [Ic[i] @ s for s in r.S[i].columns]
        for j in model.path(i):
            block = [[s @ f for f in F] for s in r.S[j].columns]
            blocks[i, j], blocks[j, i] = transpose(block), block
            F = [r.X[j].T @ f for f in F]
        blocks[i, i] = mirrored(blocks[i, i])
    return add_armature(model, model.gather_blocks(blocks))
