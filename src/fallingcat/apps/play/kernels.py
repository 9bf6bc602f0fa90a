"""The functions that a live page runs, traced for one robot without gravity: the page adds it, so that it can be switched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fallingcat.apps.play.wasm import compiled
from fallingcat.apps.view.scene import bodies_in_links
from fallingcat.model.joints import FreeFlyer, JointModel, Planar, Reversed, Spherical
from fallingcat.model.model import Model
from fallingcat.robot.robot import Robot
from fallingcat.robot.user_functions import compile


def weightless(robot: Robot) -> Robot:
    """The same robot without gravity."""
    return Robot(robot.description, base=robot.base, **(robot._options | {"gravity": (0.0, 0.0, 0.0), "inputs": None}))


def _kinematics(r: Any, q: Any, nu: Any) -> Any:
    """For every body: its pose (3 x 4, by rows), the velocity of its origin and its angular velocity, both in world axes."""
    rows = []
    for body, C in zip(r.model.bodies, bodies_in_links(r.model)):  # a body's frame may be turned against its link's
        H, v = r.frame_pose(q, body.name), r.frame_velocity(q, nu, body.name)
        placed, lever, R = (H @ C)[:3], H[:3, :3] @ C[:3, 3], H[:3, :3]
        w = R @ v[3:]
        swung = [w[1] * lever[2] - w[2] * lever[1], w[2] * lever[0] - w[0] * lever[2], w[0] * lever[1] - w[1] * lever[0]]
        rows.append(np.concatenate([np.ravel(placed), R @ v[:3] + np.array(swung), w]))
    return np.array(rows)


def _tracking(r: Any, q: Any, nu: Any, ddr: Any) -> Any:
    """The joint torques for which the joints of a free robot accelerate by ddr."""
    return r.inverse_dynamics(q, nu, np.concatenate([r.base_acceleration(q, nu, ddr), ddr]))[6:]


def kernels(robot: Robot, righting: bool, progress: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    """WebAssembly of all functions, in plain types (see `compiled`).

    dynamics(q, nu, tau, wrenches) -> dnu, wrenches on all bodies in their own coordinates; kinematics(q, nu) -> poses and
    twists; energy and momentum. With `righting`, what the plan of a turn in the air needs.
    """
    free = weightless(robot)
    programs: dict[str, Callable[[], Any]] = {
        "dynamics": lambda: free.kernel("forward_dynamics", wrenches="body").program,
        "kinematics": lambda: compile(_kinematics, free).kernel.program,
        "energy": lambda: free.kernel("kinetic_energy").program,
        "momentum": lambda: free.kernel("centroidal_momentum").program,
    }
    if righting:
        programs["tracking"] = lambda: compile(_tracking, free).kernel.program
        programs["connection"] = lambda: free.kernel("mechanical_connection").program
        programs["inertia"] = lambda: free.kernel("locked_inertia").program
    traced = {}
    for name, program in programs.items():
        progress(name)
        traced[name] = program()
    progress("WebAssembly")
    return compiled(traced)


def coordinates(model: Model) -> list[dict[str, Any]]:
    """How the rate of q follows from nu, joint by joint: kind, place in q, place in nu, how many."""
    found = []
    for body in model.bodies:
        if not body.mimics:
            found.append({"kind": _kind(body.joint), "q": body.q_at, "nu": body.nu_at, "count": body.joint.nv})
    return found


def _kind(joint: JointModel) -> str:
    if isinstance(joint, Reversed):
        return _kind(joint.forward)
    return {FreeFlyer: "free", Spherical: "ball", Planar: "planar"}.get(type(joint), "plain")
