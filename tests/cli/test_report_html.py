"""`fallingcat report --html`: a whole page for every robot, odd ones included, and never half a page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.apps.report import checks, identities, measure, page, plain, timings
from fallingcat.apps.report.states import read_state
from fallingcat.arrays import eager
from fallingcat.cli.main import main
from fallingcat.functions import FUNCTIONS, task

SRC = Path(__file__).resolve().parents[2] / "src"
VOID = {"meta", "link", "img", "br", "input", "path", "rect", "circle"}

INERTIA = '<inertia ixx="0.01" iyy="0.02" izz="0.015"/>'
LINK = '<link name="{0}"><inertial><origin xyz="0.02 0 0.01"/><mass value="1"/>' + INERTIA + "</inertial></link>"
JOINT = '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="0.1 0 0.2"/><axis xyz="0 1 0"/></joint>'


def chain(count: int) -> str:
    parts = [LINK.format("l0")]
    for k in range(1, count + 1):
        parts += [LINK.format(f"l{k}"), JOINT.format(f"j{k}", "continuous", f"l{k - 1}" if k % 7 else "l0", f"l{k}")]
    return "".join(parts)


ODD = {
    "one link": LINK.format("stone"),
    "welded pair": LINK.format("a") + LINK.format("b") + JOINT.format("w", "fixed", "a", "b"),
    "one joint": chain(1),
    "massless frames": chain(2) + '<link name="eye"/>' + JOINT.format("look", "fixed", "l2", "eye"),
    "massless root": '<link name="world"/>' + chain(2) + JOINT.format("stand", "fixed", "world", "l0"),
    "a ball joint": LINK.format("a") + LINK.format("b") + JOINT.format("ball", "spherical", "a", "b"),
    "a slide": LINK.format("a") + LINK.format("b") + JOINT.format("slide", "prismatic", "a", "b").replace(
        "</joint>", '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
    ),
    "hostile names": LINK.format("&lt;/script>&lt;b>a") + LINK.format("b\u202e") + JOINT.format(
        "&lt;i>j&quot;", "continuous", "&lt;/script>&lt;b>a", "b\u202e"
    ),
}  # fmt: skip

REAL = {
    "panda": "panda_description/urdf/panda.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "hector": "hector_description/robots/quadrotor_base.urdf",
}
MORE = {
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "allegro": "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "tiago": "tiago_description/robots/tiago_no_hand.urdf",
    "iris": "iris_description/robots/iris.urdf",
}


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports that are quick: the library has its own tests of its identities."""
    monkeypatch.setattr(timings, "BUDGET", {"main": 1e-4, "all": 1e-4})
    monkeypatch.setattr(checks, "RANDOM_STATES", 1)


