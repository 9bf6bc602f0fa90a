"""The documentation: it builds without a warning and without a network, its links lead somewhere, its code runs."""

from __future__ import annotations

import html
import json
import os
import re
import runpy
import subprocess
import sys
import textwrap
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from bench import limits

import fallingcat as fc
from test_quality import ROOT, run

DOCS = ROOT / "docs"
TOOLS = DOCS / "tools"
ELSEWHERE = ("coming_from.md", "scale.md", "jax.md", "torch.md", "casadi.md")
"""Pages whose code needs other libraries: tests/peers, tests/scale and tests/frameworks run it."""
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.name not in ELSEWHERE and "\n```python\n" in page.read_text("utf-8")]

BUILD = """
import socket, sys

def refuse(*_):
    raise AssertionError("the build asks the network")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
from mkdocs.__main__ import cli
cli(["build", "--strict", "--site-dir", sys.argv[1]])
"""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def tool(name: str) -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(TOOLS / f"{name}.py"), run_name=name))


# ---------------------------------------------------------------------------------------------------------------------
# The code on the pages


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page.relative_to(DOCS)), marks=[] if page.name == "quickstart.md" else [pytest.mark.sweep])
        for page in PAGES
    ],
)
def test_python_on_a_page_runs(page: Path) -> None:
    """The blocks of a page follow on from each other."""
    result = run("-W", "error", "-c", "\n".join(blocks(page, "python")))
    assert result.returncode == 0, result.stderr


def test_commands_on_the_pages_run() -> None:
    lines = [line for page in sorted(DOCS.rglob("*.md")) for block in blocks(page, "sh") for line in block.splitlines()]
    assert "fallingcat report spacearm" in lines
    for line in lines:
        program, *words = line.split()
        assert program == "fallingcat", line
        result = run("-m", "fallingcat", *words)
        assert result.returncode == 0, line + result.stderr


def test_what_the_pages_print() -> None:
    """Programs, trees and errors that are shown are those that come out."""
    golden = (ROOT / "tests" / "golden" / "pendulum_inverse_dynamics.txt").read_text(encoding="utf-8")
    assert textwrap.indent(golden, "    ") in (DOCS / "compiler.md").read_text(encoding="utf-8")
    quickstart, arm = (DOCS / "quickstart.md").read_text(encoding="utf-8"), fc.load("spacearm")
    assert textwrap.indent("\n".join(str(arm).splitlines()[:4]), "    ") in quickstart
    with pytest.raises(fc.FrameError) as error:
        arm.frame_pose(arm.neutral(), "hnad")
    assert f"# {error.value}" in quickstart


# ---------------------------------------------------------------------------------------------------------------------
# The site


class Page(HTMLParser):
    """What a page links to, what it loads, and what can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := found.get(name))}
        for name in ("href", "src", "srcset", "data"):
            value = found.get(name)
            if value and not value.startswith("data:"):
                (self.links if tag == "a" else self.loads).append(value)


def read(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}


def broken(pages: dict[Path, Page]) -> list[str]:
    """Links into the site that lead nowhere."""
    wrong = []
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            lost = parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids
            if not target.exists() or (lost and parts.fragment != "__top"):
                wrong.append(f"{path.name}: {link}")
    return wrong


def from_the_network(site: Path, pages: dict[Path, Page]) -> list[str]:
    """Whatever a page or a style would load from elsewhere."""
    far = re.compile(r"^(https?:)?//")
    wrong = [f"{path.name}: {load}" for path, page in pages.items() for load in page.loads if far.match(load)]
    for style in site.rglob("*.css"):
        found = re.findall(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""", style.read_text(encoding="utf-8"))
        wrong += [f"{style.name}: {url}" for url in found]
    return wrong


def missing_from_the_reference(pages: dict[Path, Page]) -> list[str]:
    """Public names that no page of the reference describes."""
    there = {i.rsplit(".", 1)[-1] for path, page in pages.items() if path.parent.name == "api" for i in page.ids}
    names = {name for name in dir(fc.Robot) if not name.startswith("_")} | set(fc.__all__)
    known_as = {"robots": "bundled_robots"}
    # `Description` is what a builder or a file gives; `Robot` and `converters` are pages of their own.
    return sorted(name for name in names - {"Description", "Robot", "converters"} if known_as.get(name, name) not in there)


def test_the_site(tmp_path: Path) -> None:
    """One build: strict, offline, whole, and with nothing from elsewhere."""
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    words = [sys.executable, "-c", BUILD, str(tmp_path / "site")]
    built = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stdout + built.stderr
    site = (tmp_path / "site").resolve()
    pages = read(site)
    assert len(pages) > 25
    assert broken(pages) == []
    assert from_the_network(site, pages) == []
    assert missing_from_the_reference(pages) == []
    assert {path.name for path in (DOCS / "papers").glob("*.md")} == {p.stem + ".md" for p in pages if p.parent.name == "papers"}
    assert not (site / "tools").exists()
    assert (
        "inverse_dynamics" in json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"][0]["text"]
    )


# ---------------------------------------------------------------------------------------------------------------------
# What is generated


def test_the_drawings_are_those_of_the_script(tmp_path: Path) -> None:
    script = (TOOLS / "drawings.py").read_text(encoding="utf-8")
    made: dict[str, Any] = {"__file__": str(TOOLS / "drawings.py"), "__name__": "drawings"}
    exec(compile(script, "drawings.py", "exec"), made)
    made["ASSETS"] = tmp_path
    made["main"]()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 5
    assert [name for name in names if (tmp_path / name).read_bytes() != (DOCS / "assets" / name).read_bytes()] == []


