"""CasADi: every function over symbols is the one over arrays, and its derivatives are the analytical ones."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from fallingcat.frameworks import elf
from fallingcat.robot.formulas import Formulas
from frameworks.every_function import ROBOTS, arguments, load, names, options, parts
from trees import random_tree

casadi = extra("casadi")
pytestmark = pytest.mark.casadi


def full(x: casadi.DM, shape: tuple[int, ...]) -> np.ndarray:
    """A matrix of CasADi as the array that it stands for."""
    return x.full().reshape(shape)


@pytest.mark.parametrize("robot_name", ROBOTS)
def test_every_function_is_that_of_numpy(robot_name: str, rng: np.random.Generator) -> None:
    robot = load(robot_name)
    symbolic, numbers = fc.casadi(robot), Formulas(robot)  # which runs the algorithms on floats, entry by entry
    assert len(names(robot)) > 40
    for name in names(robot):
        given, chosen = arguments(robot, name, rng), options(robot, name)
        expected = getattr(numbers, name)(*given, **chosen)
        found = getattr(symbolic, name)(*given, **chosen)
        assert type(found) is (type(expected) if isinstance(expected, tuple) else casadi.DM), name
        for e, f in zip((np.asarray(x, dtype=float) for x in parts(expected)), parts(found), strict=True):
            assert np.allclose(full(f, np.shape(e)), e, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(e).max())), name


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_with_every_joint(seed: int, rng: np.random.Generator) -> None:
    robot = fc.load(random_tree(seed, 6), floating=seed % 2 == 0, joint_dynamics=True)
    symbolic = fc.casadi(robot)
    for name in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "integrate", "difference", "christoffel_symbols"):
        given = arguments(robot, name, rng)
        expected = getattr(robot, name)(*given)
        assert np.allclose(full(getattr(symbolic, name)(*given), expected.shape), expected, rtol=1e-9, atol=1e-9), name


def test_symbols_in_symbols_out() -> None:
    robot = fc.load("cat")
    cat = fc.casadi(robot)
    for kind in (casadi.SX, casadi.MX):
        q, nu = kind.sym("q", robot.nq), kind.sym("nu", robot.nv)
        assert type(cat.bias(q, nu)) is kind
        assert type(cat.forward_dynamics(q, nu, np.zeros(robot.nv))) is kind
        found = cat.step(q, nu, np.zeros(robot.n), 0.01)
        assert found._fields == ("q", "nu")
        assert found.q.shape == (robot.nq, 1)


def test_a_function_has_names() -> None:
    robot = load("panda")
    f = fc.casadi(robot).function("inverse_dynamics_derivatives")
    assert f.name_in() == ["q", "nu", "dnu"]
    assert f.name_out() == ["dtau_dq", "dtau_dnu", "M"]
    step = fc.casadi(robot).function("step", method="rk4")
    assert step.name_in() == ["q", "nu", "tau", "dt"]
    assert step.name_out() == ["q_out", "nu_out"]
    cat = fc.load("cat")
    assert fc.casadi(cat).function("step", tau=cat.n).size1_in("tau") == cat.n


def test_what_is_always_zero_is_not_stored(rng: np.random.Generator) -> None:
    """The legs of a quadruped do not feel each other in the mass matrix."""
    robot = load("quadruped")
    M = fc.casadi(robot).function("mass_matrix").sparsity_out(0)
    dense = robot.mass_matrix(robot.random_configuration(rng))
    assert M.nnz() == np.count_nonzero(dense)
    assert M.nnz() < dense.size


def test_states_side_by_side(rng: np.random.Generator) -> None:
    robot = load("panda")
    q, nu, tau = arguments(robot, "forward_dynamics", rng, 5)
    found = fc.casadi(robot).forward_dynamics(q.T, nu.T, tau.T).full().T
    assert np.allclose(found, robot.forward_dynamics(q, nu, tau), rtol=1e-10, atol=1e-10)


def test_some_frames(rng: np.random.Generator) -> None:
    robot = load("quadruped")
    q, nu = arguments(robot, "frame_velocities", rng)
    chosen = [robot.frame_names[5], robot.frame_names[2]]
    found = fc.casadi(robot).frame_velocities(q, nu, chosen).full().reshape(2, 6)
    assert np.allclose(found, robot.frame_velocities(q, nu, chosen), atol=1e-12)
    f = fc.casadi(robot).function("frame_velocities", frames=chosen)
    assert np.array_equal(f(q, nu).full().reshape(2, 6), found)
    assert f.name_in() == ["q", "nu"]
    poses = casadi.vertsplit(fc.casadi(robot).frame_poses(q, chosen), 4)
    assert np.allclose(poses[1].full(), robot.frame_pose(q, chosen[1]), atol=1e-12)


@pytest.mark.parametrize("axes", ["body", "mixed"])
def test_wrenches(axes: str, rng: np.random.Generator) -> None:
    robot = load("quadruped")
    q, nu, tau = arguments(robot, "forward_dynamics", rng)
    frames = [robot.frame_names[-1], robot.frame_names[3]]
    w = rng.normal(size=(2, 6))
    on = fc.Wrenches(frames, w, axes)
    assert np.allclose(
        fc.casadi(robot).forward_dynamics(q, nu, tau, on).full()[:, 0], robot.forward_dynamics(q, nu, tau, on), atol=1e-10
    )
    symbol = casadi.SX.sym("w", 6)
    f = casadi.Function("f", [symbol], [fc.casadi(robot).step(q, nu, tau, 0.01, wrenches={frames[0]: symbol}).nu])
    expected = robot.step(q, nu, tau, 0.01, wrenches={frames[0]: w[0]}).nu
    assert np.allclose(f(w[0]).full()[:, 0], expected, atol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Derivatives


def ambient(robot: fc.Robot, q: np.ndarray) -> np.ndarray:
    """The matrix (nq, nv) from tangents to rates of q, by complex step through `integrate`."""
    from fallingcat.algorithms.configuration import integrate

    columns = []
    for k in range(robot.nv):
        dx = [0j] * robot.nv
        dx[k] = 1e-20j
        columns.append([complex(x).imag / 1e-20 for x in integrate(robot.model, [complex(x) for x in q], dx)])
    return np.array(columns).T


@pytest.mark.parametrize("robot_name", ROBOTS)
def test_derivatives_of_casadi_are_the_analytical_ones(robot_name: str, rng: np.random.Generator) -> None:
    """CasADi differentiates by the entries of q; along q = integrate(q, dx) that is the left-trivialized derivative."""
    robot = load(robot_name)
    symbolic = fc.casadi(robot)
    q, nu, tau = arguments(robot, "forward_dynamics", rng)
    E = ambient(robot, q)
    f = symbolic.function("forward_dynamics").jacobian()
    dq, dnu, dtau = (x.full() for x in f.call([q, nu, tau, 0]))
    expected = robot.forward_dynamics_derivatives(q, nu, tau)
    for found, e in zip((dq @ E, dnu, dtau), expected, strict=True):
        assert np.allclose(found, e, rtol=1e-9, atol=1e-9 * np.abs(e).max())
    if robot.floating:  # and a longer quaternion is the same orientation
        assert np.allclose(dq[:, 3:7] @ q[3:7], 0.0, atol=1e-9 * np.abs(dq).max())


# ---------------------------------------------------------------------------------------------------------------------
# Functions of users


def test_a_function_from_fc_compile(rng: np.random.Generator) -> None:
    robot = fc.load("cat")

    def height(r, q, scale):  # type: ignore[no-untyped-def]
        return scale[0] * r.center_of_mass(q)[2]

    compiled = fc.compile(height, robot, scale=1)
    f = fc.casadi(compiled)
    assert f.name_in() == ["q", "scale"]
    q = robot.random_configuration(rng)
    assert np.isclose(float(f(q, 2.0)), compiled(q, np.array([2.0])), rtol=1e-13)


def _f__g(r, q, result, result_out):  # type: ignore[no-untyped-def]
    return r.center_of_mass(q)[2] * result[0] * result_out[0]


def jac(r, q):  # type: ignore[no-untyped-def]
    return r.center_of_mass(q)[2]


def höhe(r, q, θ):  # type: ignore[no-untyped-def]
    return r.center_of_mass(q)[2] * θ[0]


@pytest.mark.parametrize("compiled", [False, True])
def test_names_that_casadi_does_not_take(compiled: bool, rng: np.random.Generator) -> None:
    """Functions may be called anything; CasADi wants letters, digits and single underscores."""
    if compiled and not elf.possible():
        pytest.skip("libraries have another format here")
    robot = load("panda")
    q = robot.random_configuration(rng)
    cases = [
        (lambda r, q: r.center_of_mass(q)[2], {}, "lambda"), (jac, {}, "jac1"), (höhe, {"θ": 1}, "hohe"),
        (_f__g, {"result": 1, "result_out": 1}, "f_g"),
    ]  # fmt: skip
    for function, sizes, name in cases:
        own = fc.compile(function, robot, **sizes)
        f = fc.casadi(own, compiled=compiled)
        given = [q, *[np.array([2.0])] * len(sizes)]
        assert f.name() == name
        assert f.name_in() == ["q", *sizes]
        assert not set(f.name_out()) & set(f.name_in())
        assert np.isclose(float(f(*given)), own(*given), rtol=1e-13)
        assert np.isfinite(f.jacobian()(*given, 0)[0].full() if sizes else f.jacobian()(*given, 0).full()).all()


# ---------------------------------------------------------------------------------------------------------------------
# Mistakes


def test_mistakes_are_named(rng: np.random.Generator) -> None:
    robot = fc.load("cat")
    cat = fc.casadi(robot)
    q, nu = robot.neutral(), np.zeros(robot.nv)
    SX, MX = casadi.SX.sym("q", robot.nq), casadi.MX.sym("nu", robot.nv)
    wrong = [
        (lambda: cat.bias(nu, nu), "bias: q has the wrong shape.*quaternion"),
        (lambda: cat.bias(q, 1.0), "bias: nu has the wrong shape"),
        (lambda: cat.bias(np.zeros((5, robot.nq)), nu), "bias: q has the wrong shape.*5 x"),
        (lambda: cat.bias(np.zeros((2, 2, 2)), nu), "bias: q has the wrong shape"),
        (lambda: cat.bias(SX, MX), "SX and MX do not mix"),
        (lambda: cat.bias([SX[0]] * robot.nq, nu), "q is a list of symbols.*vertcat"),
        (lambda: cat.bias("q", nu), "bias: q is not a matrix"),
        (lambda: cat.bias(2 * q, nu), "quaternion q.*far from unit length"),
        (lambda: cat.bias(q, nu, out=nu), "out cannot be given"),
        (lambda: cat.step(q, nu, nu), "step: dt missing"),
        (lambda: cat.step(q, nu, nu, 0.1, metod="rk4"), "no argument 'metod'"),
        (lambda: cat.step(q, nu, np.zeros(3), 0.1), "step: tau has the wrong shape"),
        (lambda: cat.forward_dynamics(q, nu, nu, {"tail_tip": np.zeros(5)}), r"wrenches\['tail_tip'\] has the wrong shape"),
        (lambda: cat.function("inverse_dynamic"), "inverse_dynamics"),
        (lambda: cat.frame_pose(q, "hnad"), "no frame"),
        (lambda: fc.casadi("cat"), "not a robot"),
        (lambda: cat.bias(q, nu + 0j), "bias: nu is not a matrix"),
        (lambda: cat.function("step", tau=3), "tau cannot have this length; expected: .*; got: 3; hint: tau=robot.n"),
        (lambda: cat.function("step", tau="all"), "tau cannot have this length"),
        (lambda: cat.function("frame_pose"), "frame_pose: frame missing; hint: .*frame="),
        (lambda: cat.function("frame_poses", frames="tail_tip"), "frames does not fit.*a sequence of names"),
        (lambda: cat.function("frame_poses", frames=["tail"]), "no frame"),
        (lambda: cat.function("frame_pose", frame=["tail_tip"]), "a frame is given by its name"),
        (lambda: cat.function("bias", frames=["tail_tip"]), "bias has no option 'frames'"),
        (lambda: robot.bias(SX, nu), r"bias: q is an array of CasADi.*fc.casadi\(robot\) has"),
        (lambda: robot.bias(casadi.DM(q), nu), r"bias: q is an array of CasADi.*fc.casadi\(robot\) has"),
        (lambda: robot.bias([*q[:-1], SX[0]], nu), r"bias: q is an array of CasADi.*fc.casadi\(robot\) has"),
    ]
    for call, words in wrong:
        with pytest.raises(fc.FallingCatError) as error:
            call()
        assert re.search(words, str(error.value)), (words, str(error.value))
