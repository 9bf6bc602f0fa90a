"""Constraints through CasADi: expressions and machine code, their derivatives, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from fallingcat.frameworks import elf
from frameworks.constrained import DIFFERENTIATED, FEET, NAMES, SETS, arguments, constraints, options, slope
from frameworks.every_function import parts

casadi = extra("casadi")
pytestmark = pytest.mark.casadi


@pytest.fixture(scope="module")
def feet() -> fc.Constraints:
    return constraints("feet")


@pytest.mark.parametrize("which", SETS)
def test_every_function_is_that_of_numpy(which: str, rng: np.random.Generator) -> None:
    c = constraints(which)
    symbolic = fc.casadi(c)
    for name in NAMES:
        given, chosen = arguments(c, name, rng), options(c, name)
        for more in ({}, chosen):
            expected = getattr(c, name)(*given, **more)
            found = getattr(symbolic, name)(*given, **more)
            assert type(found) is (type(expected) if isinstance(expected, tuple) else casadi.DM), name
            for e, f in zip(parts(expected), parts(found), strict=True):
                assert np.allclose(f.full().reshape(e.shape), e, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(e).max())), name


@pytest.mark.parametrize("which", SETS)
def test_derivatives_are_those_of_a_complex_step(which: str, rng: np.random.Generator) -> None:
    for name in DIFFERENTIATED:
        check_derivatives(constraints(which), name, False, rng)


@pytest.mark.skipif(not elf.possible(), reason="libraries have another format here")
def test_derivatives_of_machine_code(feet: fc.Constraints, rng: np.random.Generator) -> None:
    for name in DIFFERENTIATED:
        check_derivatives(constraints("small"), name, True, rng)
    check_derivatives(feet, "forward_dynamics", True, rng)


def check_derivatives(c: fc.Constraints, name: str, compiled: bool, rng: np.random.Generator) -> None:
    """Jacobians and adjoints, by the entries of every argument, against a complex step through the source."""
    values = arguments(c, name, rng)
    dots = [rng.normal(size=v.shape) for v in values]
    active = options(c, name).get("active")
    expected = slope(c, name, values, dots, active)
    f = fc.casadi(c, compiled=compiled).function(name, [] if active is None else ["active"])
    given: list[Any] = [*values, *([] if active is None else [active])]
    empty: list[Any] = [0] * f.n_out()
    blocks = iter([block.full() for block in f.jacobian().call([*given, *empty])])
    for e in expected:
        row = [next(blocks) for _ in given]
        along = sum(block @ d for block, d in zip(row, dots, strict=False))
        size = max(1.0, np.abs(e).max(), *(np.abs(block).max() for block in row))
        np.testing.assert_allclose(along, e, rtol=0, atol=1e-9 * size, err_msg=name)
        assert active is None or not row[-1].any()
    bars = [rng.normal(size=e.shape) for e in expected]
    pulled = [p.full()[:, 0] for p in f.reverse(1).call([*given, *empty, *bars])]
    size = max(1.0, *(np.abs(p).max() for p in pulled))
    total = sum((b * e).sum() for b, e in zip(bars, expected, strict=True))
    np.testing.assert_allclose(sum(p @ d for p, d in zip(pulled, dots, strict=False)), total, atol=1e-9 * size, err_msg=name)


@pytest.mark.skipif(not elf.possible(), reason="libraries have another format here")
def test_the_jacobian_of_machine_code_is_the_analytical_one(feet: fc.Constraints) -> None:
    """Where there is one: not of forces that are shared, nor by references."""
    from fallingcat.frameworks.casadi_compiled import Analytical, jacobian

    cases = [(feet, (), True), (feet, ("active",), True), (feet, ("reference",), False), (constraints("redundant"), (), False)]
    for c, inputs, analytical in cases:
        kernel = c.kernel("forward_dynamics", inputs, fixed=(("anchors", tuple(c.anchors.tolist())),))  # as `fc.casadi` has it
        assert isinstance(jacobian(kernel).task.evaluate, Analytical) is analytical


def test_solvers_find_a_stance(feet: fc.Constraints) -> None:
    """Torques and forces that let the robot stand, by least squares over the dynamics."""
    robot, q = feet.robot, feet.robot.neutral()
    standing = fc.casadi(feet.held_at(q))
    tau = casadi.SX.sym("tau", robot.nv)
    found = standing.forward_dynamics(q, np.zeros(robot.nv), tau)
    problem = {"x": tau, "f": casadi.sumsqr(tau), "g": found.dnu}
    solver = casadi.nlpsol("solver", "ipopt", problem, {"ipopt": {"print_level": 0, "sb": "yes"}, "print_time": False})
    best = solver(x0=0, lbg=0, ubg=0)["x"].full()[:, 0]
    assert np.abs(feet.held_at(q).forward_dynamics(q, np.zeros(robot.nv), best).dnu).max() < 1e-8


def test_what_is_given_at_run_time(feet: fc.Constraints, rng: np.random.Generator) -> None:
    """References, wrenches, restitution and forces as symbols; and states side by side."""
    symbolic = fc.casadi(feet)
    q, nu, tau = arguments(feet, "forward_dynamics", rng)
    r, w = casadi.SX.sym("r", feet.m), casadi.SX.sym("w", 6)
    found = symbolic.forward_dynamics(q, nu, tau, reference=(r, None, 2 * r), wrenches={FEET[0]: w})
    f = casadi.Function("f", [r, w], [found.dnu])
    R, W = rng.normal(size=feet.m), rng.normal(size=6)
    expected = feet.forward_dynamics(q, nu, tau, reference=(R, None, 2 * R), wrenches={FEET[0]: W})
    np.testing.assert_allclose(f(R, W).full()[:, 0], expected.dnu, rtol=1e-9, atol=1e-9)
    e = casadi.SX.sym("e")
    g = casadi.Function("g", [e], [symbolic.impulse(q, nu, e).nu])
    np.testing.assert_allclose(g(0.25).full()[:, 0], feet.impulse(q, nu, 0.25).nu, rtol=1e-9, atol=1e-9)
    F = rng.normal(size=feet.m)
    taken = symbolic.inverse_dynamics(q, nu, tau, forces=F).tau.full()[:, 0]
    np.testing.assert_allclose(taken, feet.inverse_dynamics(q, nu, tau, forces=F).tau, rtol=1e-9, atol=1e-9)
    q, nu, tau = arguments(feet, "forward_dynamics", rng, 3)
    several = symbolic.forward_dynamics(q.T, nu.T, tau.T)
    np.testing.assert_allclose(several.dnu.full().T, feet.forward_dynamics(q, nu, tau).dnu, rtol=1e-8, atol=1e-8)


def test_mistakes_are_named(feet: fc.Constraints, rng: np.random.Generator) -> None:
    symbolic = fc.casadi(feet)
    q, nu, tau = arguments(feet, "forward_dynamics", rng)
    wrong = [
        (lambda: symbolic.forward_dynamics(q[1:], nu, tau), "forward_dynamics: q has the wrong shape"),
        (lambda: symbolic.forward_dynamics(2 * q, nu, tau), "quaternion q.*far from unit length"),
        (lambda: symbolic.forward_dynamics(q, nu, tau, active=[1, 0, 1]), "forward_dynamics: active has the wrong shape"),
        (lambda: symbolic.forward_dynamics(q, nu, tau, reference=(nu, None, None)), "reference: position has the wrong shape"),
        (lambda: symbolic.impulse(q, nu, [0.1, 0.2, 0.3]), "impulse: restitution has the wrong shape"),
        (lambda: symbolic.jacobian(q, out=nu), "out cannot be given"),
        (lambda: symbolic.function("forward_dynamic"), "forward_dynamics"),
        (lambda: symbolic.function("forward_dynamics", ["actve"]), "active"),
        (lambda: fc.casadi(feet.held_at(np.stack([q, q]))), "a batch of anchors"),
    ]
    for call, words in wrong:
        with pytest.raises(fc.FallingCatError) as error:
            call()
        assert re.search(words, str(error.value)), (words, str(error.value))
    with pytest.raises(AttributeError, match="project is for arrays of NumPy"):
        symbolic.project(q, nu)
