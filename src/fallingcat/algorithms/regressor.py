"""Derivatives with respect to the inertial parameters.

Inverse dynamics is linear in the ten parameters (m, h, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) of every body:
    tau = Y(q, nu, dnu) pi,      column of body i, parameter k:  Y = S^T (I_k a_i + v_i x* I_k v_i),
with I_k the inertia whose k-th parameter is one. Forward dynamics follows from it: dFD/dpi = -M^-1 Y.
"""

from __future__ import annotations

from fallingcat.algorithms.aba import forward_dynamics
from fallingcat.algorithms.dense import Matrix
from fallingcat.algorithms.minverse import inverse_mass_matrix
from fallingcat.algorithms.posed import NO_FORCES, Posed, Vector, Wrenches, common, motions
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Inertia

PARAMETERS = 10


def inverse_dynamics_regressor(model: Model, q: Vector, nu: Vector, dnu: Vector) -> list[list[Scalar]]:
    """Y, nv x 10 per body, bodies in the order of `model.bodies`; without the torques within joints, such as friction."""
    r = common(model, q)
    v, a = motions(r, nu, dnu, r.gravity)
    columns: list[list[Scalar]] = []
    for i, _ in model.base_to_tip():
        v_i, a_i = r.X_own[i] @ v[i], r.X_own[i] @ a[i]
        for k in range(PARAMETERS):
            I_k = Inertia.of([1.0 if m == k else 0.0 for m in range(PARAMETERS)], i)
            columns.append(_torques(r, i, r.wrench(i, I_k @ a_i + v_i.cross(I_k @ v_i))))
    return Matrix(columns, model.nv).T.rows


def _torques(r: Posed, i: int, f: Force) -> list[Scalar]:
    """The generalized forces that balance a wrench on body i."""
    return r.model.gather({j: r.S[j].power(f) for j in r.model.path(i)})


def forward_dynamics_parameter_derivatives(
    model: Model, q: Vector, nu: Vector, tau: Vector, f_ext: Wrenches = NO_FORCES
) -> list[list[Scalar]]:
    """dFD/dpi = -M^-1 Y, nv x 10 per body, at the accelerations of the forward dynamics."""
    dnu = forward_dynamics(model, q, nu, tau, f_ext)
    Y = inverse_dynamics_regressor(model, q, nu, dnu)
    return Matrix(inverse_mass_matrix(model, q), model.nv).minus_times(Matrix(Y, PARAMETERS * len(model.bodies))).rows
