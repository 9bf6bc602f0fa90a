"""Data that all files of one export share: the robot, the stem of their names, and the first line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fallingcat.codegen.backend import identifier
from fallingcat.deploy import words
from fallingcat.errors import InputError
from fallingcat.robot.robot import Robot
from fallingcat.text import printable, shown

MARK = "made by fallingcat"
LENGTH = 60
"""The longest stem: file systems and linkers have limits."""
_RESERVED = """
main check test example cmakelists
all clean depend edit_cache help install list_install_components package package_source preinstall rebuild_cache run_tests
test_all zero_check all_build
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool
stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype features unistd
c dl gcc gcc_s m pthread rt stdc util
con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9
fc fallingcat
"""
RESERVED = frozenset(_RESERVED.split())
"""Our own files and targets, those of CMake, headers and libraries of C, devices of Windows, and our own prefixes."""


@dataclass(frozen=True)
class Project:
    """One export."""

    robot: Robot
    stem: str
    """The beginning of the names of files, functions and constants."""
    precision: str = "double"
    object_code: tuple[str, ...] = ()
    """Lines in the header about the code that belongs to it, if that is not C."""

    @property
    def owner(self) -> str:
        """The name of the robot in the first line of every file."""
        name = words.plain(printable(self.robot.name, LENGTH))
        return name if self.stem == stem(self.robot.name) else f"{name} as {self.stem}"

    def title(self, what: str) -> str:
        """The first line of a file."""
        from fallingcat import __version__

        return f"{self.owner}: {what}, {MARK} {__version__}"

    def symbol(self, function: str) -> str:
        return f"{self.stem}_{function}"

    def constant(self, name: str) -> str:
        return f"{self.stem}_{name}".upper()

    def taken(self, functions: Iterable[str]) -> frozenset[str]:
        """All names that the header defines: constants and functions."""
        found = {self.constant("nq"), self.constant("nv")}
        for name in functions:
            found |= {self.symbol(name), self.constant(f"{name}_workspace")}
        return frozenset(found)


def project(robot: Robot, precision: str = "double", name: str | None = None) -> Project:
    """The project of a robot, with another name if one is given."""
    if name is not None and (not isinstance(name, str) or stem(name) != name):
        raise InputError(
            "fc.export: not a name for files and functions", got=shown(name), expected=f"at most {LENGTH} letters, digits and "
            "underscores, none of them first, last or doubled, and no name of C or CMake",
        )  # fmt: skip
    return Project(robot, stem(robot.name) if name is None else name, precision)


def stem(name: str) -> str:
    """A name for files, targets and functions that differs from all reserved ones, ignoring case."""
    found = identifier(name)[:LENGTH].strip("_")
    return f"{found}_robot" if found.lower() in RESERVED else found
