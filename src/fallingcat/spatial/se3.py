"""Rigid motions: exponential, logarithm and Jacobians of SE(3), over any scalar.

A pose is (R, p); a twist is (v, w), linear part first. The 6 x 6 Jacobians are nested lists.
"""

from __future__ import annotations

from fallingcat.scalar import Scalar
from fallingcat.spatial import so3
from fallingcat.spatial.vec3 import (
    IDENTITY,
    Mat,
    Vec,
    add,
    cross,
    dot,
    mat,
    matadd,
    matmul,
    matscale,
    matsub,
    matvec,
    scale,
    skew,
)

Pose = tuple[Mat, Vec]
Twist = tuple[Vec, Vec]
Matrix6 = list[list[Scalar]]


def exp(twist: Twist) -> Pose:
    """The pose reached after moving with the body-fixed twist for one second."""
    v, w = twist
    c = so3.coefficients(dot(w, w), 3)
    wv = cross(w, v)
    W = skew(w)
    R = matadd(IDENTITY, matadd(matscale(c[1], W), matscale(c[2], matmul(W, W))))
    p = add(v, add(scale(c[2], wv), scale(c[3], cross(w, wv))))  # J_l(w) v
    return R, p


def log(pose: Pose) -> Twist:
    """The twist that reaches the pose in one second, turning by at most pi."""
    R, p = pose
    w = so3.log(R)
    return matvec(so3.left_jacobian_inverse(w), p), w


def left_jacobian(twist: Twist) -> Matrix6:
    """J with  exp(x + dx) = exp(J dx) exp(x)  to first order."""
    v, w = twist
    J = so3.left_jacobian(w)
    return _block_triangular(J, _coupling(v, w))


def left_jacobian_inverse(twist: Twist) -> Matrix6:
    """The inverse of the left Jacobian."""
    v, w = twist
    Jinv = so3.left_jacobian_inverse(w)
    return _block_triangular(Jinv, matscale(-1.0, matmul(Jinv, matmul(_coupling(v, w), Jinv))))


def _block_triangular(diagonal: Mat, corner: Mat) -> Matrix6:
    top = [[*diagonal[i], *corner[i]] for i in range(3)]
    bottom = [[0.0, 0.0, 0.0, *diagonal[i]] for i in range(3)]
    return top + bottom


def _coupling(v: Vec, w: Vec) -> Mat:
    """The upper right block of the left Jacobian (Barfoot 2017, eq. 7.86)."""
    c = so3.coefficients(dot(w, w), 5)
    V, W = skew(v), skew(w)
    WV, VW = matmul(W, V), matmul(V, W)
    WVW = matmul(W, VW)
    WWV, VWW = matmul(W, WV), matmul(VW, W)
    Q = matscale(0.5, V)
    Q = matadd(Q, matscale(c[3], matadd(matadd(WV, VW), WVW)))
    Q = matadd(Q, matscale(c[4], matsub(matadd(WWV, VWW), matscale(3.0, WVW))))
    return mat(matadd(Q, matscale(0.5 * (c[4] - 3.0 * c[5]), matadd(matmul(WVW, W), matmul(W, WVW)))))
