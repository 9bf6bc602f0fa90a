"""The doctor: everything that is wrong with a robot description, and what to do about it."""

from __future__ import annotations

from fallingcat.model.checks_joints import check_joints
from fallingcat.model.checks_mass import check_masses
from fallingcat.model.checks_singular import check_moving_tips
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
    return _in_order(report.findings)


def read_examined(source: Source) -> tuple[Description | None, tuple[Finding, ...]]:
    """The description of any source with every finding about it; usable when none of them is an error."""
    description, findings = read(source)
    if description is None:
        return None, findings
    return description, _in_order([*findings, *examine(description)])


def diagnose(source: Source) -> tuple[Finding, ...]:
    """Every problem of a robot, as findings with file, line, element and cure; empty for a healthy one.

    The source is a path, XML text, a `Description`, a builder, or the name of a bundled robot.
    """
    return read_examined(source)[1]


def _in_order(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.line))