class Page(HTMLParser):
    """A page taken apart: its text, its headings, and whether every element is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.headings: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if tag == "h2":
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.text.append(data)
        if "h2" in self.open:
            self.headings[-1] += data


def written(tmp_path: Path, *words: str) -> tuple[int, Page, str]:
    target = tmp_path / "page.html"
    status = main(["report", *words, "--html", str(target), "--timings", "none"])
    html = target.read_text(encoding="utf-8")
    return status, Page(html), html


def real(place: str) -> str:
    return next(str(entry.locate()) for entry in files("example-robot-data") or [] if str(entry).endswith(f"/robots/{place}"))


# What is on the page


def test_the_page_of_the_cat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot, target = fc.load("cat"), tmp_path / "cat.html"
    assert main(["report", "cat", "--html", str(target), "--state", "random"]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert "checks hold" in output.out
    assert f"written to {target}" in output.out.replace("\n", "")
    page = Page(target.read_text(encoding="utf-8"))
    assert page.headings == [
        "Tree", "Masses and inertias", "Doctor", "Equations of motion", "Checks", "Linearization", "Momentum", "Base and shape",
        "Timings", "Conventions",
    ]  # fmt: skip
    text = " ".join(page.text)
    for word in (*robot.joint_names, *robot.link_names, *(i.name for i in identities.IDENTITIES), *timings.MAIN):
        assert word in text
    assert "4.03 kg" in text


def test_page_and_json_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = fc.load("spacearm")
    report = measure.measure(robot, read_state(robot, "random"), (), timings="none")
    data = plain.as_json(report)
    json.dumps(data, allow_nan=False)
    text = " ".join(Page(page.page(report)).text)
    for check in data["checks"]:
        assert f"{check['value']:.1e}" in text or check["value"] == 0.0
    assert f"{data['energies']['kinetic']:.5g} J" in text
    assert data["linearization"]["controllability_rank"] == report.linear.rank  # type: ignore[union-attr]
    # Witnesses apart from the report: the trace of A is the sum of its eigenvalues, the locked inertia a block of M.
    values = np.array(data["linearization"]["eigenvalues"])
    assert values[:, 1].sum() == pytest.approx(0.0, abs=1e-8)
    assert np.allclose(data["locked"]["inertia"], np.array(data["mass_matrix"]["values"])[:6, :6], rtol=1e-12, atol=1e-12)
    assert np.array(data["centroidal"]["inertia"])[0, 0] == pytest.approx(robot.mass)
    assert sum(body["mass"] for body in data["bodies"]) == pytest.approx(robot.mass)


def test_inertias_are_about_the_centre_of_mass(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "one.urdf"
    file.write_text(f'<robot name="one">{ODD["one link"]}</robot>')
    assert main(["report", str(file), "--json", "--timings", "none"]) == 0
    (body,) = json.loads(capsys.readouterr().out)["bodies"]
    assert body["center_of_mass"] == pytest.approx([0.02, 0.0, 0.01])
    assert np.allclose(body["inertia"], np.diag([0.01, 0.02, 0.015]), atol=1e-15)
    assert body["principal_moments"] == pytest.approx([0.01, 0.015, 0.02])


@pytest.mark.parametrize("fixed", [False, True], ids=["floating", "fixed"])
@pytest.mark.parametrize("name", ODD)
def test_odd_robots(name: str, fixed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "odd.urdf"
    file.write_text(f'<robot name="odd">{ODD[name]}</robot>', encoding="utf-8")
    status, page, html = written(tmp_path, str(file), *(["--fixed"] if fixed else []))
    assert status == 0
    text = " ".join(page.text)
    still = fixed and name in ("one link", "welded pair")
    assert ("Nothing moves" in text) == still
    assert ("Nothing to check" in text) == still
    assert ("One rigid body, free to fly" in text) == (not fixed and name in ("one link", "welded pair"))
    assert ("only mark a frame" in text) == ("massless" in name)
    assert "\u202e" not in html
    assert "<b>a" not in html.replace("<b>a</b>", "")
    assert "nan" not in re.findall(r"[a-z]+", text)
    assert "Traceback" not in capsys.readouterr().err


def test_seventy_degrees_of_freedom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(checks, "RANDOM_STATES", 1)  # one is slow enough
    file = tmp_path / "long.urdf"
    file.write_text(f'<robot name="long">{chain(64)}</robot>')
    status, page, html = written(tmp_path, str(file))
    assert status == 0
    assert "70 degrees of freedom" in " ".join(page.text)
    assert len(html) < 1_000_000
    capsys.readouterr()


@pytest.mark.parametrize("name", REAL)
def test_real_robots(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, page, _ = written(tmp_path, real(REAL[name]))
    assert status == 0
    assert "Checks" in page.headings
    assert capsys.readouterr().err == ""


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "fixed"), [(name, k % 2 == 1) for k, name in enumerate(MORE)])
def test_more_real_robots(name: str, fixed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [real(MORE[name]), "--state", "random", *(["--fixed"] if fixed else [])]
    status, _, _ = written(tmp_path, *words)
    assert status == 0
    assert capsys.readouterr().err == ""


# Writing


@pytest.mark.parametrize(
    ("place", "message"), [("file/x.html", "cannot write 'file/x.html'"), (".", "it is a folder"), ("-", "expected: a file")]
)
def test_a_bad_place_is_refused_before_anything_is_computed(
    place: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fallingcat.cli.report.measure", None)
    Path("file").write_text("")
    assert main(["report", "cat", "--html", place]) == 2
    assert message in capsys.readouterr().err


def test_unknown_timings_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "cat", "--timings", "some"]) == 2
    assert "none, main or all" in capsys.readouterr().err


@pytest.mark.parametrize("floating", [True, False])
def test_every_function_can_be_timed(floating: bool) -> None:
    """With the options it is timed with, each runs on floats; what needs a floating base is not asked for without one."""
    robot = fc.load("tree9", floating=floating)
    names = timings.functions(robot, "all")
    for name in names:
        made = task(robot.model, name, **timings._options(robot, name))
        eager.run(made, [robot.neutral() if x.name.startswith("q") else np.ones(x.size) for x in made.inputs])
    assert floating == ({"base_change", "locked_inertia", "curvature"} <= set(names))
    assert set(timings.MAIN) <= set(names)


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.floating_only])
def test_what_needs_a_floating_base_says_so(name: str) -> None:
    """Before anything is traced."""
    robot = fc.load("tree9", floating=False)
    options = {"base": robot.base} if "base" in FUNCTIONS[name].options else {}
    with pytest.raises(fc.InputError, match="floating base"):
        task(robot.model, name, **(timings._options(robot, name) | options))


@pytest.mark.sweep
@pytest.mark.long
@pytest.mark.parametrize("options", [[], ["--fixed"]])
def test_all_timings(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "tree9", "--timings", "all", "--json", *options]) == 0
    assert len(json.loads(capsys.readouterr().out)["timings"]) > 30


def test_json_and_page_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "tree.html"
    assert main(["report", "tree9", "--fixed", "--json", "--html", str(target), "--timings", "none"]) == 0
    assert json.loads(capsys.readouterr().out)["robot"]["name"] == "tree9"
    assert target.exists()


@pytest.mark.skipif(os.name != "posix", reason="signals of this kind are POSIX")
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("old")
    # The page says when it begins to be written; from then on the writer waits for the signal.
    code = (
        "import sys, time; from fallingcat import files\n"
        "def wait(*_): print('writing', flush=True); time.sleep(600)\n"
        "files.os.replace = wait\n"
        "from fallingcat.cli.main import main\n"
        f"sys.exit(main(['report', 'tree9', '--timings', 'none', '--html', {str(target)!r}]))"
    )
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # A shell that runs the tests in the background makes its children deaf to this signal.
    pipes |= {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "writing\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=300)
        finally:
            process.kill()
    assert (process.returncode, err) == (130, "fallingcat: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert target.read_text() == "old"
