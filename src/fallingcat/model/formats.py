"""Which format a text is in, told by its root element, and the reader that takes it."""

from __future__ import annotations

from pathlib import Path

from fallingcat.model.description import Description
from fallingcat.model.findings import Finding
from fallingcat.model.report import Report
from fallingcat.model.urdf import read_urdf_tree
from fallingcat.model.xml_tree import Element, XmlError, parse_xml


def read_xml(text: str | bytes, file: str = "<text>", path: Path | None = None) -> tuple[Description | None, tuple[Finding, ...]]:
    """The description in a URDF, MJCF or SDF text, and a finding for every mistake. path: its file, if it names others."""
    try:
        root = _parsed(text)
    except XmlError as error:
        report = Report(file)
        report.error(error.message, hint=error.hint, line=error.line)
        return None, tuple(report.findings)
    if root.tag == "mujoco":
        from fallingcat.model.mjcf import read_mjcf

        return read_mjcf(root, text, file, path)
    if root.tag == "sdf":
        from fallingcat.model.sdf import read_sdf_tree

        return read_sdf_tree(root, file)
    return read_urdf_tree(root, file)


def _parsed(text: str | bytes) -> Element:
    try:
        return parse_xml(text)
    except XmlError:
        marked = "<mujoco" in text if isinstance(text, str) else b"<mujoco" in text
        if not marked:
            raise
        from fallingcat.model.mjcf_guard import parse_lenient

        return parse_lenient(text)
