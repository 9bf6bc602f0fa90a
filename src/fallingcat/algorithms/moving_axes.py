"""How the axes of a joint change with its own coordinates.

The derivatives of S and of c = ring nu come from running the joint on first-order numbers, so that a new joint type needs no
derivative of its own. For most joints S is constant in the body, and there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fallingcat.algorithms.posed import Posed, Vector
from fallingcat.model.joints import JointModel
from fallingcat.scalar import Scalar
from fallingcat.spatial import Motion, Subspace, dual
from fallingcat.spatial.dual import Dual


@dataclass(frozen=True)
class AxisDerivatives:
    """How the axes of a joint change in its body, per axis k, in common coordinates."""

    dS: list[list[Motion]]
    """The change of every axis when the joint moves along axis k."""
    D: list[Motion]
    """dS nu."""
    dS_dnu: list[Motion]
    """dS times the joint's acceleration."""
    dc_dq: list[Motion]
    """The change of c = ring nu when the joint moves along axis k."""
    dc_dnu: list[Motion]
    """The derivative of c with respect to velocity k."""


def axis_derivatives(r: Posed, i: int, nu: Vector, dnu: Vector) -> AxisDerivatives:
    """The derivatives of joint i's axes; all zero when these are constant."""
    model, joint = r.model, r.model.bodies[i].joint
    n, still = joint.nv, Motion.zero(r.S[i].frame)
    if not joint.axes_move:
        return AxisDerivatives([[still] * n] * n, [still] * n, [still] * n, [still] * n, [still] * n)
    q, speed, rate = model.coordinates(i, r.q), model.speeds(i, nu), model.speeds(i, dnu)

    def common(column: Sequence[Scalar]) -> Motion:
        return r.from_body(i, Motion.of(column, i))

    dS: list[list[Motion]] = []
    dc_dq, dc_dnu = [], []
    for k in range(n):
        e = [1.0 if m == k else 0.0 for m in range(n)]
        moved = joint.integrate(q, [Dual(0.0, x) for x in e])
        dS.append([common(dual.rates([*lin, *ang])) for lin, ang in joint.columns(moved)])
        dc_dq.append(common(dual.rates(_ring_times(joint, moved, speed))))
        dc_dnu.append(common(dual.rates(_ring_times(joint, q, [Dual(x, y) for x, y in zip(speed, e, strict=True)]))))

    turned = [Subspace(tuple(columns), r.S[i].frame) for columns in dS]
    return AxisDerivatives(dS, [d @ speed for d in turned], [d @ rate for d in turned], dc_dq, dc_dnu)


def _ring_times(joint: JointModel, q: Sequence[Any], nu: Sequence[Any]) -> list[Any]:
    """c = ring nu, in body coordinates."""
    total: list[Any] = [0.0] * 6
    for (lin, ang), x in zip(joint.ring(q, nu), nu, strict=True):
        total = [t + x * y for t, y in zip(total, [*lin, *ang], strict=True)]
    return total
