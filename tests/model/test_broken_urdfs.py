"""Every kind of broken description is reported at the right line, in words that help, and once."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import pytest

from fallingcat.model.doctor import diagnose

BODY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'


def link(name: str, inside: str = BODY) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(inside: str = "", *, name: str = "shoulder", kind: str = "continuous", parent: str = "base", child: str = "arm") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def inertial(mass: str = "1", moments: str = 'ixx="1" iyy="1" izz="1"', origin: str = "") -> str:
    return f'<inertial>{origin}<mass value="{mass}"/><inertia {moments}/></inertial>'


def robot(*lines: str) -> str:
    """The robot element is line 1, each argument a line after it."""
    return "\n".join(['<robot name="test">', *lines, "</robot>"])


def arm(*lines: str) -> str:
    """A base at line 2, an arm at line 3, and the joints from line 4."""
    return robot(link("base"), link("arm"), *lines)


def arm_with(inside: str) -> str:
    """An arm whose link, at line 3, holds something else."""
    return robot(link("base"), link("arm", inside), joint())


@dataclass(frozen=True)
class Broken:
    name: str
    text: str
    line: int
    words: tuple[str, ...]
    severity: str = "error"
    errors: int = 1
    """How many errors there are in all: a mistake should not be reported twice."""


def warned(name: str, text: str, line: int, *words: str) -> Broken:
    return Broken(name, text, line, words, severity="warning", errors=0)


def broken(name: str, text: str, line: int, *words: str, errors: int = 1) -> Broken:
    return Broken(name, text, line, words, errors=errors)


TWO_JOINTS = (link("base"), link("arm"), link("hand"), joint(), joint(name="wrist", parent="arm", child="hand"))

XML = [
    broken("truncated", '<robot name="r">\n<link name="a">\n<inertial>', 3, "ends inside <inertial>", "line 3", "cut off"),
    broken("truncated in a tag", '<robot name="r">\n<link na', 2, "not well-formed", "<robot>"),
    broken("wrong closing tag", '<robot name="r">\n<link name="a">\n</robot>', 3, "does not match <link>", "line 2"),
    broken("two roots of XML", '<robot name="r">\n</robot>\n<robot/>', 3, "junk after document element"),
    broken("duplicate attribute", '<robot name="r">\n<link name="a" name="b"/></robot>', 2, "duplicate attribute"),
    broken("unquoted attribute", '<robot name="r">\n\n<link name=a/></robot>', 3, "not well-formed"),
    broken("bare ampersand", '<robot name="r">\n<link name="a&b;"/></robot>', 2, "undefined entity", "&amp;"),
    broken("blank before declaration", ' \n<?xml version="1.0"?><robot name="r"/>', 2, "declaration", "delete the blanks"),
    broken("root is not robot", "\n<model/>", 2, "<model>", "not <robot>"),
    broken("a web page", "<html></html>", 1, "<html>", "this is a web page"),
    warned("no name of the robot", '<robot>\n<link name="a"/></robot>', 1, "robot has no name"),
    broken("xacro", robot("<xacro:include/>", link("a")), 2, "this is a xacro file", "expand it first"),
    warned("misspelt element", robot('<link name="a"><inertal/></link>'), 2, "<inertal>", "<inertial>"),
]
TREE = [
    broken("no links", robot(), 0, "no links"),
    broken("duplicate link", arm(joint(), link("arm")), 5, "'arm'", "duplicate", "line 3"),
    broken("duplicate joint", robot(*TWO_JOINTS[:4], TWO_JOINTS[4].replace("wrist", "shoulder")), 6, "duplicate", "line 5"),
    broken("link without name", robot(link("base"), "<link/>"), 3, "link has no name", '<link name="...">'),
    broken("joint without name", arm(joint().replace(' name="shoulder"', "")), 4, "joint has no name"),
    broken("no parent", arm('<joint name="j" type="fixed"><child link="arm"/></joint>'), 4, "no parent link", "<parent link="),
    broken("no child", arm('<joint name="j" type="fixed"><parent link="base"/></joint>'), 4, "no child link"),
    broken("unknown parent", arm(joint(parent="bsae")), 4, "parent link 'bsae'", "does not exist", "did you mean 'base'"),
    broken("unknown child", arm(joint(child="tentacle")), 4, "child link 'tentacle'", "add such a <link>"),
    broken(
        "two parents",
        robot(*TWO_JOINTS, joint(name="bridge", child="hand")),
        7,
        *("'hand' has two parents", "'arm' through joint 'wrist'", "'base'", "loop"),
    ),
    broken("several roots", robot(link("a"), link("b"), link("c")), 3, "3 root links", "'a', 'b' and 'c'", "fixed joints"),
    broken("loop", arm(joint(), joint(name="back", parent="arm", child="base")), 4, "'base'", "'arm'", "form a loop"),
    broken("own parent", arm(joint(parent="arm")), 4, "same link, 'arm'"),
]
JOINTS = [
    broken("unknown type", arm(joint(kind="revolut")), 4, "'revolut' is unknown", "did you mean 'revolute'"),
    broken("no type", arm(joint().replace(' type="continuous"', "")), 4, "has no type", "prismatic"),
    broken("zero axis", arm(joint('<axis xyz="0 0 0"/>')), 4, "axis is zero", 'xyz="0 0 1"'),
    warned("long axis", arm(joint('<axis xyz="0 3 4"/>')), 4, "length 5", "unit vector"),
    broken("parallel axes", arm(joint('<axis xyz="0 1 0"/><axis2 xyz="0 -1 0"/>', kind="universal")), 4, "parallel", "<axis2"),
    broken("zero second axis", arm(joint('<axis2 xyz="0 0 0"/>', kind="universal")), 4, "second axis is zero"),
    warned("no pitch", arm(joint('<axis xyz="1 0 0"/>', kind="helical")), 4, "pitch 0", "metres per radian"),
    broken(
        "limits upside down",
        arm(joint('<limit lower="2" upper="-1" effort="1" velocity="1"/>', kind="revolute")),
        4,
        *("upside down", "lower 2", "upper -1", "swap"),
    ),
    broken("negative velocity", arm(joint('<limit velocity="-3" effort="1"/>')), 4, "velocity limit is negative: -3"),
    broken("negative effort", arm(joint('<limit velocity="3" effort="-1"/>')), 4, "effort limit is negative: -1"),
    warned("no limit", arm(joint(kind="revolute")), 4, "needs a <limit>", 'type="continuous"'),
    warned("empty limit", arm(joint("<limit/>", kind="prismatic")), 4, "neither lower nor upper", "cannot move"),
    broken("negative damping", arm(joint('<dynamics damping="-0.1"/>')), 4, "damping is negative: -0.1"),
    broken("negative friction", arm(joint('<dynamics friction="-2"/>')), 4, "friction is negative: -2"),
    broken("negative armature", arm(joint('<dynamics armature="-1e-3"/>')), 4, "armature is negative: -0.001"),
    broken("mimic of unknown", arm(joint('<mimic joint="elbow"/>')), 4, "'elbow'", "does not exist"),
    broken("mimic of nothing", arm(joint("<mimic/>")), 4, "names no joint", "<mimic joint="),
    broken("mimic of itself", arm(joint('<mimic joint="shoulder"/>')), 4, "mimics itself"),
    broken(
        "mimic cycle",
        robot(
            *TWO_JOINTS[:3],
            joint('<mimic joint="wrist"/>'),
            joint('<mimic joint="shoulder"/>', name="wrist", parent="arm", child="hand"),
        ),
        5,
        *("'shoulder' and 'wrist'", "cycle"),
    ),
    broken(
        "mimic of a fixed joint",
        robot(*TWO_JOINTS[:3], joint(kind="fixed"), joint('<mimic joint="shoulder"/>', name="w", parent="arm", child="hand")),
        6,
        *("'shoulder'", "fixed", "never moves"),
    ),
    broken(
        "mimic of a ball joint",
        robot(*TWO_JOINTS[:3], joint(kind="spherical"), joint('<mimic joint="shoulder"/>', name="w", parent="arm", child="hand")),
        6,
        *("'shoulder'", "spherical", "more than one coordinate"),
    ),
    broken(
        "mimic by a floating joint",
        robot(*TWO_JOINTS[:4], joint('<mimic joint="shoulder"/>', name="w", kind="floating", parent="arm", child="hand")),
        6,
        *("floating", "cannot mimic"),
    ),
    warned(
        "mimic by a fixed joint",
        robot(*TWO_JOINTS[:4], joint('<mimic joint="shoulder"/>', name="w", kind="fixed", parent="arm", child="hand")),
        6,
        *("fixed joint cannot follow", "ignored"),
    ),
    warned(
        "mimic without motion",
        robot(*TWO_JOINTS[:4], joint('<mimic joint="shoulder" multiplier="0"/>', name="w", parent="arm", child="hand")),
        6,
        *("multiplier is 0", "never moves"),
    ),
]
MASSES = [
    broken("negative mass", arm_with(inertial("-2")), 3, "mass is negative: -2 kg"),
    broken("indefinite", arm_with(inertial(moments='ixx="1" ixy="2" iyy="1" izz="1"')), 3, "not positive definite", "-1, 1, 3"),
    warned("flat", arm_with(inertial(moments='ixx="1" iyy="1" izz="0"')), 3, "semidefinite", "0, 1, 1"),
    warned("triangle", arm_with(inertial(moments='ixx="1" iyy="1" izz="5"')), 3, "triangle inequality", "5 > 1 + 1"),
    warned("point mass", arm_with(inertial(moments='ixx="0" iyy="0" izz="0"', origin='<origin xyz="0 1 0"/>')), 3, "point mass"),
    warned("inertia without mass", arm_with(inertial("0")), 3, "mass is zero", "1, 1, 1"),
    broken("no mass element", arm_with('<inertial><inertia ixx="1" iyy="1" izz="1"/></inertial>'), 3, "no <mass>", "kilograms"),
    broken("no mass value", arm_with('<inertial>\n<mass>3</mass><inertia ixx="1" iyy="1" izz="1"/></inertial>'), 4, "no value"),
    broken("no inertia", arm_with('<inertial><mass value="1"/></inertial>'), 3, "no <inertia>", "ixx"),
    broken("no izz", arm_with(inertial(moments='ixx="1" iyy="1"')), 3, "<inertia> has no izz"),
    warned("two inertials", arm_with(f"{BODY}\n{BODY}"), 4, "2 <inertial> elements", "line 3"),
    broken("weightless tip", arm_with(""), 4, "'arm'", "without mass and inertia", "singular", "<inertial>"),
    broken(
        "weightless branch, once",
        robot(link("base"), link("arm", ""), link("hand", ""), *TWO_JOINTS[3:]),
        5,
        *("'arm'", "or beyond", "singular"),
    ),
    broken(
        "weightless welded tip",
        robot(
            link("base"), link("arm", ""), link("hand", ""), joint(), joint(kind="fixed", parent="arm", child="hand", name="w")
        ),
        5,
        *("'arm' and 'hand'", "singular"),
    ),
    broken(
        "mass on the axis",
        arm_with(inertial(moments='ixx="0" iyy="0" izz="0"', origin='<origin xyz="2 0 0"/>')),
        4,
        *("without moving any mass", "about its axis"),
    ),
    warned(
        "weightless tip with armature",
        robot(link("base"), link("arm", ""), joint('<dynamics armature="0.1"/>')),
        4,
        *("armature", "joint_dynamics=True"),
    ),
]
NUMBERS = [
    broken("not a number", arm(joint('\n<origin xyz="0 abc 0"/>')), 5, "joint 'shoulder'", "<origin xyz>", "'abc'"),
    broken("two words", arm(joint('<origin rpy="a b 0"/>')), 4, "'a' is not a finite number", errors=2),
    broken("nan", arm_with(inertial("nan")), 3, "<mass value>", "'nan' is not a finite number"),
    broken("infinity", arm(joint('<limit lower="-inf" upper="1"/>', kind="revolute")), 4, "<limit lower>", "leave the attribute"),
    broken("too large", arm_with(inertial("1e999")), 3, "'1e999' is not a finite number"),
    broken("absurd mass", arm_with(inertial("1e300")), 3, "mass is too large: 1e+300"),
    broken("absurd axis", arm(joint('<axis xyz="0 1e200 0"/>')), 4, "axis is too large"),
    broken("two numbers", arm(joint('<axis xyz="0 1"/>')), 4, "<axis xyz> needs 3 numbers", "only 2"),
    broken("four numbers", arm(joint('<axis xyz="0 1 0 0"/>')), 4, "<axis xyz> needs 3 numbers", "more"),
    broken("empty", arm(joint('<origin xyz=""/>')), 4, "needs 3 numbers", "none"),
    broken("commas", arm(joint('<origin xyz="0,1,0"/>')), 4, "needs 3 numbers", "by blanks"),
    broken("decimal comma", arm_with(inertial("1,5")), 3, "'1,5'", "with a point"),
    broken("underscore", arm_with(inertial("1_000")), 3, "'1_000'"),
    broken("foreign digits", arm_with(inertial("١")), 3, "is not a finite number"),
    broken("unexpanded", arm_with(inertial("${mass}")), 3, "unexpanded xacro expression"),
    broken("inertia entry", arm_with(inertial(moments='ixx="x" iyy="1" izz="1"')), 3, "<inertia ixx>", "link 'arm'"),
    broken("multiplier", arm(joint('<mimic joint="shoulder" multiplier="twice"/>')), 4, "<mimic multiplier>", errors=2),
    broken("box", arm_with(BODY + '<visual><geometry><box size="1 2"/></geometry></visual>'), 3, "<box size>", "only 2"),
    broken("no radius", arm_with(BODY + "<visual><geometry><sphere/></geometry></visual>"), 3, "<sphere> has no radius"),
    broken("quaternion", arm(joint('<origin quat_xyzw="0 0 0 1"/>')), 4, "quat_xyzw", "rpy"),
]  # fmt: skip


@pytest.mark.parametrize("case", [*XML, *TREE, *JOINTS, *MASSES, *NUMBERS], ids=lambda case: case.name)
def test_the_mistake_is_reported_at_its_line(case: Broken) -> None:
    findings = diagnose(case.text)
    shown = "\n".join(map(str, findings))
    assert any(
        finding.line == case.line and finding.severity == case.severity and all(word in str(finding) for word in case.words)
        for finding in findings
    ), shown
    assert sum(finding.severity == "error" for finding in findings) == case.errors, shown
    assert all(finding.hint for finding in findings)


def test_all_mistakes_are_reported_in_one_go() -> None:
    text = robot(
        link("base"),
        link("arm", inertial("-1")),
        joint('<axis xyz="0 0 0"/><dynamics damping="x"/>'),
        joint(name="other", child="nowhere"),
    )
    assert [finding.line for finding in diagnose(text) if finding.severity == "error"] == [3, 4, 4, 5]


def test_weights_that_keep_a_joint_alive() -> None:
    """A weightless link is fine when something heavy is welded to it, or when a joint that mimics moves a mass."""
    welded = robot(
        link("base"), link("arm", ""), link("hand"), joint(), joint(kind="fixed", name="w", parent="arm", child="hand")
    )
    assert diagnose(welded) == ()
    follower = joint('<mimic joint="shoulder"/>', name="w", child="hand")
    assert diagnose(robot(link("base"), link("arm", ""), link("hand"), joint(), follower)) == ()


def test_a_bad_inertia_is_only_doubtful_when_the_welded_whole_is_sound() -> None:
    bad = link("antenna", inertial("0.001", 'ixx="-1e-6" iyy="1e-6" izz="1e-6"'))
    text = robot(link("base"), link("arm"), bad, joint(), joint(kind="fixed", name="w", parent="arm", child="antenna"))
    assert [(finding.severity, finding.line) for finding in diagnose(text)] == [("warning", 4)]


# Hostile files

BOMB = (
    '<!DOCTYPE robot [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY a{i} "{f"&a{i - 1 or str()};" * 10}">' for i in range(1, 10))
    + ']><robot name="&a9;"/>'
)
DEFAULTS = (
    "<!DOCTYPE robot [<!ATTLIST a "
    + " ".join(f'x{i} CDATA "{"y" * 100}"' for i in range(300))
    + '>]><robot name="r">'
    + "<a/>" * 3_000
    + '<link name="l"/></robot>'
)
HOSTILE: dict[str, str | bytes] = {
    "a million defaults of attributes": DEFAULTS,
    "a default of an attribute": '<!DOCTYPE robot [<!ATTLIST link name CDATA "l">]><robot name="r"><link/></robot>',
    "no default": '<!DOCTYPE robot [<!ATTLIST link x CDATA #IMPLIED>]><robot name="r"><link name="a"/></robot>',
    "a declared element": '<!DOCTYPE robot [<!ELEMENT robot ANY>]><robot name="r"><link name="a"/></robot>',
    "a declared notation": '<!DOCTYPE robot [<!NOTATION n PUBLIC "n">]><robot name="r"><link name="a"/></robot>',
    "entity bomb": BOMB,
    "external entity": '<!DOCTYPE robot [<!ENTITY x SYSTEM "{file}">]><robot name="r"><link name="a">&x;</link></robot>',
    "external parameter entity": '<!DOCTYPE robot [<!ENTITY % x SYSTEM "{file}"> %x;]><robot name="r"><link name="a"/></robot>',
    "external document type": '<!DOCTYPE robot SYSTEM "{file}"><robot name="r"><link name="a"/></robot>',
    "a million nested elements": "<robot>" + "<link>" * 1_000_000,
    "a hundred megabytes": '<robot name="r">' + " " * 100_000_000 + "</robot>",
    "a hundred megabytes of bytes": b'<robot name="r">' + b" " * 100_000_000 + b"</robot>",
    "a million elements": '<robot name="r">' + "<link/>" * 1_000_000 + "</robot>",
    "one endless word": '<robot name="' + "x" * 15_000_000,
    "NUL bytes": '<robot name="r">\0\0\0</robot>',
    "NUL bytes only": b"\0" * 1000,
    "binary": bytes(range(256)) * 100,
    "lone surrogate": '<robot name="\ud800"/>',
    "UTF-16 cut in half": '<?xml version="1.0" encoding="utf-16"?><robot name="r"/>'.encode("utf-16")[:-3],
    "UTF-16 claimed wrongly": b'<?xml version="1.0" encoding="utf-16"?><robot name="r"/>',
    "unknown encoding": b'<?xml version="1.0" encoding="klingon"?><robot name="r"/>',
    "multibyte encoding": b'<?xml version="1.0" encoding="shift_jis"?><robot name="r"/>',
    "wrong bytes": b'<robot name="\xff\xfe"/>',
    "nothing": "",
    "blanks": " \n\t",
    "no bytes": b"",
    "prose": "my robot\nis kind",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_ends_in_an_error_and_soon(name: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('<!ENTITY leak "swordfish"> swordfish')
    text = HOSTILE[name]
    if isinstance(text, str) and "{file}" in text:
        text = text.replace("{file}", secret.as_uri())
    start = time.perf_counter()
    findings = diagnose(text)
    assert time.perf_counter() - start < 30.0  # milliseconds; entities that double each other would take for ever
    assert any(finding.severity == "error" for finding in findings)
    assert not any("swordfish" in str(finding) for finding in findings)
    assert all(str(finding).isprintable() and len(str(finding)) < 1000 for finding in findings)


def test_entities_are_named_with_their_line() -> None:
    (finding,) = diagnose('<!DOCTYPE robot [\n<!ENTITY mass "1">\n]>\n<robot name="r"/>')
    assert finding.line == 2
    assert "'mass'" in finding.message


def test_declarations_are_named_with_their_line() -> None:
    (finding,) = diagnose('<!DOCTYPE robot [\n<!ATTLIST link mass CDATA "1">\n]>\n<robot name="r"><link name="a"/></robot>')
    assert finding.line == 2
    assert "'link'" in finding.message
    assert "declarations are not read" in finding.message


def test_a_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "huge.urdf"
    with open(path, "wb") as stream:
        stream.truncate(1_000_000_000)
    tracemalloc.start()
    try:
        (finding,) = diagnose(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "too large" in finding.message
    assert peak < 100_000_000


def test_a_hundred_thousand_mistakes_are_cut_short() -> None:
    findings = diagnose(robot(*(link("same", "") for _ in range(100_000))))
    assert 1000 <= len(findings) <= 1100
    assert any("more than 1000 errors" in finding.message for finding in findings)


def test_control_characters_in_names_do_not_reach_the_terminal() -> None:
    for finding in diagnose(robot('<link name="a&#x9b;31m"/>', '<link name="a&#x9b;31m"/>')):
        assert str(finding).isprintable()
