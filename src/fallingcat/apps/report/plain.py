"""The report in plain types, for JSON; what is infinite or absent is null."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from fallingcat.apps.report.linearization import condition
from fallingcat.apps.report.measure import Inertias, Report, massless, velocity_labels
from fallingcat.apps.report.states import State
from fallingcat.model.model import WORLD
from fallingcat.model.tree_text import joint_words


def as_json(report: Report) -> dict[str, Any]:
    """The whole report in plain types."""
    robot = report.robot
    return {
        "robot": {
            "name": robot.name, "nq": robot.nq, "nv": robot.nv, "n": robot.n, "base": robot.base, "floating": robot.floating,
            "mass": robot.mass, "gravity": robot.gravity.tolist(),
            "links": list(robot.link_names), "joints": list(robot.joint_names), "massless_links": massless(robot),
        },
        "bodies": [_body(report, inertias) for inertias in report.bodies],
        "state": state_as_json(report.state),
        "mass_matrix": {
            "labels": velocity_labels(robot), "values": report.M.tolist(), "eigenvalues": report.eigenvalues.tolist(),
            "condition": finite(condition(report.eigenvalues)), "singular": report.singular,
        },
        "coriolis_matrix": {"nu": report.C_velocity.tolist(), "values": report.C.tolist()},
        "gravity_torque": report.g.tolist(),
        "energies": {"kinetic": report.kinetic_energy, "potential": report.potential_energy},
        "center_of_mass": report.center_of_mass.tolist(),
        "linearization": _linear(report),
        "centroidal": None if report.centroidal is None else _arrays(vars(report.centroidal)),
        "locked": None if report.locked is None else _arrays(vars(report.locked)),
        "checks": [asdict(check) for check in report.checks],
        "timings": [asdict(timing) for timing in report.timings],
        "findings": [asdict(finding) for finding in report.findings],
    }  # fmt: skip


def state_as_json(state: State) -> dict[str, Any]:
    """A state in plain types."""
    return {"words": state.words, "q": state.q.tolist(), "nu": state.nu.tolist()}


def _body(report: Report, of: Inertias) -> dict[str, Any]:
    body = of.body
    return {
        "link": body.name,
        "joint": body.joint_name,
        "type": joint_words(body.joint),
        "parent": None if body.parent == WORLD else report.robot.model.bodies[body.parent].name,
        "mass": body.inertia.mass,
        "center_of_mass": of.center.tolist(),
        "inertia": of.inertia.tolist(),
        "principal_moments": of.moments.tolist(),
        "q_at": body.q_at,
        "nu_at": body.nu_at,
        "follows": body.mimics,
        "limits": {name: finite(value) for name, value in asdict(body.limits).items()},
        "damping": body.damping,
        "friction": body.friction,
        "armature": body.armature,
    }


def _linear(report: Report) -> dict[str, Any] | None:
    linear = report.linear
    if linear is None:
        return None
    return {
        "eigenvalues": [[x.real, x.imag] for x in linear.eigenvalues.tolist()],
        "entries_not_zero": int(np.count_nonzero(linear.filled)),
        "controllability_rank": linear.rank,
        "stays": linear.stays,
    }


def _arrays(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.tolist() for name, value in values.items()}


def finite(x: float) -> float | None:
    """A number, or null where it is infinite or none."""
    return float(x) if np.isfinite(x) else None
