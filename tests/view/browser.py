"""A page in a real browser, without a window: what it says on its console, what its document becomes, how it looks."""

from __future__ import annotations

import base64
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from devtools import Page, browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = f"no browser: none of {', '.join(NAMES)} is on the PATH (Debian: apt-get install chromium)"
FRAMES = "new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => go(true))))"


@dataclass(frozen=True)
class Seen:
    """What a browser made of a page."""

    dom: str
    console: tuple[str, ...]
    """Everything that was logged, and every error of a script or of a forbidden access."""

    def attribute(self, name: str) -> list[str]:
        """The values of an attribute, in the order of the document."""
        return re.findall(rf'\s{name}="([^"]*)"', self.dom)


def open_page(
    page: Path, *options: str, until: str = "true", width: int = 1000, height: int = 900, picture: Path | None = None
) -> Seen:
    """Load a page, wait until a condition holds in it and it has been drawn, and look."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(MISSING)
    drawing = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars")
    with browser(found, page.parent / "profile", *drawing, *options) as pipe:
        shown = Page(pipe, page, width, height)
        shown.wait(until)
        shown.value(FRAMES)
        if picture:
            picture.write_bytes(base64.b64decode(shown.ask("Page.captureScreenshot", format="png")["data"]))
        dom = shown.value("document.documentElement.outerHTML")
        return Seen(dom, shown.console)
