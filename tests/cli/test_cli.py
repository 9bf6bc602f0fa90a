"""The command line: exit statuses, words for people, JSON for programs, and no tracebacks."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.algorithms.joint_dynamics import passive_torques
from fallingcat.apps import console
from fallingcat.apps.report import checks, identities, measure, quick
from fallingcat.cli import report
from fallingcat.cli.main import COMMANDS, main

INERTIA = '<inertia ixx="0.01" iyy="0.02" izz="0.015"/>'
UNTIMED = ("--timings", "none")
pytestmark = pytest.mark.usefixtures("plain_terminal", "in_a_hurry")
each_robot = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.sweep] if name == "humanoid" else []) for name in fc.robots()]
)


def link(name: str, mass: float = 1.0) -> str:
    return f'<link name="{name}"><inertial><origin xyz="0.02 0 0.01"/><mass value="{mass}"/>{INERTIA}</inertial></link>'


def joint(name: str, kind: str, parent: str, child: str, more: str = "") -> str:
    origin = '<origin xyz="0.1 0.02 0.03"/>'
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{origin}{more}</joint>'


def many_dof() -> str:
    parts = [link("l0")]
    for i in range(1, 65):
        axis = ("1 0 0", "0 1 0", "0 0 1")[i % 3]
        parts += [
            link(f"l{i}", 0.2),
            joint(f"j{i}", "continuous", "l0" if i % 8 == 1 else f"l{i - 1}", f"l{i}", f'<axis xyz="{axis}"/>'),
        ]
    return "".join(parts)


def zoo() -> str:
    """One joint of every kind, joint dynamics, a mimic, a weld."""
    limit = '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
    joints = [
        ("planar", '<axis xyz="0 0 1"/>'), ("spherical", ""), ("universal", '<axis xyz="1 0 0"/><axis2 xyz="0 1 0"/>'),
        ("cylindrical", '<axis xyz="0 1 0"/>'), ("floating", ""), ("helical", '<axis xyz="0 1 0" pitch="0.1"/>'),
        ("revolute", limit + '<dynamics damping="0.1" friction="0.2" armature="0.3"/>'),
        ("revolute", limit + '<mimic joint="j6" multiplier="2" offset="0.1"/>'), ("fixed", ""), ("prismatic", limit),
    ]  # fmt: skip
    return link("root") + "".join(
        link(f"c{k}") + joint(f"j{k}", kind, "root", f"c{k}", more) for k, (kind, more) in enumerate(joints)
    )


ODD = {
    "one link": link("stone"),
    "welded pair": link("a") + link("b") + joint("j", "fixed", "a", "b"),
    "many degrees of freedom": many_dof(),
    "zoo": zoo(),
    "hostile names": link("[bold red]a[/]") + link("b\u202e{}") + joint("%s[/x]", "continuous", "[bold red]a[/]", "b\u202e{}"),
}


@pytest.fixture
def urdf(tmp_path: Path) -> Any:
    def write(body: str, name: str = "odd") -> str:
        path = tmp_path / f"{name}.urdf"
        path.write_text(f'<robot name="{name}">{body}</robot>', encoding="utf-8")
        return str(path)

    return write


def passive(robot: fc.Robot, nu: Any) -> Any:
    return np.array(passive_torques(robot.model, nu.tolist()), dtype=float)


def verdict(robot: fc.Robot) -> str:
    """What a report says when every identity that applies holds."""
    count = sum(identity.applies(robot) for identity in identities.IDENTITIES)
    assert count >= (12 if robot.floating else 10)
    return f"all {count} checks hold"


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What stderr says about a command line that must be refused."""
    assert main(words) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "Traceback" not in output.err
    return output.err


# Help


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(c.name in text and c.summary.split()[0] in text for c in COMMANDS)


@pytest.mark.parametrize("name", [c.name for c in COMMANDS])
def test_help_of_a_command_is_complete(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = {
        "report": ["ROBOT", "--fixed", "--base", "--joint-dynamics", "--state", "--html", "--timings", "--json", "Exit status"],
        "doctor": ["FILE", "--json", "Exit status"],
        "robots": ["--json"],
    }
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in expected.get(name, []))
    # Every option has an explanation.
    assert re.findall(r"^  -\S+(?: [A-Z]+)?$\n(?!   )", text, re.MULTILINE) == []


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"fallingcat {fc.__version__}\n"


def test_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert "report" in refused(capsys)


# Robots and doctor


