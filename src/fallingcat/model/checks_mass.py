"""Checks that masses and inertias are physically possible."""

from __future__ import annotations

import numpy as np

from fallingcat.model.checks_joints import SMALLEST, check_finite, check_rotation, pose_numbers
from fallingcat.model.checks_tree import link_label
from fallingcat.model.description import Description, Inertial
from fallingcat.model.report import Report
from fallingcat.model.welds import WeldedBody, inertia_matrix

# Relative to the largest moment. Files have few digits, so that a moment of zero may come out slightly
# negative, and a thin plate slightly beyond the triangle inequality.
_NEGATIVE = 1e-6
_ZERO = 1e-12
_TRIANGLE = 1e-3
# Moment over mass, in square metres: a body thirty nanometres across is a point with rounding noise.
_POINT = 1e-15


def check_masses(description: Description, bodies: list[WeldedBody], report: Report) -> None:
    """Check mass and inertia of every link; `bodies` is empty when the links form no tree."""
    supported = _links_of_sound_bodies(bodies)
    for link in description.links:
        inertial, label = link.inertial, link_label(link)
        if inertial is None:
            continue
        line = inertial.line or link.line
        numbers = (("mass", (inertial.mass,)), ("inertia", inertial.inertia), *pose_numbers(inertial.pose))
        if check_finite(iter(numbers), label, line, report):
            check_rotation(inertial.pose, label, line, report)
            _check_mass(inertial, label, line, report)
            _check_inertia(inertial, link.name in supported, label, line, report)


def _links_of_sound_bodies(bodies: list[WeldedBody]) -> set[str]:
    """Links that are welded to others into a body with a possible inertia, even if their own is impossible."""
    sound: set[str] = set()
    for body in bodies:
        if len(body.links) > 1 and np.isfinite(body.inertia).all() and np.linalg.eigvalsh(body.inertia)[0] > 0:
            sound.update(link.name for link in body.links)
    return sound


def _check_mass(inertial: Inertial, label: str, line: int, report: Report) -> None:
    if inertial.mass < 0:
        report.error(f"the mass is negative: {inertial.mass:g} kg", hint="a mass is zero or more", element=label, line=line)
    for name, size in (("mass", inertial.mass), ("inertia", max(abs(entry) for entry in inertial.inertia))):
        if 0 < size < SMALLEST and not (name == "inertia" and inertial.mass >= SMALLEST):
            report.error(
                f"the {name} is too small to be computed with: {size:g}",
                hint="write 0 where there is none, and kilograms and metres where there is some",
                element=label,
                line=line,
            )


def _check_inertia(inertial: Inertial, supported: bool, label: str, line: int, report: Report) -> None:
    scale = max(abs(entry) for entry in inertial.inertia)
    if scale <= _POINT * max(inertial.mass, 0.0):
        if inertial.mass > 0:
            report.warning(
                f"the inertia is zero with a mass of {inertial.mass:g} kg, which makes it a point mass",
                hint="give the moments of the real shape; a solid ball has 0.4 m r^2",
                element=label,
                line=line,
            )
        return
    # Scaling first keeps huge and tiny numbers clear of overflow.
    smallest, middle, largest = (float(moment) for moment in np.linalg.eigvalsh(inertia_matrix(inertial) / scale))
    shown = ", ".join(f"{moment * scale:.6g}" for moment in (smallest, middle, largest))
    if smallest < -_NEGATIVE:
        _report_negative(shown, supported, label, line, report)
    elif inertial.mass == 0.0:
        report.warning(
            f"the inertia is not zero (principal moments {shown}) though the mass is zero",
            hint="give the link its mass, or set the inertia to zero",
            element=label,
            line=line,
        )
    elif smallest < _ZERO:
        report.warning(
            f"the inertia is only semidefinite: its principal moments are {shown}",
            hint="a body with some thickness has three positive moments",
            element=label,
            line=line,
        )
    elif largest - middle - smallest > _TRIANGLE * largest:
        report.warning(
            f"the principal moments {shown} break the triangle inequality: no body has "
            f"{largest * scale:.6g} > {smallest * scale:.6g} + {middle * scale:.6g}",
            hint="check the inertia; often it is given about another point or in other units",
            element=label,
            line=line,
        )


def _report_negative(shown: str, supported: bool, label: str, line: int, report: Report) -> None:
    message = f"the inertia is not positive definite: its principal moments are {shown}"
    hint = "moments of inertia are positive; check the signs and the products of inertia"
    if supported:
        # Usable all the same: only the welded whole enters the dynamics.
        report.warning(f"{message} (the links it is welded to make up for it)", hint=hint, element=label, line=line)
    else:
        report.error(message, hint=hint, element=label, line=line)
