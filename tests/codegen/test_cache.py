"""The cache of object code: private, checked, shared, and never trusted more than it deserves."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.codegen import Kernel, cache, kernel, native
from fallingcat.functions import task
from fallingcat.task import Input, Output, Task

# A task with a key of its own and a program that costs nothing to compile.
TASK = Task("double", (Input("x", 2),), (Output("y", (2,)),), lambda x: [2.0 * x[0], 3.0 * x[1]], key="test double")


def works() -> None:
    """A new kernel, as in a new process, gives the right numbers for one state and for a batch."""
    kernel = Kernel(TASK)
    assert kernel.entry(np.array([1.0, 2.0])).tolist() == [2.0, 6.0]
    assert kernel(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist() == [[2.0, 6.0], [6.0, 12.0]]


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.o"))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_the_owner_can_touch_it(folder: Path) -> None:
    before = os.umask(0)
    try:
        works()
    finally:
        os.umask(before)
    assert mode(folder) == 0o700
    assert [mode(f) for f in files(folder)] == [0o600, 0o600]  # one state, batches
    assert {p.name for p in folder.iterdir()} == {p.name for p in files(folder)}  # no temporary file remains


def test_what_is_there_is_not_compiled_again(folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    works()
    assert len(compiled) == 2
    monkeypatch.setattr(kernel, "trace", _never)
    works()
    assert len(compiled) == 2


def _never(*arguments: Any) -> Any:
    raise AssertionError("must not happen")


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no"])
def test_off(word: str, compiled: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FALLINGCAT_CACHE", word)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    works()
    works()
    assert len(compiled) == 4
    assert list(tmp_path.iterdir()) == []


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FALLINGCAT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.directory() == tmp_path / "fallingcat"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the standard says to ignore it
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.directory() == tmp_path / ".cache" / "fallingcat"
    monkeypatch.setenv("FALLINGCAT_CACHE", "~/here")
    assert cache.directory() == tmp_path / "here"
    monkeypatch.setenv("FALLINGCAT_CACHE", "~nobody-of-that-name/here")
    assert cache.directory() is None


# ---------------------------------------------------------------------------------------------------------------------
# Keys


def test_keys_tell_everything_apart(ball: fc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[dict[str, Any]] = [
        {}, {"gravity": (0, 0, -1.62)}, {"floating": False}, {"joint_dynamics": True}, {"base": "hand"}, {"joints": ["hinge"]},
    ]  # fmt: skip
    tasks = [task(fc.load(ball.description, **chosen).model, "inverse_dynamics") for chosen in options]
    tasks += [task(ball.model, "inverse_dynamics", axes) for axes in ("body", "mixed")]
    tasks += [task(ball.model, "bias")]
    tasks += [task(ball.model, "frame_pose", frame=frame) for frame in ("hand", "ball")]
    tasks += [task(ball.model, "frame_jacobian", frame="hand", representation=r) for r in ("body", "mixed", "inertial")]
    keys = [t.key for t in tasks]
    assert len(set(keys)) == len(keys)
    name = cache.key("x")
    assert name == cache.key("x") != cache.key("y")
    monkeypatch.setattr(native, "host", lambda: ("another", "cpu"))
    assert cache.key("x") != name
    monkeypatch.undo()
    monkeypatch.setattr(native, "versions", lambda: "another compiler")
    assert cache.key("x") != name
    monkeypatch.undo()
    monkeypatch.setattr(cache, "source_digest", lambda: "other source")
    assert cache.key("x") != name


@pytest.mark.usefixtures("folder")
def test_equal_programs_with_other_quaternions_are_told_apart() -> None:
    """The program says nothing about quaternions, the code that checks them depends on them."""
    plain = Task("f", (Input("q", 4),), (Output("y", (4,)),), lambda q: [2.0 * x for x in q])
    turning = Task("f", (Input("q", 4, (0,)),), (Output("y", (4,)),), lambda q: [2.0 * x for x in q])
    q = np.array([1.0, 2.0, 3.0, 4.0])
    assert Kernel(plain).entry(q).tolist() == [2.0, 4.0, 6.0, 8.0]
    assert Kernel(plain)(q[None]).tolist() == [[2.0, 4.0, 6.0, 8.0]]
    with pytest.raises(fc.InputError, match="far from unit length"):
        Kernel(turning).entry(q)
    with pytest.raises(fc.InputError, match="far from unit length"):
        Kernel(turning)(q[None])


# ---------------------------------------------------------------------------------------------------------------------
# What is not right is as if it were not there


def _flip(position: float) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(position * (len(data) - 1))] ^= 0x10
        path.write_bytes(data)

    return damage


def _swap(path: Path) -> None:
    """A file that is fine, but belongs to another key."""
    other = cache.key("something else")
    cache.save(other, {"workspace": 1, "operations": 1}, b"not object code")
    (path.parent / f"{other}.o").replace(path)


def _link(path: Path) -> None:
    aside = path.parent.parent / path.name
    path.replace(aside)
    path.symlink_to(aside)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _cut(keep: float) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "empty": _cut(0.0),
    "cut in the header": lambda path: path.write_bytes(path.read_bytes()[:10]),
    "cut after the header": lambda path: path.write_bytes(path.read_bytes()[:120]),
    "cut in the middle": _cut(0.5),
    "cut at the end": _cut(0.999),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "other magic": _flip(0.0),
    "a bit in the code": _flip(0.6),
    "the last bit": _flip(1.0),
    "of another key": _swap,
    "no file of ours": lambda path: path.write_bytes(b"\x7fELF" + bytes(1000)),
    "writable by the group": lambda path: path.chmod(0o660),
    "writable by all": lambda path: path.chmod(0o666),
    "a link": _link,
    "a folder": _folder,
    "a pipe": _pipe,
}
STAYS = ("a folder",)
"""What a new file cannot replace: compiled again every time."""


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_not_run_and_is_replaced(folder: Path, compiled: list[str], kind: str) -> None:
    works()
    good = {path: path.read_bytes() for path in files(folder)}
    for path in good:
        DAMAGE[kind](path)
    works()
    assert len(compiled) == 4
    if kind not in STAYS:
        assert {path: path.read_bytes() for path in files(folder)} == good
        assert [mode(path) for path in good] == [0o600, 0o600]
        works()
        assert len(compiled) == 4


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", ["folder", "files"])
def test_files_of_somebody_else_are_not_run(folder: Path, compiled: list[str], what: str) -> None:
    works()
    for path in [folder] if what == "folder" else files(folder):
        os.chown(path, 12345, 12345)
    works()
    assert len(compiled) == 4


@pytest.mark.parametrize("bits", [0o770, 0o777, 0o702])
def test_a_folder_that_others_can_write_is_not_used(folder: Path, compiled: list[str], bits: int) -> None:
    works()
    folder.chmod(bits)
    works()
    assert len(compiled) == 4
    folder.chmod(0o755)  # others may read
    works()
    assert len(compiled) == 4


@pytest.mark.parametrize("where", ["file", "under a file", "/proc/fallingcat", "/dev/null", "a\nb"])
def test_a_place_where_nothing_can_be_kept(
    where: str, compiled: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    path = {"file": tmp_path / "file", "under a file": tmp_path / "file" / "cache"}.get(where, tmp_path / where)
    monkeypatch.setenv("FALLINGCAT_CACHE", str(path))
    works()
    works()
    assert len(compiled) == (2 if where == "a\nb" else 4)  # a strange name is a name all the same
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_without_permission(folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o500)

    def refuse(**_: object) -> None:  # the superuser may write anywhere, so the system's answer is given here
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cache.tempfile, "mkstemp", refuse)
    works()
    works()
    assert len(compiled) == 4


def test_the_oldest_go_when_it_is_full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 10_000)
    for k in range(6):
        cache.save(f"{k:064d}", {}, bytes(3000))
        os.utime(folder / f"{k:064d}.o", (1000 + k, 1000 + k))
    assert [path.stem.lstrip("0") for path in files(folder)] == ["3", "4", "5"]


def test_entries_come_back(folder: Path) -> None:
    name = cache.key("entry")
    assert cache.load(name) is None
    cache.save(name, {"workspace": 3}, b"code\nwith\0everything")
    assert cache.load(name) == ({"workspace": 3}, b"code\nwith\0everything")


# ---------------------------------------------------------------------------------------------------------------------
# Another process

SCRIPT = """
import sys
import numpy as np
import fallingcat as fc
from fallingcat.codegen import kernel, native

def never(*arguments, **options):
    raise AssertionError("traced or compiled")

if "warm" in sys.argv:
    kernel.trace = native.compile_object = never
robot = fc.load("spacearm")
q, nu = robot.neutral(), np.arange(robot.nv) / 7.0
one = robot.inverse_dynamics(q, nu, nu)
many = robot.inverse_dynamics(np.stack([q] * 5), nu, nu)
wrench = robot.forward_dynamics(q, nu, nu, {"link7": np.ones(6)})
print(one.tobytes().hex(), many.tobytes().hex(), wrench.tobytes().hex())
"""


def run(script: str, *arguments: str, **environment: str) -> str:
    src = str(Path(fc.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], env=os.environ | {"PYTHONPATH": src} | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_second_process_neither_traces_nor_compiles(folder: Path) -> None:
    cold = run(SCRIPT, FALLINGCAT_CACHE=str(folder))
    assert len(files(folder)) == 4  # one state, a batch, one state with wrenches, and what takes wrenches to bodies
    assert run(SCRIPT, "warm", FALLINGCAT_CACHE=str(folder)) == cold
    with pytest.raises(AssertionError, match="traced or compiled"):
        run(SCRIPT, "warm", FALLINGCAT_CACHE="off")
