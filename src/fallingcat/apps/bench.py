"""Speed, side by side: every function of a robot against Pinocchio from Python, in the same process and run.

Times are minima over repetitions, because machines are noisy. A ratio is Pinocchio's time for one call over
this library's time for the same: one call, or one state of a batch on one thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fallingcat
from fallingcat.codegen import Kernel, threads
from fallingcat.functions import FUNCTIONS
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

Peer = Callable[[Any, Any, Any, dict[str, Array], int], Callable[[], Any]]
"""(pinocchio, its model, its data, state, frame id) -> a call that does the same work."""

PEERS: dict[str, Peer] = {
    "integrate": lambda pin, m, d, x, f: lambda: pin.integrate(m, x["q"], x["nu"]),
    "difference": lambda pin, m, d, x, f: lambda: pin.difference(m, x["q"], x["q"]),
    "frame_pose": lambda pin, m, d, x, f: lambda: pin.framesForwardKinematics(m, d, x["q"]),
    "frame_jacobian": lambda pin, m, d, x, f: lambda: pin.computeFrameJacobian(m, d, x["q"], f),
    "frame_jacobian_rate": lambda pin, m, d, x, f: (
        lambda: (
            pin.computeJointJacobiansTimeVariation(m, d, x["q"], x["nu"]),
            pin.getFrameJacobianTimeVariation(m, d, f, pin.LOCAL),
        )
    ),
    "frame_velocity": lambda pin, m, d, x, f: (
        lambda: (pin.forwardKinematics(m, d, x["q"], x["nu"]), pin.getFrameVelocity(m, d, f))
    ),
    "frame_acceleration": lambda pin, m, d, x, f: (
        lambda: (pin.forwardKinematics(m, d, x["q"], x["nu"], x["dnu"]), pin.getFrameAcceleration(m, d, f))
    ),
    "center_of_mass": lambda pin, m, d, x, f: lambda: pin.centerOfMass(m, d, x["q"]),
    "center_of_mass_jacobian": lambda pin, m, d, x, f: lambda: pin.jacobianCenterOfMass(m, d, x["q"]),
    "inverse_dynamics": lambda pin, m, d, x, f: lambda: pin.rnea(m, d, x["q"], x["nu"], x["dnu"]),
    "forward_dynamics": lambda pin, m, d, x, f: lambda: pin.aba(m, d, x["q"], x["nu"], x["tau"]),
    "mass_matrix": lambda pin, m, d, x, f: lambda: pin.crba(m, d, x["q"]),
    "bias": lambda pin, m, d, x, f: lambda: pin.nonLinearEffects(m, d, x["q"], x["nu"]),
    "inverse_dynamics_derivatives": lambda pin, m, d, x, f: lambda: pin.computeRNEADerivatives(m, d, x["q"], x["nu"], x["dnu"]),
    "forward_dynamics_derivatives": lambda pin, m, d, x, f: lambda: pin.computeABADerivatives(m, d, x["q"], x["nu"], x["tau"]),
    "inverse_mass_matrix": lambda pin, m, d, x, f: lambda: pin.computeMinverse(m, d, x["q"]),
    "coriolis_matrix": lambda pin, m, d, x, f: lambda: pin.computeCoriolisMatrix(m, d, x["q"], x["nu"]),
    # Pinocchio has no such function: a user would call another one for each unit velocity
    "christoffel_symbols": lambda pin, m, d, x, f: lambda: [pin.computeCoriolisMatrix(m, d, x["q"], e) for e in x["units"]],
    "centroidal_momentum_matrix": lambda pin, m, d, x, f: lambda: pin.computeCentroidalMap(m, d, x["q"]),
    "centroidal_momentum_matrix_rate": lambda pin, m, d, x, f: (
        lambda: pin.computeCentroidalMapTimeVariation(m, d, x["q"], x["nu"])
    ),
    "centroidal_momentum": lambda pin, m, d, x, f: lambda: pin.computeCentroidalMomentum(m, d, x["q"], x["nu"]),
    "centroidal_momentum_rate_derivatives": lambda pin, m, d, x, f: (
        lambda: pin.computeCentroidalDynamicsDerivatives(m, d, x["q"], x["nu"], x["dnu"])
    ),
    "gravity_torque": lambda pin, m, d, x, f: lambda: pin.computeGeneralizedGravity(m, d, x["q"]),
    "kinetic_energy": lambda pin, m, d, x, f: lambda: pin.computeKineticEnergy(m, d, x["q"], x["nu"]),
    "potential_energy": lambda pin, m, d, x, f: lambda: pin.computePotentialEnergy(m, d, x["q"]),
}


@dataclass(frozen=True)
class Row:
    """One function of one robot."""

    robot: str
    function: str
    operations: int
    """Floating-point operations for one state; a fused multiply-add counts as two."""
    bytes: int
    """Bytes of the arguments and results of one state."""
    one: float
    """Microseconds for one call with one state."""
    batch: float
    """Microseconds for one state of a batch into a reused `out=`, on one thread."""
    batch_size: int
    peer: float | None
    """Microseconds for Pinocchio's call, from Python, with one state."""

    @property
    def one_ratio(self) -> float | None:
        return None if self.peer is None else self.peer / self.one

    @property
    def batch_ratio(self) -> float | None:
        return None if self.peer is None else self.peer / self.batch


