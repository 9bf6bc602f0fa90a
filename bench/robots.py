"""The robots of the bench, from the PyPI package `example-robot-data`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import files


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