def test_every_example_has_a_small_figure() -> None:
    limit = tool("gallery").LIMIT
    for example in sorted((ROOT / "examples").glob("[0-9]*.py")):
        picture = DOCS / "assets" / "examples" / f"{example.stem[3:]}.png"
        assert picture.exists(), f"python docs/tools/gallery.py {example.stem[:2]}"
        assert picture.stat().st_size < limit


def test_the_tables_of_the_bench(tmp_path: Path) -> None:
    hooks = runpy.run_path(str(TOOLS / "hooks.py"))
    row = {"robot": "arm", "function": "bias", "operations": 1234, "one": 0.5, "batch": 0.025, "batch_size": 4096}
    with_peer = row | {"peer": 2.0, "one_ratio": 4.0, "batch_ratio": 80.0}
    without = row | {"function": "linearize", "peer": None, "one_ratio": None, "batch_ratio": None}
    text = hooks["_robot"]("arm", [with_peer, without])
    assert "| `bias` | 1,234 | 2.00 | 0.50 (4.0x) | 0.025 (80x) | 4,096 |" in text
    assert "| `linearize` | 1,234 |  | 0.50 | 0.025 | 4,096 |" in text
    assert "| `bias` | 4.0x, 80x |" in hooks["_ratios"]({"arm": [with_peer, without]})
    drawn = hooks["_dots"]("arm", [with_peer, without])
    assert drawn.count("<circle") == 6
    assert "bias" in drawn
    assert "linearize" not in drawn


def test_the_roofline() -> None:
    """Slopes meet the level of arithmetic where it takes as long as the way of the numbers."""
    row = {"robot": "arm", "function": "bias", "operations": 1000, "bytes": 500, "one": 0.5, "batch": 0.05}
    most = {"vectors": 50.0, "numbers": 12.5, "cache": 100.0, "memory": 25.0}
    drawn = tool("roofline").figure({"rows": [row, row | {"robot": "hand", "bytes": 8000}], "limits": most})
    assert "arm bias, batch: 20.0 Gop/s" in drawn
    assert "hand bias, one call: 2.0 Gop/s" in drawn
    axes = tool("roofline").Axes((0.125, 2.0), (2.0, 50.0))
    ends = re.findall(r'class="roof" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"', drawn)
    slopes = [[float(x) for x in end] for end in ends[:2]]
    for slope, rate in zip(slopes, (100.0, 25.0), strict=True):
        assert slope[2:] == pytest.approx([axes.x(50.0 / rate), axes.y(50.0)], abs=0.06)
        assert slope[:2] == pytest.approx([axes.x(0.125), axes.y(0.125 * rate)], abs=0.06)


def test_the_limits_of_a_core() -> None:
    assert limits.arithmetic(1) > 0.05
    assert limits.copies(1 << 16) > 0.05


def test_formulas_become_mathml() -> None:
    """One formula, several lines, letters of other alphabets; what cannot be typeset stops the build."""
    mathematics = tool("mathematics")
    assert "<mi>ad</mi>" in mathematics.mathml(r"\ad_v^\T")
    assert mathematics.mathml(r"a &= b \\ c &= d", block=True).count("<mtr>") == 2
    assert html.unescape(mathematics.mathml(r"\mathcal{B}")).count("ℬ") == 1
    marked = '<p>x <span class="arithmatex">\\(a &lt; b\\)</span></p>'
    assert mathematics.typeset(marked).startswith('<p>x <math alttext="a &lt; b"')
    with pytest.raises(Exception, match=r"no such|typeset|\\nonsense"):
        mathematics.mathml(r"\nonsense{a}")


def facts() -> SimpleNamespace:
    return tool("facts")


@pytest.mark.sweep
@pytest.mark.parametrize("names", [sorted(facts().functions())[k::4] for k in range(4)], ids=str)
def test_examples_of_the_reference_run(names: list[str]) -> None:
    """Every function has a formula, frames, units, a paper and an example that runs."""
    found = facts()
    for name in names:
        row = found.functions()[name]
        assert set(row) == {"formula", "frames", "units", "paper", "example"}
        exec(compile(found.PREAMBLE + row["example"], name, "exec"), {})
        assert row["example"] in found.markdown(name).replace("\n    ", "\n") or "\n" in row["example"]


def test_every_function_of_the_reference_has_facts() -> None:
    """Those of the table that a user calls, with the operations that are kept for the humanoid."""
    from fallingcat.control import ilqr, riccati
    from fallingcat.functions import FUNCTIONS
    from fallingcat.robot.constraints import Constraints

    found = facts()
    called = {name for name, function in FUNCTIONS.items() if not function.method and hasattr(fc.Robot, name)}
    assert sorted(called - set(found.functions())) == []
    others = {"Constraints": Constraints, "riccati": riccati, "ilqr": ilqr}
    for name in found.functions():
        owner, _, own = name.rpartition(".")
        assert hasattr(others[owner] if owner else fc.Robot, own), name
    kept = json.loads((ROOT / "tests" / "trace" / "counts.json").read_text(encoding="utf-8"))["humanoid"]
    for name, row in found.costs()["functions"].items():
        plain = [kept[key] for key in (name, f"{name}(representation=body)") if key in kept]
        assert all(abs(count - row["operations"]) < 0.2 * count for count in plain), name


def test_arguments_in_docstrings_become_a_list() -> None:
    markdown = tool("house_style").markdown
    text = "Do it (eq. 3).\n\na: one. b: two,\nwhich goes on.\nnote: not an argument.\n\n    x = a\n\nDone."
    expected = "Do it (eq. 3).\n\n- `a`: one.\n- `b`: two,\n  which goes on.\n  note: not an argument.\n\n    x = a\n\nDone."
    assert markdown(text, {"a", "b"}) == expected
