"""Docstrings of this project as Markdown, for the reference.

They are plain text: formulas are indented, a paragraph may list its arguments as `name: what it is`, and a last word in front
of a colon may be any argument. This makes a list of the arguments and keeps everything else.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from griffe import Attribute, Class, Extension, Function

ARGUMENT = re.compile(r"^(?P<name>[a-zA-Z_]\w*): (?P<text>.*)$")
LATER = re.compile(r"(?<=\. )(?P<name>[a-z_]\w*): ")

PARTS = ("Robot", "Derivatives", "Coriolis", "AnyBase", "Reduced", "Control")
"""The robot and the classes it is composed of."""
FAMILIES = (*PARTS, "Frames", "Motions")
"""Classes whose methods have facts: docs/tools/functions.toml."""
OTHERS = ("Constraints", "riccati", "ilqr")
"""A class and modules that are not of the robot; the table has their names, too."""


@cache
def _facts() -> Any:
    """docs/tools/facts.py"""
    spec = importlib.util.spec_from_file_location("facts", Path(__file__).with_name("facts.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def markdown(text: str, names: set[str]) -> str:
    """A docstring with its arguments as a list."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not line.strip() or line.startswith("    "):
            inside = inside and not line.strip().startswith(">>>") and bool(line.strip())
            lines.append(line)
            continue
        for part in _arguments(line, names):
            found = ARGUMENT.match(part)
            if found and found["name"] in names:
                if not inside and lines and lines[-1].strip():
                    lines.append("")
                inside = True
                lines.append(f"- `{found['name']}`: {found['text']}")
            else:
                lines.append(f"  {part}" if inside else part)
    return "\n".join(_doctests(lines))


def _arguments(line: str, names: set[str]) -> list[str]:
    """The line, cut where the next argument begins."""
    cuts = [0, *(m.start() for m in LATER.finditer(line) if m["name"] in names), len(line)]
    return [line[a:b].strip() for a, b in pairwise(cuts)]


def _doctests(lines: list[str]) -> list[str]:
    """Examples of the interpreter as blocks of code."""
    done: list[str] = []
    for line in lines:
        code = line.startswith(">>> ")
        if code and not (done and done[-1].startswith("    ")):
            done.append("")
        done.append(f"    {line.removeprefix('>>> ')}" if code else line)
    return done


class HouseStyle(Extension):
    """Rewrites docstrings as they are read."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        _rewrite(func, {p.name for p in func.parameters})
        if func.docstring is not None and func.parent is not None and func.parent.name in FAMILIES:
            func.docstring.value += _facts().markdown(func.name)
        elif func.docstring is not None and func.parent is not None and func.parent.name in OTHERS:
            func.docstring.value += _facts().markdown(f"{func.parent.name}.{func.name}")

    def on_class(self, *, cls: Class, **_: Any) -> None:
        if cls.name in PARTS:
            cls.docstring = None  # the pages introduce them
        _rewrite(cls, set())

    def on_attribute(self, *, attr: Attribute, **_: Any) -> None:
        _rewrite(attr, set())


def _rewrite(thing: Any, names: set[str]) -> None:
    if thing.docstring is not None:
        thing.docstring.value = markdown(thing.docstring.value, names)
