"""Mass matrix: the composite-rigid-body algorithm (Featherstone 2008, Table 6.2)."""

from __future__ import annotations

from fallingcat.algorithms import common_frame
from fallingcat.algorithms.common_frame import CommonFrame, is_shallow
from fallingcat.algorithms.dense import mirrored, transpose
from fallingcat.algorithms.joint_dynamics import add_armature
from fallingcat.algorithms.kinematics import PerBody, Vector, joint_kinematics
from fallingcat.algorithms.pair_table import PairTable, carrying_dofs, has_many_pairs, own_blocks
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Inertia, Transform


def composite_inertias(model: Model, X: PerBody[Transform]) -> PerBody[Inertia]:
    """Ic[i]: the inertia of body i and all that it carries, frozen, in body-i coordinates."""
    Ic = {i: body.inertia for i, body in enumerate(model.bodies)}
    for i, p in model.tip_to_base():
        if p != WORLD:
            Ic[p] = Ic[p] + X[i].T @ Ic[i]
    return Ic


MANY = 128
"""Degrees of freedom beyond which the pairs of joints of a deep tree are listed in a table instead of written out."""


def mass_matrix(model: Model, q: Vector) -> list[list[Scalar]]:
    """M(q), with kinetic energy nu^T M nu / 2."""
    if has_many_pairs(model, MANY):
        return _as_a_table(common_frame.common_frame(model, q))
    if not is_shallow(model):
        return _along_long_paths(common_frame.common_frame(model, q))
    X, S = joint_kinematics(model, q)
    Ic = composite_inertias(model, X)
    blocks: dict[tuple[int, int], list[list[Scalar]]] = {}
    for i, _ in model.tip_to_base():
        F = [Ic[i] @ s for s in S[i].columns]
        child = i
        for j in model.path(i):
            if j != i:
                F = [X[child].T @ f for f in F]
            block = [[s @ f for f in F] for s in S[j].columns]
            if j == i:  # symmetric to the last bit
                block = [[block[min(a, b)][max(a, b)] for b in range(len(F))] for a in range(len(F))]
            blocks[j, i] = block
            if j != i:
                blocks[i, j] = [list(row) for row in zip(*block, strict=True)]
            child = j
    return add_armature(model, model.gather_blocks(blocks))


def _along_long_paths(c: CommonFrame) -> list[list[Scalar]]:
    """The same in common coordinates, where no wrench has to be transformed on its way to the base."""
    model, Ic = c.model, common_frame.composite_inertias(c)
    blocks: dict[tuple[int, int], list[list[Scalar]]] = {}
    for i, _ in model.tip_to_base():
        F = [Ic[i] @ s for s in c.S[i].columns]
        for j in model.path(i):
            blocks[j, i] = [[s @ f for f in F] for s in c.S[j].columns]
            blocks[i, j] = mirrored(blocks[i, i]) if j == i else transpose(blocks[j, i])
    return add_armature(model, model.gather_blocks(blocks))


def _as_a_table(c: CommonFrame) -> list[list[Scalar]]:
    """The same with the pairs of joints listed."""
    model, Ic = c.model, common_frame.composite_inertias(c)
    axes = {k: s for i, _ in model.base_to_tip() for k, s in zip(model.dofs(i), c.S[i].columns, strict=True)}
    table = PairTable(model.nv, 6)
    start = table.columns([axes[k].entries() for k in range(model.nv)])
    own: dict[tuple[int, int], list[list[Scalar]]] = {}
    for i, _ in model.base_to_tip():
        F = [Ic[i] @ s for s in c.S[i].columns]
        own[i, i] = mirrored([[s @ f for f in F] for s in c.S[i].columns])
        for k, f in zip(model.dofs(i), F, strict=True):
            table.row(k, f.entries(), start, carrying_dofs(model, i))
    table.entries(add_armature(model, own_blocks(model, own)), lower=True)
    return table.matrix(symmetric=True)  # type: ignore[no-any-return]
