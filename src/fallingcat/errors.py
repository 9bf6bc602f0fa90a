"""The errors a user can meet. Each says what was expected, what came, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fallingcat.model.findings import Finding


class FallingCatError(ValueError):
    """Base class of every error this library raises on purpose."""


class FrameError(FallingCatError):
    """Spatial quantities of different frames were combined, or a frame does not exist."""


class InputError(FallingCatError):
    """An argument does not fit: says what was expected, what came, and what to do about it."""

    def __init__(self, what: str, *, expected: str = "", got: str = "", hint: str = "") -> None:
        parts = [what]
        for label, text in (("expected", expected), ("got", got), ("hint", hint)):
            if text:
                parts.append(f"{label}: {text}")
        super().__init__("; ".join(parts))


class NotConstantError(InputError, AttributeError):
    """A property that this robot does not have, as it depends on its configuration."""


class SingularError(InputError, ArithmeticError):
    """A division by zero: most often the mass matrix of the robot is singular."""


class SingularWarning(RuntimeWarning):
    """Some states of a batch are NaN because the mass matrix is singular there."""


class TraceError(FallingCatError):
    """A function cannot be traced, for instance because it branches on a traced value."""


class ModelError(FallingCatError):
    """A robot description cannot be used; `findings` holds every problem with file, line and element."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join([message, *(f"  {finding}" for finding in self.findings)]))
