"""Files of the cache that were changed, cut, swapped, opened to others or replaced: never used unless intact."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import fallingcat as fc
from fallingcat.codegen import cache, native

from .problem import ProblemError, words
from .subjects import ARM

WHOLE_WAY = 0.02
"""How often a robot is asked for numbers with the spoilt file in place; otherwise the file is only read."""


@dataclass
class State:
    folder: Path
    healthy: dict[str, bytes]
    """The files as they were written, by their names without the ending."""
    expected: bytes
    compiled: list[int]

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.o"


def _numbers() -> bytes:
    """Of a robot whose two pieces of code come from the cache, or are compiled."""
    robot = fc.load(ARM, floating=False, joints=["turn"])
    q = robot.neutral() + 0.3
    return robot.gravity_torque(q).tobytes() + robot.gravity_torque([q, q]).tobytes()


def setup(counts: Counter[str]) -> State:
    # A cache of this process alone, in the directory that goes when the attack ends.
    folder = Path(f"attacked-{os.getpid()}").resolve()
    os.environ["FALLINGCAT_CACHE"] = str(folder)
    expected = _numbers()
    healthy = {path.stem: path.read_bytes() for path in folder.glob("*.o")}
    compiled: list[int] = []
    original = native.compile_object

    def counted(text: str) -> bytes:
        compiled.append(1)
        return original(text)

    native.compile_object = counted
    state = State(folder, healthy, expected, compiled)
    if len(healthy) != 2 or _numbers() != expected or compiled:
        raise ProblemError("other problems", f"the cache does not work: {len(healthy)} files, {len(compiled)} compiled")
    return state


def finish(state: State) -> None:
    _mend(state)
    if _numbers() != state.expected:
        raise ProblemError("corrupted files used", "the numbers are others at the end")


# ---------------------------------------------------------------------------------------------------------------------
# Ways to spoil a file. Each leaves something under the name that must not be used.

Spoil = Callable[[State, str, Random], None]


def _flip(state: State, name: str, random: Random) -> None:
    """One bit or byte."""
    data = bytearray(state.healthy[name])
    data[random.randrange(len(data))] ^= random.randrange(1, 256)
    state.path(name).write_bytes(data)


def _several(state: State, name: str, random: Random) -> None:
    """A piece of zeros, or of another place."""
    data = bytearray(state.healthy[name])
    size = random.choice((2, 16, 512, 4096))
    a = random.randrange(max(1, len(data) - size))
    b = random.randrange(max(1, len(data) - size))
    data[a : a + size] = bytes(size) if random.random() < 0.5 else data[b : b + size]
    if bytes(data) == state.healthy[name]:
        data[a] ^= 1
    state.path(name).write_bytes(data)


def _cut(state: State, name: str, random: Random) -> None:
    data = state.healthy[name]
    state.path(name).write_bytes(data[: random.choice((0, 1, random.randrange(200), random.randrange(len(data)), len(data) - 1))])


def _longer(state: State, name: str, random: Random) -> None:
    data = state.healthy[name]
    state.path(name).write_bytes(data + random.choice((b"\0", b"\n", data, os.urandom(10))))


def _other_key(state: State, name: str, random: Random) -> None:
    """The intact file of another function."""
    other = next(n for n in state.healthy if n != name)
    state.path(name).write_bytes(state.healthy[other])


def _link(state: State, name: str, random: Random) -> None:
    """A link to an intact file elsewhere, to itself, or to nothing."""
    elsewhere = state.folder / "elsewhere"
    elsewhere.write_bytes(state.healthy[name])
    elsewhere.chmod(0o600)
    os.symlink(random.choice((elsewhere, state.path(name), Path("nothing"), Path("/dev/zero"))), state.path(name))


def _directory(state: State, name: str, random: Random) -> None:
    state.path(name).mkdir()


def _pipe(state: State, name: str, random: Random) -> None:
    """Nobody will ever write into it."""
    os.mkfifo(state.path(name))


def _socket(state: State, name: str, random: Random) -> None:
    here = os.getcwd()
    os.chdir(state.folder)  # the path of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(f"{name}.o")
    finally:
        os.chdir(here)


def _open_to_others(state: State, name: str, random: Random) -> None:
    path = state.path(name)
    path.write_bytes(state.healthy[name])
    path.chmod(random.choice((0o620, 0o602, 0o666, 0o777, 0o622)))


def _open_folder(state: State, name: str, random: Random) -> None:
    state.path(name).write_bytes(state.healthy[name])
    state.folder.chmod(random.choice((0o770, 0o707, 0o777, 0o1777)))


def _foreign_file(state: State, name: str, random: Random) -> None:
    state.path(name).write_bytes(state.healthy[name])
    os.chown(state.path(name), 12345, 12345)


def _foreign_folder(state: State, name: str, random: Random) -> None:
    state.path(name).write_bytes(state.healthy[name])
    os.chown(state.folder, 12345, 12345)


COMMON: dict[str, Spoil] = {"byte": _flip, "piece": _several, "cut": _cut, "longer": _longer, "other key": _other_key}
RARE: dict[str, Spoil] = {
    "link": _link, "directory": _directory, "pipe": _pipe, "socket": _socket, "open to others": _open_to_others,
    "open folder": _open_folder,
}  # fmt: skip
if hasattr(os, "geteuid") and os.geteuid() == 0:  # only root can give files away
    RARE |= {"foreign file": _foreign_file, "foreign folder": _foreign_folder}


def _remove(path: Path) -> None:
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def _mend(state: State) -> None:
    """The folder as it was."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        os.chown(state.folder, os.geteuid(), os.getegid())
    state.folder.chmod(0o700)
    for name, data in state.healthy.items():
        path = state.path(name)
        if path.is_symlink() or not path.is_file() or path.stat().st_mode & 0o077 or path.stat().st_uid != os.getuid():
            _remove(path)
        path.write_bytes(data)
        path.chmod(0o600)


