"""MJCF files: what becomes of joints, sites, actuators, constraints, and what is said of the rest."""

from __future__ import annotations

import builtins
import os
from pathlib import Path

import mujoco
import numpy as np
import pytest
from tests.mujoco_states import disagreement

import fallingcat as fc
from fallingcat.model.meshes import shapes

ZOO = Path(__file__).parent / "files" / "zoo.xml"
BALL = '<geom size="0.1"/>'


def mjcf(body: str, more: str = "") -> str:
    return f"<mujoco>{more}<worldbody>{body}</worldbody></mujoco>"


@pytest.fixture
def zoo() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(str(ZOO))


def at_random(robot: fc.Robot, model: mujoco.MjModel, rng: np.random.Generator) -> tuple[np.ndarray, mujoco.MjData]:
    """A configuration of ours, and MuJoCo there."""
    q, data = robot.random_configuration(rng), mujoco.MjData(model)
    data.qpos[:] = fc.converters.mujoco(robot).q(q)
    mujoco.mj_forward(model, data)
    return q, data


def test_dynamics(zoo: mujoco.MjModel, rng: np.random.Generator) -> None:
    """Several joints in a body, away from its origin, with references; free, ball, slide and hinge."""
    for _ in range(3):
        assert max(disagreement(zoo, rng)) < 1e-12


def test_poses_of_bodies_and_sites(zoo: mujoco.MjModel, rng: np.random.Generator) -> None:
    """q is qpos: frames are where MuJoCo has them, without an offset for references."""
    robot = fc.load(ZOO)
    q, data = at_random(robot, zoo, rng)
    bodies = [(zoo.body(k).name, data.xpos[k], data.xmat[k]) for k in range(1, zoo.nbody)]
    sites = [(zoo.site(k).name, data.site_xpos[k], data.site_xmat[k]) for k in range(zoo.nsite)]
    for name, position, rotation in bodies + sites:
        H = robot.frame_pose(q, name)
        assert np.abs(H[:3, 3] - position).max() < 1e-13
        assert np.abs(H[:3, :3] - rotation.reshape(3, 3)).max() < 1e-13


def test_joints(zoo: mujoco.MjModel) -> None:
    robot = fc.load(ZOO)
    assert robot.floating
    assert robot.base == "trunk"
    assert robot.joint_names == ("hip_x", "hip_y", "knee", "ball", "slide")
    by_name = {joint.name: joint for joint in robot.description.joints}
    knee = by_name["knee"]
    assert (knee.type, knee.parent, knee.child, knee.line) == ("revolute", "thigh", "shin", 29)
    assert (knee.damping, knee.friction, knee.armature) == (0.1, 0.02, 0.01)
    assert (knee.limits.lower, knee.limits.upper) == pytest.approx((-np.pi / 2, np.pi / 2))
    assert by_name["slide"].limits.lower == -0.5
    assert robot.mass == pytest.approx(mujoco.mj_getTotalmass(zoo), rel=1e-14)
    assert np.array_equal(robot.gravity, [0.0, 0.0, -9.8])


def test_gravity() -> None:
    body = f"<body><joint/>{BALL}</body>"
    assert np.array_equal(fc.load(mjcf(body)).gravity, [0.0, 0.0, -9.81])
    assert np.array_equal(fc.load(mjcf(body, '<option gravity="1 2 3"/>')).gravity, [1.0, 2.0, 3.0])
    off = mjcf(body, '<option gravity="1 2 3"><flag gravity="disable"/></option>')
    assert np.array_equal(fc.load(off).gravity, [0.0, 0.0, 0.0])
    assert np.array_equal(fc.load(off, gravity=(0, 0, -1)).gravity, [0.0, 0.0, -1.0])


