"""`fallingcat report`: what a robot is, and whether its dynamics agree with themselves.

`measure` computes; `as_json` and `console.show` present and compute nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms.joint_dynamics import passive_torques
from fallingcat.errors import InputError
from fallingcat.model.doctor import diagnose
from fallingcat.model.findings import Finding
from fallingcat.model.joints import FreeFlyer
from fallingcat.model.model import WORLD
from fallingcat.model.report import printable
from fallingcat.model.tree_text import joint_words
from fallingcat.robot import Robot, load

Array = NDArray[np.float64]

Step = Callable[[str], None]
"""Told what is computed next."""

RANDOM_STATES = 4
"""States beside the chosen one at which the dynamics are checked."""
EPSILON = float(np.finfo(float).eps)
EXACT, DIFFERENCED = 1e-10, 1e-7
"""Bounds on residuals: of algebra, and of what is compared with a difference quotient."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fallingcat report`."""
    parser.add_argument("robot", metavar="ROBOT", help="a URDF file, or the name of a bundled robot (see 'fallingcat robots')")
    parser.add_argument("--fixed", action="store_true", help="weld the base to the world")
    parser.add_argument("--base", metavar="LINK", help="the link that is the base; the file's root otherwise")
    parser.add_argument("--joint-dynamics", action="store_true", help="add the joints' damping, friction and armature")
    parser.add_argument(
        "--state", metavar="STATE", default="neutral",
        help="neutral (default), random, or a .npz or .json file that holds q and, unless at rest, nu",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = "Exit status: 0 when every check holds, 1 when one fails, 2 when the robot cannot be loaded."
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Load, measure, print."""
    from fallingcat.cli import console

    robot = load(arguments.robot, floating=not arguments.fixed, base=arguments.base, joint_dynamics=arguments.joint_dynamics)
    state = read_state(robot, arguments.state)
    with console.progress(3 + (1 + RANDOM_STATES) * len(IDENTITIES)) as step:
        report = measure(robot, state, diagnose(arguments.robot), step)
    if arguments.json:
        print(json.dumps(as_json(report), indent=2, allow_nan=False))
    else:
        console.show(report, console.stdout_console())
    return 0 if all(check.passed is not False for check in report.checks) else 1


# ---------------------------------------------------------------------------------------------------------------------
# States


@dataclass(frozen=True)
class State:
    """Where the robot is and how it moves."""

    words: str
    q: Array
    nu: Array


def read_state(robot: Robot, choice: str) -> State:
    """The state that `--state` names."""
    if choice == "neutral":
        return State("neutral, at rest", robot.neutral(), np.zeros(robot.nv))
    if choice == "random":
        rng = np.random.default_rng(0)
        return State("random (seed 0), within the joint limits", robot.random_configuration(rng), robot.random_velocity(rng))
    values = _read_arrays(Path(choice))
    q = _vector(choice, "q", values.get("q"), robot.nq)
    nu = _vector(choice, "nu", values["nu"], robot.nv) if "nu" in values else np.zeros(robot.nv)
    return State(f"from {printable(choice, 200)}" + ("" if "nu" in values else ", at rest"), q, nu)


def _read_arrays(path: Path) -> dict[str, Any]:
    if path.suffix not in (".npz", ".json"):
        raise InputError("--state is not a state", expected="neutral, random, or a .npz or .json file", got=repr(str(path)))
    try:
        if path.suffix == ".json":
            values = json.loads(path.read_text(encoding="utf-8"))
        else:
            with np.load(path, allow_pickle=False) as archive:
                values = {name: archive[name] for name in archive.files if name in ("q", "nu")}
    except Exception as error:  # whatever the readers of two formats may raise at a broken file
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"--state: {str(path)!r} cannot be read", got=f"{type(error).__name__}: {reason}") from None
    if not isinstance(values, dict):
        raise InputError(
            f"--state: {str(path)!r} is not a state", expected='{"q": [...], "nu": [...]}', got=type(values).__name__
        )
    return values


def _vector(file: str, name: str, value: Any, size: int) -> Array:
    try:
        x = np.array(value, dtype=float)
    except (TypeError, ValueError):
        x = np.array(np.nan)
    if x.shape != (size,) or not np.all(np.isfinite(x)):
        got = "nothing" if value is None else f"shape {x.shape}" if x.shape != (size,) and x.shape else "something else"
        hint = "q is base position, base quaternion (x y z w), joints" if name == "q" else "nu is base twist, joint velocities"
        raise InputError(f"--state: {name} in {file!r} does not fit", expected=f"{size} finite numbers", got=got, hint=hint)
    return x


# ---------------------------------------------------------------------------------------------------------------------
# Identities: what must be true of the dynamics of every robot


@dataclass(frozen=True)
class Motion:
    """A state with an acceleration, and what several identities need at it."""

    robot: Robot
    q: Array
    nu: Array
    dnu: Array
    M: Array
    tau: Array
    """Of the inverse dynamics."""


@dataclass(frozen=True)
class Identity:
    """One row of the table of identities."""

    name: str
    formula: str
    measure: Callable[[Motion], float]
    bound: float
    kind: Literal["residual", "positive"] = "residual"
    needs: Literal["motion", "floating"] = "motion"
    solves: bool = False
    """Solving with M loses digits in proportion to its condition, which widens the bound."""


@dataclass(frozen=True)
class Check:
    """An identity and its worst measured value."""

    name: str
    formula: str
    value: float | None
    bound: float
    kind: str
    passed: bool | None
    """None when it does not apply to this robot."""


def _off(a: Any, b: Any, scale: float = 0.0) -> float:
    """The largest difference relative to the largest entry, or to a larger natural scale."""
    a, b = np.asarray(a), np.asarray(b)
    size = max(float(np.max(np.abs(a), initial=0.0)), float(np.max(np.abs(b), initial=0.0)), scale)
    return float(np.max(np.abs(a - b), initial=0.0)) / (size or 1.0)


def _rate(along: Callable[[Array, Array], Any], m: Motion, dnu: Array) -> Any:
    """The rate of a function of the state along a motion: central differences of fourth order."""
    h = 1e-4

    def at(t: float) -> Any:
        return along(m.robot.integrate(m.q, t * m.nu), m.nu + t * dnu)

    return (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h)


def smallest_eigenvalue(M: Array) -> float:
    """Of the matrix scaled to a unit diagonal, which frees it of units."""
    d = np.diag(M)
    if not np.all(np.isfinite(M)) or np.min(d) <= 0.0:
        return float(np.min(d))
    return float(np.linalg.eigvalsh(M / np.sqrt(np.outer(d, d)))[0])


def _power_balance(m: Motion) -> float:
    def energy(q: Array, nu: Array) -> float:
        return float(m.robot.kinetic_energy(q, nu) + m.robot.potential_energy(q))

    power = m.nu * (m.tau - np.array(passive_torques(m.robot.model, m.nu.tolist()), dtype=float))
    return _off(_rate(energy, m, m.dnu), power.sum(), scale=float(np.abs(power).sum()) + abs(energy(m.q, m.nu)))


def _gravity_by_center_of_mass(m: Motion) -> float:
    weight = m.robot.mass * m.robot.gravity
    return _off(m.robot.gravity_torque(m.q), -m.robot.center_of_mass_jacobian(m.q).T @ weight)


def _weight(m: Motion) -> float:
    H, _ = m.robot.split(m.q)
    lift = -m.robot.mass * m.robot.gravity
    arm = m.robot.center_of_mass(m.q) - H[:3, 3]
    return _off(m.robot.gravity_torque(m.q)[:6], np.concatenate([H[:3, :3].T @ lift, H[:3, :3].T @ np.cross(arm, lift)]))


def _free_base(m: Motion) -> float:
    ddr = m.dnu[6:]
    a = m.robot.base_acceleration(m.q, m.nu, ddr)
    wrench = m.robot.inverse_dynamics(m.q, m.nu, np.concatenate([a, ddr]))[:6]
    return float(np.max(np.abs(wrench))) / float(np.max(np.abs(m.M[:6] @ np.concatenate([a, ddr]))) or 1.0)


def _free_fall(m: Motion) -> float:
    tau = np.concatenate([np.zeros(6), m.tau[6:]])
    dnu = m.robot.forward_dynamics(m.q, m.nu, tau)
    fall = _rate(lambda q, nu: m.robot.center_of_mass_jacobian(q) @ nu, m, dnu)
    return _off(fall, m.robot.gravity, scale=float(np.max(np.abs(m.robot.center_of_mass_jacobian(m.q)) @ np.abs(dnu))))


IDENTITIES = (
    Identity("mass matrix symmetric", "M = Mᵀ", lambda m: _off(m.M, m.M.T), EXACT),
    Identity("mass matrix positive definite", "λ_min > 0, unit diagonal", lambda m: smallest_eigenvalue(m.M), 1e-14, "positive"),
    Identity("kinetic energy", "T = ½ νᵀM ν", lambda m: _off(m.robot.kinetic_energy(m.q, m.nu), 0.5 * m.nu @ m.M @ m.nu), EXACT),
    Identity("inverse dynamics", "τ = M dν + h", lambda m: _off(m.tau, m.M @ m.dnu + m.robot.bias(m.q, m.nu)), EXACT),
    Identity(
        "forward after inverse dynamics", "FD(ID(dν)) = dν",
        lambda m: _off(m.robot.forward_dynamics(m.q, m.nu, m.tau), m.dnu), EXACT, solves=True,
    ),
    Identity("gravity through the centre of mass", "g = -m J_cᵀ γ", _gravity_by_center_of_mass, EXACT),
    Identity("power balance", "d(T + V)/dt = νᵀ(τ - passive)", _power_balance, DIFFERENCED),
    Identity("weight at rest", "base wrench = -m γ at c", _weight, EXACT, needs="floating"),
    Identity("free base", "its own acceleration needs no wrench", _free_base, EXACT, needs="floating"),
    Identity("free fall", "c falls with γ, whatever the joints do", _free_fall, DIFFERENCED, needs="floating", solves=True),
)  # fmt: skip


def check_dynamics(robot: Robot, state: State, step: Step) -> tuple[Check, ...]:
    """Every identity at the state and at random ones; the worst value counts."""
    values: dict[str, list[float]] = {identity.name: [] for identity in IDENTITIES}
    lost = 0.0
    applicable = [i for i in IDENTITIES if robot.nv and robot.mass > 0.0 and (robot.floating or i.needs != "floating")]
    rng = np.random.default_rng(1)
    states = [(state.q, state.nu)] + [(robot.random_configuration(rng), robot.random_velocity(rng)) for _ in range(RANDOM_STATES)]
    for q, nu in states if applicable else []:
        dnu = robot.random_velocity(rng)
        motion = Motion(robot, q, nu, dnu, robot.mass_matrix(q), robot.inverse_dynamics(q, nu, dnu))
        lost = max(lost, 1e3 * EPSILON / max(smallest_eigenvalue(motion.M), EPSILON))
        for identity in applicable:
            step(identity.name)
            values[identity.name].append(_measured(identity, motion))
    return tuple(_judge(i, values[i.name], max(i.bound, lost) if i.solves else i.bound) for i in IDENTITIES)


def _measured(identity: Identity, motion: Motion) -> float:
    try:
        return identity.measure(motion)
    except (ArithmeticError, np.linalg.LinAlgError):  # a singular robot: the check fails, the report goes on
        return float("nan")


def _judge(identity: Identity, values: list[float], bound: float) -> Check:
    if not values:
        return Check(identity.name, identity.formula, None, bound, identity.kind, None)
    worst = float(np.min(values) if identity.kind == "positive" else np.max(values))  # nan if any is
    passed = worst > bound if identity.kind == "positive" else worst <= bound
    return Check(identity.name, identity.formula, worst if np.isfinite(worst) else None, bound, identity.kind, passed)


# ---------------------------------------------------------------------------------------------------------------------
# The report


@dataclass(frozen=True)
class Report:
    """All that is presented."""

    robot: Robot
    state: State
    M: Array
    eigenvalues: Array
    kinetic_energy: float
    potential_energy: float
    center_of_mass: Array
    checks: tuple[Check, ...]
    findings: tuple[Finding, ...]


def measure(robot: Robot, state: State, findings: tuple[Finding, ...], step: Step = lambda what: None) -> Report:
    """Compute what the report presents."""
    step("mass matrix")
    M = robot.mass_matrix(state.q)
    eigenvalues = np.asarray(np.linalg.eigvalsh(M), dtype=np.float64) if robot.nv else np.zeros(0)
    step("energies")
    kinetic, potential = robot.kinetic_energy(state.q, state.nu), robot.potential_energy(state.q)
    step("centre of mass")
    c = robot.center_of_mass(state.q)
    return Report(robot, state, M, eigenvalues, kinetic, potential, c, check_dynamics(robot, state, step), findings)


def velocity_labels(robot: Robot) -> list[str]:
    """A name for every entry of nu."""
    labels = [""] * robot.nv
    for i, body in enumerate(robot.model.bodies):
        if body.mimics:
            continue
        name = "base" if robot.floating and i == 0 else printable(body.joint_name, 24)
        axes = (
            ("x", "y", "z", "rx", "ry", "rz")
            if isinstance(body.joint, FreeFlyer)
            else tuple(str(k) for k in range(body.joint.nv))
        )
        for k, at in enumerate(robot.model.dofs(i)):
            labels[at] = name if body.joint.nv == 1 else f"{name} {axes[k]}"
    return labels


def condition(eigenvalues: Array) -> float:
    """Of a symmetric positive matrix; infinite when it is singular."""
    return float(eigenvalues[-1] / eigenvalues[0]) if len(eigenvalues) and eigenvalues[0] > 0.0 else float("inf")


def as_json(report: Report) -> dict[str, Any]:
    """The report in plain types; what is infinite or absent is null."""
    robot, model = report.robot, report.robot.model
    bodies = [
        {
            "link": body.name,
            "joint": body.joint_name,
            "type": joint_words(body.joint),
            "parent": None if body.parent == WORLD else model.bodies[body.parent].name,
            "mass": body.inertia.mass,
            "q_at": body.q_at,
            "nu_at": body.nu_at,
            "follows": body.mimics,
            "limits": {name: _finite(value) for name, value in asdict(body.limits).items()},
            "damping": body.damping,
            "friction": body.friction,
            "armature": body.armature,
        }
        for body in model.bodies
    ]
    return {
        "robot": {
            "name": robot.name, "nq": robot.nq, "nv": robot.nv, "n": robot.n, "base": robot.base, "floating": robot.floating,
            "mass": robot.mass, "gravity": robot.gravity.tolist(),
            "links": list(robot.link_names), "joints": list(robot.joint_names),
        },
        "bodies": bodies,
        "state": {"words": report.state.words, "q": report.state.q.tolist(), "nu": report.state.nu.tolist()},
        "mass_matrix": {
            "labels": velocity_labels(robot), "values": report.M.tolist(), "eigenvalues": report.eigenvalues.tolist(),
            "condition": _finite(condition(report.eigenvalues)),
        },
        "energies": {"kinetic": report.kinetic_energy, "potential": report.potential_energy},
        "center_of_mass": report.center_of_mass.tolist(),
        "checks": [asdict(check) for check in report.checks],
        "findings": [asdict(finding) for finding in report.findings],
    }  # fmt: skip


def _finite(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None
