"""PyTorch: the bits of NumPy, no copies, and derivatives that PyTorch itself finds right."""

from __future__ import annotations

import importlib
import pickle
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from fallingcat.frameworks.calls import COMPOSED
from frameworks.every_function import ROBOTS, arguments, load, names, options, parts
from test_quality import ROOT, run
from trees import random_tree

torch = extra("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of PyTorch about itself
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

gradcheck = torch.autograd.gradcheck


def tensors(robot: fc.Robot, name: str, rng: np.random.Generator, *shape: int, grad: bool = False) -> list[Any]:
    return [torch.from_numpy(x).requires_grad_(grad) for x in map(np.asarray, arguments(robot, name, rng, *shape))]


# ---------------------------------------------------------------------------------------------------------------------
# Values


def test_every_function_has_the_bits_of_numpy(rng: np.random.Generator) -> None:
    robot = fc.load("spacearm", joints=["joint2", "joint4"])
    assert len(names(robot)) > 40
    same_bits(robot, names(robot), rng)


@pytest.mark.parametrize("robot_name", ROBOTS)
def test_larger_robots_have_the_bits_of_numpy(robot_name: str, rng: np.random.Generator) -> None:
    same_bits(load(robot_name), ("integrate", "difference", "frame_pose", "inverse_dynamics", "forward_dynamics"), rng)


def same_bits(robot: fc.Robot, functions: Iterable[str], rng: np.random.Generator) -> None:
    """One state and several, through both libraries."""
    torched = fc.torch(robot)
    for name in functions:
        chosen = options(robot, name)
        for shape in ((), (5,)):
            given = arguments(robot, name, rng, *shape)
            expected = getattr(robot, name)(*given, **chosen)
            found = getattr(torched, name)(*[torch.from_numpy(np.asarray(x)) for x in given], **chosen)
            assert type(found) is (type(expected) if isinstance(expected, tuple) else torch.Tensor), name
            for e, f in zip(parts(expected), parts(found), strict=True):
                e = np.asarray(e)
                assert f.shape == e.shape, name
                if name in COMPOSED:  # traced as one, it may round otherwise
                    assert np.allclose(f.numpy(), e, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(e).max())), name
                else:
                    assert np.array_equal(f.numpy(), e), name