def test_what_floats() -> None:
    """A single body that moves freely is the base; joints to the world make the world the base."""
    free = f'<body name="a"><freejoint/>{BALL}</body>'
    robot = fc.load(mjcf(free))
    assert (robot.floating, robot.base, robot.nv, robot.link_names) == (True, "a", 6, ("a",))
    welded = fc.load(mjcf(free), floating=False)
    assert (welded.floating, welded.nv) == (False, 0)
    arm = fc.load(mjcf(f'<body name="a" pos="0 0 1"><joint/>{BALL}</body>'))
    assert (arm.floating, arm.base, arm.nv) == (False, "world", 1)
    both = fc.load(mjcf(free + f'<body name="b"><joint/>{BALL}</body>'))
    assert (both.floating, both.base, both.nv) == (False, "world", 7)
    foot = mjcf(f'<body name="foot">{BALL}<body name="a"><joint/>{BALL}</body></body>')
    assert fc.load(foot).nv == 1
    assert fc.load(foot, floating=True).nv == 7
    assert fc.load(foot, base="foot").nv == 7
    with pytest.raises(fc.ModelError, match="floating=False"):
        fc.load(mjcf(f'<body name="a"><joint/>{BALL}</body>'), floating=True)


def test_scenery_is_left_out() -> None:
    text = mjcf(f'<body name="table">{BALL}</body><body name="a"><freejoint/>{BALL}</body>')
    assert fc.load(text).link_names == ("a",)
    assert any("'table' stand still in the world" in str(finding) for finding in fc.diagnose(text))


@pytest.mark.parametrize("word", ["armature", "frictionloss"])
def test_what_free_joints_have_in_the_axes_of_the_world(word: str) -> None:
    free = f'<joint name="loose" type="free" {word}="0.1" damping="0.1"/>'
    bodies = f'<body name="a" pos="0 1 0"><freejoint/>{BALL}</body><body name="b">{free}{BALL}</body>'
    found = [str(finding) for finding in fc.diagnose(mjcf(bodies))]
    assert sum(f"{word} of free joints acts" in text and "loose" in text for text in found) == 1
    plain = fc.diagnose(mjcf(bodies.replace(f'{word}="0.1"', "")))
    assert not any("of free joints" in str(finding) for finding in plain)


def test_actuation(zoo: mujoco.MjModel, rng: np.random.Generator) -> None:
    """S(q) is the transpose of MuJoCo's moments, in its coordinates."""
    robot = fc.load(ZOO)
    assert robot.actuator_names == ("hip", "servo", "pull", "turn", "jet", "muscle")
    q, data = at_random(robot, zoo, rng)
    moment = np.zeros((zoo.nu, zoo.nv))
    mujoco.mju_sparse2dense(moment, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind)
    S = np.asarray(robot.actuation_matrix(q))
    to = fc.converters.mujoco(robot)
    assert S.shape == (robot.nv, zoo.nu)
    assert np.abs(np.stack([to.tau(q, column) for column in S.T]) - moment).max() < 1e-12


def test_actuators_of_locked_joints_have_no_column() -> None:
    robot = fc.load(ZOO, lock={"hip_x": 0.1, "slide": 0.0})
    assert robot.actuator_names == ("servo", "pull", "turn", "jet")  # 'pull' still moves the knee
    assert robot.m == 4
    assert np.count_nonzero(robot.with_actuation(["knee"]).actuation) == 1
    text = mjcf(f'<body><joint name="a"/>{BALL}</body>')
    assert np.array_equal(fc.load(text).actuation, [[1.0]])


def test_forces_stay_forces_where_there_are_as_many_actuators() -> None:
    text = mjcf(f'<body><joint name="a"/>{BALL}</body>', '<actuator><motor joint="a" gear="50"/></actuator>')
    robot = fc.load(text, gravity=(0, 0, 0))
    q, nu, tau = np.zeros(1), np.zeros(1), np.array([0.3])
    expected = robot.forward_dynamics(q, nu, tau)
    assert np.allclose(robot.step(q, nu, tau, 1e-3, "euler").nu, 1e-3 * expected)
    assert np.allclose(robot.linearize(q, nu, tau).B[1:], 50.0 * expected / 0.3)
    own = robot.with_actuation([[50.0]])  # a matrix of one's own: now it is u
    assert np.allclose(own.step(q, nu, tau, 1e-3, "euler").nu, 50e-3 * expected)


