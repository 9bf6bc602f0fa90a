"""Ctrl-C while the command `fallingcat` is still importing: one word and the usual exit status, no traceback.

Imported before everything else. In programs that import the library nothing is changed.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

INTERRUPTED = 130


def started_as_command() -> bool:
    """Is this process the command `fallingcat` or `python -m fallingcat`?"""
    name = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""
    # While a module runs by -m its package is imported first, and argv does not know its name yet.
    words = sys.orig_argv[1:]
    module = words[words.index("-m") + 1 : words.index("-m") + 2] if "-m" in words else []
    return name.removesuffix(".exe") == "fallingcat" or (name == "-m" and module == ["fallingcat"])


def leave(number: int, frame: FrameType | None) -> None:
    """End at once: no work can be lost while modules are being imported."""
    sys.stderr.write("fallingcat: interrupted\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def restore() -> None:
    """Restore Python's handler: from here on an interrupt raises KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _watch() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with suppress(ValueError):  # raised outside the main thread
            signal.signal(signal.SIGINT, leave)


if started_as_command():
    _watch()
