"""Constraints through JAX: NumPy's bits, gradients of a complex step, masks and places that are traced, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from frameworks.constrained import DIFFERENTIATED, FEET, NAMES, SETS, arguments, constraints, options, slope
from frameworks.every_function import parts

jax = extra("jax")
jnp = extra("jax.numpy")
pytestmark = pytest.mark.jax


@pytest.fixture(autouse=True)
def double() -> Any:
    """JAX with float64."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def feet() -> fc.Constraints:
    return constraints("feet")


def same_bits(a: Any, b: Any) -> bool:
    return all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in zip(parts(a), parts(b), strict=True))


@pytest.mark.parametrize("which", SETS)
def test_every_function_has_the_bits_of_numpy(which: str, rng: np.random.Generator) -> None:
    """One state, compiled, with a mask; and a batch."""
    c = constraints(which)
    mapped = fc.jax(c)
    for name in NAMES:
        given = arguments(c, name, rng)
        expected = getattr(c, name)(*given)
        found = jax.jit(getattr(mapped, name))(*given)
        assert type(found) is type(expected) or not isinstance(expected, tuple), name
        assert same_bits(found, expected), name
        chosen = options(c, name)
        if chosen:
            assert same_bits(getattr(mapped, name)(*given, **chosen), getattr(c, name)(*given, **chosen)), name
    given = arguments(c, "forward_dynamics", rng, 3, 2)
    expected = c.forward_dynamics(*given)
    assert same_bits(mapped.forward_dynamics(*given), expected)
    assert same_bits(jax.jit(jax.vmap(jax.vmap(mapped.forward_dynamics)))(*given), expected)


@pytest.mark.parametrize("which", SETS)
def test_gradients_are_those_of_a_complex_step(which: str, rng: np.random.Generator) -> None:
    """Both directions, by the entries of every argument."""
    c = constraints(which)
    mapped = fc.jax(c)
    for name in DIFFERENTIATED:
        values = arguments(c, name, rng)
        dots = [rng.normal(size=v.shape) for v in values]
        chosen = options(c, name)
        expected = slope(c, name, values, dots, chosen.get("active"))

        def f(*x: Any, name: str = name, chosen: Any = chosen) -> Any:
            return parts(getattr(mapped, name)(*x, **chosen))

        _, pushed = jax.jvp(f, tuple(map(jnp.asarray, values)), tuple(map(jnp.asarray, dots)))
        results, pull = jax.vjp(f, *map(jnp.asarray, values))
        bars = [rng.normal(size=r.shape) for r in results]
        pulled = pull(tuple(map(jnp.asarray, bars)))
        size = max(1.0, *(np.abs(e).max() for e in expected), *(np.abs(p).max() for p in pulled))
        for a, e in zip(pushed, expected, strict=True):
            np.testing.assert_allclose(a, e, rtol=0, atol=1e-10 * size, err_msg=name)
        total = sum((b * e).sum() for b, e in zip(bars, expected, strict=True))
        np.testing.assert_allclose(sum(p @ d for p, d in zip(pulled, dots, strict=True)), total, atol=1e-9 * size, err_msg=name)


def test_gradients_are_the_analytical_derivatives(feet: fc.Constraints, rng: np.random.Generator) -> None:
    """By q through a displacement of it."""
    mapped, robot = fc.jax(feet), fc.jax(feet.robot)
    q, nu, tau = map(jnp.asarray, arguments(feet, "forward_dynamics", rng))

    def moved(dx: Any, nu: Any, tau: Any) -> Any:
        return mapped.forward_dynamics(robot.integrate(q, dx), nu, tau)

    D = feet.forward_dynamics_derivatives(*map(np.asarray, (q, nu, tau)))
    found = jax.jit(jax.jacrev(moved, argnums=(0, 1, 2)))(jnp.zeros(feet.robot.nv), nu, tau)
    for x, y in zip([*found.dnu, *found.forces], D, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-9 * np.abs(y).max())


