"""Small figures for the gallery: python docs/tools/gallery.py [01 02 ...] runs the examples and writes docs/assets/examples.

Each is the first PNG that an example leaves in out/, scaled down and with few colours, so that it stays below LIMIT. Its name is
that of the example without the number.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
THUMBNAILS = ROOT / "docs" / "assets" / "examples"
LIMIT = 80_000
WIDTH = 1300
INSTEAD = {"falling_cat": ["-m", "fallingcat", "cat", "--out", "out"]}
"""Where the example itself writes no picture."""


def shrink(source: Path, target: Path) -> int:
    """A small copy of a figure; its size in bytes."""
    picture = Image.open(source).convert("RGB")
    width = min(WIDTH, picture.width)
    while True:
        small = picture.resize((width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS)
        small.quantize(200, kmeans=2, dither=Image.Dither.NONE).save(target, optimize=True)
        if target.stat().st_size < LIMIT:
            return target.stat().st_size
        width = round(0.9 * width)


def run(example: Path) -> str:
    """Run one example in a folder of its own and keep its figure."""
    words = INSTEAD.get(example.stem[3:], [str(example)])
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, *words], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        found = sorted(Path(folder, "out").rglob("*.png"))
        if not found:
            return "no picture"
        return f"{shrink(found[0], THUMBNAILS / f'{example.stem[3:]}.png'):,} bytes"


def main() -> None:
    THUMBNAILS.mkdir(parents=True, exist_ok=True)
    chosen = sys.argv[1:]
    for example in sorted((ROOT / "examples").glob("[0-9]*.py")):
        if not chosen or example.stem[:2] in chosen:
            print(f"{example.stem}: {run(example)}")


if __name__ == "__main__":
    main()