@dataclass
class Report:
    """The results of a run."""

    rows: list[Row] = field(default_factory=list)
    starts: list[dict[str, Any]] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    """Upper limits of the core, if they were measured: Gop/s and GB/s."""

    def json(self) -> str:
        rows = [asdict(r) | {"one_ratio": r.one_ratio, "batch_ratio": r.batch_ratio} for r in self.rows]
        return json.dumps({"versions": self.versions, "limits": self.limits, "rows": rows, "starts": self.starts}, indent=1)


def microseconds(call: Callable[[], Any], budget: float = 0.25) -> float:
    """The shortest time of a call, in microseconds, found within about `budget` seconds."""
    call()
    once = max(timeit.timeit(call, number=3) / 3, 1e-8)
    number = max(1, int(1e-3 / once))
    repeats = max(5, min(200, int(budget / (once * number))))
    return min(timeit.repeat(call, number=number, repeat=repeats)) / number * 1e6


ROUNDS = 4


def side_by_side(*calls: Callable[[], Any] | None, budget: float = 0.3) -> list[float | None]:
    """The shortest time of each call, taken in turns, so that a burst of noise does not hit one of them alone."""
    best: list[float | None] = [None] * len(calls)
    for _ in range(ROUNDS):
        for k, call in enumerate(calls):
            if call is not None:
                found, before = microseconds(call, budget / ROUNDS), best[k]
                best[k] = found if before is None else min(before, found)
    return best


def batch_size(outputs: int) -> int:
    """4096 states for vectors, 256 for matrices, 64 for tensors."""
    return {0: 4096, 1: 4096, 2: 256}.get(outputs, 64)


def measure(robot: Robot, pin_model: Any = None, names: list[str] | None = None, label: str = "", seed: int = 0) -> Iterator[Row]:
    """Time the functions of a robot, one row at a time."""
    rng = np.random.default_rng(seed)
    used = threads.threads()
    threads.set_threads(1)
    try:
        for name in measurable(robot, names):
            peer = _peer_call(name, robot, pin_model, rng) if pin_model is not None and name in PEERS else None
            yield _row(robot, name, label or robot.name, peer, rng)
    finally:
        threads.set_threads(used)


def measurable(robot: Robot, names: list[str] | None = None) -> list[str]:
    """The functions that can be measured for a robot: some need a floating base."""
    return [name for name in names or FUNCTIONS if robot.floating or not FUNCTIONS[name].floating_only]


def _kernel(robot: Robot, name: str) -> Kernel:
    """A function with the options of a plain call."""
    options: dict[str, Any] = {}
    taken = FUNCTIONS[name].options
    if "frame" in taken:
        options["frame"] = robot.link_names[-1]
    if "base" in taken:
        options["base"] = robot.link_names[-1] if name == "base_change" else None
    if "representation" in taken:
        options["representation"] = "mixed" if "base" in taken else "body"
    return robot.kernel(name, **options)


