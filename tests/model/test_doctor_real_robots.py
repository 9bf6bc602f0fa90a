"""Robot files from the field can be read, and those that are usable are found usable."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest

from fallingcat.cli.main import main
from fallingcat.model.doctor import diagnose, read_examined


def find_robots() -> dict[str, Path]:
    try:
        listed = files("example-robot-data") or []
    except PackageNotFoundError:
        listed = []
    found = (Path(str(entry.locate())).resolve() for entry in listed if entry.name.endswith(".urdf"))
    return {"/".join((path.parts[path.parts.index("robots") + 1], path.name)): path for path in sorted(set(found))}


ROBOTS = find_robots()

# What is wrong with these is wrong indeed.
TRULY_BROKEN = {
    "alex_description/alex_psyonic_hands.urdf": "does not exist",
    "romeo_description/romeo.urdf": "without mass and inertia",
    "romeo_description/romeo_laas_small.urdf": "not positive definite",
    "ur_description/ur3.urdf": "no links",
}
WELL_KNOWN = [
    "panda_description/panda.urdf",
    "ur_description/ur5_robot.urdf",
    "talos_data/talos_reduced.urdf",
    "hyq_description/hyq_no_sensors.urdf",
    "anymal_b_simple_description/anymal.urdf",
    "solo_description/solo12.urdf",
    "icub_description/icub_reduced.urdf",
]

pytestmark = pytest.mark.skipif(not ROBOTS, reason="example-robot-data is not installed")


@pytest.mark.parametrize("name", ROBOTS)
def test_a_real_robot_is_read(name: str) -> None:
    description, findings = read_examined(ROBOTS[name], meshes=False)
    errors = [finding for finding in findings if finding.severity == "error"]
    assert description is not None
    if name in TRULY_BROKEN:
        assert errors
        assert all(TRULY_BROKEN[name] in finding.message for finding in errors)
    else:
        assert description.links
        assert len(description.joints) == len(description.links) - 1
        assert errors == []


@pytest.mark.parametrize("name", WELL_KNOWN)
def test_a_well_known_robot_is_usable(name: str) -> None:
    assert [finding for finding in diagnose(ROBOTS[name], meshes=False) if finding.severity == "error"] == []


def test_a_joint_that_meets_no_inertia_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """By the doctor and by the report."""
    name = "icub_description/icub.urdf"
    (finding,) = [f for f in diagnose(ROBOTS[name], meshes=False) if "forward dynamics impossible" in f.message]
    assert "neck_roll" in f"{finding.element} {finding.message}"
    main(["report", str(ROBOTS[name]), "--timings", "none", "--json"])
    assert "'neck_roll'" in json.loads(capsys.readouterr().out)["mass_matrix"]["singular"]
    main(["report", str(ROBOTS[name]), "--timings", "none"])
    assert "no inertia resists 'neck_roll'" in capsys.readouterr().out
