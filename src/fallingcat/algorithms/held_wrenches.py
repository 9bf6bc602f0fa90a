"""Wrenches on bodies that are held fixed in axes of the world, not of the body.

As the algorithms take them, wrenches are in body coordinates. One that is given in other axes is turned to them by the pose of
its body, and it changes when the body moves by d (a displacement, in the coordinates of the wrench w = (f; n)):

    inertial, about the world's origin:             dw = -d x* w
    mixed, the world's orientation at points p:     dw = (-ang x f;  -ang x n + sum p (f . ang) - (p . f) ang)

The derivatives of dynamics assume dw = 0; as tau = M dnu + h - sum J^T w, the term -sum J^T dw has to be added to them.
"""

from __future__ import annotations

from dataclasses import dataclass

from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.kinematics import joint_kinematics, world_transforms
from fallingcat.algorithms.posed import PerBody, Posed, Vector, Wrenches
from fallingcat.model.model import WORLD, Model
from fallingcat.spatial import Force, Motion, Transform
from fallingcat.spatial.vec3 import Mat, add, cross, matadd, matTvec, neg, outer, scale, sub, transpose, vec

SIZES = {"body": 6, "mixed": 15, "inertial": 6}
"""Numbers per body: force and moment, and for mixed axes the sum of f p^T over the points p (in the body) that forces act at."""


class HeldWrenches(Wrenches):
    """Wrenches in body coordinates, together with how they change when the bodies move."""

    def __init__(self, held: PerBody[HeldWrench]) -> None:
        super().__init__({i: h.w for i, h in held.items()})
        self.held = held


@dataclass(frozen=True)
class HeldWrench:
    """A wrench that is held fixed in inertial axes, or in mixed ones."""

    w: Force
    moments: Mat | None = None
    """For mixed axes: the sum of f p^T over the points of action p, 3 x 3."""

    def change(self, d: Motion) -> Force:
        """dw when the body moves by d."""
        if self.moments is None:
            return -d.cross(self.w)
        trace = self.moments[0][0] + self.moments[1][1] + self.moments[2][2]
        points = sub(matTvec(self.moments, d.ang), scale(trace, d.ang))
        return Force(neg(cross(d.ang, self.w.lin)), sub(points, cross(d.ang, self.w.ang)), self.w.frame)

    def __add__(self, other: HeldWrench) -> HeldWrench:
        if self.moments is None or other.moments is None:
            return HeldWrench(self.w + other.w)
        return HeldWrench(self.w + other.w, matadd(self.moments, other.moments))

    def pulled_back(self, X: Transform) -> HeldWrench:
        """The same wrench in the coordinates that X transforms from: X^T w, with the points p there."""
        w = X.T @ self.w
        if self.moments is None:
            return HeldWrench(w)
        return HeldWrench(w, matadd(X.E.inverse_conjugate_general(self.moments), outer(w.lin, X.r)))


def on_bodies(model: Model, q: Vector, forces: Vector, axes: str) -> Wrenches:
    """Wrenches on all bodies, one after the other, in body coordinates or held in other axes."""
    size = SIZES[axes]
    parts = {i: forces[size * i : size * (i + 1)] for i in range(len(model.bodies))}
    if axes == "body":
        return Wrenches({i: Force.of(part, i) for i, part in parts.items()})
    X_w = world_transforms(model, joint_kinematics(model, q)[0])
    if axes == "inertial":
        return HeldWrenches({i: HeldWrench(X_w[i].inverse().T @ Force.of(part, WORLD)) for i, part in parts.items()})
    return HeldWrenches({i: _mixed(X_w[i], part) for i, part in parts.items()})


def _mixed(X_iw: Transform, part: Vector) -> HeldWrench:
    """Force, moment, and the rows of sum f p^T, all turned to the body; the points p are in the body already."""
    E = X_iw.E
    columns = [E.apply((part[6 + j], part[9 + j], part[12 + j])) for j in range(3)]
    Q = transpose((columns[0], columns[1], columns[2]))
    levers = (Q[2][1] - Q[1][2], Q[0][2] - Q[2][0], Q[1][0] - Q[0][1])  # sum p x f
    return HeldWrench(Force(E.apply(vec(part[:3])), add(E.apply(vec(part[3:6])), levers), X_iw.a), Q)


def held_in_subtrees(r: Posed, wrenches: Wrenches) -> PerBody[HeldWrench]:
    """The held wrenches, in common coordinates, summed over all that each joint carries; empty if wrenches are body-fixed."""
    if not isinstance(wrenches, HeldWrenches):
        return {}
    total = {i: h.pulled_back(r.X_own[i]) for i, h in wrenches.held.items()} | {WORLD: HeldWrench(Force.zero(r.root))}
    for i, p in r.model.tip_to_base():
        total[p] = total[p] + total[i]
    return total


def minus_torques_of_change(dq: Block, r: Posed, wrenches: Wrenches) -> Block:
    """dq (nv x nv) - sum J^T dw for displacements along every axis, of a robot in common coordinates."""
    total = held_in_subtrees(r, wrenches)
    if not total:
        return dq
    blocks: dict[tuple[int, int], Block] = {}
    for i in r.S:
        own = [total[i].change(s) for s in r.S[i].columns]
        for j in r.model.path(i):
            others = [total[i].change(s) for s in r.S[j].columns]
            blocks[i, j] = [[s @ w for w in others] for s in r.S[i].columns]
            blocks[j, i] = [[s @ w for w in own] for s in r.S[j].columns]
    return (Matrix(dq) - Matrix(r.model.gather_blocks(blocks))).rows
