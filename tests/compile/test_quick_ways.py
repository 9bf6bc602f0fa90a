"""The quick ways into compiled code, and that nothing else is made on the way."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compile import Kernel
from fallingcat.functions import task


def test_a_method_taken_before_its_first_call_is_quick_too(ball: fc.Robot) -> None:
    """What a loop holds on to finds the compiled code as well: no call converts arguments that are fine."""
    robot = fc.load(ball.description)
    hoisted = robot.inverse_dynamics
    q, nu, dnu = ball.random_configuration(1), ball.random_velocity(2), ball.random_velocity(3)
    expected = hoisted(q, nu, dnu)
    assert robot._calls["inverse_dynamics",] is robot.kernel("inverse_dynamics").direct
    assert type(robot._calls["inverse_dynamics",]) is type(len)
    assert hoisted(q, nu, dnu).tobytes() == expected.tobytes()
    assert hoisted(q.tolist(), nu, dnu=dnu).tobytes() == expected.tobytes()
    with pytest.raises(fc.InputError, match="far from unit length"):
        hoisted(2.0 * q, nu, dnu)
    with pytest.raises(fc.FrameError, match="by its name"):
        robot.frame_pose(q, ["a"])


def test_one_state_needs_no_code_for_batches(ball: fc.Robot) -> None:
    kernel = Kernel(task(ball.model, "mass_matrix"))
    q = ball.neutral()
    assert kernel(q).tobytes() == kernel(q.tolist()).tobytes()
    assert kernel._batch is None


def test_a_plain_batch_is_one_native_call(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contiguous arrays are neither converted nor checked in Python, with `out=` and without."""
    kernel = Kernel(task(ball.model, "inverse_dynamics"))
    q = np.array([ball.random_configuration(k) for k in range(5)])
    nu = np.array([ball.random_velocity(k) for k in range(5)])
    expected = kernel(q.tolist(), nu, nu)
    monkeypatch.setattr(sys.modules[Kernel.__module__], "prepare", None)
    assert kernel(q, nu, nu).tobytes() == expected.tobytes()
    out = np.zeros_like(nu)
    assert kernel(q, nu, nu, out=out) is out
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda q, nu, out: (q[:, :-1], nu, out),
        lambda q, nu, out: (q[:3], nu, out),
        lambda q, nu, out: (q, nu[:0], out),
        lambda q, nu, out: (q, nu, out[:3]),
        lambda q, nu, out: (q, nu, out[..., :-1]),
        lambda q, nu, out: (q, nu, out.astype(np.float32)),
        lambda q, nu, out: (q, nu, out.astype(">f8")),
        lambda q, nu, out: (q, nu, (out, out)),
        lambda q, nu, out: (q, nu, ()),
        lambda q, nu, out: (q, nu, out.tolist()),
        lambda q, nu, out: (q, "nu", out),
        lambda q, nu, out: (q, nu),
    ],
)
def test_what_is_not_plain_is_refused_with_words(ball: fc.Robot, spoil: Callable[..., tuple[Any, ...]]) -> None:
    kernel = Kernel(task(ball.model, "inverse_dynamics"))
    q = np.array([ball.random_configuration(k) for k in range(5)])
    nu = np.array([ball.random_velocity(k) for k in range(5)])
    q, nu, *out = spoil(q, nu, np.zeros((5, ball.nv)))
    with pytest.raises(fc.InputError, match="expected"):
        kernel(*([q, nu, nu] if out else [q, nu]), out=out[0] if out else None)
