"""The functions that are attacked: every row of the table, on robots of several kinds, with its options."""

from __future__ import annotations

import functools
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fallingcat as fc
from fallingcat.arrays import eager
from fallingcat.codegen import Kernel
from fallingcat.codegen.spread import plainly
from fallingcat.functions import FUNCTIONS, task
from fallingcat.robot import constraint_tasks
from fallingcat.robot.wrenches import Table, table
from fallingcat.task import Task

from .problem import ProblemError

Array = NDArray[np.float64]

HALF, WHOLE, WILD = 3, 1, 1
"""States of each kind: of half precision, of whole numbers, and with anything in them."""
STATES = HALF + WHOLE + WILD

ARM = """<robot name="arm">
  <link name="trunk"><inertial><mass value="3"/>
    <inertia ixx="0.3" ixy="0" ixz="0.01" iyy="0.2" iyz="0" izz="0.25"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0.2 0 0.1"/><mass value="1"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="-0.002" izz="0.015"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0.1 0.1"/><mass value="0.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="trunk"/><child link="upper"/><origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 0.6 0.8"/></joint>
  <joint name="slide" type="prismatic"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def robots() -> dict[str, fc.Robot]:
    return {
        "floating": fc.load(ARM),
        "fixed": fc.load(ARM, floating=False),
        "one": fc.load(ARM, floating=False, joints=["turn"]),
    }


@dataclass(frozen=True)
class Subject:
    """One function of one robot with its options; `reference` computes the expected results."""

    robot: str
    name: str
    options: tuple[tuple[str, Any], ...]
    wrenches: str
    """The axes of wrenches on all bodies, if it takes them."""
    task: Task
    reference: Callable[..., Any]
    states: tuple[Array, ...]
    """Per input, the STATES vectors that arguments are made of."""

    def __repr__(self) -> str:
        return f"{self.robot} {self.name} {dict(self.options)} {self.wrenches}"


def _states(robot: fc.Robot, made: Task) -> tuple[Array, ...]:
    """The vectors of each input: the numbers survive a conversion that their kind allows."""
    rng = np.random.default_rng(7)
    vectors = []
    for spec in made.inputs:
        rows = np.zeros((STATES, spec.size))
        rows[:HALF] = rng.normal(size=(HALF, spec.size)).astype(np.float16)
        rows[HALF] = rng.integers(-3, 4, size=spec.size)
        rows[HALF + 1] = rng.choice([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 1e300, 5e-324, -1e-310, 0.3], size=spec.size)
        if spec.name.startswith("q") and spec.size == robot.nq:
            for k in range(HALF):
                rows[k] = robot.random_configuration(rng).astype(np.float16)
            for at in spec.quaternions:
                rows[HALF, at : at + 4] = (0.0, 0.0, -1.0, 0.0)
                rows[HALF + 1, at : at + 4] = (0.6, 0.0, 0.8, 0.0)
        vectors.append(rows)
    return tuple(vectors)


def _variants(robot: fc.Robot, name: str) -> list[tuple[dict[str, Any], str]]:
    """Options and axes of wrenches to try a function with."""
    function = FUNCTIONS[name]
    if function.floating_only and not robot.floating:
        return []
    frame = robot.frame_names[-1]
    known = {"frame": frame, "representation": "mixed", "factorization": "christoffel", "base": "upper"}
    known |= {"target_representation": "body", "source": "body", "target": "inertial", "group": "tangent"}
    options = {option: known[option] for option in function.options}
    variants = [(options, "")]
    if function.any_representation:
        variants.append((options | {"representation": "mixed"}, ""))
    if function.wrenches:
        variants += [(options, "body"), (options, "mixed")]
    return variants


def subjects(all_robots: dict[str, fc.Robot]) -> list[Subject]:
    """Everything that can be called; what the references say is compared with plain Python first."""
    found = []
    for which, robot in all_robots.items():
        for name in FUNCTIONS:
            for options, axes in _variants(robot, name):
                made = task(robot.model, name, axes, **options)
                states = _states(robot, made)
                found.append(Subject(which, name, tuple(options.items()), axes, made, Kernel(made), states))
    robot = all_robots["floating"]
    return found + _derivatives(robot) + _constrained(robot) + _on_frames(robot)


def _derivatives(robot: fc.Robot) -> list[Subject]:
    """Gradients; a cotangent comes flat, or in the shape of its result."""
    found = []
    for name in ("gravity_torque", "inverse_dynamics", "mass_matrix"):
        for kind in ("vjp", "jvp"):
            kernel = getattr(Kernel(task(robot.model, name)), kind)()
            found.append(Subject("floating", name, (("derivative", kind),), "", kernel.task, kernel, _states(robot, kernel.task)))
    return found


def held(robot: fc.Robot) -> Any:
    """Constraints with all that they may have: anchors, gains, and rows that can be switched off."""
    return robot.constraints(fc.point("lower"), kp=2.0, kd=1.0)


def _fixed(robot: fc.Robot, name: str) -> Any:
    """Directions in which no input acts: those of the base."""
    if name != "inverse_dynamics":
        return None
    return (("unactuated", tuple(map(tuple, np.eye(robot.nv)[: robot.nv - robot.n].tolist()))),)


def _constrained(robot: fc.Robot) -> list[Subject]:
    """Functions of constraints, with all of their inputs."""
    found = []
    for name in constraint_tasks.FUNCTIONS:
        inputs = tuple(x for x in constraint_tasks.optional(name) if x != "wrenches")
        variants = [(inputs, "")] + ([((*inputs, "wrenches"), "mixed")] if name == "forward_dynamics" else [])
        for more, axes in variants:
            made = held(robot).kernel(name, more, axes, _fixed(robot, name)).task
            found.append(Subject("floating", name, (("constraints", more),), axes, made, Kernel(made), _states(robot, made)))
    return found


def _on_frames(robot: fc.Robot) -> list[Subject]:
    """Wrenches on frames, as a user gives them; the witness adds them up in plain Python."""
    found = []
    for frames in (("upper",), ("lower", "trunk")):
        inner, lines = task(robot.model, "inverse_dynamics", "body"), table(robot.model, (frames, "body", None))

        def evaluate(*vectors: Any, inner: Task = inner, lines: Table = lines) -> Any:
            count = len(inner.inputs) - 1
            w = np.concatenate([np.array(v, dtype=np.float64) for v in vectors[count:]])
            return inner.evaluate(*vectors[:count], plainly(lines.lines, w, lines.size).tolist())

        made = Task("inverse_dynamics", (*inner.inputs[:-1], *lines.checks), inner.outputs, evaluate)
        call = functools.partial(_with_wrenches, robot, frames, False)
        found.append(Subject("floating", "inverse_dynamics", (("frames", frames),), "", made, call, _states(robot, made)))
    return found


def _with_wrenches(robot: fc.Robot, frames: tuple[str, ...], whole: bool, *values: Any, out: Any = None) -> Any:
    first, given = values[: -len(frames)], values[-len(frames) :]
    wrenches: Any = fc.Wrenches(frames[0], given[0]) if whole else dict(zip(frames, given, strict=True))
    return robot.inverse_dynamics(*first, wrenches, out=out)


def parts(result: Any) -> tuple[Any, ...]:
    """The results, one or several."""
    return result if isinstance(result, tuple) else (result,)


def same(a: Any, b: Any) -> bool:
    """Bit for bit, but that there is only one not-a-number."""
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.tobytes() == b.tobytes():
        return True
    equal = a.view(np.int64) == b.view(np.int64) if a.dtype == np.float64 and a.ndim else a == b
    return bool(np.all(equal | (np.isnan(a) & np.isnan(b))))


def check_reference(subject: Subject, counts: Counter[str]) -> None:
    """The reference agrees with plain Python, and gives one state the same bits as many."""
    rows = [states[: HALF + WHOLE] for states in subject.states]
    many = parts(subject.reference(*rows))
    plain = parts(eager.run(subject.task, rows))
    for a, b, output in zip(many, plain, subject.task.outputs, strict=True):
        scale = 1.0 + float(np.max(np.abs(b), initial=0.0))
        if not np.allclose(a, b, rtol=1e-9, atol=1e-10 * scale):
            raise ProblemError("wrong numbers", f"{subject!r}: {output.name} is not that of plain Python")
    for k in range(HALF + WHOLE):
        one = parts(subject.reference(*(r[k] for r in rows)))
        if not all(same(np.asarray(x, dtype=np.float64), m[k]) for x, m in zip(one, many, strict=True)):
            raise ProblemError("wrong numbers", f"{subject!r}: one state and many differ")
    counts["references checked"] += 1


Way = Callable[..., Any]


def ways(robot: fc.Robot, subject: Subject, random: Random) -> tuple[str, Way, bool]:
    """A way to call a subject: its name, the call, and whether it takes the inputs by name."""
    options = dict(subject.options)
    if "frames" in options:
        whole = len(options["frames"]) == 1 and random.random() < 0.5
        return "wrenches on frames", functools.partial(_with_wrenches, robot, options["frames"], whole), False
    if "derivative" in options:
        kernel = getattr(robot.kernel(subject.name), options["derivative"])()
        method = getattr(robot, options["derivative"])(subject.name)
        return random.choice((("kernel", kernel, False), ("entry", kernel.entry, False), ("derivative", method, False)))
    if "constraints" in options:
        constraints = held(robot)
        kernel = constraints.kernel(subject.name, options["constraints"], subject.wrenches, _fixed(robot, subject.name))
        if subject.name in ("jacobian", "jacobian_rate", "drift"):
            return "method of constraints", getattr(constraints, subject.name), False
        return random.choice((("kernel", kernel, False), ("entry", kernel.entry, False)))
    # the method of frame_pose takes the frame at run time, and rounds otherwise than the kernel of one frame
    if not subject.wrenches and subject.name != "frame_pose" and random.random() < 0.6:
        if subject.name == "base_change":
            options["frame"] = options.pop("base")
        call = getattr(robot, subject.name)
        if random.random() < 0.1:
            call = functools.partial(getattr(fc.Robot, subject.name), robot)
        return "method", functools.partial(call, **options), True
    kernel = robot.kernel(subject.name, **({"wrenches": subject.wrenches} if subject.wrenches else {}), **options)
    return random.choice((("kernel", kernel, False), ("entry", kernel.entry, False)))


class Held:
    """Results that somebody keeps: they must not change."""

    def __init__(self, count: int) -> None:
        self._held: deque[tuple[Array, bytes, str]] = deque()
        self._count = count

    def keep(self, a: Any, what: str) -> None:
        if isinstance(a, np.ndarray) and a.nbytes < 1 << 20:
            self._held.append((a, a.tobytes(), what))
        if len(self._held) > self._count:
            self.check(self._held.popleft())

    def check(self, item: tuple[Array, bytes, str]) -> None:
        a, before, what = item
        if a.tobytes() != before:
            raise ProblemError("wrong numbers", f"a result that is still held was overwritten: {what}")

    def finish(self) -> None:
        while self._held:
            self.check(self._held.popleft())