def _row(robot: Robot, name: str, label: str, peer: Callable[[], Any] | None, rng: np.random.Generator) -> Row:
    kernel = _kernel(robot, name)
    count = batch_size(max(len(o.shape) for o in kernel.task.outputs))
    values: list[Any] = []
    for spec in kernel.task.inputs:
        is_q = spec.name.startswith("q")
        values.append(
            np.array([robot.random_configuration(rng) for _ in range(count)]) if is_q else rng.normal(size=(count, spec.size))
        )
    single: list[Any] = [np.ascontiguousarray(v[0]) for v in values]
    call_one, call_batch = kernel.entry, kernel  # of methods without options this is the built-in function itself
    if "frame" in FUNCTIONS[name].options:  # a method that looks its frame up is timed as it is called
        call_one = call_batch = getattr(robot, name)
        single, values = [*single, robot.link_names[-1]], [*values, robot.link_names[-1]]
    outs = tuple(np.empty((count, *o.shape)) for o in kernel.task.outputs)
    out: Any = outs if len(outs) > 1 else outs[0]
    one, batch, theirs = side_by_side(lambda: call_one(*single), lambda: call_batch(*values, out=out), peer)
    assert one is not None
    assert batch is not None
    return Row(
        robot=label,
        function=kernel.task.name,
        operations=(robot.kernel("pose_of_place") if name == "frame_pose" else kernel).operations,  # one function for all frames
        bytes=moved(kernel),
        one=one,
        batch=batch / count,
        batch_size=count,
        peer=theirs,
    )


def moved(kernel: Kernel) -> int:
    """Bytes of the arguments and results of one state."""
    return 8 * (sum(spec.size for spec in kernel.task.inputs) + sum(int(np.prod(o.shape)) for o in kernel.task.outputs))


def _peer_call(name: str, robot: Robot, model: Any, rng: np.random.Generator) -> Callable[[], Any]:
    """Pinocchio's call for the same work."""
    import pinocchio as pin

    data = model.createData()
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    state = {"q": q, "units": np.eye(model.nv)} | {k: rng.normal(size=model.nv) for k in ("nu", "dnu", "tau")}
    frame = model.getFrameId(robot.link_names[-1])
    return PEERS[name](pin, model, data, state, frame)


def pinocchio_model(urdf: str, floating: bool, following: Sequence[str] = ()) -> Any:
    """Pinocchio's model of a URDF file, or None when Pinocchio is not installed or cannot read it.

    following: joints that mimic others. Pinocchio would let them move freely; held still, they leave both sides with the same
    degrees of freedom.
    """
    try:
        import pinocchio as pin
    except ImportError:
        return None
    try:
        model = pin.buildModelFromUrdf(urdf, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(urdf)
    except (ValueError, RuntimeError):
        return None
    held = [model.getJointId(name) for name in following if model.existJointName(name)]
    return pin.buildReducedModel(model, held, pin.neutral(model)) if held else model


_START = """
import sys, time
sys.path[:] = {path!r}
start = time.perf_counter()
import numpy as np, fallingcat as fc
robot = fc.load({source!r}, floating={floating!r})
robot.{function}(*[robot.neutral() if x == "nq" else np.zeros(robot.nv) for x in {inputs!r}])
print(time.perf_counter() - start)
"""


def start_times(source: str, floating: bool, function: str = "inverse_dynamics", label: str = "") -> dict[str, Any]:
    """Seconds from the start of a fresh process to the first result, with an empty and with a full cache."""
    inputs = [size for _, size in FUNCTIONS[function].inputs]
    script = _START.format(source=source, floating=floating, function=function, inputs=inputs, path=_search_path())

    def run(cache: str) -> float:
        done = subprocess.run(
            [sys.executable, "-P", "-c", script],
            env=os.environ | {"FALLINGCAT_CACHE": cache},
            check=True,
            capture_output=True,
            text=True,
        )
        return float(done.stdout)

    with tempfile.TemporaryDirectory() as folder:
        cold = min(run(str(Path(folder) / str(k))) for k in range(2))
        warm = min(run(str(Path(folder) / "0")) for _ in range(3))
    return {"robot": label or source, "function": function, "cold": cold, "warm": warm}


def _search_path() -> list[str]:
    """The module search path of this process, for a fresh one that measures the same library; without the working directory."""
    home = str(Path(fallingcat.__file__).resolve().parents[1])
    path = [entry for entry in sys.path if entry]
    return path if home in map(os.path.realpath, path) else [*path, home]


def versions() -> dict[str, str]:
    """The versions of the software that was measured."""
    found = {"python": sys.version.split()[0], "cpu": _cpu()}
    for package in ("fallingcat", "numpy", "llvmlite", "pin"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _cpu() -> str:
    from fallingcat.codegen.native import host, host_lanes

    return f"{host()[0]}, {host_lanes().width} lanes"
