"""Inside a function that `fc.compile` traces, the methods are those of `Robot`: options, defaults, checks and words."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.formulas import Formulas
from fallingcat.functions import FUNCTIONS
from fallingcat.trace import interpret

REPRESENTATIONS = ("body", "mixed", "inertial")
OPTIONS: dict[str, tuple[Any, ...]] = {
    "representation": REPRESENTATIONS,
    "velocity": REPRESENTATIONS,
    "factorization": ("christoffel", "body"),
    "base": (None, "link7", ("center_of_mass", "link7")),
    "wrenches": (None, "none", "one", "two"),
    "method": ("euler", "rk4"),
    "frame": ("link7",),
}
"""Of every option of a method, the values that are tried."""
COMPOSED = ("step", "discretize", "state_plus", "state_minus", "configuration", "split", "neutral")
METHODS = (*FUNCTIONS, *COMPOSED)


@pytest.fixture(scope="module")
def robot() -> fc.Robot:
    return fc.load("spacearm", joints=["joint2"])


@pytest.fixture(scope="module")
def welded() -> fc.Robot:
    return fc.load("spacearm", joints=["joint2", "joint4"], floating=False)


def values_of(robot: fc.Robot, name: str, tau: str = "nv") -> dict[str, Any]:
    """Something to call a method with, by the names of its arguments."""
    rng = np.random.default_rng(5)
    q, q1 = robot.random_configuration(rng), robot.random_configuration(rng)
    nu, nu1, dnu, dx, w = rng.normal(size=(5, robot.nv))
    lengths = {"nv": robot.nv, "n": robot.n}
    everything = {
        "q": q, "q0": q, "q1": q1, "nu": nu, "nu0": nu, "nu1": nu1, "dnu": dnu, "dx": dx, "w": w,
        "tau": rng.normal(size=lengths[tau]), "ddr": rng.normal(size=robot.n), "r": rng.normal(size=robot.n),
        "mu": rng.normal(size=6), "z": rng.normal(size=2 * robot.nv), "dt": np.array(1e-2),
        "H": robot.split(q)[0], "s": robot.split(q)[1],
    }  # fmt: skip
    names = inspect.signature(getattr(fc.Robot, name)).parameters
    return {x: everything[x] for x in names if x in everything}


def options_of(name: str, every: bool) -> Iterator[dict[str, Any]]:
    """Combinations of the options of a method: all, or each value once."""
    names = [x for x in inspect.signature(getattr(fc.Robot, name)).parameters if x in OPTIONS]
    choices = [OPTIONS[x][1:] if (name, x) == ("base_change", "base") else OPTIONS[x] for x in names]
    if every:
        combinations = list(itertools.product(*choices))
    else:
        longest = max(map(len, choices), default=1)
        combinations = [tuple(values[min(k, len(values) - 1)] for values in choices) for k in range(longest)]
    return (dict(zip(names, values, strict=True)) for values in combinations)


def with_wrenches(options: dict[str, Any], forces: Any) -> dict[str, Any]:
    frames = {"none": (), "one": ("link7",), "two": ("link3", "link7")}
    which = options.get("wrenches")
    return options if which is None else options | {"wrenches": dict(zip(frames[which], forces, strict=False))}


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def compare(found: Any, expected: Any, what: Any) -> None:
    assert len(parts(found)) == len(parts(expected))
    for a, b in zip(parts(found), parts(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        scale = max(1.0, float(np.abs(b).max(initial=0.0)))
        np.testing.assert_allclose(np.asarray(a, dtype=float) / scale, np.asarray(b) / scale, rtol=0.0, atol=1e-12, err_msg=str(what))


def agree(robot: fc.Robot, name: str, every: bool, run: Callable[[Any, list[Any]], Any]) -> int:
    """A method on numbers outside of a trace, on numbers within, and on symbols, for combinations of its options."""
    forces = np.random.default_rng(6).normal(size=(2, 6))
    values = values_of(robot, name)
    sizes = {x: v.size for x, v in values.items()}
    count = 0
    for options in options_of(name, every):
        expected = getattr(robot, name)(*values.values(), **with_wrenches(options, forces))
        compare(getattr(Formulas(robot), name)(*values.values(), **with_wrenches(options, forces)), expected, (name, options))
        count += 1
        if not values:
            continue

        def inside(r: Any, x: Any, f: Any, name: str = name, options: dict[str, Any] = options) -> Any:
            cuts = np.cumsum(list(sizes.values()))[:-1]
            given = [a.reshape(v.shape)[()] for a, v in zip(np.split(x, cuts), values.values(), strict=True)]
            result = getattr(r, name)(*given, **with_wrenches(options, f.reshape(2, 6)))
            return np.concatenate([np.asarray(part, dtype=object).ravel() for part in parts(result)])

        f = fc.compile(inside, robot, x=sum(sizes.values()), f=12)
        found = run(f, [np.concatenate([np.ravel(v) for v in values.values()]), forces.ravel()])
        compare(found, np.concatenate([np.ravel(part) for part in parts(expected)]), (name, options))
    return count


def interpreted(f: Any, values: list[Any]) -> Any:
    return np.array(interpret(f.kernel.program, [v.tolist() for v in values])[0])


def compiled(f: Any, values: list[Any]) -> Any:
    return f(*values)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_the_robots(robot: fc.Robot, name: str) -> None:
    assert agree(robot, name, every=False, run=interpreted)


@pytest.mark.sweep
@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_the_robots_with_every_option(robot: fc.Robot, name: str) -> None:
    assert agree(robot, name, every=True, run=compiled)
