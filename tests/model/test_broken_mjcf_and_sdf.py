"""Broken and hostile MJCF and SDF: reported at the right line, in words that help, and never a crash or a hang."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import fallingcat as fc

INERTIAL = "<inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"
BALL = '<geom size="0.1"/>'


def mjcf(*lines: str, rest: str = "") -> str:
    """Bodies from line 3 on."""
    return "\n".join(["<mujoco>", "<worldbody>", *lines, f"</worldbody>{rest}</mujoco>"])


def sdf(*lines: str, head: str = '<sdf version="1.9">') -> str:
    """The model's children from line 3 on."""
    return "\n".join([head, '<model name="m">', *lines, "</model></sdf>"])


def link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(inside: str = "<axis><xyz>0 0 1</xyz></axis>", kind: str = "revolute", parent: str = "a", child: str = "b") -> str:
    return f'<joint name="j" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>'


def arm(joint: str) -> str:
    """Links at lines 3 and 4, the joint at line 5."""
    return sdf(link("a"), link("b"), joint)


def limits(inside: str) -> str:
    return joint(f"<axis><xyz>0 0 1</xyz><limit>{inside}</limit></axis>")


CASES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "MJCF: an unknown attribute": (mjcf(f'<body><joint typ="hinge"/>{BALL}</body>'), 3, ("'typ'", "correct its name")),
    "MJCF: an unknown element": (mjcf("<bdy/>"), 3, ("'bdy'", "unrecognized element")),
    "MJCF: no number": (mjcf(f'<body pos="1 2 x">{BALL}</body>'), 3, ("'pos'", "plain decimal numbers")),
    "MJCF: too few numbers": (mjcf(f'<body pos="1 2">{BALL}</body>'), 3, ("'pos'", "enough data")),
    "MJCF: a moving body without mass": (mjcf("", '<body name="arm"><joint/></body>'), 4, ("'arm'", "needs mass")),
    "MJCF: two bodies of one name": (mjcf('<body name="a"/>', '<body name="a"/>'), 4, ("repeated name 'a'",)),
    "MJCF: an unknown class": (mjcf(f'<body><joint class="leg"/>{BALL}</body>'), 3, ("'leg'", "declare <default")),
    "MJCF: an actuator of nothing": (
        mjcf(f"<body><joint/>{BALL}</body>", rest='<actuator>\n<motor joint="knee"/></actuator>'), 5, ("'knee'", "correct")
    ),
    "MJCF: no such include": (mjcf('<include file="leg.xml"/>'), 3, ("'leg.xml'", "check the path")),
    "MJCF: no such mesh": (mjcf(rest='<asset><mesh file="leg.stl"/></asset>'), 0, ("'leg.stl'", "meshdir")),
    "MJCF: a free joint inside": (mjcf("<body>", f"<body><freejoint/>{BALL}</body>", "</body>"), 4, ("free", "<worldbody>")),
    "MJCF: an impossible inertia": (
        mjcf('<body name="a"><joint/><inertial mass="1" pos="0 0 0" diaginertia="1 1 5"/></body>'), 3, ("'a'", "balanceinertia")
    ),
    "MJCF: limits upside down": (mjcf(f'<body><joint limited="true" range="2 1"/>{BALL}</body>'), 3, ("range", "swap")),
    "MJCF: no axis": (mjcf(f'<body><joint axis="0 0 0"/>{BALL}</body>'), 3, ("axis", "direction")),
    "MJCF: no closing tag": (mjcf('<body name="a">'), 4, ("<body>, opened at line 3",)),
    "MJCF: too many joints": (mjcf(f'<body name="a"><freejoint/><joint/>{BALL}</body>'), 3, ("'a'", "six degrees of freedom")),
    "MJCF: not a number": (mjcf(f'<body pos="nan 0 0">{BALL}</body>'), 3, ("<body>", "pos", "not finite")),
    "SDF: no model": ('<sdf version="1.9">\n</sdf>', 1, ("no <model>", "<sdf><model")),
    "SDF: an include": ('<sdf version="1.9">\n<include><uri>model://x</uri></include></sdf>', 2, ("no <model>", "<include>")),
    "SDF: an include in a model": (sdf("<include><uri>model://x</uri></include>", link("a")), 3, ("'model://x'", "write its")),
    "SDF: two models": (sdf(link("a")).replace("</sdf>", '\n<model name="n"/></sdf>'), 5, ("2 models", "keep one")),
    "SDF: no such child": (arm(joint(child="c")), 5, ("joint 'j'", "'c'")),
    "SDF: no parent": (arm('<joint name="j" type="fixed"><child>b</child></joint>'), 5, ("no <parent>", "add <parent>")),
    "SDF: an unknown type": (arm(joint(kind="revolut")), 5, ("'revolut'", "did you mean 'revolute'")),
    "SDF: no axis": (arm(joint("")), 5, ("needs an <axis>",)),
    "SDF: one axis of two": (arm(joint(kind="universal")), 5, ("<axis2>",)),
    "SDF: no number": (arm(joint("<axis><xyz>0 0 z</xyz></axis>")), 5, ("<xyz>", "'z'")),
    "SDF: a short pose": (sdf(link("a", f"\n<pose>1 2 3</pose>{INERTIAL}")), 4, ("<pose> needs 6 numbers", "only 3")),
    "SDF: no such frame": (sdf(link("a", f'<pose relative_to="b">0 0 0 0 0 0</pose>{INERTIAL}')), 3, ("'b'", "link 'a'")),
    "SDF: frames in a circle": (
        sdf(link("a"), '<frame name="f"><pose relative_to="g"/></frame>', '<frame name="g"><pose relative_to="f"/></frame>'),
        5, ("circle", "frame 'g'"),
    ),
    "SDF: attached in a circle": (
        sdf(link("a"), '<frame name="f" attached_to="g"/>', '<frame name="g" attached_to="f"/>'), 5, ("circle", "frame 'g'")
    ),
    "SDF: a model with colons": (
        sdf(
            link("a"), f'<model name="h::g">{link("p")}</model>', joint(child="h::g::p"),
            '<frame name="t" attached_to="h::g::p"/>',
        ),
        4, ("model 'h::g'", "holds '::'"),
    ),
    "SDF: a frame with colons": (sdf(link("a"), '<frame name="t::u"/>'), 4, ("frame 't::u'", "holds '::'")),
    "SDF: a quaternion of no length": (
        sdf(link("a", f'<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>{INERTIAL}')), 3, ("quaternion", "length 0")
    ),
    "SDF: a negative mass": (sdf(link("a", INERTIAL.replace("2<", "-2<"))), 3, ("link 'a'", "mass is negative")),
    "SDF: limits upside down": (arm(limits("<lower>1</lower><upper>-1</upper>")), 5, ("upside down",)),
    "SDF: two links of one name": (sdf(link("a"), link("a")), 4, ("duplicate", "'a'")),
    "SDF: two roots": (sdf(link("a"), link("b")), 4, ("2 root links",)),
    "SDF: computed inertia": (sdf(link("a", '<inertial auto="true"/>')), 3, ("auto", "write mass and inertia")),
    "SDF: a loop of a slide": (
        sdf(link("a"), link("b"), joint(), joint(kind="prismatic").replace('"j"', '"k"')), 6, ("joint 'k'", "closes a loop")
    ),
    "SDF: neither true nor false": (sdf("<static>maybe</static>", link("a")), 3, ("<static>", "'maybe'")),
    "SDF: a shape without a size": (
        sdf(link("a", f"{INERTIAL}<visual name='v'><geometry><sphere/></geometry></visual>")), 3, ("<sphere> has no <radius>",)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_mistake_is_reported_at_its_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, line, words = CASES[name]
    findings = fc.diagnose(text)
    shown = "\n".join(map(str, findings))
    errors = [finding for finding in findings if finding.severity == "error"]
    assert any(finding.line == line and all(word in str(finding) for word in words) for finding in errors), shown
    assert len(errors) == 1, shown
    assert all(finding.hint for finding in errors), shown
    assert all(str(finding).isprintable() for finding in findings)
    with pytest.raises(fc.ModelError):
        fc.load(text)
    assert os.listdir(tmp_path) == []


def nested(count: int) -> str:
    return mjcf("<body>" * count + "</body>" * count)


HOSTILE: dict[str, str | bytes] = {
    "MJCF: a billion copies": mjcf(f'<replicate count="1000000000"><body><joint/>{BALL}</body></replicate>'),
    "MJCF: copies of copies": mjcf('<replicate count="1000">' * 4 + BALL + "</replicate>" * 4),
    "MJCF: a huge texture": mjcf(rest='<asset><texture name="t" builtin="flat" width="1000000" height="1000000"/></asset>'),
    "MJCF: a huge field": mjcf(rest='<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'),
    "MJCF: a huge cloth": mjcf('<flexcomp name="f" type="grid" count="100000 100000 1" spacing="1 1 1" dim="2"/>'),
    "MJCF: huge sizes": mjcf(rest='<size nuserdata="2000000000" nuser_body="2000000000"/>'),
    "MJCF: huge custom data": mjcf(rest='<custom><numeric name="n" size="2000000000" data="1"/></custom>'),
    "MJCF: deep bodies": nested(1000),
    "MJCF: very deep bodies": nested(100_000),
    "MJCF: entities": '<!DOCTYPE mujoco [<!ENTITY a "b">]><mujoco model="&a;"/>',
    "MJCF: an external document": '<!DOCTYPE mujoco SYSTEM "file:///etc/passwd"><mujoco/>',
    "MJCF: a secret file": mjcf('<include file="secret"/>'),
    "MJCF: a device": mjcf('<include file="/dev/zero"/>'),
    "MJCF: itself": mjcf('<include file="self.xml"/>'),
    "MJCF: NUL bytes": b"<mujoco>\0</mujoco>",
    "MJCF: wrong bytes": b'<mujoco model="\xff\xfe"><worldbody><body><joint/></body></worldbody></mujoco>',
    "MJCF: a name of control characters": mjcf('<body name="a&#x9b;31m"><joint/></body>'),
    "MJCF: huge numbers": mjcf(f'<body pos="1e300 1e300 1e300"><joint pos="-1e300 0 0"/>{BALL}</body>'),
    "MJCF: an unclosed comment": "<mujoco><!-- <worldbody></worldbody></mujoco>",
    "SDF: entities": '<!DOCTYPE sdf [<!ENTITY a "b">]><sdf version="1.9"><model name="&a;"/></sdf>',
    "SDF: deep models": '<sdf version="1.9">' + '<model name="m">' * 60 + link("a") + "</model>" * 60 + "</sdf>",
    "SDF: very deep models": '<sdf version="1.9">' + '<model name="m">' * 100_000,
    "SDF: a long circle": sdf(
        link("a"),
        *(f'<frame name="f{k}" attached_to="f{(k + 1) % 3_000}"/>' for k in range(3_000)),
    ),
    "SDF: endless text": sdf(f"<link name='a'><pose>{'1 ' * 7_000_000}</pose></link>"),
    "SDF: many wrong names": sdf(link("a"), *(joint(child=f"c{k}").replace('"j"', f'"j{k}"') for k in range(3_000))),
    "SDF: huge numbers": sdf(link("a", f"<pose>1e308 1e308 1e308 1e308 1e308 1e308</pose>{INERTIAL}"), link("b"), joint()),
    "SDF: names with colons": sdf('<link name="::"/>', '<link name="a::b::"/>', '<joint name="::" type="fixed"/>'),
    "SDF: no names": sdf("<link/>", "<link/>", '<joint type="fixed"><parent/><child/></joint>', "<frame/>", "<model/>"),
    "SDF: NUL bytes": b'<sdf version="1.9">\0</sdf>',
    "SDF: cut short": sdf(link("a"), link("b"), joint())[:200],
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_ends_in_an_error_and_soon(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text("swordfish")
    text = HOSTILE[name]
    data = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "self.xml").write_bytes(data)
    for source in (text, tmp_path / "self.xml"):
        start = time.perf_counter()
        findings = fc.diagnose(source)
        assert time.perf_counter() - start < 30.0
        assert any(finding.severity == "error" for finding in findings), findings
        assert not any("swordfish" in str(finding) for finding in findings)
        assert all(str(finding).isprintable() and len(str(finding)) < 2000 for finding in findings)
        with pytest.raises(fc.ModelError):
            fc.load(source)
    assert sorted(os.listdir(tmp_path)) == ["secret", "self.xml"]


def test_a_long_chain_of_frames_is_no_recursion() -> None:
    frames = [f'<frame name="f{k}" attached_to="f{k + 1}"><pose>0 0 0.001 0 0 0</pose></frame>' for k in range(2_000)]
    robot = fc.load(sdf(link("a"), *frames, '<frame name="f2000" attached_to="a"/>'))
    assert robot.frame_pose(robot.neutral(), "f0")[2, 3] == pytest.approx(2.0)


def test_old_files_may_have_colons_in_names() -> None:
    """Before 1.8 models were put into others with their names in front."""
    text = sdf('<link name="arm::hand"><inertial><mass>1</mass></inertial></link>').replace("1.9", "1.7")
    assert fc.load(text).link_names == ("arm::hand",)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize(
    ("rest", "at"),
    [
        ('<include file="pipe"/>', "pipe"),
        ('<asset><mesh name="m" file="pipe"/></asset>', "pipe"),
        ('<asset><mesh name="m" file="far/pipe"/></asset><compiler meshdir="sub" strippath="true"/>', "sub/pipe"),
        ('<asset><texture name="t" type="cube" fileright="pipe"/></asset><compiler assetdir="sub"/>', "sub/pipe"),
    ],
)
def test_a_pipe_is_not_waited_for(rest: str, at: str, tmp_path: Path) -> None:
    (tmp_path / at).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / at)
    path = tmp_path / "robot.xml"
    path.write_text(mjcf(f'<body name="a"><joint/>{BALL}</body>', rest=rest))
    errors = [str(finding) for finding in fc.diagnose(path) if finding.severity == "error"]
    assert len(errors) == 1
    assert "not a regular file" in errors[0]


def test_names_that_are_not_utf8_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "latin.xml"
    text = f'<mujoco><worldbody><body name="caf\xe9"><joint name="\xe9?"/>{BALL}</body></worldbody></mujoco>'
    path.write_bytes(text.encode("latin-1"))
    robot = fc.load(path, floating=False)
    assert robot.joint_names == ("\\xe9?",)
    assert "caf\\xe9" in robot.link_names