EVERY, STRETCH = 10, 20
"""Every tenth case is a stretch of twenty bytes."""


def _byte_after_byte(state: State, index: int, random: Random, counts: Counter[str]) -> None:
    """A stretch of bytes, one at a time; a long run meets every byte of the smallest file."""
    name = min(state.healthy, key=lambda n: len(state.healthy[n]))
    data = bytearray(state.healthy[name])
    start = STRETCH * (index // EVERY)
    for at in range(start, start + STRETCH):
        at %= len(data)
        old = data[at]
        data[at] ^= random.randrange(1, 256)
        state.path(name).write_bytes(data)
        data[at] = old
        _never_used(name, f"byte {at}")
        counts["corrupted files"] += 1
        counts["corrupted: byte after byte"] += 1


def case(state: State, index: int, random: Random, counts: Counter[str]) -> None:
    _mend(state)
    if index % EVERY == 0:
        _byte_after_byte(state, index, random, counts)
        return
    name = random.choice(list(state.healthy))
    ways = COMMON if random.random() < 0.8 else RARE
    way = random.choice(list(ways))
    if ways is RARE:
        _remove(state.path(name))
    ways[way](state, name, random)
    counts["corrupted files"] += 1
    counts[f"corrupted: {way}"] += 1
    _never_used(name, way)
    if random.random() < WHOLE_WAY:
        _whole_way(state, way, counts)


def _never_used(name: str, way: str) -> None:
    try:
        found = cache.load(name)
    except Exception as error:
        raise ProblemError("undocumented exceptions", f"reading a file of the cache: {words(error)}: {way} {name}") from error
    if found is not None:
        raise ProblemError("corrupted files used", f"{way} {name}")


def _whole_way(state: State, way: str, counts: Counter[str]) -> None:
    """The robot compiles what it cannot read, says the same numbers, and leaves a file that can be read or none."""
    before = len(state.compiled)
    if _numbers() != state.expected:
        raise ProblemError("wrong numbers", f"with a spoilt file: {way}")
    if len(state.compiled) == before:
        raise ProblemError("corrupted files used", f"nothing was compiled: {way}")
    counts["robots with a spoilt cache"] += 1
    for path in state.folder.glob("*.o"):
        if path.is_file() and not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o022 and way != "open to others":
            raise ProblemError("other problems", f"a file that others can write: {way}")
