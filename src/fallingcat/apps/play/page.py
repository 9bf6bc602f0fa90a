"""A page in which a robot's own dynamics runs: its data, and the frame around it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps import view
from fallingcat.apps.play.contacts import contacts
from fallingcat.apps.play.kernels import coordinates, kernels
from fallingcat.apps.play.plan import can_right_itself, righting
from fallingcat.apps.view.dofs import dofs
from fallingcat.apps.view.scene import Looks
from fallingcat.apps.view.shape import numbers
from fallingcat.model.report import printable
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]


def data(
    robot: Robot, q: Array, plan: dict[str, Any] | None = None, progress: Callable[[str], None] = lambda what: None
) -> dict[str, Any]:
    """Everything that the page needs to know about a robot, in plain types."""
    looks = Looks.of(robot, progress=progress)
    scene = view.scene(robot, q, looks=looks)
    low, high = (np.array(x) for x in scene["bounds"])
    size = float(np.linalg.norm(high - low))
    weight = 9.81 * (robot.mass or 1.0)
    return {
        "name": printable(robot.name, 60),
        "nq": robot.nq, "nv": robot.nv, "n": robot.n, "floating": robot.floating,
        "q": [float(x) for x in q],
        "size": size,
        "bodies": [_body(body.inertia) for body in robot.model.bodies],
        "joints": joints(robot, q, weight * size),
        "coordinates": coordinates(robot.model),
        "contacts": [[c.body, numbers(c.point), c.radius] for c in contacts(robot, looks.shapes)],
        # Stiffness of the floor: at rest on a few points it yields by a few thousandths of the robot's size.
        "floor": {"stiffness": weight / 4.0 / (0.006 * size) ** 2, "damping": 2.5},
        "gravity": [float(x) for x in (robot.gravity if np.any(robot.gravity) else (0.0, 0.0, -9.81))],
        "kernels": kernels(robot, plan is not None, progress),
        "plan": plan,
        "scene": scene,
    }  # fmt: skip


def _body(inertia: Any) -> dict[str, Any]:
    mass = float(inertia.mass)
    return {"mass": mass, "centre": [float(h) / mass if mass else 0.0 for h in inertia.h]}


def joints(robot: Robot, q: Array, strength: float) -> list[dict[str, Any]]:
    """Joints with one coordinate, and the muscles that hold them: springs that bear the robot's weight, damped near critically.

    strength: weight times size, N m.
    """
    M = robot.mass_matrix(q)
    light = 1.0 / np.maximum(np.diag(np.linalg.inv(M)), 1e-12)
    plain = {c["nu"] + k: c["q"] + k for c in coordinates(robot.model) if c["kind"] == "plain" for k in range(c["count"])}
    found = []
    for dof in dofs(robot.model):
        if dof.at in plain:
            stiffness = float(np.clip(0.35 * strength, 900.0 * light[dof.at], 1e5 * light[dof.at]))
            found.append(
                {
                    "name": printable(dof.name, 60), "q": plain[dof.at], "nu": dof.at, "low": dof.low, "high": dof.high,
                    "limited": dof.limited, "unit": dof.unit, "body": dof.body, "value": float(q[plain[dof.at]]),
                    "stiffness": stiffness, "damping": float(2.0 * np.sqrt(stiffness * light[dof.at])),
                }
            )  # fmt: skip
    return found


_BODY = """<div class="play" data-play="waiting">
<canvas class="stage" tabindex="0" role="img" aria-label="The robot; it can be grabbed and thrown"></canvas>
<h1>{title}</h1>
<p class="about">{about}</p>
<div class="side">
<div class="charts">
<div class="chart energy"><p>energy <b></b></p><canvas></canvas>
<p class="key"><span><i style="background:var(--c2)"></i>kinetic</span><span><i style="background:var(--c4)"></i>stored</span>\
<span><i style="background:var(--c1)"></i>together</span></p><small></small></div>
<div class="chart momentum"><p>angular momentum <b></b></p><canvas></canvas>{xyz}<small></small></div>
<div class="chart linear"><p>linear momentum <b></b></p><canvas></canvas>{xyz}<small></small></div>
</div>
<div class="joints"></div>
</div>
<p class="said"></p>
<div class="bar"></div>
<p class="sorry">This browser does not offer WebGL 2, which the drawing of the robot needs.</p>
</div>
<script type="application/json" id="data">{data}</script>
<script>
(() => {{
"use strict";
{code}}})();
</script>
"""


_XYZ = (
    '<p class="key"><span><i style="background:var(--c5)"></i>x</span><span><i style="background:var(--c4)"></i>y</span>'
    '<span><i style="background:var(--c1)"></i>z</span></p>'
)


def page(robot: Robot, q: Array, progress: Callable[[str], None] = lambda what: None) -> str:
    """The HTML of a page in which the robot's own dynamics runs. It needs nothing beside itself."""
    plan = righting(robot, progress) if can_right_itself(robot) else None
    found = data(robot, q, plan, progress)
    size = found["kernels"]["size"]
    about = (
        f"{robot.nv} degrees of freedom, {robot.mass:.3g} kg. Its own equations of motion run in this page: {size / 1e3:.0f} kB."
    )
    code = "\n".join([*view.scripts(), *(file(name) for name in ("physics.js", "righting.js", "play.js"))])
    body = _BODY.format(title=view.text(robot.name), about=view.text(about), data=as_json(found), code=code, xyz=_XYZ)
    return view.bare_page(robot.name, body, file("play.css"), wasm=True)


@cache
def file(name: str) -> str:
    """A file of this folder."""
    return resources.files("fallingcat").joinpath("apps", "play", name).read_text(encoding="utf-8")


def as_json(found: dict[str, Any]) -> str:
    """JSON that is safe inside a <script> element."""
    return json.dumps(found, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
