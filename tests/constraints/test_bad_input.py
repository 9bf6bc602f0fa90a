"""What a user may get wrong about constraints, and functions of them that are asked for by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import fallingcat as fc


@pytest.fixture(scope="module")
def robot() -> fc.Robot:
    """Two links on a floating base; the last two frames have one origin."""
    b = fc.Builder("two")
    for name in ("base", "upper", "lower"):
        b.link(name, mass=1.0, com=(0.1, 0.0, 0.2), inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    b.joint("first", "revolute", "base", "upper", axis=(0, 1, 0), xyz=(0, 0, 0.3))
    b.joint("second", "revolute", "upper", "lower", axis=(1, 0, 0))
    return fc.load(b, floating=True)


Make = Callable[[fc.Robot], object]
WRONG: list[tuple[Make, str]] = [
    (lambda r: r.constraints(fc.point("lower"), home=np.nan * r.neutral()), "home"),
    (lambda r: r.constraints(fc.point("lower"), home=cast(Any, "x")), "home"),
    (lambda r: r.constraints(fc.distance("upper", "lower")), "cannot hold"),
    (lambda r: r.constraints(fc.point("lower")).held_at(0.0 * r.neutral()), "cannot hold"),
    (lambda r: fc.joint("first", at="x"), "joint: at does not fit"),
    (lambda r: fc.coupling("first", "second", cast(Any, ["x"])), "coefficients do not fit"),
    (lambda r: fc.coupling("first", "second", cast(Any, None)), "coefficients do not fit"),
    (lambda r: fc.point(cast(Any, None)), "by its name"),
    (lambda r: dynamics(r, reference=("a", None, None)), "reference: not numbers"),
    (lambda r: inverse(r, forces="x"), "forces: not numbers"),
    (lambda r: inverse(r, forces=np.ones(3), active=[1]), "give one of the two"),
    (lambda r: inverse(r, forces=np.ones(3), out=(np.zeros(r.nv, int), np.zeros(3, int))), "float64"),
    (lambda r: r.constraints(fc.point("lower")).rank(r.neutral(), [1, 0]), "active has the wrong shape"),
    (lambda r: r.constraints(fc.point("lower")).rank(r.neutral(), ["a"]), "active does not hold real numbers"),
    (lambda r: r.constraints(fc.point("lower")).rank(np.nan * r.neutral()), "not finite"),
    (lambda r: r.constraints(fc.point("lower")).linearize(np.nan * r.neutral(), np.ones(r.nv), np.ones(r.nv)), "not finite"),
    (lambda r: r.constraints(fc.point("lower")).impulse(r.neutral(), np.ones(r.nv), 2.0), "from 0 to 1"),
    (lambda r: r.constraints(fc.point("lower")).impulse(r.neutral(), np.ones(r.nv), [-0.1]), "from 0 to 1"),
]  # fmt: skip


ODD: dict[str, tuple[Any, str]] = {
    "complex": (np.ones(9) + 1j, "does not hold real numbers"), "masked": (np.ma.ones(9), "is a masked array"),
    "text": ("x", "does not hold real numbers"), "nothing": (None, "does not hold real numbers"),
    "ragged": ([[1.0], [1.0, 2.0]], "is not an array"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_arrays_that_are_none_of_real_numbers(robot: fc.Robot, kind: str) -> None:
    c = robot.constraints(fc.point("lower"))
    odd, words = ODD[kind]
    for name, call in {"held_at: q": c.held_at, "project: q": c.project, "with_anchors: anchors": c.with_anchors}.items():
        with pytest.raises(fc.InputError, match=f"{name} {words}"):
            call(odd)
    if odd is not None:
        with pytest.raises(fc.InputError, match=f"home {words}"):
            robot.constraints(fc.point("lower"), home=odd)


def test_anchors_cannot_be_changed(robot: fc.Robot) -> None:
    c = robot.constraints(fc.point("lower"))
    given = np.ones(3)
    moved = c.with_anchors(given)
    given[0] = 2.0
    assert np.array_equal(moved.anchors, np.ones(3))
    for held in (c, moved, c.held_at(robot.neutral())):
        with pytest.raises(ValueError, match="read-only"):
            held.anchors[0] = 1.0


def dynamics(r: fc.Robot, **options: Any) -> fc.ConstrainedMotion:
    return r.constraints(fc.point("lower")).forward_dynamics(r.neutral(), np.ones(r.nv), np.ones(r.nv), **options)


def inverse(r: fc.Robot, **options: Any) -> object:
    return r.constraints(fc.point("lower")).inverse_dynamics(r.neutral(), np.ones(r.nv), np.ones(r.nv), **options)


@pytest.mark.parametrize("case", range(len(WRONG)), ids=lambda k: f"{k} {WRONG[k][1]}")
def test_it_says_so(robot: fc.Robot, case: int) -> None:
    make, words = WRONG[case]
    with pytest.raises(fc.InputError, match=words):
        make(robot)


def test_a_mask_that_is_no_number_gives_none(robot: fc.Robot) -> None:
    found = dynamics(robot, active=[np.nan])
    assert np.isnan(found.dnu).all()
    assert np.isnan(found.forces).all()


def test_constraints_have_names(robot: fc.Robot) -> None:
    def height(r: Any, q: Any) -> Any:
        return [q[2]]

    c = robot.constraints(fc.joint("first"), fc.coupling("first", "second"), fc.rows(height))
    assert [str(x) for x in c.constraints] == ["joint(first)", "coupling(first, second)", "rows(height)"]
    assert str(fc.point("a\x1b[31m")) == "point(a\\x1b[31m)"


def test_functions_by_name(robot: fc.Robot) -> None:
    """What a function cannot do without is there by itself, and the names are those of the methods."""
    c = robot.constraints(fc.point("lower"), kp=3.0)
    q, nu, x = robot.random_configuration(0), np.ones(robot.nv), np.ones(3)
    found, made = c.inverse_dynamics(q, nu, nu), c.kernel("inverse_dynamics")(q, nu, nu)
    assert all(np.array_equal(a, b) for a, b in zip(found, made, strict=True))
    more = c.inverse_dynamics(q, nu, 2 * nu).tau - found.tau  # linear in dnu
    assert np.allclose(c.jvp("inverse_dynamics")(q, nu, nu, 0 * nu, 0 * nu, nu)[0], more, atol=1e-6)
    assert np.array_equal(c.kernel("violation")(q, c.anchors), c.violation(q))
    q_bar, _ = c.vjp("violation")(q, c.anchors, x)
    assert np.allclose(q_bar, c.jacobian(q).T @ x)
    assert len(c.vjp("forward_dynamics")(q, nu, nu, c.anchors, nu, x)) == 4
    c.compile(["linearize", "project", "inverse_dynamics"], progress=False)
