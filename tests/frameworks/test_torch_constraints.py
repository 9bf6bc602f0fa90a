"""Constraints through PyTorch: NumPy's bits, derivatives that PyTorch itself finds right, graphs, and what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from frameworks.constrained import DIFFERENTIATED, FEET, NAMES, SETS, arguments, constraints, options, slope
from frameworks.every_function import parts

torch = extra("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of PyTorch about itself
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def feet() -> fc.Constraints:
    return constraints("feet")


def same_bits(found: Any, expected: Any) -> bool:
    return all(np.array_equal(f.numpy(), np.asarray(e)) for f, e in zip(parts(found), parts(expected), strict=True))


@pytest.mark.parametrize("which", SETS)
def test_every_function_has_the_bits_of_numpy(which: str, rng: np.random.Generator) -> None:
    """One state, with a mask and without; and a batch, also through vmap."""
    c = constraints(which)
    torched = fc.torch(c)
    for name in NAMES:
        given = arguments(c, name, rng)
        expected = getattr(c, name)(*given)
        found = getattr(torched, name)(*map(torch.from_numpy, given))
        assert type(found) is type(expected) or not isinstance(expected, tuple), name
        assert same_bits(found, expected), name
        chosen = options(c, name)
        if chosen:
            assert same_bits(getattr(torched, name)(*given, **chosen), getattr(c, name)(*given, **chosen)), name
    given = arguments(c, "forward_dynamics", rng, 3, 2)
    expected = c.forward_dynamics(*given)
    tensors = [torch.from_numpy(x) for x in given]
    assert same_bits(torched.forward_dynamics(*tensors), expected)
    assert same_bits(torch.func.vmap(torched.forward_dynamics)(*tensors), expected)


@pytest.mark.parametrize("which", SETS)
def test_gradients_are_those_of_a_complex_step(which: str, rng: np.random.Generator) -> None:
    """Both directions, by the entries of every argument."""
    c = constraints(which)
    torched = fc.torch(c)
    for name in DIFFERENTIATED:
        values = arguments(c, name, rng)
        dots = [rng.normal(size=v.shape) for v in values]
        chosen = options(c, name)
        expected = slope(c, name, values, dots, chosen.get("active"))

        def f(*x: Any, name: str = name, chosen: Any = chosen) -> Any:
            return parts(getattr(torched, name)(*x, **chosen))

        given, along = tuple(map(torch.from_numpy, values)), tuple(map(torch.from_numpy, dots))
        _, pushed = torch.func.jvp(f, given, along)
        results, pull = torch.func.vjp(f, *given)
        bars = tuple(torch.from_numpy(rng.normal(size=r.shape)) for r in results)
        pulled = [p.numpy() for p in pull(bars)]
        size = max(1.0, *(np.abs(e).max() for e in expected), *(np.abs(p).max() for p in pulled))
        for a, e in zip(pushed, expected, strict=True):
            np.testing.assert_allclose(a.numpy(), e, rtol=0, atol=1e-10 * size, err_msg=name)
        total = sum((b.numpy() * e).sum() for b, e in zip(bars, expected, strict=True))
        np.testing.assert_allclose(sum(p @ d for p, d in zip(pulled, dots, strict=True)), total, atol=1e-9 * size, err_msg=name)


def test_what_is_given_at_run_time(feet: fc.Constraints, rng: np.random.Generator) -> None:
    """Masks of any kind, references, wrenches, restitution, forces and anchors, as numbers and with gradients."""
    torched = fc.torch(feet)
    q, nu, tau = map(torch.from_numpy, arguments(feet, "forward_dynamics", rng))
    numbers = [x.numpy() for x in (q, nu, tau)]
    masks = torch.tensor([[1, 0], [0, 1], [1, 1]])
    for kind in (torch.bool, torch.int64, torch.float64):
        found = torched.forward_dynamics(q, nu, tau, active=masks.to(kind))
        assert same_bits(found, feet.forward_dynamics(*numbers, active=masks.numpy()))
    r, w = rng.normal(size=(3, feet.m)), {FEET[0]: rng.normal(size=6)}
    for reference in ((r[0], r[1], r[2]), (None, r[1], None), (None, None, None)):
        expected = feet.forward_dynamics(*numbers, reference=reference, wrenches=w)
        taken = torched.forward_dynamics(q, nu, tau, reference=reference, wrenches=w)
        np.testing.assert_allclose(taken.dnu.numpy(), expected.dnu, rtol=1e-9, atol=1e-9)
    R = torch.from_numpy(r[1]).requires_grad_()
    follows = lambda x: torched.forward_dynamics(q, nu, tau, reference=(None, x, None)).dnu  # noqa: E731
    assert torch.autograd.gradcheck(follows, (R,), fast_mode=True)
    assert same_bits(torched.impulse(q, nu, 0.25), feet.impulse(*numbers[:2], 0.25))
    e = torch.tensor(0.25, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda e: torched.impulse(q, nu, e).nu, (e,), fast_mode=True)
    f = rng.normal(size=feet.m)
    J = torch.func.jacrev(lambda f: torched.inverse_dynamics(q, nu, tau, forces=f).tau)(torch.from_numpy(f))
    np.testing.assert_allclose(J.numpy(), -feet.jacobian(numbers[0]).T, atol=1e-12)
    at = torch.from_numpy(feet.anchors + 0.1).requires_grad_()
    assert torch.autograd.gradcheck(lambda a: torched.with_anchors(a).forward_dynamics(q, nu, tau).forces, (at,), fast_mode=True)


def test_one_graph(rng: np.random.Generator) -> None:
    c = constraints("small")
    torched, robot, hand = fc.torch(c), fc.torch(c.robot), c.robot.frame_names[-1]

    def loss(q: Any, nu: Any, tau: Any, active: Any, w: Any) -> Any:
        found = torched.forward_dynamics(q, nu, tau, active=active, reference=(None, None, 0.1 * nu[:1]), wrenches={hand: w})
        after = nu + 0.01 * found.dnu
        D = torched.forward_dynamics_derivatives(q, nu, tau)
        moved = robot.integrate(q, 0.01 * after)
        return (after**2).sum() + found.forces.sum() + D.dforces_dtau.sum() + torched.violation(moved).sum()

    eager_given = [torch.from_numpy(x).requires_grad_() for x in arguments(c, "forward_dynamics", rng)]
    eager_given += [torch.ones(1, dtype=torch.float64), torch.ones(6, dtype=torch.float64, requires_grad=True)]
    given = [x.detach().clone().requires_grad_(x.requires_grad) for x in eager_given]
    expected, found = loss(*eager_given), torch.compile(loss, fullgraph=True)(*given)
    assert torch.allclose(found, expected, rtol=1e-12)
    expected.backward()
    found.backward()
    for a, b in zip(eager_given, given, strict=True):
        if a.requires_grad:
            assert torch.allclose(a.grad, b.grad, rtol=1e-10, atol=1e-10 * float(a.grad.abs().max()))
            assert float(a.grad.abs().max()) > 0.0


def test_pickled(feet: fc.Constraints, rng: np.random.Generator) -> None:
    q, *_ = arguments(feet, "jacobian", rng)
    again = pickle.loads(pickle.dumps(fc.torch(feet)))
    assert torch.equal(again.jacobian(q), fc.torch(feet).jacobian(q))


def test_mistakes_are_named(feet: fc.Constraints, rng: np.random.Generator) -> None:
    torched = fc.torch(feet)
    q, nu, tau = map(torch.from_numpy, arguments(feet, "forward_dynamics", rng))
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: torched.forward_dynamics(q[1:], nu, tau), "forward_dynamics: q has the wrong shape.*robot.neutral"),
        (lambda: torched.forward_dynamics(2 * q, nu, tau), "quaternion q.*far from unit length"),
        (lambda: torched.forward_dynamics(q, nu, tau, active=[1, 0, 1]), "forward_dynamics: active has the wrong shape"),
        (lambda: torched.forward_dynamics(q, nu.float(), tau), "forward_dynamics: nu is of torch.float32"),
        (lambda: torched.forward_dynamics(q, nu, tau, active=torch.ones(2).float()), "active is of torch.float32"),
        (lambda: torched.forward_dynamics(q, nu, tau, reference=(nu, None, None)), "reference: position has the wrong shape"),
        (lambda: torched.forward_dynamics(q, nu, tau, reference=nu), "reference does not fit"),
        (lambda: torched.impulse(q, nu, [0.1, 0.2, 0.3]), "impulse: restitution has the wrong shape"),
        (lambda: torched.inverse_dynamics(q, nu, tau, forces=nu), "inverse_dynamics: forces has the wrong shape"),
        (lambda: torched.with_anchors(nu).violation(q), "violation: anchors has the wrong shape"),
        (lambda: torched.jacobian(q, out=nu), "out cannot be given"),
        (lambda: feet.forward_dynamics(q, nu, tau), r"q is an array of PyTorch.*fc\.torch"),
    ]
    for call, words in wrong:
        with pytest.raises(fc.InputError, match=words):
            call()
    with pytest.raises(AttributeError, match="linearize is for arrays of NumPy"):
        torched.linearize(q, nu, tau)
