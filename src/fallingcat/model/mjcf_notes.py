"""Findings about contents of an MJCF file that a `Description` does not have: one finding for each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from fallingcat.model.mjcf_model import BALL, FREE, MIMIC, acts_on_site, actuator_count, floating_body, joint_gears, own_name
from fallingcat.model.report import Report, listed

Lines = Callable[[str, str], int]
_EQUALITIES = {0: "connect", 1: "weld", 2: "joint", 3: "tendon", 4: "flex", 5: "flex", 6: "flex", 7: "distance"}
_DIRECT, _NO_BIAS = 0, 0


def note_what_is_left_out(m: Any, lines: Lines, report: Report) -> None:
    """Report contents that are left out: a warning if the robot then moves differently than in MuJoCo, else a note."""
    _joints(m, lines, report)
    _bodies(m, lines, report)
    _constraints(m, lines, report)
    _actuators(m, lines, report)
    _surroundings(m, report)


def _joints(m: Any, lines: Lines, report: Report) -> None:
    moving = range(m.njnt)
    springs = _some(m, "jnt_stiffness") | _some(m, "jnt_stiffnesspoly")
    _of_joints(m, lines, report, [j for j in moving if j in springs], "springs are not taken over", "add their torques to tau")
    polynomials = {int(m.dof_jntid[d]) for d in _some(m, "dof_dampingpoly")}
    _of_joints(m, lines, report, sorted(polynomials), "damping is taken over in its linear part only", "")
    limited = [j for j in moving if int(m.jnt_type[j]) == BALL and m.jnt_limited[j]]
    _of_joints(m, lines, report, limited, "limits of ball joints are not taken over", "", note=True)
    base = floating_body(m)
    free = [j for j in moving if int(m.jnt_type[j]) == FREE]
    if base is not None:
        extra = [word for word in ("armature", "damping", "frictionloss") if _free_joints_with(m, word, free)]
        what = f"{' and '.join(extra)} of the free joint: a floating base has none here"
        _of_joints(m, lines, report, free if extra else [], what, 'write <freejoint/>, or armature="0" damping="0"')
        return
    for word in ("armature", "frictionloss"):  # damping is the same in all directions and for all axes
        what = f"{word} of free joints acts on velocities in the axes of the body, in MuJoCo in those of the world"
        _of_joints(m, lines, report, _free_joints_with(m, word, free), what, f'write <freejoint/>, or {word}="0"')


def _bodies(m: Any, lines: Lines, report: Report) -> None:
    base = floating_body(m)
    compensated = [b for b in range(m.nbody) if np.any(m.body_gravcomp[b])]
    if compensated:
        names = _names(m, "body", compensated)
        what = f"gravity compensation of {listed(names)} is not taken over"
        report.warning(what, hint="add robot.gravity_torque(q) to tau", line=lines("body", names[0]))
    if base is not None:
        left = [b for b in range(1, m.nbody) if int(m.body_rootid[b]) != base]
        if left:
            names = _names(m, "body", left)
            report.note(f"{listed(names)} stand still in the world and are left out", line=lines("body", names[0]))
    guided = [b for b in range(m.nbody) if int(m.body_mocapid[b]) >= 0]
    if guided:
        names = _names(m, "body", guided)
        report.note(f"the mocap bodies {listed(names)} stand still", line=lines("body", names[0]))


def _constraints(m: Any, lines: Lines, report: Report) -> None:
    every = [k for k, name in enumerate(_names(m, "equality", range(m.neq))) if not name.startswith(MIMIC)]
    if every:
        kinds = Counter(_EQUALITIES.get(int(m.eq_type[k]), "other") for k in every)
        shown = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        names = _names(m, "equality", every[:1])
        report.warning(
            f"equality constraints are no part of the dynamics: {shown}",
            hint="robot.constraints() takes those of connect, weld and joint into account",
            line=lines("equality", names[0]),
        )
    if m.ntendon:
        names = _names(m, "tendon", range(m.ntendon))
        what = f"tendons are not taken over, but for their actuators: {listed(names)}"
        forces = _some(m, "tendon_stiffness") | _some(m, "tendon_damping") | _some(m, "tendon_armature")
        say = report.warning if forces else report.note
        say(what, hint="their springs, dampers and limits do not act" if forces else "", line=lines("tendon", names[0]))
    touching = int(np.count_nonzero((m.geom_contype != 0) | (m.geom_conaffinity != 0)))
    if touching:
        report.note(f"contacts are not taken over ({touching} {'geom' if touching == 1 else 'geoms'} with contact flags)")


def _actuators(m: Any, lines: Lines, report: Report) -> None:
    every = range(actuator_count(m))

    def warn(chosen: list[int], what: str, hint: str, note: bool = False) -> None:
        if chosen:
            names = _names(m, "actuator", chosen)
            (report.note if note else report.warning)(f"{what}: {listed(names)}", hint=hint, line=lines("actuator", names[0]))

    left_out = [k for k in every if not acts_on_site(m, k) and not _drives(m, k)]
    warn(left_out, "actuators whose lever depends on the configuration, or that act on a free joint, are left out", "")
    states = [k for k in every if int(m.actuator_dyntype[k]) != _DIRECT]
    warn(states, "actuators have states of their own (muscles, filters), which are not taken over", "their input is the force")
    servos = [k for k in every if int(m.actuator_biastype[k]) != _NO_BIAS and k not in states]
    warn(servos, "servos are taken over as forces, without their feedback", "compute u = gain * ctrl + bias yourself", note=True)
    inertias = _some(m, "actuator_armature") | _some(m, "actuator_damping")
    warn(sorted(inertias), "armature and damping of actuators are not taken over", "write them in the joints")


def _drives(m: Any, k: int) -> bool:
    return any(int(m.jnt_type[j]) != FREE for j, _ in joint_gears(m, k))


def _surroundings(m: Any, report: Report) -> None:
    if m.opt.density > 0.0 or m.opt.viscosity > 0.0:
        report.warning("the fluid (density, viscosity, wind) is not taken over", hint="add its forces as wrenches")
    if getattr(m, "nflex", 0):
        report.warning(f"{m.nflex} flexible bodies are not taken over, but for the points they are made of")
    if getattr(m, "nplugin", 0):
        report.warning(f"{m.nplugin} plugins are not taken over")


def _of_joints(m: Any, lines: Lines, report: Report, joints: list[int], what: str, hint: str, note: bool = False) -> None:
    if joints:
        names = _names(m, "joint", joints)
        say = report.note if note else report.warning
        say(f"{what}: {listed(names)}", hint=hint, line=lines("joint", names[0]))


def _free_joints_with(m: Any, word: str, free: list[int]) -> list[int]:
    return [j for j in free if np.any(getattr(m, f"dof_{word}")[m.jnt_dofadr[j]])]


def _some(m: Any, array: str) -> set[int]:
    """The indices of nonzero rows of an array of the model; empty if this version of MuJoCo has no such array."""
    values = getattr(m, array, None)
    if values is None or not len(values):
        return set()
    return {int(k) for k in np.flatnonzero(np.asarray(values).reshape(len(values), -1).any(axis=1))}


def _names(m: Any, kind: str, indices: Any) -> list[str]:
    return [own_name(m, kind, int(k)) or f"{kind}{k}" for k in indices]
