"""fc.compile: a user's own function, traced and compiled like the library's."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import scalar

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "07_your_own_function.py"


@pytest.fixture(scope="module")
def robot() -> fc.Robot:
    return fc.load("spacearm", joints=["joint1", "joint2", "joint4"])


@pytest.fixture
def batch(robot: fc.Robot, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    q = np.array([robot.random_configuration(rng) for _ in range(7)])
    return q, rng.normal(size=(7, robot.nv)), rng.normal(size=(7, robot.nv))


def check(f: Any, values: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """A batch as expected, and single states bit by bit as in the batch."""
    got = f(*values)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    for k in range(len(expected)):
        assert np.asarray(f(*(v[k] for v in values))).tobytes() == np.asarray(got[k]).tobytes()


def test_the_height_of_the_centre_of_mass(robot: fc.Robot, batch: Any) -> None:
    f = fc.compile(lambda r, q: r.center_of_mass(q)[2], robot)
    check(f, batch[:1], robot.center_of_mass(batch[0])[:, 2])
    assert type(f(batch[0][0])) is float


def test_the_power_of_a_motion(robot: fc.Robot, batch: Any) -> None:
    def power(r: Any, q: Any, nu: Any, dnu: Any) -> Any:
        """tau . nu"""
        return r.inverse_dynamics(q, nu, dnu) @ nu

    f = fc.compile(power, robot)
    check(f, batch, np.einsum("ki,ki->k", robot.inverse_dynamics(*batch), batch[1]))
    assert f.__name__ == "power"
    assert f.__doc__ == "tau . nu"
    assert "compiled power" in repr(f)
    assert f"{f.kernel.operations} operations" in repr(f)


def test_numpy_on_symbols(robot: fc.Robot, batch: Any) -> None:
    """Slices, products of matrices, np.sin, np.sqrt, np.arctan2, norms and stacking work on what the functions return."""

    def mixture(r: Any, q: Any, nu: Any) -> Any:
        M = r.mass_matrix(q)
        momentum = (M @ nu)[:6]
        length = np.sqrt(momentum @ momentum)
        angle = np.arctan2(nu[3], nu[4])
        return np.concatenate([momentum / length, np.sin(nu[:2]), [angle, abs(nu[0]), np.linalg.norm(nu), (M.T - M).sum()]])

    q, nu, _ = batch
    momentum = np.einsum("kij,kj->ki", robot.mass_matrix(q), nu)[:, :6]
    length = np.linalg.norm(momentum, axis=1, keepdims=True)
    last = np.stack([np.arctan2(nu[:, 3], nu[:, 4]), np.abs(nu[:, 0]), np.linalg.norm(nu, axis=1), np.zeros(7)], axis=1)
    check(fc.compile(mixture, robot), (q, nu), np.hstack([momentum / length, np.sin(nu[:, :2]), last]))


def test_choices_without_branches(robot: fc.Robot, batch: Any) -> None:
    f = fc.compile(lambda r, q, nu: scalar.where_less(nu[0], 0.0, -1.0, scalar.atan2(nu[1], nu[2])), robot)
    _, nu, _ = batch
    check(f, batch[:2], np.where(nu[:, 0] < 0.0, -1.0, np.arctan2(nu[:, 1], nu[:, 2])))


def test_arguments_with_a_length_of_their_own(robot: fc.Robot, batch: Any, rng: np.random.Generator) -> None:
    f = fc.compile(lambda r, q, target: r.center_of_mass(q) - target, robot, target=3)
    target = rng.normal(size=(7, 3))
    check(f, (batch[0], target), robot.center_of_mass(batch[0]) - target)
    assert f(batch[0], target[0]).shape == (7, 3)
    with pytest.raises(fc.InputError, match=r"target has the wrong shape.*\(\.\.\., 3\)"):
        f(batch[0], target[:, :2])


def test_options_by_position_and_by_name(robot: fc.Robot, batch: Any) -> None:
    q, nu, _ = batch
    expected = robot.frame_velocity(q, nu, "link7", "inertial")
    by_position = fc.compile(lambda r, q, nu: r.frame_velocity(q, nu, "link7", "inertial"), robot)
    by_name = fc.compile(lambda r, q, nu: r.frame_velocity(q, nu, frame="link7", representation="inertial"), robot)
    default = fc.compile(lambda r, q, nu: r.frame_velocity(q, nu, "link7"), robot)
    check(by_position, (q, nu), expected)
    check(by_name, (q, nu), expected)
    check(default, (q, nu), robot.frame_velocity(q, nu, "link7"))


def test_options_of_a_change_of_base(robot: fc.Robot, batch: Any) -> None:
    """As the methods have them: mixed, the robot's own base, and `frame` for the new one."""
    q, nu, _ = batch
    new = fc.compile(lambda r, q, nu: r.base_change(q, nu, frame="link7").T @ nu, robot)
    check(new, (q, nu), robot.base_change(q, nu, "link7").velocity(nu))
    by_position = fc.compile(lambda r, q, nu: r.base_change(q, nu, "link7", "body").T @ nu, robot)
    check(by_position, (q, nu), robot.base_change(q, nu, "link7", "body").velocity(nu))
    own = fc.compile(lambda r, q, nu: r.equations_of_motion(q, nu).g, robot)
    check(own, (q, nu), robot.gravity_torque(q, "mixed"))
    centroidal = fc.compile(lambda r, q, nu: r.equations_of_motion(q, nu, "centroidal").C @ nu, robot)
    check(centroidal, (q, nu), np.einsum("kij,kj->ki", robot.equations_of_motion(q, nu, "centroidal").C, nu))


