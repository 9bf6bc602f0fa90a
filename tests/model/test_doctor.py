"""The doctor with other sources than text, with descriptions from code, and as a command."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from fallingcat.cli.doctor import doctor
from fallingcat.errors import InputError, ModelError
from fallingcat.model.description import Description, Inertial, Joint, Limits, Link, Mimic, Pose
from fallingcat.model.doctor import diagnose, examine
from fallingcat.model.findings import Finding
from fallingcat.model.sources import bundled_robots, read


def arm(axis: str = "0 0 1", mass: str = "1", name: str = "shoulder") -> str:
    """A base and an arm at line 3, and a joint at line 4."""
    return f"""<robot name="test">
        <link name="base"/>
        <link name="arm"><inertial><mass value="{mass}"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
        <joint name="{name}" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="{axis}"/></joint>
    </robot>"""


# Sources


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (finding,) = diagnose(tmp_path / "nobody.urdf")
    assert "nobody.urdf" in finding.message
    assert finding.severity == "error"
    assert finding.hint


@pytest.mark.skipif(not bundled_robots(), reason="no robots are bundled")
def test_near_names_are_offered() -> None:
    name = bundled_robots()[0]
    (finding,) = diagnose(name + "x")
    assert repr(name) in finding.hint


def test_every_bundled_robot_is_healthy() -> None:
    for name in bundled_robots():
        assert diagnose(name) == (), name


def test_a_directory_and_an_impossible_path(tmp_path: Path) -> None:
    assert "directory" in diagnose(tmp_path)[0].message
    assert "cannot be read" in diagnose("a\0b")[0].message
    assert "cannot be read" in diagnose("x" * 3000)[0].message


def test_something_else_is_no_robot() -> None:
    with pytest.raises(InputError, match="int"):
        read(3)  # type: ignore[arg-type]


def test_a_builder_may_fail_with_findings() -> None:
    class Failing:
        def description(self) -> Description:
            raise ModelError("no", [Finding("error", "no such thing")])

    assert read(Failing()) == (None, (Finding("error", "no such thing"),))


# Descriptions that no file can express

SOUND = Description(
    "test",
    (Link("base"), Link("arm", Inertial(1.0, Pose(), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)))),
    (Joint("shoulder", "revolute", "base", "arm"),),
)
NAN = math.nan


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"axis": (NAN, 0.0, 0.0)}, "axis is not finite"),
        ({"pose": Pose(position=(0.0, math.inf, 0.0))}, "position is not finite"),
        ({"pose": Pose(((2.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))}, "not a rotation matrix"),
        ({"pose": Pose(((-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))}, "det R = -1"),
        ({"pose": Pose(((NAN, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))}, "rotation is not finite"),
        ({"limits": Limits(lower=NAN)}, "not usable numbers"),
        ({"limits": Limits(lower=math.inf)}, "not usable numbers"),
        ({"damping": NAN}, "damping is not finite"),
        ({"mimic": Mimic("shoulder", NAN)}, "multiplier is not finite"),
        ({"type": "elastic"}, "'elastic' is unknown"),
    ],
)
def test_a_description_from_code_is_examined_too(change: dict[str, object], word: str) -> None:
    assert examine(SOUND) == ()
    changed = replace(SOUND, joints=(replace(SOUND.joints[0], **change),))  # type: ignore[arg-type]
    assert any(word in finding.message for finding in examine(changed))


@pytest.mark.parametrize("mass", [NAN, math.inf])
def test_masses_from_code_must_be_finite(mass: float) -> None:
    changed = replace(SOUND, links=(SOUND.links[0], Link("arm", Inertial(mass, Pose(), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)))))
    assert "mass is not finite" in examine(changed)[0].message


@pytest.mark.parametrize("kind", ["spherical", "floating", "cylindrical", "planar", "universal", "helical", "prismatic"])
def test_a_point_mass_on_the_joint_stops_only_joints_that_turn_it(kind: str) -> None:
    point = Link("arm", Inertial(1.0, Pose(), (0.0,) * 6))
    changed = replace(SOUND, links=(Link("base"), point), joints=(replace(SOUND.joints[0], type=kind, pitch=0.1),))  # type: ignore[arg-type]
    singular = any("singular" in finding.message for finding in examine(changed))
    assert singular == (kind not in ("prismatic", "helical"))


# The command


def test_the_command_tells_and_returns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(arm())
    assert doctor(str(path)) == 0
    assert capsys.readouterr().out == "test (2 links, 1 joint): healthy\n"
    path.write_text(arm(axis="0 0 2"))
    assert doctor(str(path)) == 1
    out = capsys.readouterr().out
    assert f"{path}:4: warning: joint 'shoulder': the axis 0 0 2 has length 2" in out
    assert out.endswith("test (2 links, 1 joint): 1 warning\n")
    assert "\x1b" not in out
    path.write_text(arm(axis="0 0 0", name="[red]x[/red]"))
    assert doctor(str(path)) == 2
    assert "'[red]x[/red]'" in capsys.readouterr().out


def test_the_command_speaks_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(arm(mass="-1"))
    assert doctor(str(path), as_json=True) == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["healthy"], told["errors"], told["warnings"]) == (False, 1, 0)
    assert told["findings"][0]["line"] == 3
    assert told["findings"][0]["element"] == "link 'arm'"


@pytest.mark.parametrize("mass", [5e-324, 1e-320, 1e-310, 1e-100])
def test_masses_whose_inverse_is_too_large(mass: float) -> None:
    """They would pass for a body and give NaN."""
    light = Inertial(mass, Pose(), (0.1 * mass, 0.0, 0.0, 0.1 * mass, 0.0, 0.1 * mass))
    findings = examine(Description("r", (Link("a", light),), ()))
    assert ["the mass is too small to be computed with" in finding.message for finding in findings][:1] == [True]
    findings = examine(Description("r", (Link("a", replace(light, mass=0.0, inertia=(mass, 0, 0, mass, 0, mass))),), ()))
    assert any("the inertia is too small" in f.message and f.severity == "error" for f in findings)


def test_small_masses_that_work_are_healthy() -> None:
    mass = 1e-30
    small = Inertial(mass, Pose(), (0.1 * mass, 0.0, 0.0, 0.1 * mass, 0.0, 0.1 * mass))
    assert examine(Description("r", (Link("a", small),), ())) == ()


def test_an_armature_that_is_none() -> None:
    body = Inertial(1.0, Pose(), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    joint = Joint("j", "revolute", "a", "b", armature=1e-320)
    (finding,) = examine(Description("r", (Link("a", body), Link("b", body)), (joint,)))
    assert "the armature is too small" in finding.message


# Where a robot stands by default


@pytest.mark.parametrize(
    ("limits", "words"), [((0.2, 1.0), "0.2 to 1"), ((-2.0, -0.1), "-2 to -0.1"), ((0.0, 1.0), ""), ((-math.inf, math.inf), "")]
)
def test_a_neutral_position_outside_the_limits(limits: tuple[float, float], words: str) -> None:
    joint = replace(SOUND.joints[0], limits=Limits(*limits), line=7)
    found = [f for f in examine(replace(SOUND, joints=(joint,))) if "neutral" in f.message]
    assert len(found) == (1 if words else 0)
    for finding in found:
        assert (finding.severity, finding.line, finding.element) == ("warning", 7, "joint 'shoulder'")
        assert words in finding.message


def test_a_follower_has_no_neutral_position_of_its_own() -> None:
    links = (*SOUND.links, Link("hand", SOUND.links[1].inertial))
    follower = Joint("wrist", "revolute", "arm", "hand", mimic=Mimic("shoulder"), limits=Limits(0.5, 1.0))
    found = examine(replace(SOUND, links=links, joints=(*SOUND.joints, follower)))
    assert not [f for f in found if "neutral" in f.message]
