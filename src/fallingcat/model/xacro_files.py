"""Xacro files: URDF with macros. They are expanded where the `xacro` package is installed, and recognised where it is not."""

from __future__ import annotations

import re
from pathlib import Path

HINT = "expand it first, as in xacro robot.xacro > robot.urdf, or pip install 'fallingcat[xacro]'"

_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)


class XacroError(Exception):
    """Raised when a file cannot be expanded, with the reason."""


def has_macros(path: Path | None, content: bytes) -> bool:
    """Does a file or text contain xacro instructions? The name space alone does not count: expanded files often keep it."""
    named = path is not None and path.suffix == ".xacro"
    text = _COMMENT.sub(b"", content) if b"<xacro:" in content or named else b""
    return b"<xacro:" in text or b"${" in text


def expand(source: Path | str) -> str | None:
    """The URDF text that a file, or text, expands to; None where the xacro package is not installed."""
    try:
        import xacro
    except ImportError:
        return None
    try:
        if isinstance(source, Path):
            return str(xacro.process_file(str(source)).toxml())
        document = xacro.parse(source)
        xacro.process_doc(document)
        return str(document.toxml())
    except Exception as error:  # exceptions of xacro, of the parser, and of functions that an expression calls
        raise XacroError(" ".join(str(error).split()) or type(error).__name__) from None
