"""A robot that compiles little.

A report calls many functions a few times each, and compiling all of them would take longer than computing. Hence only the main
ones are compiled, timed and checked as machine code; all others run on Python floats, through the same source.
"""

from __future__ import annotations

from typing import Any

from fallingcat.arrays import eager
from fallingcat.robot.robot import Robot

MAIN = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix")
"""The functions that are compiled."""


class Quick(Robot):
    """The same robot, which compiles the functions in `MAIN` only and runs the others without compiling."""

    def _run(self, name: str, values: tuple[Any, ...], out: Any, wrenches: Any = None, **options: Any) -> Any:
        if name in MAIN or wrenches:
            return super()._run(name, values, out, wrenches, **options)
        return eager.run(self._made(name, options), values, out)


def quick(robot: Robot) -> Quick:
    """A robot that compiles only `MAIN`."""
    return Quick(robot.description, base=robot.base, **robot._options)
