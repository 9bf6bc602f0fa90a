"""Live pages: a robot's own dynamics in WebAssembly, to be grabbed, thrown, kicked and dropped.

    from fallingcat.apps import play, view

    view.write("cat.html", play.page(robot, robot.neutral()))

One file that needs no network. Energy and momentum are plotted as it moves, and kept: the integrator is of order eight. A robot
with the cat's joints can be dropped however it lies and turns itself over (see `righting.js`).
"""

from __future__ import annotations

from fallingcat.apps.play.page import page

__all__ = ["page"]
