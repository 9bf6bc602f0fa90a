"""Robots in web pages: self-contained HTML with a drawing that can be turned, a player for motions, and figures in SVG.

One call makes a page that needs no network and nothing beside itself:

    from fallingcat.apps import view

    html = view.animation_page(robot, qs, times, title="A cat that turns", words="It lands on its feet.", figures_svg=[svg])
    view.write("cat.html", html)        # a temporary file, then a rename: never half a page

    qs: (frames, nq) configurations    times: (frames,) seconds, increasing
    words: plain text, paragraphs between empty lines    figures_svg: finished <svg> texts, for instance from `view.svg`
    ground: height of the drawn floor; the lowest point of the motion when None; False for none
    follow: does the camera go along with the robot?    speed: of the player at the start    autoplay: begin to play at once

The pieces, for other pages:

    view.still_page(robot, q)            a page with a robot that can be turned and moved by sliders
    view.scene(robot, q)                 plain data: the shapes of every body, and where the bodies are
    view.animation(robot, qs, times)     plain data: where the moving bodies are at every time
    view.drawing(scene, animation=None, caption="")     the HTML of one drawing; with an animation it has a player
    view.page(title, body, words="", subtitle="")       the HTML of a page around a body, with style and scripts
    view.section(title, body, note="")   view.table(headers, rows, right=())   view.figure(svg, caption="")
    view.text(...)                       text made safe for HTML; everything else above takes and gives HTML
    view.svg.heat_map, complex_plane, bars, lines       figures that follow the page's colours

Text that comes from a robot's file is escaped everywhere; the page forbids itself every network access.
"""

from __future__ import annotations

from fallingcat.apps.view import svg
from fallingcat.apps.view.motion import animation
from fallingcat.apps.view.pages import (
    SKELETON,
    animation_page,
    bare_page,
    drawing,
    figure,
    page,
    scripts,
    section,
    still_page,
    table,
    text,
)
from fallingcat.apps.view.scene import scene
from fallingcat.files import write

__all__ = [
    "SKELETON", "animation", "animation_page", "bare_page", "drawing", "figure", "page", "scene", "scripts", "section",
    "still_page", "svg", "table", "text", "write",
]  # fmt: skip
