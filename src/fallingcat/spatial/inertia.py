"""Rigid-body and articulated-body inertias over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fallingcat.errors import FrameError
from fallingcat.scalar import Scalar
from fallingcat.spatial.vec3 import (
    SYM_ZERO,
    ZERO,
    ZERO_MATRIX,
    Mat,
    Sym,
    Vec,
    add,
    cross,
    dot,
    matadd,
    matTvec,
    matvec,
    scale,
    skew,
    sub,
    sym_add,
    sym_full,
    sym_matvec,
    sym_outer,
    sym_scale,
    sym_sub,
    vec,
)
from fallingcat.spatial.vectors import Force, Frame, Motion


def _check(inertia: Inertia | ArticulatedInertia, other: Motion | Inertia | ArticulatedInertia) -> None:
    if inertia.frame != other.frame:
        raise FrameError(f"frames differ: an inertia in {inertia.frame!r} and a quantity in {other.frame!r}")


@dataclass(frozen=True, slots=True)
class Inertia:
    """The inertia of a rigid body about the origin of a frame, in its axes: ten numbers."""

    mass: Scalar
    h: Vec
    """First moment of mass about the frame's origin, mass times centre of mass."""
    I: Sym
    """Rotational inertia about the frame's origin."""
    frame: Frame

    @staticmethod
    def zero(frame: Frame) -> Inertia:
        return Inertia(0.0, ZERO, SYM_ZERO, frame)

    @staticmethod
    def from_com(mass: Scalar, com: Vec, I_com: Sym, frame: Frame) -> Inertia:
        """The inertia of a body with this centre of mass and rotational inertia about it (parallel axes)."""
        h = scale(mass, com)
        xx, yy, zz = h[0] * com[0], h[1] * com[1], h[2] * com[2]
        I = (
            I_com[0] + (yy + zz),
            I_com[1] - h[0] * com[1],
            I_com[2] - h[0] * com[2],
            I_com[3] + (xx + zz),
            I_com[4] - h[1] * com[2],
            I_com[5] + (xx + yy),
        )
        return Inertia(mass, h, I, frame)

    @staticmethod
    def of(parameters: Sequence[Scalar], frame: Frame) -> Inertia:
        """The inertia with the ten parameters (m, h, Ixx, Ixy, Ixz, Iyy, Iyz, Izz)."""
        m, *rest = parameters
        return Inertia(m, vec(rest[:3]), tuple(rest[3:9]), frame)

    def about_com(self) -> Sym:
        """Rotational inertia about the centre of mass, for a body with mass."""
        com = scale(1.0 / self.mass, self.h)
        hc, cc = dot(self.h, com), sym_outer(com)
        shift = (hc - self.mass * cc[0], -self.mass * cc[1], -self.mass * cc[2])
        rest = (hc - self.mass * cc[3], -self.mass * cc[4], hc - self.mass * cc[5])
        xx, xy, xz, yy, yz, zz = (a - b for a, b in zip(self.I, (*shift, *rest), strict=True))
        return (xx, xy, xz, yy, yz, zz)

    def parameters(self) -> list[Scalar]:
        """The ten parameters (m, h, Ixx, Ixy, Ixz, Iyy, Iyz, Izz), in which the dynamics is linear."""
        return [self.mass, *self.h, *self.I]

    def __matmul__(self, v: Motion) -> Force:
        """The momentum of the body moving with v."""
        _check(self, v)
        lin = sub(scale(self.mass, v.lin), cross(self.h, v.ang))
        return Force(lin, add(cross(self.h, v.lin), sym_matvec(self.I, v.ang)), self.frame)

    def __add__(self, other: Inertia) -> Inertia:
        _check(self, other)
        return Inertia(self.mass + other.mass, add(self.h, other.h), sym_add(self.I, other.I), self.frame)

    def inverse(self) -> InverseInertia:
        """The inverse, for a body with mass, computed about its centre of mass."""
        xx, xy, xz, yy, yz, zz = self.about_com()
        a, b, c = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy  # cofactors
        scale_ = 1.0 / (xx * a + xy * b + xz * c)
        inverse = (a, b, c, xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy)
        return InverseInertia(1.0 / self.mass, scale(1.0 / self.mass, self.h), sym_scale(scale_, inverse), self.frame)

    def articulated(self) -> ArticulatedInertia:
        m = self.mass
        h = self.h
        H: Mat = ((0.0, h[2], -h[1]), (-h[2], 0.0, h[0]), (h[1], -h[0], 0.0))  # -h^
        return ArticulatedInertia((m, 0.0, 0.0, m, 0.0, m), H, self.I, self.frame)

    def matrix(self) -> list[list[Scalar]]:
        """The 6 x 6 matrix, linear rows first."""
        m, H, I = self.mass, skew(self.h), sym_full(self.I)
        top = [[m if i == j else 0.0 for j in range(3)] + [-x for x in H[i]] for i in range(3)]
        return top + [[*H[i], *I[i]] for i in range(3)]


@dataclass(frozen=True, slots=True)
class InverseInertia:
    """The inverse of an inertia, which takes a momentum to the twist that causes it."""

    per_mass: Scalar
    com: Vec
    I: Sym
    """The inverse of the rotational inertia about the centre of mass."""
    frame: Frame

    def __matmul__(self, f: Force) -> Motion:
        ang = sym_matvec(self.I, sub(f.ang, cross(self.com, f.lin)))
        return Motion(add(scale(self.per_mass, f.lin), cross(self.com, ang)), ang, self.frame)


@dataclass(frozen=True, slots=True)
class ArticulatedInertia:
    """Any symmetric 6 x 6 matrix [[A, H], [H^T, I]] from motions to wrenches."""

    A: Sym
    H: Mat
    I: Sym
    frame: Frame

    @staticmethod
    def zero(frame: Frame) -> ArticulatedInertia:
        return ArticulatedInertia(SYM_ZERO, ZERO_MATRIX, SYM_ZERO, frame)

    def __matmul__(self, v: Motion) -> Force:
        _check(self, v)
        lin = add(sym_matvec(self.A, v.lin), matvec(self.H, v.ang))
        return Force(lin, add(matTvec(self.H, v.lin), sym_matvec(self.I, v.ang)), self.frame)

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        _check(self, other)
        return ArticulatedInertia(sym_add(self.A, other.A), matadd(self.H, other.H), sym_add(self.I, other.I), self.frame)

    def minus_product(self, columns: Sequence[Force], rows: Sequence[Force]) -> ArticulatedInertia:
        """This minus sum_k columns[k] rows[k]^T, a sum that must be symmetric."""
        A, H, I = self.A, self.H, self.I
        for u, w in zip(columns, rows, strict=True):
            A = sym_sub(A, _upper_outer(u.lin, w.lin))
            I = sym_sub(I, _upper_outer(u.ang, w.ang))
            H = (
                sub(H[0], scale(u.lin[0], w.ang)),
                sub(H[1], scale(u.lin[1], w.ang)),
                sub(H[2], scale(u.lin[2], w.ang)),
            )
        return ArticulatedInertia(A, H, I, self.frame)

    def matrix(self) -> list[list[Scalar]]:
        A, H, I = sym_full(self.A), self.H, sym_full(self.I)
        top = [[*A[i], *H[i]] for i in range(3)]
        return top + [[H[0][i], H[1][i], H[2][i], *I[i]] for i in range(3)]


def _upper_outer(a: Vec, b: Vec) -> Sym:
    return (a[0] * b[0], a[0] * b[1], a[0] * b[2], a[1] * b[1], a[1] * b[2], a[2] * b[2])
