"""Mass matrix: the composite-rigid-body algorithm (Featherstone 2008, Table 6.2)."""

from __future__ import annotations

from fallingcat.algorithms import common_frame
from fallingcat.algorithms.common_frame import CommonFrame, is_shallow
from fallingcat.algorithms.dense import mirrored, transpose
from fallingcat.algorithms.joint_dynamics import add_armature
from fallingcat.algorithms.kinematics import PerBody, Vector, joint_kinematics
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Dots, Scalar, dots, tensor
from fallingcat.spatial import Inertia, Transform


def composite_inertias(model: Model, X: PerBody[Transform]) -> PerBody[Inertia]:
    """Ic[i]: the inertia of body i and all that it carries, frozen, in body-i coordinates."""
    Ic = {i: body.inertia for i, body in enumerate(model.bodies)}
    for i, p in model.tip_to_base():
        if p != WORLD:
            Ic[p] = Ic[p] + X[i].T @ Ic[i]
    return Ic


MANY = 128
"""Degrees of freedom from which on pairs of joints of a deep tree are listed in a table instead of written out."""


def mass_matrix(model: Model, q: Vector) -> list[list[Scalar]]:
    """M(q), with kinetic energy nu^T M nu / 2."""
    if not is_shallow(model):
        c = common_frame.common_frame(model, q)
        return _as_a_table(c) if model.nv > MANY and not model.mimics else _along_long_paths(c)
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
    """The same as a list of dot products of the wrenches F with the axes, which stays a loop in the compiled code."""
    model, nv, Ic = c.model, c.model.nv, common_frame.composite_inertias(c)
    F: list[Scalar] = []
    axes: dict[int, list[Scalar]] = {nv: [1.0, *[0.0] * 5]}  # the last one takes up entries that are known already
    jobs: list[Dots] = []
    for i, _ in model.base_to_tip():
        carrying = [k for j in model.path(i) if j != i for k in model.dofs(j)]
        armature = model.bodies[i].armature
        for k, s in zip(model.dofs(i), c.S[i].columns, strict=True):
            f = Ic[i] @ s
            axes[k] = s.entries()
            listed = carrying if armature else [*carrying, k]
            jobs += [Dots(len(F), first, count, k * nv + first, 1) for first, count in _runs(listed)]
            F += f.entries()
            if armature:
                jobs.append(Dots(len(F), nv, 1, k * nv + k, 1))
                F += [s @ f + armature, *[0.0] * 5]
            carrying.append(k)
    columns = transpose([axes[k] for k in range(nv + 1)])
    return tensor(dots(F, columns, jobs, nv * nv, side=nv), (nv, nv))  # type: ignore[no-any-return]


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """(first, count) of the stretches of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for k in sorted(numbers):
        if runs and k == sum(runs[-1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((k, 1))
    return runs