def test_second_derivatives(rng: np.random.Generator) -> None:
    """The derivatives can be differentiated: so can their function, twice."""
    c = constraints("small")
    mapped = fc.jax(c)
    q, nu, tau = map(jnp.asarray, arguments(c, "forward_dynamics", rng))
    _, second = jax.jvp(lambda nu: mapped.forward_dynamics_derivatives(q, nu, tau).ddnu_dnu, (nu,), (tau,))
    _, twice = jax.jvp(lambda nu: jax.jacrev(lambda x: mapped.forward_dynamics(q, x, tau).dnu)(nu), (nu,), (tau,))
    np.testing.assert_allclose(second, twice, atol=1e-9 * np.abs(twice).max())


def test_what_is_given_at_run_time_can_be_traced(feet: fc.Constraints, rng: np.random.Generator) -> None:
    """Masks of any kind, references, wrenches, restitution and anchors; the last by their derivative."""
    mapped = fc.jax(feet)
    q, nu, tau = arguments(feet, "forward_dynamics", rng)
    masks = jnp.array([[True, False], [False, True], [True, True]])
    found = jax.jit(jax.vmap(lambda m: mapped.forward_dynamics(q, nu, tau, active=m)))(masks)
    assert same_bits(found, feet.forward_dynamics(q, nu, tau, active=np.asarray(masks)))
    assert not np.asarray(found.forces)[0, 6:].any()
    r = rng.normal(size=(3, feet.m))
    w = {FEET[0]: rng.normal(size=6)}
    for reference in ((r[0], r[1], r[2]), (None, r[1], None), (None, None, None)):
        expected = feet.forward_dynamics(q, nu, tau, reference=reference, wrenches=w)
        taken = jax.jit(lambda x, y: mapped.forward_dynamics(q, nu, tau, reference=x, wrenches=y))(reference, w)
        np.testing.assert_allclose(taken.dnu, expected.dnu, rtol=1e-9, atol=1e-9)
    bounce = jax.jit(lambda e: mapped.impulse(q, nu, e))(0.25)
    assert same_bits(bounce, feet.impulse(q, nu, 0.25))
    assert same_bits(mapped.impulse(q, nu, 0.25), bounce)
    f = rng.normal(size=feet.m)
    np.testing.assert_allclose(
        mapped.inverse_dynamics(q, nu, tau, forces=f).tau, feet.inverse_dynamics(q, nu, tau, forces=f).tau, rtol=1e-12, atol=1e-12
    )
    J = jax.jacrev(lambda f: mapped.inverse_dynamics(q, nu, tau, forces=f).tau)(jnp.asarray(f))
    np.testing.assert_allclose(J, -feet.jacobian(q).T, atol=1e-12)
    at = jnp.asarray(feet.anchors + 0.1)
    assert same_bits(mapped.with_anchors(at).violation(q), feet.with_anchors(np.asarray(at)).violation(q))
    by_places = jax.jit(jax.jacfwd(lambda a: mapped.with_anchors(a).violation(q)))(at)
    np.testing.assert_allclose(by_places[6:, 12:], -np.eye(3), atol=1e-14)  # of the point
    assert not by_places[6:, :12].any()


