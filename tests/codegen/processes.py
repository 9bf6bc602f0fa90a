"""Scripts run by a Python of their own, where they may crash or hang."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fallingcat as fc

SOURCE = str(Path(fc.__file__).resolve().parents[1])
PATIENCE = 600
"""Seconds after which a script counts as hanging; many times what it takes on a slow and busy machine."""


def run(script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script; a hang ends with a dump of all stacks and the exit code of an abort."""
    head = f"import faulthandler\nfaulthandler.dump_traceback_later({PATIENCE - 60}, exit=True)\n"
    return subprocess.run(
        [sys.executable, "-c", head + script, *arguments],
        env=os.environ | {"PYTHONPATH": SOURCE} | environment,
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip


def prints(expected: str, script: str, *arguments: str, **environment: str) -> None:
    """The script ends well and its last line is the expected one."""
    done = run(script, *arguments, **environment)
    assert (done.returncode, done.stdout.rstrip().rpartition("\n")[2]) == (0, expected), done.stdout + done.stderr
