"""Functions of a robot as a command line names them: `inverse_dynamics`, `frame_pose:frame=hand`, `step:dt=0.01,method=rk4`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from fallingcat.errors import InputError
from fallingcat.functions import FUNCTIONS
from fallingcat.robot.labels import of_results
from fallingcat.robot.robot import Robot
from fallingcat.suggest import closest

Array = NDArray[np.float64]

STEPS = ("step", "discretize", "state_plus", "state_minus")
VECTORS = {"q": "nq", "q0": "nq", "q1": "nq"} | dict.fromkeys(("nu", "nu0", "nu1", "dnu", "tau", "dx", "w"), "nv")
VECTORS |= {"ddr": "n", "r": "n", "tau0": "n"}
NAMED = ("frame", "base", "representation", "method")
"""Options whose values become part of the name of a result."""
NUMBERS = {"mu": 6, "a": 6, "z": 0, "dt": 0}


@dataclass(frozen=True)
class Result:
    """An array of results."""

    name: str
    shape: tuple[int, ...]
    """The shape of the result for one state."""
    dims: tuple[str, ...]
    about: dict[str, str]


@dataclass(frozen=True)
class Call:
    """A method of a robot with its options."""

    text: str
    method: str
    inputs: tuple[str, ...]
    """Names of the arrays that it takes from the states."""
    options: tuple[tuple[str, Any], ...]

    def __call__(self, robot: Robot, states: Mapping[str, Array]) -> tuple[Array, ...]:
        found = getattr(robot, self.method)(**{name: states[name] for name in self.inputs}, **dict(self.options))
        return tuple(found) if isinstance(found, tuple) else (found,)

    def results(self, robot: Robot) -> list[Result]:
        """The results, found by a call with no states, which also reports errors in the options."""
        found = self(robot, {name: np.zeros((0, size) if size else (0,)) for name, size in widths(robot, self.inputs).items()})
        labels = of_results(robot, self.method, [x.shape[1:] for x in found], dict(self.options))
        name = ".".join([self.method, *(_in_a_name(str(v)) for k, v in self.options if k in NAMED)])
        names = [name] if len(found) == 1 else [f"{name}.{label.name}" for label in labels]
        return [
            Result(n, x.shape[1:], tuple(a.dim for a in label.axes), label.attrs | {"call": self.text})
            for n, x, label in zip(names, found, labels, strict=True)
        ]


def widths(robot: Robot, names: Sequence[str]) -> dict[str, int]:
    """The lengths of vectors; 0 for numbers."""
    sizes = {name: int(getattr(robot, size)) for name, size in VECTORS.items()} | NUMBERS | {"z": 2 * robot.nv}
    return {name: sizes[name] for name in names}


def parse(robot: Robot, text: str) -> Call:
    """NAME or NAME:option=value,option=value."""
    method, _, rest = text.partition(":")
    known = [name for name in (*FUNCTIONS, *STEPS) if hasattr(type(robot), name)]
    if method not in known:
        raise InputError(f"no function {method!r}", hint=closest(method, known))
    parameters = inspect.signature(getattr(type(robot), method)).parameters
    arrays = [name for name in parameters if name in VECTORS or name in NUMBERS]
    names = [name for name in parameters if name not in ("self", "out", "wrenches")]
    options: dict[str, Any] = {}
    for part in rest.split(",") if rest else ():
        name, equals, value = part.partition("=")
        if not equals or name not in names or (name in arrays and name != "dt"):
            expected = f"{method}:option=value with " + (
                ", ".join(n for n in names if n not in arrays or n == "dt") or "no options"
            )
            raise InputError(f"{text!r} is not a call", expected=expected, got=repr(part), hint=closest(name, names))
        options[name] = _value(name, value)
    inputs = tuple(name for name in arrays if name not in options)
    missing = [n for n in names if n not in arrays and n not in options and parameters[n].default is inspect.Parameter.empty]
    if missing:
        raise InputError(f"{method} needs {missing[0]}", hint=f"as in {method}:{missing[0]}=...")
    return Call(text, method, inputs, tuple(options.items()))


def _value(name: str, text: str) -> Any:
    if name == "frames":
        return tuple(text.split("+"))
    if name != "dt":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError("dt is not a time", expected="a number of seconds", got=repr(text)) from None


def _in_a_name(text: str) -> str:
    """Letters, digits, - and _ as they are, others as %XX: an array is a folder of its name, and a frame may be called a/b."""
    return quote(text, safe="").replace(".", "%2E").replace("~", "%7E")


def unique(results: Sequence[Result]) -> None:
    """Refuse two arrays of the same name."""
    names_so_far: set[str] = set()
    for result in results:
        if result.name in names_so_far:
            raise InputError(f"{result.name} is asked for twice", hint="each function once")
        names_so_far.add(result.name)