def test_equalities(zoo: mujoco.MjModel) -> None:
    """Kept as frames that coincide, and polynomials that hold, in MuJoCo's initial configuration."""
    robot = fc.load(ZOO)
    q = fc.converters.mujoco(robot).from_q(zoo.qpos0)
    connect, weld, joint = robot.description.equalities
    for equality, columns in ((connect, [3]), (weld, [0, 1, 2, 3])):
        assert equality.frames is not None
        H = [robot.frame_pose(q, f.link) @ _matrix(f.pose) for f in equality.frames]
        assert np.abs(H[0] - robot.frame_pose(q, f"{equality.name}/1")).max() < 1e-15
        assert np.abs((H[0] - H[1])[:, columns]).max() < 1e-12
    assert joint.joints == ("hip_y", "knee")
    x, x0, y0 = 0.37, zoo.qpos0[zoo.joint("knee").qposadr[0]], zoo.qpos0[zoo.joint("hip_y").qposadr[0]]
    expected = y0 + 0.1 + 0.5 * (x - x0) + 0.2 * (x - x0) ** 2
    assert np.polynomial.Polynomial(joint.polynomial)(x) == pytest.approx(expected, abs=1e-14)
    assert (connect.kind, weld.kind, joint.kind, connect.line) == ("connect", "weld", "joint", 48)


def test_equality_of_sites_and_a_held_joint() -> None:
    text = """<mujoco><worldbody><body name="a"><joint name="h" ref="30"/><geom size="0.1"/>
    <site name="s" pos="1 2 3" euler="10 20 30"/></body><site name="t" pos="0 0 1"/></worldbody>
    <equality><weld site1="s" site2="t"/><joint joint1="h" polycoef="0.25 0 0 0 0"/>
    </equality></mujoco>"""
    weld, held = fc.load(text).description.equalities
    assert weld.frames is not None
    assert [(f.link, f.pose.position) for f in weld.frames] == [("a", (1.0, 2.0, 3.0)), ("world", (0.0, 0.0, 1.0))]
    assert held.joints == ("h", "")
    assert held.polynomial[0] == pytest.approx(0.25 + np.pi / 6)


def _matrix(pose: object) -> np.ndarray:
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = pose.rotation, pose.position  # type: ignore[attr-defined]
    return H


def test_shapes(zoo: mujoco.MjModel) -> None:
    found = {(shape.link, shape.visual.shape): shape.visual for shape in shapes(fc.load(ZOO).description)}
    assert found["trunk", "box"].size == (0.4, 0.2, 0.1)
    assert found["trunk", "box"].rgba == pytest.approx((0.3, 0.4, 0.5, 1.0), abs=1e-6)
    capsule = found["thigh", "capsule"]
    assert capsule.size == pytest.approx((0.03, 0.3))
    assert capsule.pose.position == pytest.approx((0.0, 0.0, -0.15))
    assert found["slider", "ellipsoid"].size == (0.05, 0.06, 0.07)
    assert found["slider", "cylinder"].size == (0.02, 0.2)


def test_meshes_stand_in_the_coordinates_of_their_file(tmp_path: Path) -> None:
    """MuJoCo turns a mesh to its own axes; what is kept here is the file and its pose."""
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    text = mjcf(
        '<body name="a"><joint/><geom type="mesh" mesh="a" pos="1 2 3" euler="0 0 90"/></body>',
        '<compiler meshdir="meshes"/><asset><mesh name="a" file="a.obj" scale="0.1 0.1 0.2"/></asset>',
    )
    (tmp_path / "robot.xml").write_text(text)
    robot = fc.load(tmp_path / "robot.xml")
    (shape,) = shapes(robot.description)
    assert shape.path == tmp_path / "meshes" / "a.obj"
    assert shape.visual.scale == pytest.approx((0.1, 0.1, 0.2))
    assert shape.visual.pose.position == pytest.approx((1.0, 2.0, 3.0), abs=1e-6)
    assert np.array(shape.visual.pose.rotation) == pytest.approx(np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), abs=1e-6)


