"""The functions to export: named with options, as words or in Python, and user-defined ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fallingcat.choices import check_choice
from fallingcat.codegen import Kernel
from fallingcat.codegen.backend import identifier
from fallingcat.control.steps import SCHEMES, Step
from fallingcat.errors import InputError
from fallingcat.functions import BEHIND, FUNCTIONS, quaternions
from fallingcat.robot.bases import check_base
from fallingcat.robot.formulas import Formulas
from fallingcat.robot.robot import Robot
from fallingcat.robot.user_functions import CompiledFunction
from fallingcat.suggest import closest
from fallingcat.task import Input, Output, Task
from fallingcat.text import shown


@dataclass(frozen=True)
class Chosen:
    """A function to be exported."""

    name: str
    """The name that follows that of the robot in C; an identifier."""
    kernel: Kernel
    summary: str
    """What it does, in a sentence."""
    options: Mapping[str, Any] = field(default_factory=dict)
    function: str = ""
    """Its row in the table of functions, if it has one."""


EXPECTED = "names such as 'inverse_dynamics' or 'frame_pose:tool', (name, options), or functions of fc.compile"


def choose(robot: Robot, functions: Any) -> list[Chosen]:
    """The functions that `fc.export` is asked for."""
    if isinstance(functions, (str, CompiledFunction)):
        functions = [functions]
    try:
        items = list(functions.items()) if isinstance(functions, Mapping) else [(None, item) for item in functions]
    except TypeError:
        raise InputError("fc.export: not functions", expected=EXPECTED, got=shown(functions)) from None
    found = [_choose(robot, item, name) for name, item in items]
    if not found:
        raise InputError("fc.export: no functions to export", expected=EXPECTED)
    names = [c.name for c in found]
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(name.lower(), name)
        if names.count(name) > 1:
            raise InputError(f"fc.export: two functions named {name}", hint='give names: {"name": function, ...}')
        if other != name:
            hint = "their constants have capitals; give them names that differ otherwise"
            raise InputError(f"fc.export: two functions whose names differ by capitals alone: {other} and {name}", hint=hint)
        if name.lower() in ("nq", "nv"):
            raise InputError(f"fc.export: a function named {name}", hint="a constant is named so: give it another name")
    return found


def _choose(robot: Robot, item: Any, name: str | None = None) -> Chosen:
    if name is not None and (not isinstance(name, str) or identifier(name) != name):
        raise InputError(
            "fc.export: not a name for a function", got=shown(name),
            expected="letters, digits and underscores; a letter first, no underscore last, and not two side by side",
        )  # fmt: skip
    if isinstance(item, Chosen):
        return item
    if isinstance(item, CompiledFunction):
        if item.robot.model.digest != robot.model.digest:
            raise InputError(f"fc.export: {item.__name__} was compiled for another robot", hint="fc.compile(f, robot)")
        return Chosen(name or identifier(item.__name__), item.kernel, _sentence(item.__doc__))
    if isinstance(item, str):
        function, options = _parse(item)
    elif isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], Mapping):
        function, options = item[0], dict(item[1])
    else:
        raise InputError("fc.export: not a function", expected=EXPECTED, got=shown(item))
    known = {**FUNCTIONS, **dict.fromkeys(COMPOSED)}
    if function not in known and function not in BEHIND:
        raise InputError(f"no function {shown(function)}", hint=closest(function, known))
    made = name or identifier("_".join([function, *(_word(value) for value in options.values())]))
    options = {**DEFAULTS.get(function, {}), **options}
    kernel = COMPOSED[function](robot, **options) if function in COMPOSED else _kernel(robot, function, options)
    return Chosen(made, kernel, _sentence(getattr(getattr(Robot, function, None), "__doc__", "")), options, function)


DEFAULTS: dict[str, dict[str, Any]] = {
    "base_change": {"representation": "mixed"},
    "equations_of_motion": {"base": None, "representation": "mixed"},
}
"""Default values of options that methods have, but not the functions behind them."""


def _kernel(robot: Robot, function: str, options: Mapping[str, Any]) -> Kernel:
    row = FUNCTIONS.get(function) or BEHIND[function]
    if "frame" in row.options and "frame" not in options:
        raise InputError(f"{function} needs a frame", expected=f"'{function}:NAME'", hint=closest("", robot.frame_names))
    if "base" in row.options and "base" not in options:
        raise InputError(f"{function} needs a base", expected=f"'{function}:NAME'", hint=closest("", robot.frame_names))
    if options.get("base") is not None:
        representation = options.get("target_representation", options["representation"])
        check_base(robot.model, options["base"], representation)
    return robot.kernel(function, **options)


def _parse(text: str) -> tuple[str, dict[str, Any]]:
    """`frame_jacobian:tool,representation=mixed`: a word without a name is the frame, the base, or the method of a step."""
    function, _, rest = text.partition(":")
    unnamed = "method" if function == "step" else "base" if function in DEFAULTS else "frame"
    options: dict[str, Any] = {}
    for word in rest.split(",") if rest else ():
        key, equals, value = word.partition("=")
        options[key if equals else unnamed] = value if equals else word
    return function, options


def _word(value: Any) -> str:
    return "_".join(value) if isinstance(value, (tuple, list)) else str(getattr(value, "__name__", value))


def _sentence(text: str | None) -> str:
    """The first sentence of a docstring."""
    return " ".join((text or "").split("\n\n")[0].split())


# ---------------------------------------------------------------------------------------------------------------------
# Methods that are composed of several functions of the table


def _step(robot: Robot, method: str = "euler", **others: Any) -> Kernel:
    if others:
        raise InputError(f"step has no option {next(iter(others))!r}", expected="'step:rk4', or another method")
    check_choice("method", method, tuple(SCHEMES))
    inputs = (Input("q", robot.nq, quaternions(robot.model)), *(Input(x, robot.nv) for x in ("nu", "tau")), Input("dt", 1))
    outputs = (Output("q", (robot.nq,)), Output("nu", (robot.nv,)))
    return Kernel(Task("step", inputs, outputs, _Composed(robot, "step", method), results=Step))


@dataclass(frozen=True)
class _Composed:
    """A method of a robot over any scalar."""

    robot: Robot
    name: str
    method: str

    def __call__(self, q: Any, nu: Any, tau: Any, dt: Any) -> Any:
        return getattr(Formulas(self.robot), self.name)(q, nu, tau, dt[0], method=self.method)


COMPOSED: dict[str, Callable[..., Kernel]] = {"step": _step}
