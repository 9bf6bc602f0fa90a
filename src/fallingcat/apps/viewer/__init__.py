"""A robot in the browser, live: sliders, meshes, frames, momentum, and a link's numbers at a click. Needs viser.

    v = robot.view()                 # opens http://localhost:8080; in a notebook the viewer appears below the cell
    v.q = q                          # moves the robot; so do its sliders
    v.nu = nu                        # momentum and twists as arrows
    v.wrenches = {"hand": w}         # body-fixed, as the dynamics takes them
    v.play(trajectory, speed=0.5)
    with v.record("motion.html"):    # a page that needs nothing beside itself
        v.play(trajectory)

`fallingcat view ROBOT` does the same from a terminal. All poses come from one compiled function, `frame_poses`.
"""

from __future__ import annotations

from fallingcat.apps.viewer.viewer import Viewer, view

__all__ = ["Viewer", "view"]
