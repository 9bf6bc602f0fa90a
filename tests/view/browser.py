"""A page in a real browser, without a window: what it says on its console, what its document becomes, how it looks."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = f"no browser: none of {', '.join(NAMES)} is on the PATH (Debian: apt-get install chromium)"


@dataclass(frozen=True)
class Seen:
    """What a browser made of a page."""

    dom: str
    console: tuple[str, ...]
    """Everything that was logged, and every error of a script or of a forbidden access."""

    def attribute(self, name: str) -> list[str]:
        """The values of an attribute, in the order of the document."""
        return re.findall(rf'\s{name}="([^"]*)"', self.dom)


def open_page(page: Path, *options: str, width: int = 1000, height: int = 900, picture: Path | None = None) -> Seen:
    """Load a page, let its scripts run for two seconds of its own time, and look."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(MISSING)
    profile = page.parent / "profile"
    words = [
        found, "--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
        "--hide-scrollbars", "--disable-extensions", "--no-first-run", f"--user-data-dir={profile}",
        "--enable-logging=stderr", "--v=0", f"--window-size={width},{height}", "--virtual-time-budget=2000", *options,
        *([f"--screenshot={picture}"] if picture else []), "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", timeout=600, check=False)
    assert "<html" in done.stdout, done.stderr
    return Seen(done.stdout, tuple(line for line in done.stderr.splitlines() if "CONSOLE" in line))