def test_nothing_is_copied(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel sees the memory of its arguments, and results are the memory that it wrote: for one state, and for several."""
    robot = load("panda")
    torched = fc.torch(robot)
    operator = torched._calls.find("mass_matrix", (), 0)
    kernel, seen = operator.kernel, []

    def spied(run: Callable[..., Any]) -> Callable[..., Any]:
        def call(q: Any) -> Any:
            found = run(q)
            seen.append((q.ctypes.data, found.ctypes.data))
            return found

        return call

    class Spy:
        entry, __call__ = staticmethod(spied(kernel.entry)), staticmethod(spied(kernel))

    monkeypatch.setattr(operator, "kernel", Spy())
    for shape in ((), (300,)):
        for q in (tensors(robot, "mass_matrix", rng, *shape)[0], tensors(robot, "mass_matrix", rng, *shape, grad=True)[0]):
            M = torched.mass_matrix(q)
            assert seen.pop() == (q.data_ptr(), M.data_ptr())
            assert np.array_equal(M.detach().numpy(), robot.mass_matrix(q.detach().numpy()))


def test_constants_of_any_memory(rng: np.random.Generator) -> None:
    """Arrays of NumPy that must not be written, or that go backwards, are copied; PyTorch has no such tensors."""
    robot = load("panda")
    x = rng.normal(size=robot.nq)
    expected = robot.gravity_torque(x)
    frozen = x.copy()
    frozen.flags.writeable = False
    for same in (frozen, x[::-1].copy()[::-1], x.tolist(), np.broadcast_to(x, (2, robot.nq))[1]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.array_equal(fc.torch(robot).gravity_torque(same).numpy(), expected)


def test_results_are_not_written_over(rng: np.random.Generator) -> None:
    """The memory of results is used again only when no tensor sees it any more."""
    robot = load("quadruped")
    torched = fc.torch(robot)
    q = tensors(robot, "mass_matrix", rng, 300)[0]
    kept = [torched.mass_matrix(q * 1.0)[::2] for _ in range(4)]
    copies = [k.clone() for k in kept]
    for _ in range(8):
        torched.mass_matrix(q.flip(0).contiguous())
    assert all(torch.equal(k, c) for k, c in zip(kept, copies, strict=True))


def test_strides_and_broadcasting(rng: np.random.Generator) -> None:
    robot = load("quadruped")
    q, nu, tau = tensors(robot, "forward_dynamics", rng, 6)
    torched = fc.torch(robot)
    expected = torched.forward_dynamics(q, nu, tau)
    strided = torch.empty(6, 2 * robot.nv, dtype=torch.float64)[:, ::2]
    strided[:] = nu
    assert torch.equal(torched.forward_dynamics(q, strided, tau.T.contiguous().T), expected)
    table = torched.forward_dynamics(q[:, None], nu, tau[0])
    assert table.shape == (6, 6, robot.nv)
    assert torch.equal(table[2, 3], torched.forward_dynamics(q[2], nu[3], tau[0]))
    assert torched.forward_dynamics(q[:0], nu[:0], tau[:0]).shape == (0, robot.nv)
    assert torch.equal(torched.forward_dynamics(q, torch._neg_view(-nu), tau), expected)


def test_wrenches_and_frames(rng: np.random.Generator) -> None:
    robot = load("quadruped")
    torched = fc.torch(robot)
    q, nu, tau = arguments(robot, "forward_dynamics", rng, 4)
    frames, w = [robot.frame_names[-1], robot.frame_names[3]], rng.normal(size=(4, 2, 6))
    q_, nu_, tau_, w_ = map(torch.from_numpy, (q, nu, tau, w))
    on = {frames[0]: w[:, 0], frames[1]: w[0, 1]}
    found = torched.forward_dynamics(q_, nu_, tau_, {frames[0]: w_[:, 0], frames[1]: w_[0, 1]})
    assert np.array_equal(found.numpy(), robot.forward_dynamics(q, nu, tau, on))
    mixed = fc.Wrenches(frames, w, axes="mixed")
    assert np.array_equal(torched.inverse_dynamics(q_, nu_, tau_, mixed).numpy(), robot.inverse_dynamics(q, nu, tau, mixed))
    assert np.array_equal(torched.frame_poses(q_, frames).numpy(), robot.frame_poses(q, frames))
    assert np.array_equal(torched.frame_velocities(q_, nu_, frames).numpy(), robot.frame_velocities(q, nu, frames))


# ---------------------------------------------------------------------------------------------------------------------
# Derivatives

DIFFERENTIATED = (
    "integrate", "difference", "frame_pose", "frame_velocity", "center_of_mass", "inverse_dynamics", "forward_dynamics",
    "mass_matrix", "kinetic_energy", "potential_energy", "centroidal_momentum", "step", "state_minus", "curvature",
)  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients(name: str, rng: np.random.Generator) -> None:
    """Reverse and forward mode against finite differences, with broadcast arguments among them."""
    robot = fc.load("cat")
    f = getattr(fc.torch(robot), name)
    given = tensors(robot, name, rng, 2, grad=True)
    if name == "step":  # slowly: the tail is light
        given = [given[0], *[(0.01 * x).detach().requires_grad_() for x in given[1:]]]
    given[-1] = given[-1][0].detach().requires_grad_()
    if name == "state_minus":  # where nothing flips
        given[2] = (given[0] + 0.01).detach().requires_grad_()
    assert gradcheck(lambda *x: f(*x, **options(robot, name)), given, fast_mode=True, check_forward_ad=True)


@pytest.mark.parametrize("robot_name", ROBOTS)
def test_gradients_are_the_analytical_derivatives(robot_name: str, rng: np.random.Generator) -> None:
    robot = load(robot_name)
    torched = fc.torch(robot)
    q, nu, tau = tensors(robot, "forward_dynamics", rng)
    expected = robot.forward_dynamics_derivatives(q.numpy(), nu.numpy(), tau.numpy())
    for jac in (torch.func.jacrev, torch.func.jacfwd):
        dq, dnu, dtau = jac(torched.forward_dynamics, (0, 1, 2))(q, nu, tau)
        along = jac(lambda dx: torched.forward_dynamics(torched.integrate(q, dx), nu, tau))(torch.zeros_like(nu))
        for found, e in zip((along, dnu, dtau), expected, strict=True):
            assert np.allclose(found.numpy(), e, rtol=1e-9, atol=1e-9 * np.abs(e).max())
        assert dq.shape == (robot.nv, robot.nq)


def test_derivatives_of_derivatives(rng: np.random.Generator) -> None:
    robot = fc.load("cat")
    torched = fc.torch(robot)
    q, nu = tensors(robot, "bias", rng, grad=True)
    assert torch.autograd.gradgradcheck(torched.bias, (q, nu), fast_mode=True)
    q, nu = q.detach(), nu.detach()
    for hessian in (torch.func.hessian, lambda f: torch.func.jacrev(torch.func.jacrev(f))):
        assert torch.allclose(hessian(lambda x: torched.kinetic_energy(q, x))(nu), torched.mass_matrix(q), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_of_random_trees(seed: int, rng: np.random.Generator) -> None:
    robot = fc.load(random_tree(seed, 4), floating=seed % 2 == 0)
    torched = fc.torch(robot)
    for name in ("forward_dynamics", "step"):
        given = tensors(robot, name, rng, grad=True)
        assert gradcheck(getattr(torched, name), given, fast_mode=True, check_forward_ad=True)


def test_gradients_by_wrenches(rng: np.random.Generator) -> None:
    robot = load("quadruped")
    torched = fc.torch(robot)
    q, nu, tau = tensors(robot, "forward_dynamics", rng, 2)
    w = torch.from_numpy(rng.normal(size=6)).requires_grad_()
    frames = [robot.frame_names[-1], robot.frame_names[4]]
    assert gradcheck(lambda w: torched.forward_dynamics(q, nu, tau, {frames[0]: w, frames[1]: 2 * w}), w, check_forward_ad=True)


def test_gradients_of_no_states() -> None:
    torched = fc.torch(load("panda"))
    for f in (torched.mass_matrix, torched.potential_energy, torched.gravity_torque):
        q = torch.zeros(0, torched.robot.nq, dtype=torch.float64, requires_grad=True)
        f(q).sum().backward()
        assert q.grad.shape == q.shape


def test_vmap(rng: np.random.Generator) -> None:
    robot = load("panda")
    torched = fc.torch(robot)
    q, nu, tau = tensors(robot, "forward_dynamics", rng, 4, 3)
    expected = torched.forward_dynamics(q, nu, tau)
    vmap = torch.func.vmap
    assert torch.equal(vmap(torched.forward_dynamics)(q, nu, tau), expected)
    assert torch.equal(vmap(vmap(torched.forward_dynamics))(q, nu, tau), expected)
    hidden = vmap(torched.forward_dynamics, (1, None, None))(q, nu[:, 0], tau[0, 0])
    assert torch.equal(hidden[2], torched.forward_dynamics(q[:, 2], nu[:, 0], tau[0, 0]))
    grads = vmap(torch.func.grad(lambda q, nu: torched.kinetic_energy(q, nu), 1))(q[:, 0], nu[:, 0])
    assert torch.allclose(grads, torch.einsum("bij,bj->bi", torched.mass_matrix(q[:, 0]), nu[:, 0]), atol=1e-12)


def test_a_function_from_fc_compile(rng: np.random.Generator) -> None:
    robot = fc.load("cat")

    def height(r: Any, q: Any, scale: Any) -> Any:
        return scale[0] * r.center_of_mass(q)[2]

    compiled = fc.compile(height, robot, scale=1)
    f = fc.torch(compiled)
    q = torch.from_numpy(robot.random_configuration(rng)).requires_grad_()
    scale = torch.full((1,), 2.0, dtype=torch.float64, requires_grad=True)
    assert f(q, scale).item() == compiled(q.detach().numpy(), np.array([2.0]))
    assert gradcheck(lambda q, s: f(q, scale=s), (q, scale))
    assert torch.equal(torch.compile(lambda q: f(q, scale) * 2, fullgraph=True)(q), f(q, scale) * 2)


# ---------------------------------------------------------------------------------------------------------------------
# torch.compile


def test_one_graph(rng: np.random.Generator) -> None:
    robot = fc.load("cat")
    torched = fc.torch(robot)
    frame = robot.frame_names[-1]

    def loss(q: Any, nu: Any, tau: Any, w: Any) -> Any:
        q, nu = torched.step(q, nu, tau, 0.01, wrenches={frame: w})
        D = torched.forward_dynamics_derivatives(q, nu, tau)
        poses = torched.frame_poses(q, [frame]) - torched.frame_pose(q, frame)[:, None]
        return torched.kinetic_energy(q, nu).sum() + D.Minv.sum() + poses.sum()

    compiled = torch.compile(loss, fullgraph=True)
    eager_given = [
        *tensors(robot, "forward_dynamics", rng, 3, grad=True),
        torch.zeros(6, dtype=torch.float64, requires_grad=True),
    ]
    given = [x.detach().clone().requires_grad_() for x in eager_given]
    expected, found = loss(*eager_given), compiled(*given)
    assert torch.allclose(found, expected, rtol=1e-13)
    expected.backward()
    found.backward()
    for a, b in zip(eager_given, given, strict=True):
        assert torch.allclose(a.grad, b.grad, rtol=1e-10, atol=1e-10 * float(a.grad.abs().max()))
        assert float(a.grad.abs().max()) > 0.0


def test_what_records_sees_an_operator(rng: np.random.Generator) -> None:
    """Not numbers of the state that it was recorded with, which would be wrong for every other."""
    robot = fc.load("spacearm", joints=["joint1", "joint2"], floating=False)
    torched = fc.torch(robot)
    f, energy = (lambda q: torched.mass_matrix(q)), (lambda q: torched.potential_energy(q))
    x, y = (torch.from_numpy(rng.normal(size=robot.nq)) for _ in range(2))
    make_fx = importlib.import_module("torch.fx.experimental.proxy_tensor").make_fx
    func = torch.func
    assert torch.equal(make_fx(f)(x)(y), f(y))
    assert torch.equal(make_fx(func.grad(energy))(x)(y), func.grad(energy)(y))
    assert torch.equal(make_fx(func.vmap(f))(torch.stack([x, x]))(torch.stack([x, y])), torch.stack([f(x), f(y)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)  # shapes are looked at
        warnings.simplefilter("ignore", UserWarning)  # of PyTorch about its own constants
        assert torch.equal(torch.jit.trace(f, (x,))(y), f(y))
        found, along = func.linearize(f, x)
    assert torch.equal(func.functionalize(f)(x), f(x))
    assert torch.equal(make_fx(func.functionalize(f))(x)(y), f(y))
    assert torch.equal(found, f(x))
    assert torch.allclose(along(y), func.jvp(f, (x,), (y,))[1], atol=1e-14)
    D = torched.forward_dynamics_derivatives
    assert torch.equal(make_fx(lambda q: D(q, x, y).Minv)(x)(y), D(y, x, y).Minv)


def test_shapes_without_numbers(rng: np.random.Generator) -> None:
    robot = fc.load("spacearm", joints=["joint1", "joint2"], floating=False)
    mode = importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode()
    q = mode.from_tensor(torch.zeros(5, robot.nq, dtype=torch.float64))
    with mode:
        inside = fc.torch(robot).mass_matrix(q)
    for M in (inside, fc.torch(robot).mass_matrix(q)):
        assert type(M) is type(q)
        assert M.shape == (5, robot.nv, robot.nv)


# ---------------------------------------------------------------------------------------------------------------------
# Mistakes


def test_mistakes_are_named(rng: np.random.Generator) -> None:
    robot = fc.load("cat")
    cat = fc.torch(robot)
    q, nu = torch.from_numpy(robot.neutral()), torch.zeros(robot.nv, dtype=torch.float64)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: cat.bias(q.float(), nu), r"bias: q is of torch.float32; expected: torch.float64.*double\(\)"),
        (lambda: cat.bias(q, nu.to(torch.complex128)), "bias: nu is of torch.complex128.*hint: x.real"),
        (lambda: cat.bias(q, nu > 0), r"bias: nu is of torch.bool.*hint: x.double\(\)$"),
        (lambda: cat.bias(q, nu.numpy() + 0j), "bias: nu is not a tensor"),
        (lambda: cat.bias(q, nu.to("meta")), "bias: nu is on meta.*CPU"),
        (lambda: cat.bias(q, nu.to_sparse()), "bias: nu is torch.sparse_coo.*to_dense"),
        (lambda: cat.bias(nu, nu), r"bias: q has the wrong shape; expected: \(..., \d+\).*quaternion"),
        (lambda: cat.bias(q, nu[0]), "bias: nu has the wrong shape"),
        (lambda: cat.bias(2 * q, nu), "bias: the quaternion q.*far from unit length"),
        (lambda: cat.bias((2 * q).requires_grad_(), nu), "bias: the quaternion q.*far from unit length"),
        (lambda: cat.bias(q.expand(3, -1), nu.expand(2, -1)), "batch axes do not fit together"),
        (lambda: cat.bias("q", nu), "bias: q is not a tensor"),
        (lambda: cat.bias(q, nu, out=nu), "out cannot be given"),
        (lambda: cat.step(q, nu, nu), "step: dt missing"),
        (lambda: cat.step(q, nu, nu, "soon"), "step: dt is not a tensor"),
        (lambda: cat.step(q, nu, nu[:3], 0.1), "step: tau has the wrong shape"),
        (lambda: cat.discretize(q, nu, nu, 0.1), "zoh"),
        (lambda: cat.forward_dynamics(q, nu, nu, {"tail_tip": nu[:5]}), r"wrenches\['tail_tip'\] has the wrong shape"),
        (lambda: cat.forward_dynamics(q, nu, nu, {"tail_tip": nu[:6].float()}), r"wrenches\['tail_tip'\] is of torch.float32"),
        (lambda: cat.frame_pose(q, "hnad"), "no frame"),
        (lambda: fc.torch("cat"), "not a robot"),
    ]
    for call, words in wrong:
        with pytest.raises(fc.FallingCatError) as error:
            call()
        assert re.search(words, str(error.value)), (words, str(error.value))
    with pytest.raises(Exception, match=r"nu is of torch\.float32"):
        torch.compile(lambda q, nu: cat.bias(q, nu.float()), fullgraph=True)(q, nu)


def test_it_can_be_sent_elsewhere() -> None:
    cat = pickle.loads(pickle.dumps(fc.torch(fc.load("cat"))))
    assert cat.potential_energy(cat.neutral()).shape == ()


# ---------------------------------------------------------------------------------------------------------------------
# The page


def test_the_page_runs() -> None:
    code = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "torch.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(code) > 2
    result = run("-c", "\n".join(code))
    assert result.returncode == 0, result.stderr