def test_what_is_left_out_is_said() -> None:
    """One line for each kind of thing, at the line of the first."""
    found = [(finding.severity, finding.line, finding.message) for finding in fc.diagnose(ZOO)]
    for severity, line, words in [
        ("warning", 26, "springs"), ("warning", 34, "gravity compensation"), ("note", 35, "limits of ball joints"),
        ("note", 46, "tendons"), ("warning", 48, "equality constraints"), ("note", 54, "servos"),
        ("warning", 58, "states of their own"), ("note", 0, "contacts"),
    ]:  # fmt: skip
        assert [(s, at) for s, at, message in found if words in message] == [(severity, line)], words
    assert len(found) == 8


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (mjcf(f"<body><joint/>{BALL}</body>", '<option density="1.2"/>'), "fluid"),
        (mjcf(f'<body mocap="true" name="hand">{BALL}</body><body><joint/>{BALL}</body>'), "mocap bodies 'hand'"),
        (mjcf(f'<body><joint type="free" armature="1" damping="2"/>{BALL}</body>'), "armature and damping of the free joint"),
        (
            mjcf(f'<body><freejoint name="f"/>{BALL}</body>', '<actuator><motor joint="f"/></actuator>'),
            "or that act on a free joint, are left out",
        ),
    ],
)
def test_more_that_is_said(text: str, words: str) -> None:
    assert [finding for finding in fc.diagnose(text) if words in finding.message]


def test_a_healthy_robot_may_have_notes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from fallingcat.cli.main import main

    path = tmp_path / "a.xml"
    path.write_text(mjcf(f'<body name="a"><joint name="j"/>{BALL}</body>'))
    assert main(["doctor", str(path)]) == 0
    assert "note: contacts" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("report", "--timings", "none"), ("linearize",)])
def test_commands_take_inputs_that_are_no_joint_torques(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    from fallingcat.cli.main import main

    assert main([words[0], str(ZOO), *words[1:]]) == 0
    out = capsys.readouterr().out
    assert "all 17 checks hold" in out or words[0] == "linearize"


def test_text_bytes_paths_and_models(zoo: mujoco.MjModel) -> None:
    text = ZOO.read_text()
    for source in (text, text.encode(), str(ZOO), zoo, text.replace("<worldbody>", "<!-- a -- b\n--><worldbody>")):
        robot = fc.load(source)
        assert robot.nv == 13
        assert repr(fc.load(source).model) == repr(robot.model)


def test_includes(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "leg.xml").write_text(mjcf(f'<body name="leg"><joint name="hip"/>{BALL}</body>'))
    (tmp_path / "robot.xml").write_text('<mujoco model="m"><include file="parts/leg.xml"/></mujoco>')
    robot = fc.load(tmp_path / "robot.xml")
    assert (robot.name, robot.joint_names) == ("m", ("hip",))


def test_mujoco_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Its own warnings go to the terminal and into a file in the current folder; here they are findings."""
    monkeypatch.chdir(tmp_path)
    text = mjcf(f'<body><joint name="j"/>{BALL}</body>', '<compiler settotalmass="3"/>')
    found = fc.diagnose(text)
    assert any("MuJoCo: " in finding.message for finding in found)
    assert os.listdir(tmp_path) == []
    assert capfd.readouterr() == ("", "")


def test_without_mujoco(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(fc.ModelError, match=r"MJCF, which MuJoCo reads.*pip install 'fallingcat\[mujoco\]'"):
        fc.load(ZOO)
    assert fc.load("cat").nv > 6


def test_converter_takes_states_there_and_back(zoo: mujoco.MjModel, rng: np.random.Generator) -> None:
    """Free bodies in the world, too: their linear velocity is in the world's axes there, in the body's here."""
    free = [f'<body name="{name}" pos="1 2 3"><freejoint name="free {name}"/>{BALL}</body>' for name in "ab"]
    text = mjcf("".join(free))
    for robot, model in ((fc.load(ZOO), zoo), (fc.load(text), mujoco.MjModel.from_xml_string(text))):
        to = fc.converters.mujoco(robot)
        assert (to.nq, to.nv) == (model.nq, model.nv)
        q = robot.random_configuration(rng)
        nu, dnu = rng.normal(size=(2, robot.nv))
        qpos, qvel = to.q(q), to.nu(q, nu)
        assert np.abs(to.from_q(qpos) - q).max() < 1e-15
        assert np.abs(to.from_nu(qpos, qvel) - nu).max() < 1e-13
        assert np.abs(to.from_dnu(qpos, qvel, to.dnu(q, nu, dnu)) - dnu).max() < 1e-13
        # The rate of qpos is the same: MuJoCo's integration and ours end at the same place.
        h = 1e-6
        data = mujoco.MjData(model)
        data.qpos[:] = qpos
        mujoco.mj_integratePos(model, data.qpos, qvel, h)
        assert np.abs(robot.difference(robot.integrate(q, h * nu), to.from_q(data.qpos))).max() < 1e-11
