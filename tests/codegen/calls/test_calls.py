"""What a call accepts as an argument, and what it refuses and how."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from shared import refused

import fallingcat as fc
from fallingcat.arrays.arguments import QUATERNION_TOLERANCE
from fallingcat.codegen import Kernel
from fallingcat.functions import FUNCTIONS, task

# ---------------------------------------------------------------------------------------------------------------------
# Shapes and dtypes


def test_wrong_lengths_are_refused(ball: fc.Robot, state: Any) -> None:
    q, nu, dnu = state
    for size in (0, 1, ball.nq - 2, ball.nq + 1):
        short = np.ones(size)
        refused(lambda short=short: ball.inverse_dynamics(short, nu, dnu), "q has the wrong shape", "(..., 13)", f"({size},)")
    refused(lambda: ball.inverse_dynamics(q, nu, dnu[:-1]), "dnu has the wrong shape", "expected: (..., 11)", "got: (10,)")


def test_a_velocity_in_place_of_a_configuration_is_recognised(ball: fc.Robot, state: Any) -> None:
    _, nu, dnu = state
    refused(lambda: ball.inverse_dynamics(nu, nu, dnu), "quaternion", "robot.neutral()")


def test_a_number_is_no_vector(ball: fc.Robot, pendulum: fc.Robot, state: Any) -> None:
    q, _, dnu = state
    refused(lambda: ball.inverse_dynamics(q, 1.0, dnu), "nu has the wrong shape", "got: ()")
    refused(lambda: ball.inverse_dynamics(q, np.array(1.0), dnu), "nu has the wrong shape")
    refused(lambda: pendulum.mass_matrix(0.0), "q has the wrong shape", "(..., 1)")


def test_batch_axes_must_fit_together(ball: fc.Robot, batch: Any) -> None:
    q, nu, dnu = batch
    refused(lambda: ball.inverse_dynamics(q, nu[:5], dnu), "batch axes", "nu (5, 11)")


@pytest.mark.parametrize(
    "bad",
    [None, "abc", [["a"]], {"q": 1}, [[1.0], [1.0, 2.0]], np.array([object()] * 13), b"abc", np.ones(13, dtype=complex),
     np.array(["2020-01-01"] * 13, dtype="M8[D]"), object()],
    ids=lambda x: f"{type(x).__name__} {getattr(x, 'dtype', '')}",
)  # fmt: skip
def test_what_is_not_a_real_array_is_refused(ball: fc.Robot, state: Any, bad: Any) -> None:
    q, nu, dnu = state
    refused(lambda: ball.inverse_dynamics(bad, nu, dnu), "inverse_dynamics: q", "expected: ", "got: ")
    refused(lambda: ball.inverse_dynamics(q[None], nu, bad), "inverse_dynamics: dnu", "expected: ", "got: ")


def test_complex_numbers_are_pointed_elsewhere(ball: fc.Robot, state: Any) -> None:
    q, nu, dnu = state
    refused(lambda: ball.inverse_dynamics(q, nu + 0j, dnu), "hint", "fallingcat.algorithms")


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "i4", "u2", "i8", "?", ">f8", ">f4", ">i4", np.longdouble])
def test_other_real_dtypes_are_converted(ball: fc.Robot, batch: Any, dtype: Any) -> None:
    q, nu, dnu = batch
    other = (3.0 * nu).astype(dtype)
    expected = ball.inverse_dynamics(q, other.astype(float), dnu)
    assert ball.inverse_dynamics(q, other, dnu).tobytes() == expected.tobytes()
    assert ball.inverse_dynamics(q[0], other[0], dnu[0]).tobytes() == expected[0].tobytes()
    assert ball.inverse_dynamics(q[0], other[0], dnu[0]).dtype == np.float64


def test_lists_and_tuples(ball: fc.Robot, batch: Any) -> None:
    expected = ball.inverse_dynamics(*batch)
    assert ball.inverse_dynamics(*(v.tolist() for v in batch)).tobytes() == expected.tobytes()
    assert ball.inverse_dynamics(*(tuple(v[0]) for v in batch)).tobytes() == expected[0].tobytes()


# ---------------------------------------------------------------------------------------------------------------------
# Batches at the edge


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_empty_batches(ball: fc.Robot, shape: tuple[int, ...]) -> None:
    q, nu = np.zeros((*shape, ball.nq)), np.zeros((*shape, ball.nv))
    assert ball.inverse_dynamics(q, nu, nu).shape == (*shape, ball.nv)
    assert ball.mass_matrix(q).shape == (*shape, ball.nv, ball.nv)
    assert ball.kinetic_energy(q, nu).shape == shape
    assert ball.inverse_dynamics(q, nu[..., :1, :] if len(shape) == 1 else nu, np.zeros(ball.nv)).shape == (*shape, ball.nv)


def test_many_axes(pendulum: fc.Robot) -> None:
    q = np.linspace(-1.0, 1.0, 2**6).reshape((2,) * 6 + (1,))
    g = pendulum.gravity_torque(q)
    assert g.shape == q.shape
    np.testing.assert_allclose(g, 9.81 * np.sin(q), rtol=1e-14)


def test_a_robot_without_joints(ball: fc.Robot) -> None:
    """A free body, and a body welded to the world, which has no coordinates at all."""
    free = fc.load(ball.description, joints=[])
    a = free.base_acceleration(free.neutral(), np.zeros(6), np.zeros(0))
    assert np.isfinite(a).all()
    welded = fc.load(ball.description, joints=[], floating=False)
    nothing = np.zeros(0)
    for empty in (nothing, np.zeros(6)[6:], np.zeros(6)[6::2], []):
        assert welded.mass_matrix(empty).shape == (0, 0)
        assert welded.kinetic_energy(empty, nothing) == 0.0
    assert welded.inverse_dynamics(np.zeros((4, 0)), nothing, nothing).shape == (4, 0)
    assert welded.kinetic_energy(np.zeros((4, 0)), nothing).tolist() == [0.0] * 4
    assert isinstance(welded.potential_energy(nothing), float)


def test_a_number_comes_out_as_a_float(ball: fc.Robot, state: Any) -> None:
    q, nu, _ = state
    for _ in range(2):  # the Python path and the fast one
        assert type(ball.kinetic_energy(q, nu)) is float
        assert type(ball.kinetic_energy(q.tolist(), nu=nu)) is float
    out = np.empty(())
    assert ball.kinetic_energy(q, nu, out=out) is out
    assert out == ball.kinetic_energy(q, nu)
    assert ball.kinetic_energy(q[None], nu).shape == (1,)


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


def test_keywords_and_positions(ball: fc.Robot, state: Any) -> None:
    q, nu, dnu = state
    expected = ball.inverse_dynamics(q, nu, dnu)
    assert (ball.inverse_dynamics(dnu=dnu, nu=nu, q=q) == expected).all()
    for call in (
        lambda: ball.inverse_dynamics(q, nu),
        lambda: ball.inverse_dynamics(),
        lambda: ball.inverse_dynamics(q, nu, dnu, None, "body", None),
        lambda: ball.inverse_dynamics(q, nu, dnu, torque=nu),
        lambda: ball.inverse_dynamics(q, nu, dnu, q=q),
    ):
        with pytest.raises(TypeError, match="inverse_dynamics"):
            call()


def test_the_number_of_arguments_of_a_kernel(ball: fc.Robot, state: Any) -> None:
    q, nu, _ = state
    kernel = ball.kernel("inverse_dynamics")
    refused(lambda: kernel(q, nu), "wrong number of arguments", "3 (q, nu, dnu)", "got: 2")


def test_wrenches(ball: fc.Robot, batch: Any, rng: np.random.Generator) -> None:
    q, nu, dnu = batch
    w = rng.normal(size=(6, 6))
    both = ball.inverse_dynamics(q, nu, dnu, {"hand": w, "ball": w[0]})
    each = ball.inverse_dynamics(q, nu, dnu, {"hand": w}) + ball.inverse_dynamics(q, nu, dnu, {"ball": w[0]})
    np.testing.assert_allclose(both, each - ball.inverse_dynamics(q, nu, dnu), atol=1e-12)
    single = ball.inverse_dynamics(q[0], nu[0], dnu[0], wrenches={"hand": w[0], "ball": w[0].tolist()})
    assert single.tobytes() == both[0].tobytes()
    refused(lambda: ball.inverse_dynamics(q, nu, dnu, {"hand": w[:, :5]}), "wrenches['hand']", "(..., 6)")
    refused(lambda: ball.inverse_dynamics(q, nu, dnu, {"hand": w[:4]}), "batch axes")
    for bad in (["hand"], w, "hand", 1.0):
        refused(lambda bad=bad: ball.inverse_dynamics(q, nu, dnu, bad), "wrenches is not a mapping", "got: ")
    with pytest.raises(fc.FrameError, match="hand"):
        ball.inverse_dynamics(q, nu, dnu, {"hnad": w})


def test_a_method_that_is_overridden_stays_overridden(ball: fc.Robot, state: Any) -> None:
    class Heavier(fc.Robot):
        def gravity_torque(self, q: Any, *, out: Any = None) -> Any:
            return 2.0 * super().gravity_torque(q)

    q, _, _ = state
    heavy = Heavier(ball.description)
    for _ in range(3):
        assert (heavy.gravity_torque(q) == 2.0 * ball.gravity_torque(q)).all()


# ---------------------------------------------------------------------------------------------------------------------
# Quaternions and numbers that are none


def test_quaternions_far_from_unit_length_are_refused(ball: fc.Robot, batch: Any) -> None:
    for at, factor, row in itertools.product((3, 9), (0.0, 0.5, 0.98, 1.02, 3.0, 1e200), (0, 5)):
        q, nu, dnu = (v.copy() for v in batch)
        q[row, at : at + 4] *= factor
        words = (f"q[..., {at}:{at + 4}]", "far from unit length", "x y z w")
        refused(lambda q=q, nu=nu, dnu=dnu: ball.inverse_dynamics(q, nu, dnu), *words)
        refused(lambda q=q, nu=nu, dnu=dnu, row=row: ball.inverse_dynamics(q[row], nu[row], dnu[row]), *words)
        refused(lambda q=q, nu=nu, dnu=dnu: ball.inverse_dynamics(q.astype(np.longdouble), nu, dnu), *words)
        refused(lambda q=q, nu=nu, dnu=dnu: ball.inverse_dynamics(q, nu, dnu, out=np.empty((6, 11))), *words)


@pytest.mark.parametrize("factor", [0.9901, 0.999999, 1.000001, 1.0099])
def test_quaternions_slightly_off_are_normalised(ball: fc.Robot, batch: Any, factor: float) -> None:
    q, nu, dnu = batch
    expected = ball.inverse_dynamics(q, nu, dnu)
    off = q.copy()
    off[:, 3:7] *= factor
    off[:, 9:13] *= factor
    np.testing.assert_allclose(ball.inverse_dynamics(off, nu, dnu), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ball.inverse_dynamics(off[0], nu[0], dnu[0]), expected[0], rtol=1e-12, atol=1e-12)


def test_at_the_very_border_every_way_decides_alike(rng: np.random.Generator, ball: fc.Robot) -> None:
    """A single call, a batch and the Python path round the length alike: none may refuse what another takes."""
    free = fc.load(ball.description, joints=[])
    decisions = set()
    for edge in (1.0 - QUATERNION_TOLERANCE, 1.0 + QUATERNION_TOLERANCE):
        for _ in range(1500):
            q = free.neutral()
            turn = rng.normal(size=4)
            q[3:7] = turn * (edge / np.linalg.norm(turn))
            outcomes = []
            for way in (free.mass_matrix, lambda q: free.mass_matrix(q[None])[0], lambda q: free.mass_matrix(q.tolist())):
                try:
                    outcomes.append(way(q).tobytes())
                except fc.InputError:
                    outcomes.append(b"refused")
            assert len(set(outcomes)) == 1
            decisions.add(outcomes[0] == b"refused")
    assert decisions == {True, False}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_goes_in_and_none_comes_out(ball: fc.Robot, bad: float, rng: np.random.Generator) -> None:
    """Every entry of every argument of every function."""
    robot = fc.load(ball.description, joints=["hinge"])
    for name, function in FUNCTIONS.items():
        options = {"frame": "hand", "representation": "mixed", "factorization": "body", "base": "hand"}
        options |= {"target_representation": "body", "source": "body", "target": "inertial", "group": "tangent"}
        made = task(robot.model, name, **{o: options[o] for o in function.options})
        kernel = Kernel(made)
        values = [robot.random_configuration(rng) if i.quaternions else rng.normal(size=i.size) for i in made.inputs]
        good = kernel.entry(*values)
        for j, spec in enumerate(made.inputs):
            for entry in range(spec.size):
                spoilt = [v.copy() for v in values]
                spoilt[j][entry] = bad
                with np.errstate(all="raise"):
                    result = kernel.entry(*spoilt)
                assert not all_finite(result), (name, spec.name, entry)
        rows = [np.stack([v] * 5) for v in values]
        rows[-1][2, 0] = bad
        batch = kernel(*rows)
        for part, one in zip(parts(batch), parts(good), strict=True):
            for row in (0, 1, 3, 4):  # the neighbours in the same vector do not notice
                assert np.asarray(part[row]).tobytes() == np.asarray(one).tobytes()
        assert not all_finite([part[2] for part in parts(batch)]), name


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def all_finite(result: Any) -> bool:
    return all(np.isfinite(part).all() for part in (result if isinstance(result, (tuple, list)) else [result]))


def test_huge_numbers_neither_hang_nor_raise(ball: fc.Robot, state: Any) -> None:
    q, nu, dnu = (v.copy() for v in state)
    q[7], nu[:], dnu[:] = 1e300, 1e300, -1e300
    assert ball.inverse_dynamics(q, nu, dnu).shape == (ball.nv,)


def test_a_singular_robot_is_named() -> None:
    builder = fc.Builder("points")
    builder.link("frame", mass=1.0)
    builder.link("bob", mass=1.0, com=(0.0, 0.0, -0.5))
    builder.joint("hinge", "revolute", "frame", "bob", axis=(0, 1, 0))
    robot = fc.load(builder)
    q, nu = robot.random_configuration(1), np.ones(robot.nv)
    with pytest.raises(fc.FallingCatError, match="singular"):
        robot.forward_dynamics(q, nu, nu)