def test_constraints_inside_of_a_function_of_the_user(rng: np.random.Generator) -> None:
    """References, forces and restitution may be symbols there."""

    def step(r: Any, q: Any, nu: Any, tau: Any) -> Any:
        held = r.constraints(fc.joint("joint2"), kd=2.0)
        after = nu + 0.01 * held.forward_dynamics(q, nu, tau, reference=(None, nu[:1], None)).dnu
        return held.impulse(q, after, 0.5 + 0.1 * tau[1]).nu + held.inverse_dynamics(q, nu, tau, forces=nu[:1]).tau

    c = constraints("small")
    q, nu, tau = arguments(c, "forward_dynamics", rng)
    f = fc.compile(step, c.robot)
    held = c.robot.constraints(fc.joint("joint2"), kd=2.0)
    after = nu + 0.01 * held.forward_dynamics(q, nu, tau, reference=(None, nu[:1], None)).dnu
    expected = held.impulse(q, after, 0.5 + 0.1 * tau[1]).nu + held.inverse_dynamics(q, nu, tau, forces=nu[:1]).tau
    np.testing.assert_allclose(f(q, nu, tau), expected, rtol=1e-12, atol=1e-12)
    assert same_bits(jax.jit(fc.jax(f))(q, nu, tau), f(q, nu, tau))
    J = jax.jacrev(fc.jax(f), argnums=2)(q, nu, jnp.asarray(tau))
    np.testing.assert_allclose(J, f.jacobian(q, nu, tau).tau, atol=1e-10)


def test_a_rollout_under_constraints(feet: fc.Constraints, rng: np.random.Generator) -> None:
    """Steps in a scan, and their gradient against differences."""
    mapped, robot = fc.jax(feet), fc.jax(feet.robot)
    q, nu = jnp.asarray(feet.robot.neutral()), jnp.zeros(feet.robot.nv)

    def end(tau: Any) -> Any:
        def one(state: Any, _: Any) -> Any:
            after = state[1] + 0.01 * mapped.forward_dynamics(*state, tau).dnu
            return (robot.integrate(state[0], 0.01 * after), after), None

        return (jax.lax.scan(one, (q, nu), None, length=10)[0][1] ** 2).sum()

    tau, d = rng.normal(size=(2, feet.robot.nv))
    slope = jax.jit(jax.grad(end))(jnp.asarray(tau)) @ d
    h = 1e-5
    np.testing.assert_allclose(slope, (end(tau + h * d) - end(tau - h * d)) / (2 * h), rtol=1e-6)


def test_mistakes_are_named(feet: fc.Constraints, rng: np.random.Generator) -> None:
    mapped = fc.jax(feet)
    q, nu, tau = arguments(feet, "forward_dynamics", rng)
    wrong = [
        (lambda: mapped.forward_dynamics(q[1:], nu, tau), "forward_dynamics: q has the wrong shape.*robot.neutral"),
        (lambda: mapped.forward_dynamics(q, nu, tau, active=[1, 0, 1]), "forward_dynamics: active has the wrong shape"),
        (lambda: mapped.forward_dynamics(q, jnp.asarray(nu, jnp.float32), tau), "forward_dynamics: nu is of float32"),
        (lambda: mapped.forward_dynamics(q, nu, tau, reference=(nu, None, None)), "reference: position has the wrong shape"),
        (lambda: mapped.forward_dynamics(q, nu, tau, reference=nu), "reference does not fit"),
        (lambda: mapped.impulse(q, nu, [0.1, 0.2, 0.3]), "impulse: restitution has the wrong shape"),
        (lambda: mapped.inverse_dynamics(q, nu, tau, forces=nu), "inverse_dynamics: forces has the wrong shape"),
        (lambda: mapped.with_anchors(nu).violation(q), "violation: anchors has the wrong shape"),
        (lambda: mapped.jacobian(q, out=nu), "out cannot be given"),
        (lambda: feet.forward_dynamics(q, nu, jnp.asarray(tau)), r"tau is an array of JAX.*fc\.jax"),
    ]  # fmt: skip
    for call, words in wrong:
        with pytest.raises(fc.InputError, match=words):
            call()
    with pytest.raises(AttributeError, match="project is for arrays of NumPy"):
        mapped.project(q, nu)
    with pytest.raises(AttributeError, match="no function 'forward_dynamic'; there are jacobian"):
        mapped.forward_dynamic(q, nu, tau)
    with pytest.raises(Exception, match=r"forward_dynamics: the quaternion q\[..., 3:7\] is far from unit length"):
        jax.block_until_ready(jax.jit(mapped.forward_dynamics)(2.0 * q, nu, tau))
