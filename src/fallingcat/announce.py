"""Messages before a long wait: one line on a terminal, and a record for programs that log.

The logger is "fallingcat", the level INFO. FALLINGCAT_QUIET=1 keeps the terminal quiet;
`logging.getLogger("fallingcat").setLevel("WARNING")` turns off both.
"""

from __future__ import annotations

import logging
import os
import sys

LONG = 2.0
"""A message is printed before waits that are longer than this, in seconds."""
SECONDS_PER_CHARACTER = 0.4e-6
"""Compile time per character of LLVM's text, on cores of 2019 to 2022 (0.3e-6 to 0.5e-6); a shared one may take twice as long."""
QUICK_SECONDS_PER_CHARACTER = 0.2e-6
"""The same where straight-line code is compiled without optimization."""

_logger = logging.getLogger("fallingcat")


def say(text: str) -> None:
    """Print one line for the user, unless this is silenced."""
    if _logger.level > logging.INFO:
        return
    _logger.info(text)
    logged = _logger.isEnabledFor(logging.INFO) and _logger.hasHandlers()
    if not logged and not _quiet() and sys.stderr is not None and sys.stderr.isatty():
        print(f"fallingcat: {text}", file=sys.stderr, flush=True)


def _quiet() -> bool:
    return os.environ.get("FALLINGCAT_QUIET", "").strip() not in ("", "0")


def tracing(name: str, operations: int) -> None:
    """Say that a program grows large while it is traced."""
    say(f"{name} of this robot is a large program: {operations:,} operations traced so far, and more to come; {_instead(name)}")


def compiling(name: str, operations: int, seconds: float) -> None:
    """Say that compiling takes long, before it begins."""
    if seconds >= LONG:
        say(f"compiling {name}, {operations:,} operations a state, may take about {seconds:.0f} s, once; {_instead(name)}")


def _instead(name: str) -> str:
    return f"robot.kernel({name!r}).eager(...) runs without compiling"