def test_robots(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["robots"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:] if not line.startswith(" ")] == list(fc.robots())
    assert main(["robots", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(fc.robots())
    assert all(row["summary"] for row in rows)


def test_doctor_statuses(urdf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "cat"]) == 0
    assert main(["doctor", urdf(link("a") + link("b") + joint("j", "revolute", "a", "b"))]) == 1
    assert main(["doctor", urdf(link("a") + joint("j", "revolute", "a", "nowhere"))]) == 2
    capsys.readouterr()
    assert main(["doctor", "cat", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["healthy"]


# Report


@each_robot
def test_report_of_a_bundled_robot(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", name, "--timings", "none"]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    robot = fc.load(name)
    for word in (name, *robot.joint_names, f"{robot.mass:.4g} kg", verdict(robot), "healthy"):
        assert word in output.out
    assert "\x1b" not in output.out
    assert max(map(len, output.out.splitlines())) <= console.PIPE_WIDTH


@each_robot
@pytest.mark.parametrize(
    "options", [[], ["--fixed", "--state", "random", *UNTIMED], ["--joint-dynamics", "--state", "random", *UNTIMED]]
)
def test_report_as_json(name: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", name, "--json", *options]) == 0
    data = json.loads(capsys.readouterr().out)
    robot = fc.load(name, floating="--fixed" not in options, joint_dynamics="--joint-dynamics" in options)
    assert data["robot"]["nv"] == robot.nv
    assert data["robot"]["joints"] == list(robot.joint_names)
    assert sum(body["mass"] for body in data["bodies"]) == pytest.approx(robot.mass)
    assert len(data["mass_matrix"]["labels"]) == robot.nv
    assert all(data["mass_matrix"]["labels"])
    M = np.array(data["mass_matrix"]["values"])
    nu = np.array(data["state"]["nu"])
    assert np.allclose(M, robot.mass_matrix(data["state"]["q"]), rtol=1e-12, atol=1e-12)
    assert data["energies"]["kinetic"] == pytest.approx(0.5 * nu @ M @ nu, rel=1e-10)
    assert all(check["passed"] in (True, None) for check in data["checks"])
    assert data["findings"] == []
    C, at = np.array(data["coriolis_matrix"]["values"]), np.array(data["coriolis_matrix"]["nu"])
    assert np.allclose(
        C @ at,
        robot.bias(data["state"]["q"], at) - robot.bias(data["state"]["q"], 0 * at) - passive(robot, at),
        rtol=1e-9,
        atol=1e-9,
    )
    assert np.allclose(data["gravity_torque"], robot.gravity_torque(data["state"]["q"]))
    assert len(data["linearization"]["eigenvalues"]) == 2 * robot.nv
    assert [row["function"] for row in data["timings"]] == ([] if options else list(quick.MAIN))
    assert all(row["operations"] > 0 and row["one"] > 0 and row["batch"] > 0 for row in data["timings"])


@pytest.mark.parametrize("fixed", [False, True], ids=["floating", "fixed"])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.sweep] if name == "many degrees of freedom" else []) for name in ODD]
)
def test_report_of_an_odd_robot(name: str, fixed: bool, urdf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = urdf(ODD[name])
    words = [file, "--joint-dynamics", "--state", "random", "--timings", "none", *(["--fixed"] if fixed else [])]
    assert main(["report", *words]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "\u202e" not in text
    if fixed and name in ("one link", "welded pair"):
        assert "nothing moves" in text
        assert "Nothing to check" in text
    else:
        assert verdict(fc.load(file, floating=not fixed)) in text
    assert main(["report", "--json", *words]) == 0
    json.loads(capsys.readouterr().out)


def test_report_with_another_base(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "cat", "--base", "tail_tip", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["robot"]["base"] == "tail_tip"
    assert data["robot"]["joints"] == list(fc.load("cat").joint_names)


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_state_from_a_file(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot, path = fc.load("spacearm"), tmp_path / f"state{suffix}"
    q, nu = robot.random_configuration(3), robot.random_velocity(4)
    if suffix == ".json":
        path.write_text(json.dumps({"q": q.tolist(), "nu": nu.tolist()}))
    else:
        np.savez(path, q=q, nu=nu)
    assert main(["report", "spacearm", "--json", "--state", str(path)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["state"]["q"] == q.tolist()
    assert data["energies"]["kinetic"] == pytest.approx(robot.kinetic_energy(q, nu))


def test_a_wrong_robot_fails_its_checks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The checks can fail: a mass matrix that is off by a millionth is noticed, and the exit status says so."""
    honest = identities.Motion

    def off(robot: fc.Robot, q: Any, nu: Any, dnu: Any, M: Any, tau: Any) -> identities.Motion:
        M = M.copy()
        M[0, 1] += 1e-6
        return honest(robot, q, nu, dnu, M, tau)

    monkeypatch.setattr(checks, "Motion", off)
    assert main(["report", "cat"]) == 1
    text = capsys.readouterr().out
    assert "✗  mass matrix symmetric" in text
    assert "✗  inverse dynamics" in text


def test_moments_that_are_zero_but_for_rounding_are_zero() -> None:
    """A rod that lies askew: nothing about its own axis."""
    d = np.array([1.0, 2.0, 2.0]) / 3.0
    moments = measure.principal_moments(0.1 * (np.eye(3) - np.outer(d, d)))
    assert moments[0] == 0.0
    np.testing.assert_allclose(moments[1:], 0.1, rtol=1e-14)


def test_a_singular_mass_matrix_fails_without_a_traceback() -> None:
    identity = next(i for i in identities.IDENTITIES if i.kind == "positive")
    robot = fc.load("tree9")
    q, nu = robot.neutral(), np.zeros(robot.nv)
    motion = identities.Motion(robot, q, nu, nu, np.zeros((robot.nv, robot.nv)), nu)
    assert identity.measure(motion) <= identity.bound

    def explode(motion: identities.Motion) -> float:
        raise ZeroDivisionError

    broken = replace(identity, measure=explode)
    assert np.isnan(checks.measured(broken, motion))
    assert checks.judge(broken, [float("nan"), 1.0], 0.0).passed is False


# Mistakes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report", "kat"], "did you mean the bundled robot 'cat'"),
        (["report", "no/such/file.urdf"], "there is no file"),
        (["report", "cat", "--base", "tial_tip"], "did you mean 'tail_tip'"),
        (["report", "cat", "--state", "upside-down"], "neutral, random"),
        (["report", "cat", "--state", "missing.json"], "No such file"),
        (["report", "cat", "--state", "missing.npz"], "No such file"),
        (["report"], "ROBOT"),
        (["report", "cat", "--fix"], "--fix"),
        (["repot", "cat"], "no command 'repot'; did you mean 'report'"),
        (["x"], "no command 'x'; there are: report, doctor"),
        (["robots", "cat"], "unrecognized"),
    ],
)
def test_a_mistake_is_one_clear_message(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in refused(capsys, *words)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[1, 2]", "{}", '{"q": [1, 2]}', '{"q": "cat"}', '{"q": null}', '{"q": {"x": 1}}', '{"q": [[], [1]]}', "\x00\xff"],
)
def test_a_broken_state_file_is_refused(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in (".json", ".npz"):
        path = tmp_path / f"state{suffix}"
        path.write_bytes(content.encode("latin-1"))
        assert "--state" in refused(capsys, "report", "cat", "--state", str(path))


def test_a_state_that_is_not_finite_or_not_unit_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "state.npz"
    q = fc.load("cat").neutral()
    np.savez(path, q=np.full_like(q, np.nan))
    assert "finite" in refused(capsys, "report", "cat", "--state", str(path))
    np.savez(path, q=2.0 * q)
    assert "unit length" in refused(capsys, "report", "cat", "--state", str(path))


def test_a_broken_robot_lists_every_error(urdf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(capsys, "report", urdf(link("a") + joint("j", "revolut", "a", "b")))
    assert "2 errors" in error
    assert "did you mean 'revolute'" in error


@pytest.mark.parametrize("command", ["report", "linearize", "bench"])
def test_a_broken_robot_as_json(command: str, urdf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """What reads JSON gets JSON, also when there is nothing good to say."""
    assert main([command, urdf(link("a") + joint("j", "revolut", "a", "b")), "--json"]) == 2
    output = capsys.readouterr()
    error = json.loads(output.out)["error"]
    assert error["type"] == "ModelError"
    assert "2 errors" in error["message"]
    assert [f["severity"] for f in error["findings"]] == ["error", "error"]
    assert "2 errors" in output.err
    assert main([command, "no/such/file.urdf", "--json"]) == 2
    assert "there is no file" in json.loads(capsys.readouterr().out)["error"]["message"]


# Interrupted


def test_interrupt(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "measure", interrupted)
    assert main(["report", "cat"]) == 130
    assert capsys.readouterr().err == "fallingcat: interrupted\n"


# Pictures


def test_bar() -> None:
    assert console.bar(0.0, 8) == ""
    assert console.bar(1.0, 8) == "█" * 8
    assert console.bar(7.0, 8) == "█" * 8
    assert console.bar(0.5, 1) == "▌"


def test_large_matrices_are_drawn_in_blocks() -> None:
    C = np.zeros((100, 100))
    C[99, 0] = 0.5
    cells, side = console.blocks(C)
    assert side == 3
    assert cells.shape == (34, 34)
    assert cells[33, 0] == 0.5
    assert np.count_nonzero(cells) == 1


def test_coupling_is_free_of_units() -> None:
    M = fc.load("quadruped").mass_matrix(fc.load("quadruped").random_configuration(0))
    D = np.diag(np.exp(np.random.default_rng(0).normal(size=len(M))))
    assert np.allclose(measure.coupling(M), measure.coupling(D @ M @ D))
    assert np.allclose(np.diag(measure.coupling(M)), 1.0)
