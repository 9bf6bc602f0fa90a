"""Results that are NaN because the mass matrix is singular: an error for one state, one warning for a batch.

In a batch only the first entry of the first output is checked, which a singular state always makes NaN (`trace.program`).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.errors import SingularError, SingularWarning
from fallingcat.task import Task

TRIES = 64
"""Largest number of states of a batch that are examined."""
HINT = "give the links rotational inertia, or stay away from it; 'fallingcat doctor' names the suspects"


def check_state(task: Task, result: Any, *values: NDArray[Any]) -> Any:
    """The result of one state; raises if it is NaN because something is singular."""
    if task.explain is not None and any(np.isnan(x).any() for x in (result if task.results is not None else (result,))):
        found = _explained(task, values)
        if found:
            raise SingularError(f"{task.name}: the mass matrix is singular", got=found, hint=HINT)
    return result


def check_batch(task: Task, arrays: Sequence[NDArray[Any]], shape: tuple[int, ...], outs: Sequence[NDArray[Any]]) -> None:
    """Warn if some states are NaN because something is singular."""
    if task.explain is None or not outs[0].size:
        return
    nan_states = np.flatnonzero(np.isnan(outs[0].reshape(-1, task.outputs[0].size)[:, 0]))
    for k in nan_states[:TRIES]:
        at = np.unravel_index(int(k), shape)
        found = _explained(task, [np.broadcast_to(a, (*shape, a.shape[-1]))[at] for a in arrays])
        if found:
            where = ", ".join(str(int(x)) for x in at)
            text = f"{task.name}: the mass matrix is singular in some of the states ([{where}]: {found}); their results are NaN"
            warnings.warn(text, SingularWarning, stacklevel=_outside())
            return


def check_results(task: Task, arrays: Sequence[NDArray[Any]], outs: Sequence[NDArray[Any]], shape: tuple[int, ...]) -> None:
    """`check_state` or `check_batch`, depending on the batch shape."""
    if shape:
        check_batch(task, arrays, shape, outs)
    else:
        check_state(task, outs if task.results is not None else outs[0], *arrays)


def _explained(task: Task, values: Sequence[NDArray[Any]]) -> str:
    """What is singular at finite inputs, in words; empty for NaN that comes from NaN in the inputs."""
    if task.explain is None or not all(np.isfinite(v).all() for v in values):
        return ""
    return task.explain(*(v.tolist() for v in values))


def _outside() -> int:
    """The stack level of the first caller that is not this library."""
    level, frame = 1, sys._getframe(1)
    package = __name__.partition(".")[0]
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level
