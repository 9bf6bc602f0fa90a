"""python -m bench.constraints [--json FILE]

Dynamics with contacts and their derivatives beside Pinocchio's from Python, in the same process and in turns: hyq on four point
feet, talos_reduced on two flat ones. Pinocchio's derivatives need its values first: both are timed together, as our one call has
both.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import fallingcat as fc
from bench.robots import robot_file
from fallingcat.apps import bench as benchmark
from fallingcat.codegen import threads

CASES: dict[str, tuple[Callable[[str], fc.Constraint], str, tuple[str, ...]]] = {
    "hyq": (fc.point, "CONTACT_3D", ("lf_foot", "rf_foot", "lh_foot", "rh_foot")),
    "talos_reduced": (fc.surface, "CONTACT_6D", ("left_sole_link", "right_sole_link")),
}
FUNCTIONS = {"forward_dynamics": 4096, "forward_dynamics_derivatives": 256}
"""And the states of a batch."""


def peers(name: str, kind: str, frames: tuple[str, ...], rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    """Pinocchio's calls."""
    import pinocchio as pin

    model = pin.buildModelFromUrdf(robot_file(name), pin.JointModelFreeFlyer())
    data = model.createData()
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for frame in (model.frames[model.getFrameId(f)] for f in frames):
        contact = getattr(pin.ContactType, kind)
        models.append(pin.RigidConstraintModel(contact, model, frame.parentJoint, frame.placement, pin.ReferenceFrame.LOCAL))
        datas.append(models[len(models) - 1].createData())
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    v, tau = rng.normal(size=(2, model.nv))

    def values() -> None:
        pin.constraintDynamics(model, data, q, v, tau, models, datas, settings)

    def derivatives() -> None:
        values()
        pin.computeConstraintDynamicsDerivatives(model, data, models, datas, settings)

    return {"forward_dynamics": values, "forward_dynamics_derivatives": derivatives}


def measure(name: str) -> list[benchmark.Row]:
    """Both functions of one robot."""
    make, kind, frames = CASES[name]
    robot, rng = fc.load(robot_file(name)), np.random.default_rng(0)
    c = robot.constraints(*[make(f) for f in frames])
    theirs = peers(name, kind, frames, rng)
    rows = []
    for function, count in FUNCTIONS.items():
        kernel = c.kernel(function)
        q = np.array([robot.random_configuration(rng) for _ in range(count)])
        nu, tau = rng.normal(size=(2, count, robot.nv))
        out = tuple(np.empty((count, *o.shape)) for o in kernel.task.outputs)
        single = tuple(np.ascontiguousarray(x[0]) for x in (q, nu, tau))
        method = getattr(c, function)
        method(*single)
        kernel(q, nu, tau, out=out)
        one, batch, peer = benchmark.side_by_side(
            lambda method=method, single=single: method(*single),  # type: ignore[misc]
            lambda kernel=kernel, q=q, nu=nu, tau=tau, out=out: kernel(q, nu, tau, out=out),  # type: ignore[misc]
            theirs[function],
            budget=1.0,
        )
        assert one is not None
        assert batch is not None
        rows.append(benchmark.Row(name, function, kernel.operations, benchmark.moved(kernel), one, batch / count, count, peer))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.constraints", description=__doc__)
    parser.add_argument("--json", default="", help="where to write the numbers")
    arguments = parser.parse_args()
    used = threads.threads()
    threads.set_threads(1)
    try:
        rows = [row for name in CASES for row in measure(name)]
    finally:
        threads.set_threads(used)
    for row in rows:
        ratios = f"{row.one_ratio:.1f}x one call, {row.batch_ratio:.1f}x batched"
        Console().print(
            f"{row.robot} {row.function}: {row.operations} operations, {row.one:.2f} us, batch {row.batch:.3f} us, "
            f"Pinocchio {row.peer:.1f} us: {ratios}"
        )
    if arguments.json:
        found = [asdict(row) | {"one_ratio": row.one_ratio, "batch_ratio": row.batch_ratio} for row in rows]
        Path(arguments.json).write_text(json.dumps({"versions": benchmark.versions(), "rows": found}, indent=1))


if __name__ == "__main__":
    main()
