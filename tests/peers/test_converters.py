"""The converters by themselves: there and back, power and energy, accelerations as derivatives, and what they refuse."""

from __future__ import annotations

import re
from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from fallingcat import converters
from fallingcat.converters import Converter
from trees import ONE_AXIS, ONE_FORMULA, plain, random_tree, relative_error

LIBRARIES: dict[str, Callable[..., Converter]] = {
    "pinocchio": converters.pinocchio,
    "mujoco": converters.mujoco,
    "drake": converters.drake,
    "rbdl": converters.rbdl,
    "adam": converters.adam,
    "idyntree": converters.idyntree,
    "idyntree body": lambda robot, names: converters.idyntree(robot, names, "body"),
    "idyntree inertial": lambda robot, names: converters.idyntree(robot, names, "inertial"),
}
JOINTS = {"pinocchio": ("spherical", "floating"), "mujoco": ("spherical", "floating"), "rbdl": ("spherical",)}


def tree(library: str, seed: int, floating: bool, mimic: float = 0.0) -> tuple[fc.Robot, Converter, np.random.Generator]:
    """A random robot of joints that the library has, in an order of joints of its own."""
    rng = np.random.default_rng(seed)
    types = (*ONE_AXIS, *JOINTS.get(library, ()))
    robot = plain(fc.load(random_tree(rng, 6, types, mimic=mimic), floating=floating))
    joints = [body.joint_name for body in robot.model.bodies[floating:]]
    return robot, LIBRARIES[library](robot, [joints[k] for k in rng.permutation(len(joints))]), rng


def batch(robot: fc.Robot, rng: np.random.Generator, *shape: int) -> tuple[np.ndarray, ...]:
    count = int(np.prod(shape))
    q = np.array([robot.random_configuration(rng) for _ in range(count)]).reshape(*shape, robot.nq)
    return q, *(rng.normal(size=(*shape, robot.nv)) for _ in range(3))


def distance(q0: np.ndarray, q1: np.ndarray) -> float:
    """Between configurations, a quaternion being as good as its opposite."""
    return min(relative_error(q1 * sign, q0) for sign in _signs(q0))


def _signs(q: np.ndarray) -> list[np.ndarray]:
    flipped = np.ones(q.shape[-1])
    flipped[3:7] = -1.0
    return [np.ones(q.shape[-1]), flipped]


def links(*names: str) -> fc.Builder:
    builder = fc.Builder("by_hand")
    for name in names:
        builder.link(name, mass=1.0, inertia=(1, 0, 0, 1, 0, 1))
    return builder


cases = pytest.mark.parametrize("library", LIBRARIES)
some = settings(max_examples=12)


@cases
@some
@given(seed=st.integers(0, 10_000), floating=st.booleans(), mimic=st.sampled_from([0.0, 0.5]))
def test_there_and_back(library: str, seed: int, floating: bool, mimic: float) -> None:
    robot, to, rng = tree(library, seed, floating, mimic)
    q, nu, dnu, tau = batch(robot, rng, 3)
    there, v = to.q(q), to.nu(q, nu)
    back = to.from_q(there)
    assert max(distance(*pair) for pair in zip(q, back, strict=True)) < ONE_FORMULA
    assert relative_error(to.from_nu(there, v), nu) < ONE_FORMULA
    assert relative_error(to.from_dnu(there, v, to.dnu(q, nu, dnu)), dnu) < 10 * ONE_FORMULA
    assert relative_error(to.from_tau(there, to.tau(q, tau)), tau) < ONE_FORMULA


@cases
@some
@given(seed=st.integers(0, 10_000), floating=st.booleans())
def test_matrices(library: str, seed: int, floating: bool) -> None:
    """T there and back, energy, power, and what a Jacobian gives."""
    robot, to, rng = tree(library, seed, floating)
    q, nu, _, tau = batch(robot, rng, 2)
    M, J = rng.normal(size=(2, robot.nv, robot.nv)), rng.normal(size=(2, 5, robot.nv))
    there, v, T = to.q(q), to.nu(q, nu), to.T(q)
    assert relative_error(np.einsum("bij,bj->bi", T, nu), v) < ONE_FORMULA
    inverse = np.linalg.inv(T)
    assert relative_error(to.matrix(q, M), np.swapaxes(inverse, 1, 2) @ M @ inverse) < 10 * ONE_FORMULA
    assert relative_error(to.from_matrix(there, to.matrix(q, M)), M) < 10 * ONE_FORMULA
    assert relative_error(to.jacobian(q, J), J @ inverse) < 10 * ONE_FORMULA
    assert relative_error(to.from_jacobian(there, to.jacobian(q, J)), J) < 10 * ONE_FORMULA
    power = np.einsum("bi,bi->b", to.tau(q, tau), v)
    assert relative_error(power, np.einsum("bi,bi->b", tau, nu)) < 10 * ONE_FORMULA


