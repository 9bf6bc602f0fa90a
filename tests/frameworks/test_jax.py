"""JAX: every function has NumPy's bits, also in jit and vmap; gradients are the analytical ones; bad input is refused."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from fallingcat.frameworks.calls import COMPOSED
from frameworks.every_function import QUICK, ROBOTS, arguments, load, names, options, parts
from test_quality import ROOT, run
from trees import STEP, random_tree

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
def robot() -> fc.Robot:
    return fc.load("spacearm", joints=["joint1", "joint2", "joint4"])


def same_bits(a: Any, b: Any) -> bool:
    return all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in zip(parts(a), parts(b), strict=True))


# ---------------------------------------------------------------------------------------------------------------------
# Values


@pytest.mark.parametrize("floating", [True, False])
def test_every_function_has_the_bits_of_numpy(floating: bool, rng: np.random.Generator) -> None:
    """One state of a small robot, and batches of some functions of each kind."""
    robot = fc.load("spacearm", joints=["joint2", "joint4"], floating=floating)
    assert len(names(robot)) > 40
    for name in names(robot) if floating else [name for name in QUICK if name in names(robot)]:
        has_the_bits_of_numpy(robot, name, arguments(robot, name, rng))
    for name in QUICK if floating else ():
        has_the_bits_of_numpy(robot, name, arguments(robot, name, rng, 3))


@pytest.mark.parametrize("robot_name", ROBOTS)
def test_larger_robots_have_the_bits_of_numpy(robot_name: str, rng: np.random.Generator) -> None:
    robot = load(robot_name)
    for name in ("integrate", "difference", "frame_pose", "mass_matrix", "inverse_dynamics", "forward_dynamics"):
        has_the_bits_of_numpy(robot, name, arguments(robot, name, rng))
    has_the_bits_of_numpy(robot, "inverse_dynamics", arguments(robot, "inverse_dynamics", rng, 17))


def has_the_bits_of_numpy(robot: fc.Robot, name: str, given: list[Any]) -> None:
    """Composed functions are compiled as one, with other roundings."""
    chosen = options(robot, name)
    expected = getattr(robot, name)(*given, **chosen)
    found = getattr(fc.jax(robot), name)(*given, **chosen)
    assert all(isinstance(x, jax.Array) for x in parts(found)), name
    assert type(found) is type(expected) or not isinstance(expected, tuple), name
    if name in COMPOSED:
        for x, y in zip(parts(found), parts(expected), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(y).max()), err_msg=name)
    else:
        assert same_bits(found, expected), name


def test_jit_and_vmap_have_the_bits_of_numpy(robot: fc.Robot, rng: np.random.Generator) -> None:
    mapped = fc.jax(robot)
    q, nu, dnu = arguments(robot, "inverse_dynamics", rng, 3, 5)
    expected = robot.inverse_dynamics(q, nu, dnu)
    assert same_bits(mapped.inverse_dynamics(q, nu, dnu), expected)
    assert same_bits(jax.jit(mapped.inverse_dynamics)(q, nu, dnu), expected)
    assert same_bits(jax.vmap(jax.vmap(mapped.inverse_dynamics))(q, nu, dnu), expected)
    assert same_bits(jax.jit(jax.vmap(mapped.inverse_dynamics, in_axes=1, out_axes=1))(q, nu, dnu), expected)
    some = jax.vmap(jax.vmap(mapped.inverse_dynamics, (0, None, None)), (None, 0, None))(q[0], nu[:, 0], dnu[0, 0])
    assert same_bits(some, robot.inverse_dynamics(q[0][None], nu[:, :1], dnu[0, 0]))
    assert same_bits(mapped.inverse_dynamics(q[:, :1], nu[0], dnu[0, 0]), robot.inverse_dynamics(q[:, :1], nu[0], dnu[0, 0]))
    assert mapped.mass_matrix(q[:0]).shape == (0, 5, robot.nv, robot.nv)


def test_named_tuples_are_pytrees(robot: fc.Robot, rng: np.random.Generator) -> None:
    given = arguments(robot, "inverse_dynamics", rng)
    found = jax.jit(fc.jax(robot).inverse_dynamics_derivatives)(*given)
    doubled = jax.tree.map(lambda x: 2.0 * x, found)
    expected = robot.inverse_dynamics_derivatives(*given)
    assert type(doubled) is type(expected)
    assert same_bits(doubled.dtau_dq, 2.0 * expected.dtau_dq)


def test_wrenches(robot: fc.Robot, rng: np.random.Generator) -> None:
    """On frames, as numbers and as arrays of JAX, in any axes; their gradients are Jacobians."""
    mapped = fc.jax(robot)
    q, nu, dnu = arguments(robot, "inverse_dynamics", rng)
    frames, w = robot.frame_names[-2:], rng.normal(size=(2, 6))
    for axes in ("body", "mixed", "inertial"):
        expected = robot.inverse_dynamics(q, nu, dnu, fc.Wrenches(frames, w, axes=axes))
        found = mapped.inverse_dynamics(q, nu, dnu, fc.Wrenches(frames, jnp.asarray(w), axes=axes))
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    J = jax.jacrev(lambda w: mapped.inverse_dynamics(q, nu, dnu, {frames[1]: w}))(jnp.asarray(w[1]))
    np.testing.assert_allclose(J, -robot.frame_jacobian(q, frames[1]).T, atol=1e-13)
    step = jax.jit(lambda w: mapped.step(q, nu, dnu, 0.01, wrenches={frames[0]: w}))(w[0])
    np.testing.assert_allclose(step.nu, robot.step(q, nu, dnu, 0.01, wrenches={frames[0]: w[0]}).nu, rtol=1e-12)


def test_a_function_of_the_user(robot: fc.Robot, rng: np.random.Generator) -> None:
    def power(r: Any, q: Any, nu: Any, gain: Any) -> Any:
        """gain h . nu"""
        return gain[0] * (r.bias(q, nu) @ nu)

    compiled = fc.compile(power, robot, gain=1)
    mapped = fc.jax(compiled)
    q, nu = arguments(robot, "bias", rng)
    assert same_bits(mapped(q, nu, [2.0]), compiled(q, nu, [2.0]))
    assert mapped.__doc__ == "gain h . nu"
    gradient = jax.grad(mapped, argnums=1)(jnp.asarray(q), nu, jnp.array([2.0]))
    np.testing.assert_allclose(gradient, compiled.jacobian(q, nu, [2.0]).nu, rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Derivatives


@pytest.mark.parametrize("seed", range(3))
def test_both_directions_are_the_analytical_derivatives(seed: int, rng: np.random.Generator) -> None:
    """By nu and dnu; and by q through a displacement of it."""
    robot = fc.load(random_tree(seed, 5), floating=seed != 1)
    mapped = fc.jax(robot)
    q, nu, dnu = arguments(robot, "inverse_dynamics", rng)
    D = robot.inverse_dynamics_derivatives(q, nu, dnu)

    def moved(dx: Any, nu: Any, dnu: Any) -> Any:
        return mapped.inverse_dynamics(mapped.integrate(q, dx), nu, dnu)

    zero = jnp.zeros(robot.nv)
    for direction in (jax.jacfwd, jax.jacrev):
        found = jax.jit(direction(moved, argnums=(0, 1, 2)))(zero, nu, dnu)
        for x, y in zip(found, D, strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-10 * max(1.0, np.abs(y).max()))


def test_gradients_by_q_keep_quaternions_at_unit_length(robot: fc.Robot, rng: np.random.Generator) -> None:
    """They are those of the function of the normalised quaternion; and tangent to the sphere."""
    mapped = fc.jax(robot)
    q = jnp.asarray(robot.random_configuration(rng))
    gradient = jax.grad(mapped.potential_energy)(q)
    assert abs(gradient[3:7] @ q[3:7]) < 1e-13
    d = rng.normal(size=robot.nq)
    (_, slope) = jax.jvp(mapped.potential_energy, (q,), (jnp.asarray(d),))
    moved = [complex(x, STEP * y) for x, y in zip(q.tolist(), d, strict=True)]
    (expected,) = robot.kernel("potential_energy").task.flat([moved])
    np.testing.assert_allclose(slope, expected[0].imag / STEP, rtol=1e-11)
    np.testing.assert_allclose(gradient @ d, slope, rtol=1e-11)


def test_second_derivatives_nest_in_any_order(robot: fc.Robot, rng: np.random.Generator) -> None:
    mapped = fc.jax(robot)
    q, nu = (jnp.asarray(x) for x in arguments(robot, "kinetic_energy", rng))
    M = robot.mass_matrix(np.asarray(q))
    for outer in (jax.jacfwd, jax.jacrev):
        for inner in (jax.jacfwd, jax.jacrev):
            H = jax.jit(outer(inner(mapped.kinetic_energy, argnums=1), argnums=1))(q, nu)
            np.testing.assert_allclose(H, M, rtol=0, atol=1e-12 * np.abs(M).max())
    third = jax.jacfwd(jax.hessian(mapped.kinetic_energy, argnums=1), argnums=0)(q, nu)  # dM_ij/dq_k, ambient
    moved = [complex(x) for x in np.asarray(q)]
    moved[8] += 1j * STEP
    (expected,) = robot.kernel("mass_matrix").task.flat([moved])
    expected = np.array([complex(x).imag for x in expected]).reshape(M.shape) / STEP
    np.testing.assert_allclose(third[:, :, 8], expected, atol=1e-10)


def test_second_derivatives_by_the_entries_of_quaternions(robot: fc.Robot, rng: np.random.Generator) -> None:
    """Functions normalise quaternions: the gradient changes with their length, and a Hessian by entries must know."""
    mapped = fc.jax(robot)
    W = rng.normal(size=(robot.nv, robot.nv))
    q = robot.random_configuration(rng)

    def f(q: Any) -> Any:
        return (W * mapped.mass_matrix(q)).sum() + mapped.potential_energy(q)

    H = np.asarray(jax.hessian(f)(q))
    assert np.abs(H - H.T).max() < 1e-12 * np.abs(H).max()
    h = 1e-5
    for k, e in enumerate(np.eye(robot.nq)):
        expected = (np.asarray(jax.grad(f)(q + h * e)) - np.asarray(jax.grad(f)(q - h * e))) / (2 * h)
        assert np.abs(H[:, k] - expected).max() < 1e-7 * np.abs(H).max()


def test_gradients_of_no_states(robot: fc.Robot) -> None:
    mapped = fc.jax(robot)
    nothing = jnp.zeros((0, robot.nq))
    assert jax.grad(lambda q: mapped.mass_matrix(q).sum())(nothing).shape == nothing.shape
    assert jax.grad(lambda q: mapped.potential_energy(q).sum())(nothing).shape == nothing.shape
    assert jax.vmap(jax.jacfwd(mapped.center_of_mass))(nothing).shape == (0, 3, robot.nq)


def test_without_jit(robot: fc.Robot, rng: np.random.Generator) -> None:
    mapped = fc.jax(robot)
    q = jnp.asarray(robot.random_configuration(rng))
    expected = jax.value_and_grad(mapped.potential_energy)(q)
    with jax.disable_jit():
        assert same_bits(jax.value_and_grad(mapped.potential_energy)(q), expected)


def test_the_first_use_may_be_on_several_threads(rng: np.random.Generator) -> None:
    """XLA takes each handler once, whoever comes first."""
    robot = fc.load(random_tree(41, 4), floating=True)
    q, nu = (jnp.asarray(x) for x in arguments(robot, "kinetic_energy", rng))
    mapped, barrier, faults = fc.jax(robot), threading.Barrier(6), []

    def work(k: int) -> None:
        barrier.wait()
        try:
            jax.block_until_ready(jax.jit(jax.grad(lambda q: mapped.kinetic_energy(q, nu) + k))(q))
        except Exception as error:
            faults.append(str(error))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


def test_a_rollout_in_a_scan(robot: fc.Robot, rng: np.random.Generator) -> None:
    """Steps inside of lax.scan are those outside; the gradient through twenty of them is that of differences."""
    mapped = fc.jax(robot)
    q, nu, _ = arguments(robot, "forward_dynamics", rng)

    def end(tau: Any) -> Any:
        def one(state: Any, _: Any) -> Any:
            step = mapped.step(*state, tau, 0.01, "rk4")
            return (step.q, step.nu), None

        (last, rate), _ = jax.lax.scan(one, (jnp.asarray(q), jnp.asarray(nu)), None, length=20)
        return last, rate

    tau = rng.normal(size=robot.nv)
    x = fc.Robot.step(robot, q, nu, tau, 0.01, "rk4")
    for _ in range(19):
        x = robot.step(x.q, x.nu, tau, 0.01, "rk4")
    last, rate = jax.jit(end)(jnp.asarray(tau))
    np.testing.assert_allclose(last, x.q, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(rate, x.nu, rtol=1e-9, atol=1e-9)

    def cost(tau: Any) -> Any:
        return (end(tau)[1] ** 2).sum()

    gradient = jax.jit(jax.grad(cost))(jnp.asarray(tau))
    (_, forward) = jax.jvp(cost, (jnp.asarray(tau),), (jnp.asarray(nu),))
    np.testing.assert_allclose(gradient @ nu, forward, rtol=1e-9)
    h = 1e-5
    difference = (cost(tau + h * nu) - cost(tau - h * nu)) / (2 * h)
    np.testing.assert_allclose(forward, difference, rtol=1e-5)


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


def test_float32_is_refused_with_clear_words(robot: fc.Robot, rng: np.random.Generator) -> None:
    mapped = fc.jax(robot)
    given = arguments(robot, "inverse_dynamics", rng)
    single = jnp.asarray(given[1], dtype=jnp.float32)
    for call in (mapped.inverse_dynamics, jax.jit(mapped.inverse_dynamics), jax.grad(lambda *x: mapped.inverse_dynamics(*x)[0])):
        with pytest.raises(fc.InputError, match=r"inverse_dynamics: nu is of float32; expected: float64; hint: .*jax_enable_x64"):
            call(jnp.asarray(given[0]), single, given[2])
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(fc.InputError, match="q is of float32"):
        mapped.inverse_dynamics(*given)


def test_shapes_are_refused_by_name(robot: fc.Robot, rng: np.random.Generator) -> None:
    mapped = fc.jax(robot)
    q, nu, dnu = arguments(robot, "inverse_dynamics", rng)
    for call in (mapped.inverse_dynamics, jax.jit(mapped.inverse_dynamics)):
        with pytest.raises(fc.InputError, match=r"inverse_dynamics: q has the wrong shape.*see robot.neutral"):
            call(q[1:], nu, dnu)
        with pytest.raises(fc.InputError, match="nu has the wrong shape"):
            call(q, nu[1:], dnu)
        with pytest.raises(fc.InputError, match="leading axes"):
            call(jnp.stack([q, q]), jnp.stack([nu] * 3), dnu)
    with pytest.raises(fc.InputError, match="nu is not an array"):
        mapped.inverse_dynamics(q, "nu", dnu)
    with pytest.raises(fc.InputError, match="nu is not an array"):
        mapped.inverse_dynamics(q, nu + 0j, dnu)
    with pytest.raises(fc.InputError, match=r"nu is of complex128; expected: float64; hint: x.real"):
        mapped.inverse_dynamics(q, jnp.asarray(nu) + 0j, dnu)
    with pytest.raises(fc.InputError, match=r"nu is of bool; expected: float64; hint: x.astype\('float64'\)$"):
        mapped.inverse_dynamics(q, jnp.asarray(nu) > 0, dnu)
    with pytest.raises(fc.InputError, match="step: dt is not an array"):
        mapped.step(q, nu, dnu, "soon")
    with pytest.raises(fc.InputError, match=r"inverse_dynamics: only a linear function can be transposed; hint: jax.vjp"):
        jax.linear_transpose(lambda x: mapped.inverse_dynamics(q, nu, x), dnu)(jnp.asarray(dnu))
    with pytest.raises(fc.InputError, match="out cannot be given"):
        mapped.mass_matrix(q, out=np.zeros((robot.nv, robot.nv)))


def test_quaternions_far_from_unit_length_are_refused_on_every_thread(robot: fc.Robot, rng: np.random.Generator) -> None:
    """One state and batches, from several threads at once, while others are fine; what is not a number passes."""
    mapped = fc.jax(robot)
    q, nu, dnu = arguments(robot, "inverse_dynamics", rng, 300)
    bad = q.copy()
    bad[217, 3:7] *= 1.5
    many, expected = jax.jit(mapped.inverse_dynamics), robot.inverse_dynamics(q, nu, dnu)
    pattern = re.escape("inverse_dynamics: the quaternion q[..., 3:7] is far from unit length")
    for values in ((bad, nu, dnu), (bad[217], nu[217], dnu[217])):
        with pytest.raises(ValueError, match=pattern):  # jax.errors.JaxRuntimeError, or a ValueError with its words
            _raised(lambda values=values: many(*values))
    faults: list[str] = []

    def work(k: int) -> None:
        for _ in range(20):
            if k % 2:
                faults.extend([] if same_bits(many(q, nu, dnu), expected) else ["other bits"])
            else:
                try:
                    many(bad, nu, dnu).block_until_ready()
                    faults.append("no error")
                except Exception as error:
                    faults.extend([] if "far from unit length" in str(error) else [str(error)])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    q[3, 4] = np.nan
    assert np.isnan(many(q, nu, dnu)[3]).all()
    assert not np.isnan(many(q, nu, dnu)[4]).any()


def test_derivatives_refuse_such_quaternions_too(robot: fc.Robot, rng: np.random.Generator) -> None:
    """XLA leaves out what nobody uses: in a jitted gradient the function itself may not run, and its derivative must look."""
    f = fc.jax(robot).potential_energy
    bad = jnp.asarray(robot.random_configuration(rng)).at[3:7].multiply(1.5)
    many = jnp.stack([jnp.asarray(robot.neutral()), bad])
    jitted = [(jax.grad(f), bad), (jax.jacfwd(f), bad), (jax.hessian(f), bad), (jax.vmap(jax.grad(f)), many)]
    for derivative, q in [*jitted, (lambda q: jax.jvp(f, (q,), (jnp.ones_like(q),))[1], bad)]:
        with pytest.raises(ValueError, match=r"potential_energy.*: the quaternion q\[..., 3:7\] is far from unit length"):
            _raised(lambda derivative=derivative, q=q: jax.jit(derivative)(q))


def _raised(call: Any) -> None:
    """Errors of XLA come when a result is waited for, of a class that depends on the version: all as ValueError."""
    try:
        jax.block_until_ready(call())
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(str(error)) from error


def test_other_layouts_are_refused_before_anything_runs(robot: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another major version of XLA's interface, or call frames that are too small."""
    from fallingcat.frameworks import jax_primitive

    kernel = fc.compile(lambda r, q: r.center_of_mass(q)[0] * 3.25, robot).kernel
    op = jax_primitive.operation(kernel)
    monkeypatch.setattr(jax_primitive, "FRAME_SIZE", 10_000)
    with pytest.raises(ImportError, match="call frames of"):
        op.target(batch=False)
    monkeypatch.setattr(jax_primitive, "API_MAJOR", 7)
    jax_primitive.api_minor.cache_clear()
    with pytest.raises(ImportError, match="another foreign function interface"):
        jax_primitive.api_minor()
    monkeypatch.undo()
    jax_primitive.api_minor.cache_clear()
    assert jax_primitive.api_minor() >= 1


