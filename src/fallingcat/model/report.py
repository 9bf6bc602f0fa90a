"""Collects findings, and words that they share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from fallingcat.model.findings import Finding, Severity
from fallingcat.text import printable as printable
from fallingcat.text import quoted as quoted

MAX_FINDINGS = 1000
"""Largest number of findings of each severity: nobody mends more at once, and a broken file can have a hundred thousand."""


def listed(names: Sequence[str], limit: int = 6) -> str:
    """The first names, quoted and joined for a sentence, and the number of the others."""
    head = [quoted(name) for name in names[:limit]]
    if len(names) > limit:
        return f"{', '.join(head)} and {len(names) - limit} more"
    if len(head) < 2:
        return "".join(head)
    return f"{', '.join(head[:-1])} and {head[-1]}"


class Suggestions:
    """Finds the name that was probably meant.

    Matching is slow, and a broken file can hold a hundred thousand wrong names, so there is a
    budget of lookups and a bound on what is compared.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = [name for name in dict.fromkeys(names) if 0 < len(name) <= 100][:2000]
        self._budget = 50

    def near(self, word: str, cutoff: float = 0.6) -> list[str]:
        """Up to three known names that look like the word."""
        if self._budget <= 0 or not 0 < len(word) <= 100:
            return []
        self._budget -= 1
        return difflib.get_close_matches(word, self._names, n=3, cutoff=cutoff)

    def hint(self, word: str, otherwise: str) -> str:
        """A question with near matches, or the other advice when nothing is near."""
        near = self.near(word)
        return f"did you mean {' or '.join(quoted(name) for name in near)}?" if near else otherwise


class Report:
    """A growing list of findings about one file."""

    def __init__(self, file: str) -> None:
        self.file = printable(file, limit=1000)
        self.findings: list[Finding] = []
        self._counts: dict[Severity, int] = {"error": 0, "warning": 0, "note": 0}

    def error(self, message: str, *, hint: str = "", element: str = "", line: int = 0) -> None:
        """Add an error: the description is unusable."""
        self._add("error", message, hint, element, line)

    def warning(self, message: str, *, hint: str = "", element: str = "", line: int = 0) -> None:
        """Add a warning: the description is doubtful."""
        self._add("warning", message, hint, element, line)

    def note(self, message: str, *, hint: str = "", element: str = "", line: int = 0) -> None:
        """Add a note: the file has contents that this library leaves out, without effect on the results."""
        self._add("note", message, hint, element, line)

    def has_errors(self) -> bool:
        """Whether any finding so far is an error."""
        return self._counts["error"] > 0

    def _add(self, severity: Severity, message: str, hint: str, element: str, line: int) -> None:
        self._counts[severity] += 1
        if self._counts[severity] <= MAX_FINDINGS:
            self.findings.append(Finding(severity, message, hint, element, self.file, line))
        elif self._counts[severity] == MAX_FINDINGS + 1:
            message, hint = f"there are more than {MAX_FINDINGS} {severity}s; the rest is not listed", "mend these first"
            self.findings.append(Finding(severity, message, hint, "", self.file, line))
