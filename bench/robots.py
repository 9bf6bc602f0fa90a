"""The robots of the bench, from the PyPI package `example-robot-data`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import files
from pathlib import Path


@dataclass(frozen=True)
class BenchRobot:
    path: str
    floating: bool


ROBOTS = {
    "panda": BenchRobot("panda_description/urdf/panda.urdf", floating=False),
    "hyq": BenchRobot("hyq_description/robots/hyq_no_sensors.urdf", floating=True),
    "talos_reduced": BenchRobot("talos_data/robots/talos_reduced.urdf", floating=True),
}


def robot_file(name: str) -> str:
    """Where the URDF of a bench robot lies."""
    for file in files("example-robot-data") or ():
        if str(file).endswith(ROBOTS[name].path):
            return str(file.locate())
    raise FileNotFoundError(f"{name} is not in example-robot-data; pip install example-robot-data")


def free_robot_file(name: str, folder: str) -> str:
    """The same robot without mimic joints, written to a folder: Pinocchio reads them as joints that move freely."""
    path = Path(folder) / f"{name}.urdf"
    path.write_text(re.sub(r"<mimic\b[^>]*/>", "", Path(robot_file(name)).read_text(encoding="utf-8")), encoding="utf-8")
    return str(path)
