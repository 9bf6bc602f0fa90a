"""python -m bench.frameworks [--json FILE] [--robots panda,hyq,...]

Gradients, JAX, PyTorch and CasADi beside the same functions through NumPy, in the same process and in turns, on one thread; each
library where it is installed, and adam (`pip install adam-robotics`) beside JAX. Ratios are minima of interleaved runs: times of
a batch of 4096 over that of NumPy; of one jitted call, the microseconds beyond those of an empty one. For CasADi: a motion of the
Panda arm from rest to rest with least effort, 40 nodes, IPOPT with exact Hessians.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console

import fallingcat as fc
from bench.robots import ROBOTS, robot_file
from fallingcat.apps import bench as benchmark
from fallingcat.codegen import threads

STATES = 4096
FUNCTIONS = ("inverse_dynamics", "forward_dynamics")
Row = dict[str, Any]


def seconds(*calls: Callable[[], Any], rounds: int = 20, times: int = 1) -> list[float]:
    """The least time of each, in turns."""
    for call in calls:
        call()
        call()
    least = [float("inf")] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(times):
                call()
            least[k] = min(least[k], (time.perf_counter() - start) / times)
    return least


def states(robot: fc.Robot) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    q = np.array([robot.random_configuration(rng) for _ in range(STATES)])
    return q, *rng.normal(size=(2, STATES, robot.nv))


# ---------------------------------------------------------------------------------------------------------------------
# One robot


def of_gradients(robot: fc.Robot) -> Iterator[Row]:
    q, nu, x = states(robot)
    for name in FUNCTIONS:
        own, vjp, jvp = getattr(robot, name), robot.vjp(name), robot.jvp(name)
        plain, back, forward = seconds(
            lambda own=own: own(q, nu, x),
            lambda vjp=vjp: vjp(q, nu, x, x),
            lambda jvp=jvp: jvp(q, nu, x, nu, nu, x),
        )
        yield {"function": name, "vjp_ratio": back / plain, "jvp_ratio": forward / plain, "vjp_us": 1e6 * back / STATES}


def of_jax(robot: fc.Robot) -> Iterator[Row]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    numbers = states(robot)
    many = [jnp.asarray(x) for x in numbers]
    one = [x[0] for x in many]
    empty = jax.jit(lambda x: x + 1.0)
    for name in FUNCTIONS:
        own, f = getattr(robot, name), jax.jit(getattr(fc.jax(robot), name))
        plain, batch = seconds(lambda own=own: own(*numbers), lambda f=f: f(*many).block_until_ready())
        single, nothing = seconds(
            lambda f=f: f(*one).block_until_ready(), lambda: empty(one[1]).block_until_ready(), rounds=40, times=200
        )
        yield {
            "function": name,
            "batch_ratio": batch / plain,
            "one_us": 1e6 * single,
            "beyond_empty_us": 1e6 * (single - nothing),
        }


def of_adam() -> Iterator[Row]:
    """The bias of the Panda arm with its hand locked, which both have through JAX; the base of adam is always free."""
    import jax
    import jax.numpy as jnp
    from adam.jax import KinDynComputations

    jax.config.update("jax_enable_x64", True)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"  # adam 0.5 cannot read prismatic joints
        path.write_text(Path(robot_file("panda")).read_text("utf-8").replace('type="prismatic"', 'type="fixed"'), "utf-8")
        robot = fc.load(str(path), floating=False)
        theirs = KinDynComputations(str(path), list(robot.joint_names))
    q, nu = (jnp.asarray(x) for x in states(robot)[:2])
    base, twist = jnp.tile(jnp.eye(4), (STATES, 1, 1)), jnp.zeros((STATES, 6))
    f, g = jax.jit(lambda q, nu: theirs.bias_force(base, q, twist, nu)[:, 6:]), jax.jit(fc.jax(robot).bias)
    assert np.allclose(f(q, nu), g(q, nu), rtol=1e-2, atol=1e-2)  # standard gravity has other digits there
    adam, ours = seconds(lambda: f(q, nu).block_until_ready(), lambda: g(q, nu).block_until_ready(), rounds=5)
    yield {"function": "bias", "adam_ratio": adam / ours, "adam_us": 1e6 * adam / STATES, "ours_us": 1e6 * ours / STATES}


def of_torch(robot: fc.Robot) -> Iterator[Row]:
    import torch

    torch.set_num_threads(1)
    numbers = states(robot)
    tensors = [torch.from_numpy(x) for x in numbers]
    followed = [x.clone().requires_grad_() for x in tensors]
    for name in FUNCTIONS:
        own, f = getattr(robot, name), getattr(fc.torch(robot), name)
        times = seconds(
            lambda own=own: own(*numbers),
            lambda f=f: f(*tensors),
            lambda f=f: f(*followed),
            lambda f=f: f(*followed).sum().backward(),
        )
        ratios = [x / times[0] for x in times[1:]]
        yield {"function": name, "batch_ratio": ratios[0], "followed_ratio": ratios[1], "with_backward_ratio": ratios[2]}


# ---------------------------------------------------------------------------------------------------------------------
# CasADi


def of_casadi() -> Iterator[Row]:
    """Expressions, then machine code."""
    import casadi

    robot, nodes = fc.load(robot_file("panda"), floating=False), 40
    dt, start = 1.0 / nodes, robot.neutral()
    quiet = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes"}}
    for compiled in (False, True):
        f = fc.casadi(robot, compiled=compiled).function("forward_dynamics")
        q, nu, tau = (casadi.MX.sym(x, robot.nv, nodes + 1) for x in ("q", "nu", "tau"))
        rate = nu[:, :-1] + dt * f.map(nodes)(q[:, :-1], nu[:, :-1], tau[:, :-1])
        moved = q[:, :-1] + dt * rate
        gaps = [casadi.vec(q[:, 1:] - moved), casadi.vec(nu[:, 1:] - rate)]
        ends = [q[:, 0] - start, nu[:, 0], q[:, -1] - start - 0.5, nu[:, -1]]
        nlp = {"x": casadi.veccat(q, nu, tau), "f": dt * casadi.sumsqr(tau), "g": casadi.vertcat(*gaps, *ends)}
        solver = casadi.nlpsol("solver", "ipopt", nlp, quiet)
        began = time.perf_counter()
        answer = solver(x0=0.0, lbg=0.0, ubg=0.0)
        took, found = time.perf_counter() - began, solver.stats()
        yield {
            "function": "machine code" if compiled else "expressions", "solution_s": took, "iterations": found["iter_count"],
            "jacobians_s": found["t_wall_nlp_jac_g"], "hessians_s": found["t_wall_nlp_hess_l"], "cost": float(answer["f"]),
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.frameworks", description=__doc__)
    parser.add_argument("--json", default="", help="where to write the numbers")
    parser.add_argument("--robots", default="panda,talos_reduced", help="which robots (default: %(default)s)")
    arguments = parser.parse_args()
    console, rows, used = Console(), [], threads.threads()
    threads.set_threads(1)

    def shown(library: str, robot: str, found: Iterator[Row]) -> None:
        for row in found:
            numbers = ", ".join([f"{k} {x:.4g}" for k, x in row.items() if k != "function"])
            console.print(f"{library}, {robot}, {row['function']}: {numbers}", highlight=False, soft_wrap=True)
            rows.append({"library": library, "robot": robot, **row})

    try:
        for name in arguments.robots.split(","):
            robot = fc.load(robot_file(name), floating=ROBOTS[name].floating)
            shown("gradients", name, of_gradients(robot))
            for library, measure in (("jax", of_jax), ("torch", of_torch)):
                if find_spec(library) is not None:
                    shown(library, name, measure(robot))
        if find_spec("jax") is not None and find_spec("adam") is not None:
            shown("adam", "panda", of_adam())
        if find_spec("casadi") is not None:
            shown("casadi", "panda", of_casadi())
    finally:
        threads.set_threads(used)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"versions": benchmark.versions(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
