"""Xacro files: URDF with macros. They are expanded where the `xacro` package is installed, and recognised where it is not."""

from __future__ import annotations

import re
from pathlib import Path

HINT = "expand it first, as in xacro robot.xacro > robot.urdf, or pip install 'fallingcat[xacro]'"

_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)


class XacroError(Exception):
    """Why a file could not be expanded."""


def has_macros(path: Path, content: bytes) -> bool:
    """Does a file hold instructions of xacro? The name space alone is no sign: expanded files often keep it."""
    text = _COMMENT.sub(b"", content) if b"<xacro:" in content or path.suffix == ".xacro" else b""
    return b"<xacro:" in text or b"${" in text


def expand(path: Path) -> str | None:
    """The URDF text that a file expands to; None where the xacro package is not installed."""
    try:
        import xacro
    except ImportError:
        return None
    try:
        return str(xacro.process_file(str(path)).toxml())
    except Exception as error:  # its own exceptions, those of the parser, and of whatever an expression calls
        raise XacroError(" ".join(str(error).split()) or type(error).__name__) from None