@cases
@some
@given(seed=st.integers(0, 10_000), floating=st.booleans())
def test_accelerations_are_derivatives(library: str, seed: int, floating: bool) -> None:
    """d/dt of their velocity along a motion, by central differences of two steps."""
    robot, to, rng = tree(library, seed, floating)
    q, nu, dnu, _ = (x[0] for x in batch(robot, rng, 1))

    def slope(h: float) -> np.ndarray:
        ahead, behind = (to.nu(robot.integrate(q, t * nu + t * t / 2 * dnu), nu + t * dnu) for t in (h, -h))
        return (ahead - behind) / (2 * h)

    h = 1e-3
    assert relative_error(to.dnu(q, nu, dnu), (4 * slope(h) - slope(2 * h)) / 3) < 1e-8


@cases
def test_leading_axes(library: str) -> None:
    robot, to, rng = tree(library, 5, True)
    q, nu, dnu, tau = batch(robot, rng, 2, 3)
    M = rng.normal(size=(robot.nv, robot.nv))
    assert to.nu(q, nu).shape == to.dnu(q, nu, dnu).shape == to.tau(q, tau).shape == (2, 3, to.nv)
    assert to.matrix(q, M).shape == (2, 3, to.nv, to.nv)
    assert to.dnu(q[0, 0], nu, dnu[:, :1]).shape == (2, 3, to.nv)
    for i, j in np.ndindex(2, 3):
        assert np.array_equal(to.nu(q, nu)[i, j], to.nu(q[i, j], nu[i, j]))
        assert np.array_equal(to.dnu(q[0, 0], nu, dnu[:, :1])[i, j], to.dnu(q[0, 0], nu[i, j], dnu[i, 0]))
        assert relative_error(to.matrix(q, M)[i, j], to.matrix(q[i, j], M)) < ONE_FORMULA
        whole, one = to.q(q), to.q(q[i, j])
        parts = [(whole, one)] if isinstance(one, np.ndarray) else list(zip(whole, one, strict=True))
        assert all(np.array_equal(a[i, j], b) for a, b in parts)
    assert q.shape == (2, 3, robot.nq)


def test_the_layouts_by_hand() -> None:
    """One state, written out: base at (1, 2, 3), turned by 90 degrees about z, moving along its x and turning about its y."""
    robot = plain(fc.load("spacearm"))
    h = np.sqrt(0.5)
    s = np.linspace(0.1, 0.7, 7)
    q = np.array([1.0, 2.0, 3.0, 0.0, 0.0, h, h, *s])
    nu = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, *s])
    R = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    expected = {
        "pinocchio": (q, [1, 0, 0, 0, 1, 0]),
        "mujoco": ([1, 2, 3, h, 0, 0, h, *s], [0, 1, 0, 0, 1, 0]),
        "drake": ([h, 0, 0, h, 1, 2, 3, *s], [-1, 0, 0, 0, 1, 0]),
        "rbdl": ([1, 2, 3, 0, 0, h, *s, h], [0, 1, 0, 0, 1, 0]),
        "idyntree": (None, [0, 1, 0, -1, 0, 0]),
        "idyntree inertial": (None, [0, -2, 2, -1, 0, 0]),  # (0, 1, 0) + (1, 2, 3) x (-1, 0, 0)
    }
    for library, (there, base) in expected.items():
        to = LIBRARIES[library](robot, robot.joint_names)
        assert relative_error(to.nu(q, nu), [*base, *s]) < ONE_FORMULA, library
        if there is None:
            H, joints = to.q(q)
            assert relative_error(H, np.block([[np.array(R), np.array([[1.0], [2.0], [3.0]])], [np.eye(4)[3:]]])) < ONE_FORMULA
            assert np.array_equal(joints, s)
        else:
            assert relative_error(to.q(q), there) < ONE_FORMULA, library
    # v = (1, 0, 0) turns about y with the base: its rate is w x v = (0, 0, -1), in the world as well.
    assert relative_error(converters.mujoco(robot).dnu(q, nu, np.zeros(robot.nv))[:6], [0, 0, -1, 0, 0, 0]) < ONE_FORMULA


def test_unbounded_angles() -> None:
    """As cosine and sine in Pinocchio, and back within a turn; `continuous` says which."""
    builder = links("a", "b", "c")
    builder.joint("roll", "continuous", "a", "b")
    builder.joint("bend", "revolute", "b", "c", lower=-9, upper=9)
    robot = plain(fc.load(builder, floating=False))
    q = np.array([4.0, 5.0])
    assert np.allclose(converters.pinocchio(robot).q(q), [np.cos(4), np.sin(4), 5], atol=ONE_FORMULA)
    assert np.allclose(converters.pinocchio(robot).from_q([np.cos(4), np.sin(4), 5]), [4 - 2 * np.pi, 5], atol=ONE_FORMULA)
    assert np.array_equal(converters.pinocchio(robot, continuous=()).q(q), q)
    assert np.allclose(converters.pinocchio(robot, continuous=["bend"]).q(q), [4, np.cos(5), np.sin(5)], atol=ONE_FORMULA)
    assert np.array_equal(converters.mujoco(robot).q(q), q)