def test_what_is_not_a_robot_is_refused() -> None:
    with pytest.raises(fc.InputError, match=r"fc.jax: not a robot"):
        fc.jax("cat")  # type: ignore[call-overload]


def test_handlers_outlive_their_robots(rng: np.random.Generator) -> None:
    """A jitted function is called after the robot, the kernels and everything else of ours is gone."""
    robot = fc.load(random_tree(31, 4), floating=True)
    q = robot.random_configuration(rng)
    f = jax.jit(fc.jax(robot).mass_matrix).lower(q).compile()
    expected = robot.mass_matrix(q)
    del robot
    assert same_bits(f(q), expected)


# ---------------------------------------------------------------------------------------------------------------------
# Arrays of JAX given to functions for NumPy


def test_numpy_functions_answer_arrays_of_jax_with_a_pointer(robot: fc.Robot, rng: np.random.Generator) -> None:
    q, nu, dnu = arguments(robot, "inverse_dynamics", rng)
    frame = robot.frame_names[-1]
    f = fc.compile(lambda r, q: r.center_of_mass(q)[0], robot)
    calls = (
        lambda x: robot.inverse_dynamics(q, nu, x),
        lambda x: jax.jit(lambda y: robot.inverse_dynamics(q, nu, y))(x),
        lambda x: robot.step(q, nu, x, 0.01),
        lambda x: robot.inverse_dynamics(q, nu, [0.0] * (robot.nv - 1) + [x[0]]),
        lambda x: robot.inverse_dynamics(q, nu, [dnu.tolist(), [0.0] * (robot.nv - 1) + [x[0]]]),
        lambda x: robot.step(q, nu, x[6:], 0.01),
        lambda x: robot.step(q, nu, dnu, x[0]),
        lambda x: robot.inverse_dynamics(q, nu, dnu, {frame: x[:6]}),
        lambda x: robot.inverse_dynamics(q, nu, dnu, fc.Wrenches(frame, x[:6])),
        lambda x: robot.vjp("inverse_dynamics")(q, nu, dnu, x),
        lambda x: robot.vjp("mass_matrix")(q, jnp.outer(x, x)),
        lambda x: robot.split(jnp.asarray(q)),
        lambda x: f(jnp.asarray(q)),
    )
    for call in calls:
        with pytest.raises(fc.InputError, match=r"is an array of JAX; expected: an array of NumPy; hint: fc.jax\(robot\) has"):
            call(jnp.asarray(dnu))


# ---------------------------------------------------------------------------------------------------------------------
# The page


def test_the_page_runs() -> None:
    code = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "jax.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    result = run("-c", "\n".join(code))
    assert result.returncode == 0, result.stderr
