"""Pages: a frame with style and scripts inside, and the few pieces of HTML that reports are made of.

Functions here give HTML and take HTML, except where `text` is said; `text` makes any text safe.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fallingcat.apps.view.motion import animation
from fallingcat.apps.view.scene import Looks, scene
from fallingcat.model.report import printable
from fallingcat.robot.robot import Robot

SCRIPTS = ("shapes.js", "render.js", "view.js")

SKELETON = "Bodies without shapes are ellipsoids with their inertia, the darker the heavier; pins are joint axes."

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'{wasm}; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="fallingcat">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""

_MAIN = """<header>
<h1>{title}</h1>
{subtitle}{words}</header>
<main>
{body}
</main>
{script}"""


def text(x: Any, limit: int = 200) -> str:
    """Any text made safe for HTML: markup and control characters are escaped, and it ends somewhere."""
    return html.escape(printable(str(x), limit))


def page(title: str, body: str, words: str = "", subtitle: str = "") -> str:
    """A page that needs nothing beside itself. title, subtitle and words are text, body is HTML."""
    main = _MAIN.format(
        title=text(title),
        subtitle=f'<p class="subtitle">{text(subtitle, 500)}</p>\n' if subtitle else "",
        words=paragraphs(words),
        body=body,
        script=_script() if 'class="view' in body else "",
    )
    return bare_page(title, main)


def bare_page(title: str, body: str, style: str = "", wasm: bool = False) -> str:
    """The frame of a page around all of its body. title is text. wasm: may it run WebAssembly that it brings along?"""
    allowed = " 'wasm-unsafe-eval'" if wasm else ""
    return _PAGE.format(title=text(title), style=_file("page.css") + style, body=body, wasm=allowed)


def scripts() -> list[str]:
    """The scripts for rendering and for input, for pages that put them into a closure of their own."""
    return [_file(name) for name in SCRIPTS]


def paragraphs(words: str) -> str:
    """Text as paragraphs; an empty line separates two."""
    parts = (" ".join(part.split()) for part in words.split("\n\n"))
    return "".join(f"<p>{html.escape(part)}</p>\n" for part in parts if part)


def section(title: str, body: str, note: str = "") -> str:
    """A part of a page with a heading that can be linked to. title and note are text."""
    name = "-".join(title.lower().split())
    said = f'<p class="note">{text(note, 1000)}</p>\n' if note else ""
    return f'<section id="{text(name)}">\n<h2>{text(title)}</h2>\n{said}{body}\n</section>\n'


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[int] = (),
    name: str = "",
    bodies: Sequence[int] | None = None,
) -> str:
    """A table that scrolls sideways when it is too wide. headers are text, cells are HTML; columns in `right` hold numbers.

    bodies: which body each row is about; in a page with a linked drawing it lights up there.
    """

    def cells(tag: str, values: Sequence[str]) -> str:
        return "".join(f"<{tag}{' class=number' if k in right else ''}>{value}</{tag}>" for k, value in enumerate(values))

    head = cells("th", [text(h) for h in headers])
    about = [f' data-body="{i}"' for i in bodies] if bodies is not None else []
    lines = "\n".join(f"<tr{about[k] if about else ''}>{cells('td', row)}</tr>" for k, row in enumerate(rows))
    kind = f' class="{text(name)}"' if name else ""
    return f'<div class="scroll"><table{kind}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody></table></div>'


def figure(svg: str, caption: str = "") -> str:
    """A figure around a finished drawing. caption is text."""
    said = f"<figcaption>{text(caption, 1000)}</figcaption>" if caption else ""
    return f'<figure class="plot">{svg}{said}</figure>'


def drawing(
    scene: dict[str, Any],
    animation: dict[str, Any] | None = None,
    caption: str = "",
    ground: float | bool | None = None,
    follow: bool = False,
    speed: float = 1.0,
    autoplay: bool = True,
    linked: bool = False,
) -> str:
    """A robot that can be turned, moved by sliders, and played when there is an animation. caption is text.

    ground: its height; the lowest point when None or True; False for none.
    follow: the camera goes along with the bodies. speed: of the player at the start.
    linked: lines of the page with data-body="k" light up together with body k.
    """
    options = {"ground": ground, "follow": follow, "speed": speed, "autoplay": autoplay, "linked": linked}
    data = json.dumps({"scene": scene, "animation": animation, "options": options}, separators=(",", ":"), allow_nan=False)
    said = f"<figcaption>{text(caption, 1000)}</figcaption>" if caption else ""
    return (
        '<figure class="view" data-view="waiting"><div class="stage">'
        '<canvas tabindex="0" role="img" aria-label="A drawing of the robot that can be turned"></canvas>'
        '<p class="sorry">This browser does not offer WebGL 2, which the drawing of the robot needs.</p></div>'
        # "<" inside a script could end it.
        f'<script type="application/json">{data.replace("<", chr(92) + "u003c")}</script>{said}</figure>'
    )


def animation_page(
    robot: Robot,
    qs: ArrayLike,
    times: ArrayLike,
    title: str,
    words: str = "",
    figures_svg: Sequence[str] = (),
    *,
    caption: str = "",
    ground: float | bool | None = None,
    follow: bool = False,
    speed: float = 1.0,
    autoplay: bool = True,
) -> str:
    """A page with a motion that can be played, turned and stopped, and figures below it.

    qs: (frames, nq). times: (frames,), increasing. title, words and caption are text; figures_svg are finished <svg> texts
    (or what `figure` gives). Lines of `view.svg.lines` made with cursor=True show the player's time.
    """
    looks = Looks.of(robot)
    motion = animation(robot, qs, times, looks)
    first = scene(robot, np.asarray(qs, dtype=float)[0], looks=looks)
    body = drawing(first, motion, caption, ground, follow, speed, autoplay)
    plots = [svg if svg.lstrip().startswith("<figure") else figure(svg) for svg in figures_svg]
    grid = f'<div class="plots">{"".join(plots)}</div>' if plots else ""
    return page(title, body + "\n" + grid, words)


def still_page(robot: Robot, q: ArrayLike, title: str = "", words: str = "") -> str:
    """A page with a robot that can be turned and moved by sliders, and nothing else. title and words are text."""
    shown = scene(robot, q)
    caption = f"{len(robot.joint_names)} joints, {robot.nv} degrees of freedom, {robot.mass:.4g} kg."
    if shown["skeleton"]:
        caption += " " + SKELETON
    body = drawing(shown, caption=caption).replace('class="view"', 'class="view tall"', 1)
    return page(title or robot.name, body, words)


def _script() -> str:
    """The renderer, in a closure of its own."""
    code = "\n".join(scripts())
    return f'<script>\n(() => {{\n"use strict";\n{code}}})();\n</script>\n'


@cache
def _file(name: str) -> str:
    return resources.files("fallingcat").joinpath("apps", "view", name).read_text(encoding="utf-8")
