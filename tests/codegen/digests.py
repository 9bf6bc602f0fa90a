"""Prints digests of many results as one line of JSON: run in other processes, on other processors, with other libraries.

    python digests.py WIDTH ROBOT...          WIDTH: doubles in a vector, 0 for those of the processor
                                              ROBOT: bundled, or "tilted", or "small", with fewer functions

Everything starts from numbers written here or drawn by a generator of whole numbers: nothing depends on the machine
but what is to be tested.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fallingcat as fc
from fallingcat.codegen import native
from fallingcat.codegen.lanes import Lanes
from fallingcat.control.expm import expm
from fallingcat.functions import quaternions

Array = NDArray[np.float64]
ROWS = 9
FAR = 3e5
"""Beyond the angles that are reduced by parts of pi."""


def tilted(kinds: int) -> fc.Builder:
    """Nothing along an axis: joints of several kinds, welded links, a locked and a following joint, inertias with products."""
    b = fc.Builder("tilted")
    b.link("root", mass=1.1, com=(0.1, -0.2, 0.3), inertia=(0.3, 0.01, -0.02, 0.4, 0.03, 0.5), rpy=(0.3, 0.4, -1.9))
    chain: list[tuple[str, dict[str, Any]]] = [
        ("revolute", {"axis": (1.0, 2.0, -3.0)}),
        ("fixed", {}),
        ("revolute", {"axis": (0.1, -0.2, -0.9)}),
        ("planar", {"axis": (0.3, 0.1, 1.0)}),
        ("spherical", {}),
        ("universal", {"axis": (1.0, 0.2, 0.0), "axis2": (0.1, 1.0, 0.3)}),
        ("prismatic", {"axis": (1.0, 1.0, 0.4)}),
        ("floating", {}),
    ]
    parent = "root"
    for k, (kind, options) in enumerate(chain[:kinds]):
        name = f"link{k}"
        b.link(
            name,
            mass=0.7 + 0.1 * k,
            com=(0.05 * k, 0.1, -0.03),
            inertia=(0.02, 0.001, 0.002, 0.03, -0.001, 0.025),
            rpy=(k, 0.2, 1.0),
        )
        limits = {"lower": -1.0, "upper": 1.0} if kind in ("revolute", "prismatic") else {}
        b.joint(f"joint{k}", kind, parent, name, xyz=(0.1, 0.2 * k, 0.3), rpy=(0.7 + k, -0.1 * k, 2.2), **limits, **options)
        parent = name
    b.link("follower", mass=0.3, com=(0.1, 0.0, 0.1), inertia=(0.01, 0.0, 0.001, 0.02, 0.0, 0.02))
    b.joint(
        "follows",
        "revolute",
        "link2",
        "follower",
        axis=(0.0, 1.0, 0.5),
        rpy=(1.0, 1.0, 0.2),
        mimic="joint0",
        multiplier=0.7,
        offset=0.3,
    )
    return b


def load(name: str) -> fc.Robot:
    kinds = {"small": 3, "tilted": 8}.get(name)
    return fc.load(tilted(kinds), lock={"joint2": 0.37}) if kinds else fc.load(name)


def uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """In [-1, 1): whole numbers times a power of two, exact on any machine."""
    return rng.integers(-(2**40), 2**40, shape) * 2.0**-40


def states(robot: fc.Robot, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    q = 3.0 * uniform(rng, (ROWS, robot.nq))
    q[0, -1] = FAR
    for at in quaternions(robot.model):
        x, y, z, w = np.moveaxis(q[:, at : at + 4], -1, 0)
        q[:, at : at + 4] /= np.sqrt(x * x + y * y + z * z + w * w)[:, None]
    return q, *(uniform(rng, (ROWS, robot.nv)) for _ in range(3))  # type: ignore[return-value]


def results(robot: fc.Robot, everything: bool) -> dict[str, Any]:
    q, nu, dnu, tau = states(robot, np.random.default_rng(11))
    link = robot.model.link_names[-1]
    calls = {
        "inverse_dynamics": (q, nu, dnu), "forward_dynamics": (q, nu, tau), "integrate": (q, nu),
        "difference": (q, q[::-1].copy()),
    }  # fmt: skip
    if everything:
        calls |= {
            "mass_matrix": (q,), "inverse_dynamics_derivatives": (q, nu, dnu), "coriolis_matrix": (q, nu),
            "centroidal_momentum": (q, nu), "potential_energy": (q,),
        }  # fmt: skip
    found: dict[str, Any] = {"model": repr(robot.model).encode(), "mass": np.array(robot.mass)}
    for name, arguments in calls.items():
        method = getattr(robot, name)
        found[name] = method(*arguments)
        found[f"{name}, one state"] = method(*(a[0] for a in arguments))
    A = uniform(np.random.default_rng(12), (2, 40, 40))
    found["exponential"] = expm(A)
    if not everything:
        return found
    found["frame_pose"] = robot.frame_pose(q, link)
    found["state_minus"] = robot.state_minus(q[0], nu[0], q[1], nu[1])
    for method_name in ("zoh", "rk4"):
        found[f"discretize {method_name}"] = robot.discretize(q[1:3], nu[1:3], tau[1:3], 0.01, method=method_name)
    return found


def digest(value: Any) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    return hashlib.sha256(b"".join(p if isinstance(p, bytes) else np.ascontiguousarray(p).tobytes() for p in parts)).hexdigest()[
        :16
    ]


def main(width: int, names: list[str]) -> None:
    cpu = native.host()[0]
    if width:
        native.host_lanes = lambda: Lanes(width)  # type: ignore[assignment]
    lanes = native.host_lanes().width
    digests = {f"{name}: {what}": digest(value) for name in names for what, value in results(load(name), name != "small").items()}
    print(json.dumps({"cpu": cpu, "lanes": lanes, "digests": digests}))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
