"""Mixed and inertial base twists in nu: how derivatives differ from those for a body-fixed one (papers 000, Sec. 4.1, and 004).

The state holds v_a, and v = X v_a is body-fixed. X depends on the pose H of the base; when H moves to H exp(z),

    d(X v_a) = turn(v) z,           for a twist that is held in its own axes                     (1)
    d(X^T f) = X^T turn_force(f) z, for a body-fixed wrench f that is held; f_a = X^T f          (2)
    X (d v_a/dt) = a + drift(v),    a being the body-fixed acceleration                          (3)

Matrices are nv x nv; beside the block of the base, joint velocities are the same in all representations.
"""

from __future__ import annotations

from collections.abc import Sequence

from fallingcat.algorithms.dense import Matrix, Rows
from fallingcat.algorithms.posed import Vector, joint_kinematics
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Transform
from fallingcat.spatial.transform import Identity
from fallingcat.spatial.vec3 import ZERO, cross, skew


class View:
    """The body-fixed representation, where X = 1 and all other terms vanish; also that of a fixed base, which has no twist."""

    moves = False
    """Do the axes in which v_a is expressed move relative to the base?"""

    def __init__(self, model: Model, q: Vector) -> None:
        self.model, self.q = model, q
        transform = self.transform()
        self.X = self._with_joints(transform.matrix(), 1.0)
        """v = X v_a."""
        self.X_inverse = self._with_joints(transform.inverse().matrix(), 1.0)

    def turn(self, v: Vector) -> Matrix:
        """(1), the matrix of z -> d(X v_a)."""
        return self._with_joints(self.turn_6(_skew(v[:3]), _skew(v[3:6])), 0.0)

    def turn_force(self, f: Vector) -> Matrix:
        """(2), the matrix of z -> turn_force(f) z."""
        return self._with_joints(self.turn_force_6(_skew(f[:3]), _skew(f[3:6])), 0.0)

    def plus_drift(self, a: Vector, v: Vector) -> list[Scalar]:
        """(3): a + drift(v)."""
        drift = self.drift_3(v)
        return [x + d for x, d in zip(a, drift, strict=False)] + list(a[len(drift) :])

    def minus_drift(self, y: Vector, v: Vector) -> list[Scalar]:
        """(3) solved for a: y - drift(v)."""
        drift = self.drift_3(v)
        return [x - d for x, d in zip(y, drift, strict=False)] + list(y[len(drift) :])

    def drift_dv(self, v: Vector) -> Matrix:
        """The derivative of drift(v)."""
        return self._with_joints(self.drift_dv_6(_skew(v[:3]), _skew(v[3:6])), 0.0)

    def by_velocity(self, nu: Vector, dq: Matrix, dv: Matrix) -> tuple[Matrix, Matrix]:
        """Derivatives of f(q, X nu_a) by q, with nu_a held, and by nu_a; from those of f(q, nu)."""
        return dq, dv

    def by_acceleration(self, nu: Vector, y: Vector, dq: Matrix, dv: Matrix, da: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Likewise derivatives of f(q, nu, dnu) by q, nu_a and dnu_a, with dnu = y - drift(nu), y = X dnu_a held with nu_a."""
        return dq, dv, da

    def _with_joints(self, block: Rows, joints: float) -> Matrix:
        """blkdiag(a 6 x 6 block for the base, a multiple of the identity for the joints); a fixed base has no block."""
        base, n = self.model.nv - self.model.n, self.model.n
        between = Matrix.zero(base, n)
        return Matrix.blocks([[Matrix(block, 6)[:base, :base], between], [between.T, joints * Matrix.identity(n)]])

    # What a representation defines, from the blocks V = v^, W = w^ of a twist, or F, N of a wrench.

    def transform(self) -> Transform:
        return Identity.between(0, 0)

    def turn_6(self, V: Matrix, W: Matrix) -> Matrix:
        return Matrix.zero(6, 6)

    def turn_force_6(self, F: Matrix, N: Matrix) -> Matrix:
        return Matrix.zero(6, 6)

    def drift_3(self, v: Vector) -> Sequence[Scalar]:
        return ()

    def drift_dv_6(self, V: Matrix, W: Matrix) -> Matrix:
        return Matrix.zero(6, 6)


NONE = Matrix.zero(3, 3)


class MovingView(View):
    """A representation in which the axes of v_a move relative to the base."""

    moves = True

    def by_velocity(self, nu: Vector, dq: Matrix, dv: Matrix) -> tuple[Matrix, Matrix]:
        return dq + dv @ self.turn(nu), dv @ self.X

    def by_acceleration(self, nu: Vector, y: Vector, dq: Matrix, dv: Matrix, da: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        dq, dv = self.by_velocity(nu, dq, dv - da @ self.drift_dv(nu))
        return dq + da @ self.turn(y), dv, da @ self.X


class Inertial(MovingView):
    """v_a is the twist of the base in the coordinates of the world: X is the adjoint of the pose, turn(v) = ad(v)."""

    def transform(self) -> Transform:
        return joint_kinematics(self.model, self.q)[0][0]

    def turn_6(self, V: Matrix, W: Matrix) -> Matrix:
        return Matrix.blocks([[W, V], [NONE, W]])

    def turn_force_6(self, F: Matrix, N: Matrix) -> Matrix:
        return Matrix.blocks([[NONE, -F], [-F, -N]])


class Mixed(MovingView):
    """v_a is in the axes of the world, about the origin of the base; its rate has the additional term w x v."""

    def transform(self) -> Transform:
        X_0w = joint_kinematics(self.model, self.q)[0][0]
        return Transform(X_0w.E, ZERO, X_0w.a, X_0w.b)

    def turn_6(self, V: Matrix, W: Matrix) -> Matrix:
        return Matrix.blocks([[NONE, V], [NONE, W]])

    def turn_force_6(self, F: Matrix, N: Matrix) -> Matrix:
        return Matrix.blocks([[NONE, -F], [NONE, -N]])

    def drift_3(self, v: Vector) -> Sequence[Scalar]:
        return cross((v[3], v[4], v[5]), (v[0], v[1], v[2]))

    def drift_dv_6(self, V: Matrix, W: Matrix) -> Matrix:
        return Matrix.blocks([[W, -V], [NONE, NONE]])


VIEWS: dict[str, type[View]] = {"body": View, "mixed": Mixed, "inertial": Inertial}


def view_of(model: Model, q: Vector, representation: str) -> View:
    """The representation of the base twist, for a robot at a configuration."""
    return (VIEWS[representation] if model.floating else View)(model, q)


def _skew(x: Vector) -> Matrix:
    """x^, 3 x 3; zero if x has fewer entries, as it may for a fixed base."""
    return Matrix(skew((x[0], x[1], x[2]))) if len(x) == 3 else Matrix.zero(3, 3)