def test_results_of_any_shape(robot: fc.Robot, batch: Any) -> None:
    q = batch[0]
    assert fc.compile(lambda r, q: [[q[0], 1.0, 2], [0.0, q[1], -q[2]]], robot)(q).shape == (7, 2, 3)
    assert fc.compile(lambda r, q: (q[0], q[1]), robot)(q[0]).tolist() == q[0, :2].tolist()
    assert fc.compile(lambda r, q: 5, robot)(q).tolist() == [5.0] * 7
    assert fc.compile(lambda r, q: q, robot)(q).tolist() == q.tolist()


def test_out_and_bad_input_are_those_of_every_kernel(robot: fc.Robot, batch: Any) -> None:
    f = fc.compile(lambda r, q: r.center_of_mass(q), robot)
    out = np.empty((7, 3))
    assert f(batch[0], out=out) is out
    assert out.tobytes() == f(batch[0]).tobytes()
    with pytest.raises(fc.InputError, match="far from unit length"):
        f(2.0 * batch[0][0])
    with pytest.raises(fc.InputError, match="wrong number of arguments"):
        f(batch[0], batch[0])


@pytest.mark.parametrize(
    ("function", "sizes", "words"),
    [
        (lambda r, q, target: q, {}, r"lengths of \['target'\].*target=3"),
        (lambda r, q: q, {"goal": 2}, r"arguments \['goal'\]"),
        (lambda r: 1.0, {}, "arguments after the robot"),
    ],
)
def test_arguments_nobody_knows_are_refused(robot: fc.Robot, function: Any, sizes: Any, words: str) -> None:
    with pytest.raises(fc.InputError, match=words):
        fc.compile(function, robot, **sizes)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda r, q: q[0] if q[0] > 0 else q[1], "where_less"),
        (lambda r, q: max(q), "where_less"),
        (lambda r, q: float(q[0]), "fallingcat.scalar"),
        (lambda r, q: np.exp(q[0]), "cannot be traced.*exp"),
        (lambda r, q: None, "NoneType in it"),
        (lambda r, q: "height", "str in it"),
        (lambda r, q: [q[0], [q[1], q[2]]], "rectangular"),
        (lambda r, q: q[0] * 1j, "cannot be traced"),
    ],
)
def test_what_cannot_be_traced_says_so(robot: fc.Robot, function: Any, words: str) -> None:
    with pytest.raises(fc.TraceError, match=words):
        fc.compile(function, robot)


def test_a_function_that_does_not_exist_is_suggested(robot: fc.Robot) -> None:
    with pytest.raises(AttributeError, match="center_of_mass"):
        fc.compile(lambda r, q: r.centre_of_mass(q), robot)


def test_functions_with_the_same_name_are_not_mixed_up(
    robot: fc.Robot, batch: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The cache knows a function by its program, not by its name."""
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path / "cache"))
    q = batch[0][0]

    def make(factor: float) -> Any:
        def f(r: Any, q: Any) -> Any:
            return factor * q[0]

        return fc.compile(f, robot)

    for factor in (2.0, 3.0, np.nextafter(3.0, 4.0), 2.0):
        assert make(factor)(q) == factor * q[0]


def test_the_example_runs_and_agrees() -> None:
    src = str(Path(fc.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE)], env=os.environ | {"PYTHONPATH": src}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert 3 <= len(done.stdout.splitlines()) < 20


def test_the_functions_of_the_example(rng: np.random.Generator) -> None:
    example = runpy.run_path(str(EXAMPLE), run_name="example")
    cat = fc.load("cat")
    q, nu, dnu = cat.random_configuration(rng), cat.random_velocity(rng), rng.normal(size=cat.nv)
    assert fc.compile(example["height"], cat)(q) == pytest.approx(cat.center_of_mass(q)[2], rel=1e-12)
    expected = cat.inverse_dynamics(q, nu, dnu) @ nu
    assert fc.compile(example["power"], cat)(q, nu, dnu) == pytest.approx(expected, rel=1e-12)
