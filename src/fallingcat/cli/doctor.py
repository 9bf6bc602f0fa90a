"""`fallingcat doctor`: what is wrong with a robot description."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from fallingcat.model.description import Description
from fallingcat.model.doctor import read_examined
from fallingcat.model.findings import Finding
from fallingcat.model.report import printable

_STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def doctor(source: str, *, as_json: bool = False, package_dirs: Sequence[str] = ()) -> int:
    """Print every finding about a robot; 0 when it is healthy, 1 with warnings, 2 with errors."""
    description, findings = read_examined(source, package_dirs)
    if as_json:
        print(json.dumps(_summary(source, findings), indent=2))
    else:
        _print_findings(source, description, findings)
    return exit_code(findings)


def exit_code(findings: Sequence[Finding]) -> int:
    """0 for a healthy robot, about which there may be notes, 1 with warnings only, 2 with errors."""
    found = {finding.severity for finding in findings}
    return 2 if "error" in found else 1 if "warning" in found else 0


def _summary(source: str, findings: Sequence[Finding]) -> dict[str, object]:
    counts = Counter(finding.severity for finding in findings)
    return {
        "source": printable(source, limit=1000),
        "healthy": exit_code(findings) == 0,
        "errors": counts["error"],
        "warnings": counts["warning"],
        "notes": counts["note"],
        "findings": [dataclasses.asdict(finding) for finding in findings],
    }


def _print_findings(source: str, description: Description | None, findings: Sequence[Finding]) -> None:
    console = Console(highlight=False)
    for finding in findings:
        # Text, not markup: names may hold brackets. Soft wrapping keeps one finding on one line for grep.
        console.print(_finding_text(finding), soft_wrap=True)
    console.print(_verdict(source, description, findings), soft_wrap=True)


def _finding_text(finding: Finding) -> Text:
    place = finding.file or "<description>"
    if finding.line:
        place += f":{finding.line}"
    text = Text()
    text.append(f"{place}: ", style="dim")
    text.append(finding.severity, style=_STYLES[finding.severity])
    text.append(": ")
    if finding.element:
        text.append(f"{finding.element}: ", style="bold")
    text.append(finding.message)
    if finding.hint:
        text.append(f" ({finding.hint})", style="dim")
    return text


def _verdict(source: str, description: Description | None, findings: Sequence[Finding]) -> Text:
    """One line: the robot's name, its size, and the verdict."""
    who = printable(description.name if description is not None else source)
    if description is not None:
        who += f" ({_count(len(description.links), 'link')}, {_count(len(description.joints), 'joint')})"
    counts = Counter(finding.severity for finding in findings)
    parts = [_count(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
    style = "bold red" if counts["error"] else "yellow" if counts["warning"] else "bold green"
    return Text.assemble(f"{who}: ", (" and ".join(parts) or "healthy", style))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
