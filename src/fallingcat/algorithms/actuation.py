"""What inputs do to a robot: generalized forces S(q) u, of joint torques and of wrenches that are fixed to frames.

A wrench on a frame of the floating base is a constant column of S; on any other body it is J^T w, which moves with q. As
external wrenches, the derivatives of such inputs with respect to q enter the derivatives of dynamics by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

from fallingcat.algorithms.dense import Block
from fallingcat.algorithms.held_wrenches import HeldWrenches
from fallingcat.algorithms.kinematics import body_forces, frame_transform, joint_kinematics
from fallingcat.algorithms.posed import PerBody, Vector, Wrenches
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force


@dataclass(frozen=True)
class FrameInput:
    """An input that acts as a wrench on a frame."""

    column: int
    frame: str
    wrench: tuple[float, ...]
    """(6,): the wrench of a unit input, in the coordinates of the frame."""


@dataclass(frozen=True)
class Actuation:
    """S(q) of m inputs: a constant nv x m matrix, and wrenches on frames."""

    m: int
    matrix: tuple[tuple[float, ...], ...]
    frames: tuple[FrameInput, ...] = ()

    @property
    def constant(self) -> bool:
        """Does S not depend on q?"""
        return not self.frames


def actuation_matrix(model: Model, q: Vector, actuation: Actuation) -> Block:
    """S(q), nv x m."""
    S: Block = [list(row) for row in actuation.matrix]
    X, axes = joint_kinematics(model, q)
    for unit in actuation.frames:
        place = model.frame(unit.frame)
        f = frame_transform(place).T @ Force.of(unit.wrench, "frame")
        torques: PerBody[list[Scalar]] = {}
        for j in model.path(place.body):
            torques[j] = axes[j].power(f)
            f = X[j].T @ f
        for row, x in zip(S, model.gather(torques), strict=True):
            row[unit.column] = row[unit.column] + x
    return S


def driven(model: Model, u: Vector, actuation: Actuation) -> tuple[list[Scalar], Wrenches]:
    """What the inputs u (m,) apply: generalized forces (nv,) by the constant part of S, and wrenches on bodies by the rest."""
    tau = [sum((s * x for s, x in zip(row, u, strict=True)), 0.0) for row in actuation.matrix]
    total = Wrenches()
    for unit in actuation.frames:
        total = add_wrenches(total, body_forces(model, {unit.frame: [x * u[unit.column] for x in unit.wrench]}))
    return tau, total


def add_wrenches(first: Wrenches, second: Wrenches) -> Wrenches:
    """The sum of two sets of wrenches on bodies; if the first ones are held in other axes (`HeldWrenches`), it keeps that."""
    both = HeldWrenches(first.held) if isinstance(first, HeldWrenches) else Wrenches(first)
    for i, f in second.items():
        both[i] = both[i] + f
    return both


def base_column(model: Model, frame: str, wrench: tuple[float, ...]) -> list[float] | None:
    """The column of a wrench on a frame of the floating base, which is constant; None if it is on another body."""
    place = model.frame(frame)
    if not model.floating or place.body != 0:
        return None
    return [*(frame_transform(place).T @ Force.of(wrench, "frame")).entries(), *[0.0] * model.n]


def moves_nothing(model: Model, frame: str) -> bool:
    """Is the frame welded to the world?"""
    return model.frame(frame).body == WORLD
