"""Spoilt description files: they are loaded, or refused with a documented error in plain words."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.arrays import eager
from fallingcat.functions import task

from .mutate import mutated
from .problem import ProblemError, words
from .seeds import corpora

SMALL = 12
"""Degrees of freedom up to which a robot that loads is also asked for numbers, in plain Python."""


TURNING = ("RLO", "LRO", "RLE", "LRE", "RLI", "LRI", "FSI", "PDF", "PDI")
"""Characters that turn the direction of a line."""


def setup(counts: Counter[str]) -> list[tuple[str, bytes]]:
    return [(name, data) for name, files in corpora().items() for data in files]


def case(state: list[tuple[str, bytes]], index: int, random: Random, counts: Counter[str]) -> None:
    kind, healthy = random.choice(state)
    counts[f"{kind} files"] += 1
    data = mutated(healthy, random)
    source = _source(data, random)
    findings = _documented(lambda: fc.diagnose(source), data)
    if findings is not None:
        for finding in findings[:20]:
            _readable(str(finding), data)
    robot = _documented(lambda: fc.load(source, floating=random.random() < 0.5), data)
    if robot is None:
        counts["refused"] += 1
        return
    counts["loaded"] += 1
    if findings is None or any(f.severity == "error" for f in findings):
        raise ProblemError("other problems", f"diagnose finds an error in what load accepts: {_show(data)}")
    _look(robot, data, random, counts)


def _source(data: bytes, random: Random) -> Any:
    """Bytes, text or a path."""
    way = random.random()
    if way < 0.6:
        return data
    if way < 0.9:
        text = data.decode("utf-8", "surrogateescape" if random.random() < 0.5 else "replace")
        # a string that does not look like XML is a path, which is another matter
        return text if text.lstrip("\ufeff \t\r\n").startswith("<") else data
    path = Path("robot.urdf")
    path.write_bytes(data)
    return path


def _documented(call: Any, data: bytes) -> Any:
    """What a call returns; None for a documented error."""
    try:
        return call()
    except fc.FallingCatError as error:
        _readable(str(error), data)
        return None
    except Exception as error:
        raise ProblemError("undocumented exceptions", f"{words(error)}: {_show(data)}") from error


def _look(robot: fc.Robot, data: bytes, random: Random, counts: Counter[str]) -> None:
    """A robot that loads has sizes, names and finite places, and its numbers do not need luck."""
    _readable(str(robot), data)
    _readable(repr(robot), data)
    if not math.isfinite(robot.mass) or not np.isfinite(robot.neutral()).all():
        raise ProblemError("wrong numbers", f"mass {robot.mass}, neutral {robot.neutral()}: {_show(data)}")
    if robot.nv > SMALL or random.random() > 0.3:
        return
    counts["robots evaluated"] += 1
    q = robot.random_configuration(random.randrange(1 << 30))
    for name in ("mass_matrix", "gravity_torque", "forward_dynamics"):
        made = task(robot.model, name)
        values = [q, *(np.ones(spec.size) for spec in made.inputs[1:])]
        _documented(lambda made=made, values=values: eager.run(made, values), data)


def _readable(text: str, data: bytes) -> None:
    """No characters that steer a terminal or turn its lines around."""
    for c in text:
        if (not c.isprintable() and c != "\n") or unicodedata.bidirectional(c) in TURNING:
            raise ProblemError("other problems", f"the character {c!a} is printed raw in {text[:200]!a}: {_show(data)}")


def _show(data: bytes) -> str:
    return ascii(data[:300]) + (f"... ({len(data)} bytes)" if len(data) > 300 else "")
