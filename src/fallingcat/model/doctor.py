"""The doctor: everything that is wrong with a robot description, and what to do about it."""

from __future__ import annotations

import os
from collections.abc import Iterable

from fallingcat.model.checks_joints import check_joints
from fallingcat.model.checks_mass import check_masses
from fallingcat.model.checks_meshes import check_meshes
from fallingcat.model.checks_singular import check_moving_tips, check_neutral
from fallingcat.model.checks_tree import check_tree
from fallingcat.model.description import Description
from fallingcat.model.findings import Finding
from fallingcat.model.report import Report
from fallingcat.model.sources import Source, read
from fallingcat.model.welds import welded_bodies


def examine(description: Description) -> tuple[Finding, ...]:
    """Every problem with the meaning of a description, in the order of its lines."""
    report = Report(description.file)
    check_tree(description, report)
    check_joints(description, report)
    # What is welded together, and what hangs below a joint, only a tree with sound numbers can tell.
    bodies = [] if report.has_errors() else welded_bodies(description)
    check_masses(description, bodies, report)
    if not report.has_errors():
        check_moving_tips(description, bodies, report)
    if not report.has_errors():
        check_neutral(description, bodies, report)
    return _in_order(report.findings)


def read_examined(
    source: Source, package_dirs: Iterable[str | os.PathLike[str]] = (), meshes: bool = True
) -> tuple[Description | None, tuple[Finding, ...]]:
    """The description of any source with every finding about it; usable when none of them is an error."""
    description, findings = read(source, package_dirs)
    if description is None:
        return None, findings
    report = Report(description.file)
    if meshes:
        check_meshes(description, report)
    return description, _in_order([*findings, *examine(description), *report.findings])


def diagnose(source: Source, package_dirs: Iterable[str | os.PathLike[str]] = (), meshes: bool = True) -> tuple[Finding, ...]:
    """Every problem of a robot, as findings with file, line, element and cure; empty for a healthy one.

    The source is all that `fc.load` takes. package_dirs: folders in which packages and meshes are looked for first. meshes: look
    at meshes, too, which takes a while where they are large, and tells more where `trimesh` is installed.
    """
    return read_examined(source, package_dirs, meshes)[1]


def _in_order(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.line))
