"""Mass matrix: the composite-rigid-body algorithm (Featherstone 2008, Table 6.2)."""

from __future__ import annotations

from fallingcat.algorithms.dense import mirrored, transpose
from fallingcat.algorithms.joint_dynamics import add_armature
from fallingcat.algorithms.pair_table import PairTable, carrying_dofs, has_many_pairs, own_blocks
from fallingcat.algorithms.posed import Posed, Vector, body, common, composite_inertias, is_shallow
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar

MANY = 128
"""Degrees of freedom beyond which the pairs of joints of a deep tree are listed in a table instead of written out."""


def mass_matrix(model: Model, q: Vector) -> list[list[Scalar]]:
    """M(q), with kinetic energy nu^T M nu / 2."""
    if has_many_pairs(model, MANY):
        return _as_a_table(common(model, q))
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


def _as_a_table(r: Posed) -> list[list[Scalar]]:
    """The same in common coordinates, with the pairs of joints listed."""
    model, Ic = r.model, composite_inertias(r)
    axes = {k: s for i, _ in model.base_to_tip() for k, s in zip(model.dofs(i), r.S[i].columns, strict=True)}
    table = PairTable(model.nv, 6)
    start = table.columns([axes[k].entries() for k in range(model.nv)])
    own: dict[tuple[int, int], list[list[Scalar]]] = {}
    for i, _ in model.base_to_tip():
        F = [Ic[i] @ s for s in r.S[i].columns]
        own[i, i] = mirrored([[s @ f for f in F] for s in r.S[i].columns])
        for k, f in zip(model.dofs(i), F, strict=True):
            table.row(k, f.entries(), start, carrying_dofs(model, i))
    table.entries(add_armature(model, own_blocks(model, own)), lower=True)
    return table.matrix(symmetric=True)  # type: ignore[no-any-return]
