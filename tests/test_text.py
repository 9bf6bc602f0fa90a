"""Names from a file never reach a terminal or a page as they are: control characters and those that turn the writing around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.cli.main import main
from fallingcat.text import printable, quoted, shown

EVIL = "\x1b[31m\u202e\x9b\u2066\u200b\u2028\x07"
TRUNK, BOB, HINGE, FOLLOWER, FOOT = (word + EVIL for word in ("trunk", "bob", "hinge", "follower", "foot"))


def clean(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def builder() -> fc.Builder:
    b = fc.Builder("robot" + EVIL)
    for name in (TRUNK, BOB, FOOT):
        b.link(name, mass=2.0, com=(0.0, 0.0, -0.5), inertia=(0.01, 0, 0, 0.01, 0, 0.01))
    b.joint(HINGE, "revolute", TRUNK, BOB, axis=(0, 1, 0))
    b.joint(FOLLOWER, "revolute", BOB, FOOT, axis=(0, 1, 0), xyz=(0, 0, -1), mimic=HINGE)
    return b


def weightless_base() -> fc.Builder:
    b = fc.Builder("robot" + EVIL)
    b.link(TRUNK)
    b.link(BOB, mass=1.0, inertia=(1, 0, 0, 1, 0, 1))
    b.joint(HINGE, "revolute", TRUNK, BOB)
    return b


ROBOT = fc.load(builder())
Q, NU = ROBOT.neutral(), np.zeros(ROBOT.nv)


def test_a_robot_as_text() -> None:
    assert clean(str(ROBOT))
    assert clean(repr(ROBOT))
    assert "\\u202e" in str(ROBOT)
    assert ROBOT.joint_names == (HINGE,)  # in programs a name stays what it is
    assert ROBOT.frame_pose(Q, BOB).shape == (4, 4)


WRONG: dict[str, Callable[[], Any]] = {
    "frame": lambda: ROBOT.frame_pose(Q, "x" + EVIL),
    "no such frame": lambda: ROBOT.frame_pose(Q, "zzzzzzzz"),
    "no such base": lambda: ROBOT.with_base("zzzzzzzz"),
    "base": lambda: ROBOT.with_base("x" + EVIL),
    "no such joint": lambda: fc.load(builder(), joints=["zzzzzzzz"]),
    "follower": lambda: fc.load(builder(), joints=[FOLLOWER]),
    "twice": lambda: fc.load(builder(), joints=[HINGE, HINGE]),
    "lock": lambda: fc.load(builder(), lock={HINGE: "x" + EVIL}),
    "wrench": lambda: ROBOT.inverse_dynamics(Q, NU, NU, {BOB: np.zeros(5)}),
    "representation": lambda: ROBOT.mass_matrix(Q, "body" + EVIL),
    "pair": lambda: ROBOT.base_change(Q, NU, (BOB, "x" + EVIL)),
    "kernel": lambda: ROBOT.kernel("bias" + EVIL),
    "source": lambda: fc.load("robot" + EVIL),
    "weightless base": lambda: fc.load(weightless_base()),
    "joint type": lambda: fc.Builder("b").joint("j", "revolute" + EVIL, "a", "b"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("call", WRONG)
def test_errors(call: str) -> None:
    with pytest.raises(fc.FallingCatError) as caught:
        WRONG[call]()
    assert clean(str(caught.value))


def test_findings() -> None:
    b = builder()
    b.link(BOB)
    b.joint("again" + EVIL, "revolute", "nobody" + EVIL, BOB)
    findings = fc.diagnose(b)
    assert len(findings) > 1
    for finding in findings:
        assert clean(str(finding))
        assert clean(finding.file + finding.element + finding.message + finding.hint)


def test_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    evil = EVIL.replace("\x1b", "").replace("\x07", "")  # what XML allows
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    file = tmp_path / f"robot{evil}.urdf"
    file.write_text(f'<robot name="r{evil}"><link name="a{evil}">{body}</link></robot>', encoding="utf-8")
    page = tmp_path / "page.html"
    calls = [["doctor", str(file)], ["report", str(file), "--html", str(page)], ["report", str(file), "--base", "zzzzzzzz"]]
    for words in [*calls, ["report", str(file), f"--{evil}"], ["doctor", str(tmp_path / f"none{evil}")]]:
        main(words)
        printed = capsys.readouterr()
        assert clean(printed.out + printed.err), words
    assert page.exists()
    assert not set(evil) & {c for c in page.read_text(encoding="utf-8") if not c.isprintable()}


def test_the_helper() -> None:
    assert printable("é ü 猫 \\n") == "é ü 猫 \\n"
    assert printable("a\x1bb\u202ec") == "a\\x1bb\\u202ec"
    assert printable("x" * 100) == "x" * 77 + "..."
    assert quoted("a\nb") == "'a\\nb'"
    assert shown(np.zeros((30, 30))).isprintable()
    assert len(shown(np.zeros((30, 30)))) <= 100
