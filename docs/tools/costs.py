"""Operations and times of a robot's functions on the bundled humanoid -> docs/tools/costs.json (python docs/tools/costs.py).

Times are minima of one thread: of one call from Python, and of one state in a batch of 256 into an array that is reused.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.apps import bench
from fallingcat.functions import FUNCTIONS

BATCH, BUDGET = 256, 0.05
OPTIONS: dict[str, dict[str, Any]] = {"frame": {"frame": "left_hand"}, "base": {"base": "left_foot"}}
SKIPPED = {
    "forward_dynamics_parameter_derivatives", "forward_dynamics_geometric_derivatives", "inverse_dynamics_second_derivatives",
}  # fmt: skip
"""Long to compile."""


def main() -> None:
    robot, rng = fc.load("humanoid"), np.random.default_rng(0)
    fc.set_threads(1)
    found = {}
    for name, function in FUNCTIONS.items():
        if function.method or name in SKIPPED or name in ("actuation_matrix",):
            continue
        options = {key: value for option in function.options for key, value in OPTIONS.get(option, {}).items()}
        kernel = robot.kernel(name, **options)
        q = np.array([robot.random_configuration(rng) for _ in range(BATCH)])
        sizes = {"n": robot.n, "nv": robot.nv, 6: 6}
        states = [q if size == "nq" else rng.normal(size=(BATCH, sizes[size])) for _, size in function.inputs]
        first = [np.ascontiguousarray(x[0]) for x in states]
        one = bench.microseconds(lambda k=kernel.entry, s=first: k(*s), BUDGET)
        out = kernel(*states)
        batch = bench.microseconds(lambda k=kernel, s=states, o=out: k(*s, out=o), BUDGET) / BATCH
        found[name] = {"operations": kernel.operations, "one": round(one, 3), "batch": round(batch, 4)}
        print(name, found[name], flush=True)
    data = {"robot": "humanoid, 36 degrees of freedom", "machine": platform.machine(), "functions": found}
    Path(__file__).with_name("costs.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
