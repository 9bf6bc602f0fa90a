"""The falling cat: upside down and without angular momentum, it turns over by changes of its shape and lands on its feet.

    from fallingcat.apps.cat import drop, plan, summarize

    robot = fc.load("cat")
    found = plan(robot)                      # a closed path of shapes, from the connection and its curvature (paper 003)
    fall = drop(robot, found.gait, 1.25)     # carried out with the full dynamics, from 1.25 m
    print(summarize(found, fall).turn)       # 180 degrees

`holonomy` is for any robot: where a path of shapes leaves the base. `docs/falling_cat.md` tells the story.
"""

from __future__ import annotations

from fallingcat.apps.cat.fall import Fall, drop
from fallingcat.apps.cat.gait import Gait, circle
from fallingcat.apps.cat.plan import Plan, plan
from fallingcat.apps.cat.summary import Summary, summarize

__all__ = ["Fall", "Gait", "Plan", "Summary", "circle", "drop", "plan", "summarize"]
