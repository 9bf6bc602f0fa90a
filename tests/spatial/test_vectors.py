"""Twists, wrenches, transforms and rotations: dense matrices agree, power is invariant, mixed frames are refused."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from fallingcat.errors import FrameError
from fallingcat.spatial import AxisRotation, Force, MatrixRotation, Motion, Rotation, Subspace, Transform, axis_rotation, so3
from fallingcat.spatial.transform import Identity
from trees import ONE_FORMULA, hat, relative_error

KINDS = [float, complex, mpmath.mpf]


def real(x: object) -> np.ndarray:
    return np.vectorize(lambda y: float(y.real), otypes=[float])(np.array(x, dtype=object))


def tuples(A: np.ndarray) -> tuple:
    return tuple(map(tuple, A.tolist()))


def random_rotation(rng: np.random.Generator) -> MatrixRotation:
    return MatrixRotation(so3.exp(tuple(2 * rng.normal(size=3))))


def random_axis_rotation(rng: np.random.Generator, axis: int) -> AxisRotation:
    angle = rng.uniform(-3, 3)
    return AxisRotation(axis, np.cos(angle), np.sin(angle), random_rotation(rng).R)


def random_transform(rng: np.random.Generator, a: str, b: str) -> Transform:
    rotation = random_rotation(rng) if rng.random() < 0.5 else random_axis_rotation(rng, int(rng.integers(3)))
    return Transform(rotation, tuple(rng.normal(size=3).tolist()), a, b)


def dense(X: Transform) -> np.ndarray:
    """Motion transform from rotation and position, written from the definition (Featherstone 2008, eq. 2.24)."""
    E = np.array(X.E.matrix())
    return np.block([[E, -E @ hat(np.array(X.r))], [np.zeros((3, 3)), E]])


def motion(rng: np.random.Generator, frame: str, kind: type = float) -> Motion:
    return Motion.of([kind(x) for x in rng.normal(size=6)], frame)


def force(rng: np.random.Generator, frame: str, kind: type = float) -> Force:
    return Force.of([kind(x) for x in rng.normal(size=6)], frame)


# ---------------------------------------------------------------------------------------------------------------------
# Vectors


@pytest.mark.parametrize("kind", KINDS)
def test_cross_products_are_dense_matrices(kind: type, rng: np.random.Generator) -> None:
    """v x and v x* = -(v x)^T in (linear; angular) order."""
    v, m, f = motion(rng, "a", kind), motion(rng, "a", kind), force(rng, "a", kind)
    V, W = hat(real(v.lin)), hat(real(v.ang))
    crm = np.block([[W, V], [np.zeros((3, 3)), W]])
    assert relative_error(real(v.cross(m).entries()), crm @ real(m.entries())) < ONE_FORMULA
    assert relative_error(real(v.cross(f).entries()), -crm.T @ real(f.entries())) < ONE_FORMULA
    for x in (m, f):
        assert real(x.entries()).tolist() == [*real(x.lin), *real(x.ang)]


@pytest.mark.parametrize("kind", KINDS)
def test_vector_space(kind: type, rng: np.random.Generator) -> None:
    """Sums, differences, opposites and multiples, entry by entry."""
    for make in (motion, force):
        x, y = make(rng, "a", kind), make(rng, "a", kind)
        a, b = real(x.entries()), real(y.entries())
        assert relative_error(real((x + y).entries()), a + b) < ONE_FORMULA
        assert relative_error(real((x - y).entries()), a - b) < ONE_FORMULA
        assert relative_error(real((-x).entries()), -a) < ONE_FORMULA
        assert relative_error(real((2.5 * x).entries()), 2.5 * a) < ONE_FORMULA
        assert relative_error(real((x * 2.5).entries()), 2.5 * a) < ONE_FORMULA
        assert real((x + type(x).zero("a")).entries()).tolist() == a.tolist()


def test_jacobi_identity(rng: np.random.Generator) -> None:
    """a x (b x c) + b x (c x a) + c x (a x b) = 0: twists are a Lie algebra."""
    a, b, c = (motion(rng, "a") for _ in range(3))
    total = a.cross(b.cross(c)) + b.cross(c.cross(a)) + c.cross(a.cross(b))
    assert np.abs(total.entries()).max() < ONE_FORMULA


def test_subspace(rng: np.random.Generator) -> None:
    """S x and S^T f as dense products."""
    columns = tuple(motion(rng, "a") for _ in range(3))
    S, x, f = Subspace(columns, "a"), rng.normal(size=3), force(rng, "a")
    dense_S = np.column_stack([c.entries() for c in columns])
    assert len(S) == 3
    assert relative_error((S @ x).entries(), dense_S @ x) < ONE_FORMULA
    assert relative_error(S.power(f), dense_S.T @ f.entries()) < ONE_FORMULA


# ---------------------------------------------------------------------------------------------------------------------
# Transforms


def test_transform_is_its_matrix(rng: np.random.Generator) -> None:
    """X m, X^T f, X^-1 m and the printed matrix, against the dense matrix."""
    for _ in range(10):
        X = random_transform(rng, "a", "b")
        m, n, f = motion(rng, "b"), motion(rng, "a"), force(rng, "a")
        assert relative_error(X.matrix(), dense(X)) < ONE_FORMULA
        assert relative_error((X @ m).entries(), dense(X) @ m.entries()) < ONE_FORMULA
        assert relative_error((X.T @ f).entries(), dense(X).T @ f.entries()) < ONE_FORMULA
        assert relative_error(X.inverse().matrix(), np.linalg.inv(dense(X))) < ONE_FORMULA
        assert relative_error(X.inverse_times(n).entries(), np.linalg.solve(dense(X), n.entries())) < ONE_FORMULA


def test_the_identity_renames_frames_only(rng: np.random.Generator) -> None:
    one, X, Y = Identity.between("a", "b"), random_transform(rng, "b", "c"), random_transform(rng, "c", "a")
    v, w, f = motion(rng, "b"), motion(rng, "a"), force(rng, "a")
    assert one @ v == Motion(v.lin, v.ang, "a")
    assert one.inverse_times(w) == Motion(w.lin, w.ang, "b")
    assert one.T @ f == Force(f.lin, f.ang, "b")
    assert one @ X == Transform(X.E, X.r, "a", "c")
    assert Y @ one == Transform(Y.E, Y.r, "c", "b")
    others = (lambda: X @ one, lambda: one @ Y, lambda: one.inverse_times(v))
    for wrong in (lambda: one @ w, lambda: one.T @ force(rng, "b"), *others):
        with pytest.raises(FrameError):
            wrong()


def test_axes_that_are_carried_along(rng: np.random.Generator) -> None:
    """v x S and (S x) x S, of one axis and of several."""
    for n in (1, 2, 3):
        S, v, x = Subspace(tuple(motion(rng, "a") for _ in range(n)), "a"), motion(rng, "a"), rng.normal(size=n).tolist()
        for found, expected in (
            (S.turned_by(v), [v.cross(s) for s in S.columns]),
            (S.turned_by_itself(x), [(S @ x).cross(s) for s in S.columns]),
            (S.carried_along(v, x), [(v + S @ x).cross(s) for s in S.columns]),
        ):
            for a, b in zip(found.columns, expected, strict=True):
                assert relative_error(a.entries(), b.entries()) < ONE_FORMULA


def test_transforms_compose(rng: np.random.Generator) -> None:
    """X_ab X_bc = X_ac, associative, with inverses and a frame on each side."""
    for _ in range(10):
        X_ab, X_bc, X_cd = (random_transform(rng, *pair) for pair in ("ab", "bc", "cd"))
        X_ac = X_ab @ X_bc
        assert (X_ac.a, X_ac.b) == ("a", "c")
        assert relative_error(X_ac.matrix(), dense(X_ab) @ dense(X_bc)) < ONE_FORMULA
        assert relative_error(((X_ab @ X_bc) @ X_cd).matrix(), (X_ab @ (X_bc @ X_cd)).matrix()) < ONE_FORMULA
        back = X_ab @ X_ab.inverse()
        assert (back.a, back.b) == ("a", "a")
        assert relative_error(back.matrix(), np.eye(6)) < ONE_FORMULA


@pytest.mark.parametrize("kind", KINDS)
def test_power_does_not_depend_on_the_frame(kind: type, rng: np.random.Generator) -> None:
    """(X m) . f = m . (X^T f)."""
    X, m, f = random_transform(rng, "a", "b"), motion(rng, "b", kind), force(rng, "a", kind)
    assert relative_error(real((X @ m) @ f), real(m @ (X.T @ f))) < ONE_FORMULA


def test_transform_respects_the_bracket(rng: np.random.Generator) -> None:
    """X (u x v) = (X u) x (X v)."""
    X, u, v = random_transform(rng, "a", "b"), motion(rng, "b"), motion(rng, "b")
    assert relative_error((X @ u.cross(v)).entries(), (X @ u).cross(X @ v).entries()) < ONE_FORMULA


def test_pose_and_points(rng: np.random.Generator) -> None:
    """The pose of a in b takes a point's coordinates from a to b."""
    X, x = random_transform(rng, "a", "b"), rng.normal(size=3)
    H = np.array(X.pose_of_a_in_b())
    assert relative_error([*X.point(tuple(x)), 1.0], H @ [*x, 1.0]) < ONE_FORMULA
    assert relative_error(H[:3, :3], np.array(X.E.matrix()).T) < ONE_FORMULA