def test_joints_that_follow() -> None:
    """A joint that mimics here may move on its own there: it is filled in, and its force reaches the joint it follows."""
    builder = links("a", "b", "c")
    builder.joint("left", "prismatic", "a", "b", lower=0, upper=1)
    builder.joint("right", "prismatic", "a", "c", mimic="left", multiplier=-2.0, offset=0.5, lower=-1, upper=1)
    robot = plain(fc.load(builder, floating=False))
    to = converters.pinocchio(robot, ["universe", "right", "left"])
    assert (to.nq, to.nv) == (2, 2)
    assert np.allclose(to.q([0.1]), [0.3, 0.1])
    assert np.allclose(to.nu([0.1], [1.0]), [-2.0, 1.0])
    assert np.allclose(to.dnu([0.1], [1.0], [3.0]), [-6.0, 3.0])
    assert np.allclose(to.tau([0.1], [7.0]), [0.0, 7.0])
    assert np.allclose(to.from_tau([0.3, 0.1], [1.0, 10.0]), [8.0])
    assert np.allclose(to.from_matrix([0.3, 0.1], np.diag([2.0, 3.0])), [[11.0]])
    with pytest.raises(fc.InputError, match=r"no unique counterpart.*from_matrix"):
        to.matrix([0.1], np.eye(1))


def test_what_is_refused() -> None:
    robot = plain(fc.load("quadruped"))
    first, *rest = robot.joint_names

    def refused(words: str, call: Callable[[], object]) -> None:
        with pytest.raises(fc.InputError, match=words):
            call()

    refused("no joint 'knee'", lambda: converters.drake(robot, ["knee", *rest]))
    refused("1 of 12 joints are missing.*joints=", lambda: converters.drake(robot, rest))
    refused("named twice", lambda: converters.drake(robot, [first, *robot.joint_names]))
    refused("does not move", lambda: converters.drake(robot, [*robot.joint_names, "rear_left_foot_weld"]))
    refused("a sequence of names", lambda: converters.drake(robot, first))
    refused("not a revolute joint", lambda: converters.pinocchio(robot, continuous=["trunk"]))
    refused("unknown representation", lambda: converters.idyntree(robot, representation="world"))
    to = converters.mujoco(robot)
    refused(re.escape("expected: shape (..., 19); got: (18,)"), lambda: to.q(np.zeros(18)))
    refused(re.escape("expected: shape (..., 18)"), lambda: to.nu(robot.neutral(), np.zeros(19)))
    refused("real numbers", lambda: to.q(["a"] * 19))
    refused("axes that broadcast", lambda: to.nu(np.tile(robot.neutral(), (2, 1)), np.zeros((3, 18))))
    refused(re.escape("(..., 18, 18)"), lambda: to.matrix(robot.neutral(), np.zeros((6, 18))))
    refused("unit length", lambda: to.nu(2.0 * robot.neutral(), np.zeros(18)))
    refused(re.escape("(H, s)"), lambda: converters.idyntree(robot).from_q(robot.neutral()))


def test_joints_without_a_counterpart() -> None:
    """Said by name, with what the library has."""
    for type_ in ("universal", "cylindrical", "spherical", "planar", "floating"):
        builder = links("a", "b")
        builder.joint("odd_joint", type_, "a", "b", axis=(1, 0, 0))
        robot = plain(fc.load(builder, floating=False))
        for name in ("pinocchio", "mujoco", "drake", "rbdl", "idyntree"):
            make = LIBRARIES[name]
            if type_ in JOINTS.get(name, ()):
                assert make(robot, ["odd_joint"]).nv == robot.nv
            elif type_ == "planar" and name in ("pinocchio", "drake"):
                with pytest.raises(fc.InputError, match="its axis along z"):
                    make(robot, ["odd_joint"])
            else:
                with pytest.raises(fc.InputError, match=f"no counterpart of the {type_} joint 'odd_joint'"):
                    make(robot, ["odd_joint"])


def test_another_base() -> None:
    """The base of most libraries is the root of the file."""
    robot = plain(fc.load("humanoid", base="head"))
    for name in ("pinocchio", "mujoco", "drake", "rbdl", "adam"):
        with pytest.raises(fc.InputError, match="expected: the root of the description, 'pelvis'; got: 'head'"):
            LIBRARIES[name](robot, None)
    assert converters.idyntree(robot).nv == robot.nv