# ---------------------------------------------------------------------------------------------------------------------
# Frames


def test_mixed_frames_are_refused(rng: np.random.Generator) -> None:
    """Every operation on two quantities asks for one frame, and says which two met."""
    m, n, f, g = motion(rng, "a"), motion(rng, "b"), force(rng, "a"), force(rng, "b")
    X, Y = random_transform(rng, "a", "b"), random_transform(rng, "c", "d")
    wrong = [
        lambda: m + n, lambda: m - n, lambda: f + g, lambda: f - g, lambda: m.cross(n), lambda: m.cross(g), lambda: m @ g,
        lambda: X @ m, lambda: X.T @ g, lambda: X @ Y, lambda: X.inverse_times(n), lambda: Subspace((m,), "a").power(g),
    ]  # fmt: skip
    for operation in wrong:
        with pytest.raises(FrameError, match="frame"):
            operation()
    with pytest.raises(FrameError, match=r"'a'.*'b'"):
        m + n


# ---------------------------------------------------------------------------------------------------------------------
# Rotations that know their structure


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_axis_rotation_is_its_matrix(axis: int, kind: type, rng: np.random.Generator) -> None:
    """Every method of the factored form against the full matrix E = J^T P^T."""
    angle, P = rng.uniform(-3, 3), random_rotation(rng).R
    e = [0.0, 0.0, 0.0]
    e[axis] = angle
    E = np.array(so3.exp(tuple(e))).T @ np.array(P).T
    plain = MatrixRotation(tuples(E))
    factored = AxisRotation(axis, kind(np.cos(angle)), kind(np.sin(angle)), P)
    v, other = tuple(kind(x) for x in rng.normal(size=3)), random_rotation(rng)
    I = tuple(kind(x) for x in rng.normal(size=6))
    H = tuple(tuple(kind(x) for x in row) for row in rng.normal(size=(3, 3)))
    full = np.array([[I[0], I[1], I[2]], [I[1], I[3], I[4]], [I[2], I[4], I[5]]])
    moved = E.T @ real(full) @ E
    for rotation in (factored, plain):
        assert isinstance(rotation, Rotation)
        assert relative_error(real(rotation.matrix()), E) < ONE_FORMULA
        assert relative_error(real(rotation.apply(v)), E @ real(v)) < ONE_FORMULA
        assert relative_error(real(rotation.inverse_apply(v)), E.T @ real(v)) < ONE_FORMULA
        assert relative_error(real(rotation.inverse().matrix()), E.T) < ONE_FORMULA
        assert relative_error(real((rotation @ other).matrix()), E @ np.array(other.R)) < ONE_FORMULA
        assert relative_error(real((other @ rotation).matrix()), np.array(other.R) @ E) < ONE_FORMULA
        upper = real(rotation.inverse_conjugate(I))
        assert relative_error(upper, moved[np.triu_indices(3)]) < ONE_FORMULA
        assert relative_error(real(rotation.inverse_conjugate_general(H)), E.T @ real(H) @ E) < ONE_FORMULA


@pytest.mark.parametrize("axis", range(3))
def test_axis_rotation_in_either_form(axis: int, rng: np.random.Generator) -> None:
    """A sparse placement stays factored, a full one is multiplied out; both are the same rotation."""
    quarter = so3.exp(tuple(np.pi / 2 * np.eye(3)[axis]))
    sparse = tuple(tuple(float(round(x)) for x in row) for row in quarter)
    full = random_rotation(rng).R
    c, s = np.cos(0.4), np.sin(0.4)
    assert isinstance(axis_rotation(axis, c, s, sparse), AxisRotation)
    assert isinstance(axis_rotation(axis, c, s, full), MatrixRotation)
    assert relative_error(axis_rotation(axis, c, s, full).matrix(), AxisRotation(axis, c, s, full).matrix()) < ONE_FORMULA
